use std::fs;
use std::path::Path;

use siglum_domain::NativeId;
use siglum_domain::observation::{Body, Fact, Outcome, Role, StartKind, Tokens, event};
use siglum_domain::redact::Redactor;

use super::spec::SPEC;
use super::{discover, passage};
use crate::hook::{Boundary, Reduced, WriteHint};
use crate::install::{InstallState, SettingsFile};
use crate::recorded::{self, TranscriptContent, call, native};

const WRITE_COMMIT: &str = include_str!("fixtures/0.87.1/write_commit.jsonl");
const FORK: &str = include_str!("fixtures/0.87.1/fork.jsonl");
const EDIT: &str = include_str!("fixtures/0.87.1/edit.jsonl");
const TWO_TOOLS: &str = include_str!("fixtures/0.87.1/two_tools.jsonl");
const WRITE_COMMIT_HOOKS: &str = include_str!("fixtures/0.87.1/write_commit.hooks.jsonl");
const EDIT_HOOKS: &str = include_str!("fixtures/0.87.1/edit.hooks.jsonl");
const DETACHED_HOOKS: &str = include_str!("fixtures/0.87.1/detached.hooks.jsonl");

const AGENT_DIR: &str = "/home/dev/.pi/agent";
const PARENT: &str = "01a21e3c-68a6-7552-8a59-c74111c02463";
const CHILD: &str = "01a21e3c-792b-743b-8712-8cd833bb4107";

fn reduced(hooks: &str) -> Vec<Reduced> {
    let reduce = |line: &str| {
        let call = call(line.as_bytes(), AGENT_DIR);
        (SPEC.reduce)(&call).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    hooks.lines().map(reduce).collect()
}

fn starts(hooks: &str) -> Vec<StartKind> {
    let observations = reduced(hooks).into_iter().flat_map(|r| r.observations);
    let how = |fact: Fact| match fact {
        Fact::SessionStarted { how, .. } => Some(how),
        _ => None,
    };
    observations.filter_map(|o| how(o.fact)).collect()
}

/// All that a session file of this name tells.
fn read(text: &str, name: &str, session: &str) -> TranscriptContent {
    let mut reader = (SPEC.transcript)(name.to_owned(), None, native(session));
    reader.set_worktree("/repo".into());
    recorded::read(text, reader.as_mut())
}

fn own(text: &str) -> TranscriptContent {
    read(text, &format!("2026-11-27T18-20-05-159Z_{PARENT}"), PARENT)
}

fn tokens(content: &TranscriptContent) -> Tokens {
    let mut sum = Tokens::default();
    for sighting in &content.seen {
        if let Fact::Message {
            tokens: Some(tokens),
            ..
        } = &sighting.observation.fact
        {
            sum += *tokens;
        }
    }
    sum
}

fn kinds(content: &TranscriptContent) -> Vec<&'static str> {
    let facts = content.seen.iter().map(|s| s.observation.fact.kind());
    facts.collect()
}

#[test]
fn the_extension_tells_sessions_turns_and_where_the_session_file_is() {
    assert_eq!(
        starts(WRITE_COMMIT_HOOKS),
        [StartKind::Startup, StartKind::Resume, StartKind::Fork]
    );
    let all = reduced(WRITE_COMMIT_HOOKS);
    for one in &all {
        let file = one.transcript.as_deref().expect("a session file");
        assert!(file.starts_with(AGENT_DIR), "{file:?}");
        assert_eq!(one.cwd.as_deref(), Some("/repo"));
        assert_eq!(one.declines, vec![]);
    }
    let parents: Vec<&str> = all
        .iter()
        .filter_map(|r| r.parent.as_ref().map(NativeId::as_str))
        .collect();
    assert_eq!(parents, [PARENT]);
    let turns = all.iter().filter(|r| r.boundary == Boundary::TurnEnd);
    assert_eq!(turns.count(), 3);
}

#[test]
fn a_session_file_elsewhere_is_not_read() {
    let line = WRITE_COMMIT_HOOKS.lines().next().expect("a line");
    let line = line.replace(AGENT_DIR, "/etc");
    let [one] = &reduced(&line)[..] else {
        panic!("one line");
    };
    assert_eq!(one.transcript, None);
    assert_eq!(one.declines[0].reason, "transcript_outside");
}

