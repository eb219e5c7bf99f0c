//! The transcripts, and lines that nobody should write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;
use siglum_domain::observation::{Body, Fact, Outcome, Role, Tokens};
use siglum_domain::redact::Redactor;

use super::Reader;
use crate::qwen::fixture::{
    COMPRESS, FORK, HOOKS, RESUME, SUBAGENT, SUBAGENT_PARENT, TWO_TOOLS, native, read,
};
use crate::qwen::reduce::reduce;
use crate::recorded::{self, TranscriptContent};
use crate::transcript::{Sighting, TranscriptReader as _};

const SESSION: &str = "49ec730b-bad2-4ccc-9bab-d3824455f037";
const AGENT: &str = "general-purpose-call_3d962a2427984ff7af27c24c";

fn reader(session: &str, subagent: Option<&str>) -> Reader {
    let subagent = subagent.map(str::to_owned);
    let mut reader = Reader::new("stream".to_owned(), subagent, native(session));
    reader.set_worktree(PathBuf::from("/repo"));
    reader
}

fn content(text: &str) -> TranscriptContent {
    read(text, &mut reader(SESSION, None))
}

/// Kind and event of all that was seen.
fn events(content: &TranscriptContent) -> Vec<(&'static str, &str)> {
    let seen = content.seen.iter().map(|s| &s.observation);
    seen.map(|o| (o.fact.kind(), o.event.as_str())).collect()
}

fn tokens(content: &TranscriptContent) -> Tokens {
    let of = |fact: &Fact| match fact {
        Fact::Message { tokens, .. } => *tokens,
        _ => None,
    };
    let mut sum = Tokens::default();
    for tokens in content.seen.iter().filter_map(|s| of(&s.observation.fact)) {
        sum += tokens;
    }
    sum
}

#[test]
fn a_session_with_a_commit_that_goes_on() {
    let content = content(RESUME);
    let (write, commit) = (
        "tool:call_6c38b3431a3b455e903b82e6",
        "tool:call_5997949e18e5479aa8e2fa99",
    );
    let id = |n: u32| format!("49ec0001-0000-4000-8000-{n:012x}");
    let (first, second) = (format!("prompt:{}", id(1)), format!("prompt:{}", id(8)));
    let messages: Vec<String> = [5, 7, 9].map(|n| format!("msg:{}", id(n))).to_vec();
    let expected = [
        ("prompt", first.as_str()),
        // By the request, where the agent notes it.
        ("message", "msg:chatcmpl-x"),
        ("tool_started", write),
        ("tool_ended", write),
        ("message", messages[0].as_str()),
        ("tool_started", commit),
        ("tool_ended", commit),
        ("message", messages[1].as_str()),
        ("prompt", second.as_str()),
        ("message", messages[2].as_str()),
    ];
    assert_eq!(events(&content), expected);
    let spent = Tokens {
        input: 1350,
        output: 80,
        cache_read: 100,
        cache_write: 0,
    };
    assert_eq!(tokens(&content), spent);
    let turns: Vec<_> = content
        .seen
        .iter()
        .map(|s| s.observation.turn.clone().expect("a turn"))
        .collect();
    assert_eq!(turns[7], format!("turn?{}", id(1)));
    assert_eq!(turns[9], format!("turn?{}", id(8)));
    let [edit] = content.edits.as_slice() else {
        panic!("one edit: {:?}", content.edits);
    };
    assert_eq!(edit.path, Path::new("/repo/hello.txt"));
    assert_eq!(edit.before, None);
    assert_eq!(edit.after, b"hello from the lab\n");
    let [mention] = content.commits.as_slice() else {
        panic!("one commit: {:?}", content.commits);
    };
    assert_eq!(
        mention.abbreviated,
        "efcfeb91fbc6e648ed8561496282d29048f14b92"
    );
    assert_eq!(mention.event, commit);
    assert!(mention.started.is_some_and(|at| at < mention.ended));
}

/// Only lines that say something are stored, with where they were written.
#[test]
fn lines_know_where_they_were_written() {
    let mut reader = reader(SESSION, None);
    let lines = RESUME.lines().map(|line| {
        let read = reader.line(0, line, Redactor::shared());
        assert_eq!(read.cwd.as_deref(), Some("/repo"));
        assert_eq!(read.git_branch.as_deref(), Some("main"));
        assert_eq!(read.version.as_deref(), Some("0.24.4"));
        read.at.is_some()
    });
    assert_eq!(lines.filter(|stored| *stored).count(), 8);
}

