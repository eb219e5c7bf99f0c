//! Projections: who follows, and that every receipt is due at each of them.

use siglum_ledger::{Delivery, LedgerError, Projection, Transaction};

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("projections are kept by name", kept),
    Check::new("a projection that moves keeps its cursors", moved),
    Check::new("a projection goes with its cursors", dropped),
    Check::new("all that was sealed before is due at a new projection", new),
    Check::new("a receipt is due everywhere with its commit", due_at_once),
    Check::new(
        "a receipt that was not stored is due nowhere",
        due_if_stored,
    ),
    Check::new("what is due says since when", since),
    Check::new("a restart makes all due once more", restarted),
    Check::new("receipts come in order behind a number", receipts_after),
];

fn names(desk: &mut Desk) -> Outcome<Vec<Projection>> {
    desk.read(|tx| tx.projections())
}

fn kept(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    same!(names(&mut desk)?, [], "no projections");
    let wanted = ["a", "b — ü", "c"].map(projection);
    desk.write(|tx| {
        for n in [2, 0, 1] {
            tx.put_projection(&wanted[n])?;
        }
        Ok(())
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        same!(names(desk)?, wanted, "projections by name");
    }
    Ok(())
}

/// How far a projection has come with a session: what it has, what there is.
fn come(desk: &mut Desk, name: &str, n: u128) -> Outcome<Option<(u64, u64)>> {
    let found = desk.read(|tx| tx.delivery(name, session_id(n)))?;
    Ok(found.map(|d| (d.taken, d.due)))
}

fn moved(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_projection(&projection("a"))?;
        commit_entry(tx, 1, 110)?;
        commit_entry(tx, 1, 111)?;
        tx.taken("a", session_id(1), 1, at(120))?;
        tx.put_projection(&Projection {
            kind: "refs".to_owned(),
            target: "/elsewhere".to_owned(),
            at: at(500),
            ..projection("a")
        })
    })?;
    let wanted = Projection {
        kind: "refs".to_owned(),
        target: "/elsewhere".to_owned(),
        ..projection("a")
    };
    same!(names(&mut desk)?, [wanted], "the projection after its move");
    same!(
        come(&mut desk, "a", 1)?,
        Some((1, 2)),
        "how far it has come"
    );
    Ok(())
}

fn dropped(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_projection(&projection("a"))?;
        tx.put_projection(&projection("b"))?;
        commit_entry(tx, 1, 110)?;
        tx.taken("a", session_id(1), 1, at(120))?;
        tx.taken("b", session_id(1), 1, at(120))
    })?;
    let mut gone = |name: &str| desk.write(|tx| tx.drop_projection(name));
    holds!(gone("a")?, "a projection is said not to be there");
    holds!(!gone("a")?, "a projection went twice");
    holds!(!gone("other")?, "a projection went that never was");
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        same!(names(desk)?, [projection("b")], "the projections");
        same!(come(desk, "a", 1)?, None, "a cursor of the one that went");
        same!(come(desk, "b", 1)?, Some((1, 1)), "the cursor of the other");
    }
    desk.write(|tx| {
        commit_entry(tx, 1, 130)?;
        commit_entry(tx, 2, 131)
    })?;
    same!(come(&mut desk, "a", 2)?, None, "what is due at it later");
    desk.write(|tx| tx.put_projection(&projection("a")))?;
    same!(
        come(&mut desk, "a", 1)?,
        Some((0, 2)),
        "a new one of its name"
    );
    Ok(())
}

fn new(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        commit_entry(tx, 1, 10)?;
        // A clock that went back.
        commit_entry(tx, 1, 5)?;
        commit_entry(tx, 2, 20)?;
        append(tx, session_id(3), 1, None, &prompt("open", "x"))?;
        tx.put_projection(&projection("a"))
    })?;
    let wanted = |n, due, since| Delivery {
        projection: "a".to_owned(),
        session: session_id(n),
        taken: 0,
        due,
        since: at(since),
        retry_at: at(100),
        tries: 0,
        left_out: 0,
        reason: None,
        parked_at: None,
    };
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        for (n, wanted) in [
            (1, Some(wanted(1, 2, 10))),
            (2, Some(wanted(2, 1, 20))),
            (3, None),
        ] {
            let found = desk.read(|tx| tx.delivery("a", session_id(n)))?;
            same!(found, wanted, format!("what is due of session {n}"));
        }
    }
    Ok(())
}

