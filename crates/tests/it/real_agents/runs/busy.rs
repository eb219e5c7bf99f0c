//! Several conversations at once, and several messages to one.

use std::collections::BTreeSet;

use serde_json::json;

use super::bench::{Answer, Bench, Hooks, is_first};
use crate::real_agents::agents::Agent;
use crate::real_sinks::sinks::fresh;

/// Ten conversations at once, with ten names: nothing of one is in another.
#[track_caller]
fn ten_at_once(agents: &[Agent]) {
    let Some(bench) = Bench::open(agents, Hooks::None) else {
        return;
    };
    let names: Vec<String> = (0..10).map(|n| fresh(&format!("c{n}"))).collect();
    let numbered = names.iter().enumerate();
    let runs: Vec<_> = numbered
        .map(|(n, name)| {
            let agent = agents[n % agents.len()];
            bench.beside(bench.body(agent, Some(name), "two_tools"))
        })
        .collect();
    let answers: Vec<Answer> = runs
        .into_iter()
        .map(|run| run.join().expect("it ends"))
        .collect();
    for (answer, name) in answers.iter().zip(&names) {
        assert_eq!(
            (answer.status, answer.status_of_run()),
            (200, "done"),
            "{answer:#?}"
        );
        bench.is_everywhere(answer, name);
    }
    for field in ["session", "turn", "trace_id", "native_id"] {
        let all: BTreeSet<&str> = answers.iter().map(|a| a.run(field)).collect();
        assert_eq!(all.len(), 10, "{field}: {all:?}");
    }
    let shown: BTreeSet<String> = bench.phoenix.sessions().into_keys().collect();
    assert_eq!(shown, names.iter().cloned().collect::<BTreeSet<_>>());
    let known: BTreeSet<&str> = answers.iter().map(|a| a.run("native_id")).collect();
    for span in bench.sink.spans() {
        let native = span["attributes"]["siglum.native_session.id"].as_str();
        assert!(native.is_none_or(|n| known.contains(n)), "{span:#}");
        let own = answers
            .iter()
            .find(|a| span["traceId"] == a.run("trace_id"));
        let own = own.unwrap_or_else(|| panic!("of nobody: {span:#}"));
        assert_eq!(span["attributes"]["session.id"], own.run("conversation_id"));
    }
}

#[test]
fn ten_conversations_with_claude_code_and_codex() {
    ten_at_once(&[Agent::Claude, Agent::Codex]);
}

/// A second message to a conversation that is busy is refused, unless it says what is to be done.
#[test]
fn one_message_at_a_time() {
    let Some(bench) = Bench::open(&[Agent::Claude], Hooks::None) else {
        return;
    };
    let name = fresh("busy");
    let first = bench.beside(bench.body(Agent::Claude, Some(&name), "slow"));
    bench.under_way("slow.txt");
    let second = bench.send(&[], &bench.body(Agent::Claude, Some(&name), "say"));
    assert_eq!(
        (second.status, second.code()),
        (409, "session-busy"),
        "{second:#?}"
    );
    let mut queued = bench.body(Agent::Claude, Some(&name), "say");
    queued["if_busy"] = json!("queue");
    let queued = bench.done(&queued);
    let first = first.join().expect("it ends");
    assert_eq!(first.status_of_run(), "done", "{first:#?}");
    for answer in [&first, &queued] {
        bench.is_everywhere(answer, &name);
    }
    let [one, two] = [&first, &queued].map(|a| bench.spans_of(a.run("trace_id")));
    let index = |spans: &[serde_json::Value]| {
        let root = spans
            .iter()
            .find(|s| is_first(s))
            .cloned()
            .unwrap_or_default();
        root["attributes"]["siglum.turn.index"].clone()
    };
    assert_eq!((index(&one), index(&two)), (json!(0), json!(1)));
}

/// What goes on is ended where that is asked for; what it did is kept, as cancelled.
#[test]
fn a_message_can_take_over() {
    for (agent, how) in [(Agent::Claude, "steer"), (Agent::Codex, "cancel")] {
        let Some(bench) = Bench::open(&[agent], Hooks::None) else {
            return;
        };
        let name = fresh(how);
        let first = bench.beside(bench.body(agent, Some(&name), "slow"));
        bench.under_way("slow.txt");
        let mut body = bench.body(agent, Some(&name), "say");
        body["if_busy"] = json!(how);
        let second = bench.done(&body);
        let first = first.join().expect("it ends");
        assert_eq!(first.status_of_run(), "cancelled", "{first:#?}");
        assert_eq!(first.run("session"), second.run("session"));
        bench.is_everywhere(&first, &name);
        bench.is_everywhere(&second, &name);
    }
}

/// Two conversations in the trace of one who asked: one trace, and each span keeps its own name.
#[test]
fn two_conversations_share_a_trace() {
    let Some(bench) = Bench::open(&[Agent::Claude], Hooks::None) else {
        return;
    };
    let trace = format!("{:032x}", siglum_platform::clock::now().nanos());
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let names = ["one", "two"].map(fresh);
    for name in &names {
        let body = bench.body(Agent::Claude, Some(name), "say");
        let answer = bench.send(&[("traceparent", &parent)], &body);
        assert_eq!(answer.run("trace_id"), trace, "{answer:#?}");
        bench.is_recorded(&answer, name);
    }
    let spans = bench.spans_of(&trace);
    let exported: BTreeSet<&str> = spans
        .iter()
        .filter_map(|s| s["attributes"]["session.id"].as_str())
        .collect();
    assert_eq!(exported, names.iter().map(String::as_str).collect());
}
