//! Every row with an outcome of its own, and leases that nobody has any more.

use siglum_domain::receipt::{payload_digest, seal};
use siglum_ledger::{
    EditDetail, EditRecord, LedgerError, Mode, Segment, SessionRecord, SessionState, Transaction,
    TranscriptRecord, Verified,
};

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("sessions are gone through by id", sessions),
    Check::new("entries are given as they are stored", entries),
    Check::new("receipts and transcripts are gone through in order", chains),
    Check::new(
        "the file versions that edits name are gone through",
        objects,
    ),
    Check::new(
        "a sound store has no strays and no row that went bad",
        strays,
    ),
    Check::new("how far sessions were verified is known", verified),
    Check::new("all leases are taken from whoever has them", fenced),
];

fn sessions(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let mut other = Desk::open(shelf)?;
    for (after, limit, wanted) in [
        (None, 9, vec![1, 2, 3]),
        (None, 2, vec![1, 2]),
        (Some(session_id(1)), 1, vec![2]),
        (Some(session_id(3)), 9, vec![]),
    ] {
        let found = other.read(|tx| tx.stored_sessions(after, limit))?;
        let ids: Vec<_> = found.iter().map(|s| s.id).collect();
        let wanted: Vec<_> = wanted.into_iter().map(session_id).collect();
        same!(ids, wanted, format!("{limit} sessions behind {after:?}"));
        for stored in found {
            let one = other.read(|tx| tx.stored_session(stored.id))?;
            same!(one.as_ref(), Some(&stored), "one session");
            let record = other.read(|tx| tx.session(stored.id))?;
            same!(stored.record.ok(), record, "the record of a session");
        }
    }
    Ok(())
}

fn entries(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in 1..=3 {
            let text = "x".repeat(if n == 2 { 5000 } else { 1 });
            append(tx, session_id(1), n, None, &prompt(&format!("k{n}"), &text))?;
        }
        append(tx, session_id(2), 9, None, &prompt("other", "x")).map(drop)
    })?;
    let mut other = Desk::open(shelf)?;
    for (after, limit, wanted) in [(0, 9, vec![1, 2, 3]), (0, 2, vec![1, 2]), (2, 9, vec![3])] {
        let found = other.read(|tx| tx.stored_entries(session_id(1), after, limit))?;
        let numbers: Vec<_> = found.iter().map(|s| s.number).collect();
        same!(numbers, wanted, format!("{limit} entries behind {after}"));
    }
    let log = other.read(|tx| tx.entries(session_id(1), 0, 0))?;
    let sealed = other.read(|tx| receipt_entries(tx, session_id(1), 1, 3))?;
    let rows = other.read(|tx| tx.stored_entries(session_id(1), 0, 9))?;
    for ((stored, entry), sealed) in rows.into_iter().zip(log).zip(sealed) {
        let row = stored.row.map_err(Wrong)?;
        same!(row.sealed, sealed, "the row as a receipt sees it");
        same!(row.kind, "prompt", "the kind of an entry");
        same!(row.at, at(1), "the moment of an entry");
        same!(row.entry, Some(Ok(entry)), "the entry");
        let salt: [u8; 32] = row.salt.as_slice().try_into().unwrap_or_default();
        let payload = row.payload.and_then(Result::ok).unwrap_or_default();
        same!(
            payload_digest(&salt, payload.as_bytes()),
            row.sealed.payload,
            "the digest of a payload"
        );
    }
    desk.write(|tx| tx.forget_session(session_id(1), at(5)))?;
    for stored in other.read(|tx| tx.stored_entries(session_id(1), 0, 9))? {
        let row = stored.row.map_err(Wrong)?;
        let rest = (row.salt.is_empty(), row.payload, row.entry);
        same!(
            rest,
            (true, None, None),
            "what is left of a forgotten entry"
        );
    }
    Ok(())
}

