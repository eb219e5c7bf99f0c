//! Turns that follow each other in one conversation.

use serde_json::{Value, json};

use super::bench::{Bench, Hooks, is_first};
use crate::real_agents::agents::Agent;
use crate::real_agents::model::{Model, Tokens};
use crate::real_sinks::sinks::{Totals, fresh};

/// Messages of a conversation that the model got in its newest request.
fn newest_request_events(bench: &Bench) -> u64 {
    let requests = bench.lab.model.requests();
    let newest = requests.iter().rfind(|r| r["why"] == "turn");
    newest
        .and_then(|r| r["events"].as_u64())
        .unwrap_or_default()
}

fn tokens(model: &Model) -> Tokens {
    model.all_counted(&["turn"])
}

/// Two turns are two traces of one conversation; the second one links to the first, and what both used adds up.
#[track_caller]
fn two_turns(agent: Agent) {
    let Some(bench) = Bench::open(&[agent], Hooks::None) else {
        return;
    };
    let name = fresh("two-turns");
    let first = bench.run(agent, &name, "write_commit");
    let mut body = bench.body(agent, Some(&name), "say");
    body["resume"] = json!(true);
    let second = bench.done(&body);
    for answer in [&first, &second] {
        bench.is_everywhere(answer, &name);
    }
    assert_eq!(first.run("session"), second.run("session"));
    assert_ne!(first.run("turn"), second.run("turn"));
    let traces = [first.run("trace_id"), second.run("trace_id")];
    assert_ne!(
        traces[0], traces[1],
        "a trace for each turn, also in a process that is used again"
    );
    let spans = traces.map(|trace| bench.spans_of(trace));
    for (n, (spans, answer)) in spans.iter().zip([&first, &second]).enumerate() {
        for span in spans {
            assert_eq!(
                span["attributes"]["siglum.turn.id"],
                answer.run("turn"),
                "{span:#}"
            );
            assert_eq!(
                span["attributes"]["siglum.turn.index"],
                json!(n),
                "{span:#}"
            );
        }
    }
    let root = spans[1].iter().find(|s| is_first(s)).expect("a first span");
    assert_eq!(root["links"][0]["traceId"], json!(traces[0]), "{root:#}");
    assert_eq!(
        root["links"][0]["attributes"]["siglum.link.type"],
        "previous_turn"
    );
    assert_eq!(
        root["parentSpanId"].as_str().unwrap_or_default(),
        "",
        "{root:#}"
    );
    let used = tokens(&bench.lab.model);
    if let Some(expected) = known_totals(agent, used) {
        let shown = bench.phoenix.sessions();
        assert_eq!(shown[&name].totals, expected);
        let recorded = bench.get(&format!("/v1/sessions/{}", first.run("session")));
        assert_eq!(
            recorded["tokens"]["output"],
            json!(used.output),
            "{recorded:#}"
        );
    }
}

/// What is known of tokens that were used: not all agents tell all.
fn known_totals(agent: Agent, used: Tokens) -> Option<Totals> {
    // Of what Codex and Gemini CLI put into a cache nothing is told.
    let written = match agent {
        Agent::Claude => used.cache_write,
        Agent::Codex => 0,
        _ => return None,
    };
    let input = used.input + used.cache_read + written;
    Some(Totals {
        input,
        output: used.output,
        total: input + used.output,
    })
}

#[test]
fn two_turns_of_claude_code() {
    two_turns(Agent::Claude);
}

#[test]
fn two_turns_of_codex() {
    two_turns(Agent::Codex);
}

#[test]
fn two_turns_of_opencode() {
    two_turns(Agent::OpenCode);
}

#[test]
fn two_turns_of_pi() {
    two_turns(Agent::Pi);
}

#[test]
fn two_turns_of_gemini() {
    two_turns(Agent::Gemini);
}

/// The name of a conversation loads nothing: an agent knows what it is told now, unless it is to go on with what it has.
/// Then it is in its own newest session; before, it was in another one, and both are the same session here.
#[track_caller]
fn a_name_loads_nothing(agent: Agent) {
    let Some(bench) = Bench::open(&[agent], Hooks::None) else {
        return;
    };
    let name = fresh("fresh-or-not");
    let first = bench.run(agent, &name, "say");
    let once = newest_request_events(&bench);
    let second = bench.run(agent, &name, "say");
    assert_eq!(
        newest_request_events(&bench),
        once,
        "it is told nothing of before"
    );
    assert_ne!(first.run("native_id"), second.run("native_id"));
    bench.is_everywhere(&second, &name);
    let mut body = bench.body(agent, Some(&name), "say");
    body["resume"] = json!(true);
    let third = bench.done(&body);
    assert!(
        newest_request_events(&bench) > once,
        "it is told what was before"
    );
    assert_eq!(third.run("native_id"), second.run("native_id"));
    assert_eq!(first.run("session"), third.run("session"));
    let shown = bench.lab.ask(&["session", "show", first.run("session")]);
    let natives = [first.run("native_id"), second.run("native_id")];
    let listed: Vec<&str> = list(&shown["native_ids"]);
    assert!(natives.iter().all(|n| listed.contains(n)), "{shown:#}");
    bench.exported(&[&second, &third]);
    for span in bench.spans_of(second.run("trace_id")) {
        let attributes = &span["attributes"];
        assert_eq!(
            attributes["siglum.native_session.id"], natives[1],
            "{span:#}"
        );
        assert_eq!(attributes["session.previous_id"], natives[0], "{span:#}");
    }
}

fn list(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

#[test]
fn a_name_loads_nothing_into_claude_code() {
    a_name_loads_nothing(Agent::Claude);
}

#[test]
fn a_name_loads_nothing_into_codex() {
    a_name_loads_nothing(Agent::Codex);
}

/// A gateway that was killed has another one after it: the agent goes on in a new process, in its own session of before.
#[test]
fn another_gateway_goes_on_where_one_was_killed() {
    for agent in [Agent::Claude, Agent::OpenCode] {
        let Some(mut bench) = Bench::open(&[agent], Hooks::None) else {
            return;
        };
        let name = fresh("again");
        let first = bench.run(agent, &name, "say");
        let once = newest_request_events(&bench);
        bench.killed_and_again();
        let mut body = bench.body(agent, Some(&name), "say");
        body["resume"] = json!(true);
        let second = bench.done(&body);
        assert!(
            newest_request_events(&bench) > once,
            "{agent:?} is told what was before"
        );
        assert_eq!(first.run("session"), second.run("session"));
        assert_eq!(first.run("native_id"), second.run("native_id"));
        bench.is_everywhere(&second, &name);
    }
}
