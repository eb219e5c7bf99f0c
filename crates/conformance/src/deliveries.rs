//! What is due at a projection: what its sink took, and what failed.

use siglum_ledger::{Delivery, Lag, LedgerError, Transaction};

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::claims::{claim, delivery, fill, ids, taken};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("what a sink has never goes back", never_back),
    Check::new("a sink has no more than there is", no_more),
    Check::new(
        "a failure waits and counts until the sink comes on",
        failures,
    ),
    Check::new("what is set aside waits for a restart", parked),
    Check::new("what was set aside comes on by itself", parked_comes_on),
    Check::new("a sink knows best where it is", own_account),
    Check::new("what waits and what is set aside is tried at once", retried),
    Check::new("a sink goes on without what it refuses", left_out),
    Check::new("a failure of what is not due changes nothing", failed_late),
    Check::new("the failure of one touches no other", apart),
    Check::new(
        "troubles come by projection, longest lacking first",
        troubled,
    ),
    Check::new("a lag counts receipts and sessions", lag),
];

fn fail(desk: &mut Desk, n: u128, retry_at: i64, parked_at: Option<i64>) -> Outcome {
    desk.write(|tx| {
        let why = format!("no answer — {retry_at}");
        tx.failed("a", session_id(n), &why, at(retry_at), parked_at.map(at))
    })
}

fn never_back(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    desk.write(|tx| {
        commit_entry(tx, 1, 140)?;
        commit_entry(tx, 1, 150)
    })?;
    taken(&mut desk, 1, 2, 250)?;
    let before = delivery(&mut desk, "a", 1)?;
    for less in [0, 1, 2] {
        taken(&mut desk, 1, less, 160)?;
        let found = delivery(&mut desk, "a", 1)?;
        same!(found, before, format!("after somebody spoke of {less}"));
    }
    Ok(())
}

fn no_more(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    taken(&mut desk, 1, 9, 250)?;
    let found = delivery(&mut desk, "a", 1)?;
    same!((found.taken, found.due), (1, 1), "a sink that has too much");
    desk.write(|tx| commit_entry(tx, 1, 260))?;
    let found = delivery(&mut desk, "a", 1)?;
    same!(
        (found.taken, found.due),
        (1, 2),
        "the receipt that comes next"
    );
    desk.write(|tx| tx.come_to("a", session_id(1), 9, at(270)))?;
    let found = delivery(&mut desk, "a", 1)?;
    same!(
        (found.taken, found.due),
        (2, 2),
        "a sink that says too much"
    );
    desk.write(|tx| tx.taken("a", session_id(9), 1, at(260)))?;
    let none = desk.read(|tx| tx.delivery("a", session_id(9)))?;
    same!(none, None, "a session that nothing was ever due of");
    Ok(())
}

fn failures(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    desk.write(|tx| commit_entry(tx, 1, 140))?;
    let fresh = delivery(&mut desk, "a", 1)?;
    for (tries, retry_at) in [(1, 300), (2, 500)] {
        fail(&mut desk, 1, retry_at, None)?;
        let wanted = Delivery {
            tries,
            retry_at: at(retry_at),
            reason: Some(format!("no answer — {retry_at}")),
            ..fresh.clone()
        };
        let mut later = Desk::open(shelf)?;
        same!(delivery(&mut later, "a", 1)?, wanted, "after a failure");
    }
    same!(
        claim(&mut desk, 499, 600, 9)?,
        ids([3, 2]),
        "while it waits"
    );
    same!(
        claim(&mut desk, 500, 600, 9)?,
        ids([1]),
        "when it is tried again"
    );
    desk.write(|tx| commit_entry(tx, 1, 510))?;
    same!(
        delivery(&mut desk, "a", 1)?.tries,
        2,
        "tries after a commit"
    );
    taken(&mut desk, 1, 1, 520)?;
    let found = delivery(&mut desk, "a", 1)?;
    same!(
        (found.tries, found.reason),
        (0, None),
        "once the sink came on"
    );
    Ok(())
}

