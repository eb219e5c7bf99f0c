//! Every recorded payload, the same in the other form, and payloads that nobody should send.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use siglum_domain::observation::{Body, Fact, Observation, Outcome, Side, StartKind, event};

use super::reduce;
use crate::copilot::fixture::HOOKS;
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced, WriteHint};
use crate::recorded;

const AGENT: &str = "3bb30ec0-3ff2-45af-a532-b7bd7c1ab29b";

fn call(payload: &[u8]) -> HookCall<'_> {
    recorded::call(payload, "/home/dev/.copilot")
}

fn reduced(payload: &Value) -> Reduced {
    reduce(&call(payload.to_string().as_bytes())).expect("a payload")
}

/// The recorded payloads, and what each was told for.
fn recorded_calls() -> Vec<(String, Value)> {
    let lines = HOOKS
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines
        .map(|line| {
            let event = line["event"].as_str().expect("an event");
            (event.to_owned(), line["stdin"].clone())
        })
        .collect()
}

/// A payload as it is told where the event is hooked by the name that Claude Code has for it.
fn in_other_form(event: &str, payload: &Value) -> Value {
    let name = match event {
        "userPromptSubmitted" => "UserPromptSubmit".to_owned(),
        "agentStop" => "Stop".to_owned(),
        other => format!("{}{}", other[..1].to_uppercase(), &other[1..]),
    };
    let snake = |key: &str| match key {
        "response" => "last_assistant_message".to_owned(),
        "toolArgs" => "tool_input".to_owned(),
        key => {
            let mut out = String::new();
            for c in key.chars() {
                if c.is_ascii_uppercase() {
                    out.push('_');
                }
                out.push(c.to_ascii_lowercase());
            }
            out
        }
    };
    let mut out = Map::new();
    for (key, value) in payload.as_object().expect("an object") {
        let value = match value {
            Value::Object(inner) if key == "toolResult" => {
                inner.iter().map(|(k, v)| (snake(k), v.clone())).collect()
            }
            other => other.clone(),
        };
        if key != "hookName" {
            out.insert(snake(key), value);
        }
    }
    out.insert("hook_event_name".to_owned(), json!(name));
    Value::Object(out)
}

fn kinds(reduced: &Reduced) -> Vec<&'static str> {
    reduced.observations.iter().map(|o| o.fact.kind()).collect()
}

#[test]
fn an_event_that_is_not_named_is_known_by_what_it_tells() {
    let kinds: Vec<(String, Vec<&str>)> = recorded_calls()
        .into_iter()
        .map(|(event, payload)| (event, kinds(&reduced(&payload))))
        .collect();
    let expected: [(&str, &[&str]); 10] = [
        ("sessionStart", &["session_started"]),
        ("userPromptSubmitted", &["prompt"]),
        ("preToolUse", &["tool_started"]),
        ("permissionRequest", &[]),
        ("postToolUse", &["tool_ended"]),
        ("agentStop", &["stopped"]),
        ("sessionEnd", &["session_ended"]),
        ("sessionStart", &["session_started"]),
        ("subagentStart", &["subagent_started"]),
        ("subagentStop", &["subagent_stopped"]),
    ];
    let expected: Vec<(String, Vec<&str>)> = expected
        .iter()
        .map(|(event, kinds)| ((*event).to_owned(), kinds.to_vec()))
        .collect();
    assert_eq!(kinds, expected);
}

/// What both forms tell differs in the name of the delivery alone.
#[test]
fn both_forms_of_a_payload_say_the_same() {
    for (event, payload) in recorded_calls() {
        let (own, other) = (reduced(&payload), reduced(&in_other_form(&event, &payload)));
        let facts = |reduced: &Reduced| -> Vec<Fact> {
            let seen = reduced.observations.iter();
            seen.map(|o| o.fact.clone()).collect()
        };
        assert_eq!(facts(&own), facts(&other), "{event}");
        assert_eq!(own.native, other.native, "{event}");
        assert_eq!(own.transcript, other.transcript, "{event}");
        assert_eq!(own.head, other.head, "{event}");
        assert_eq!(own.boundary, other.boundary, "{event}");
        assert_eq!(own.thread, other.thread, "{event}");
        assert_eq!((own.declines, other.declines), (Vec::new(), Vec::new()));
    }
}

#[test]
fn a_call_has_the_name_of_all_calls_that_do_the_same() {
    let all = recorded_calls();
    let (before, after) = (reduced(&all[2].1), reduced(&all[4].1));
    let event = &before.observations[0].event;
    assert!(event::unnamed_parts(event).is_some_and(|(_, id)| id.is_none()));
    assert_eq!(&after.observations[0].event, event);
    assert_eq!(before.head, Some((event.clone(), Side::Before)));
    assert_eq!(after.head, Some((event.clone(), Side::After)));
    // The end of a call may be told under the agent's own name for the tool, its start under that of Claude Code.
    let named = |tool: &str| {
        let payload = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {"command": "ls"}});
        reduced(&payload).observations[0].event.clone()
    };
    assert_eq!(named("Bash"), named("bash"));
}

