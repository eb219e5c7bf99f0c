//! Recorded transcripts, and lines that nobody should write.

use std::fmt::Write;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use siglum_domain::observation::{Body, Fact, Outcome, Tokens};
use siglum_domain::redact::Redactor;

use super::Reader;
use crate::codex::fixture::{native, outcomes, read};
use crate::transcript::{ReadLine, Sighting, TranscriptReader};

const WRITE_COMMIT: &str = include_str!("../fixtures/0.169.0/write_commit_resume.jsonl");
const FORK: &str = include_str!("../fixtures/0.169.0/fork.jsonl");
const PARENT: &str = include_str!("../fixtures/0.169.0/subagent_parent.jsonl");
const SUBAGENT: &str = include_str!("../fixtures/0.169.0/subagent.jsonl");
const AUTOCOMPACT: &str = include_str!("../fixtures/0.169.0/autocompact.jsonl");
const TWO_TOOLS: &str = include_str!("../fixtures/0.169.0/two_tools.jsonl");
const PATCHES: &str = include_str!("../fixtures/0.169.0/patches.jsonl");
const CODE_MODE: &str = include_str!("../fixtures/0.169.0/code_mode.jsonl");
const INTERRUPT: &str = include_str!("../fixtures/0.169.0/interrupt.jsonl");
const HOOKS: &str = include_str!("../fixtures/0.169.0/hooks.jsonl");
const ALL: &[&str] = &[
    WRITE_COMMIT,
    FORK,
    PARENT,
    SUBAGENT,
    AUTOCOMPACT,
    TWO_TOOLS,
    PATCHES,
    CODE_MODE,
    INTERRUPT,
];

fn reader() -> Reader {
    let mut reader = Reader::new("main".to_owned(), None, native("s"));
    reader.set_worktree("/repo".into());
    reader
}

fn short(id: &str) -> &str {
    id.get(14..).filter(|_| id.len() == 36).unwrap_or(id)
}

fn show(seen: &[Sighting]) -> String {
    let mut out = String::new();
    for sighting in seen {
        let o = &sighting.observation;
        let fact = serde_json::to_string(&o.fact).expect("JSON");
        let turn = o.turn.as_deref().map(short).unwrap_or_default();
        let inner = o.subagent.as_deref().map(|a| format!(" in={}", short(a)));
        let inner = inner.unwrap_or_default();
        writeln!(
            out,
            "{} → {} turn={turn}{inner}\n    {fact}",
            o.key, o.event
        )
        .expect("a string");
    }
    out
}

