//! Agents that want to be allowed something, and wait.

use serde_json::json;

use super::bench::{Bench, Hooks, is_first};
use crate::real_agents::agents::Agent;
use crate::real_agents::programs::wait_for;
use crate::real_sinks::sinks::fresh;

/// The agent waits for a person, who allows it: one turn, one trace, and what it used is counted once.
#[track_caller]
fn waits_and_goes_on(agent: Agent, script: &str) {
    let Some(bench) = Bench::open(&[agent], Hooks::None) else {
        return;
    };
    let name = fresh("asks");
    let mut body = bench.body(agent, Some(&name), script);
    body["permissions"] = json!("ask");
    let run = bench.beside(body);
    let mut answered = 0;
    while !run.is_finished() {
        let open = format!("/v1/sessions/{name}/interactions?state=open");
        let found = wait_for("a question, or the end", || {
            let answer = bench.call("GET", &open, &[], None);
            let found = answer.body["items"][0]["id"].as_str().map(str::to_owned);
            match (run.is_finished(), found) {
                (true, _) => Some(None),
                (false, Some(id)) => Some(Some(id)),
                (false, None) => None,
            }
        });
        let Some(id) = found else { break };
        let path = format!("/v1/sessions/{name}/interactions/{id}");
        let answer = bench.call("POST", &path, &[], Some(&json!({ "approved": true })));
        assert_eq!(answer.status, 200, "{answer:#?}");
        answered += 1;
    }
    let answer = run.join().expect("it ends");
    assert_eq!(answer.status_of_run(), "done", "{answer:#?}");
    assert!(answered > 0, "{agent:?} asked nobody");
    assert_eq!(bench.lab.commits(), 2, "it did what it was allowed");
    bench.is_everywhere(&answer, &name);
    let spans = bench.spans_of(answer.run("trace_id"));
    assert_eq!(spans.iter().filter(|s| is_first(s)).count(), 1);
    let recorded = bench.get(&format!("/v1/sessions/{}", answer.run("session")));
    assert_eq!(recorded["turns"], json!(1), "{recorded:#}");
    if agent == Agent::Claude {
        let used = bench.lab.model.all_counted(&["turn"]);
        assert_eq!(
            recorded["tokens"]["output"],
            json!(used.output),
            "{recorded:#}"
        );
    }
}

#[test]
fn claude_code_waits_for_an_answer() {
    waits_and_goes_on(Agent::Claude, "write_commit");
}

#[test]
fn gemini_waits_for_an_answer() {
    waits_and_goes_on(Agent::Gemini, "write_commit");
}

/// What is refused is not done, and the agent is told so.
#[test]
fn what_is_refused_is_not_done() {
    let Some(bench) = Bench::open(&[Agent::Claude], Hooks::None) else {
        return;
    };
    let mut body = bench.body(Agent::Claude, Some(&fresh("refused")), "write_commit");
    body["permissions"] = json!("refuse");
    let answer = bench.send(&[], &body);
    assert_eq!(answer.status, 200, "{answer:#?}");
    assert!(!bench.lab.work().join("hello.txt").exists());
    assert_eq!(bench.lab.commits(), 1);
}

/// The gateway dies while an agent waits: the question is lost, and whoever answers is told.
#[test]
fn a_question_is_lost_with_its_agent() {
    let Some(mut bench) = Bench::open(&[Agent::Claude], Hooks::None) else {
        return;
    };
    let name = fresh("lost");
    let mut body = bench.body(Agent::Claude, Some(&name), "write_commit");
    body["permissions"] = json!("ask");
    let run = bench.beside(body);
    let interaction = bench.open_interaction(&name);
    let id = interaction["id"].as_str().expect("an id").to_owned();
    bench.killed_and_again();
    drop(run);
    let path = format!("/v1/sessions/{name}/interactions/{id}");
    let answer = bench.call("POST", &path, &[], Some(&json!({ "approved": true })));
    assert!([409, 410].contains(&answer.status), "{answer:#?}");
    bench.settle(&name);
    let mut again = bench.body(Agent::Claude, Some(&name), "say");
    again["resume"] = json!(true);
    let again = bench.done(&again);
    bench.is_everywhere(&again, &name);
}