fn chains(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let segment = |stream: &str, first: u64| Segment {
        stream: stream.to_owned(),
        first,
        past: first + 5,
        lines: vec![(first, "{}".to_owned()), (first + 4, "{}".to_owned())],
    };
    desk.write(|tx| {
        for n in 1..=3 {
            append(tx, session_id(1), n, None, &prompt(&format!("k{n}"), "x"))?;
        }
        let mut before = None;
        for n in 1..=3 {
            let rows = receipt_entries(tx, session_id(1), n, n)?;
            let receipt = seal(
                session_id(1),
                before.as_ref(),
                &rows,
                vec![turn_id(1)],
                at(8),
            );
            if let Some(receipt) = &receipt {
                tx.put_receipt(receipt)?;
            }
            before = receipt;
        }
        for (stream, n) in [("a", 1), ("b", 1), ("c", 2)] {
            tx.want_transcript(&transcript(stream, n))?;
        }
        for (stream, first) in [("a", 0), ("a", 10), ("b", 0), ("c", 0)] {
            tx.put_segment(&segment(stream, first))?;
        }
        Ok(())
    })?;
    let mut other = Desk::open(shelf)?;
    let all = other.read(|tx| tx.receipts(session_id(1)))?;
    for (after, limit) in [(0, 9), (0, 2), (1, 1), (3, 9)] {
        let found = other.read(|tx| tx.stored_receipts(session_id(1), after, limit))?;
        let found: Vec<_> = found.into_iter().map(|s| (s.number, s.row)).collect();
        let behind = all.iter().filter(|r| r.number > after).take(limit);
        let wanted: Vec<_> = behind.map(|r| (r.number, Ok(r.clone()))).collect();
        same!(found, wanted, format!("{limit} receipts behind {after}"));
    }
    for (stream, first, limit, wanted) in [
        ("", 0, 9, vec![("a", 0), ("a", 10), ("b", 0)]),
        ("", 0, 1, vec![("a", 0)]),
        ("a", 0, 9, vec![("a", 10), ("b", 0)]),
        ("b", 0, 9, vec![]),
    ] {
        let found = other.read(|tx| tx.stored_segments(session_id(1), stream, first, limit))?;
        holds!(
            found.iter().all(|s| s.lines == Ok(2)),
            format!("runs that cannot be read: {found:?}")
        );
        let found: Vec<_> = found.iter().map(|s| (s.stream.as_str(), s.first)).collect();
        same!(
            found,
            wanted,
            format!("{limit} runs behind {stream} {first}")
        );
    }
    Ok(())
}

/// A transcript of a session.
fn transcript(stream: &str, n: u128) -> TranscriptRecord {
    TranscriptRecord {
        stream: stream.to_owned(),
        agent: agent("claude-code"),
        session: session_id(n),
        native: native("n"),
        path: format!("/{stream}"),
        subagent: None,
        file: String::new(),
        read_to: 0,
        tail: String::new(),
        turn: None,
        own: false,
    }
}

fn objects(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let version = |object: &str| siglum_domain::observation::FileVersion {
        blob: oid(1),
        object: Some(object.to_owned()),
        bytes: 1,
    };
    let edit = |n: u128, event: &str, before: Option<&str>, after: &str| EditRecord {
        session: session_id(n),
        event: event.to_owned(),
        turn: None,
        repository: repository_id(1),
        worktree: "/w".to_owned(),
        path: "a".to_owned(),
        began: at(1),
        at: at(2),
        before: before.map(version),
        after: Some(version(after)),
        detail: EditDetail::default(),
        lines: None,
    };
    desk.write(|tx| {
        tx.put_edit(&edit(1, "e1", None, "b"))?;
        tx.put_edit(&edit(1, "e2", Some("b"), "a"))?;
        tx.put_edit(&edit(1, "e3", Some("a"), "c"))?;
        tx.put_edit(&edit(2, "e4", None, "d"))
    })?;
    let mut other = Desk::open(shelf)?;
    for (after, limit, wanted) in [
        ("", 9, vec!["a", "b", "c"]),
        ("", 2, vec!["a", "b"]),
        ("a", 9, vec!["b", "c"]),
        ("c", 9, vec![]),
    ] {
        let found = other.read(|tx| tx.edit_objects(session_id(1), after, limit))?;
        same!(found, wanted, format!("{limit} versions behind `{after}`"));
    }
    let whose = |object: &'static str| {
        move |tx: &mut dyn Transaction| Ok(tx.blob_of(object)?.map(|(repository, _)| repository))
    };
    same!(
        other.read(whose("d"))?,
        Some(repository_id(1)),
        "whose blob it is"
    );
    same!(other.read(whose("none"))?, None, "the blob of no version");
    Ok(())
}

fn strays(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        append(tx, session_id(1), 1, None, &prompt("k", "x"))?;
        tx.want_transcript(&transcript("a", 1))?;
        tx.take_lease(session_id(1), "me", at(0), at(10)).map(drop)
    })?;
    same!(desk.read(|tx| tx.strays())?, [], "strays");
    same!(desk.read(|tx| tx.unlike(9))?, [], "rows that went bad");
    same!(
        desk.read(|tx| tx.unlike_entries(session_id(1), 0, 9))?,
        [],
        "entries that went bad"
    );
    same!(
        desk.read(|tx| tx.miscounts())?,
        [],
        "tables with other rows"
    );
    Ok(())
}

