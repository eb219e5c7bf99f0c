//! What a conversation is called: the name that whoever asks gives it, and the agent's own where nobody gives one.

use serde_json::{Value, json};

use super::bench::{Bench, Hooks};
use crate::real_agents::agents::Agent;
use crate::real_agents::model::NAMELESS;
use crate::real_sinks::sinks::fresh;

/// A name from outside stands everywhere, and the agent's own is an alias of it.
#[track_caller]
fn keeps_the_given_name(agent: Agent) {
    let Some(bench) = Bench::open(&[agent], Hooks::None) else {
        return;
    };
    let name = fresh("S1");
    let answer = bench.run(agent, &name, "write_commit");
    bench.is_everywhere(&answer, &name);
    assert_eq!(answer.run("named_by"), "body");
    let native = answer.run("native_id");
    assert_ne!(native, name);
    assert_eq!(bench.lab.commits(), 2, "it did what it was asked");
    assert_eq!(
        answer.body["end"]["text"]
            .as_str()
            .map(|t| t.contains("Done: hello.txt is committed.")),
        Some(true),
        "{answer:#?}"
    );
    let callers = bench.lab.model.sessions();
    assert!(
        callers.contains(native) || callers.contains(NAMELESS) || agent == Agent::Pi,
        "the model was asked by {callers:?}, not {native}"
    );
    let shown = bench.lab.ask(&["session", "show", answer.run("session")]);
    let natives = shown["native_ids"].as_array().expect("a list");
    assert!(natives.contains(&json!(native)), "{shown:#}");
    assert_eq!(
        shown["session"]["conversation_id"],
        json!(name),
        "{shown:#}"
    );
}

#[test]
fn claude_code_keeps_the_given_name() {
    keeps_the_given_name(Agent::Claude);
}

#[test]
fn codex_keeps_the_given_name() {
    keeps_the_given_name(Agent::Codex);
}

#[test]
fn gemini_keeps_the_given_name() {
    keeps_the_given_name(Agent::Gemini);
}

#[test]
fn opencode_keeps_the_given_name() {
    keeps_the_given_name(Agent::OpenCode);
}

#[test]
fn pi_keeps_the_given_name() {
    keeps_the_given_name(Agent::Pi);
}

/// Where nobody names it, the agent does: with nothing, with null, and with blanks of each kind.
#[track_caller]
fn names_itself(agent: Agent, unnamed: &[Option<Value>]) {
    let Some(bench) = Bench::open(&[agent], Hooks::None) else {
        return;
    };
    for name in unnamed {
        let mut body = bench.body(agent, None, "say");
        if let Some(name) = name {
            body["conversation_id"] = name.clone();
        }
        let answer = bench.done(&body);
        let native = answer.run("native_id").to_owned();
        bench.is_everywhere(&answer, &native);
        assert_eq!(answer.run("named_by"), "agent", "{answer:#?}");
    }
}

#[test]
fn claude_code_names_what_nobody_named() {
    let blank = |text: &str| Some(json!(text));
    let blanks = ["", "   ", "\t\n\u{a0}"].map(blank);
    names_itself(
        Agent::Claude,
        &[[None, Some(Value::Null)].as_slice(), blanks.as_slice()].concat(),
    );
}

#[test]
fn others_name_what_nobody_named() {
    for agent in [Agent::Codex, Agent::Gemini, Agent::OpenCode, Agent::Pi] {
        names_itself(agent, &[None]);
    }
}

/// A name that cannot be one is refused, and nothing is started.
#[test]
fn what_cannot_be_a_name_starts_nothing() {
    let Some(bench) = Bench::open(&[Agent::Claude], Hooks::None) else {
        return;
    };
    for bad in [
        json!(" S1 "),
        json!("x".repeat(129)),
        json!("x".repeat(10_000)),
        json!("a/b"),
        json!("a b"),
        json!("é"),
        json!("S1\n"),
        json!(".."),
        json!("a\u{1}b"),
        json!(7),
        json!(["S1"]),
    ] {
        let mut body = bench.body(Agent::Claude, None, "say");
        body["conversation_id"] = bad.clone();
        let answer = bench.send(&[], &body);
        assert_eq!(answer.status, 400, "{bad}: {answer:#?}");
        assert!(!answer.code().is_empty(), "{bad}: {answer:#?}");
    }
    let none = bench.get("/v1/sessions");
    assert_eq!(none["items"], json!([]), "{none:#}");
    assert!(bench.lab.model.answers().is_empty(), "nobody was asked");
    // The longest name is one, and is cut nowhere.
    let long = format!("{}{}", fresh("L"), "x".repeat(128));
    let long = &long[..128];
    let answer = bench.run(Agent::Claude, long, "say");
    bench.is_everywhere(&answer, long);
    assert!(
        bench
            .sink
            .spans()
            .iter()
            .all(|s| s["attributes"]["session.id"] == *long)
    );
}

/// The body comes before the header, and the header before the baggage; who lost is told.
#[test]
fn the_names_have_an_order() {
    let Some(bench) = Bench::open(&[Agent::Claude], Hooks::None) else {
        return;
    };
    let [a, b, c] = ["A", "B", "C"].map(fresh);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let baggage = format!("session.id={c}");
    let headers = [
        ("siglum-conversation-id", b.as_str()),
        ("baggage", baggage.as_str()),
        ("traceparent", trace),
    ];
    for (named, headers, expected, lost) in [
        (json!(a), &headers[..], &a, vec![&b, &c]),
        (json!(""), &headers[..], &b, vec![&c]),
        (json!(null), &headers[1..], &c, vec![]),
    ] {
        let mut body = bench.body(Agent::Claude, None, "say");
        body["conversation_id"] = named;
        let answer = bench.send(headers, &body);
        assert_eq!(answer.status, 200, "{answer:#?}");
        assert_eq!(answer.run("conversation_id"), *expected);
        let ignored = answer.body["ignored"].as_array().expect("a list");
        let ignored: Vec<_> = ignored.iter().filter_map(|i| i["value"].as_str()).collect();
        assert_eq!(ignored, lost);
    }
}
