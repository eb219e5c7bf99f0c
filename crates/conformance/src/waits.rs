//! Claims on what a projection lacks: from when on there is something to take, and what a worker that died had taken.

use siglum_domain::receipt::seal;
use siglum_domain::scope::Scope;
use siglum_ledger::Projection;

use super::check::{Check, Desk, Outcome, Shelf, Wrong, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("the next try is that of the first claim to be had", next),
    Check::new("claims are freed, and what failed waits on", freed),
    Check::new("what is forgotten is due at directories again", forgotten),
];

/// Sessions 1 to 3, one receipt of each, due at `p` from 10, 20 and 30 on.
fn stocked(desk: &mut Desk) -> Outcome {
    furnish(desk)?;
    desk.write(|tx| {
        tx.put_projection(&Projection {
            name: "p".to_owned(),
            kind: "directory".to_owned(),
            target: "/p".to_owned(),
            at: at(0),
            scope: Some(Scope::in_process()),
        })
    })?;
    for n in 1..=3_u8 {
        let session = session_id(u128::from(n));
        desk.write(|tx| append(tx, session, 1, None, &prompt("k", "x")))?;
        let rows = desk.read(|tx| receipt_entries(tx, session, 1, 1))?;
        let receipt = seal(session, None, &rows, Vec::new(), at(i64::from(n) * 10))
            .ok_or_else(|| Wrong("there is nothing to seal".to_owned()))?;
        desk.write(|tx| tx.put_receipt(&receipt))?;
    }
    Ok(())
}

fn next(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stocked(&mut desk)?;
    let ask = |desk: &mut Desk, what: &str, wanted| {
        let found = desk.read(|tx| tx.next_try("p"))?;
        same!(found, wanted, format!("the next try {what}"));
        Ok::<_, Wrong>(())
    };
    ask(&mut desk, "of the first receipt", Some(at(10)))?;
    desk.write(|tx| tx.claim("p", at(15), at(25), 9))?;
    ask(&mut desk, "after a claim", Some(at(20)))?;
    desk.write(|tx| {
        tx.failed("p", session_id(2), "no", at(90), Some(at(50)))?;
        tx.taken("p", session_id(1), 1, at(25))
    })?;
    ask(
        &mut desk,
        "beside what is set aside and taken",
        Some(at(30)),
    )?;
    desk.write(|tx| tx.taken("p", session_id(3), 1, at(30)))?;
    ask(&mut desk, "where nothing can be had", None)?;
    desk.write(|tx| tx.restart("p", Some(session_id(3)), at(60)))?;
    let mut later = Desk::open(shelf)?;
    ask(&mut later, "from elsewhere", Some(at(60)))?;
    let other = desk.read(|tx| tx.next_try("q"))?;
    same!(other, None, "the next try of another projection");
    Ok(())
}

fn freed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stocked(&mut desk)?;
    desk.write(|tx| {
        tx.failed("p", session_id(2), "no", at(70), None)?;
        tx.claim("p", at(40), at(90), 9)
    })?;
    let count = desk.write(|tx| tx.free_claims("q", at(41)))?;
    same!(count, 0, "claims of another projection that were freed");
    let count = desk.write(|tx| tx.free_claims("p", at(41)))?;
    same!(count, 2, "claims that were freed");
    let next = desk.read(|tx| tx.next_try("p"))?;
    same!(next, Some(at(41)), "when what was freed can be claimed");
    let early = desk.write(|tx| tx.claim("p", at(40), at(90), 9))?;
    same!(early, [], "what can be claimed before");
    let found = desk.write(|tx| tx.claim("p", at(41), at(90), 9))?;
    let found: Vec<_> = found.iter().map(|d| d.session).collect();
    same!(found, [1, 3].map(session_id), "what can be claimed again");
    Ok(())
}

fn forgotten(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stocked(&mut desk)?;
    desk.write(|tx| {
        tx.put_projection(&projection("q"))?;
        for n in [1, 2, 3] {
            tx.taken("p", session_id(n), 1, at(40))?;
            tx.taken("q", session_id(n), 1, at(40))?;
        }
        tx.forget_parts(session_id(1), at(50))?;
        tx.forget_session(session_id(2), at(60))
    })?;
    let mut found = Vec::new();
    for (name, n) in [("p", 1), ("p", 2), ("p", 3), ("q", 1), ("q", 2)] {
        let delivery = desk.read(|tx| tx.delivery(name, session_id(n)))?;
        found.push(delivery.map(|d| d.taken));
    }
    same!(
        found,
        [Some(0), Some(0), Some(1), Some(1), Some(1)],
        "what directories and others have of sessions"
    );
    let next = desk.read(|tx| tx.next_try("p"))?;
    same!(next, Some(at(50)), "when what was forgotten can be claimed");
    Ok(())
}
