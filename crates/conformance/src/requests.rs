//! Requests that were done are not done again.

use siglum_ledger::RequestRecord;

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a request is noted once", once),
    Check::new("old requests are let go, and no others", let_go),
];

fn request(n: i64) -> RequestRecord {
    RequestRecord {
        key: format!("key {n} ä"),
        content: format!("content {n}"),
        outcome: format!("outcome {n}"),
        at: at(n),
    }
}

fn once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    same!(
        desk.write(|tx| tx.put_request(&request(1)))?,
        true,
        "whether it is new"
    );
    let other = RequestRecord {
        key: request(1).key,
        ..request(2)
    };
    let mut later = Desk::open(shelf)?;
    let again = later.write(|tx| tx.put_request(&other))?;
    same!(again, false, "whether it is new the second time");
    let found = later.read(|tx| tx.request(&request(1).key))?;
    same!(found, Some(request(1)), "the request");
    same!(
        later.read(|tx| tx.request(&request(2).key))?,
        None,
        "a request that nobody made"
    );
    Ok(())
}

fn let_go(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    desk.write(|tx| {
        for n in 1..5 {
            tx.put_request(&request(n))?;
        }
        Ok(())
    })?;
    let left = |from: i64| -> Outcome {
        let mut later = Desk::open(shelf)?;
        for n in 1..5 {
            let found = later.read(|tx| tx.request(&request(n).key))?;
            same!(found, (n >= from).then(|| request(n)), "the request");
        }
        Ok(())
    };
    let gone = desk.write(|tx| tx.drop_requests(at(3), 1))?;
    same!(gone, 1, "the oldest one is let go");
    left(2)?;
    desk.write(|tx| tx.put_request(&request(1)).map(drop))?;
    same!(
        desk.write(|tx| tx.drop_requests(at(3), 9))?,
        2,
        "how many are let go"
    );
    left(3)
}
