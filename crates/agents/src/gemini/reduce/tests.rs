//! Every recorded payload, and payloads that nobody should send.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use siglum_domain::observation::{Body, Fact};

use super::reduce;
use crate::gemini::fixture::HOOKS;
use crate::hook::{BODY_LIMIT, HookCall, ReduceError, Reduced};
use crate::recorded;

fn call(payload: &[u8]) -> HookCall<'_> {
    recorded::call(payload, "/home/dev/.gemini")
}

fn reduced(payload: &Value) -> Reduced {
    reduce(&call(payload.to_string().as_bytes())).expect("a payload")
}

fn payloads() -> Vec<Value> {
    recorded::payloads(HOOKS)
}

/// The payloads of one recorded session.
fn session(id: &str) -> String {
    let all = payloads();
    let own = all.iter().filter(|p| {
        let native = p["session_id"].as_str();
        native.is_some_and(|native| native.starts_with(id))
    });
    own.map(|payload| show(&reduced(payload))).collect()
}

fn show(reduced: &Reduced) -> String {
    let mut out = String::new();
    for o in &reduced.observations {
        let fact = serde_json::to_string(&o.fact).expect("JSON");
        let event = if o.event == o.key {
            String::new()
        } else {
            format!(" → {}", o.event)
        };
        writeln!(out, "{}{event} {:?}\n    {fact}", o.key, reduced.boundary).expect("a string");
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
fn a_session_with_a_commit_that_goes_on() {
    assert_snapshot!(session("4c96b0cf"), @r#"
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"startup","model":null}
    hook:d1:BeforeAgent TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:write_commit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:8ef87af1be35ccfd → call?8ef87af1be35ccfd Within
        {"fact":"tool_started","tool":"write_file","class":"edit","input":{"text":"{\"content_bytes\":20,\"file_path\":\"/repo/hello.txt\"}"},"path":"hello.txt"}
        edit Before hello.txt
    post:8ef87af1be35ccfd → call?8ef87af1be35ccfd Within
        {"fact":"tool_ended","tool":"write_file","class":"edit","outcome":"ok","output":null,"duration_ms":null}
        edit After hello.txt
    pre:cc0fbfbbf34a6568 → call?cc0fbfbbf34a6568 Within
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
        head Before
    post:cc0fbfbbf34a6568 → call?cc0fbfbbf34a6568 Within
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"ok","output":{"text":"da622c643f6112e07d993d17cc905ba530f895f0"},"duration_ms":null}
        head After
    hook:d1:AfterAgent TurnEnd
        {"fact":"stopped","last_message":{"text":"I will write the file first. \nNow I commit it. \nDone: hello.txt is committed."},"background":[]}
    hook:d1:SessionEnd SessionEnd
        {"fact":"session_ended","reason":"exit"}
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"resume","model":null}
    hook:d1:BeforeAgent TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    hook:d1:AfterAgent TurnEnd
        {"fact":"stopped","last_message":{"text":"Hello, nothing to do."},"background":[]}
    hook:d1:SessionEnd SessionEnd
        {"fact":"session_ended","reason":"exit"}
    "#);
}

#[test]
fn a_session_with_edits_one_of_which_fails() {
    assert_snapshot!(session("27fe68dc"), @r#"
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"startup","model":null}
    hook:d1:BeforeAgent TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:edit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:a989705fa7e5dba8 → call?a989705fa7e5dba8 Within
        {"fact":"tool_started","tool":"write_file","class":"edit","input":{"text":"{\"content_bytes\":27,\"file_path\":\"/repo/src/list.txt\"}"},"path":"src/list.txt"}
        edit Before src/list.txt
    post:a989705fa7e5dba8 → call?a989705fa7e5dba8 Within
        {"fact":"tool_ended","tool":"write_file","class":"edit","outcome":"ok","output":null,"duration_ms":null}
        edit After src/list.txt
    pre:82b62099a253e5c2 → call?82b62099a253e5c2 Within
        {"fact":"tool_started","tool":"replace","class":"edit","input":{"text":"{\"file_path\":\"/repo/src/list.txt\",\"instruction_bytes\":1,\"new_string_bytes\":15,\"old_string_bytes\":6}"},"path":"src/list.txt"}
        edit Before src/list.txt
    post:82b62099a253e5c2 → call?82b62099a253e5c2 Within
        {"fact":"tool_ended","tool":"replace","class":"edit","outcome":"ok","output":null,"duration_ms":null}
        edit After src/list.txt
    pre:a989705fa7e5dba8 → call?a989705fa7e5dba8 Within
        {"fact":"tool_started","tool":"write_file","class":"edit","input":{"text":"{\"content_bytes\":45,\"file_path\":\"/repo/src/list.txt\"}"},"path":"src/list.txt"}
        edit Before src/list.txt
    post:a989705fa7e5dba8 → call?a989705fa7e5dba8 Within
        {"fact":"tool_ended","tool":"write_file","class":"edit","outcome":"ok","output":null,"duration_ms":null}
        edit After src/list.txt
    pre:6d9550d34cbc9d97 → call?6d9550d34cbc9d97 Within
        {"fact":"tool_started","tool":"replace","class":"edit","input":{"text":"{\"file_path\":\"/repo/README.md\",\"instruction_bytes\":1,\"new_string_bytes\":5,\"old_string_bytes\":15}"},"path":"README.md"}
        edit Before README.md
    post:6d9550d34cbc9d97 → call?6d9550d34cbc9d97 Within
        {"fact":"tool_ended","tool":"replace","class":"edit","outcome":"failed","output":{"text":"Could not find an exact match for 'old_string' in '/repo/README.md'. If previous edits modified the file or you are modifying lines outside your recent read window, please use ReadFile to inspect the target lines before retrying with an exact 'old_string'."},"duration_ms":null}
        edit After README.md
    pre:5c3557b21fa0073f → call?5c3557b21fa0073f Within
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"git add -A && git commit -q -m 'edit the list'"},"path":null}
        head Before
    post:5c3557b21fa0073f → call?5c3557b21fa0073f Within
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"ok","output":{"text":""},"duration_ms":null}
        head After
    hook:d1:AfterAgent TurnEnd
        {"fact":"stopped","last_message":{"text":"First the file, then two changes. \nThe list is edited and committed."},"background":[]}
    hook:d1:SessionEnd SessionEnd
        {"fact":"session_ended","reason":"exit"}
    "#);
}