#[test]
fn a_session_and_its_resumption_are_read() {
    assert_snapshot!(show(&read(WRITE_COMMIT, &mut reader())), @r#"
    01a1fc3f-aa10-77d2-96b3-4182f344df67 → prompt:01a1fc3f-a99a-7b50-b741-92939a09d2d7 turn=7b50-b741-92939a09d2d7
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:write_commit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    msg_370d06cab57343e5813ac611 → msg:msg_370d06cab57343e5813ac611 turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":6178}},"model":"fake-model","tokens":null}
    call_e2f0dfc198d842ca9891a247:call → tool:call_e2f0dfc198d842ca9891a247 turn=7b50-b741-92939a09d2d7
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"cat > '/repo/hello.txt' <<'LAB_EOF'\nhello from the lab\nLAB_EOF"},"path":null}
    tokens:s:220:220 → msg:tokens:s:220:220 turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0},"request":"resp_02371c8804474115b3ec779e"}
    call_e2f0dfc198d842ca9891a247:done → tool:call_e2f0dfc198d842ca9891a247 turn=7b50-b741-92939a09d2d7
        {"fact":"tool_ended","tool":"","class":"shell","outcome":"ok","output":null,"duration_ms":null}
    call_e2f0dfc198d842ca9891a247:out → tool:call_e2f0dfc198d842ca9891a247 turn=7b50-b741-92939a09d2d7
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"main","offset":8961}},"duration_ms":null}
    tokens:s:220:220 → msg:tokens:s:220:220 turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0}}
    msg_c7a1c57f599648c09e3137ce → msg:msg_c7a1c57f599648c09e3137ce turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":10637}},"model":"fake-model","tokens":null}
    call_698fef6b6d644f8ca3c8ca38:call → tool:call_698fef6b6d644f8ca3c8ca38 turn=7b50-b741-92939a09d2d7
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
    tokens:s:540:320 → msg:tokens:s:540:320 turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"resp_d7b1a5ad2766424b873fabf1"}
    call_698fef6b6d644f8ca3c8ca38:done → tool:call_698fef6b6d644f8ca3c8ca38 turn=7b50-b741-92939a09d2d7
        {"fact":"tool_ended","tool":"","class":"shell","outcome":"ok","output":null,"duration_ms":null}
    call_698fef6b6d644f8ca3c8ca38:out → tool:call_698fef6b6d644f8ca3c8ca38 turn=7b50-b741-92939a09d2d7
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"main","offset":13452}},"duration_ms":null}
    tokens:s:540:320 → msg:tokens:s:540:320 turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0}}
    msg_4336dfba831d44d0a2085da4 → msg:msg_4336dfba831d44d0a2085da4 turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":15184}},"model":"fake-model","tokens":null}
    tokens:s:960:420 → msg:tokens:s:960:420 turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0},"request":"resp_01d74bb10337461b802ee268"}
    tokens:s:960:420 → msg:tokens:s:960:420 turn=7b50-b741-92939a09d2d7
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0}}
    main@17426 → stop:01a1fc3f-a99a-7b50-b741-92939a09d2d7 turn=7b50-b741-92939a09d2d7
        {"fact":"stopped","last_message":null,"background":[]}
    01a1fc3f-ad98-7a31-9f1a-5a311fe420a0 → prompt:01a1fc3f-ad38-7540-9665-01d10e78b397 turn=7540-9665-01d10e78b397
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:say]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    msg_89a225750d6c4fb1bedd4f7e → msg:msg_89a225750d6c4fb1bedd4f7e turn=7540-9665-01d10e78b397
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":21167}},"model":"fake-model","tokens":null}
    tokens:s:1480:520 → msg:tokens:s:1480:520 turn=7540-9665-01d10e78b397
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":500,"output":20,"cache_read":0,"cache_write":0},"request":"resp_9307f783f69c4d159c2f1144"}
    tokens:s:1480:520 → msg:tokens:s:1480:520 turn=7540-9665-01d10e78b397
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":500,"output":20,"cache_read":0,"cache_write":0}}
    main@23406 → stop:01a1fc3f-ad38-7540-9665-01d10e78b397 turn=7540-9665-01d10e78b397
        {"fact":"stopped","last_message":null,"background":[]}
    "#);
}

