//! Every recorded payload, and payloads that nobody should send.

use std::fmt::Write;
use std::path::Path;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use siglum_domain::observation::{Body, Fact, Side};

use super::reduce;
use crate::claude_code::fixture::HOOKS;
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced};
use crate::recorded;

fn call(payload: &[u8]) -> HookCall<'_> {
    recorded::call(payload, "/home/dev/.claude")
}

fn reduced(payload: &Value) -> Reduced {
    reduce(&call(payload.to_string().as_bytes())).expect("a payload")
}

fn payloads() -> Vec<Value> {
    recorded::payloads(HOOKS)
}

fn show(reduced: &Reduced) -> String {
    let mut out = String::new();
    for o in &reduced.observations {
        let fact = serde_json::to_string(&o.fact).expect("JSON");
        let mut tags = String::new();
        o.turn
            .iter()
            .for_each(|turn| write!(tags, " turn={}", &turn[..8]).expect("a string"));
        o.subagent
            .iter()
            .for_each(|agent| write!(tags, " in={agent}").expect("a string"));
        let event = if o.event == o.key {
            String::new()
        } else {
            format!(" → {}", o.event)
        };
        writeln!(
            out,
            "{}{event}{tags} {:?}\n    {fact}",
            o.key, reduced.boundary
        )
        .expect("a string");
    }
    for edit in &reduced.edits {
        writeln!(out, "    edit {:?} {}", edit.side, edit.path.display()).expect("a string");
    }
    reduced
        .head
        .iter()
        .for_each(|(_, side)| writeln!(out, "    head {side:?}").expect("a string"));
    reduced
        .declines
        .iter()
        .for_each(|d| writeln!(out, "    {} {}", d.reason, d.detail).expect("a string"));
    out
}