#[test]
fn a_session_file_whose_path_has_a_secret_is_not_read_and_no_directory_is_told_with_one() {
    let secret = format!("ghp_{}", "9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5uRaXk");
    let line = WRITE_COMMIT_HOOKS.lines().next().expect("a line");
    let line = line.replace("/repo\"", &format!("/repo/{secret}\""));
    let line = line.replace("--repo--", &format!("--repo-{secret}--"));
    let [one] = &reduced(&line)[..] else {
        panic!("one line");
    };
    assert!(one.transcript.is_some(), "{line}");
    let one = one
        .clone()
        .without_secrets(Redactor::shared())
        .expect("its id has none");
    assert_eq!(one.transcript, None);
    assert_eq!(one.declines[0].reason, "transcript_path");
    assert!(!format!("{one:?}").contains(&secret), "{one:?}");
}

#[test]
fn edits_are_captured_with_what_they_wrote() {
    let edits: Vec<_> = reduced(EDIT_HOOKS)
        .into_iter()
        .flat_map(|r| r.edits)
        .collect();
    assert_eq!(edits.len(), 8, "{edits:?}");
    let added = |text: &str| Some(WriteHint::Added(text.as_bytes().to_vec()));
    assert_eq!(edits[1].write, added("alpha\nbeta\ngamma\ndelta\n"));
    assert_eq!(edits[3].write, added("beta, changed\n"));
    assert_eq!(edits[7].write, None, "it failed");
    assert_eq!(edits[0].path.to_str(), Some("src/list.txt"));
}

#[test]
fn detached_work_ends_with_its_session_by_name() {
    assert_eq!(reduced(DETACHED_HOOKS).len(), 6);
    assert_eq!(SPEC.session_variable, Some("PI_SESSION_ID"));
}

#[test]
fn a_session_file_has_prompts_answers_calls_and_tokens() {
    let content = own(WRITE_COMMIT);
    assert_eq!(
        kinds(&content),
        [
            "prompt",
            "message",
            "tool_started",
            "tool_ended",
            "message",
            "tool_started",
            "tool_ended",
            "message",
            "prompt",
            "message"
        ]
    );
    let sum = tokens(&content);
    assert_eq!((sum.input, sum.output, sum.cache_read), (1200, 80, 48));
    let first = &content.seen[0].observation;
    let id = first.event.strip_prefix("prompt:").expect("a prompt");
    assert_eq!(first.turn, Some(event::unnamed_turn(Some(id))));
    let Fact::ToolStarted { path, .. } = &content.seen[2].observation.fact else {
        panic!("{:?}", content.seen[2]);
    };
    assert_eq!(path.as_deref(), Some("hello.txt"));
    let [commit] = &content.commits[..] else {
        panic!("{:?}", content.commits);
    };
    assert_eq!(commit.abbreviated.len(), 40);
    assert_eq!(commit.event, content.seen[6].observation.event);
}

/// The lines of the other session are in the file of its fork, under the same ids and times.
#[test]
fn a_fork_has_what_happened_in_it_alone() {
    let name = format!("2026-11-27T18-20-09-389Z_{CHILD}");
    let content = read(FORK, &name, CHILD);
    assert_eq!(kinds(&content), ["prompt", "message"]);
    assert_eq!(tokens(&content).output, 20);
    let mut reader = (SPEC.transcript)(name, None, native(CHILD));
    let head = FORK.lines().next().expect("a head");
    let redactor = siglum_domain::redact::Redactor::shared();
    let forked = reader.line(0, head, redactor).forked_from;
    assert_eq!(forked, Some(native(PARENT)));
}

#[test]
fn failures_are_told_in_the_session_file() {
    let outcomes = |text: &str| -> Vec<Outcome> {
        let seen = own(text).seen.into_iter();
        let outcome = |fact: Fact| match fact {
            Fact::ToolEnded { outcome, .. } => Some(outcome),
            _ => None,
        };
        seen.filter_map(|s| outcome(s.observation.fact)).collect()
    };
    let [ok, failed] = [Outcome::Ok, Outcome::Failed];
    assert_eq!(outcomes(EDIT), [ok, ok, ok, failed, ok]);
    assert_eq!(outcomes(TWO_TOOLS), [ok, failed]);
}

