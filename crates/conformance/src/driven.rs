//! Driven turns: what waits in one that is open, and the receipt by which it comes into the log.

use siglum_domain::observation::Source;
use siglum_domain::receipt::{Receipt, seal, verifies};
use siglum_ledger::{Appended, KeyedReceipt, LedgerError, LogRow, OpenTurn};

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a session has one open turn, and each its own", open_turns),
    Check::new("what waits in an open turn is in no log", waits),
    Check::new("an entry waits once, in its order", waits_once),
    Check::new("a turn that goes takes what waits with it", dropped),
    Check::new(
        "rows come into the log behind its end, in their order",
        appended,
    ),
    Check::new("a row that is in the log is not appended", appended_once),
    Check::new(
        "a row that was forgotten before it came has no payload",
        appended_late,
    ),
    Check::new("a turn is committed as a whole", committed),
    Check::new("a driver finds its receipt by its key", keyed),
    Check::new("a key stands for one receipt", key_once),
    Check::new("a keyed receipt that does not follow is refused", follows),
];

fn opened(desk: &mut Desk, n: u128) -> Outcome<Option<OpenTurn>> {
    desk.read(|tx| tx.open_turn(session_id(n)))
}

fn open_turns(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let [first, second, third] = [1, 2, 3].map(open_turn);
    let third = OpenTurn {
        opened_at: at(0),
        held: Some("a call has no result — decide".to_owned()),
        base: 7,
        ..third
    };
    desk.write(|tx| {
        for turn in [&first, &second, &third] {
            tx.put_open_turn(turn)?;
        }
        Ok(())
    })?;
    same!(opened(&mut desk, 3)?, Some(third.clone()), "a turn on hold");
    let taken_over = OpenTurn {
        id: turn_id(9),
        key: "another".to_owned(),
        epoch: 2,
        ..first
    };
    desk.write(|tx| tx.put_open_turn(&taken_over))?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = opened(desk, 1)?;
        same!(found, Some(taken_over.clone()), "a turn that was replaced");
        let oldest = [third.clone(), taken_over.clone(), second.clone()];
        let found = desk.read(|tx| tx.open_turns(9))?;
        same!(found, oldest, "the open turns, oldest first");
        let found = desk.read(|tx| tx.open_turns(2))?;
        same!(found, oldest[..2], "two open turns");
    }
    Ok(())
}

fn waiting(desk: &mut Desk, n: u128) -> Outcome<Vec<LogRow>> {
    desk.read(|tx| tx.pending(session_id(n)))
}

fn waits(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let rows = [row(1, "b", "first"), row(2, "a", &"long ".repeat(1000))];
    desk.write(|tx| {
        tx.put_open_turn(&open_turn(1))?;
        for row in &rows {
            tx.add_pending(session_id(1), row)?;
        }
        tx.put_open_turn(&open_turn(1))
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        same!(waiting(desk, 1)?, rows, "what waits, whole");
        same!(waiting(desk, 2)?, [], "what waits in another session");
        let (entries, record, payloads) = desk.read(|tx| {
            let entries = tx.entries(session_id(1), 0, 0)?;
            let payloads = tx.payloads(0, 9)?.len();
            Ok((entries, tx.session(session_id(1))?, payloads))
        })?;
        same!(entries, [], "the log before the commit");
        same!(
            record.map(|s| s.head),
            Some(0),
            "the head before the commit"
        );
        same!(payloads, 0, "payloads before the commit");
    }
    Ok(())
}

fn waits_once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_open_turn(&open_turn(1))?;
        tx.put_open_turn(&open_turn(2))
    })?;
    let (z, a) = (row(1, "z", "x"), row(2, "a", "x"));
    let other_source = LogRow {
        source: Source::Api,
        ..row(3, "z", "y")
    };
    for (n, row, is_new) in [
        (1, &z, true),
        (1, &a, true),
        (1, &row(4, "z", "other words"), false),
        (1, &other_source, true),
        (2, &z, true),
    ] {
        let added = desk.write(|tx| tx.add_pending(session_id(n), row))?;
        same!(added, is_new, format!("{} in session {n} is new", row.key));
    }
    let wanted = [z.clone(), a, other_source];
    same!(waiting(&mut desk, 1)?, wanted, "what waits, in order");
    same!(
        waiting(&mut desk, 2)?,
        [z],
        "what waits in the other session"
    );
    Ok(())
}

