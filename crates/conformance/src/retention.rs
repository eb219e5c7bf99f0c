//! What is kept for a time only goes once it is old, unless something holds it.

use siglum_domain::audit::{Action, Body, Header, Outcome as Came};
use siglum_domain::{Redacted, SessionId};
use siglum_ledger::{
    CheckpointKind, ContextRecord, ForwardRecord, LedgerError, Relation, TelemetryBatch,
    TelemetryStore, Transaction, TranscriptRecord, UnassignedRecord,
};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::contexts::{context, context_key};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("silent sessions are found, longest silent first", idle),
    Check::new(
        "a session that something holds is not found as silent",
        sessions_in_use,
    ),
    Check::new("old telemetry goes, and newer telemetry stays", telemetry),
    Check::new("the audit goes on behind entries that are gone", audit),
];

fn idle(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let mut later = Desk::open(shelf)?;
    for (which, limit, wanted) in [
        (None, 9, vec![1, 2]),
        (None, 1, vec![1]),
        (Some(2), 9, vec![2]),
        (Some(3), 9, vec![]),
    ] {
        let which = which.map(session_id);
        let found = later.read(|tx| tx.idle_sessions(which, at(25), at(99), limit))?;
        let wanted: Vec<SessionId> = wanted.into_iter().map(session_id).collect();
        same!(found, wanted, "silent sessions");
    }
    desk.write(|tx| tx.forget_session(session_id(1), at(50)))?;
    let found = later.read(|tx| tx.idle_sessions(None, at(25), at(99), 9))?;
    same!(found, [session_id(2)], "silent sessions, one forgotten");
    let found = desk.write(|tx| tx.idle_sessions(None, at(25), at(99), 9))?;
    same!(found, [session_id(2)], "silent sessions that are to change");
    desk.write(|tx| tx.touch(session_id(1), at(60), None, None))?;
    let found = later.read(|tx| tx.idle_sessions(Some(session_id(1)), at(70), at(99), 9))?;
    same!(
        found,
        [session_id(1)],
        "a session that went on after it was forgotten"
    );
    Ok(())
}

/// A context of the first session, one that reads it, and one that reads that, which was used last at this time.
fn chain_of_contexts(tx: &mut dyn Transaction, last: i64) -> Result<(), LedgerError> {
    for (n, parent, seen) in [
        (1, None, 9),
        (2, Some("r-run:1"), 9),
        (3, Some("r-run:2"), last),
    ] {
        tx.put_context(&ContextRecord {
            parent: parent.map(|key| (context_key(key), 1)),
            seen_at: at(seen),
            ..context(n, "r")
        })?;
    }
    Ok(())
}

/// Something that is done to the first session.
type Hold = fn(&mut dyn Transaction) -> Result<(), LedgerError>;

/// What holds a session, and what does not.
const HOLDS: &[(&str, bool, Hold)] = &[
    ("an open turn", true, |tx| tx.put_open_turn(&open_turn(1))),
    ("a lease", true, |tx| {
        tx.take_lease(session_id(1), "driver", at(1), at(100))
            .map(drop)
    }),
    ("a lease that is over", false, |tx| {
        tx.take_lease(session_id(1), "driver", at(1), at(99))
            .map(drop)
    }),
    ("an entry that is not sealed", true, |tx| {
        append(tx, session_id(1), 1, None, &prompt("k", "x")).map(drop)
    }),
    ("a receipt that is due", true, |tx| {
        commit_entry(tx, 1, 6).map(drop)
    }),
    ("a receipt that is delivered", false, |tx| {
        commit_entry(tx, 1, 6)?;
        tx.taken("p", session_id(1), 1, at(9))
    }),
    ("a receipt that is refused", false, |tx| {
        commit_entry(tx, 1, 6)?;
        tx.failed("p", session_id(1), "no", at(9), Some(at(9)))
    }),
    ("a transcript", true, |tx| {
        tx.want_transcript(&TranscriptRecord {
            session: session_id(1),
            ..transcript("unread")
        })
    }),
    ("a checkpoint of a person", true, |tx| {
        tx.put_checkpoint(&checkpoint(1, CheckpointKind::Manual))
    }),
    ("a checkpoint of its end", false, |tx| {
        tx.put_checkpoint(&checkpoint(1, CheckpointKind::End))
    }),
    ("its archive", true, |tx| tx.archive(session_id(1), at(3))),
    ("its quarantine", true, |tx| {
        tx.quarantine(session_id(1), Some("damaged"))
    }),
    ("a fork that goes on", true, |tx| {
        tx.set_parent(session_id(3), session_id(1), Relation::Fork)
    }),
    ("a fork of a fork that goes on", true, |tx| {
        tx.set_parent(session_id(2), session_id(1), Relation::Fork)?;
        tx.set_parent(session_id(3), session_id(2), Relation::Fork)
    }),
    (
        "a context that reads its context, over another one",
        true,
        |tx| chain_of_contexts(tx, 30),
    ),
    ("contexts as old as it", false, |tx| {
        chain_of_contexts(tx, 9)
    }),
    ("telemetry that is to be forwarded", true, |tx| {
        tx.put_forward(&ForwardRecord {
            sequence: 0,
            destination: "p".to_owned(),
            at: at(9),
            signal: "traces".to_owned(),
            session: Some(session_id(1)),
            records: 1,
            payload: vec![1],
        })
        .map(drop)
    }),
    ("a fork as old as it", false, |tx| {
        tx.set_parent(session_id(2), session_id(1), Relation::Fork)
    }),
    ("a session that its agent started", false, |tx| {
        tx.set_parent(session_id(3), session_id(1), Relation::Nested)
    }),
];

