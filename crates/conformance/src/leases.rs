//! Leases: one driver at a time.

use std::time::Duration;

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a lease has one holder until it runs out", one_holder),
    Check::new("a lease is given back by its own epoch alone", given_back),
    Check::new(
        "a lease is known to everybody, also after it ran out",
        known,
    ),
    Check::new("nobody takes a lease that a writer looks at", looked_at),
    Check::new("the time of leases does not go back", clock),
];

fn take(desk: &mut Desk, n: u128, holder: &str, from: i64, until: i64) -> Outcome<Option<u64>> {
    desk.write(|tx| tx.take_lease(session_id(n), holder, at(from), at(until)))
}

fn one_holder(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let mut other = Desk::open(shelf)?;
    same!(take(&mut desk, 1, "a", 0, 10)?, Some(1), "the first lease");
    same!(
        take(&mut other, 1, "b", 5, 20)?,
        None,
        "a lease that is held"
    );
    same!(
        take(&mut other, 2, "b", 5, 20)?,
        Some(1),
        "the lease of another session"
    );
    same!(
        take(&mut desk, 1, "a", 9, 30)?,
        Some(1),
        "the holder's lease again"
    );
    same!(
        take(&mut other, 1, "b", 29, 40)?,
        None,
        "a lease that was prolonged"
    );
    same!(
        take(&mut other, 1, "b", 30, 40)?,
        Some(2),
        "a lease that ran out"
    );
    same!(
        take(&mut other, 2, "b", 20, 30)?,
        Some(2),
        "the holder's own lease that ran out"
    );
    same!(
        take(&mut desk, 1, "a", 31, 50)?,
        None,
        "the lease of the holder before"
    );
    Ok(())
}

fn given_back(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    same!(take(&mut desk, 1, "a", 0, 10)?, Some(1), "the first lease");
    desk.write(|tx| tx.release_lease(session_id(1), 7, at(1)))?;
    same!(
        take(&mut desk, 1, "b", 2, 20)?,
        None,
        "after another epoch was given back"
    );
    desk.write(|tx| tx.release_lease(session_id(1), 1, at(3)))?;
    let next = take(&mut desk, 1, "b", 3, 20)?;
    holds!(
        next.is_some_and(|epoch| epoch > 1),
        "a lease that was given back is not free"
    );
    Ok(())
}

fn known(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    take(&mut desk, 1, "a", 0, 10)?;
    let mut later = Desk::open(shelf)?;
    let found = |desk: &mut Desk, n| {
        let lease = desk.read(|tx| tx.lease(session_id(n)))?;
        Ok::<_, Wrong>(lease.map(|l| (l.epoch, l.holder, l.expires_at)))
    };
    let held = |epoch, holder: &str, until| Some((epoch, holder.to_owned(), at(until)));
    same!(found(&mut later, 1)?, held(1, "a", 10), "a lease");
    same!(found(&mut later, 2)?, None, "no lease");
    desk.write(|tx| tx.release_lease(session_id(1), 1, at(15)))?;
    same!(
        found(&mut later, 1)?,
        held(1, "a", 10),
        "a lease that had run out"
    );
    take(&mut later, 1, "b — ü", 15, 30)?;
    same!(found(&mut desk, 1)?, held(2, "b — ü", 30), "the next lease");
    desk.write(|tx| tx.release_lease(session_id(1), 2, at(20)))?;
    same!(
        found(&mut later, 1)?,
        held(2, "b — ü", 20),
        "a lease given back"
    );
    Ok(())
}

fn looked_at(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    take(&mut desk, 1, "a", 0, 10)?;
    let mut other = Desk::open(shelf)?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let seen = std::thread::scope(|scope| {
        let mut rival = Some(move || sender.send(take(&mut other, 1, "b", 10, 20)));
        desk.write(|tx| {
            let before = tx.lease(session_id(1))?;
            if let Some(rival) = rival.take() {
                scope.spawn(rival);
            }
            // A good store lets the rival wait, so this much time passes with it.
            let meanwhile = receiver.recv_timeout(Duration::from_millis(50)).is_ok();
            Ok((before, tx.lease(session_id(1))?, meanwhile))
        })
    })?;
    let (before, after, meanwhile) = seen;
    holds!(!meanwhile, "a lease was taken while a writer looked at it");
    same!(after, before, "the lease at the end of the transaction");
    let taken = receiver
        .recv()
        .map_err(|_| Wrong("the rival gave up".to_owned()))??;
    same!(taken, Some(2), "the lease after the transaction");
    Ok(())
}

fn clock(shelf: &dyn Shelf) -> Outcome {
    let mut desks = [Desk::open(shelf)?, Desk::open(shelf)?];
    let mut last = None;
    for seconds in [10, 10, 11, 500] {
        for desk in &mut desks {
            let time = desk.write(|tx| tx.clock(at(seconds)))?;
            holds!(last <= Some(time), format!("{time:?} came after {last:?}"));
            last = Some(time);
        }
    }
    Ok(())
}