#[test]
#[expect(clippy::too_many_lines, reason = "one snapshot of all recordings")]
fn the_recorded_session_is_read() {
    let shown: String = payloads()
        .iter()
        .map(|payload| show(&reduced(payload)))
        .collect();
    assert_snapshot!(shown, @r#"
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"startup","model":null}
    prompt:de296258-cf9d-4564-af9d-7c819f9d282a turn=de296258 TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:write_commit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:toolu_3b6d222fc097414a9a0f7870 → tool:toolu_3b6d222fc097414a9a0f7870 turn=de296258 Within
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":20,\"file_path\":\"/repo/hello.txt\"}"},"path":"hello.txt"}
        edit Before hello.txt
    post:toolu_3b6d222fc097414a9a0f7870 → tool:toolu_3b6d222fc097414a9a0f7870 turn=de296258 Within
        {"fact":"tool_ended","tool":"Write","class":"edit","outcome":"ok","output":null,"duration_ms":7}
        edit After hello.txt
    pre:toolu_429a696615f749cd86be4976 → tool:toolu_429a696615f749cd86be4976 turn=de296258 Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
        head Before
    post:toolu_429a696615f749cd86be4976 → tool:toolu_429a696615f749cd86be4976 turn=de296258 Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":"a2e430eda264c05ac40491f4b1c4dba90a0b919f"},"duration_ms":526}
        head After
    hook:d1:Stop → stop:de296258-cf9d-4564-af9d-7c819f9d282a turn=de296258 TurnEnd
        {"fact":"stopped","last_message":{"text":"Done: hello.txt is committed."},"background":[]}
    hook:d1:SessionEnd turn=de296258 SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"resume","model":null}
    prompt:3d4ca571-e7bc-4ac5-8e8f-7063382a2cc1 turn=3d4ca571 TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    hook:d1:Stop → stop:3d4ca571-e7bc-4ac5-8e8f-7063382a2cc1 turn=3d4ca571 TurnEnd
        {"fact":"stopped","last_message":{"text":"Hello, nothing to do."},"background":[]}
    hook:d1:SessionEnd turn=3d4ca571 SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"fork","model":null}
    prompt:db6a784b-df40-4745-aec3-a84b34e38e2e turn=db6a784b TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    hook:d1:Stop → stop:db6a784b-df40-4745-aec3-a84b34e38e2e turn=db6a784b TurnEnd
        {"fact":"stopped","last_message":{"text":"Hello, nothing to do."},"background":[]}
    hook:d1:SessionEnd turn=db6a784b SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"startup","model":null}
    prompt:b8e2adc7-f885-4a38-9baf-9ccf1b0bb14b turn=b8e2adc7 TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:subagent]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:toolu_0f906b5a4e1247ca8481306d → tool:toolu_0f906b5a4e1247ca8481306d turn=b8e2adc7 Within
        {"fact":"tool_started","tool":"Agent","class":"agent","input":{"text":"{\"description\":\"write a file\",\"prompt\":\"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]\",\"subagent_type\":\"general-purpose\"}"},"path":null}
    hook:d1:SubagentStart → sub:a41656a253b697f93 turn=b8e2adc7 in=a41656a253b697f93 Within
        {"fact":"subagent_started","agent_type":"general-purpose"}
    spawned:a41656a253b697f93 → sub:a41656a253b697f93 turn=b8e2adc7 in=a41656a253b697f93 Within
        {"fact":"subagent_started","agent_type":"general-purpose","call":"toolu_0f906b5a4e1247ca8481306d"}
    post:toolu_0f906b5a4e1247ca8481306d → tool:toolu_0f906b5a4e1247ca8481306d turn=b8e2adc7 Within
        {"fact":"tool_ended","tool":"Agent","class":"agent","outcome":"ok","output":{"text":"{\"agentId\":\"a41656a253b697f93\",\"canContinueAgent\":true,\"canReadOutputFile\":true,\"description\":\"write a file\",\"isAsync\":true,\"outputFile\":\"/tmp/agent/claude-0/-repo/5dd7576f-f5d2-404b-9633-2ac18376b011/tasks/a41656a253b697f93.output\",\"prompt\":\"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]\",\"resolvedModel\":\"claude-opus-5-5\",\"status\":\"async_launched\"}"},"duration_ms":12}
    pre:toolu_0eb72c0d78194659abd9d24e → tool:toolu_0eb72c0d78194659abd9d24e turn=b8e2adc7 in=a41656a253b697f93 Within
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":8,\"file_path\":\"/repo/from_helper.txt\"}"},"path":"from_helper.txt"}
        edit Before from_helper.txt
    post:toolu_0eb72c0d78194659abd9d24e → tool:toolu_0eb72c0d78194659abd9d24e turn=b8e2adc7 in=a41656a253b697f93 Within
        {"fact":"tool_ended","tool":"Write","class":"edit","outcome":"ok","output":null,"duration_ms":7}
        edit After from_helper.txt
    hook:d1:Stop → stop:b8e2adc7-f885-4a38-9baf-9ccf1b0bb14b turn=b8e2adc7 TurnEnd
        {"fact":"stopped","last_message":{"text":"Done."},"background":["a41656a253b697f93"]}
    pre:toolu_52870f5fc3ac4a99ab476a41 → tool:toolu_52870f5fc3ac4a99ab476a41 turn=b8e2adc7 in=a41656a253b697f93 Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'helper commit'"},"path":null}
        head Before
    post:toolu_52870f5fc3ac4a99ab476a41 → tool:toolu_52870f5fc3ac4a99ab476a41 turn=b8e2adc7 in=a41656a253b697f93 Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":""},"duration_ms":473}
        head After
    hook:d1:SubagentStop → sub:a41656a253b697f93 turn=b8e2adc7 in=a41656a253b697f93 Within
        {"fact":"subagent_stopped","last_message":{"text":"Helper finished."}}
    prompt:13e77728-fab5-4f60-9dab-cac69db89d35 turn=13e77728 TurnStart
        {"fact":"prompt","text":{"text":"<task-notification>\n<task-id>a41656a253b697f93</task-id>\n<tool-use-id>toolu_0f906b5a4e1247ca8481306d</tool-use-id>\n<output-file>/tmp/agent/claude-0/-repo/5dd7576f-f5d2-404b-9633-2ac18376b011/tasks/a41656a253b697f93.output</output-file>\n<status>completed</status>\n<summary>Agent \"write a file\" finished</summary>\n<note>A task-notification fires each time this agent stops with no live background children of its own. The user can send it another message and resume it, so the same task-id may notify more than once.</note>\n<result>Helper finished.</result>\n<usage><subagent_tokens>470</subagent_tokens><tool_uses>2</tool_uses><duration_ms>1149</duration_ms></usage>\n</task-notification>"},"synthetic":true}
    hook:d1:Stop → stop:13e77728-fab5-4f60-9dab-cac69db89d35 turn=13e77728 TurnEnd
        {"fact":"stopped","last_message":{"text":"The helper is done."},"background":[]}
    hook:d1:SessionEnd turn=13e77728 SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"startup","model":null}
    prompt:b03081be-b5e2-4bb0-b933-ae30d3edc1d2 turn=b03081be TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:edit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:toolu_adb34b16a065449f91b09bb4 → tool:toolu_adb34b16a065449f91b09bb4 turn=b03081be Within
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":27,\"file_path\":\"/repo/src/list.txt\"}"},"path":"src/list.txt"}
        edit Before src/list.txt
    post:toolu_adb34b16a065449f91b09bb4 → tool:toolu_adb34b16a065449f91b09bb4 turn=b03081be Within
        {"fact":"tool_ended","tool":"Write","class":"edit","outcome":"ok","output":null,"duration_ms":9}
        edit After src/list.txt
    pre:toolu_acecf8f410f445b19f99a4f7 → tool:toolu_acecf8f410f445b19f99a4f7 turn=b03081be Within
        {"fact":"tool_started","tool":"Edit","class":"edit","input":{"text":"{\"file_path\":\"/repo/src/list.txt\",\"new_string_bytes\":15,\"old_string_bytes\":6,\"replace_all\":false}"},"path":"src/list.txt"}
        edit Before src/list.txt
    post:toolu_acecf8f410f445b19f99a4f7 → tool:toolu_acecf8f410f445b19f99a4f7 turn=b03081be Within
        {"fact":"tool_ended","tool":"Edit","class":"edit","outcome":"ok","output":null,"duration_ms":8}
        edit After src/list.txt
    pre:toolu_469ce81d36b046cab6310b90 → tool:toolu_469ce81d36b046cab6310b90 turn=b03081be Within
        {"fact":"tool_started","tool":"Write","class":"edit","input":{"text":"{\"content_bytes\":45,\"file_path\":\"/repo/src/list.txt\"}"},"path":"src/list.txt"}
        edit Before src/list.txt
    post:toolu_469ce81d36b046cab6310b90 → tool:toolu_469ce81d36b046cab6310b90 turn=b03081be Within
        {"fact":"tool_ended","tool":"Write","class":"edit","outcome":"ok","output":null,"duration_ms":3}
        edit After src/list.txt
    pre:toolu_aeb58bf1946449589b65874a → tool:toolu_aeb58bf1946449589b65874a turn=b03081be Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'edit the list'"},"path":null}
        head Before
    post:toolu_aeb58bf1946449589b65874a → tool:toolu_aeb58bf1946449589b65874a turn=b03081be Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":""},"duration_ms":487}
        head After
    hook:d1:Stop → stop:b03081be-b5e2-4bb0-b933-ae30d3edc1d2 turn=b03081be TurnEnd
        {"fact":"stopped","last_message":{"text":"The list is edited and committed."},"background":[]}
    hook:d1:SessionEnd turn=b03081be SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart turn=7802b693 SessionStart
        {"fact":"session_started","how":"compact","model":"claude-opus-5-5"}
    hook:d1:PostCompact → compact:7802b693-fa2e-46f3-af15-fcd01772a12e turn=7802b693 Within
        {"fact":"compacted","trigger":"manual","summary":{"text":"<summary>\nWork in progress.\n</summary>"}}
    post:toolu_29e4dccf2d0341c2bef4fb0c → tool:toolu_29e4dccf2d0341c2bef4fb0c turn=3309baff Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"failed","output":{"text":"Exit code 3"},"duration_ms":16}
        head After
    hook:d1:PostCompact → compact:2c785a41-b211-46c5-bc2c-0f7ef05be5d4 turn=2c785a41 Within
        {"fact":"compacted","trigger":"auto","summary":{"text":"<summary>\nWork in progress. [[scenario:autocompact]] [[cwd:/repo]] [[run:lab]]\n</summary>"}}
    hook:d1:SessionEnd turn=a6ecd4c3 SessionEnd
        {"fact":"session_ended","reason":"clear"}
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"clear","model":null}
    "#);
}