fn due_at_once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_projection(&projection("a"))?;
        tx.put_projection(&projection("b"))
    })?;
    let due = |tx: &mut dyn Transaction| {
        let mut due = Vec::new();
        for name in ["a", "b"] {
            due.push(tx.delivery(name, session_id(1))?.map(|d| (d.taken, d.due)));
        }
        Ok::<_, LedgerError>(due)
    };
    for number in 1..=3 {
        let inside = desk.write(|tx| {
            append(
                tx,
                session_id(1),
                number.into(),
                None,
                &prompt(&format!("{number}"), "x"),
            )?;
            let receipt = next_receipt(tx, 1, 110)?;
            let taken = match number {
                2 => tx.put_keyed_receipt(&receipt, "k", "c")?,
                _ => tx.put_receipt(&receipt)?,
            };
            Ok((taken, due(tx)?))
        })?;
        let wanted = vec![Some((0, number)); 2];
        same!(
            inside,
            (true, wanted.clone()),
            "what is due in the same transaction"
        );
        let mut later = Desk::open(shelf)?;
        same!(later.read(|tx| due(tx))?, wanted, "what is due after it");
    }
    same!(
        come(&mut desk, "a", 2)?,
        None,
        "what is due of another session"
    );
    Ok(())
}

fn due_if_stored(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| tx.put_projection(&projection("a")))?;
    let failed = desk.write(|tx| {
        commit_entry(tx, 1, 110)?;
        Err::<(), _>(LedgerError::Busy)
    });
    holds!(failed.is_err(), "a transaction succeeded whose work failed");
    same!(
        come(&mut desk, "a", 1)?,
        None,
        "after a transaction that failed"
    );
    let stored = desk.write(|tx| commit_entry(tx, 1, 110))?;
    desk.write(|tx| {
        tx.put_receipt(&stored)?;
        tx.put_keyed_receipt(&stored, "k", "c")
    })?;
    same!(
        come(&mut desk, "a", 1)?,
        Some((0, 1)),
        "after the same receipt again"
    );
    Ok(())
}

fn since(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let times = |desk: &mut Desk| {
        let found = desk.read(|tx| tx.delivery("a", session_id(1)))?;
        Ok::<_, Wrong>(found.map(|d| (d.since, d.retry_at)))
    };
    desk.write(|tx| {
        tx.put_projection(&projection("a"))?;
        commit_entry(tx, 1, 110)
    })?;
    same!(
        times(&mut desk)?,
        Some((at(110), at(110))),
        "the first receipt"
    );
    desk.write(|tx| {
        commit_entry(tx, 1, 120)?;
        commit_entry(tx, 1, 130)
    })?;
    same!(
        times(&mut desk)?,
        Some((at(110), at(110))),
        "more behind it"
    );
    desk.write(|tx| tx.taken("a", session_id(1), 2, at(140)))?;
    same!(times(&mut desk)?, Some((at(130), at(140))), "the rest");
    desk.write(|tx| {
        tx.taken("a", session_id(1), 3, at(900))?;
        commit_entry(tx, 1, 150)
    })?;
    same!(
        times(&mut desk)?,
        Some((at(150), at(150))),
        "the next after all"
    );
    Ok(())
}

fn restarted(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for name in ["a", "b"] {
            tx.put_projection(&projection(name))?;
        }
        for (n, seconds) in [(1, 110), (1, 111), (2, 112)] {
            commit_entry(tx, n, seconds)?;
        }
        tx.leave_out("b", session_id(1), 1, at(115))?;
        for (name, n, taken) in [("a", 1, 2), ("a", 2, 1), ("b", 1, 2), ("b", 2, 1)] {
            tx.taken(name, session_id(n), taken, at(120))?;
        }
        Ok(())
    })?;
    let all = |desk: &mut Desk| {
        let mut all = Vec::new();
        for (name, n) in [("a", 1), ("a", 2), ("b", 1), ("b", 2)] {
            all.push(come(desk, name, n)?.map_or(99, |(taken, _)| taken));
        }
        Ok::<_, Wrong>(all)
    };
    for (name, session, count, wanted) in [
        ("other", None, 0, [2, 1, 2, 1]),
        ("a", Some(3), 0, [2, 1, 2, 1]),
        ("a", Some(1), 1, [0, 1, 2, 1]),
        ("b", None, 2, [0, 1, 0, 0]),
    ] {
        let found = desk.write(|tx| tx.restart(name, session.map(session_id), at(200)))?;
        same!(found, count, format!("sessions that {name} begins again"));
        let mut later = Desk::open(shelf)?;
        same!(all(&mut later)?, wanted, "what the sinks have");
    }
    let found = desk.read(|tx| tx.delivery("b", session_id(1)))?;
    let times = found.map(|d| (d.since, d.retry_at, d.left_out));
    let wanted = Some((at(110), at(200), 0));
    same!(times, wanted, "since when, from when on, and without what");
    Ok(())
}

fn receipts_after(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let receipts = desk.write(|tx| {
        commit_entry(tx, 2, 10)?;
        (11..15)
            .map(|seconds| commit_entry(tx, 1, seconds))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        for (number, limit, wanted) in [
            (0, 9, &receipts[..]),
            (1, 9, &receipts[1..]),
            (1, 2, &receipts[1..3]),
            (4, 9, &[]),
            (7, 9, &[]),
        ] {
            let found = desk.read(|tx| tx.receipts_after(session_id(1), number, limit))?;
            same!(
                found,
                wanted,
                format!("at most {limit} receipts behind {number}")
            );
        }
    }
    Ok(())
}