fn parked(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    fail(&mut desk, 1, 200, Some(190))?;
    fail(&mut desk, 2, 200, Some(190))?;
    // Those who had claimed it before may fail, too.
    fail(&mut desk, 1, 210, None)?;
    fail(&mut desk, 1, 220, Some(215))?;
    desk.write(|tx| commit_entry(tx, 1, 230))?;
    let mut later = Desk::open(shelf)?;
    let found = delivery(&mut later, "a", 1)?;
    same!(
        (found.parked_at, found.tries),
        (Some(at(190)), 3),
        "what is set aside"
    );
    same!(
        claim(&mut later, 900, 910, 9)?,
        ids([3]),
        "claims beside it"
    );
    let count = later.write(|tx| tx.restart("a", Some(session_id(1)), at(920)))?;
    same!(count, 1, "sessions that begin again");
    let wanted = Delivery {
        projection: "a".to_owned(),
        session: session_id(1),
        taken: 0,
        due: 2,
        since: at(120),
        retry_at: at(920),
        tries: 0,
        left_out: 0,
        reason: None,
        parked_at: None,
    };
    same!(delivery(&mut desk, "a", 1)?, wanted, "after a restart");
    same!(
        claim(&mut desk, 919, 990, 9)?,
        ids([3]),
        "before the restart"
    );
    same!(claim(&mut desk, 920, 990, 9)?, ids([1]), "claims after it");
    Ok(())
}

fn parked_comes_on(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    desk.write(|tx| commit_entry(tx, 1, 140))?;
    fail(&mut desk, 1, 200, Some(190))?;
    taken(&mut desk, 1, 1, 210)?;
    let found = delivery(&mut desk, "a", 1)?;
    let state = (found.taken, found.parked_at, found.tries);
    same!(state, (1, None, 0), "what came on after it was set aside");
    same!(claim(&mut desk, 210, 300, 9)?, ids([3, 2, 1]), "claims");
    Ok(())
}

fn failed_late(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    taken(&mut desk, 1, 1, 150)?;
    let before = delivery(&mut desk, "a", 1)?;
    fail(&mut desk, 1, 900, Some(800))?;
    fail(&mut desk, 9, 900, None)?;
    same!(delivery(&mut desk, "a", 1)?, before, "what lacks nothing");
    let none = desk.read(|tx| tx.delivery("a", session_id(9)))?;
    same!(none, None, "what nothing was ever due of");
    Ok(())
}

fn apart(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    let others = |desk: &mut Desk| {
        let mut others = Vec::new();
        for (name, n) in [("a", 2), ("a", 3), ("b", 1), ("b", 2), ("b", 3)] {
            others.push(delivery(desk, name, n)?);
        }
        Ok::<_, Wrong>((others, desk.read(|tx| tx.lag("b"))?))
    };
    let before = others(&mut desk)?;
    fail(&mut desk, 1, 500, None)?;
    same!(others(&mut desk)?, before, "after a failure elsewhere");
    fail(&mut desk, 1, 500, Some(400))?;
    same!(
        others(&mut desk)?,
        before,
        "after something else was set aside"
    );
    taken(&mut desk, 1, 1, 500)?;
    same!(others(&mut desk)?, before, "after another one came on");
    let found = desk.write(|tx| tx.claim("b", at(500), at(600), 9))?;
    same!(found.len(), 3, "claims of the other projection");
    let record = desk.write(|tx| {
        fail_everywhere(tx)?;
        commit_entry(tx, 1, 700)
    })?;
    same!(record.number, 2, "the commit of a session that fails");
    Ok(())
}

fn fail_everywhere(tx: &mut dyn Transaction) -> Result<(), LedgerError> {
    for name in ["a", "b"] {
        for n in [1, 2, 3] {
            tx.failed(name, session_id(n), "r", at(900), Some(at(650)))?;
        }
    }
    Ok(())
}

