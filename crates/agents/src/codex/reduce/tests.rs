//! Every recorded payload, and payloads that nobody should send.

use std::fmt::Write;
use std::path::Path;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use siglum_domain::observation::{Fact, Side, ToolClass};

use super::reduce;
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced};
use crate::recorded;

const HOOKS: &str = include_str!("../fixtures/0.169.0/hooks.jsonl");

fn call(payload: &[u8]) -> HookCall<'_> {
    recorded::call(payload, "/home/dev/.codex")
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
        let short = |id: &str| id.get(14..).unwrap_or(id).to_owned();
        let mut tags = format!(" {}", short(reduced.native.as_str()));
        o.turn
            .iter()
            .for_each(|turn| write!(tags, " turn={}", short(turn)).expect("a string"));
        o.subagent
            .iter()
            .for_each(|agent| write!(tags, " in={}", short(agent)).expect("a string"));
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
        let from = edit
            .held_by
            .as_ref()
            .map(|p| format!(" from {}", p.display()));
        let from = from.unwrap_or_default();
        writeln!(
            out,
            "    edit {:?} {}{from}",
            edit.side,
            edit.path.display()
        )
        .expect("a string");
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
fn the_recorded_sessions_are_read() {
    let shown: String = payloads()
        .iter()
        .map(|payload| show(&reduced(payload)))
        .collect();
    assert_snapshot!(shown, @r#"
    hook:d1:SessionStart 7340-9108-2bc0240cb46a SessionStart
        {"fact":"session_started","how":"startup","model":"fake-model"}
    prompt:01a1fc3f-a99a-7b50-b741-92939a09d2d7 7340-9108-2bc0240cb46a turn=7b50-b741-92939a09d2d7 TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:write_commit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:call_e2f0dfc198d842ca9891a247 → tool:call_e2f0dfc198d842ca9891a247 7340-9108-2bc0240cb46a turn=7b50-b741-92939a09d2d7 Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"cat > '/repo/hello.txt' <<'LAB_EOF'\nhello from the lab\nLAB_EOF"},"path":null}
        head Before
    post:call_e2f0dfc198d842ca9891a247 → tool:call_e2f0dfc198d842ca9891a247 7340-9108-2bc0240cb46a turn=7b50-b741-92939a09d2d7 Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":""},"duration_ms":null}
        head After
    pre:call_698fef6b6d644f8ca3c8ca38 → tool:call_698fef6b6d644f8ca3c8ca38 7340-9108-2bc0240cb46a turn=7b50-b741-92939a09d2d7 Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
        head Before
    post:call_698fef6b6d644f8ca3c8ca38 → tool:call_698fef6b6d644f8ca3c8ca38 7340-9108-2bc0240cb46a turn=7b50-b741-92939a09d2d7 Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":"581ed88c019aa16870a4243f601b2e3703e29cdf\n"},"duration_ms":null}
        head After
    hook:d1:Stop → stop:01a1fc3f-a99a-7b50-b741-92939a09d2d7 7340-9108-2bc0240cb46a turn=7b50-b741-92939a09d2d7 TurnEnd
        {"fact":"stopped","last_message":{"text":"Done: hello.txt is committed."},"background":[]}
    hook:d1:SessionEnd 7340-9108-2bc0240cb46a SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart 7340-9108-2bc0240cb46a SessionStart
        {"fact":"session_started","how":"resume","model":"fake-model"}
    prompt:01a1fc3f-ad38-7540-9665-01d10e78b397 7340-9108-2bc0240cb46a turn=7540-9665-01d10e78b397 TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    hook:d1:Stop → stop:01a1fc3f-ad38-7540-9665-01d10e78b397 7340-9108-2bc0240cb46a turn=7540-9665-01d10e78b397 TurnEnd
        {"fact":"stopped","last_message":{"text":"Hello, nothing to do."},"background":[]}
    hook:d1:SessionEnd 7340-9108-2bc0240cb46a SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart 7a82-90a2-8f21ab8d5035 SessionStart
        {"fact":"session_started","how":"fork","model":"fake-model"}
    prompt:01a1fc3f-ae83-7c32-8db2-ced8226832bc 7a82-90a2-8f21ab8d5035 turn=7c32-8db2-ced8226832bc TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    hook:d1:Stop → stop:01a1fc3f-ae83-7c32-8db2-ced8226832bc 7a82-90a2-8f21ab8d5035 turn=7c32-8db2-ced8226832bc TurnEnd
        {"fact":"stopped","last_message":{"text":"Hello, nothing to do."},"background":[]}
    hook:d1:SessionEnd 7a82-90a2-8f21ab8d5035 SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart 7581-94fe-8ccc495aac06 SessionStart
        {"fact":"session_started","how":"startup","model":"fake-model"}
    prompt:01a1fc40-2042-7073-9e86-852a14b08ba7 7581-94fe-8ccc495aac06 turn=7073-9e86-852a14b08ba7 TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:subagent]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:call_78b8c9a2a1094f019ce993da → tool:call_78b8c9a2a1094f019ce993da 7581-94fe-8ccc495aac06 turn=7073-9e86-852a14b08ba7 Within
        {"fact":"tool_started","tool":"spawn_agent","class":"agent","input":{"text":"{\"message\":\"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]\"}"},"path":null}
    spawned:01a1fc40-2101-7570-a684-81411887e38f → sub:01a1fc40-2101-7570-a684-81411887e38f 7581-94fe-8ccc495aac06 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f Within
        {"fact":"subagent_started","agent_type":"","call":"call_78b8c9a2a1094f019ce993da"}
    post:call_78b8c9a2a1094f019ce993da → tool:call_78b8c9a2a1094f019ce993da 7581-94fe-8ccc495aac06 turn=7073-9e86-852a14b08ba7 Within
        {"fact":"tool_ended","tool":"spawn_agent","class":"agent","outcome":"ok","output":{"text":"{\"agent_id\":\"01a1fc40-2101-7570-a684-81411887e38f\",\"nickname\":\"Hypatia\"}"},"duration_ms":null}
    hook:d1:SubagentStart → sub:01a1fc40-2101-7570-a684-81411887e38f 7581-94fe-8ccc495aac06 in=7570-a684-81411887e38f Within
        {"fact":"subagent_started","agent_type":"default"}
    pre:call_e629babdfe144177999b71b9 → tool:call_e629babdfe144177999b71b9 7581-94fe-8ccc495aac06 turn=7073-9e86-852a14b08ba7 Within
        {"fact":"tool_started","tool":"multi_agent_v1wait_agent","class":"other","input":{"text":"{\"targets\":[\"01a1fc40-2101-7570-a684-81411887e38f\"],\"timeout_ms\":30000}"},"path":null}
    pre:call_4996d8579f8f44968c43a3b4 → tool:call_4996d8579f8f44968c43a3b4 7581-94fe-8ccc495aac06 in=7570-a684-81411887e38f Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"cat > '/repo/from_helper.txt' <<'LAB_EOF'\nhelper\nLAB_EOF"},"path":null}
        head Before
    post:call_4996d8579f8f44968c43a3b4 → tool:call_4996d8579f8f44968c43a3b4 7581-94fe-8ccc495aac06 in=7570-a684-81411887e38f Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":""},"duration_ms":null}
        head After
    pre:call_2882a6805d5c4132bd039486 → tool:call_2882a6805d5c4132bd039486 7581-94fe-8ccc495aac06 in=7570-a684-81411887e38f Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'helper commit'"},"path":null}
        head Before
    post:call_2882a6805d5c4132bd039486 → tool:call_2882a6805d5c4132bd039486 7581-94fe-8ccc495aac06 in=7570-a684-81411887e38f Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":""},"duration_ms":null}
        head After
    hook:d1:SubagentStop → sub:01a1fc40-2101-7570-a684-81411887e38f 7581-94fe-8ccc495aac06 in=7570-a684-81411887e38f Within
        {"fact":"subagent_stopped","last_message":{"text":"Helper finished."}}
    post:call_e629babdfe144177999b71b9 → tool:call_e629babdfe144177999b71b9 7581-94fe-8ccc495aac06 turn=7073-9e86-852a14b08ba7 Within
        {"fact":"tool_ended","tool":"multi_agent_v1wait_agent","class":"other","outcome":"ok","output":{"text":"{\"status\":{\"01a1fc40-2101-7570-a684-81411887e38f\":{\"completed\":\"Helper finished.\"}},\"timed_out\":false}"},"duration_ms":null}
    hook:d1:Stop → stop:01a1fc40-2042-7073-9e86-852a14b08ba7 7581-94fe-8ccc495aac06 turn=7073-9e86-852a14b08ba7 TurnEnd
        {"fact":"stopped","last_message":{"text":"The helper is done."},"background":[]}
    hook:d1:SessionEnd 7581-94fe-8ccc495aac06 SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart 75c2-8a17-e4aab98f8597 SessionStart
        {"fact":"session_started","how":"startup","model":"fake-model"}
    hook:d1:PostCompact → compact:01a1fc40-26c8-7962-a5cd-93daf7f18cfe 75c2-8a17-e4aab98f8597 turn=7962-a5cd-93daf7f18cfe Within
        {"fact":"compacted","trigger":"auto","summary":null}
    hook:d1:SessionStart 75c2-8a17-e4aab98f8597 SessionStart
        {"fact":"session_started","how":"compact","model":"fake-model"}
    post:call_46436eb04e854e2dbda445a7 → tool:call_46436eb04e854e2dbda445a7 7950-97d8-17fc11437ec7 turn=71e1-8778-6a5fe2852830 Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":""},"duration_ms":null}
        head After
    post:call_f5f2165862f447538c476565 → tool:call_f5f2165862f447538c476565 7950-97d8-17fc11437ec7 turn=71e1-8778-6a5fe2852830 Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":"CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS CODEX_CI CODEX_HOME CODEX_SESSION_ID CODEX_THREAD_ID CODEX_TOOL_CALL_ID CODEX_VERSION COLORTERM GH_PAGER GIT_PAGER HOME LAB_API_KEY LAB_CAPTURE LAB_CAPTURE_OUT LAB_MODEL_URL LAB_PYTHON LANG LC_ALL LC_CTYPE NO_COLOR NO_PROXY PAGER PATH PWD SHELL SHLVL TERM TMPDIR USER _ "},"duration_ms":null}
        head After
    pre:call_369d955c76894f1789f55857 → tool:call_369d955c76894f1789f55857 7a41-9678-86a903db1e79 turn=7d93-b525-c51bae21e05c Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"printf 'one\\ntwo\\nthree\\nfour\\n' > a.txt; printf 'gone\\n' > b.txt; printf 'm1\\nm2\\nm3\\n' > c.txt; git add -A; git commit -qm files; git rev-parse HEAD"},"path":null}
        head Before
    post:call_369d955c76894f1789f55857 → tool:call_369d955c76894f1789f55857 7a41-9678-86a903db1e79 turn=7d93-b525-c51bae21e05c Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":"b4cd73f8ffde16fe1a89dccb4489aa3828b009b2\n"},"duration_ms":null}
        head After
    pre:call_38563f61d2d5460db74c3e9f → tool:call_38563f61d2d5460db74c3e9f 7a41-9678-86a903db1e79 turn=7d93-b525-c51bae21e05c Within
        {"fact":"tool_started","tool":"apply_patch","class":"edit","input":{"text":"{\"files\":[\"A dir/new.txt\",\"M a.txt\",\"D b.txt\",\"R c.txt -> moved.txt\"],\"patch_bytes\":196}"},"path":null}
        edit Before dir/new.txt
        edit Before a.txt
        edit Before b.txt
        edit Before c.txt
        edit Before moved.txt from c.txt
    post:call_38563f61d2d5460db74c3e9f → tool:call_38563f61d2d5460db74c3e9f 7a41-9678-86a903db1e79 turn=7d93-b525-c51bae21e05c Within
        {"fact":"tool_ended","tool":"apply_patch","class":"edit","outcome":"ok","output":null,"duration_ms":null}
        edit After dir/new.txt
        edit After a.txt
        edit After b.txt
        edit After c.txt
        edit After moved.txt
    pre:call_9eb1caffb2f64d2d96eb4437 → tool:call_9eb1caffb2f64d2d96eb4437 7a41-9678-86a903db1e79 turn=7d93-b525-c51bae21e05c Within
        {"fact":"tool_started","tool":"apply_patch","class":"edit","input":{"text":"{\"files\":[\"M a.txt\"],\"patch_bytes\":81}"},"path":"a.txt"}
        edit Before a.txt
    pre:call_4ada21a6bfe54e98928625e3 → tool:call_4ada21a6bfe54e98928625e3 7a41-9678-86a903db1e79 turn=7d93-b525-c51bae21e05c Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'patched' && git rev-parse HEAD"},"path":null}
        head Before
    post:call_4ada21a6bfe54e98928625e3 → tool:call_4ada21a6bfe54e98928625e3 7a41-9678-86a903db1e79 turn=7d93-b525-c51bae21e05c Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":"b452466d0ef8a9f81d655a0801a8a90c6e4a96fd\n"},"duration_ms":null}
        head After
    pre:exec-fd233816-5ccc-47ea-a72f-852baa6db632 → tool:exec-fd233816-5ccc-47ea-a72f-852baa6db632 7af2-9c54-707a3562958c turn=72b1-b5ed-af3819025c1a Within
        {"fact":"tool_started","tool":"apply_patch","class":"edit","input":{"text":"{\"files\":[\"A /repo/hello.txt\"],\"patch_bytes\":80}"},"path":"hello.txt"}
        edit Before hello.txt
    post:exec-fd233816-5ccc-47ea-a72f-852baa6db632 → tool:exec-fd233816-5ccc-47ea-a72f-852baa6db632 7af2-9c54-707a3562958c turn=72b1-b5ed-af3819025c1a Within
        {"fact":"tool_ended","tool":"apply_patch","class":"edit","outcome":"ok","output":null,"duration_ms":null}
        edit After hello.txt
    pre:exec-6161db1e-7a92-4942-978d-666a787323c0 → tool:exec-6161db1e-7a92-4942-978d-666a787323c0 7af2-9c54-707a3562958c turn=72b1-b5ed-af3819025c1a Within
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
        head Before
    post:exec-6161db1e-7a92-4942-978d-666a787323c0 → tool:exec-6161db1e-7a92-4942-978d-666a787323c0 7af2-9c54-707a3562958c turn=72b1-b5ed-af3819025c1a Within
        {"fact":"tool_ended","tool":"Bash","class":"shell","outcome":"ok","output":{"text":"b798e5384d756123de6fc22eb4429b60a923230a\n"},"duration_ms":null}
        head After
    hook:d1:Interrupt → stop:01a1fc42-faca-77e2-b47d-f5ac0ddbd894 7031-bd54-980e335f9344 turn=77e2-b47d-f5ac0ddbd894 TurnEnd
        {"fact":"stopped","last_message":null,"background":[]}
    hook:d1:SessionStart 73f1-b2c9-05f530c726eb SessionStart
        {"fact":"session_started","how":"startup","model":"fake-model"}
    hook:d1:SessionEnd 73f1-b2c9-05f530c726eb SessionEnd
        {"fact":"session_ended","reason":"other"}
    hook:d1:SessionStart 79d2-923f-f9b1c2e8f3a6 SessionStart
        {"fact":"session_started","how":"startup","model":"fake-model"}
    hook:d1:SessionStart 79d2-923f-f9b1c2e8f3a6 SessionStart
        {"fact":"session_started","how":"compact","model":"fake-model"}
    hook:d1:SessionEnd 79d2-923f-f9b1c2e8f3a6 SessionEnd
        {"fact":"session_ended","reason":"other"}
    "#);
}