#[test]
fn a_command_tells_by_its_last_line_whether_it_failed() {
    let ended = |code: &str, kind: &str| {
        let text = format!("x\n<shellId: 0 completed with exit code {code}>");
        let payload = json!({"sessionId": "s", "toolName": "bash", "toolArgs": {"command": "x"},
            "toolResult": {"resultType": kind, "textResultForLlm": text}});
        match &reduced(&payload).observations[0].fact {
            Fact::ToolEnded {
                outcome, output, ..
            } => (
                *outcome,
                output
                    .as_ref()
                    .and_then(Body::text)
                    .map(str::to_owned)
                    .unwrap_or_default(),
            ),
            other => panic!("an end: {other:?}"),
        }
    };
    assert_eq!(ended("0", "success"), (Outcome::Ok, "x".to_owned()));
    assert_eq!(ended("3", "success"), (Outcome::Failed, "x".to_owned()));
    assert_eq!(ended("0", "denied").0, Outcome::Denied);
    assert_eq!(ended("0", "failure").0, Outcome::Failed);
}

#[test]
fn what_a_sub_agent_does_under_its_own_id_is_the_sessions() {
    let (_, start) = recorded_calls().swap_remove(8);
    let reduced = reduced(&start);
    assert_eq!(reduced.thread.as_ref().map(|id| id.as_str()), Some(AGENT));
    let seen = &reduced.observations[0];
    assert_eq!(seen.event, format!("sub:{AGENT}"));
    assert_eq!(seen.subagent.as_deref(), Some(AGENT));
    let payload = json!({"sessionId": "s", "agentId": "s", "agentName": "x"});
    assert_eq!(super::tests::reduced(&payload).thread, None, "it is itself");
}

/// In the form in which 1.0.102 tells them where its hooks are in the form of Claude Code's: the start of a sub-agent in a
/// mixture of both, and that of one below another under an id that nothing else has.
#[test]
fn what_a_sub_agent_does_is_told_of_its_session() {
    let transcript = "/home/dev/.copilot/session-state/root/events.jsonl";
    let of_agent = |event: &str, more: Value| {
        let mut payload = json!({"hook_event_name": event, "session_id": "sub", "cwd": "/repo", "agent_id": "sub",
            "agent_type": "general-purpose", "parent_agent_id": "root"});
        let all = payload.as_object_mut().expect("an object");
        all.extend(more.as_object().expect("an object").clone());
        reduced(&payload)
    };
    let command = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    for (event, more, expected) in [
        ("UserPromptSubmit", json!({"prompt": "x"}), None),
        ("PreToolUse", command, Some("tool_started")),
        (
            "Stop",
            json!({"transcript_path": transcript, "stop_reason": "end_turn"}),
            None,
        ),
    ] {
        let seen = of_agent(event, more);
        assert_eq!(seen.native.as_str(), "root", "{event}");
        assert_eq!(seen.boundary, Boundary::Within, "{event}");
        assert_eq!(kinds(&seen).first().copied(), expected, "{event}");
        let inside = |o: &Observation| o.subagent.as_deref() == Some("sub");
        assert!(seen.observations.iter().all(inside), "{event}");
    }
    let nested = reduced(
        &json!({"sessionId": "nowhere else", "transcriptPath": transcript, "agentName": "x", "agent_id": "inner",
        "parent_agent_id": "sub"}),
    );
    assert_eq!(nested.native.as_str(), "root");
    assert_eq!(nested.thread.as_ref().map(|id| id.as_str()), Some("inner"));
    assert_eq!(kinds(&nested), ["subagent_started"]);
    let bare =
        json!({"sessionId": "sub", "agentId": "sub", "parentAgentId": "root", "prompt": "x"});
    assert_eq!(reduced(&bare).observations, [], "it is no start of one");
}

#[test]
fn a_new_session_and_one_that_goes_on() {
    let start = |source: &str| {
        let payload = json!({"sessionId": "s", "source": source});
        match &reduced(&payload).observations[0].fact {
            Fact::SessionStarted { how, .. } => how.clone(),
            other => panic!("a start: {other:?}"),
        }
    };
    assert_eq!(start("new"), StartKind::Startup);
    assert_eq!(start("startup"), StartKind::Startup);
    assert_eq!(start("resume"), StartKind::Resume);
    assert_eq!(start("x"), StartKind::Other("x".to_owned()));
}

