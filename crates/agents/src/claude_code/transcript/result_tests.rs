//! Changes and commits, in the recordings and in lines made for one rule each.

use std::fmt::Write;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use siglum_domain::observation::Fact;
use siglum_domain::redact::Redactor;

use super::Reader;
use crate::claude_code::fixture::{
    COMPACT, EDIT, FORK_CHILD, RESUME, SUBAGENT, SUBAGENT_PARENT, WRITE_COMMIT, native, outcomes,
    read,
};
use crate::transcript::TranscriptReader as _;

const PARENT: &str = "82d22249-95b9-4a69-be00-56b628d51d90";
const CHILD: &str = "2cb3f475-b8ea-48c1-bf3d-3e24a9b14eb6";

fn reader(session: &str) -> Reader {
    Reader::new("stream".to_owned(), None, native(session))
}

fn show(text: &str, reader: &mut Reader) -> String {
    let (edits, commits) = outcomes(text, reader);
    let mut out = String::new();
    let whose = |copied: bool, owner: &str| {
        let copy = if copied { "copy of " } else { "" };
        format!("{copy}{}", &owner[..owner.len().min(8)])
    };
    for e in edits {
        let whose = whose(e.copied, e.owner.as_str());
        let turn = e.turn.as_deref().map_or("-", |turn| &turn[..8]);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (before, after) = (e.before.as_deref().map(text), text(&e.after));
        let (event, path, at) = (&e.event, e.path.display(), e.at);
        writeln!(
            out,
            "{event} {whose} turn={turn} {at} {path}\n    {before:?} → {after:?}"
        )
        .expect("a string");
    }
    for c in commits {
        let whose = whose(c.copied, c.owner.as_str());
        let (event, id, ended) = (&c.event, &c.abbreviated, c.ended);
        let started = c.started.map(|at| at.to_string()).unwrap_or_default();
        writeln!(out, "{event} {whose} {id} {started}..{ended}").expect("a string");
    }
    out
}

