//! The transcripts, and lines that nobody should write.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use siglum_domain::observation::{Fact, Outcome, Tokens, event};
use siglum_domain::redact::Redactor;

use super::Reader;
use crate::copilot::fixture::{HOOKS, SUBAGENT, WRITE_COMMIT, native, read};
use crate::copilot::reduce::reduce;
use crate::recorded::{self, TranscriptContent};
use crate::transcript::TranscriptReader as _;

const AGENT: &str = "3bb30ec0-3ff2-45af-a532-b7bd7c1ab29b";

fn reader() -> Reader {
    let mut reader = Reader::new("stream".to_owned(), None, native("session"));
    reader.set_worktree(PathBuf::from("/repo"));
    reader
}

fn content(text: &str) -> TranscriptContent {
    read(text, &mut reader())
}

fn kinds(content: &TranscriptContent) -> Vec<&'static str> {
    let seen = content.seen.iter();
    seen.map(|s| s.observation.fact.kind()).collect()
}

/// What each message cost, by the largest count of its sightings.
fn tokens(content: &TranscriptContent) -> Tokens {
    let mut messages: std::collections::BTreeMap<&str, Tokens> = std::collections::BTreeMap::new();
    for s in &content.seen {
        let o = &s.observation;
        if let Fact::Message {
            tokens: Some(tokens),
            ..
        } = &o.fact
        {
            let known = messages.entry(&o.event).or_default();
            if tokens.input >= known.input {
                *known = *tokens;
            }
        }
    }
    let mut sum = Tokens::default();
    messages.into_values().for_each(|tokens| sum += tokens);
    sum
}

#[test]
fn a_session_with_a_commit() {
    let content = content(WRITE_COMMIT);
    let expected = [
        "prompt",
        "message",
        "message",
        "tool_started",
        "tool_ended",
        "message",
        "message",
        "tool_started",
        "tool_ended",
        "message",
        "message",
    ];
    assert_eq!(kinds(&content), expected);
    let spent = Tokens {
        input: 650,
        output: 60,
        cache_read: 100,
        cache_write: 0,
    };
    assert_eq!(tokens(&content), spent);
    let [mention] = content.commits.as_slice() else {
        panic!("one commit: {:?}", content.commits);
    };
    assert_eq!(
        mention.abbreviated,
        "fbe59dabf65fab1a9d18bd106dd67883410e7385"
    );
    assert!(mention.started.is_some_and(|at| at < mention.ended));
    let turn = event::unnamed_turn(Some("53fd0001-0000-4000-8000-000000000002"));
    for s in &content.seen {
        assert_eq!(s.observation.turn.as_deref(), Some(turn.as_str()));
        assert_eq!(s.observation.subagent, None);
    }
}

#[test]
fn lines_know_where_they_were_written() {
    let mut reader = reader();
    let first = WRITE_COMMIT.lines().next().expect("a line");
    let start = reader.line(0, first, Redactor::shared());
    assert_eq!(start.cwd.as_deref(), Some("/repo"));
    assert_eq!(start.git_branch.as_deref(), Some("main"));
    assert_eq!(start.version.as_deref(), Some("1.0.102"));
    assert!(start.at.is_some());
    let moved = SUBAGENT
        .lines()
        .find(|line| line.contains("context_changed"));
    let moved = reader.line(0, moved.expect("a line"), Redactor::shared());
    assert_eq!(moved.cwd.as_deref(), Some("/repo/deep"));
    assert_eq!(moved.git_branch.as_deref(), Some("topic"));
}

#[test]
fn a_sub_agent_stands_in_its_sessions_transcript() {
    let content = content(SUBAGENT);
    let inside = content.seen.iter().filter(|s| {
        let of = s.observation.subagent.as_deref();
        of == Some(AGENT)
    });
    let inside: Vec<_> = inside.map(|s| s.observation.fact.kind()).collect();
    let calls = inside.iter().filter(|kind| **kind == "tool_ended").count();
    assert_eq!(calls, 3, "{inside:?}");
    assert_eq!(inside.first(), Some(&"subagent_started"));
    assert_eq!(inside.last(), Some(&"subagent_stopped"));
    assert!(!inside.contains(&"prompt"), "{inside:?}");
    let started = content.seen.iter().find_map(|s| match &s.observation.fact {
        Fact::SubagentStarted { call, agent_type } => Some((call.clone(), agent_type.as_str())),
        _ => None,
    });
    let (call, kind) = started.expect("it started");
    assert_eq!(kind, "general-purpose");
    let call = call.expect("a call");
    let of_call = content.seen.iter().filter(|s| s.observation.event == call);
    assert_eq!(of_call.count(), 2);
    let outcomes: Vec<_> = content
        .seen
        .iter()
        .filter_map(|s| match &s.observation.fact {
            Fact::ToolEnded { tool, outcome, .. } => Some((tool.as_str(), *outcome)),
            _ => None,
        })
        .collect();
    let expected = [
        ("create", Outcome::Ok),
        ("edit", Outcome::Failed),
        ("bash", Outcome::Failed),
        ("task", Outcome::Ok),
    ];
    assert_eq!(outcomes, expected);
    let [edit] = content.edits.as_slice() else {
        panic!("one edit: {:?}", content.edits);
    };
    assert_eq!(edit.path, Path::new("/repo/from_helper.txt"));
    assert_eq!(
        (edit.before.as_deref(), edit.after.as_slice()),
        (None, b"helper\n".as_slice())
    );
    assert_eq!(edit.subagent.as_deref(), Some(AGENT));
}

