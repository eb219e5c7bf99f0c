//! Every recorded payload, and payloads that nobody should send.

use proptest::prelude::*;
use serde_json::{Value, json};
use siglum_domain::observation::{Body, Fact, Outcome, Side, StartKind};

use super::reduce;
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced, WriteHint};
use crate::qwen::fixture::HOOKS;
use crate::recorded;

const AGENT: &str = "general-purpose-call_3d962a2427984ff7af27c24c";

fn call(payload: &[u8]) -> HookCall<'_> {
    recorded::call(payload, "/home/dev/.qwen")
}

fn reduced(payload: &Value) -> Reduced {
    reduce(&call(payload.to_string().as_bytes())).expect("a payload")
}

fn payloads() -> Vec<Value> {
    recorded::payloads(HOOKS)
}

/// What was recorded of one session.
fn session(id: &str) -> Vec<Reduced> {
    let all = payloads();
    let own = all.iter().filter(|p| {
        let native = p["session_id"].as_str();
        native.is_some_and(|native| native.starts_with(id))
    });
    own.map(reduced).collect()
}

/// Kind and event of all that was seen.
fn events(all: &[Reduced]) -> Vec<(&'static str, &str)> {
    let seen = all.iter().flat_map(|reduced| &reduced.observations);
    seen.map(|o| (o.fact.kind(), o.event.as_str())).collect()
}

#[test]
fn a_session_with_a_commit_is_told_by_turn_and_call() {
    let all = session("49ec730b");
    let turn = "49ec730b-bad2-4ccc-9bab-d3824455f037########0";
    let (prompt, stop) = (format!("prompt:{turn}"), format!("stop:{turn}"));
    let write = "tool:call_6c38b3431a3b455e903b82e6";
    let commit = "tool:call_5997949e18e5479aa8e2fa99";
    let start = "hook:d1:SessionStart";
    let expected = [
        ("session_started", start),
        ("prompt", prompt.as_str()),
        ("tool_started", write),
        ("tool_ended", write),
        ("tool_started", commit),
        ("tool_ended", commit),
        ("stopped", stop.as_str()),
        ("session_started", start),
    ];
    assert_eq!(events(&all), expected);
    let inner = all.iter().flat_map(|reduced| &reduced.observations);
    for seen in inner.filter(|o| o.fact.kind() != "session_started") {
        assert_eq!(seen.turn.as_deref(), Some(turn));
    }
    let edits: Vec<_> = all.iter().flat_map(|reduced| &reduced.edits).collect();
    let sides: Vec<_> = edits.iter().map(|edit| edit.side).collect();
    assert_eq!(sides, [Side::Before, Side::After]);
    assert_eq!(edits[0].path.to_str(), Some("hello.txt"));
    let whole = WriteHint::Whole {
        base: None,
        written: b"hello from the lab\n".to_vec(),
    };
    assert_eq!(edits[1].write, Some(whole));
    let heads: Vec<_> = all.iter().filter_map(|r| r.head.as_ref()).collect();
    let head = |side| (commit.to_owned(), side);
    assert_eq!(heads, [&head(Side::Before), &head(Side::After)]);
    let transcript = all[0].transcript.as_deref().and_then(|path| path.to_str());
    assert_eq!(
        transcript,
        Some("/home/dev/.qwen/projects/-repo/chats/49ec730b-bad2-4ccc-9bab-d3824455f037.jsonl")
    );
    assert!(all.iter().all(|reduced| reduced.declines.is_empty()));
}

#[test]
fn a_background_sub_agent_outlives_the_call_that_started_it() {
    let all = session("ff283152");
    let (own, started) = (format!("sub:{AGENT}"), "tool:call_3d962a2427984ff7af27c24c");
    let (write, commit) = (
        "tool:call_08e45a94faee4011832cf430",
        "tool:call_89bb5af5017e48ddacf7332a",
    );
    let expected = [
        ("tool_started", started),
        ("subagent_started", own.as_str()),
        ("subagent_started", own.as_str()),
        ("tool_ended", started),
        ("tool_started", write),
        ("tool_ended", write),
        ("tool_started", commit),
        ("tool_ended", commit),
        ("subagent_stopped", own.as_str()),
    ];
    assert_eq!(events(&all), expected);
    let seen = all.iter().flat_map(|reduced| &reduced.observations);
    for o in seen {
        let inside = o.event != started;
        assert_eq!(
            o.subagent.as_deref(),
            inside.then_some(AGENT),
            "{}",
            o.event
        );
        if let Fact::SubagentStarted { agent_type, call } = &o.fact {
            assert_eq!(agent_type, "general-purpose");
            assert_eq!(call.as_deref(), Some("call_3d962a2427984ff7af27c24c"));
        }
    }
}