#[test]
fn two_commands_in_one_answer_one_of_which_fails() {
    assert_snapshot!(session("d4473739"), @r#"
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"startup","model":null}
    hook:d1:BeforeAgent TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:two_tools]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:82df4dede593d802 → call?82df4dede593d802 Within
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"echo one > one.txt; sleep 1; env | cut -d= -f1 | sort | tr '\\n' ' '"},"path":null}
        head Before
    pre:94cafd58ff656416 → call?94cafd58ff656416 Within
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"echo two > two.txt; exit 3"},"path":null}
        head Before
    post:94cafd58ff656416 → call?94cafd58ff656416 Within
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"failed","output":{"text":"Exit Code: 3"},"duration_ms":null}
        head After
    post:82df4dede593d802 → call?82df4dede593d802 Within
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"ok","output":{"text":"DBUS_SESSION_BUS_ADDRESS DISPLAY GCM_INTERACTIVE GEMINI_API_KEY GEMINI_CLI GEMINI_CLI_NO_RELAUNCH GEMINI_CLI_TRUST_WORKSPACE GH_PROMPT_DISABLED GIT_ASKPASS GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_CONFIG_KEY_0 GIT_CONFIG_KEY_1 GIT_CONFIG_KEY_2 GIT_CONFIG_KEY_3 GIT_CONFIG_KEY_4 GIT_CONFIG_KEY_5 GIT_CONFIG_KEY_6 GIT_CONFIG_KEY_7 GIT_CONFIG_NOSYSTEM GIT_CONFIG_SYSTEM GIT_CONFIG_VALUE_0 GIT_CONFIG_VALUE_1 GIT_CONFIG_VALUE_2 GIT_CONFIG_VALUE_3 GIT_CONFIG_VALUE_4 GIT_CONFIG_VALUE_5 GIT_CONFIG_VALUE_6 GIT_CONFIG_VALUE_7 GIT_PAGER GIT_TERMINAL_PROMPT GOOGLE_GEMINI_BASE_URL HOME LAB_CAPTURE LAB_CAPTURE_OUT LAB_MODEL_URL LAB_PYTHON LANG NO_PROXY PAGER PATH PWD SHELL SHLVL SSH_ASKPASS TERM TMPDIR USER _"},"duration_ms":null}
        head After
    hook:d1:AfterAgent TurnEnd
        {"fact":"stopped","last_message":{"text":"Two calls at once. \nBoth calls returned."},"background":[]}
    hook:d1:SessionEnd SessionEnd
        {"fact":"session_ended","reason":"exit"}
    "#);
}

