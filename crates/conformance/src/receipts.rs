//! Receipts: what is sealed, that the chain verifies, and that it never forks.

use siglum_domain::receipt::{GENESIS, Receipt, payload_digest, seal, verifies};
use siglum_ledger::{Mode, SessionRecord};

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "what is to be sealed names each entry with its turn",
        to_seal,
    ),
    Check::new("a chain of receipts verifies", chain),
    Check::new("a chain never forks", forks),
    Check::new("a receipt that does not follow is refused", gaps),
    Check::new("unsealed sessions come longest silent first", unsealed),
];

fn log(desk: &mut Desk, entries: u128) -> Outcome {
    furnish(desk)?;
    desk.write(|tx| {
        for n in 1..=entries {
            let turn = (n > 1).then(|| turn_id(n / 3));
            append(tx, session_id(1), n, turn, &prompt(&format!("k{n}"), "x"))?;
        }
        Ok(())
    })
}

/// The receipt over `first ..= last` behind `before`.
fn sealed(desk: &mut Desk, before: Option<&Receipt>, first: u64, last: u64) -> Outcome<Receipt> {
    let rows = desk.read(|tx| receipt_entries(tx, session_id(1), first, last))?;
    let turns = vec![turn_id(1), turn_id(2)];
    seal(session_id(1), before, &rows, turns, at(8))
        .ok_or_else(|| Wrong(format!("there is nothing to seal in {first} to {last}")))
}

fn to_seal(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    log(&mut desk, 6)?;
    let rows = desk.read(|tx| tx.to_seal(session_id(1), 2, 4))?;
    let found: Vec<_> = rows
        .iter()
        .map(|(e, turn)| (e.sequence, e.header.as_str(), *turn))
        .collect();
    let wanted = [
        (2, "hook\nk2\nprompt:k2", Some(turn_id(0))),
        (3, "hook\nk3\nprompt:k3", Some(turn_id(1))),
        (4, "hook\nk4\nprompt:k4", Some(turn_id(1))),
    ];
    same!(found, wanted, "entries to seal");
    let fact = serde_json::to_string(&prompt("k2", "x").fact)
        .map_err(|e| Wrong(format!("a fact has no stored form: {e}")))?;
    let digest = payload_digest(&[7; 32], fact.as_bytes());
    same!(rows[0].0.payload, digest, "the salted digest of a payload");
    Ok(())
}

fn chain(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    log(&mut desk, 7)?;
    let mut before: Option<Receipt> = None;
    for (first, last) in [(1, 3), (4, 4), (5, 7)] {
        let receipt = sealed(&mut desk, before.as_ref(), first, last)?;
        let taken = desk.write(|tx| tx.put_receipt(&receipt))?;
        holds!(
            taken,
            format!("the receipt over {first} to {last} was refused")
        );
        let record = desk.read(|tx| tx.session(session_id(1)))?;
        let marks = record.map(|s| (s.sealed, s.head));
        same!(marks, Some((last, 7)), "what is sealed, and the head");
        before = Some(receipt);
    }
    let receipts = desk.read(|tx| tx.receipts(session_id(1)))?;
    let found: Vec<_> = receipts
        .iter()
        .map(|r| (r.number, r.first, r.last))
        .collect();
    same!(found, [(1, 1, 3), (2, 4, 4), (3, 5, 7)], "the receipts");
    same!(receipts.last(), before.as_ref(), "the last receipt");
    let mut previous = GENESIS.to_owned();
    for receipt in receipts {
        let rows =
            desk.read(|tx| receipt_entries(tx, session_id(1), receipt.first, receipt.last))?;
        let true_ = verifies(&receipt, &previous, &rows);
        holds!(true_, format!("receipt {} does not verify", receipt.number));
        previous = receipt.digest;
    }
    Ok(())
}