#[test]
fn a_command_that_failed_says_why() {
    let all = session("816aa8c0");
    let [only] = all.as_slice() else {
        panic!("one payload: {all:?}");
    };
    let Fact::ToolEnded {
        outcome, output, ..
    } = &only.observations[0].fact
    else {
        panic!("a call that ended: {only:?}");
    };
    assert_eq!(*outcome, Outcome::Failed);
    let text = output.as_ref().and_then(Body::text);
    assert_eq!(text, Some("Exit Code: 3"));
}

/// After a clear, the new session is told with the old one's prompt.
#[test]
fn a_turn_of_another_session_is_none() {
    let old = session("fe0face1");
    assert_eq!(events(&old), [("session_ended", "hook:d1:SessionEnd")]);
    assert_eq!(old.last().map(|r| r.boundary), Some(Boundary::SessionEnd));
    let new = session("60841369");
    let first = &new[0].observations[0];
    assert_eq!(first.turn, None);
    let how = StartKind::Clear;
    let model = Some("fake-model".to_owned());
    assert_eq!(first.fact, Fact::SessionStarted { how, model });
}

/// One comes after each batch of tools.
#[test]
fn an_empty_prompt_is_none() {
    let payload = json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt_id": "s########0", "prompt": ""});
    let reduced = reduced(&payload);
    assert_eq!(reduced.observations, []);
    assert_eq!(reduced.declines, []);
    assert_eq!(reduced.boundary, Boundary::Within);
}

#[test]
fn what_the_agent_asks_itself_is_synthetic() {
    let check = |prompt: &str, expected: bool| {
        let payload =
            json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": prompt});
        let told = matches!(reduced(&payload).observations[0].fact, Fact::Prompt { synthetic, .. } if synthetic);
        assert_eq!(told, expected, "{prompt}");
    };
    check("<task-notification>\n<task-id>x", true);
    check("what is a <task-notification>?", false);
}

#[test]
fn events_that_nobody_knows_are_noted_and_no_more() {
    let payload = json!({"session_id": "s", "hook_event_name": "FromTheFuture", "prompt": "x"});
    let [seen] = &reduced(&payload).observations[..] else {
        panic!("it is noted: {payload}");
    };
    let name = "FromTheFuture".to_owned();
    assert_eq!(seen.fact, Fact::Other { name });
    for event in [
        "TodoCreated",
        "PostToolBatch",
        "Notification",
        "from the future",
        "",
    ] {
        let payload = json!({"session_id": "s", "hook_event_name": event, "prompt": "x"});
        let reduced = reduced(&payload);
        assert_eq!(reduced.observations, [], "{event}");
        assert_eq!(reduced.declines, [], "{event}");
    }
}

#[test]
fn an_edit_whose_result_is_not_shown_is_known_by_its_call() {
    let payload = json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "edit", "tool_call_id": "c",
        "cwd": "/repo", "tool_input": {"file_path": "a", "old_string": "x", "new_string": "y"}, "tool_response": {"llmContent": "done"}});
    let reduced = reduced(&payload);
    let edit = &reduced.edits[0];
    assert_eq!(edit.path.to_str(), Some("a"));
    assert_eq!(edit.write, Some(WriteHint::Added(b"y".to_vec())));
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
    check("{\"session_id\":\"../x\"}", "bad_session_id");
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
        for tool in ["run_shell_command", "write_file", "agent", token] {
            let payload = json!({"session_id": "s", "hook_event_name": event, "prompt": token, "source": token, "reason": token,
                "last_assistant_message": token, "background_tasks": [{"id": token}], "model": token, "agent_type": token, "tool_name": tool,
                "tool_input": {"command": token, "file_path": format!("/repo/{token}"), "k": token}, "error": token,
                "tool_response": {"llmContent": format!("Command: x\nDirectory: y\nOutput: {token}"), "returnDisplay": token},
                "transcript_path": token, "cwd": token});
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
        json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": large}),
        json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "run_shell_command", "tool_input": {"command": large}}),
        json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "run_shell_command", "tool_response": {"llmContent": large}}),
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
        let all = payloads();
        let mut bytes = all[which.index(all.len())].to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = reduce(&call(&bytes));
        bytes.truncate(cut);
        let _ = reduce(&call(&bytes));
    }
}