#[test]
fn a_fork_copies_its_origin_and_counts_it_once() {
    let fork = "1f0c0ffe-0000-4000-8000-00000000f04c";
    let mut whole = reader(fork, None);
    let told = read(FORK, &mut whole);
    assert!(whole.is_own());
    let (copied, own): (Vec<_>, Vec<_>) = told.seen.iter().partition(|s| s.copied);
    assert!(copied.iter().all(|s| s.owner.as_str() == SESSION));
    assert!(own.iter().all(|s| s.owner.as_str() == fork));
    assert_eq!(own.len(), 2);
    let origin = content(RESUME);
    let names = |sightings: &[&Sighting]| -> Vec<(String, String)> {
        let seen = sightings.iter().map(|s| &s.observation);
        seen.map(|o| (o.key.clone(), o.event.clone())).collect()
    };
    let of_origin: Vec<_> = origin.seen.iter().collect();
    assert_eq!(names(&copied), names(&of_origin));
    assert!(told.edits.iter().all(|e| e.copied));
    assert!(told.commits.iter().all(|c| c.copied));
    let mut half = reader(fork, None);
    half.line(0, FORK.lines().next().expect("a line"), Redactor::shared());
    assert!(!half.is_own(), "the history may go on");
}

#[test]
fn two_commands_in_one_answer_one_of_which_fails() {
    let content = content(TWO_TOOLS);
    let outcomes: Vec<_> = content
        .seen
        .iter()
        .filter_map(|s| match &s.observation.fact {
            Fact::ToolEnded { outcome, tool, .. } => Some((tool.as_str(), *outcome)),
            _ => None,
        })
        .collect();
    let shell = "run_shell_command";
    assert_eq!(outcomes, [(shell, Outcome::Ok), (shell, Outcome::Failed)]);
}

#[test]
fn a_sub_agent_is_called_after_the_call_that_started_it() {
    let parent = content(SUBAGENT_PARENT);
    let started: Vec<_> = parent
        .seen
        .iter()
        .filter_map(|s| match &s.observation.fact {
            Fact::SubagentStarted { call, .. } => {
                Some((s.observation.subagent.as_deref(), call.as_deref()))
            }
            _ => None,
        })
        .collect();
    let call = AGENT.strip_prefix("general-purpose-");
    assert_eq!(started, [(Some(AGENT), call)]);
    let prompts: Vec<_> = parent
        .seen
        .iter()
        .filter_map(|s| match &s.observation.fact {
            Fact::Prompt { synthetic, .. } => Some(*synthetic),
            _ => None,
        })
        .collect();
    assert_eq!(prompts, [false, true], "its end is told by the agent");

    let inner = read(SUBAGENT, &mut reader("s", Some(AGENT)));
    assert!(
        inner
            .seen
            .iter()
            .all(|s| s.observation.subagent.as_deref() == Some(AGENT))
    );
    let calls = events(&inner);
    assert_eq!(calls.iter().filter(|(k, _)| *k == "prompt").count(), 0);
    assert_eq!(calls.iter().filter(|(k, _)| *k == "tool_ended").count(), 2);
    let spent = Tokens {
        input: 400,
        output: 40,
        ..Tokens::default()
    };
    assert_eq!(tokens(&inner), spent);
}

#[test]
fn a_compressed_conversation_and_a_saved_edit_that_was_cut() {
    let content = content(COMPRESS);
    let paths: Vec<_> = content.edits.iter().map(|e| e.path.clone()).collect();
    assert_eq!(paths, [Path::new("/repo/list.txt")]);
    assert_eq!(content.edits[0].before.as_deref(), Some(b"a\n".as_slice()));
    let compacted = content.seen.iter().find_map(|s| match &s.observation.fact {
        Fact::Compacted { trigger, summary } => Some((trigger.as_str(), summary.clone())),
        _ => None,
    });
    let (trigger, summary) = compacted.expect("it was compacted");
    assert_eq!(trigger, "manual");
    assert!(matches!(summary, Some(Body::Passage { .. })));
    let said = content.seen.iter().filter(|s| {
        let user = Role::User;
        matches!(&s.observation.fact, Fact::Message { role, .. } if *role == user)
    });
    assert_eq!(said.count(), 1, "what is said in between begins no turn");
}

