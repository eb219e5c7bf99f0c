//! What batches erased of replicas comes back from their home, and what was said in a ledger's name gives way to what it
//! says itself.

use siglum_domain::SessionId;
use siglum_ledger::{ReplicaRow, SessionFilter, SessionRecord, Statement, StatementRecord};

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::replicas::{elsewhere, replicated};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("how far an erased replica is sent again is kept", erasures),
    Check::new("an erased replica gets back what it had", restored),
    Check::new(
        "what this ledger forgets itself does not come back",
        forgotten,
    ),
    Check::new("a statement in a ledger's name gives way", contradicted),
    Check::new("the sessions that a destination has are listed", delivered),
];

/// A replica with two entries.
fn replica(desk: &mut Desk) -> Outcome<Vec<ReplicaRow>> {
    furnish(desk)?;
    desk.write(|tx| {
        for n in 1..=2 {
            let observation = prompt(&format!("k{n}"), "said");
            append(tx, session_id(1), n, None, &observation)?;
        }
        Ok(())
    })?;
    let rows = desk.read(|tx| tx.log_rows(session_id(1), 0, 9))?;
    let other = |(n, row): (u128, ReplicaRow)| ReplicaRow {
        id: entry_id(n),
        ..row
    };
    let rows: Vec<ReplicaRow> = (50..).zip(rows).map(other).collect();
    desk.write(|tx| {
        let record = SessionRecord {
            repository: None,
            ..replicated(9)
        };
        tx.put_replica_session(&record, &[])?;
        tx.put_replica_rows(session_id(9), &[], &rows)
    })?;
    Ok(rows)
}

fn erasures(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    replica(&mut desk)?;
    let of =
        |n| -> Outcome<Option<u64>> { Desk::open(shelf)?.read(|tx| tx.erasure(session_id(n))) };
    same!(of(9)?, None, "a replica of which nothing was erased");
    for restored in [Some(0), Some(3), Some(4), None, None] {
        desk.write(|tx| tx.put_erasure(session_id(9), restored))?;
        same!(of(9)?, restored, "up to which receipt it came again");
        same!(of(1)?, None, "another session");
    }
    Ok(())
}

fn restored(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let rows = replica(&mut desk)?;
    holds!(!rows.is_empty(), "the log of a replica is read");
    let log = |desk: &mut Desk| desk.read(|tx| tx.log_rows(session_id(9), 0, 9));
    desk.write(|tx| tx.forget_session(session_id(9), at(9)))?;
    desk.write(|tx| tx.restore_rows(session_id(9), &rows[..1]))?;
    let mut later = Desk::open(shelf)?;
    let found = log(&mut later)?;
    same!(found.first(), rows.first(), "the first entry");
    same!(
        found.get(1).map(|row| &row.fact),
        Some(&None),
        "one that did not come again"
    );
    let record = later.read(|tx| tx.session(session_id(9)))?;
    same!(
        record.and_then(|r| r.forgotten),
        None,
        "whether it is forgotten"
    );
    holds!(
        later.read(|tx| tx.unfolded(9))?.contains(&session_id(9)),
        "what comes back is folded"
    );
    desk.write(|tx| tx.restore_rows(session_id(9), &rows[1..]))?;
    same!(log(&mut later)?, rows, "the log");
    let other = ReplicaRow {
        fact: Some("{}".to_owned()),
        ..rows[0].clone()
    };
    desk.write(|tx| tx.restore_rows(session_id(9), std::slice::from_ref(&other)))?;
    same!(log(&mut later)?, rows, "what was never erased");
    Ok(())
}

fn forgotten(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    replica(&mut desk)?;
    for whole in [true, false] {
        desk.write(|tx| {
            tx.put_erasure(session_id(9), Some(1))?;
            match whole {
                true => tx.forget_session(session_id(9), at(9)),
                false => tx.forget_parts(session_id(9), at(9)),
            }
        })?;
        let found = Desk::open(shelf)?.read(|tx| tx.erasure(session_id(9)))?;
        same!(found, None, "what comes back");
    }
    Ok(())
}

fn contradicted(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let link = |issue| siglum_domain::link::Link::IssueNumber(issue);
    let stated = |sequence, issue| StatementRecord {
        ledger: elsewhere(),
        sequence,
        at: at(5),
        by: "Ben".to_owned(),
        source: "cli".to_owned(),
        statement: Statement::LinkAttached {
            session: session_id(1),
            link: link(issue),
        },
    };
    desk.write(|tx| {
        for (sequence, issue) in [(4, 42), (5, 43)] {
            tx.put_statement(&stated(sequence, issue))?;
        }
        tx.drop_statement(elsewhere(), 4)?;
        tx.drop_statement(elsewhere(), 3)
    })?;
    let mut later = Desk::open(shelf)?;
    let left = later.read(|tx| tx.statements_of_ledger(elsewhere(), 0, 9))?;
    same!(left, [stated(5, 43)], "the statements that are left");
    for (issue, wanted) in [(42, 0), (43, 1)] {
        let filter = SessionFilter {
            links: vec![link(issue)],
            ..SessionFilter::default()
        };
        let found = later.read(|tx| Ok(tx.sessions(&filter)?.len()))?;
        same!(found, wanted, format!("sessions with issue {issue}"));
    }
    Ok(())
}

fn delivered(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_replica_session(
            &SessionRecord {
                repository: None,
                ..replicated(9)
            },
            &[],
        )?;
        for name in ["p", "q"] {
            tx.put_projection(&projection(name))?;
        }
        for n in [1, 2, 3] {
            commit_entry(tx, n, 5)?;
        }
        for n in [1, 2, 3] {
            tx.taken("p", session_id(n), 1, at(9))?;
        }
        tx.taken("q", session_id(2), 1, at(9))
    })?;
    let mut later = Desk::open(shelf)?;
    let mut listed = |name: &str, after: Option<u128>, limit| -> Outcome<Vec<SessionId>> {
        later.read(|tx| tx.delivered(name, after.map(session_id), limit))
    };
    let ids = |ns: &[u128]| ns.iter().copied().map(session_id).collect::<Vec<_>>();
    same!(listed("p", None, 9)?, ids(&[1, 2, 3]), "all");
    same!(listed("p", None, 2)?, ids(&[1, 2]), "the first ones");
    same!(
        listed("p", Some(1), 9)?,
        ids(&[2, 3]),
        "those behind the first"
    );
    same!(listed("q", None, 9)?, ids(&[2]), "those of another one");
    Ok(())
}
