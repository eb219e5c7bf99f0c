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
    same!(
        desk.write(|tx| tx.drop_requests(at(3)))?,
        2,
        "how many are let go"
    );
    let mut later = Desk::open(shelf)?;
    for n in 1..5 {
        let found = later.read(|tx| tx.request(&request(n).key))?;
        same!(found, (n >= 3).then(|| request(n)), "the request");
    }
    Ok(())
}