fn dropped(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [1, 2] {
            tx.put_open_turn(&open_turn(n))?;
            tx.add_pending(session_id(n), &row(1, "a", "x"))?;
        }
        tx.drop_turn(session_id(1))?;
        tx.drop_turn(session_id(3))
    })?;
    same!(opened(&mut desk, 1)?, None, "the turn that went");
    same!(waiting(&mut desk, 1)?, [], "what waited in it");
    same!(opened(&mut desk, 2)?, Some(open_turn(2)), "the other turn");
    same!(
        waiting(&mut desk, 2)?.len(),
        1,
        "what waits in the other one"
    );
    let again = desk.write(|tx| {
        tx.put_open_turn(&open_turn(1))?;
        tx.add_pending(session_id(1), &row(1, "a", "x"))
    })?;
    holds!(again, "an entry that went with its turn is said to wait");
    Ok(())
}

fn appended(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let first = [row(3, "c", "x"), row(1, "a", &"long ".repeat(1000))];
    let second = [row(2, "b", "x")];
    let known = desk.write(|tx| {
        append(tx, session_id(1), 9, None, &prompt("before", "x"))?;
        Ok([
            tx.append_rows(session_id(1), turn_id(1), &first)?,
            tx.append_rows(session_id(1), turn_id(7), &[])?,
            tx.append_rows(session_id(1), turn_id(2), &second)?,
        ])
    })?;
    same!(known, [None, None, None], "rows that are there already");
    let mut wanted = Vec::new();
    for (sequence, turn, row) in [(2, 1, &first[0]), (3, 1, &first[1]), (4, 2, &second[0])] {
        wanted.push((row.entry(sequence, turn_id(turn))?, row.sealed(sequence)));
    }
    let mut later = Desk::open(shelf)?;
    let (found, sealed, record) = later.read(|tx| {
        let sealed = receipt_entries(tx, session_id(1), 2, 9)?;
        let found = tx.entries(session_id(1), 1, 0)?;
        Ok((found, sealed, tx.session(session_id(1))?))
    })?;
    same!(record.map(|s| s.head), Some(4), "the head");
    let found: Vec<_> = found.into_iter().zip(sealed).collect();
    same!(found, wanted, "rows in the log");
    let known = desk.write(|tx| append(tx, session_id(1), 10, None, &prompt("a", "x")))?;
    same!(known, Appended::Known, "a row that is seen once more");
    Ok(())
}

fn appended_once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| append(tx, session_id(1), 1, None, &prompt("a", "x")))?;
    for (rows, key) in [
        ([row(2, "new", "x"), row(3, "a", "other")], "a"),
        ([row(2, "twice", "x"), row(3, "twice", "x")], "twice"),
    ] {
        let mut known = None;
        let refused = desk.write(|tx| {
            known = tx.append_rows(session_id(1), turn_id(1), &rows)?;
            Err::<(), _>(LedgerError::Busy)
        });
        holds!(refused.is_err(), "a failed transaction succeeded");
        same!(known.as_deref(), Some(key), "the key that is in the log");
    }
    let (record, entries) = desk.read(|tx| {
        let record = tx.session(session_id(1))?;
        Ok((record, tx.entries(session_id(1), 0, 0)?.len()))
    })?;
    same!(record.map(|s| s.head), Some(1), "the head after a refusal");
    same!(entries, 1, "entries after a refusal");
    let other = [row(2, "a", "other")];
    let elsewhere = desk.write(|tx| tx.append_rows(session_id(2), turn_id(2), &other))?;
    same!(elsewhere, None, "a key that another session has");
    Ok(())
}