/// As the documentation of the format has it; the lab's sessions are too short to be compacted.
#[test]
fn a_compaction_is_told_with_what_it_cost() {
    let line = r#"{"type":"compaction","id":"f6a7b8c9","parentId":"e5","timestamp":"2026-12-03T14:10:00.000Z","summary":"What was done.","firstKeptEntryId":"c3","tokensBefore":50000,"usage":{"input":900,"output":30,"cacheRead":0,"cacheWrite":0}}"#;
    let content = own(line);
    assert_eq!(kinds(&content), ["compacted", "message"]);
    assert_eq!(tokens(&content).input, 900);
    assert_eq!(
        passage::passage_text(line).as_deref(),
        Some("What was done.")
    );
    let Fact::Message { role, text, .. } = &content.seen[1].observation.fact else {
        panic!("{:?}", content.seen[1]);
    };
    assert_eq!((*role, text.text()), (Role::Assistant, Some("")));
}

/// OpenAI's Responses API has calls with a second id, of hundreds of characters.
#[test]
fn a_call_has_the_id_that_the_extension_tells() {
    let id = format!("call_1|fc_{}", "a/b+".repeat(100));
    let line = r#"{"type":"message","id":"a1","timestamp":"2026-12-03T14:10:00.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"ID","name":"bash","arguments":{"command":"ls"}}]}}"#;
    let content = own(&line.replace("ID", &id));
    assert_eq!(kinds(&content), ["tool_started"]);
    assert_eq!(content.seen[0].observation.event, event::tool("call_1"));
}

#[test]
fn what_lines_say_is_readable() {
    let texts: Vec<String> = WRITE_COMMIT
        .lines()
        .filter_map(passage::passage_text)
        .collect();
    assert!(texts[0].starts_with("Please do the work."), "{texts:?}");
    assert_eq!(texts[1], "I will write the file first.");
    assert_eq!(texts[2], "Successfully wrote to /repo/hello.txt");
    for sighting in own(WRITE_COMMIT).seen {
        if let Fact::ToolEnded { output, .. } = sighting.observation.fact {
            assert!(matches!(output, Some(Body::Passage { .. })));
        }
    }
}

#[test]
fn session_files_are_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let project = discover::project(dir.path(), "/home/dev/my:repo");
    assert!(project.ends_with("sessions/--home-dev-my-repo--"));
    fs::create_dir_all(&project).expect("directories");
    for name in [
        "2026-11-27T18-20-05-159Z_any.id_you-like.jsonl",
        "notes.txt",
        "unnamed.jsonl",
    ] {
        fs::write(project.join(name), WRITE_COMMIT).expect("a file");
    }
    let [file] = &discover::discover(dir.path())[..] else {
        panic!("one session");
    };
    assert_eq!(file.session.as_str(), "any.id_you-like");
    assert_eq!(file.stream, "2026-11-27T18-20-05-159Z_any.id_you-like");
    let begun = discover::begun(&file.stream).expect("a time");
    assert_eq!(begun.to_string(), "2026-11-27T18:20:05.159Z");
    assert_eq!(discover::begun("stream"), None);
    let cwd = discover::first_cwd(WRITE_COMMIT.as_bytes());
    assert_eq!(cwd.as_deref(), Some("/repo"));
    assert_eq!(discover::first_cwd(b"{\"cwd\":\"/x\"}\n"), None);
}

#[test]
fn the_extension_is_installed_with_the_program_that_it_calls() {
    let file = SettingsFile {
        path: (SPEC.settings)(Path::new(AGENT_DIR)).remove(0),
        text: None,
    };
    let texts = (SPEC.plan_install)(std::slice::from_ref(&file), "/opt/siglum").expect("a plan");
    let text = texts[0].clone().expect("a text");
    assert_eq!(text.matches("\"/opt/siglum\"").count(), 1);
    let installed = SettingsFile {
        text: Some(text),
        ..file
    };
    let state = (SPEC.inspect)(&[installed], "/opt/siglum");
    assert_eq!(state, Ok(InstallState::Current));
    assert_eq!(
        SPEC.resume_line(&native(PARENT)),
        Some(format!("pi --session {PARENT}"))
    );
}
