//! Leases: one driver at a time.

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a lease has one holder until it runs out", one_holder),
    Check::new("a lease is given back by its own epoch alone", given_back),
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