#[test]
fn what_a_sub_agent_does_is_the_sessions() {
    assert_snapshot!(session("ff037682"), @r#"
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"startup","model":null}
    hook:d1:BeforeAgent TurnStart
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:subagent]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    pre:38943c08d41810bd → call?38943c08d41810bd Within
        {"fact":"tool_started","tool":"invoke_agent","class":"agent","input":{"text":"{\"agent_name\":\"generalist\",\"prompt\":\"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]\"}"},"path":null}
    pre:2076cd682c2b439f → call?2076cd682c2b439f Within
        {"fact":"tool_started","tool":"write_file","class":"edit","input":{"text":"{\"content_bytes\":8,\"file_path\":\"/repo/from_helper.txt\"}"},"path":"from_helper.txt"}
        edit Before from_helper.txt
    post:2076cd682c2b439f → call?2076cd682c2b439f Within
        {"fact":"tool_ended","tool":"write_file","class":"edit","outcome":"ok","output":null,"duration_ms":null}
        edit After from_helper.txt
    pre:f415e1a3ce62fcf5 → call?f415e1a3ce62fcf5 Within
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"git add -A && git commit -q -m 'helper commit'"},"path":null}
        head Before
    post:f415e1a3ce62fcf5 → call?f415e1a3ce62fcf5 Within
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"ok","output":{"text":""},"duration_ms":null}
        head After
    post:38943c08d41810bd → call?38943c08d41810bd Within
        {"fact":"tool_ended","tool":"invoke_agent","class":"agent","outcome":"ok","output":{"text":"[{\"text\":\"Subagent 'generalist' finished.\\nTermination Reason: ERROR_NO_COMPLETE_TASK_CALL\\nResult:\\nAgent stopped calling tools but did not call 'complete_task'.\"}]"},"duration_ms":null}
    hook:d1:AfterAgent TurnEnd
        {"fact":"stopped","last_message":{"text":"I hand this to a helper. \nDone."},"background":[]}
    hook:d1:SessionEnd SessionEnd
        {"fact":"session_ended","reason":"exit"}
    "#);
}

#[test]
fn the_screen_is_cleared_and_left() {
    let shown = session("79a519e2") + &session("052cff82");
    let kept = |line: &&str| line.contains("session_") || line.contains("Session");
    let ends: Vec<&str> = shown.lines().filter(kept).collect();
    assert_snapshot!(ends.join("\n"), @r#"
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"startup","model":null}
    hook:d1:SessionEnd SessionEnd
        {"fact":"session_ended","reason":"clear"}
    hook:d1:SessionStart SessionStart
        {"fact":"session_started","how":"clear","model":null}
    hook:d1:SessionEnd SessionEnd
        {"fact":"session_ended","reason":"exit"}
    hook:d1:SessionEnd SessionEnd
        {"fact":"session_ended","reason":"exit"}
    "#);
}

#[test]
fn compressing_says_nothing() {
    let events: BTreeSet<String> = payloads()
        .iter()
        .filter(|p| reduced(p).observations.is_empty())
        .map(|p| p["hook_event_name"].to_string())
        .collect();
    assert_eq!(events, BTreeSet::from(["\"PreCompress\"".to_owned()]));
}

#[test]
fn a_recorded_transcript_is_accepted_and_no_other() {
    for payload in payloads() {
        let reduced = reduced(&payload);
        assert_eq!(reduced.declines, []);
        let expected = payload["transcript_path"].as_str().map(Path::new);
        assert_eq!(reduced.transcript.as_deref(), expected);
    }
    for path in [
        "/home/dev/.gemini/settings.jsonl",
        "/home/dev/.gemini/tmp/../x.jsonl",
        "/home/dev/.gemini/tmp/repo/chats/x.json",
        "relative.jsonl",
    ] {
        let payload = json!({"session_id": "s", "hook_event_name": "AfterAgent", "transcript_path": path, "cwd": "repo"});
        let reasons: Vec<_> = reduced(&payload)
            .declines
            .iter()
            .map(|d| d.reason)
            .collect();
        assert_eq!(reasons, ["bad_cwd", "transcript_outside"], "{path}");
    }
}

#[test]
fn only_a_payload_without_a_session_is_an_error() {
    let check = |payload: &str, expected: &str| {
        let reason = reduce(&call(payload.as_bytes())).map_err(|error| error.reason());
        assert_eq!(reason, Err(expected), "{payload}");
    };
    check("", "not_json");
    check("{\"session_id\":\"s\"", "not_json");
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
        "BeforeAgent",
        "AfterAgent",
        "BeforeTool",
        "AfterTool",
    ] {
        for tool in ["run_shell_command", "write_file", "invoke_agent", token] {
            let payload = json!({"session_id": "s", "hook_event_name": event, "prompt": token, "source": token, "reason": token,
                "prompt_response": token, "tool_name": tool,
                "tool_input": {"command": token, "file_path": format!("/repo/{token}"), "agent_name": token, "k": token},
                "tool_response": {"llmContent": format!("Output: {token}"), "returnDisplay": token, "error": {"message": token}},
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
        json!({"session_id": "s", "hook_event_name": "BeforeAgent", "prompt": large}),
        json!({"session_id": "s", "hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": {"command": large}}),
        json!({"session_id": "s", "hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_response": {"llmContent": large}}),
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
