//! The log: what goes in, comes out, in order, once.

use siglum_domain::fold::Entry;
use siglum_domain::observation::{Body, Fact, Observation, Outcome as Ending, Source, ToolClass};
use siglum_ledger::{Appended, LedgerError, Sighted};

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("sequences are dense and belong to their session", dense),
    Check::new("the same observation twice is one row", once),
    Check::new(
        "the key of an observation counts with session and source",
        keys,
    ),
    Check::new(
        "entries come in order, after a place, at most so many",
        pages,
    ),
    Check::new("an entry comes back whole", whole),
    Check::new("payloads of every size survive", sizes),
    Check::new("an entry is found by its source and key", by_key),
    Check::new(
        "the entries of a turn come in order, up to a place",
        of_turn,
    ),
    Check::new(
        "the entries of a kind come in order, up to a place",
        of_kind,
    ),
    Check::new("the last entry of a kind is found up to a place", by_kind),
    Check::new("a sighting is found by its source and key", sighted),
    Check::new(
        "an observation of a session that does not exist is refused",
        orphan,
    ),
];

fn dense(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let mut found = Vec::new();
    for (n, session) in [(1, 1), (2, 1), (3, 2), (4, 1), (5, 2)] {
        let key = format!("k{n}");
        found.push(desk.write(|tx| append(tx, session_id(session), n, None, &prompt(&key, "x")))?);
    }
    same!(
        found,
        [1, 2, 1, 3, 2].map(Appended::New),
        "places in the logs"
    );
    let heads = desk
        .read(|tx| Ok([1, 2, 3].map(|n| tx.session(session_id(n)).map(|s| s.map(|s| s.head)))))?;
    for (found, wanted) in heads.into_iter().zip([3, 2, 0]) {
        same!(found?, Some(wanted), "the head of a log");
    }
    let entries = desk.read(|tx| tx.entries(session_id(1), 0, 0))?;
    let rows: Vec<_> = entries
        .iter()
        .map(|e| (e.sequence, e.observation.key.as_str()))
        .collect();
    same!(rows, [(1, "k1"), (2, "k2"), (3, "k4")], "the log");
    Ok(())
}

fn once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let add = |desk: &mut Desk, n: u128, text: &str| {
        desk.write(|tx| append(tx, session_id(1), n, None, &prompt("same", text)))
    };
    same!(
        add(&mut desk, 1, "first")?,
        Appended::New(1),
        "the first time"
    );
    same!(
        add(&mut desk, 2, "first")?,
        Appended::Known,
        "the second time"
    );
    same!(
        add(&mut desk, 3, "other")?,
        Appended::Known,
        "with other words"
    );
    let twice = desk.write(|tx| {
        append(tx, session_id(1), 4, None, &prompt("next", "x"))?;
        append(tx, session_id(1), 5, None, &prompt("next", "x"))
    })?;
    same!(twice, Appended::Known, "twice in one transaction");
    let entries = desk.read(|tx| tx.entries(session_id(1), 0, 0))?;
    let rows: Vec<_> = entries.iter().map(|e| (e.sequence, e.id)).collect();
    same!(rows, [(1, entry_id(1)), (2, entry_id(4))], "the log");
    let Fact::Prompt { text: first, .. } = &entries[0].observation.fact else {
        return Err(super::check::Wrong("the fact changed its kind".to_owned()));
    };
    same!(first.text(), Some("first"), "what was said first");
    Ok(())
}

fn keys(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let sources = [
        Source::Hook,
        Source::Transcript,
        Source::Telemetry,
        Source::Api,
        Source::Siglum,
    ];
    desk.write(|tx| {
        for (n, source) in (1..).zip(sources) {
            let seen = Observation {
                source,
                ..prompt("same", "x")
            };
            append(tx, session_id(1), n, None, &seen)?;
        }
        append(tx, session_id(2), 9, None, &prompt("same", "x"))
    })?;
    let (first, second) = desk.read(|tx| {
        Ok((
            tx.entries(session_id(1), 0, 0)?,
            tx.entries(session_id(2), 0, 0)?,
        ))
    })?;
    let found: Vec<_> = first.iter().map(|e| e.observation.source).collect();
    same!(found, sources, "sources of the same key");
    same!(second.len(), 1, "entries of the other session");
    Ok(())
}