#[test]
fn a_sub_agent_belongs_to_the_session_above_it() {
    let seen = read(SUBAGENT, &mut reader());
    let root = seen[0].owner.clone();
    assert!(
        seen.iter()
            .all(|s| s.owner == root && s.observation.subagent.is_some())
    );
    let parent = read(PARENT, &mut Reader::new("main".to_owned(), None, root));
    let turn = |seen: &[Sighting]| seen[0].observation.turn.clone();
    assert_eq!(
        turn(&seen),
        turn(&parent),
        "it works in the turn that started it"
    );
    assert_snapshot!(show(&seen), @r#"
    01a1fc40-2187-7b32-b497-35dfbaf5407e → msg:01a1fc40-2187-7b32-b497-35dfbaf5407e turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"message","role":"user","text":{"text":"Write the helper file. [[scenario:sub_write]] [[cwd:/repo]]"},"model":null,"tokens":null}
    call_4996d8579f8f44968c43a3b4:call → tool:call_4996d8579f8f44968c43a3b4 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"cat > '/repo/from_helper.txt' <<'LAB_EOF'\nhelper\nLAB_EOF"},"path":null}
    tokens:01a1fc40-2101-7570-a684-81411887e38f:220:220 → msg:tokens:01a1fc40-2101-7570-a684-81411887e38f:220:220 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0},"request":"resp_d55ae140deea4bda8b58dfb8"}
    call_4996d8579f8f44968c43a3b4:done → tool:call_4996d8579f8f44968c43a3b4 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"tool_ended","tool":"","class":"shell","outcome":"ok","output":null,"duration_ms":null}
    call_4996d8579f8f44968c43a3b4:out → tool:call_4996d8579f8f44968c43a3b4 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"main","offset":8123}},"duration_ms":null}
    tokens:01a1fc40-2101-7570-a684-81411887e38f:220:220 → msg:tokens:01a1fc40-2101-7570-a684-81411887e38f:220:220 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0}}
    call_2882a6805d5c4132bd039486:call → tool:call_2882a6805d5c4132bd039486 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'helper commit'"},"path":null}
    tokens:01a1fc40-2101-7570-a684-81411887e38f:490:270 → msg:tokens:01a1fc40-2101-7570-a684-81411887e38f:490:270 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":250,"output":20,"cache_read":0,"cache_write":0},"request":"resp_ce4945e792894279bc4d0be9"}
    call_2882a6805d5c4132bd039486:done → tool:call_2882a6805d5c4132bd039486 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"tool_ended","tool":"","class":"shell","outcome":"ok","output":null,"duration_ms":null}
    call_2882a6805d5c4132bd039486:out → tool:call_2882a6805d5c4132bd039486 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"main","offset":11416}},"duration_ms":null}
    tokens:01a1fc40-2101-7570-a684-81411887e38f:490:270 → msg:tokens:01a1fc40-2101-7570-a684-81411887e38f:490:270 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":250,"output":20,"cache_read":0,"cache_write":0}}
    msg_588d70ea739440a7a972606a → msg:msg_588d70ea739440a7a972606a turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":13092}},"model":"fake-model","tokens":null}
    tokens:01a1fc40-2101-7570-a684-81411887e38f:810:320 → msg:tokens:01a1fc40-2101-7570-a684-81411887e38f:810:320 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"resp_f581594c52ab4f16954d99dd"}
    tokens:01a1fc40-2101-7570-a684-81411887e38f:810:320 → msg:tokens:01a1fc40-2101-7570-a684-81411887e38f:810:320 turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"message","role":"assistant","text":{"text":""},"model":"fake-model","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0}}
    main@15320 → sub:01a1fc40-2101-7570-a684-81411887e38f turn=7073-9e86-852a14b08ba7 in=7570-a684-81411887e38f
        {"fact":"subagent_stopped","last_message":null}
    "#);
}

#[test]
fn sub_agents_that_run_at_once_are_bound_to_their_own_calls() {
    let spawned = |call: &str, tool: &str, threads: &[&str]| {
        let item = json!({"type": "CollabAgentToolCall", "id": call, "tool": tool, "receiver_thread_ids": threads});
        let payload = json!({"type": "item_completed", "turn_id": "t", "item": item});
        json!({"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": payload})
    };
    let bound = |lines: &[Value]| -> Vec<(String, String, Option<String>)> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let seen = read(&text, &mut reader())
            .into_iter()
            .map(|s| s.observation);
        seen.filter_map(|o| match o.fact {
            Fact::SubagentStarted { call, .. } => Some((o.event, o.subagent?, call)),
            _ => None,
        })
        .collect()
    };
    let pair = |thread: &str, call: &str| {
        let (event, call) = (format!("sub:{thread}"), Some(call.to_owned()));
        (event, thread.to_owned(), call)
    };
    let lines = [
        spawned("two", "spawn_agent", &["b"]),
        spawned("one", "spawn_agent", &["a"]),
        spawned("three", "wait", &["a", "b"]),
    ];
    assert_eq!(bound(&lines), [pair("b", "two"), pair("a", "one")]);
    let crossed = [
        spawned("two", "spawn_agent", &["a"]),
        spawned("one", "spawn_agent", &["b"]),
    ];
    assert_eq!(bound(&crossed), [pair("a", "two"), pair("b", "one")]);
}

#[test]
fn a_fork_points_to_where_it_came_from() {
    let mut reader = reader();
    let lines: Vec<ReadLine<'_>> = FORK
        .lines()
        .map(|line| reader.line(0, line, Redactor::shared()))
        .collect();
    let first = &lines[0];
    assert_eq!(
        first.forked_from.as_ref().map(|id| id.as_str()),
        Some("01a1fc3f-a988-7340-9108-2bc0240cb46a")
    );
    assert_eq!(first.cwd.as_deref(), Some("/repo"));
    assert_eq!(first.git_branch.as_deref(), Some("main"));
    assert_eq!(first.version.as_deref(), Some("0.169.0"));
    assert!(lines.iter().flat_map(|l| &l.sightings).all(|s| !s.copied));
    let of = |text: &str| read(text, &mut super::tests::reader());
    assert_eq!(cost(&of(FORK)).input, 600, "nothing is counted twice");
}