fn appended_late(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    // What the samples see, they see at 1.
    let late = row(1, "late", "x");
    let new = LogRow {
        at: at(6),
        ..row(2, "new", "x")
    };
    desk.write(|tx| {
        tx.forget_session(session_id(1), at(5))?;
        tx.append_rows(session_id(1), turn_id(1), &[late.clone(), new.clone()])
    })?;
    let (entries, sealed) = desk.read(|tx| {
        let entries = tx.entries(session_id(1), 0, 0)?;
        Ok((entries, receipt_entries(tx, session_id(1), 1, 9)?))
    })?;
    same!(entries, [new.entry(2, turn_id(1))?], "entries with payload");
    same!(sealed, [late.sealed(1), new.sealed(2)], "entries to seal");
    Ok(())
}

/// Seals what waits in the open turn of the first session, as a driver does.
fn commit_turn(desk: &mut Desk, key: &str, content: &str, seconds: i64) -> Outcome<Receipt> {
    let one = session_id(1);
    let done = desk.write(|tx| {
        let Some(turn) = tx.open_turn(one)? else {
            return Ok(None);
        };
        let rows = tx.pending(one)?;
        let sealed: Vec<_> = (turn.base + 1..)
            .zip(&rows)
            .map(|(n, r)| r.sealed(n))
            .collect();
        tx.append_rows(one, turn.id, &rows)?;
        let before = tx.last_receipt(one)?;
        let Some(receipt) = seal(one, before.as_ref(), &sealed, vec![turn.id], at(seconds)) else {
            return Ok(None);
        };
        let taken = tx.put_keyed_receipt(&receipt, key, content)?;
        tx.drop_turn(one)?;
        Ok(taken.then_some(receipt))
    })?;
    done.ok_or_else(|| Wrong(format!("the turn {key} was not committed")))
}

/// Opens the next turn of the first session and says something in it.
fn say(desk: &mut Desk, n: u128) -> Outcome {
    desk.write(|tx| {
        let base = tx.session(session_id(1))?.map_or(0, |s| s.head);
        let turn = OpenTurn {
            id: turn_id(n),
            base,
            ..open_turn(1)
        };
        tx.put_open_turn(&turn)?;
        for (id, key) in [(n * 10, "p"), (n * 10 + 1, "a")] {
            tx.add_pending(session_id(1), &row(id, &format!("{key}{n}"), "x"))?;
        }
        Ok(())
    })
}

fn committed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let mut previous = siglum_domain::receipt::GENESIS.to_owned();
    for n in 1..=3u64 {
        say(&mut desk, n.into())?;
        let receipt = commit_turn(&mut desk, &format!("t{n}"), "c", 8)?;
        let mut other = Desk::open(shelf)?;
        let (rows, record, last) = other.read(|tx| {
            let rows = receipt_entries(tx, session_id(1), receipt.first, receipt.last)?;
            let last = tx.last_receipt(session_id(1))?;
            Ok((rows, tx.session(session_id(1))?, last))
        })?;
        holds!(
            verifies(&receipt, &previous, &rows),
            format!("receipt {n} does not verify")
        );
        let marks = record.map(|s| (s.head, s.sealed));
        same!(marks, Some((2 * n, 2 * n)), "the head, and what is sealed");
        same!(last, Some(receipt.clone()), "the last receipt");
        same!(waiting(&mut other, 1)?, [], "what waits after the commit");
        previous = receipt.digest;
    }
    let none = desk.read(|tx| tx.last_receipt(session_id(2)))?;
    same!(none, None, "the last receipt of another session");
    Ok(())
}

fn receipt_of(desk: &mut Desk, n: u128, key: &str) -> Outcome<Option<KeyedReceipt>> {
    desk.read(|tx| tx.keyed_receipt(session_id(n), key))
}