#[test]
fn what_the_recordings_show() {
    assert_snapshot!(show(WRITE_COMMIT, &mut reader(PARENT)), @r#"
    tool:toolu_3b6d222fc097414a9a0f7870 82d22249 turn=de296258 2026-11-21T00:51:34.553Z /repo/hello.txt
        None → "hello from the lab\n"
    tool:toolu_429a696615f749cd86be4976 82d22249 a2e430eda264c05ac40491f4b1c4dba90a0b919f 2026-11-21T00:51:34.631Z..2026-11-21T00:51:35.283Z
    "#);
    assert_snapshot!(show(EDIT, &mut reader("18700c51-9c00-43c7-9348-cf28429aaad7")), @r#"
    tool:toolu_adb34b16a065449f91b09bb4 18700c51 turn=b03081be 2026-11-21T00:51:40.351Z /repo/src/list.txt
        None → "alpha\nbeta\ngamma\ndelta\n"
    tool:toolu_acecf8f410f445b19f99a4f7 18700c51 turn=b03081be 2026-11-21T00:51:40.541Z /repo/src/list.txt
        Some("alpha\nbeta\ngamma\ndelta\n") → "alpha\nbeta, changed\ngamma\ndelta\n"
    tool:toolu_469ce81d36b046cab6310b90 18700c51 turn=b03081be 2026-11-21T00:51:40.716Z /repo/src/list.txt
        Some("alpha\nbeta, changed\ngamma\ndelta\n") → "alpha\nbeta, changed\ngamma\ndelta\nepsilon\n"
    "#);
    assert_snapshot!(show(COMPACT, &mut reader("1addea8e-88aa-4d9d-9402-c3ddad469c1a")), @r#"
    tool:toolu_47a6871afd604cd79521334d 1addea8e turn=d09c075c 2026-11-21T00:51:42.528Z /repo/from_helper.txt
        None → "helper\n"
    "#);
    assert_snapshot!(show(FORK_CHILD, &mut reader(CHILD)), @r#"
    tool:toolu_3b6d222fc097414a9a0f7870 copy of 82d22249 turn=- 2026-11-21T00:51:34.553Z /repo/hello.txt
        None → "hello from the lab\n"
    tool:toolu_429a696615f749cd86be4976 copy of 82d22249 a2e430eda264c05ac40491f4b1c4dba90a0b919f 2026-11-21T00:51:34.631Z..2026-11-21T00:51:35.283Z
    "#);
    assert_eq!(
        show(RESUME, &mut reader(PARENT)),
        show(WRITE_COMMIT, &mut reader(PARENT))
    );
    assert_eq!(show(SUBAGENT_PARENT, &mut reader("s")), "");
    let agent = Some("a41656a253b697f93".to_owned());
    let mut inner = Reader::new("agent".to_owned(), agent, native("s"));
    assert_eq!(
        show(SUBAGENT, &mut inner),
        "",
        "this version tells no results of sub-agents"
    );
}

#[test]
fn content_is_not_shown_by_debug() {
    let (edits, _) = outcomes(EDIT, &mut reader(PARENT));
    assert_eq!(edits.len(), 3);
    assert!(!format!("{edits:?}").contains("alpha"), "{edits:?}");
    let all: Vec<_> = EDIT
        .lines()
        .map(|line| reader(PARENT).line(0, line, Redactor::shared()).edits)
        .collect();
    assert!(!format!("{all:?}").contains("alpha"));
}

/// A line of the assistant that calls a tool; a copy if `from` is another session.
fn call(id: &str, tool: &str, input: &Value, from: &str) -> String {
    let block = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
    json!({"type": "assistant", "uuid": format!("a-{id}"), "sessionId": "own", "requestSessionId": from,
        "timestamp": "2026-11-21T00:00:01Z", "message": {"id": "m", "content": [block]}})
    .to_string()
}

fn result(id: &str, content: &str, result: &Value) -> String {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    json!({"type": "user", "uuid": format!("r-{id}"), "promptId": "p2345678", "sessionId": "own",
        "timestamp": "2026-11-21T00:00:02Z", "toolUseResult": result, "message": {"content": [block]}})
    .to_string()
}

fn prompt() -> String {
    json!({"type": "user", "uuid": "u", "sessionId": "own", "message": {"content": "hi"}})
        .to_string()
}

fn says(from: &str) -> String {
    json!({"type": "assistant", "uuid": "s", "sessionId": "own", "requestSessionId": from,
        "message": {"id": "m2", "content": [{"type": "text", "text": "x"}]}})
    .to_string()
}

fn created() -> Value {
    json!({"type": "create", "filePath": "/r/a", "content": "a", "originalFile": null})
}

/// The owners of all changes and commits, in order.
fn owners(lines: &[String], reader: &mut Reader) -> Vec<String> {
    let (edits, commits) = outcomes(&lines.join("\n"), reader);
    let edits = edits.iter().map(|e| (e.copied, e.owner.as_str()));
    let all = edits.chain(commits.iter().map(|c| (c.copied, c.owner.as_str())));
    all.map(|(copied, owner)| format!("{owner}{}", if copied { " copied" } else { "" }))
        .collect()
}

#[test]
fn a_result_belongs_to_whoever_made_the_call() {
    let check = |lines: &[String], expected: &[&str]| {
        assert_eq!(owners(lines, &mut reader("own")), expected, "{lines:#?}");
    };
    let write = |from: &str| call("t", "Write", &json!({"file_path": "/r/a"}), from);
    let commit = |from: &str| call("t", "Bash", &json!({"command": "git commit -m x"}), from);
    let done = || result("t", "", &created());
    let committed = || result("t", "[main a2e430e] x", &json!("Error: x"));
    check(&[write("own"), done()], &["own"]);
    check(&[commit("own"), committed()], &["own"]);
    for end in [None, Some(says("old")), Some(says("own"))] {
        for lines in [[write("old"), done()], [commit("old"), committed()]] {
            let mut lines = lines.to_vec();
            lines.push(prompt());
            lines.extend(end.clone());
            check(&lines, &["old copied"]);
        }
    }
}

#[test]
fn a_result_without_its_call_counts_only_if_its_owner_is_known() {
    let done = || result("t", "", &created());
    let committed = || {
        result(
            "t",
            "[main a2e430e] x",
            &json!({"stdout": "[main a2e430e] x"}),
        )
    };
    let check = |lines: &[String], own: bool, expected: &[&str]| {
        let mut reader = reader("own").resumed(None, own);
        assert_eq!(owners(lines, &mut reader), expected, "{lines:#?}");
    };
    check(&[done()], true, &["own"]);
    check(&[done()], false, &[]);
    check(&[done(), says("old")], false, &["old copied"]);
    check(&[done(), says("own")], false, &[]);
    check(&[committed(), says("own")], true, &[]);
    check(&[committed(), says("old")], false, &[]);
}

#[test]
fn only_what_the_right_tool_returned_in_a_line_of_its_own_counts() {
    let check = |lines: &[String], expected: usize| {
        assert_eq!(
            owners(lines, &mut reader("own")).len(),
            expected,
            "{lines:#?}"
        );
    };
    let input = json!({"file_path": "/r/a", "command": "git commit"});
    for (tool, expected) in [
        ("Write", 1),
        ("Edit", 1),
        ("MultiEdit", 1),
        ("Read", 0),
        ("mcp__x__Write", 0),
        ("Bash", 0),
    ] {
        check(
            &[call("t", tool, &input, "own"), result("t", "", &created())],
            expected,
        );
    }
    for (tool, expected) in [("Bash", 1), ("Read", 0), ("Write", 0)] {
        let lines = [
            call("t", tool, &input, "own"),
            result("t", "[main a2e430e] x", &Value::Null),
        ];
        check(&lines, expected);
    }
    let write = call("t", "Write", &input, "own");
    let mut failed: Value = serde_json::from_str(&result("t", "", &created())).expect("JSON");
    failed["message"]["content"][0]["is_error"] = json!(true);
    check(&[write.clone(), failed.to_string()], 0);
    let mut two: Value = serde_json::from_str(&result("t", "", &created())).expect("JSON");
    two["message"]["content"] = json!([{"type": "tool_result", "tool_use_id": "t"}, {"type": "tool_result", "tool_use_id": "t2"}]);
    check(&[write.clone(), two.to_string()], 0);
    let other = call("t", "Bash", &json!({"command": "git log"}), "own");
    check(&[other, result("t", "[main a2e430e] x", &Value::Null)], 0);
    check(
        &[
            write,
            result("t", "", &created()),
            result("t", "", &Value::Null),
        ],
        1,
    );
}

#[test]
fn output_is_read_wherever_it_stands() {
    let input = json!({"command": format!("git commit -F - <<E\n{}\nE", "x".repeat(5000))});
    let check = |tool_result: &Value, content: Value| {
        let mut line: Value = serde_json::from_str(&result("t", "", tool_result)).expect("JSON");
        line["message"]["content"][0]["content"] = content;
        let lines = [call("t", "Bash", &input, "own"), line.to_string()];
        let (_, commits) = outcomes(&lines.join("\n"), &mut reader("own"));
        let [mention] = commits.as_slice() else {
            panic!("{commits:?}")
        };
        assert_eq!(
            (mention.abbreviated.as_str(), mention.event.as_str()),
            ("a2e430e", "tool:t")
        );
        assert_eq!(mention.started, "2026-11-21T00:00:01Z".parse().ok());
        assert_eq!(
            mention.ended,
            "2026-11-21T00:00:02Z".parse().expect("a time")
        );
    };
    let output = "x\n[main a2e430e] x\n 1 file changed";
    check(&json!({"stdout": output, "stderr": ""}), json!(""));
    check(&Value::Null, json!(output));
    check(&json!("Error: Exit code 1"), json!(output));
    check(&Value::Null, json!([{"type": "text", "text": output}]));
}

#[test]
fn what_is_held_back_is_bounded() {
    let big = json!({"type": "create", "filePath": "/r/a", "content": "x".repeat(7 << 20)});
    let mut lines: Vec<String> = (0..6).map(|n| result(&n.to_string(), "", &big)).collect();
    lines.push(says("old"));
    assert_eq!(owners(&lines, &mut reader("own")).len(), 4);
}

proptest! {
    #[test]
    fn damaged_recordings_never_panic(cut in 0_usize..24_000, at in 0_usize..24_000, put in "[\\[\\]{}\",:x0\\\\]{0,3}") {
        let mut text = EDIT.to_owned();
        let floor = |text: &str, at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let at = floor(&text, at);
        text.insert_str(at, &put);
        text.truncate(floor(&text, cut.max(at)));
        outcomes(&text, &mut reader(CHILD));
    }

    #[test]
    fn damaged_results_never_panic(at in 0_usize..400, put in "[\\[\\]{}\",:0\\\\]{0,4}", gone in 0_usize..40) {
        let edited = json!({"filePath": "/r/a", "oldString": "b", "newString": "", "originalFile": "a\nb\n", "replaceAll": true,
            "structuredPatch": [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 1, "lines": [" a", "-b"]}]}).to_string();
        let end = (at + gone).min(edited.len());
        let edited = format!("{}{put}{}", &edited[..at.min(edited.len())], &edited[end..]);
        let line = format!(r#"{{"type":"user","sessionId":"own","message":{{"content":[{{"type":"tool_result","tool_use_id":"t"}}]}},"toolUseResult":{edited}}}"#);
        outcomes(&line, &mut reader("own").resumed(None, true));
    }
}

/// Which call started which sub-agent, as far as these lines tell.
fn spawned(lines: &[Value]) -> Vec<(String, Option<String>)> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let seen = read(&text, &mut reader(PARENT)).into_iter();
    seen.filter_map(|seen| match seen.observation.fact {
        Fact::SubagentStarted { call, .. } => Some((seen.observation.subagent?, call)),
        _ => None,
    })
    .collect()
}

#[test]
fn sub_agents_that_run_at_once_are_bound_to_their_own_calls() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Agent", "input": {"prompt": "same"}});
    let calls = json!({"type": "assistant", "uuid": "m", "message": {"id": "m", "content": [call("one"), call("two")]}});
    let result = |call: &str, tool_result: Value| {
        let block = json!({"type": "tool_result", "tool_use_id": call, "content": "x"});
        json!({"type": "user", "uuid": format!("r-{call}"), "message": {"content": [block]}, "toolUseResult": tool_result})
    };
    let started =
        |agent: &str| json!({"agentId": agent, "prompt": "same", "status": "async_launched"});
    let pair = |agent: &str, call: &str| (agent.to_owned(), Some(call.to_owned()));
    let (one, two) = (result("one", started("a")), result("two", started("b")));
    let bound = [pair("a", "one"), pair("b", "two")];
    let lines = [calls.clone(), one.clone(), two.clone()];
    assert_eq!(spawned(&lines), bound);
    let mut swapped = spawned(&[calls.clone(), two, one]);
    swapped.sort();
    assert_eq!(swapped, bound);
    let crossed = [result("one", started("b")), result("two", started("a"))];
    assert_eq!(spawned(&crossed), [pair("b", "one"), pair("a", "two")]);
    // What a tool says of a sub-agent that it did not start.
    let other = result("three", json!({"agentId": "c", "status": "queued"}));
    let failed = result("four", json!("Error: no such agent"));
    assert_eq!(spawned(&[calls, other, failed]), []);
}
