//! The recorded transcripts, and lines that nobody should write.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;
use siglum_domain::Timestamp;
use siglum_domain::observation::{Body, Fact, Tokens, event};
use siglum_domain::redact::Redactor;

use super::Reader;
use crate::gemini::fixture::{
    COMPRESS, EDIT, HOOKS, RESUME, SUBAGENT, SUBAGENT_PARENT, TWO_TOOLS, native, read,
};
use crate::gemini::reduce::reduce;
use crate::hook::HookCall;
use crate::transcript::{Sighting, TranscriptReader as _};

fn reader() -> Reader {
    let mut reader = Reader::new("stream".to_owned(), None, native("session"));
    reader.set_worktree(PathBuf::from("/repo"));
    reader
}

fn sightings(text: &str) -> Vec<Sighting> {
    read(text, &mut reader()).0
}

fn show(sightings: &[Sighting]) -> String {
    let mut out = String::new();
    for s in sightings {
        let o = &s.observation;
        let mut tags = String::new();
        o.turn
            .iter()
            .for_each(|turn| write!(tags, " {turn:.13}").expect("a string"));
        o.subagent
            .iter()
            .for_each(|agent| write!(tags, " in={agent:.8}").expect("a string"));
        let fact = serde_json::to_string(&o.fact).expect("JSON");
        writeln!(out, "{} → {}{tags}\n    {fact}", o.key, o.event).expect("a string");
    }
    out
}

#[test]
fn a_session_with_a_commit_that_goes_on() {
    assert_snapshot!(show(&sightings(RESUME)), @r#"
    prompt:3d0f0296-3e80-42f2-a013-5525a857bbfe → prompt:3d0f0296-3e80-42f2-a013-5525a857bbfe turn?3d0f0296
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:write_commit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    0a53d92c-90a6-49e3-a777-b4e40bbe42dd → msg:0a53d92c-90a6-49e3-a777-b4e40bbe42dd turn?3d0f0296
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":1250}},"model":"gemini-2.5-flash","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0}}
    call:write_file__fc-4f74120cfa0c4fa1bdf9f473 → call?8ef87af1be35ccfd?write_file__fc-4f74120cfa0c4fa1bdf9f473 turn?3d0f0296
        {"fact":"tool_started","tool":"write_file","class":"edit","input":{"text":"{\"content_bytes\":20,\"file_path\":\"/repo/hello.txt\"}"},"path":"hello.txt"}
    back:call?8ef87af1be35ccfd?write_file__fc-4f74120cfa0c4fa1bdf9f473 → call?8ef87af1be35ccfd?write_file__fc-4f74120cfa0c4fa1bdf9f473 turn?3d0f0296
        {"fact":"tool_ended","tool":"write_file","class":"edit","outcome":"ok","output":{"passage":{"stream":"stream","offset":1565}},"duration_ms":null}
    885416dc-58b9-4be1-a9de-5301963f69ec → msg:885416dc-58b9-4be1-a9de-5301963f69ec turn?3d0f0296
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":3300}},"model":"gemini-2.5-flash","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0}}
    call:run_shell_command__fc-757524f7020640c2a59c6e37 → call?cc0fbfbbf34a6568?run_shell_command__fc-757524f7020640c2a59c6e37 turn?3d0f0296
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
    back:call?cc0fbfbbf34a6568?run_shell_command__fc-757524f7020640c2a59c6e37 → call?cc0fbfbbf34a6568?run_shell_command__fc-757524f7020640c2a59c6e37 turn?3d0f0296
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"ok","output":{"passage":{"stream":"stream","offset":3603}},"duration_ms":null}
    350c3803-c38e-4264-adb3-df2d95274883 → msg:350c3803-c38e-4264-adb3-df2d95274883 turn?3d0f0296
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":4986}},"model":"gemini-2.5-flash","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0}}
    prompt:c6274b68-806c-43ad-8d1e-3eb3a06d67bb → prompt:c6274b68-806c-43ad-8d1e-3eb3a06d67bb turn?c6274b68
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    c2ced470-c6a8-47e1-95e1-413989baeb36 → msg:c2ced470-c6a8-47e1-95e1-413989baeb36 turn?c6274b68
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":9845}},"model":"gemini-2.5-flash","tokens":{"input":600,"output":20,"cache_read":0,"cache_write":0}}
    "#);
}