#[test]
fn edits_are_known_by_their_calls() {
    let ended = |tool: &str, input: &Value| {
        let payload = json!({"session_id": "s", "hook_event_name": "PostToolUse", "cwd": "/repo", "tool_name": tool,
            "tool_input": input, "tool_result": {"result_type": "success", "text_result_for_llm": "done"}});
        let mut reduced = reduced(&payload);
        (reduced.edits.len() == 1).then(|| reduced.edits.remove(0))
    };
    let made = ended("Write", &json!({"path": "/repo/a", "file_text": "x"})).expect("an edit");
    assert_eq!(made.path.to_str(), Some("a"));
    let whole = WriteHint::Whole {
        base: None,
        written: b"x".to_vec(),
    };
    assert_eq!(made.write, Some(whole));
    let changed = ended(
        "edit",
        &json!({"path": "/repo/a", "old_str": "x", "new_str": "y"}),
    );
    let added = WriteHint::Added(b"y".to_vec());
    assert_eq!(changed.expect("an edit").write, Some(added));
    assert_eq!(
        ended("apply_patch", &json!({"input": "*** Begin Patch"})),
        None
    );
}

#[test]
fn events_that_nobody_knows_are_noted_and_no_more() {
    let event = |name: &str| {
        let payload = json!({"session_id": "s", "hook_event_name": name, "prompt": "x"});
        let reduced = reduced(&payload);
        assert_eq!(reduced.boundary, Boundary::Within);
        kinds(&reduced)
    };
    assert_eq!(event("FromTheFuture"), ["other"]);
    assert_eq!(event("Notification"), [""; 0]);
    let bare = reduced(&json!({"sessionId": "s", "error": {"message": "x"}, "recoverable": true}));
    assert_eq!(bare.observations, []);
}

#[test]
fn only_a_payload_without_a_session_is_an_error() {
    let check = |payload: &str, expected: &str| {
        let reason = reduce(&call(payload.as_bytes())).map_err(|error| error.reason());
        assert_eq!(reason, Err(expected), "{payload}");
    };
    check("", "not_json");
    check("[\"s\"]", "no_session");
    check("{}", "no_session");
    check("{\"sessionId\":\"../x\"}", "bad_session_id");
    let binary = reduce(&call(b"\xff\xfe"));
    assert_eq!(binary, Err(ReduceError::NotJson { bytes: 2 }));
}

#[test]
fn secrets_are_removed_wherever_they_stand() {
    let token = concat!("gh", "p_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    for event in [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "Stop",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "SubagentStart",
        "SubagentStop",
    ] {
        for tool in ["bash", "create", "task", token] {
            let payload = json!({"session_id": "s", "hook_event_name": event, "prompt": token, "source": token, "reason": token,
                "last_assistant_message": token, "agent_name": token, "tool_name": tool,
                "tool_input": {"command": token, "path": format!("/repo/{token}"), "k": token}, "error": token,
                "tool_result": {"result_type": token, "text_result_for_llm": token}, "transcript_path": token, "cwd": token});
            let reduced = reduced(&payload);
            let seen = serde_json::to_string(&reduced.observations).expect("JSON");
            let declined = format!("{:?}", reduced.declines);
            assert!(
                !seen.contains(token) && !declined.contains(token),
                "{event} {tool} {seen}"
            );
        }
    }
}

#[test]
fn large_fields_are_not_looked_at() {
    let large = "x".repeat(BODY_LIMIT);
    let withheld = |payload: &Value| match &reduced(payload).observations[0].fact {
        Fact::Prompt { text, .. } => matches!(text, Body::Withheld { .. }),
        Fact::ToolEnded { output, .. } => matches!(output, Some(Body::Withheld { .. })),
        Fact::ToolStarted { input, .. } => matches!(input, Body::Withheld { .. }),
        _ => false,
    };
    for payload in [
        json!({"sessionId": "s", "prompt": large}),
        json!({"sessionId": "s", "toolName": "bash", "toolArgs": {"command": large}}),
        json!({"sessionId": "s", "toolName": "bash", "toolResult": {"textResultForLlm": large}}),
    ] {
        assert!(withheld(&payload), "{payload:.100}");
    }
}

proptest! {
    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = reduce(&call(&bytes));
    }

    #[test]
    fn damaged_recordings_never_panic(which in any::<prop::sample::Index>(), cut in 0_usize..2000, at in 0_usize..2000, byte in any::<u8>()) {
        let all = recorded_calls();
        let mut bytes = all[which.index(all.len())].1.to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = reduce(&call(&bytes));
        bytes.truncate(cut);
        let _ = reduce(&call(&bytes));
    }
}
