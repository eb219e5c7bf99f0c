//! Claude Code where nothing speaks the protocol for it: it is run by its own headless mode.

use serde_json::{Value, json};

use super::bench::{Bench, Hooks};
use crate::real_agents::agents::Agent;
use crate::real_sinks::sinks::fresh;

/// The names of the tools that a run called, as its spans have them.
fn tools(spans: &[Value]) -> Vec<&str> {
    let names = spans.iter();
    let names = names.filter_map(|s| s["attributes"]["gen_ai.tool.name"].as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn a_named_run_and_the_one_that_goes_on_with_it_are_one_conversation() {
    let Some(bench) = Bench::headless(&[Agent::Claude], Hooks::Installed) else {
        return;
    };
    let name = fresh("headless");
    let first = bench.run(Agent::Claude, &name, "write_commit");
    assert_eq!(bench.lab.commits(), 2, "it did what it was asked");
    let text = first.body["end"]["text"].as_str().unwrap_or_default();
    assert!(text.contains("Done: hello.txt is committed."), "{first:#?}");
    let mut body = bench.body(Agent::Claude, Some(&name), "say");
    body["resume"] = json!(true);
    let second = bench.done(&body);
    for answer in [&first, &second] {
        bench.is_everywhere(answer, &name);
    }
    assert_eq!(first.run("session"), second.run("session"));
    assert_eq!(first.run("native_id"), second.run("native_id"));
    assert_ne!(first.run("trace_id"), second.run("trace_id"));
    // With its hooks on, what it does is told once all the same.
    assert_eq!(tools(&bench.own_spans(&first)), ["Bash", "Write"]);
    assert!(tools(&bench.own_spans(&second)).is_empty());
    let used = bench.lab.model.all_counted(&["turn"]);
    let recorded = bench.get(&format!("/v1/sessions/{}", first.run("session")));
    let tokens = &recorded["tokens"];
    assert_eq!(tokens["output"], json!(used.output), "{recorded:#}");
    assert_eq!(tokens["input"], json!(used.input), "{recorded:#}");
    let why = bench.lab.ask(&["why", "HEAD"]);
    assert!(why.to_string().contains(first.run("session")), "{why:#}");
}

#[test]
fn what_nobody_named_is_called_as_the_agent_calls_it() {
    let Some(bench) = Bench::headless(&[Agent::Claude], Hooks::None) else {
        return;
    };
    let answer = bench.done(&bench.body(Agent::Claude, None, "say"));
    let native = answer.run("native_id").to_owned();
    bench.is_everywhere(&answer, &native);
    assert!(
        bench.lab.model.sessions().contains(&native),
        "the model was asked by it"
    );
    // It can ask nobody, so that nothing is started where somebody would be asked.
    let mut asking = bench.body(Agent::Claude, None, "say");
    asking["permissions"] = json!("ask");
    let refused = bench.send(&[], &asking);
    assert_eq!((refused.status, refused.code()), (400, "invalid-field"));
}

/// Its process ends in the middle of what it does; what it said is kept, and it goes on where it was.
#[test]
fn what_is_steered_goes_on_in_the_same_native_session() {
    let Some(bench) = Bench::headless(&[Agent::Claude], Hooks::Installed) else {
        return;
    };
    let name = fresh("steered");
    let first = bench.beside(bench.body(Agent::Claude, Some(&name), "slow"));
    bench.under_way("slow.txt");
    let mut body = bench.body(Agent::Claude, Some(&name), "say");
    body["if_busy"] = json!("steer");
    let second = bench.done(&body);
    let first = first.join().expect("it ends");
    assert_eq!(first.status_of_run(), "cancelled", "{first:#?}");
    assert_eq!(first.run("native_id"), second.run("native_id"));
    assert_eq!(first.run("session"), second.run("session"));
    bench.is_everywhere(&second, &name);
    let requests = bench.lab.model.requests();
    let newest = requests.iter().rfind(|r| r["why"] == "turn");
    let events = newest.and_then(|r| r["events"].as_u64());
    assert!(events > Some(1), "it is told what was before: {newest:?}");
}