#[test]
fn the_program_that_the_model_wrote_is_known_by_what_came_of_it() {
    assert_snapshot!(show(&read(CODE_MODE, &mut reader())), @r#"
    01a1fc40-3750-7e50-a116-0162a71eb483 → prompt:01a1fc40-36e8-72b1-b5ed-af3819025c1a turn=72b1-b5ed-af3819025c1a
        {"fact":"prompt","text":{"text":"Please do the work. [[scenario:write_commit]] [[cwd:/repo]] [[run:lab]]"},"synthetic":false}
    msg_bf09a4b264bd43d58817d3b8 → msg:msg_bf09a4b264bd43d58817d3b8 turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":16915}},"model":"gpt-6.1-sol","tokens":null}
    call_0cdd79805f1446b3a158cbf7:call → tool:call_0cdd79805f1446b3a158cbf7 turn=72b1-b5ed-af3819025c1a
        {"fact":"tool_started","tool":"exec","class":"other","input":{"text":"const r = await tools.apply_patch(\"*** Begin Patch\\n*** Add File: /repo/hello.txt\\n+hello from the lab\\n*** End Patch\\n\"); text(r);"},"path":null}
    tokens:s:220:220 → msg:tokens:s:220:220 turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gpt-6.1-sol","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0},"request":"resp_37ce292b37e74f20b119970d"}
    exec-fd233816-5ccc-47ea-a72f-852baa6db632:call → tool:exec-fd233816-5ccc-47ea-a72f-852baa6db632 turn=72b1-b5ed-af3819025c1a
        {"fact":"tool_started","tool":"apply_patch","class":"edit","input":{"text":"{\"files\":[\"A /repo/hello.txt\"],\"patch_bytes\":30}"},"path":"hello.txt"}
    exec-fd233816-5ccc-47ea-a72f-852baa6db632:done → tool:exec-fd233816-5ccc-47ea-a72f-852baa6db632 turn=72b1-b5ed-af3819025c1a
        {"fact":"tool_ended","tool":"","class":"edit","outcome":"ok","output":null,"duration_ms":null}
    call_0cdd79805f1446b3a158cbf7:out → tool:call_0cdd79805f1446b3a158cbf7 turn=72b1-b5ed-af3819025c1a
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"main","offset":19541}},"duration_ms":null}
    tokens:s:220:220 → msg:tokens:s:220:220 turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gpt-6.1-sol","tokens":{"input":200,"output":20,"cache_read":0,"cache_write":0}}
    msg_b2d2531bf6504316a7f1668e → msg:msg_b2d2531bf6504316a7f1668e turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":21229}},"model":"gpt-6.1-sol","tokens":null}
    call_f479200f12334ee9aa087cf6:call → tool:call_f479200f12334ee9aa087cf6 turn=72b1-b5ed-af3819025c1a
        {"fact":"tool_started","tool":"exec","class":"other","input":{"text":"const r = await tools.exec_command({\"cmd\": \"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD\"}); text(r);"},"path":null}
    tokens:s:540:320 → msg:tokens:s:540:320 turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gpt-6.1-sol","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0},"request":"resp_b1cf74239ab746239412f910"}
    exec-6161db1e-7a92-4942-978d-666a787323c0:call → tool:exec-6161db1e-7a92-4942-978d-666a787323c0 turn=72b1-b5ed-af3819025c1a
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git add -A && git commit -q -m 'add hello' && git rev-parse HEAD"},"path":null}
    exec-6161db1e-7a92-4942-978d-666a787323c0:done → tool:exec-6161db1e-7a92-4942-978d-666a787323c0 turn=72b1-b5ed-af3819025c1a
        {"fact":"tool_ended","tool":"","class":"shell","outcome":"ok","output":{"passage":{"stream":"main","offset":23305}},"duration_ms":null}
    call_f479200f12334ee9aa087cf6:out → tool:call_f479200f12334ee9aa087cf6 turn=72b1-b5ed-af3819025c1a
        {"fact":"tool_ended","tool":"","class":"other","outcome":"ok","output":{"passage":{"stream":"main","offset":24078}},"duration_ms":null}
    tokens:s:540:320 → msg:tokens:s:540:320 turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gpt-6.1-sol","tokens":{"input":300,"output":20,"cache_read":0,"cache_write":0}}
    msg_5a8b38d6e6b94c0fab99cc0c → msg:msg_5a8b38d6e6b94c0fab99cc0c turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":25941}},"model":"gpt-6.1-sol","tokens":null}
    tokens:s:960:420 → msg:tokens:s:960:420 turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gpt-6.1-sol","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0},"request":"resp_e90766ce1ae0484683401ec6"}
    tokens:s:960:420 → msg:tokens:s:960:420 turn=72b1-b5ed-af3819025c1a
        {"fact":"message","role":"assistant","text":{"text":""},"model":"gpt-6.1-sol","tokens":{"input":400,"output":20,"cache_read":0,"cache_write":0}}
    main@28183 → stop:01a1fc40-36e8-72b1-b5ed-af3819025c1a turn=72b1-b5ed-af3819025c1a
        {"fact":"stopped","last_message":null,"background":[]}
    "#);
}