fn pages(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in 1..=12 {
            // Times run backwards: only the place in the log orders it.
            let mut seen = prompt(&format!("k{n}"), "x");
            seen.at = at(100 - i64::try_from(n).unwrap_or(0));
            append(tx, session_id(1), n, None, &seen)?;
        }
        Ok(())
    })?;
    for (after, limit, wanted) in [
        (0, 0, 1..13),
        (0, 3, 1..4),
        (3, 3, 4..7),
        (10, 3, 11..13),
        (11, 0, 12..13),
        (12, 0, 13..13),
        (99, 1, 13..13),
    ] {
        let found = desk.read(|tx| tx.entries(session_id(1), after, limit))?;
        let found: Vec<u64> = found.iter().map(|e| e.sequence).collect();
        let wanted: Vec<u64> = wanted.collect();
        same!(
            found,
            wanted,
            format!("entries after {after}, at most {limit}")
        );
    }
    Ok(())
}

fn whole(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let seen = Observation {
        source: Source::Transcript,
        key: "key:\"ü\"\n".to_owned(),
        event: "tool:t".to_owned(),
        at: at(-5),
        turn: None,
        subagent: None,
        fact: Fact::ToolEnded {
            tool: "Bash".to_owned(),
            class: ToolClass::Shell,
            outcome: Ending::Denied,
            output: Some(Body::Passage {
                stream: "s".to_owned(),
                offset: 1 << 40,
            }),
            duration_ms: Some(0),
        },
    };
    desk.write(|tx| {
        append(tx, session_id(1), 1, Some(turn_id(3)), &seen)?;
        append(tx, session_id(1), 2, None, &prompt("p", "x"))
    })?;
    let found = desk.read(|tx| tx.entries(session_id(1), 0, 0))?;
    let entry = |n: u64, turn, observation| Entry {
        id: entry_id(u128::from(n)),
        sequence: n,
        turn,
        recorded_at: at(2),
        observation,
    };
    let wanted = [
        entry(1, Some(turn_id(3)), seen),
        entry(2, None, prompt("p", "x")),
    ];
    same!(found, wanted, "the log");
    Ok(())
}

fn sizes(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let texts: Vec<String> = [0, 1, 900, 1000, 1024, 1025, 5000, 40_000]
        .into_iter()
        .map(|size| "aö\u{0}\n\"".chars().cycle().take(size).collect())
        .collect();
    for (n, text) in (1..).zip(&texts) {
        let key = format!("k{n}");
        desk.write(|tx| append(tx, session_id(1), n, None, &prompt(&key, text)))?;
    }
    let found = desk.read(|tx| tx.entries(session_id(1), 0, 0))?;
    same!(found.len(), texts.len(), "the number of entries");
    for (entry, text) in found.iter().zip(&texts) {
        let same = entry.observation.fact == prompt("", text).fact;
        holds!(
            same,
            format!("a text of {} bytes came back changed", text.len())
        );
    }
    Ok(())
}

fn by_key(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        append(tx, session_id(1), 1, None, &prompt("a", "one"))?;
        append(tx, session_id(1), 2, None, &prompt("b", "two"))?;
        append(tx, session_id(2), 3, None, &prompt("b", "other"))
    })?;
    let (found, by_source, by_name, by_session) = desk.read(|tx| {
        Ok((
            tx.entry(session_id(1), Source::Hook, "b")?,
            tx.entry(session_id(1), Source::Transcript, "b")?,
            tx.entry(session_id(1), Source::Hook, "c")?,
            tx.entry(session_id(3), Source::Hook, "b")?,
        ))
    })?;
    let found = found.map(|e| (e.id, e.sequence, e.observation));
    same!(
        found,
        Some((entry_id(2), 2, prompt("b", "two"))),
        "the entry"
    );
    same!(
        (by_source, by_name, by_session),
        (None, None, None),
        "entries that are not there"
    );
    Ok(())
}