/// What it asks for itself has no message, and what a sub-agent asks stands in its own transcript.
#[test]
fn what_the_agent_asks_for_itself_is_counted() {
    let noted = |request: &str, prompt: &str, agent: &str| {
        format!(
            r#"{{"uuid":"{request}","type":"system","subtype":"ui_telemetry","systemPayload":{{"uiEvent":{{"event.name":"qwen-code.api_response","response_id":"{request}","prompt_id":"{prompt}"{agent},"input_token_count":30,"output_token_count":2,"cached_content_token_count":10,"total_token_count":32}}}}}}"#
        )
    };
    let (started, own) = ("general-purpose-call_1", "managed-auto-memory-extractor-6f");
    let of = |agent: &str| format!(r#","subagent_id":"{agent}""#);
    let message = r#"{"uuid":"u","type":"assistant","message":{"parts":[{"text":"x"}]},"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":2,"cachedContentTokenCount":10,"totalTokenCount":32}}"#;
    let lines = [
        noted("r1", "s########0", ""),
        noted("r2", &format!("s#{started}#0"), &of(started)),
        message.to_owned(),
        noted("r3", &format!("s#{own}#0"), &of(own)),
        noted("r4", "compress-1795804695955", ""),
        message.to_owned(),
    ];
    let content = content(&lines.join("\n"));
    let seen = content.seen.iter().map(|s| &s.observation);
    let seen: Vec<_> = seen
        .map(|o| (o.event.as_str(), o.subagent.as_deref()))
        .collect();
    let expected = [
        ("msg:r1", None),
        ("msg:r3", Some(own)),
        ("msg:r4", None),
        ("msg:u", None),
    ];
    assert_eq!(seen, expected);
    let spent = Tokens {
        input: 80,
        output: 8,
        cache_read: 40,
        cache_write: 0,
    };
    assert_eq!(tokens(&content), spent);
}

/// Some models count their thoughts among what they wrote.
#[test]
fn thoughts_are_counted_once() {
    let line = |total: u64| {
        format!(
            r#"{{"uuid":"m","type":"assistant","message":{{"parts":[]}},"usageMetadata":{{"promptTokenCount":1000,"candidatesTokenCount":20,"thoughtsTokenCount":7,"cachedContentTokenCount":900,"totalTokenCount":{total}}}}}"#
        )
    };
    for (total, output) in [(1020, 20), (1027, 27), (0, 20)] {
        let expected = Tokens {
            input: 100,
            output,
            cache_read: 900,
            cache_write: 0,
        };
        assert_eq!(tokens(&content(&line(total))), expected, "{total}");
    }
}

#[test]
fn hooks_and_transcripts_know_the_same_calls() {
    let mut known = BTreeSet::new();
    for payload in recorded::payloads(HOOKS) {
        let payload = payload.to_string();
        let call = recorded::call(payload.as_bytes(), "/home/dev/.qwen");
        let seen = reduce(&call).expect("a payload").observations;
        known.extend(seen.into_iter().map(|o| o.event));
    }
    for text in [RESUME, SUBAGENT_PARENT, SUBAGENT] {
        let content = content(text);
        for (kind, event) in events(&content) {
            if kind == "tool_started" || kind == "subagent_started" {
                assert!(known.contains(event), "{event}");
            }
        }
    }
}

#[test]
fn lines_that_are_no_json_are_counted_and_skipped() {
    let mut reader = reader(SESSION, None);
    for line in [
        "",
        "not JSON",
        "{\"type\":\"user\"",
        "[1]",
        "{\"type\":\"user\"}",
        "{\"uuid\":\"m\",\"type\":\"user\",\"message\":7}",
        "{\"uuid\":\"m\",\"type\":\"tool_result\",\"message\":{\"parts\":[{\"functionResponse\":{}}]}}",
        "{\"uuid\":\"m\",\"type\":\"system\",\"subtype\":\"custom_title\"}",
    ] {
        let seen = reader.line(0, line, Redactor::shared()).sightings;
        assert_eq!(seen, [], "{line}");
    }
    assert_eq!(reader.skipped(), 3);
}

#[test]
fn secrets_are_removed() {
    let token = concat!("gh", "p_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let lines = format!(
        r#"{{"uuid":"u","type":"user","message":{{"parts":[{{"text":"{token}"}}]}}}}
{{"uuid":"m","type":"assistant","message":{{"parts":[{{"functionCall":{{"id":"a","name":"run_shell_command","args":{{"command":"{token}"}}}}}},{{"functionCall":{{"id":"b","name":"edit","args":{{"file_path":"/repo/{token}","k":"{token}"}}}}}}]}}}}
"#
    );
    let seen = content(&lines).seen;
    assert_eq!(seen.len(), 3);
    assert!(!format!("{seen:?}").contains(token), "{seen:?}");
}

proptest! {
    #[test]
    fn text_never_panics(text in ".{0,300}") {
        reader(SESSION, None).line(0, &text, Redactor::shared());
    }

    #[test]
    fn damaged_transcripts_never_panic(
        cut in 0_usize..14_000,
        at in 0_usize..14_000,
        put in "[\\[\\]{}\",:x0\n]{0,3}",
    ) {
        let mut text = COMPRESS.to_owned() + FORK;
        let at = text.floor_char_boundary(at);
        text.insert_str(at, &put);
        text.truncate(text.floor_char_boundary(cut));
        read(&text, &mut reader(SESSION, None));
    }
}

/// What the fixtures hold is what the recorder writes: each line has a name and follows another one.
#[test]
fn lines_follow_each_other() {
    for text in [RESUME, TWO_TOOLS, COMPRESS, SUBAGENT_PARENT, SUBAGENT] {
        let mut before = Value::Null;
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(line["parentUuid"], before);
            before = line["uuid"].clone();
        }
    }
}
