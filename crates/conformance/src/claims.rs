//! What is due at a projection: who claims it.

use std::sync::Barrier;

use siglum_domain::SessionId;
use siglum_ledger::Delivery;

use super::check::{Check, Desk, Outcome, Shelf, Wrong, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("who claims has it until its time is over", claimed),
    Check::new(
        "claims come longest waiting first, within their limit",
        in_order,
    ),
    Check::new("many workers get each session once", shared),
    Check::new("what nothing is due of is not claimed", nothing_due),
    Check::new("a sink takes what it has, and the rest is due", rest),
];

/// Two projections, and a receipt of each of three sessions, sealed at 110, 120 and 130.
pub(super) fn fill(desk: &mut Desk) -> Outcome {
    furnish(desk)?;
    desk.write(|tx| {
        tx.put_projection(&projection("a"))?;
        tx.put_projection(&projection("b"))?;
        for (n, seconds) in [(3, 110), (1, 120), (2, 130)] {
            commit_entry(tx, n, seconds)?;
        }
        Ok(())
    })
}

pub(super) fn claim(
    desk: &mut Desk,
    time: i64,
    until: i64,
    limit: usize,
) -> Outcome<Vec<SessionId>> {
    let found = desk.write(|tx| tx.claim("a", at(time), at(until), limit))?;
    Ok(found.into_iter().map(|d| d.session).collect())
}

pub(super) fn ids<const N: usize>(of: [u128; N]) -> [SessionId; N] {
    of.map(session_id)
}

pub(super) fn delivery(desk: &mut Desk, name: &str, n: u128) -> Outcome<Delivery> {
    let found = desk.read(|tx| tx.delivery(name, session_id(n)))?;
    found.ok_or_else(|| Wrong(format!("{name} knows nothing of session {n}")))
}

pub(super) fn taken(desk: &mut Desk, n: u128, taken: u64, retry_at: i64) -> Outcome {
    desk.write(|tx| tx.taken("a", session_id(n), taken, at(retry_at)))
}

fn claimed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    let mut other = Desk::open(shelf)?;
    let mine = desk.write(|tx| tx.claim("a", at(200), at(300), 2))?;
    let found: Vec<_> = mine.iter().map(|d| (d.session, d.taken, d.due)).collect();
    same!(found, ids([3, 1]).map(|s| (s, 0, 1)), "the first claim");
    for claimed in mine {
        let stored = other.read(|tx| tx.delivery("a", claimed.session))?;
        same!(claimed.retry_at, at(300), "the time of a claim");
        same!(stored, Some(claimed), "a claim as it is stored");
    }
    same!(claim(&mut other, 200, 300, 9)?, ids([2]), "another's claim");
    drop(desk);
    let mut later = Desk::open(shelf)?;
    same!(
        claim(&mut later, 299, 400, 9)?,
        [],
        "claims that others have"
    );
    same!(
        claim(&mut later, 300, 400, 9)?,
        ids([1, 2, 3]),
        "claims that ran out"
    );
    same!(
        claim(&mut other, 300, 400, 9)?,
        [],
        "claims that are taken over"
    );
    Ok(())
}

fn in_order(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    same!(claim(&mut desk, 109, 300, 9)?, [], "before anything is due");
    same!(
        claim(&mut desk, 110, 150, 9)?,
        ids([3]),
        "when the first is due"
    );
    same!(claim(&mut desk, 200, 300, 0)?, [], "no claims");
    same!(claim(&mut desk, 200, 300, 1)?, ids([1]), "one claim");
    same!(claim(&mut desk, 200, 310, 1)?, ids([2]), "the next claim");
    same!(claim(&mut desk, 200, 320, 1)?, ids([3]), "the last claim");
    let found = desk.write(|tx| tx.claim("other", at(900), at(901), 9))?;
    same!(found, [], "claims of a projection that is not there");
    same!(claim(&mut desk, 900, 901, 9)?, ids([1, 2, 3]), "all again");
    Ok(())
}

fn shared(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let all: Vec<u128> = (11..31).collect();
    desk.write(|tx| {
        tx.put_projection(&projection("a"))?;
        for n in &all {
            tx.create_session(&session(*n, home))?;
            commit_entry(tx, *n, 110)?;
        }
        Ok(())
    })?;
    let hands = [Desk::open(shelf)?, Desk::open(shelf)?];
    let start = Barrier::new(hands.len());
    let claims: Vec<Outcome<Vec<SessionId>>> = std::thread::scope(|scope| {
        let start = &start;
        let running = hands.map(|desk| scope.spawn(move || claim_all(desk, start)));
        let panicked = |_| Err(Wrong("a worker panicked".to_owned()));
        running
            .map(|hand| hand.join().unwrap_or_else(panicked))
            .into()
    });
    let mut found = claims.into_iter().collect::<Outcome<Vec<_>>>()?.concat();
    found.sort();
    let wanted: Vec<_> = all.into_iter().map(session_id).collect();
    same!(found, wanted, "what two workers claimed");
    Ok(())
}

fn claim_all(mut desk: Desk, start: &Barrier) -> Outcome<Vec<SessionId>> {
    start.wait();
    let mut mine = Vec::new();
    for _ in 0..20 {
        mine.extend(claim(&mut desk, 200, 300, 2)?);
    }
    Ok(mine)
}

fn nothing_due(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    taken(&mut desk, 1, 1, 150)?;
    same!(claim(&mut desk, 500, 600, 9)?, ids([3, 2]), "what is due");
    desk.write(|tx| commit_entry(tx, 1, 510))?;
    same!(claim(&mut desk, 509, 600, 9)?, [], "before the next is due");
    same!(
        claim(&mut desk, 510, 600, 9)?,
        ids([1]),
        "when the next is due"
    );
    Ok(())
}

fn rest(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    desk.write(|tx| {
        commit_entry(tx, 1, 140)?;
        commit_entry(tx, 1, 150)
    })?;
    same!(claim(&mut desk, 200, 300, 9)?, ids([3, 1, 2]), "all");
    taken(&mut desk, 1, 2, 250)?;
    let mut later = Desk::open(shelf)?;
    let found = delivery(&mut later, "a", 1)?;
    same!((found.taken, found.due), (2, 3), "what the sink has");
    same!(found.since, at(150), "since when it lacks the rest");
    same!(
        claim(&mut later, 249, 400, 9)?,
        [],
        "the rest before its time"
    );
    same!(claim(&mut later, 250, 400, 9)?, ids([1]), "the rest");
    taken(&mut later, 1, 3, 260)?;
    same!(claim(&mut later, 299, 400, 9)?, [], "after all was taken");
    Ok(())
}