fn by_kind(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let own = |key: &str| Observation {
        subagent: None,
        ..prompt(key, "x")
    };
    let other = |key: &str| Observation {
        fact: Fact::Other {
            name: "x".to_owned(),
        },
        ..own(key)
    };
    let all = [own("a"), other("b"), own("c"), prompt("helper", "x")];
    desk.write(|tx| {
        for (n, seen) in (1..).zip(&all) {
            append(tx, session_id(1), n, None, seen)?;
        }
        append(tx, session_id(2), 9, None, &own("other"))
    })?;
    for (session, kind, until, wanted) in [
        (1, "prompt", 99, Some(3)),
        (1, "prompt", 3, Some(3)),
        (1, "prompt", 2, Some(1)),
        (1, "prompt", 0, None),
        (1, "other", 99, Some(2)),
        (1, "other", 1, None),
        (2, "prompt", 99, Some(1)),
        (3, "prompt", 99, None),
    ] {
        let found = desk.read(|tx| tx.last_of_kind(session_id(session), kind, until))?;
        same!(
            found,
            wanted,
            format!("the last {kind} of session {session} up to {until}")
        );
    }
    desk.write(|tx| tx.forget_session(session_id(1), at(6)))?;
    let found = desk.read(|tx| tx.last_of_kind(session_id(1), "prompt", 99))?;
    same!(
        found,
        None,
        "the last prompt of a session that was forgotten"
    );
    Ok(())
}

fn sighted(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let seen = |key: &str| Observation {
        event: format!("event {key}"),
        ..prompt(key, "x")
    };
    desk.write(|tx| {
        append(tx, session_id(1), 1, None, &seen("a"))?;
        append(tx, session_id(1), 2, None, &seen("b"))?;
        append(tx, session_id(2), 3, None, &seen("b"))
    })?;
    let (found, by_source, by_name, by_session) = desk.read(|tx| {
        Ok((
            tx.sighted(session_id(1), Source::Hook, "b")?,
            tx.sighted(session_id(1), Source::Transcript, "b")?,
            tx.sighted(session_id(1), Source::Hook, "c")?,
            tx.sighted(session_id(3), Source::Hook, "b")?,
        ))
    })?;
    let expected = Sighted {
        event: "event b".to_owned(),
        at: prompt("b", "x").at,
    };
    same!(found, Some(expected), "the sighting");
    same!(
        (by_source, by_name, by_session),
        (None, None, None),
        "sightings that are not there"
    );
    Ok(())
}

fn orphan(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let nobody = session_id(99);
    let mut refused = Vec::new();
    let mut keep = |done: Result<(), LedgerError>| {
        refused.push(matches!(&done, Err(LedgerError::NoSession(id)) if *id == nobody));
        done
    };
    let entry = desk.write(|tx| keep(append(tx, nobody, 1, None, &prompt("p", "x")).map(drop)));
    let turn = desk.write(|tx| {
        keep(
            tx.append_rows(nobody, turn_id(1), &[row(1, "p", "x")])
                .map(drop),
        )
    });
    holds!(entry.is_err() && turn.is_err(), "an entry has no session");
    same!(
        refused,
        [true, true],
        "whether the session is told that is not there"
    );
    Ok(())
}

fn of_turn(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for (n, turn) in [
            (1, None),
            (2, Some(1)),
            (3, Some(2)),
            (4, Some(1)),
            (5, Some(1)),
        ] {
            let observation = prompt(&format!("k{n}"), "x");
            append(tx, session_id(1), n, turn.map(turn_id), &observation)?;
        }
        append(tx, session_id(2), 9, Some(turn_id(1)), &prompt("k", "x"))
    })?;
    let mut later = Desk::open(shelf)?;
    for (until, wanted) in [(0, &[][..]), (2, &[2]), (4, &[2, 4]), (99, &[2, 4, 5])] {
        let found = later.read(|tx| tx.entries_of_turn(session_id(1), turn_id(1), until))?;
        let found: Vec<u64> = found.iter().map(|e| e.sequence).collect();
        same!(found, wanted, format!("the entries up to {until}"));
    }
    Ok(())
}

fn of_kind(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in 1..=5 {
            let mut observation = prompt(&format!("k{n}"), "x");
            if n % 2 == 0 {
                observation.fact = Fact::SessionEnded {
                    reason: "x".to_owned(),
                };
            }
            append(tx, session_id(1), n, None, &observation)?;
        }
        append(tx, session_id(2), 9, None, &prompt("k", "x"))
    })?;
    let mut later = Desk::open(shelf)?;
    for (until, wanted) in [(0, &[][..]), (3, &[1, 3]), (4, &[1, 3]), (99, &[1, 3, 5])] {
        let found = later.read(|tx| tx.entries_of_kind(session_id(1), "prompt", until))?;
        let found: Vec<u64> = found.iter().map(|e| e.sequence).collect();
        same!(found, wanted, format!("the entries up to {until}"));
    }
    Ok(())
}
