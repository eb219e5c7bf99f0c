//! The audit: a chain that grows at its end alone.

use siglum_domain::audit::{Action, Body, Entry, GENESIS, Header, Outcome, Verifying};
use siglum_domain::{LedgerId, Redacted};
use siglum_ledger::{AuditFilter, LedgerError};

use super::check::{Check, Desk, Outcome as Result, Shelf, Wrong, holds, same};
use super::sample::*;

/// How many threads append at once, and how many entries each.
const THREADS: u128 = 8;
const EACH: usize = 12;

pub(super) const CHECKS: &[Check] = &[
    Check::new("an audit entry is found as it was recorded", recorded),
    Check::new("audit entries are filtered by every field", filtered),
    Check::new("audit entries are read in order, page by page", paged),
    Check::new(
        "a transaction that fails leaves no gap in the audit",
        no_gap,
    ),
    Check::new("entries that are recorded at once are one chain", at_once),
];

fn header(actor: &str, action: Action, seconds: i64) -> Header {
    Header {
        at: at(seconds),
        actor: actor.to_owned(),
        action,
        outcome: Outcome::Done,
        session: None,
        pipeline: None,
    }
}

fn body(text: &str) -> Body {
    Body {
        salt: [9; 32],
        text: Redacted::from_stored(text.to_owned()),
    }
}

fn add(desk: &mut Desk, header: &Header) -> Result<Entry> {
    desk.write(|tx| tx.append_audit(header, &body("{}")))
}

fn recorded(shelf: &dyn Shelf) -> Result {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    same!(desk.read(|tx| tx.audit_end())?, None, "the end of nothing");
    let whole = Header {
        outcome: Outcome::Refused {
            reason: "\"so\" — ü".to_owned(),
            field: Some("issue_number".to_owned()),
        },
        session: Some(session_id(2)),
        pipeline: Some("p 1".to_owned()),
        ..header("Ann", Action::SessionRefused, 1)
    };
    let bare = header("", Action::Other("x.y".to_owned()), 2);
    let text = r#"{"links":{"label":["a=\u0000ü"]}}"#;
    let (first, second) = desk.write(|tx| {
        let first = tx.append_audit(&whole, &body(text))?;
        Ok((first, tx.append_audit(&bare, &body("{}"))?))
    })?;
    same!(first.header, whole, "what was recorded first");
    same!(second.header, bare, "what was recorded second");
    let wanted = Entry::seal(home, (1, GENESIS), whole, body(text));
    same!(first, wanted, "the first entry");
    let wanted = Entry::seal(home, (2, &first.digest), bare, body("{}"));
    same!(second, wanted, "the second entry");
    let mut later = Desk::open(shelf)?;
    let all = later.read(|tx| tx.audit(&AuditFilter::default()))?;
    same!(all, [second.clone(), first], "the audit");
    let end = later.read(|tx| tx.audit_end())?;
    same!(end, Some((2, second.digest)), "the end");
    let third = add(&mut later, &header("b", Action::TokenUsed, 3))?;
    let end = desk.read(|tx| tx.audit_end())?;
    same!(end, Some((3, third.digest)), "the end, later");
    Ok(())
}

/// Four entries that differ in all that a filter can say.
fn various() -> [Header; 4] {
    let refused = Outcome::Refused {
        reason: String::new(),
        field: None,
    };
    [
        Header {
            session: Some(session_id(1)),
            ..header("token tok_1 night", Action::TokenUsed, 1)
        },
        Header {
            pipeline: Some("p".to_owned()),
            ..header("token tok_12", Action::TokenUsed, 2)
        },
        Header {
            outcome: refused,
            ..header("token tok_1", Action::TokenRefused, 3)
        },
        Header {
            session: Some(session_id(2)),
            pipeline: Some("p 2".to_owned()),
            ..header("Token", Action::SessionCreated, 4)
        },
    ]
}