#[test]
fn a_session_with_edits_one_of_which_fails() {
    let (seen, edits, commits) = read(EDIT, &mut reader());
    assert_snapshot!(show(&seen), @r#"
    prompt:c28e7d28-69c9-461f-a525-ea26cbc95590 → prompt:c28e7d28-69c9-461f-a525-ea26cbc95590 turn?c28e7d28
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:edit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    5e321a1d-ae40-49e7-94e2-a4c41154bdce → msg:5e321a1d-ae40-49e7-94e2-a4c41154bdce turn?c28e7d28
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":1242}},"model":"gemini-2.5-flash","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0}}
    call:write_file__fc-f4a95043385747b08a11298d → call?a989705fa7e5dba8?write_file__fc-f4a95043385747b08a11298d turn?c28e7d28
        {"fact":"tool_started","tool":"write_file","class":"edit","input":{"text":"{\"content_bytes\":27,\"file_path\":\"/repo/src/list.txt\"}"},"path":"src/list.txt"}
    back:call?a989705fa7e5dba8?write_file__fc-f4a95043385747b08a11298d → call?a989705fa7e5dba8?write_file__fc-f4a95043385747b08a11298d turn?c28e7d28
        {"fact":"tool_ended","tool":"write_file","class":"edit","outcome":"ok","output":{"passage":{"stream":"stream","offset":1562}},"duration_ms":null}
    8c3137f4-a465-4ae9-9af1-a8a059b8688a → msg:8c3137f4-a465-4ae9-9af1-a8a059b8688a turn?c28e7d28
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gemini-2.5-flash","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0}}
    call:replace__fc-c92d0c4c708d4949b9d5fab1 → call?82b62099a253e5c2?replace__fc-c92d0c4c708d4949b9d5fab1 turn?c28e7d28
        {"fact":"tool_started","tool":"replace","class":"edit","input":{"text":"{\"file_path\":\"/repo/src/list.txt\",\"instruction_bytes\":1,\"new_string_bytes\":15,\"old_string_bytes\":6}"},"path":"src/list.txt"}
    back:call?82b62099a253e5c2?replace__fc-c92d0c4c708d4949b9d5fab1 → call?82b62099a253e5c2?replace__fc-c92d0c4c708d4949b9d5fab1 turn?c28e7d28
        {"fact":"tool_ended","tool":"replace","class":"edit","outcome":"ok","output":{"passage":{"stream":"stream","offset":3638}},"duration_ms":null}
    54bef2ca-2f62-418c-ab30-25a4b5b146fa → msg:54bef2ca-2f62-418c-ab30-25a4b5b146fa turn?c28e7d28
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gemini-2.5-flash","tokens":{"input":350,"output":20,"cache_read":0,"cache_write":0}}
    call:write_file__fc-4e8d4fd911f94cd1bffd6982 → call?a989705fa7e5dba8?write_file__fc-4e8d4fd911f94cd1bffd6982 turn?c28e7d28
        {"fact":"tool_started","tool":"write_file","class":"edit","input":{"text":"{\"content_bytes\":45,\"file_path\":\"/repo/src/list.txt\"}"},"path":"src/list.txt"}
    back:call?a989705fa7e5dba8?write_file__fc-4e8d4fd911f94cd1bffd6982 → call?a989705fa7e5dba8?write_file__fc-4e8d4fd911f94cd1bffd6982 turn?c28e7d28
        {"fact":"tool_ended","tool":"write_file","class":"edit","outcome":"ok","output":{"passage":{"stream":"stream","offset":5774}},"duration_ms":null}
    6bd96189-87e5-42e6-8f7a-bc73e019bf9f → msg:6bd96189-87e5-42e6-8f7a-bc73e019bf9f turn?c28e7d28
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gemini-2.5-flash","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0}}
    call:replace__fc-aad0699b2b5540fda3eff0e3 → call?6d9550d34cbc9d97?replace__fc-aad0699b2b5540fda3eff0e3 turn?c28e7d28
        {"fact":"tool_started","tool":"replace","class":"edit","input":{"text":"{\"file_path\":\"/repo/README.md\",\"instruction_bytes\":1,\"new_string_bytes\":5,\"old_string_bytes\":15}"},"path":"README.md"}
    back:call?6d9550d34cbc9d97?replace__fc-aad0699b2b5540fda3eff0e3 → call?6d9550d34cbc9d97?replace__fc-aad0699b2b5540fda3eff0e3 turn?c28e7d28
        {"fact":"tool_ended","tool":"replace","class":"edit","outcome":"failed","output":{"passage":{"stream":"stream","offset":7906}},"duration_ms":null}
    7385444f-e74b-47d4-ad3f-7b73e1d297bd → msg:7385444f-e74b-47d4-ad3f-7b73e1d297bd turn?c28e7d28
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gemini-2.5-flash","tokens":{"input":450,"output":20,"cache_read":0,"cache_write":0}}
    call:run_shell_command__fc-cfdde5beaae445f99ca2a113 → call?5c3557b21fa0073f?run_shell_command__fc-cfdde5beaae445f99ca2a113 turn?c28e7d28
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"git add -A && git commit -q -m 'edit the list'"},"path":null}
    back:call?5c3557b21fa0073f?run_shell_command__fc-cfdde5beaae445f99ca2a113 → call?5c3557b21fa0073f?run_shell_command__fc-cfdde5beaae445f99ca2a113 turn?c28e7d28
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"ok","output":{"passage":{"stream":"stream","offset":9760}},"duration_ms":null}
    59794ad5-b0c0-44ab-9e9d-160c70d18444 → msg:59794ad5-b0c0-44ab-9e9d-160c70d18444 turn?c28e7d28
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":10987}},"model":"gemini-2.5-flash","tokens":{"input":500,"output":20,"cache_read":0,"cache_write":0}}
    "#);
    let shown: Vec<_> = edits
        .iter()
        .map(|e| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
            assert_eq!(e.path, Path::new("/repo/src/list.txt"));
            (e.before.as_deref().map(text), text(&e.after))
        })
        .collect();
    let texts = [
        "alpha\nbeta\ngamma\ndelta\n",
        "alpha\nbeta, changed\ngamma\ndelta\n",
        "alpha\nbeta, changed\ngamma\ndelta\nepsilon\n",
    ];
    let [one, two, three] = texts.map(str::to_owned);
    let expected = [
        (None, one.clone()),
        (Some(one), two.clone()),
        (Some(two), three),
    ];
    assert_eq!(shown, expected);
    assert_eq!(commits, [], "a silent commit names nothing");
}