#[test]
fn what_nobody_typed_is_synthetic_and_a_failed_compaction_none() {
    let content = content(SUBAGENT);
    let prompts: Vec<_> = content
        .seen
        .iter()
        .filter_map(|s| match &s.observation.fact {
            Fact::Prompt { synthetic, .. } => Some(*synthetic),
            _ => None,
        })
        .collect();
    assert_eq!(prompts, [false, true]);
    let compacted = kinds(&content)
        .iter()
        .filter(|k| **k == "compacted")
        .count();
    assert_eq!(compacted, 1);
}

#[test]
fn hooks_and_transcripts_know_the_same_calls() {
    let known: Vec<String> = recorded::payloads(HOOKS)
        .iter()
        .flat_map(|payload| {
            let payload = payload.to_string();
            let call = recorded::call(payload.as_bytes(), "/home/dev/.copilot");
            let seen = reduce(&call).expect("a payload").observations;
            seen.into_iter().map(|o| o.event)
        })
        .collect();
    let content = content(WRITE_COMMIT);
    let first = content.seen.iter().find_map(|s| {
        let parts = event::unnamed_parts(&s.observation.event);
        parts.map(|(likeness, id)| (event::unnamed(likeness), id.is_some()))
    });
    let (unnamed, is_named) = first.expect("a call");
    assert!(is_named);
    assert!(known.contains(&unnamed));
    let agent = format!("sub:{AGENT}");
    assert!(known.contains(&agent));
    let inner = super::tests::content(SUBAGENT);
    assert!(inner.seen.iter().any(|s| s.observation.event == agent));
}

#[test]
fn lines_that_are_no_json_are_counted_and_skipped() {
    let mut reader = reader();
    for line in [
        "",
        "not JSON",
        "{\"type\":\"user.message\"",
        "[1]",
        "{\"type\":\"user.message\",\"data\":{\"content\":\"x\"}}",
        "{\"id\":\"m\",\"type\":\"user.message\",\"data\":7}",
        "{\"id\":\"m\",\"type\":\"tool.execution_complete\",\"data\":{\"toolCallId\":\"none\"}}",
        "{\"id\":\"m\",\"type\":\"from.the_future\"}",
    ] {
        let seen = reader.line(0, line, Redactor::shared()).sightings;
        assert_eq!(seen, [], "{line}");
    }
    assert_eq!(reader.skipped(), 3);
}

/// However many calls never return.
#[test]
fn what_is_kept_of_files_is_bounded() {
    let mut reader = reader();
    let large = "x".repeat(5 << 20);
    for n in 0..3 {
        let line = format!(
            r#"{{"id":"{n}","type":"tool.execution_start","data":{{"toolCallId":"{n}","toolName":"create","arguments":{{"path":"/repo/{n}","file_text":"{large}"}}}}}}"#
        );
        reader.line(0, &line, Redactor::shared());
    }
    let kept = reader.calls.iter().filter(|call| call.created.is_some());
    assert_eq!(kept.count(), 1);
}

#[test]
fn secrets_are_removed() {
    let token = concat!("gh", "p_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let lines = format!(
        r#"{{"id":"u","type":"user.message","data":{{"content":"{token}"}}}}
{{"id":"a","type":"tool.execution_start","data":{{"toolCallId":"a","toolName":"bash","arguments":{{"command":"{token}"}}}}}}
{{"id":"b","type":"tool.execution_start","data":{{"toolCallId":"b","toolName":"edit","arguments":{{"path":"/repo/{token}","k":"{token}"}}}}}}
"#
    );
    let seen = content(&lines).seen;
    assert_eq!(seen.len(), 3);
    assert!(!format!("{seen:?}").contains(token), "{seen:?}");
}

proptest! {
    #[test]
    fn text_never_panics(text in ".{0,300}") {
        reader().line(0, &text, Redactor::shared());
    }

    #[test]
    fn damaged_transcripts_never_panic(
        cut in 0_usize..9000,
        at in 0_usize..9000,
        put in "[\\[\\]{}\",:x0\n]{0,3}",
    ) {
        let mut text = SUBAGENT.to_owned() + WRITE_COMMIT;
        let at = text.floor_char_boundary(at);
        text.insert_str(at, &put);
        text.truncate(text.floor_char_boundary(cut));
        read(&text, &mut reader());
    }
}