/// What hooks and transcripts say of one call must meet.
#[test]
fn calls_have_the_names_that_hooks_have() {
    let seen: Vec<String> = ALL
        .iter()
        .flat_map(|text| read(text, &mut reader()))
        .filter(|s| matches!(s.observation.fact, Fact::ToolStarted { .. }))
        .map(|s| s.observation.event)
        .collect();
    let mut hooked = 0;
    for line in HOOKS.lines() {
        let payload: Value = serde_json::from_str(line).expect("JSON");
        let Some(id) = payload["stdin"]["tool_use_id"].as_str() else {
            continue;
        };
        hooked += 1;
        assert!(seen.contains(&format!("tool:{id}")), "{id}");
    }
    assert!(hooked > 20);
    let prompts: Vec<String> = read(WRITE_COMMIT, &mut reader())
        .into_iter()
        .filter(|s| matches!(s.observation.fact, Fact::Prompt { .. }))
        .map(|s| s.observation.event)
        .collect();
    let turns = HOOKS.lines().filter_map(|line| {
        let payload: Value = serde_json::from_str(line).expect("JSON");
        let prompts = payload["event"] == "UserPromptSubmit";
        let of = payload["stdin"]["session_id"] == "01a1fc3f-a988-7340-9108-2bc0240cb46a";
        (prompts && of).then(|| {
            format!(
                "prompt:{}",
                payload["stdin"]["turn_id"].as_str().expect("a turn")
            )
        })
    });
    assert_eq!(prompts, turns.collect::<Vec<_>>());
}

/// The hook of a turn that is broken off tells a stop, too.
#[test]
fn turns_stop_where_hooks_say_so() {
    let stops = |text: &str| -> Vec<String> {
        let seen = read(text, &mut reader()).into_iter();
        seen.filter(|s| matches!(s.observation.fact, Fact::Stopped { .. }))
            .map(|s| s.observation.event)
            .collect()
    };
    let hooked = |session: &str, event: &str| -> Vec<String> {
        let lines = HOOKS.lines();
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines
            .filter(|l| l["event"] == event && l["stdin"]["session_id"] == session)
            .map(|l| format!("stop:{}", l["stdin"]["turn_id"].as_str().expect("a turn")))
            .collect()
    };
    let session = "01a1fc3f-a988-7340-9108-2bc0240cb46a";
    assert_eq!(stops(WRITE_COMMIT).len(), 2);
    assert_eq!(stops(WRITE_COMMIT), hooked(session, "Stop"));
    let session = "01a1fc42-fab7-7031-bd54-980e335f9344";
    assert_eq!(stops(INTERRUPT).len(), 1);
    assert_eq!(stops(INTERRUPT), hooked(session, "Interrupt"));
    assert!(stops(SUBAGENT).is_empty());
}

fn cost(seen: &[Sighting]) -> Tokens {
    let mut keys = std::collections::BTreeSet::new();
    let mut sum = Tokens::default();
    for sighting in seen {
        if let Fact::Message {
            tokens: Some(tokens),
            ..
        } = &sighting.observation.fact
            && keys.insert(sighting.observation.key.clone())
        {
            sum += *tokens;
        }
    }
    sum
}

