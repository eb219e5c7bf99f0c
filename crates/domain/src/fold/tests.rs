//! What a log amounts to, in any order.

use super::*;
use crate::observation::{DiskState, Source, StartKind, event};
use crate::redact::Redacted;
use proptest::prelude::*;

fn entry(sequence: u64, at: i64, turn: Option<u128>, event: &str, fact: Fact) -> Entry {
    Entry {
        id: ObservationId::from_uuid(uuid::Uuid::from_u128(u128::from(sequence))),
        sequence,
        turn: turn.map(|t| TurnId::from_uuid(uuid::Uuid::from_u128(t))),
        recorded_at: Timestamp::from_seconds(at),
        observation: Observation {
            source: Source::Hook,
            key: format!("k{sequence}"),
            event: event.to_owned(),
            at: Timestamp::from_seconds(at),
            turn: None,
            subagent: None,
            fact,
        },
    }
}

fn body(text: &str) -> Body {
    Body::Text(Redacted::from_stored(text.to_owned()))
}

fn reply(tokens: u64) -> Fact {
    let tokens = Tokens {
        output: tokens,
        ..Tokens::default()
    };
    Fact::Message {
        role: Role::Assistant,
        text: Body::Passage {
            stream: "s".into(),
            offset: tokens.output,
        },
        model: Some("m".into()),
        tokens: Some(tokens),
        request: None,
    }
}

fn day() -> Vec<Entry> {
    let shell = |input: &str| Fact::ToolStarted {
        tool: "Bash".into(),
        class: ToolClass::Shell,
        input: body(input),
        path: None,
    };
    let ended = Fact::ToolEnded {
        tool: "Bash".into(),
        class: ToolClass::Shell,
        outcome: Outcome::Ok,
        output: None,
        duration_ms: None,
    };
    vec![
        entry(
            1,
            1,
            None,
            "start",
            Fact::SessionStarted {
                how: StartKind::Startup,
                model: None,
            },
        ),
        entry(
            2,
            2,
            Some(1),
            &event::prompt("p"),
            Fact::Prompt {
                text: body("\nDo it\nnow"),
                synthetic: false,
            },
        ),
        entry(3, 3, Some(1), &event::tool("t"), shell("ls")),
        entry(4, 4, Some(1), &event::tool("t"), ended),
        entry(5, 5, Some(1), &event::message("m"), reply(3)),
        entry(6, 6, Some(1), &event::message("m"), reply(9)),
        entry(
            7,
            7,
            Some(1),
            &event::stop("p"),
            Fact::Stopped {
                last_message: Some(body("done")),
                background: vec![],
                failure: None,
            },
        ),
        entry(
            8,
            8,
            None,
            "end",
            Fact::SessionEnded {
                reason: "other".into(),
            },
        ),
    ]
}

#[test]
fn a_day_is_one_turn_with_one_tool_and_tokens_once() {
    let view = session(&day());
    assert_eq!(view.title.as_deref(), Some("Do it"));
    assert_eq!(
        (view.prompted_turns(), view.tool_calls(), view.tokens.output),
        (1, 1, 9)
    );
    assert_eq!(
        view.state,
        SessionState::Ended {
            at: Timestamp::from_seconds(8),
            reason: "other".into()
        }
    );
    assert_eq!(view.turns[1].tools[0].outcome, Some(Outcome::Ok));
}

#[test]
fn a_session_that_goes_on_is_not_ended() {
    let mut log = day();
    log.push(entry(
        9,
        9,
        Some(2),
        &event::prompt("q"),
        Fact::Prompt {
            text: body("more"),
            synthetic: false,
        },
    ));
    assert_eq!(session(&log).state.word(), "working");
}

proptest! {
    #[test]
    fn order_and_repetition_change_nothing(order in Just((0..8usize).collect::<Vec<_>>()).prop_shuffle(), twice in 0..8usize) {
        let log = day();
        let mut shuffled: Vec<_> = order.iter().map(|n| log[*n].clone()).collect();
        shuffled.push(log[twice].clone());
        prop_assert_eq!(session(&shuffled), session(&log));
    }
}

#[test]
fn one_call_may_change_several_files() {
    let seen = |sequence, path: &str, side, bytes| {
        let version = Some(FileVersion {
            blob: Oid::new("01".repeat(20)).expect("an id"),
            object: None,
            bytes,
        });
        let path = path.to_owned();
        let fact = Fact::FileSeen {
            path,
            side,
            version,
            disk: DiskState::default(),
            write: None,
            place: None,
        };
        entry(sequence, 1, Some(1), "tool:1", fact)
    };
    let started = Fact::ToolStarted {
        tool: "apply_patch".into(),
        class: ToolClass::Edit,
        input: body("two"),
        path: None,
    };
    let mut entries = vec![
        entry(1, 1, Some(1), "tool:1", started),
        seen(2, "b", Side::Before, 1),
        seen(3, "a", Side::After, 2),
        seen(4, "b", Side::After, 3),
    ];
    let shown = |entries: &[Entry]| -> Vec<(String, bool, bool)> {
        let view = session(entries);
        let edits = view.turns[0].tools[0].edits.iter();
        edits
            .map(|e| (e.path.clone(), e.before_seen, e.after_seen))
            .collect()
    };
    let expected = [("a".to_owned(), false, true), ("b".to_owned(), true, true)];
    assert_eq!(shown(&entries), expected);
    entries.reverse();
    assert_eq!(shown(&entries), expected);
}