/// What changes a session.
type Change = fn(&mut dyn Transaction) -> Result<(), LedgerError>;

fn verified(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let states = |desk: &mut Desk, after, limit| -> Outcome<Vec<SessionState>> {
        desk.read(|tx| tx.session_states(after, limit))
    };
    let before = states(&mut desk, None, 9)?;
    let of = |n: u128, forgotten: Option<i64>| {
        let state = before.iter().find(|s| s.session == session_id(n));
        Verified {
            state: state.map(|s| s.state.clone()).unwrap_or_default(),
            forgotten: forgotten.map(at),
            receipt: 3,
            sequence: 7,
            digest: "d".to_owned(),
            at: at(5),
        }
    };
    desk.write(|tx| {
        tx.put_verified(session_id(1), Some(&of(3, None)))?;
        tx.put_verified(session_id(2), Some(&of(2, None)))
    })?;
    // What is noted later stands.
    desk.write(|tx| tx.put_verified(session_id(1), Some(&of(1, Some(4)))))?;
    let wanted = [Some(of(1, Some(4))), Some(of(2, None)), None];
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        for (after, limit, from, past) in [(None, 9, 0, 3), (None, 2, 0, 2), (Some(1), 1, 1, 2)] {
            let found = states(desk, after.map(session_id), limit)?;
            let ids: Vec<_> = found.iter().map(|s| s.session).collect();
            same!(ids, [1, 2, 3].map(session_id)[from..past], "sessions");
            let known: Vec<_> = found.iter().map(|s| s.verified.clone()).collect();
            same!(known, wanted[from..past], "how far they were verified");
            for state in found {
                holds!(
                    state.is_unchanged() == state.verified.is_some(),
                    "what was not touched is as it was"
                );
                let one = desk.read(|tx| tx.session_state(state.session))?;
                same!(one, Some(state), "one session");
            }
        }
    }
    let changes: [Change; 5] = [
        |tx| append(tx, session_id(1), 1, None, &prompt("k", "x")).map(drop),
        |tx| tx.set_ended(session_id(1), Some(at(9))),
        |tx| tx.quarantine(session_id(1), Some("why")),
        |tx| tx.put_edit(&edit("e", "file", 1)),
        |tx| tx.put_open_turn(&open_turn(1)),
    ];
    for change in changes {
        let known = desk.read(|tx| tx.session_state(session_id(1)))?;
        desk.write(change)?;
        let found = desk.read(|tx| tx.session_state(session_id(1)))?;
        holds!(found != known, "what changes is seen");
        let other = desk.read(|tx| tx.session_state(session_id(2)))?;
        holds!(
            other.is_some_and(|state| state.is_unchanged()),
            "another session is as it was"
        );
    }
    desk.write(|tx| tx.put_verified(session_id(2), None))?;
    let found = states(&mut desk, None, 9)?;
    let known: Vec<_> = found.into_iter().map(|s| s.verified).collect();
    same!(known, [wanted[0].clone(), None, None], "what is left");
    Ok(())
}

fn fenced(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    same!(
        desk.read(|tx| tx.greatest_epoch())?,
        0,
        "the epoch of no lease"
    );
    desk.write(|tx| {
        for n in [11, 12, 13] {
            tx.create_session(&SessionRecord {
                mode: Mode::Driven,
                ..session(n, home)
            })?;
        }
        for (n, takes) in [(11, 3), (12, 9)] {
            for k in 0..takes {
                let from = at(k * 10);
                tx.take_lease(session_id(n), &format!("h{k}"), from, at(k * 10 + 10))?;
            }
        }
        Ok(())
    })?;
    let mut other = Desk::open(shelf)?;
    same!(
        other.read(|tx| tx.greatest_epoch())?,
        9,
        "the greatest epoch"
    );
    same!(desk.write(|tx| tx.fence_all(5, at(85)))?, 3, "leases taken");
    for (n, epoch) in [(11, 6), (12, 10), (13, 6)] {
        let lease = other.read(|tx| tx.lease(session_id(n)))?;
        let found = lease.map(|l| (l.epoch, l.expires_at));
        same!(found, Some((epoch, at(85))), format!("the lease of {n}"));
        let next = desk.write(|tx| tx.take_lease(session_id(n), "new", at(86), at(99)))?;
        same!(next, Some(epoch + 1), format!("the next lease of {n}"));
    }
    same!(
        other.read(|tx| tx.lease(session_id(1)))?,
        None,
        "the lease of a session that nobody drives"
    );
    Ok(())
}