/// The last sum that the transcript itself tells.
fn last_token_counts(text: &str) -> (u64, u64) {
    let usage = text.lines().rev().find_map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let usage = &line["payload"]["thread_token_usage"];
        usage.is_object().then(|| usage.clone())
    });
    let usage = usage.expect("usage");
    let number = |name: &str| usage[name].as_u64().expect("a number");
    (number("input_tokens"), number("output_tokens"))
}

#[test]
fn tokens_are_counted_once() {
    for text in [
        WRITE_COMMIT,
        PARENT,
        SUBAGENT,
        AUTOCOMPACT,
        TWO_TOOLS,
        PATCHES,
        CODE_MODE,
    ] {
        let cost = cost(&read(text, &mut reader()));
        assert_eq!((cost.input, cost.output), last_token_counts(text));
    }
    let cached = json!({"type": "event_msg", "timestamp": "2026-01-01T00:00:00Z", "payload": {"type": "token_count", "info": {
        "total_token_usage": {"total_tokens": 100},
        "last_token_usage": {"input_tokens": 90, "cached_input_tokens": 60, "output_tokens": 10, "total_tokens": 100},
    }}});
    let text = format!("{cached}\n{cached}\n");
    let expected = Tokens {
        input: 30,
        output: 10,
        cache_read: 60,
        cache_write: 0,
    };
    assert_eq!(cost(&read(&text, &mut reader())), expected);
}