fn forks(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    log(&mut desk, 6)?;
    let mut other = Desk::open(shelf)?;
    let mine = sealed(&mut desk, None, 1, 4)?;
    let theirs = sealed(&mut other, None, 1, 3)?;
    let again = mine.clone();
    let taken = desk.write(|tx| tx.put_receipt(&mine))?;
    holds!(taken, "the first receipt was refused");
    for second in [theirs, again] {
        let taken = other.write(|tx| tx.put_receipt(&second))?;
        holds!(!taken, "a second chain was begun");
    }
    let follower = sealed(&mut desk, Some(&mine), 5, 6)?;
    let foreign = Receipt {
        previous: "f".repeat(64),
        ..follower.clone()
    };
    let taken = desk.write(|tx| tx.put_receipt(&foreign))?;
    holds!(
        !taken,
        "a receipt that names another one before it was taken"
    );
    let renumbered = Receipt {
        number: 7,
        ..follower.clone()
    };
    let taken = desk.write(|tx| tx.put_receipt(&renumbered))?;
    holds!(!taken, "a receipt with a number out of turn was taken");
    let taken = desk.write(|tx| tx.put_receipt(&follower))?;
    holds!(taken, "the receipt that follows was refused");
    let found = desk.read(|tx| tx.receipts(session_id(1)))?;
    same!(found, [mine, follower], "the receipts");
    Ok(())
}

fn gaps(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    log(&mut desk, 5)?;
    let whole = sealed(&mut desk, None, 1, 5)?;
    let ranges = [(2, 5), (0, 5), (1, 6), (3, 2), (1, 0)];
    for (first, last) in ranges {
        let receipt = Receipt {
            first,
            last,
            ..whole.clone()
        };
        let taken = desk.write(|tx| tx.put_receipt(&receipt))?;
        holds!(
            !taken,
            format!("a receipt over {first} to {last} was taken")
        );
    }
    let found = desk.read(|tx| Ok((tx.receipts(session_id(1))?, tx.session(session_id(1))?)))?;
    same!(found.0, [], "the receipts");
    same!(found.1.map(|s| s.sealed), Some(0), "what is sealed");
    Ok(())
}

fn unsealed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    log(&mut desk, 2)?;
    desk.write(|tx| {
        append(tx, session_id(3), 10, None, &prompt("p", "x"))?;
        append(tx, session_id(2), 11, None, &prompt("p", "x"))
    })?;
    desk.write(|tx| {
        let home = tx.session(session_id(1))?.map(|s| s.home);
        let driven = home.map(|home| SessionRecord {
            mode: Mode::Driven,
            ..session(4, home)
        });
        if let Some(record) = driven {
            tx.create_session(&record)?;
            append(tx, record.id, 12, None, &prompt("p", "x"))?;
        }
        Ok(())
    })?;
    let ids = |desk: &mut Desk, most| {
        let found = desk.read(|tx| tx.unsealed(most))?;
        Ok::<_, Wrong>(found.into_iter().map(|s| s.id).collect::<Vec<_>>())
    };
    same!(
        ids(&mut desk, 9)?,
        [1, 2, 3].map(session_id),
        "unsealed sessions"
    );
    same!(
        ids(&mut desk, 2)?,
        [1, 2].map(session_id),
        "two unsealed sessions"
    );
    let part = sealed(&mut desk, None, 1, 1)?;
    desk.write(|tx| tx.put_receipt(&part))?;
    same!(
        ids(&mut desk, 9)?,
        [1, 2, 3].map(session_id),
        "after a part was sealed"
    );
    let rest = sealed(&mut desk, Some(&part), 2, 2)?;
    desk.write(|tx| tx.put_receipt(&rest))?;
    same!(
        ids(&mut desk, 9)?,
        [2, 3].map(session_id),
        "after all was sealed"
    );
    let records = desk.read(|tx| Ok((tx.unsealed(1)?.pop(), tx.session(session_id(2))?)))?;
    same!(records.0, records.1, "the record of an unsealed session");
    Ok(())
}