#[test]
fn a_commit_that_is_named_is_found() {
    let (_, _, commits) = read(RESUME, &mut reader());
    let found: Vec<_> = commits
        .iter()
        .map(|c| (c.abbreviated.as_str(), c.started < Some(c.ended)))
        .collect();
    assert_eq!(found, [("da622c643f6112e07d993d17cc905ba530f895f0", true)]);
}

#[test]
fn two_commands_in_one_answer_one_of_which_fails() {
    assert_snapshot!(show(&sightings(TWO_TOOLS)), @r#"
    prompt:6a872c7b-ae82-4f1b-ad09-95a6def065cc → prompt:6a872c7b-ae82-4f1b-ad09-95a6def065cc turn?6a872c7b
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:two_tools]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    2a1156fd-8ab9-4e84-aa95-fe64125479b4 → msg:2a1156fd-8ab9-4e84-aa95-fe64125479b4 turn?6a872c7b
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":1299}},"model":"gemini-2.5-flash","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0}}
    call:run_shell_command__fc-b9c9bab9fd7448e1b13ab329 → call?82df4dede593d802?run_shell_command__fc-b9c9bab9fd7448e1b13ab329 turn?6a872c7b
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"echo one > one.txt; sleep 1; env | cut -d= -f1 | sort | tr '\\n' ' '"},"path":null}
    back:call?82df4dede593d802?run_shell_command__fc-b9c9bab9fd7448e1b13ab329 → call?82df4dede593d802?run_shell_command__fc-b9c9bab9fd7448e1b13ab329 turn?6a872c7b
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"ok","output":{"text":"DBUS_SESSION_BUS_ADDRESS DISPLAY GCM_INTERACTIVE GEMINI_API_KEY GEMINI_CLI GEMINI_CLI_NO_RELAUNCH GEMINI_CLI_TRUST_WORKSPACE GH_PROMPT_DISABLED GIT_ASKPASS GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_CONFIG_KEY_0 GIT_CONFIG_KEY_1 GIT_CONFIG_KEY_2 GIT_CONFIG_KEY_3 GIT_CONFIG_KEY_4 GIT_CONFIG_KEY_5 GIT_CONFIG_KEY_6 GIT_CONFIG_KEY_7 GIT_CONFIG_NOSYSTEM GIT_CONFIG_SYSTEM GIT_CONFIG_VALUE_0 GIT_CONFIG_VALUE_1 GIT_CONFIG_VALUE_2 GIT_CONFIG_VALUE_3 GIT_CONFIG_VALUE_4 GIT_CONFIG_VALUE_5 GIT_CONFIG_VALUE_6 GIT_CONFIG_VALUE_7 GIT_PAGER GIT_TERMINAL_PROMPT GOOGLE_GEMINI_BASE_URL HOME LAB_CAPTURE LAB_CAPTURE_OUT LAB_MODEL_URL LAB_PYTHON LANG NO_PROXY PAGER PATH PWD SHELL SHLVL SSH_ASKPASS TERM TMPDIR USER _"},"duration_ms":null}
    call:run_shell_command__fc-2a715558ec6546269f72a48e → call?94cafd58ff656416?run_shell_command__fc-2a715558ec6546269f72a48e turn?6a872c7b
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"echo two > two.txt; exit 3"},"path":null}
    back:call?94cafd58ff656416?run_shell_command__fc-2a715558ec6546269f72a48e → call?94cafd58ff656416?run_shell_command__fc-2a715558ec6546269f72a48e turn?6a872c7b
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"failed","output":{"text":"Exit Code: 3"},"duration_ms":null}
    3bf1c3c8-0287-4dbb-b645-2139ea8d169b → msg:3bf1c3c8-0287-4dbb-b645-2139ea8d169b turn?6a872c7b
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":5790}},"model":"gemini-2.5-flash","tokens":{"input":350,"output":20,"cache_read":0,"cache_write":0}}
    "#);
}