fn keyed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    say(&mut desk, 1)?;
    let first = commit_turn(&mut desk, "z", "digest of z", 8)?;
    let plain = desk.write(|tx| commit_entry(tx, 1, 9))?;
    say(&mut desk, 2)?;
    let third = commit_turn(&mut desk, "a", "digest of a", 10)?;
    desk.write(|tx| commit_entry(tx, 2, 9))?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        for (key, receipt, content) in [("z", &first, "digest of z"), ("a", &third, "digest of a")]
        {
            let wanted = KeyedReceipt {
                receipt: receipt.clone(),
                content: content.to_owned(),
            };
            let found = receipt_of(desk, 1, key)?;
            same!(found, Some(wanted), format!("the receipt of {key}"));
        }
        for (n, key) in [(1, ""), (1, "other"), (2, "z")] {
            let found = receipt_of(desk, n, key)?;
            same!(found, None, format!("{key:?} in session {n}"));
        }
        let found = desk.read(|tx| tx.receipts(session_id(1)))?;
        same!(
            found,
            [first.clone(), plain.clone(), third.clone()],
            "all receipts"
        );
    }
    Ok(())
}

fn key_once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    say(&mut desk, 1)?;
    let first = commit_turn(&mut desk, "k", "c", 8)?;
    for content in ["c", "other"] {
        let taken = desk.write(|tx| tx.put_keyed_receipt(&first, "k", content))?;
        holds!(!taken, "a receipt was taken twice");
    }
    let next = desk.write(|tx| {
        append(tx, session_id(1), 99, None, &prompt("more", "x"))?;
        next_receipt(tx, 1, 9)
    })?;
    let taken = desk.write(|tx| tx.put_keyed_receipt(&next, "k", "other"))?;
    holds!(!taken, "a second receipt got the key of the first");
    let wanted = KeyedReceipt {
        receipt: first.clone(),
        content: "c".to_owned(),
    };
    same!(
        receipt_of(&mut desk, 1, "k")?,
        Some(wanted),
        "what has the key"
    );
    let found =
        desk.read(|tx| Ok((tx.last_receipt(session_id(1))?, tx.session(session_id(1))?)))?;
    same!(found.0, Some(first), "the last receipt");
    same!(found.1.map(|s| s.sealed), Some(2), "what is sealed");
    let taken = desk.write(|tx| tx.put_keyed_receipt(&next, "l", "other"))?;
    holds!(taken, "a receipt with a key of its own was refused");
    let taken = desk.write(|tx| {
        append(tx, session_id(2), 98, None, &prompt("p", "x"))?;
        let receipt = next_receipt(tx, 2, 9)?;
        tx.put_keyed_receipt(&receipt, "k", "c")
    })?;
    holds!(taken, "a key of one session is taken in another");
    Ok(())
}

fn follows(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let good = desk.write(|tx| {
        commit_entry(tx, 1, 8)?;
        append(tx, session_id(1), 99, None, &prompt("more", "x"))?;
        next_receipt(tx, 1, 9)
    })?;
    let odd = |change: fn(&mut Receipt)| {
        let mut receipt = good.clone();
        change(&mut receipt);
        receipt
    };
    for bad in [
        odd(|r| r.number = 1),
        odd(|r| r.number = 3),
        odd(|r| r.previous = "f".repeat(64)),
        odd(|r| r.first = 1),
        odd(|r| r.first = 3),
        odd(|r| r.last = 9),
        odd(|r| r.last = 1),
    ] {
        let taken = desk.write(|tx| tx.put_keyed_receipt(&bad, "k", "c"))?;
        holds!(!taken, format!("{bad:?} was taken"));
    }
    same!(
        receipt_of(&mut desk, 1, "k")?,
        None,
        "the receipt of the key"
    );
    let record = desk.read(|tx| tx.session(session_id(1)))?;
    same!(record.map(|s| s.sealed), Some(1), "what is sealed");
    let taken = desk.write(|tx| tx.put_keyed_receipt(&good, "k", "c"))?;
    holds!(taken, "the receipt that follows was refused");
    Ok(())
}