#[test]
fn a_failure_that_one_source_knows_of_is_one() {
    let ended = |sequence, at, outcome| {
        let fact = Fact::ToolEnded {
            tool: "Bash".into(),
            class: ToolClass::Shell,
            outcome,
            output: None,
            duration_ms: None,
        };
        entry(sequence, at, Some(1), "tool:1", fact)
    };
    let outcome = |entries: &[Entry]| session(entries).turns[0].tools[0].outcome;
    for (first, second, expected) in [
        (Outcome::Ok, Outcome::Failed, Outcome::Failed),
        (Outcome::Failed, Outcome::Ok, Outcome::Failed),
        (Outcome::Denied, Outcome::Failed, Outcome::Denied),
    ] {
        let entries = [ended(1, 1, first), ended(2, 2, second)];
        assert_eq!(outcome(&entries), Some(expected));
    }
}

#[test]
fn the_last_words_are_those_of_the_stop_or_else_of_the_last_message() {
    let message = |role, text: &str| Fact::Message {
        role,
        text: body(text),
        model: None,
        tokens: None,
        request: None,
    };
    let stopped = |last: Option<&str>| Fact::Stopped {
        last_message: last.map(body),
        background: Vec::new(),
        failure: None,
    };
    let mut within = entry(
        4,
        4,
        Some(1),
        "message:4",
        message(Role::Assistant, "within"),
    );
    within.observation.subagent = Some("a".into());
    let day = |last| {
        [
            entry(
                1,
                1,
                Some(1),
                "message:1",
                message(Role::Assistant, "first"),
            ),
            entry(
                2,
                2,
                Some(1),
                "message:2",
                message(Role::Assistant, "second"),
            ),
            entry(3, 3, Some(1), "message:3", message(Role::User, "asked")),
            within.clone(),
            entry(5, 5, Some(1), "stop:1", stopped(last)),
        ]
    };
    let last = |entries: &[Entry]| session(entries).turns[0].last_message.clone();
    assert_eq!(last(&day(None)), Some(body("second")));
    assert_eq!(last(&day(Some("bye"))), Some(body("bye")));
}

#[test]
fn a_stop_that_a_transcript_tells_is_none_where_the_agent_went_on() {
    let stop = || Fact::Stopped {
        last_message: None,
        background: Vec::new(),
        failure: None,
    };
    let shell = || Fact::ToolStarted {
        tool: "Bash".into(),
        class: ToolClass::Shell,
        input: body("ls"),
        path: None,
    };
    let told = |mut entry: Entry| {
        entry.observation.source = Source::Transcript;
        entry
    };
    let asked = entry(
        1,
        1,
        Some(1),
        &event::prompt("p"),
        Fact::Prompt {
            text: body("Do it"),
            synthetic: false,
        },
    );
    let said = told(entry(2, 2, Some(1), &event::message("m"), reply(1)));
    let by_transcript = told(entry(3, 2, Some(1), &event::stop("p"), stop()));
    let by_hook = entry(4, 3, Some(1), &event::stop("p"), stop());
    let more = told(entry(5, 4, Some(1), &event::tool("t"), shell()));
    let mut inner = told(entry(6, 5, Some(1), &event::tool("u"), shell()));
    inner.observation.subagent = Some("a".to_owned());
    let check = |entries: &[&Entry], stopped: Option<i64>| {
        let entries: Vec<Entry> = entries.iter().map(|e| (*e).clone()).collect();
        let view = session(&entries);
        assert_eq!(
            view.turns[0].stopped,
            stopped.map(Timestamp::from_seconds),
            "{entries:?}"
        );
        view.state.word()
    };
    assert_eq!(check(&[&asked, &said], None), "working");
    assert_eq!(check(&[&asked, &said, &by_transcript], Some(2)), "waiting");
    let both = [&asked, &said, &by_transcript, &by_hook];
    assert_eq!(check(&both, Some(3)), "waiting");
    let on = [&asked, &said, &by_transcript, &more];
    assert_eq!(check(&on, None), "working");
    // What a sub-agent does is no work of the turn's own.
    check(&[&asked, &by_transcript, &inner], Some(2));
    check(&[&asked, &by_hook, &more], Some(3));
}

/// Telemetry knows that there was a prompt, a hook what it said.
#[test]
fn a_prompt_without_text_hides_none() {
    let prompt = |text: &str| Fact::Prompt {
        text: body(text),
        synthetic: false,
    };
    for texts in [["", "Do it."], ["Do it.", ""]] {
        let log: Vec<Entry> = (1..)
            .zip(texts)
            .map(|(n, text)| entry(n, 1, Some(1), "prompt:p", prompt(text)))
            .collect();
        assert_eq!(session(&log).title.as_deref(), Some("Do it."));
    }
}