#[test]
fn a_sub_agent_and_its_session() {
    assert_snapshot!(show(&sightings(SUBAGENT_PARENT)), @r#"
    prompt:de6d10c8-a0da-43fd-b3f4-e3938ac200fa → prompt:de6d10c8-a0da-43fd-b3f4-e3938ac200fa turn?de6d10c8
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:subagent]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    ba191285-6beb-440f-9927-f37b10798da4 → msg:ba191285-6beb-440f-9927-f37b10798da4 turn?de6d10c8
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":1269}},"model":"gemini-2.5-flash","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0}}
    call:invoke_agent__fc-cd71aabfeeb444368ddfb2e0 → call?38943c08d41810bd?invoke_agent__fc-cd71aabfeeb444368ddfb2e0 turn?de6d10c8
        {"fact":"tool_started","tool":"invoke_agent","class":"agent","input":{"text":"{\"agent_name\":\"generalist\",\"prompt\":\"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]\"}"},"path":null}
    subagent_started:46fbee0d-5bad-484a-962b-1b630dbe06a0 → sub:46fbee0d-5bad-484a-962b-1b630dbe06a0 turn?de6d10c8 in=46fbee0d
        {"fact":"subagent_started","agent_type":"generalist","call":"call?38943c08d41810bd?invoke_agent__fc-cd71aabfeeb444368ddfb2e0"}
    subagent_stopped:46fbee0d-5bad-484a-962b-1b630dbe06a0 → sub:46fbee0d-5bad-484a-962b-1b630dbe06a0 turn?de6d10c8 in=46fbee0d
        {"fact":"subagent_stopped","last_message":null}
    back:call?38943c08d41810bd?invoke_agent__fc-cd71aabfeeb444368ddfb2e0 → call?38943c08d41810bd?invoke_agent__fc-cd71aabfeeb444368ddfb2e0 turn?de6d10c8
        {"fact":"tool_ended","tool":"invoke_agent","class":"agent","outcome":"ok","output":{"passage":{"stream":"stream","offset":1580}},"duration_ms":null}
    b8f3b7ba-56ac-45e1-b587-dbe3eee1ba97 → msg:b8f3b7ba-56ac-45e1-b587-dbe3eee1ba97 turn?de6d10c8
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"stream","offset":4661}},"model":"gemini-2.5-flash","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0}}
    "#);
    let id = "46fbee0d-5bad-484a-962b-1b630dbe06a0".to_owned();
    let mut reader = Reader::new("sub".to_owned(), Some(id), native("session"));
    assert_snapshot!(show(&read(SUBAGENT, &mut reader).0), @r#"
    d3e6a52c-c24e-40ff-ad70-41dae9a12715 → msg:d3e6a52c-c24e-40ff-ad70-41dae9a12715 turn? in=46fbee0d
        {"fact":"message","role":"user","text":{"text":"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]"},"model":null,"tokens":null}
    d394f597-6f08-438c-b953-e8fc27f54cbb → msg:d394f597-6f08-438c-b953-e8fc27f54cbb turn? in=46fbee0d
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gemini-2.5-flash","tokens":{"input":150,"output":20,"cache_read":0,"cache_write":0}}
    call:write_file__fc-2d391f01d38f495c80d687d9 → call?2076cd682c2b439f?write_file__fc-2d391f01d38f495c80d687d9 turn? in=46fbee0d
        {"fact":"tool_started","tool":"write_file","class":"edit","input":{"text":"{\"content_bytes\":8,\"file_path\":\"/repo/from_helper.txt\"}"},"path":null}
    back:call?2076cd682c2b439f?write_file__fc-2d391f01d38f495c80d687d9 → call?2076cd682c2b439f?write_file__fc-2d391f01d38f495c80d687d9 turn? in=46fbee0d
        {"fact":"tool_ended","tool":"write_file","class":"edit","outcome":"ok","output":{"passage":{"stream":"sub","offset":777}},"duration_ms":null}
    eac1da78-ab1c-4fef-81d6-e779cc311386 → msg:eac1da78-ab1c-4fef-81d6-e779cc311386 turn? in=46fbee0d
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gemini-2.5-flash","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0}}
    call:run_shell_command__fc-801f304e2b84454c9ee03703 → call?f415e1a3ce62fcf5?run_shell_command__fc-801f304e2b84454c9ee03703 turn? in=46fbee0d
        {"fact":"tool_started","tool":"run_shell_command","class":"shell","input":{"text":"git add -A && git commit -q -m 'helper commit'"},"path":null}
    back:call?f415e1a3ce62fcf5?run_shell_command__fc-801f304e2b84454c9ee03703 → call?f415e1a3ce62fcf5?run_shell_command__fc-801f304e2b84454c9ee03703 turn? in=46fbee0d
        {"fact":"tool_ended","tool":"run_shell_command","class":"shell","outcome":"ok","output":{"passage":{"stream":"sub","offset":2764}},"duration_ms":null}
    8ff31316-0286-4a00-80b2-26dff57cf7e5 → msg:8ff31316-0286-4a00-80b2-26dff57cf7e5 turn? in=46fbee0d
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"sub","offset":3994}},"model":"gemini-2.5-flash","tokens":{"input":250,"output":20,"cache_read":0,"cache_write":0}}
    961d4c14-7063-4d8e-99b1-045cb4d1fdbf → msg:961d4c14-7063-4d8e-99b1-045cb4d1fdbf turn? in=46fbee0d
        {"fact":"message","role":"user","text":{"text":"You have stopped calling tools without finishing. You have one final chance to complete the task with a short grace period. You MUST call `complete_task` immediately with your best answer and explain that your investigation was interrupted. Do not call any other tools."},"model":null,"tokens":null}
    0e96cd99-807f-455a-a3d0-fd91fef07cc4 → msg:0e96cd99-807f-455a-a3d0-fd91fef07cc4 turn? in=46fbee0d
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"sub","offset":4741}},"model":"gemini-2.5-flash","tokens":{"input":350,"output":20,"cache_read":0,"cache_write":0}}
    "#);
}