fn troubled(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    desk.write(|tx| {
        for (name, n, parked_at) in [
            ("b", 1, None),
            ("a", 1, Some(at(200))),
            ("a", 3, None),
            ("b", 2, None),
        ] {
            tx.failed(name, session_id(n), "r", at(210), parked_at)?;
        }
        tx.taken("b", session_id(2), 1, at(220))
    })?;
    let mut later = Desk::open(shelf)?;
    for (name, limit, wanted) in [
        (None, 9, &[("a", 3), ("a", 1), ("b", 1)][..]),
        (None, 2, &[("a", 3), ("a", 1)]),
        (Some("a"), 9, &[("a", 3), ("a", 1)]),
        (Some("b"), 9, &[("b", 1)]),
        (Some("other"), 9, &[]),
    ] {
        let found = later.read(|tx| tx.troubled(name, limit))?;
        let mut whole = Vec::new();
        for (name, n) in wanted {
            whole.push(delivery(&mut desk, name, *n)?);
        }
        same!(
            found,
            whole,
            format!("at most {limit} troubles of {name:?}")
        );
    }
    Ok(())
}

fn lag(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill(&mut desk)?;
    let lag = |of: &str, wanted: (u64, u64, Option<i64>, u64, u64), when: &str| {
        let mut later = Desk::open(shelf)?;
        let found = later.read(|tx| tx.lag(of))?;
        let (receipts, sessions, since, failing, parked) = wanted;
        let wanted = Lag {
            receipts,
            sessions,
            since: since.map(at),
            failing,
            parked,
        };
        same!(found, wanted, format!("the lag of {of} {when}"));
        Ok(())
    };
    lag("a", (3, 3, Some(110), 0, 0), "at first")?;
    desk.write(|tx| {
        commit_entry(tx, 1, 140)?;
        commit_entry(tx, 1, 150)?;
        tx.taken("a", session_id(3), 1, at(200))
    })?;
    lag("a", (4, 2, Some(120), 0, 0), "after a part was taken")?;
    taken(&mut desk, 1, 2, 200)?;
    lag("a", (2, 2, Some(130), 0, 0), "after more was taken")?;
    fail(&mut desk, 1, 300, None)?;
    fail(&mut desk, 2, 300, Some(250))?;
    lag("a", (2, 2, Some(130), 1, 1), "with failures")?;
    lag("b", (5, 3, Some(110), 0, 0), "that took nothing")?;
    lag("other", (0, 0, None, 0, 0), "that is not there")?;
    taken(&mut desk, 1, 3, 200)?;
    taken(&mut desk, 2, 1, 200)?;
    lag("a", (0, 0, None, 0, 0), "that has all")?;
    let past = desk.write(|tx| tx.claim("a", at(900), at(901), 9))?;
    holds!(
        past.is_empty(),
        "something is due at a projection without a lag"
    );
    Ok(())
}

/// Three receipts of the first session, of which the sink has one; it failed, and is set aside if so said.
fn fill_and_fail(desk: &mut Desk, parked_at: Option<i64>) -> Outcome {
    fill(desk)?;
    desk.write(|tx| {
        commit_entry(tx, 1, 140)?;
        commit_entry(tx, 1, 150)
    })?;
    taken(desk, 1, 1, 200)?;
    fail(desk, 1, 900, parked_at)
}

/// How a projection stands with the first session once no failure counts.
fn stands(taken: u64, since: i64, retry_at: i64, left_out: u64) -> Delivery {
    Delivery {
        projection: "a".to_owned(),
        session: session_id(1),
        taken,
        due: 3,
        left_out,
        since: at(since),
        retry_at: at(retry_at),
        tries: 0,
        reason: None,
        parked_at: None,
    }
}

