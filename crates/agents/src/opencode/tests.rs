use siglum_domain::NativeId;
use siglum_domain::observation::{Fact, Observation, Outcome, StartKind, Tokens, event};

use super::spec::{PLUGIN, SPEC};
use crate::hook::{Boundary, Reduced, WriteHint};
use crate::install::{InstallState, SettingsFile};
use crate::recorded::call;

const WRITE_COMMIT: &str = include_str!("fixtures/1.18.33/write_commit.jsonl");
const EDIT: &str = include_str!("fixtures/1.18.33/edit.jsonl");
const SUBAGENT: &str = include_str!("fixtures/1.18.33/subagent.jsonl");
const AUTOCOMPACT: &str = include_str!("fixtures/1.18.33/autocompact.jsonl");
const TWO_TOOLS: &str = include_str!("fixtures/1.18.33/two_tools.jsonl");
const DETACHED: &str = include_str!("fixtures/1.18.33/detached.jsonl");

fn reduced(recording: &str) -> Vec<Reduced> {
    let reduce = |line: &str| {
        let call = call(line.as_bytes(), "/home/dev/.config/opencode");
        (SPEC.reduce)(&call).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    recording.lines().map(reduce).collect()
}

fn observations(recording: &str) -> Vec<Observation> {
    reduced(recording)
        .into_iter()
        .flat_map(|r| r.observations)
        .collect()
}

/// The sessions of a recording, in the order in which they began.
fn sessions(recording: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for one in reduced(recording) {
        if !all.iter().any(|known| known == one.native.as_str()) {
            all.push(one.native.as_str().to_owned());
        }
    }
    all
}

fn tokens(recording: &str) -> Tokens {
    let mut sum = Tokens::default();
    for observation in observations(recording) {
        if let Fact::Message {
            tokens: Some(tokens),
            ..
        } = observation.fact
        {
            sum += tokens;
        }
    }
    sum
}

fn outcomes(recording: &str) -> Vec<Outcome> {
    let ended = observations(recording).into_iter();
    let outcome = |o: Observation| match o.fact {
        Fact::ToolEnded { outcome, .. } => Some(outcome),
        _ => None,
    };
    ended.filter_map(outcome).collect()
}

fn starts(recording: &str) -> Vec<StartKind> {
    let started = observations(recording).into_iter();
    let how = |o: Observation| match o.fact {
        Fact::SessionStarted { how, .. } => Some(how),
        _ => None,
    };
    started.filter_map(how).collect()
}

#[test]
fn a_session_goes_on_under_its_id() {
    assert_eq!(sessions(WRITE_COMMIT).len(), 1);
    assert_eq!(
        starts(WRITE_COMMIT),
        [StartKind::Startup, StartKind::Resume]
    );
    let boundaries: Vec<Boundary> = reduced(WRITE_COMMIT)
        .iter()
        .map(|r| r.boundary)
        .filter(|b| *b != Boundary::Within)
        .collect();
    let one = [
        Boundary::SessionStart,
        Boundary::TurnStart,
        Boundary::TurnEnd,
        Boundary::SessionEnd,
    ];
    assert_eq!(boundaries, [one, one].concat());
    let sum = tokens(WRITE_COMMIT);
    assert_eq!((sum.input, sum.output, sum.cache_read), (1200, 80, 48));
    for one in reduced(WRITE_COMMIT) {
        assert_eq!(one.cwd.as_deref(), Some("/repo"));
    }
}

/// A call that fails has no callback of its own.
#[test]
fn edits_are_captured_with_what_they_wrote_and_failures_are_told() {
    let [ok, failed] = [Outcome::Ok, Outcome::Failed];
    assert_eq!(outcomes(EDIT), [ok, ok, ok, failed, ok]);
    let writes: Vec<Option<WriteHint>> = reduced(EDIT)
        .into_iter()
        .flat_map(|r| r.edits)
        .map(|e| e.write)
        .collect();
    assert_eq!(writes.len(), 8, "{writes:?}");
    let whole = WriteHint::Whole {
        base: None,
        written: b"alpha\nbeta\ngamma\ndelta\n".to_vec(),
    };
    assert_eq!(writes[1], Some(whole), "the file was new");
    let added = WriteHint::Added(b"beta, changed\n".to_vec());
    assert_eq!(writes[3], Some(added));
    assert_eq!(writes[7], None, "nothing was written");
}

#[test]
fn a_command_that_fails_is_a_call_that_failed() {
    assert_eq!(outcomes(TWO_TOOLS), [Outcome::Failed, Outcome::Ok]);
}

/// Sub-agents are sessions of their own there; forks copy messages and calls of the other session.
#[test]
fn a_sub_agent_belongs_to_its_session_and_a_fork_repeats_nothing() {
    assert_eq!(sessions(SUBAGENT).len(), 2, "the session and its fork");
    assert_eq!(starts(SUBAGENT), [StartKind::Startup, StartKind::Fork]);
    let all = observations(SUBAGENT);
    let mut inner: Vec<&str> = all.iter().filter_map(|o| o.subagent.as_deref()).collect();
    inner.dedup();
    let child = inner[0];
    assert!(inner.iter().all(|id| *id == child));
    let call = all.iter().find_map(|o| match &o.fact {
        Fact::SubagentStarted { call, .. } => call.clone(),
        _ => None,
    });
    let task = call.expect("the call that started it");
    let is_call = |o: &&Observation| o.event == event::tool(&task);
    assert_eq!(all.iter().filter(is_call).count(), 2);
    let stopped = |o: &&Observation| matches!(o.fact, Fact::SubagentStopped { .. });
    assert_eq!(all.iter().filter(stopped).count(), 1);
    let sum = tokens(SUBAGENT);
    assert_eq!((sum.input, sum.output), (1500, 120), "six answers");
}

#[test]
fn what_comes_after_a_compaction_is_of_the_same_turn() {
    let all = observations(AUTOCOMPACT);
    let compacted = |o: &&Observation| matches!(o.fact, Fact::Compacted { .. });
    assert_eq!(all.iter().filter(compacted).count(), 1);
    let mut turns: Vec<&str> = all.iter().filter_map(|o| o.turn.as_deref()).collect();
    turns.dedup();
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert_eq!(tokens(AUTOCOMPACT).output, 90, "the summary counts, too");
}

#[test]
fn detached_work_ends_with_its_session_by_name() {
    assert_eq!(sessions(DETACHED).len(), 1);
    assert_eq!(SPEC.session_variable, Some("SIGLUM_OPENCODE_SESSION_ID"));
    assert!(PLUGIN.text.contains("SIGLUM_OPENCODE_SESSION_ID"));
}

#[test]
fn the_plug_in_names_the_program_once() {
    let file = SettingsFile {
        path: (SPEC.settings)("/home/dev/.config/opencode".as_ref()).remove(0),
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
}

#[test]
fn a_session_is_resumed_by_its_id() {
    let native = NativeId::new("ses_e052c4f4dffe").expect("a native id");
    assert_eq!(
        SPEC.resume_line(&native).as_deref(),
        Some("opencode --session ses_e052c4f4dffe")
    );
}