fn filtered(shelf: &dyn Shelf) -> Result {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    for entry in &various() {
        add(&mut desk, entry)?;
    }
    let mut later = Desk::open(shelf)?;
    let mut found = |set: &dyn Fn(&mut AuditFilter)| -> Result<Vec<u64>> {
        let mut filter = AuditFilter::default();
        set(&mut filter);
        let entries = later.read(|tx| tx.audit(&filter))?;
        Ok(entries.iter().map(|e| e.number).collect())
    };
    let text = |text: &str| Some(text.to_owned());
    let by_session = found(&|f| f.session = Some(session_id(1)))?;
    same!(by_session, [1], "of a session");
    let by_action = found(&|f| f.action = text("token.used"))?;
    same!(by_action, [2, 1], "of an action");
    let by_part = found(&|f| f.action = text("token"))?;
    holds!(by_part.is_empty(), "a part of an action names it");
    let by_actor = found(&|f| f.actor = text("token tok_1"))?;
    same!(by_actor, [3, 1], "of an actor");
    let by_pipeline = found(&|f| f.pipeline = text("p"))?;
    same!(by_pipeline, [2], "of a pipeline");
    same!(found(&|f| f.since = Some(at(3)))?, [4, 3], "from a time on");
    same!(found(&|f| f.until = Some(at(3)))?, [2, 1], "before a time");
    let by_outcome = found(&|f| f.outcome = text("refused"))?;
    same!(by_outcome, [3], "of an outcome");
    same!(found(&|f| f.before = Some(3))?, [2, 1], "before a number");
    same!(found(&|f| f.limit = 2)?, [4, 3], "at most two");
    same!(found(&|_| ())?, [4, 3, 2, 1], "all");
    let by_several = found(&|f| {
        (f.action, f.actor) = (text("token.used"), text("token"));
        (f.since, f.before, f.limit) = (Some(at(1)), Some(3), 1);
    })?;
    same!(by_several, [2], "by several conditions");
    Ok(())
}

fn paged(shelf: &dyn Shelf) -> Result {
    let mut desk = Desk::open(shelf)?;
    for n in 1..=5 {
        add(&mut desk, &header("a", Action::TokenUsed, n))?;
    }
    let mut later = Desk::open(shelf)?;
    let mut page = |after, limit| -> Result<Vec<u64>> {
        let rows = later.read(|tx| tx.audit_after(after, limit))?;
        let read = |number, row: &Entry| (number == row.number).then_some(number);
        Ok(rows
            .iter()
            .filter_map(|s| s.row.as_ref().ok().and_then(|row| read(s.number, row)))
            .collect())
    };
    same!(page(0, 9)?, [1, 2, 3, 4, 5], "all entries");
    same!(page(0, 2)?, [1, 2], "the first page");
    same!(page(2, 2)?, [3, 4], "the second page");
    same!(page(5, 2)?, Vec::<u64>::new(), "behind the last");
    Ok(())
}

fn no_gap(shelf: &dyn Shelf) -> Result {
    let mut desk = Desk::open(shelf)?;
    add(&mut desk, &header("a", Action::TokenUsed, 1))?;
    let failed = desk.write(|tx| {
        tx.append_audit(&header("b", Action::TokenUsed, 2), &body("{}"))?;
        Err::<(), _>(LedgerError::Damaged("so it was wanted".to_owned()))
    });
    holds!(failed.is_err(), "a transaction that failed succeeded");
    let next = add(&mut desk, &header("c", Action::TokenUsed, 3))?;
    same!(next.number, 2, "the number after one that was not recorded");
    let last = desk.write(|tx| {
        tx.append_audit(&header("d", Action::TokenUsed, 4), &body("{}"))?;
        let undone = tx.nested(&mut |tx| {
            tx.append_audit(&header("e", Action::TokenUsed, 5), &body("{}"))?;
            Err(LedgerError::Damaged("undone".to_owned()))
        });
        drop(undone);
        tx.append_audit(&header("f", Action::TokenUsed, 6), &body("{}"))
    })?;
    same!(last.number, 4, "the number after one that was taken back");
    sound(&mut desk, 4)
}

/// All entries, verified as one chain from its beginning.
fn sound(desk: &mut Desk, length: u64) -> Result {
    let ledger: LedgerId = desk.0.id();
    let (rows, end) = desk.read(|tx| Ok((tx.audit_after(0, 1_000)?, tx.audit_end()?)))?;
    let mut verifying = Verifying::new(ledger);
    for stored in &rows {
        let row = stored.row.as_ref().map_err(String::as_str);
        let flaws = verifying.entry(stored.number, row);
        holds!(flaws.is_empty(), format!("the chain is broken: {flaws:?}"));
    }
    let (number, digest) = end.ok_or_else(|| Wrong("the chain has no end".to_owned()))?;
    same!(number, length, "the length of the chain");
    same!(verifying.end(number, &digest), None, "the end of the chain");
    Ok(())
}

fn at_once(shelf: &dyn Shelf) -> Result {
    let mut desks = (0..THREADS)
        .map(|_| Desk::open(shelf))
        .collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..)
            .zip(&mut desks)
            .map(|(n, desk)| {
                scope.spawn(move || {
                    for _ in 0..EACH {
                        add(desk, &header(&format!("thread {n}"), Action::TokenUsed, n))?;
                    }
                    Ok::<(), Wrong>(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            let panicked = |_| Wrong("a thread gave up".to_owned());
            thread.join().map_err(panicked)?
        })
    })?;
    let length = THREADS as u64 * EACH as u64;
    sound(&mut desks[0], length)
}