#[test]
fn a_compressed_conversation() {
    let seen = sightings(COMPRESS);
    let compacted: Vec<_> = seen
        .iter()
        .filter(|s| matches!(s.observation.fact, Fact::Compacted { .. }))
        .cloned()
        .collect();
    assert_snapshot!(show(&compacted), @r#"
    compact:20fbcc58-5146-48ca-a4df-7297822e6143 → compact:20fbcc58-5146-48ca-a4df-7297822e6143 turn?b1bed64b
        {"fact":"compacted","trigger":"","summary":{"passage":{"stream":"stream","offset":5987}}}
    "#);
}

#[test]
fn what_came_from_the_cache_is_counted_once() {
    let line = |tokens: &str| {
        format!(
            r#"{{"id":"m","timestamp":"2026-11-21T03:55:35.888Z","type":"gemini","content":"a","tokens":{tokens}}}"#
        )
    };
    let first = line("null");
    let second =
        line(r#"{"input":1000,"output":20,"cached":900,"thoughts":7,"tool":3,"total":1030}"#);
    let seen = sightings(&format!("{first}\n{second}\n{second}\n"));
    let messages: Vec<_> = seen
        .iter()
        .filter_map(|s| match &s.observation.fact {
            Fact::Message { tokens, text, .. } => Some((*tokens, text.text().is_none())),
            _ => None,
        })
        .collect();
    let tokens = Tokens {
        input: 103,
        output: 27,
        cache_read: 900,
        cache_write: 0,
    };
    assert_eq!(messages, [(None, true), (Some(tokens), false)]);
    let keys: BTreeSet<_> = seen.iter().map(|s| &s.observation.key).collect();
    assert_eq!(keys.len(), 2, "each sighting has a key of its own");
}

#[test]
fn hooks_and_transcripts_know_the_same_calls() {
    let mut events = BTreeSet::new();
    for line in HOOKS.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let payload = line["stdin"].to_string();
        let call = HookCall {
            payload: payload.as_bytes(),
            redactor: Redactor::shared(),
            digest_key: &[0; 32],
            now: Timestamp::default(),
            delivery: "d",
            agent_dir: Path::new("/home/dev/.gemini"),
            worktree: None,
        };
        let reduced = reduce(&call).expect("a payload");
        events.extend(reduced.observations.into_iter().map(|o| o.event));
    }
    let mut calls = 0;
    for text in [RESUME, EDIT, TWO_TOOLS, SUBAGENT_PARENT, SUBAGENT, COMPRESS] {
        for seen in sightings(text) {
            if let Some((likeness, id)) = event::unnamed_parts(&seen.observation.event) {
                assert!(id.is_some());
                assert!(events.contains(&event::unnamed(likeness)), "{likeness}");
                calls += 1;
            }
        }
    }
    assert_eq!(calls, 2 * 14);
}

/// A recording as older versions wrote it: one document in several lines.
fn as_document(text: &str) -> String {
    let mut messages: Vec<Value> = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if line["id"].is_null() {
            continue;
        }
        match messages.iter_mut().find(|known| known["id"] == line["id"]) {
            Some(known) => *known = line,
            None => messages.push(line),
        }
    }
    let document = serde_json::json!({"sessionId": "s", "projectHash": "x", "messages": messages});
    serde_json::to_string_pretty(&document).expect("JSON")
}