#[test]
fn every_recorded_payload_names_session_directory_and_transcript() {
    for payload in payloads() {
        let reduced = reduced(&payload);
        assert_eq!(
            Some(reduced.native.as_str()),
            payload["session_id"].as_str()
        );
        assert_eq!(reduced.cwd.as_deref(), payload["cwd"].as_str());
        assert_eq!(
            reduced.transcript.as_deref().and_then(Path::to_str),
            payload["transcript_path"].as_str()
        );
        assert_eq!((reduced.declines, reduced.parent), (Vec::new(), None));
    }
}

#[test]
fn other_events_and_fields_are_no_error() {
    for event in [
        json!("MessageDisplay"),
        json!("WorktreeCreate"),
        json!("from the future"),
        json!(7),
        Value::Null,
    ] {
        let reduced = reduced(
            &json!({"session_id": "s", "hook_event_name": event, "new": {"a": [1]}, "tool_input": 3}),
        );
        assert_eq!(
            (reduced.observations.len(), reduced.boundary),
            (0, Boundary::Within)
        );
    }
    let bare = reduced(&json!({"session_id": "s", "hook_event_name": "PostToolUse"}));
    assert_eq!(bare.observations[0].key, "hook:d1:PostToolUse");
}

/// In the form that the agent documents.
#[test]
fn a_turn_that_an_error_ends_is_over() {
    let failed = json!({"session_id": "s", "prompt_id": "p", "hook_event_name": "StopFailure", "error": "rate_limit",
        "error_details": "429", "last_assistant_message": "API Error: Rate limit reached"});
    let reduced = reduced(&failed);
    assert_eq!(reduced.boundary, Boundary::TurnEnd);
    assert_eq!(reduced.observations[0].event, "stop:p");
    let Fact::Stopped {
        last_message,
        failure,
        ..
    } = &reduced.observations[0].fact
    else {
        panic!("a stop: {reduced:?}");
    };
    let said = last_message.as_ref().and_then(Body::text);
    assert_eq!(said, Some("API Error: Rate limit reached"));
    assert_eq!(failure.as_deref(), Some("rate_limit"));
}