#[test]
fn every_file_of_a_patch_has_both_sides_where_they_are_known() {
    let text = PATCHES.to_owned();
    let (edits, commits) = outcomes(&text, &mut reader());
    let shown: Vec<_> = edits
        .iter()
        .map(|e| {
            (
                e.path.to_str(),
                e.before.is_some(),
                String::from_utf8_lossy(&e.after).into_owned(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [(Some("/repo/dir/new.txt"), false, "n1\nn2\n".to_owned())]
    );
    assert_eq!(commits.len(), 2);
    assert!(
        commits
            .iter()
            .all(|c| c.abbreviated.len() == 40 && c.started.is_some())
    );
}

fn done(id: &str, changes: &Value) -> String {
    let line = json!({"type": "event_msg", "timestamp": "2026-01-01T00:00:00Z", "payload": {"type": "item_completed",
        "turn_id": "t", "item": {"type": "FileChange", "id": id, "status": "completed", "changes": changes}}});
    format!("{line}\n")
}

#[test]
fn a_file_that_the_session_made_is_known_when_it_changes() {
    let text = [
        done("1", &json!({"/r/a": {"type": "add", "content": "one\ntwo\n"}})),
        done("2", &json!({"/r/a": {"type": "update", "unified_diff": "@@ -2 +2 @@\n-two\n+TWO\n", "move_path": "/r/b"}})),
        done("3", &json!({"/r/b": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-zero\n+x\n"}})),
        done("4", &json!({"/r/b": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-one\n+x\n"}})),
        done("5", &json!({"/r/c": {"type": "delete", "content": "x"}})),
    ]
    .concat();
    let (edits, _) = outcomes(&text, &mut reader());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let shown: Vec<_> = edits
        .iter()
        .map(|e| {
            (
                e.event.as_str(),
                e.path.to_str(),
                e.before.as_deref().map(text),
                text(&e.after),
            )
        })
        .collect();
    let one = "one\ntwo\n".to_owned();
    assert_eq!(
        shown,
        [
            ("tool:1", Some("/r/a"), None, one.clone()),
            ("tool:2", Some("/r/b"), Some(one), "one\nTWO\n".to_owned()),
        ],
        "a patch that does not fit makes the file unknown"
    );
}

#[test]
fn calls_that_failed_are_recorded_as_failed() {
    let failed = |text: &str| -> Vec<String> {
        let seen = read(text, &mut reader()).into_iter();
        let mut failed: Vec<String> = seen
            .filter(|s| {
                matches!(
                    s.observation.fact,
                    Fact::ToolEnded {
                        outcome: Outcome::Failed,
                        ..
                    }
                )
            })
            .map(|s| s.observation.key)
            .collect();
        failed.sort();
        failed
    };
    let call = "call_46436eb04e854e2dbda445a7";
    assert_eq!(
        failed(TWO_TOOLS),
        [format!("{call}:done"), format!("{call}:out")]
    );
    assert_eq!(failed(PATCHES).len(), 1, "the patch that did not fit");
    assert_eq!(failed(INTERRUPT).len(), 1, "the command that was stopped");
    assert!(failed(WRITE_COMMIT).is_empty());
}

#[test]
fn a_summary_is_one_compaction_of_its_turn() {
    let seen = read(AUTOCOMPACT, &mut reader());
    let compacted: Vec<_> = seen
        .iter()
        .filter(|s| {
            matches!(
                s.observation.fact,
                Fact::Compacted {
                    summary: Some(Body::Text(_)),
                    ..
                }
            )
        })
        .map(|s| s.observation.event.as_str())
        .collect();
    assert_eq!(compacted, ["compact:01a1fc40-26c8-7962-a5cd-93daf7f18cfe"]);
}

#[test]
fn older_forms_are_read() {
    let line = |kind: &str, payload: Value| {
        format!(
            "{}\n",
            json!({"timestamp": "2025-10-01T10:00:00.000Z", "type": kind, "payload": payload})
        )
    };
    let output = json!({"output": "[main 1a2b3c4] x\n", "metadata": {"exit_code": 1}}).to_string();
    let text = [
        line("session_meta", json!({"cwd": "/r", "cli_version": "0.40.0", "instructions": null})),
        line("turn_context", json!({"cwd": "/r", "model": "gpt-5"})),
        line("response_item", json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>"}]})),
        line("event_msg", json!({"type": "user_message", "message": "do it"})),
        line("response_item", json!({"type": "reasoning", "encrypted_content": "x"})),
        line("response_item", json!({"type": "function_call", "name": "shell", "call_id": "c1", "arguments": "{\"command\":[\"bash\",\"-lc\",\"git commit -m x\"]}"})),
        line("response_item", json!({"type": "function_call_output", "call_id": "c1", "output": output})),
        line("response_item", json!({"type": "local_shell_call", "call_id": "c2", "action": {"type": "exec", "command": ["ls", "-l"]}})),
        line("response_item", json!({"type": "function_call", "name": "apply_patch", "call_id": "c3", "arguments": "{\"input\":\"*** Begin Patch\\n*** Delete File: a\\n\"}"})),
        line("event_msg", json!({"type": "token_count", "info": null})),
        line("response_item", json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]})),
    ]
    .concat();
    assert_snapshot!(show(&read(&text, &mut reader())), @r#"
    main@403 → prompt:main@403 turn=
        {"fact":"prompt","text":{"text":"do it"},"synthetic":false}
    c1:call → tool:c1 turn=
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"git commit -m x"},"path":null}
    c1:out → tool:c1 turn=
        {"fact":"tool_ended","tool":"","class":"other","outcome":"failed","output":{"passage":{"stream":"main","offset":830}},"duration_ms":null}
    c2:call → tool:c2 turn=
        {"fact":"tool_started","tool":"Bash","class":"shell","input":{"text":"ls -l"},"path":null}
    c3:call → tool:c3 turn=
        {"fact":"tool_started","tool":"apply_patch","class":"edit","input":{"text":"{\"files\":[\"D a\"],\"patch_bytes\":35}"},"path":"/r/a"}
    main@1504 → msg:main@1504 turn=
        {"fact":"message","role":"assistant","text":{"passage":{"stream":"main","offset":1504}},"model":"gpt-5","tokens":null}
    "#);
    let (_, commits) = outcomes(&text, &mut reader());
    assert_eq!(
        commits
            .iter()
            .map(|c| c.abbreviated.as_str())
            .collect::<Vec<_>>(),
        ["1a2b3c4"]
    );
}

#[test]
fn a_prompt_that_stands_in_two_lines_is_one() {
    let line = |payload: Value| {
        format!(
            "{}\n",
            json!({"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": payload})
        )
    };
    let item = line(
        json!({"type": "item_completed", "turn_id": "t", "item": {"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "again"}]}}),
    );
    let old = line(json!({"type": "user_message", "message": "again"}));
    let prompts = |text: String| read(&text, &mut reader()).len();
    assert_eq!(prompts([item.clone(), old.clone()].concat()), 1);
    assert_eq!(prompts([old.clone(), item].concat()), 1);
    assert_eq!(prompts([old.clone(), old].concat()), 2);
}

#[test]
fn only_lines_that_are_pointed_to_are_kept() {
    let mut reader = reader();
    for line in WRITE_COMMIT.lines() {
        let read = reader.line(7, line, Redactor::shared());
        let points = |s: &Sighting| format!("{:?}", s.observation.fact).contains("Passage");
        assert_eq!(
            read.at.is_some(),
            read.sightings.iter().any(points),
            "{line}"
        );
    }
    assert_eq!(reader.skipped(), 0);
}

#[test]
fn what_a_thread_is_resumed_by_is_archived() {
    let mut reader = reader();
    let mut archived = std::collections::BTreeSet::new();
    for line in WRITE_COMMIT.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        if reader.line(7, line, Redactor::shared()).archived.is_some() {
            archived.insert(value["type"].as_str().unwrap().to_owned());
        }
    }
    let kinds: Vec<&str> = archived.iter().map(String::as_str).collect();
    assert_eq!(kinds, ["response_item", "session_meta", "turn_context"]);
    let named = json!({"type": "thread_name_updated", "thread_id": "t", "thread_name": "Cart"});
    let line = json!({"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": named});
    let line = line.to_string();
    let read = reader.line(7, &line, Redactor::shared());
    assert_eq!(read.name.as_deref(), Some("Cart"));
}

#[test]
fn a_reader_that_goes_on_sees_the_same() {
    for text in ALL {
        let whole = read(text, &mut reader());
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for cut in 1..lines.len() {
            let mut first = reader();
            let mut seen = read(&lines[..cut].concat(), &mut first);
            let owner = seen.last().map_or(native("s"), |s| s.owner.clone());
            let mut second = Reader::new("main".to_owned(), first.subagent.clone(), owner);
            second.resume(first.turn().map(str::to_owned), first.is_own());
            seen.extend(read(&lines[cut..].concat(), &mut second));
            let events = |seen: &[Sighting]| {
                let name = |s: &Sighting| (s.observation.event.clone(), s.observation.turn.clone());
                let at = |s: &&Sighting| !s.observation.event.contains('@');
                seen.iter()
                    .filter(at)
                    .map(name)
                    .collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(events(&seen), events(&whole), "cut after {cut} lines");
        }
    }
}

proptest! {
    #[test]
    fn damaged_recordings_do_no_harm(which in 0..ALL.len(), line in 0..60_usize, cut in 0..4000_usize, byte in any::<u8>()) {
        let mut lines: Vec<Vec<u8>> = ALL[which].lines().map(|l| l.as_bytes().to_vec()).collect();
        let line = line % lines.len();
        let at = cut % lines[line].len();
        lines[line][at] = byte;
        let text = String::from_utf8_lossy(&lines.join(&b'\n')).into_owned();
        let (_, _) = outcomes(&text, &mut reader());
        lines[line].truncate(at);
        let text = String::from_utf8_lossy(&lines.join(&b'\n')).into_owned();
        let (_, _) = outcomes(&text, &mut reader());
    }

    #[test]
    fn any_content_is_read(text in "\\PC{0,80}", number in any::<i64>()) {
        for payload in [
            json!({"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": text}),
            json!({"type": "function_call_output", "call_id": "c", "output": text}),
            json!({"type": "item_completed", "started_at_ms": number, "item": {"type": "FileChange", "id": "c", "changes": {(text.clone()): {"type": "add", "content": text}}}}),
            json!({"type": "item_completed", "started_at_ms": number, "item": {"type": "CommandExecution", "id": "c", "command": [text], "exit_code": number}}),
            json!({"type": "token_count", "info": {"total_token_usage": {"total_tokens": number}, "last_token_usage": {"total_tokens": number, "input_tokens": number}}}),
        ] {
            for kind in ["response_item", "event_msg"] {
                let line = json!({"timestamp": text, "type": kind, "payload": payload}).to_string();
                let _ = outcomes(&line, &mut reader());
            }
        }
    }
}