#[test]
fn an_older_document_tells_the_same() {
    for text in [RESUME, EDIT, TWO_TOOLS, SUBAGENT_PARENT] {
        let (seen, edits, commits) = read(text, &mut reader());
        let document = as_document(text);
        let (older, older_edits, older_commits) = read(&document, &mut reader());
        assert_eq!(older_edits, edits);
        assert_eq!(older_commits, commits);
        let names = |seen: &[Sighting]| -> BTreeSet<(String, String)> {
            let names = seen.iter().map(|s| &s.observation);
            names.map(|o| (o.key.clone(), o.event.clone())).collect()
        };
        assert_eq!(names(&older), names(&seen));
        let passages = older.iter().filter(|s| {
            let fact = serde_json::to_string(&s.observation.fact).expect("JSON");
            fact.contains("\"passage\"")
        });
        assert_eq!(passages.count(), 0, "its lines are not stored");
    }
}

#[test]
fn a_message_that_is_cut_is_read_again_from_its_start() {
    let document = as_document(EDIT);
    let whole: Vec<_> = read(&document, &mut reader()).0;
    for every in [1, 3, 50] {
        let (mut seen, mut at, mut lines) = (Vec::new(), 0, every);
        while at < document.len() {
            let mut reader = reader();
            reader.resume(None, true);
            let mut end = at;
            for line in document[at..].split_inclusive('\n').take(lines) {
                seen.extend(reader.line(end as u64, line, Redactor::shared()).sightings);
                end += line.len();
            }
            let held = reader.held_from();
            let next = held.map_or(end, |held| usize::try_from(held).expect("small"));
            lines = if next == at { lines + every } else { every };
            if end == document.len() {
                break;
            }
            at = next;
        }
        let keys = |seen: &[Sighting]| -> Vec<String> {
            seen.iter().map(|s| s.observation.key.clone()).collect()
        };
        assert_eq!(keys(&seen), keys(&whole), "{every}");
    }
}