/// What it tells is where the agent works now, which all payloads do.
#[test]
fn a_change_of_directory_is_noted_with_the_new_one() {
    let changed = json!({"session_id": "s", "hook_event_name": "CwdChanged", "cwd": "/repo/deep", "old_cwd": "/repo",
        "new_cwd": "/repo/deep"});
    for (payload, name) in [
        (changed, "CwdChanged"),
        (
            json!({"session_id": "s", "hook_event_name": "FromTheFuture", "cwd": "/repo/deep"}),
            "FromTheFuture",
        ),
    ] {
        let reduced = reduced(&payload);
        // Not by its delivery: it may come with every command.
        assert_eq!(reduced.observations[0].key, format!("hook:other:{name}"));
        let name = name.to_owned();
        assert_eq!(reduced.observations[0].fact, Fact::Other { name });
        assert_eq!(reduced.observations.len(), 1);
        assert_eq!(reduced.cwd.as_deref(), Some("/repo/deep"));
    }
}

#[test]
fn only_a_payload_without_a_session_is_an_error() {
    let check = |payload: &str, expected: &str| {
        assert_eq!(
            reduce(&call(payload.as_bytes())).map_err(|error| error.reason()),
            Err(expected),
            "{payload}"
        );
    };
    check("", "not_json");
    check("{\"session_id\":\"s\"", "not_json");
    check("{\"session_id\":\"s\"} x", "not_json");
    check("[\"s\"]", "no_session");
    check("{}", "no_session");
    check("{\"session_id\":7}", "no_session");
    check("{\"session_id\":\"  \"}", "no_session");
    for id in [
        "../../etc/passwd",
        "a/b",
        "a\\\\b",
        "a\\nb",
        "a b",
        "a\\u0000b",
    ] {
        check(&format!("{{\"session_id\":\"{id}\"}}"), "bad_session_id");
    }
    assert_eq!(
        reduce(&call(b"\xff\xfe")),
        Err(ReduceError::NotJson { bytes: 2 })
    );
}

#[test]
fn bad_parts_are_dropped_with_a_reason_and_the_rest_is_used() {
    let reduced = reduced(&json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
        "transcript_path": "/etc/../home/dev/.claude/projects/x.jsonl", "cwd": "repo", "prompt_id": "a/b",
        "agent_id": "../x", "tool_use_id": "a b",
    }));
    let reasons: Vec<_> = reduced.declines.iter().map(|d| d.reason).collect();
    assert_eq!(
        reasons,
        [
            "bad_prompt_id",
            "bad_agent_id",
            "bad_cwd",
            "transcript_outside",
            "bad_tool_use_id"
        ]
    );
    assert_eq!((reduced.observations.len(), reduced.transcript), (1, None));
    assert_eq!(
        reduced.head,
        Some(("hook:d1:PreToolUse".to_owned(), Side::Before))
    );
}