fn sessions_in_use(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| tx.put_projection(&projection("p")))?;
    for (what, holds, hold) in HOLDS {
        let found = desk.write(|tx| {
            let mut found = None;
            let undone = tx.nested(&mut |tx| {
                hold(tx)?;
                found = Some(tx.idle_sessions(Some(session_id(1)), at(25), at(99), 9)?);
                Err(LedgerError::Damaged("undone".to_owned()))
            });
            drop(undone);
            Ok(found)
        })?;
        same!(found.map(|found| found.is_empty()), Some(*holds), what);
    }
    Ok(())
}

fn payloads(desk: &mut Desk, store: TelemetryStore) -> Outcome<Vec<Vec<u8>>> {
    let kept = desk.read(|tx| tx.kept_telemetry(store, 0, 9))?;
    Ok(kept.into_iter().map(|kept| kept.payload).collect())
}

fn telemetry(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    desk.write(|tx| {
        for n in 1..5_u8 {
            let (at, signal, payload) = (at(n.into()), "traces".to_owned(), vec![n]);
            tx.put_batch(&TelemetryBatch {
                sequence: 0,
                at,
                signal: signal.clone(),
                session: None,
                records: 7,
                forwarded: false,
                payload: payload.clone(),
            })?;
            tx.put_unassigned(&UnassignedRecord {
                sequence: 0,
                at,
                signal,
                trace: None,
                span: None,
                agent: None,
                name: "name".to_owned(),
                session: None,
                records: 7,
                reason: "reason".to_owned(),
                forwarded: false,
                payload,
            })?;
        }
        Ok(())
    })?;
    let (inbox, unassigned) = (TelemetryStore::Inbox, TelemetryStore::Unassigned);
    let mut later = Desk::open(shelf)?;
    let gone = desk.write(|tx| tx.drop_old_telemetry(unassigned, at(3), 1))?;
    same!(gone, 1, "how much went first");
    let left = payloads(&mut later, unassigned)?;
    same!(left, [[2_u8], [3], [4]], "what has no session");
    let left = payloads(&mut later, inbox)?;
    same!(left, [[1_u8], [2], [3], [4]], "what waits");
    let gone = desk.write(|tx| tx.drop_old_telemetry(inbox, at(3), 9))?;
    same!(gone, 2, "how much went then");
    let left = payloads(&mut later, inbox)?;
    same!(left, [[3_u8], [4]], "what waits then");
    let left = payloads(&mut later, unassigned)?;
    same!(left, [[2_u8], [3], [4]], "what has no session then");
    Ok(())
}

fn audit(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let header = Header {
        at: at(1),
        actor: "a".to_owned(),
        action: Action::TokenUsed,
        outcome: Came::Done,
        session: None,
        pipeline: None,
    };
    let body = Body {
        salt: [9; 32],
        text: Redacted::from_stored("{}".to_owned()),
    };
    let mut last = String::new();
    for _ in 0..4 {
        last = desk.write(|tx| tx.append_audit(&header, &body))?.digest;
    }
    let mut later = Desk::open(shelf)?;
    let mut left = || {
        later.read(|tx| {
            let rows = tx.audit_after(0, 9)?;
            let numbers: Vec<u64> = rows.iter().map(|row| row.number).collect();
            Ok((numbers, tx.audit_end()?))
        })
    };
    same!(desk.write(|tx| tx.drop_audit(2))?, 2, "how many went");
    same!(
        left()?,
        (vec![3, 4], Some((4, last.clone()))),
        "what is left"
    );
    same!(desk.write(|tx| tx.drop_audit(2))?, 0, "how many went again");
    let next = desk.write(|tx| tx.append_audit(&header, &body))?;
    same!((next.number, &next.previous), (5, &last), "the next entry");
    same!(
        desk.write(|tx| tx.drop_audit(9))?,
        3,
        "how many went at last"
    );
    let end = Some((5, next.digest.clone()));
    same!(left()?, (Vec::new(), end), "what is left at last");
    let next_but_one = desk.write(|tx| tx.append_audit(&header, &body))?;
    same!(
        (next_but_one.number, next_but_one.previous),
        (6, next.digest),
        "the entry behind all that are gone"
    );
    Ok(())
}