#[test]
fn only_lines_that_say_something_are_stored() {
    let mut reader = reader();
    let stored = RESUME.lines().filter(|line| {
        let read = reader.line(0, line, Redactor::shared());
        read.at.is_some()
    });
    assert_eq!(stored.count(), 8);
}

#[test]
fn lines_that_are_no_json_are_counted_and_skipped() {
    let mut reader = reader();
    for line in [
        "",
        "not JSON",
        "{\"type\":\"user\"",
        "[1]",
        "{\"type\":\"user\"}",
        "{\"id\":\"m\",\"type\":\"gemini\",\"toolCalls\":7}",
        "{\"id\":\"m\",\"type\":\"info\",\"content\":\"x\"}",
        "{\"$rewindTo\":\"m\"}",
    ] {
        let seen = reader.line(0, line, Redactor::shared()).sightings;
        assert_eq!(seen, [], "{line}");
    }
    assert_eq!(reader.skipped(), 1);
}

#[test]
fn secrets_are_removed() {
    let token = concat!("gh", "p_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let lines = format!(
        r#"{{"id":"u","type":"user","content":[{{"text":"{token}"}}]}}
{{"id":"m","type":"gemini","content":"","toolCalls":[{{"id":"a","name":"run_shell_command","args":{{"command":"{token}"}},"status":"success","result":[]}},{{"id":"b","name":"x","args":{{"k":"{token}"}}}},{{"id":"c","name":"replace","args":{{"file_path":"/repo/{token}"}}}}]}}
"#
    );
    let seen = sightings(&lines);
    assert_eq!(seen.len(), 5);
    assert!(!format!("{seen:?}").contains(token), "{seen:?}");
    let older = sightings(&as_document(&lines));
    let inline = |s: &&Sighting| {
        matches!(
            &s.observation.fact,
            Fact::ToolEnded {
                output: Some(Body::Text(_)),
                ..
            }
        )
    };
    assert_eq!(older.iter().filter(inline).count(), 1);
    assert!(!format!("{older:?}").contains(token), "{older:?}");
}

proptest! {
    #[test]
    fn text_never_panics(text in ".{0,300}") {
        reader().line(0, &text, Redactor::shared());
    }

    #[test]
    fn damaged_transcripts_never_panic(
        older in any::<bool>(),
        cut in 0_usize..20_000,
        at in 0_usize..20_000,
        put in "[\\[\\]{}\",:x0\n]{0,3}",
    ) {
        let mut text = if older { as_document(EDIT) } else { COMPRESS.to_owned() + EDIT };
        let at = text.floor_char_boundary(at);
        text.insert_str(at, &put);
        text.truncate(text.floor_char_boundary(cut));
        read(&text, &mut reader());
    }
}