fn own_account(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill_and_fail(&mut desk, Some(190))?;
    for (has, since, when) in [(2, 150, 300), (0, 120, 310), (0, 120, 320), (1, 140, 330)] {
        desk.write(|tx| tx.come_to("a", session_id(1), has, at(when)))?;
        let mut later = Desk::open(shelf)?;
        let found = delivery(&mut later, "a", 1)?;
        let what = format!("a sink that says it has {has}");
        same!(found, stands(has, since, when, 0), what);
    }
    same!(
        claim(&mut desk, 329, 400, 9)?,
        ids([3, 2]),
        "before its time"
    );
    same!(
        claim(&mut desk, 330, 400, 9)?,
        ids([1]),
        "when its time has come"
    );
    fail(&mut desk, 1, 900, None)?;
    desk.write(|tx| {
        tx.come_to("a", session_id(1), 3, at(500))?;
        tx.come_to("a", session_id(9), 1, at(500))
    })?;
    same!(
        desk.read(|tx| tx.troubled(None, 9))?,
        [],
        "troubles of who has all"
    );
    let none = desk.read(|tx| tx.delivery("a", session_id(9)))?;
    same!(none, None, "a session that nothing was ever due of");
    same!(
        delivery(&mut desk, "b", 1)?.taken,
        0,
        "what another sink has"
    );
    Ok(())
}

fn retried(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill_and_fail(&mut desk, Some(190))?;
    fail(&mut desk, 3, 900, None)?;
    taken(&mut desk, 2, 1, 200)?;
    desk.write(|tx| tx.failed("b", session_id(1), "r", at(900), Some(at(190))))?;
    let others = delivery(&mut desk, "b", 1)?;
    for (name, session, wanted) in [
        ("other", None, 0),
        ("a", Some(9), 0),
        ("a", Some(2), 0),
        ("a", Some(1), 1),
    ] {
        let count = desk.write(|tx| tx.retry(name, session.map(session_id), at(300)))?;
        same!(count, wanted, format!("sessions of {name} to try again"));
    }
    let mut later = Desk::open(shelf)?;
    let found = delivery(&mut later, "a", 1)?;
    same!(found, stands(1, 140, 300, 0), "what was set aside");
    same!(claim(&mut later, 299, 400, 9)?, [], "before the time");
    same!(
        claim(&mut later, 300, 400, 9)?,
        ids([1]),
        "what is tried again"
    );
    let count = desk.write(|tx| tx.retry("a", None, at(350)))?;
    same!(count, 2, "all that lack something");
    same!(claim(&mut later, 350, 400, 9)?, ids([1, 3]), "all of them");
    same!(delivery(&mut desk, "b", 1)?, others, "another projection");
    Ok(())
}

fn left_out(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    fill_and_fail(&mut desk, Some(190))?;
    let other = delivery(&mut desk, "b", 1)?;
    for (number, wanted) in [
        (2, stands(2, 150, 300, 2)),
        // What was left out before stays so.
        (1, stands(2, 150, 310, 2)),
    ] {
        let when = wanted.retry_at;
        desk.write(|tx| tx.leave_out("a", session_id(1), number, when))?;
        let mut later = Desk::open(shelf)?;
        let found = delivery(&mut later, "a", 1)?;
        same!(found, wanted, format!("without all up to {number}"));
    }
    same!(
        claim(&mut desk, 310, 400, 9)?,
        ids([3, 2, 1]),
        "what is claimed"
    );
    desk.write(|tx| tx.come_to("a", session_id(1), 0, at(400)))?;
    let found = delivery(&mut desk, "a", 1)?;
    same!(found, stands(0, 120, 400, 2), "a sink that lost all");
    desk.write(|tx| tx.leave_out("a", session_id(1), 9, at(410)))?;
    let found = delivery(&mut desk, "a", 1)?;
    same!(
        (found.taken, found.left_out),
        (3, 3),
        "without more than there is"
    );
    same!(delivery(&mut desk, "b", 1)?, other, "another projection");
    Ok(())
}