fn tool(name: &str, event: &str, input: &Value) -> Value {
    json!({
        "session_id": "s", "turn_id": "t", "cwd": "/repo/sub", "hook_event_name": event,
        "tool_name": name, "tool_input": input, "tool_use_id": "c1", "tool_response": "out",
    })
}

#[test]
fn a_patch_names_every_file_it_changes() {
    let patch = "*** Begin Patch\n*** Update File: a\n*** Move to: ../b\n@@\n-x\n+secret\n\
        *** Add File: /elsewhere/c\n+y\n*** End Patch";
    let before = reduced(&tool(
        "apply_patch",
        "PreToolUse",
        &json!({"command": patch}),
    ));
    assert_snapshot!(show(&before), @r#"
    pre:c1 → tool:c1 s turn=t Within
        {"fact":"tool_started","tool":"apply_patch","class":"edit","input":{"text":"{\"files\":[\"R a -> ../b\",\"A /elsewhere/c\"],\"patch_bytes\":110}"},"path":null}
        edit Before sub/a
        edit Before b from sub/a
        edit Before /elsewhere/c
    "#);
    let after = reduced(&tool(
        "apply_patch",
        "PostToolUse",
        &json!({"command": patch}),
    ));
    let sides: Vec<_> = after
        .edits
        .iter()
        .map(|e| (e.side, e.held_by.is_some()))
        .collect();
    assert_eq!(sides, [(Side::After, false); 3]);
    for no_patch in [json!({}), json!({"command": 1}), json!("x"), Value::Null] {
        let reduced = reduced(&tool("apply_patch", "PreToolUse", &no_patch));
        assert_eq!(reduced.edits, []);
        let fact = &reduced.observations[0].fact;
        assert!(matches!(
            fact,
            Fact::ToolStarted {
                class: ToolClass::Edit,
                path: None,
                ..
            }
        ));
    }
}

#[test]
fn a_large_patch_is_not_kept_but_its_files_are() {
    let body = "+x\n".repeat(BODY_LIMIT);
    let patch = format!("*** Begin Patch\n*** Add File: a\n{body}*** End Patch\n");
    let reduced = reduced(&tool(
        "apply_patch",
        "PreToolUse",
        &json!({"command": patch}),
    ));
    assert_eq!(reduced.edits.len(), 1);
    assert!(show(&reduced).len() < 1000);
    let large = json!({"command": "x".repeat(BODY_LIMIT)});
    let shown = show(&super::tests::reduced(&tool("Bash", "PreToolUse", &large)));
    assert!(shown.contains("withheld"), "{shown}");
}

#[test]
fn what_a_sub_agent_does_is_its_session_s() {
    let transcript = "/home/dev/.codex/sessions/2026/11/21/rollout-2026-11-21T03-57-03-b.jsonl";
    let mut payload = tool("Bash", "PreToolUse", &json!({"command": "ls"}));
    payload["agent_id"] = json!("b");
    payload["transcript_path"] = json!(transcript);
    let seen = reduced(&payload);
    assert_eq!(seen.native.as_str(), "s");
    assert_eq!(seen.transcript_of.as_deref(), Some("b"));
    assert_eq!(seen.transcript.as_deref(), Some(Path::new(transcript)));
    assert_eq!(seen.observations[0].turn, None);
    assert_eq!(seen.observations[0].subagent.as_deref(), Some("b"));
    for event in ["UserPromptSubmit", "Stop", "Interrupt"] {
        payload["hook_event_name"] = json!(event);
        assert_eq!(reduced(&payload).observations, [], "{event}");
        assert_eq!(reduced(&payload).boundary, Boundary::Within, "{event}");
    }
}

#[test]
fn only_a_payload_without_a_session_is_an_error() {
    for (payload, expected) in [
        ("{\"session_id\":", ReduceError::NotJson { bytes: 14 }),
        ("[]", ReduceError::NoSession),
        ("{}", ReduceError::NoSession),
        ("{\"session_id\":\" \"}", ReduceError::NoSession),
        ("{\"session_id\":7}", ReduceError::NoSession),
    ] {
        assert_eq!(
            reduce(&call(payload.as_bytes())),
            Err(expected),
            "{payload}"
        );
    }
    let bad = json!({"session_id": "a\nb"}).to_string();
    assert!(matches!(
        reduce(&call(bad.as_bytes())),
        Err(ReduceError::BadSessionId(_))
    ));
}

#[test]
fn other_events_and_fields_are_no_error() {
    for event in ["PreCompact", "PermissionRequest", "", "X\ny"] {
        let seen = reduced(&json!({"session_id": "s", "hook_event_name": event, "new": [{}]}));
        assert_eq!(seen.observations, [], "{event}");
        assert_eq!(seen.declines, [], "{event}");
    }
    let unknown = reduced(&json!({"session_id": "s", "hook_event_name": "FromTheFuture"}));
    let kinds: Vec<_> = unknown.observations.iter().map(|o| o.fact.kind()).collect();
    assert_eq!(kinds, ["other"]);
    let odd = reduced(&json!({
        "session_id": "s", "turn_id": "a\u{1}", "agent_id": 7, "cwd": "relative",
        "transcript_path": "/etc/passwd", "hook_event_name": "Stop",
    }));
    let reasons: Vec<_> = odd.declines.iter().map(|d| d.reason).collect();
    assert_eq!(reasons, ["bad_turn_id", "bad_cwd", "transcript_outside"]);
}

#[test]
fn secrets_are_removed_wherever_they_stand() {
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let stop = json!({"session_id": "s", "turn_id": "t", "hook_event_name": "Stop",
        "last_assistant_message": secret});
    let prompt = json!({"session_id": "s", "turn_id": "t", "hook_event_name": "UserPromptSubmit",
        "prompt": format!("use {secret}")});
    let command = tool(
        "Bash",
        "PreToolUse",
        &json!({"command": format!("curl -H {secret}")}),
    );
    let mut output = tool("Bash", "PostToolUse", &json!({}));
    output["tool_response"] = json!(secret);
    let path = format!("*** Begin Patch\n*** Add File: {secret}\n+x\n");
    let patch = tool("apply_patch", "PreToolUse", &json!({"command": path}));
    for payload in [stop, prompt, command, output, patch] {
        let reduced = reduced(&payload);
        assert!(!reduced.observations.is_empty());
        let stored = serde_json::to_string(&reduced.observations).expect("JSON");
        assert!(!stored.contains(secret), "{stored}");
    }
}

proptest! {
    #[test]
    fn damaged_recordings_do_no_harm(which in 0..54_usize, cut in 0..4000_usize, byte in any::<u8>()) {
        let payload = payloads().swap_remove(which);
        let mut bytes = payload.to_string().into_bytes();
        let at = cut % bytes.len();
        bytes[at] = byte;
        let _ = reduce(&call(&bytes));
        bytes.truncate(at);
        let _ = reduce(&call(&bytes));
    }

    #[test]
    fn anything_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = reduce(&call(text.as_bytes()));
        let payload = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "apply_patch",
            "tool_use_id": "c", "tool_input": {"command": text}});
        prop_assert!(reduce(&call(payload.to_string().as_bytes())).is_ok());
    }
}