#[test]
fn secrets_are_removed_wherever_they_stand() {
    let token = concat!("gh", "p_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let base = |event: &str| {
        json!({"session_id": "s", "hook_event_name": event, "prompt": token, "source": token,
        "tool_use_id": "t", "tool_name": token, "tool_input": {"command": token, "file_path": format!("/repo/{token}"), "k": token},
        "tool_response": {"stdout": token, "stderr": token}, "error": token, "reason": token, "model": token,
        "last_assistant_message": token, "background_tasks": [{"id": token}], "agent_type": token,
        "compact_summary": token, "trigger": token, "transcript_path": token, "cwd": token})
    };
    for event in [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionDenied",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "PostCompact",
    ] {
        for tool in ["Bash", "Write", "Agent", token] {
            let mut payload = base(event);
            payload["tool_name"] = json!(tool);
            let reduced = reduced(&payload);
            let seen = serde_json::to_string(&reduced.observations).expect("JSON");
            assert!(
                !seen.contains(token) && !format!("{:?}", reduced.declines).contains(token),
                "{event} {tool} {seen}"
            );
        }
    }
}

#[test]
fn large_fields_are_not_looked_at() {
    let large = "x".repeat(BODY_LIMIT);
    let prompt = reduced(
        &json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": large}),
    );
    let Fact::Prompt {
        text: Body::Withheld { bytes, digest },
        ..
    } = &prompt.observations[0].fact
    else {
        panic!("withheld")
    };
    assert_eq!((*bytes, digest.len()), (BODY_LIMIT as u64 + 2, 64));
    let call = json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t", "tool_response": {"stdout": large, "stderr": ""}});
    assert!(matches!(
        &reduced(&call).observations[0].fact,
        Fact::ToolEnded {
            output: Some(Body::Withheld { .. }),
            ..
        }
    ));
    let call = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Write", "tool_use_id": "t", "tool_input": {"file_path": "/x/a", "content": large}});
    let seen = reduced(&call);
    assert!(
        matches!(&seen.observations[0].fact, Fact::ToolStarted { input: Body::Text(text), .. } if text.as_str() == r#"{"content_bytes":65536,"file_path":"/x/a"}"#)
    );
    assert_eq!(seen.edits[0].path, Path::new("/x/a"));
}

#[test]
fn a_denied_call_ended() {
    let denied = json!({"session_id": "s", "hook_event_name": "PermissionDenied", "tool_name": "Write", "tool_use_id": "t", "tool_input": {"file_path": "/repo/a"}, "reason": "no"});
    assert_snapshot!(show(&reduced(&denied)), @r#"
    denied:t → tool:t Within
        {"fact":"tool_ended","tool":"Write","class":"edit","outcome":"denied","output":{"text":"no"},"duration_ms":null}
    "#);
    assert_eq!(
        reduced(&json!({"session_id": "s", "hook_event_name": "PermissionDenied"})).observations,
        []
    );
}

#[test]
fn the_same_payload_twice_is_the_same_sighting() {
    for payload in payloads() {
        assert_eq!(reduced(&payload), reduced(&payload));
    }
}

proptest! {
    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = reduce(&call(&bytes));
    }

    #[test]
    fn damaged_recordings_never_panic(which in 0_usize..57, cut in 0_usize..2000, at in 0_usize..2000, byte in any::<u8>()) {
        let all = payloads();
        let mut bytes = all[which % all.len()].to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let _ = reduce(&call(&bytes));
        bytes.truncate(cut);
        let _ = reduce(&call(&bytes));
    }
}

/// Not a test: prints the speed. `cargo test --release -p siglum-agents -- --ignored speed --nocapture`
#[test]
#[ignore = "a measurement"]
fn speed() {
    let large = json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Write", "tool_use_id": "t",
        "tool_input": {"file_path": "/repo/a", "content": "let x = 1;\n".repeat(700_000)},
        "tool_response": {"originalFile": "let x = 1;\n".repeat(600_000)}});
    for (name, payload, rounds) in [
        ("recorded call", &payloads()[2], 1000),
        ("large call", &large, 10),
    ] {
        let bytes = payload.to_string().into_bytes();
        let start = std::time::Instant::now();
        for _ in 0..rounds {
            reduce(&call(&bytes)).expect("a payload");
        }
        println!(
            "{name}: {} bytes, {:?} each",
            bytes.len(),
            start.elapsed() / rounds
        );
    }
}
