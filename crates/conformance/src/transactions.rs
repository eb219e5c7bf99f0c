//! What a transaction promises: all or nothing, one state, no lost update, and that it lasts.

use std::sync::Barrier;

use siglum_domain::observation::Source;
use siglum_ledger::{Appended, CommitFilter, Durability, LedgerError, Transaction};

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;
use super::survey;

pub(super) const CHECKS: &[Check] = &[
    Check::new("what fails in the middle leaves nothing", all_or_nothing),
    Check::new("what fails within a part leaves the rest", parts),
    Check::new(
        "the error of the work is the error of the transaction",
        own_error,
    ),
    Check::new(
        "everything is there after the store was opened again",
        lasts,
    ),
    Check::new(
        "another handle sees what was written, whole and at once",
        seen_whole,
    ),
    Check::new("a reader sees one state to its end", one_state),
    Check::new("two handles lose no update of a head", no_lost_update),
    Check::new("the store keeps its id and its key, and is sound", sound),
];

fn all_or_nothing(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    survey::fill(&mut desk)?;
    let before = survey::all(&mut desk)?;
    let failed = desk.write(|tx| {
        append(tx, session_id(1), 50, None, &prompt("new", "x"))?;
        tx.put_commit(&commit(7))?;
        tx.park("q", "i", at(1), "r")?;
        tx.end_calls(session_id(1))?;
        Err::<(), _>(LedgerError::Damaged("on purpose".to_owned()))
    });
    holds!(failed.is_err(), "a transaction whose work failed succeeded");
    let after = survey::all(&mut desk)?;
    same!(after, before, "the store after a failed transaction");
    let mut other = Desk::open(shelf)?;
    same!(
        survey::all(&mut other)?,
        before,
        "the store by another handle"
    );
    let next = desk.write(|tx| append(tx, session_id(1), 51, None, &prompt("next", "x")))?;
    same!(next, Appended::New(3), "the next place in the log");
    Ok(())
}

fn parts(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    survey::fill(&mut desk)?;
    let part = |tx: &mut dyn Transaction, key: u128, fails: bool| {
        let mut work = |tx: &mut dyn Transaction| {
            append(tx, session_id(1), key, None, &prompt(&key.to_string(), "x"))?;
            match fails {
                true => Err(LedgerError::Damaged("on purpose".to_owned())),
                false => Ok(()),
            }
        };
        tx.nested(&mut work).is_ok()
    };
    let done = desk.write(|tx| {
        let first = part(tx, 50, false);
        let second = part(tx, 51, true);
        Ok((first, second, part(tx, 52, false)))
    })?;
    same!(done, (true, false, true), "which parts are done");
    // A part may hold parts, and goes with the one that it is in.
    let outer = desk.write(|tx| {
        let mut work = |tx: &mut dyn Transaction| {
            part(tx, 53, false);
            Err(LedgerError::Damaged("on purpose".to_owned()))
        };
        Ok(tx.nested(&mut work).is_err())
    })?;
    holds!(outer, "a part whose work failed succeeded");
    let mut other = Desk::open(shelf)?;
    let keys = other.read(|tx| {
        let mut there = Vec::new();
        for key in 50..54_u128 {
            let key = key.to_string();
            if tx.sighted(session_id(1), Source::Hook, &key)?.is_some() {
                there.push(key);
            }
        }
        Ok(there)
    })?;
    same!(keys, ["50", "52"], "what is there of the parts");
    Ok(())
}

fn own_error(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for durability in [Durability::Process, Durability::Disk] {
        let error = desk.0.write(durability, &mut |_| {
            Err(LedgerError::Damaged("mine".to_owned()))
        });
        let own = matches!(error, Err(LedgerError::Damaged(text)) if text == "mine");
        holds!(own, "a failed write gave another error");
    }
    let error = desk
        .0
        .read(&mut |_| Err(LedgerError::Damaged("mine".to_owned())));
    let own = matches!(error, Err(LedgerError::Damaged(text)) if text == "mine");
    holds!(own, "a failed read gave another error");
    Ok(())
}

fn lasts(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    survey::fill(&mut desk)?;
    let before = survey::all(&mut desk)?;
    drop(desk);
    let mut again = Desk::open(shelf)?;
    for (found, wanted) in survey::all(&mut again)?.iter().zip(&before) {
        same!(found, wanted, "what a verb says after reopening");
    }
    again.0.maintain()?;
    same!(
        survey::all(&mut again)?,
        before,
        "the store after its upkeep"
    );
    Ok(())
}

fn seen_whole(shelf: &dyn Shelf) -> Outcome {
    let mut writer = Desk::open(shelf)?;
    furnish(&mut writer)?;
    let mut reader = Desk::open(shelf)?;
    let count = |desk: &mut Desk| {
        desk.read(|tx| {
            let log = tx.entries(session_id(1), 0, 0)?.len();
            Ok((log, tx.commits(&CommitFilter::default())?.len()))
        })
    };
    let mut during = None;
    writer.write(|tx| {
        append(tx, session_id(1), 1, None, &prompt("a", "x"))?;
        tx.put_commit(&commit(1))?;
        during = Some(count(&mut reader));
        let own = tx.entries(session_id(1), 0, 0)?.len();
        if own == 1 {
            Ok(())
        } else {
            Err(LedgerError::Damaged(
                "a writer does not see its own rows".to_owned(),
            ))
        }
    })?;
    let during = during.unwrap_or_else(|| Err(Wrong("the work never ran".to_owned())))?;
    same!(during, (0, 0), "what another handle sees before the end");
    same!(
        count(&mut reader)?,
        (1, 1),
        "what another handle sees after the end"
    );
    Ok(())
}

fn one_state(shelf: &dyn Shelf) -> Outcome {
    let mut writer = Desk::open(shelf)?;
    furnish(&mut writer)?;
    writer.write(|tx| append(tx, session_id(1), 1, None, &prompt("a", "x")))?;
    let mut reader = Desk::open(shelf)?;
    let mut written = None;
    let states = reader.read(|tx| {
        let first = tx.entries(session_id(1), 0, 0)?;
        written = Some(writer.write(|tx| append(tx, session_id(1), 2, None, &prompt("b", "x"))));
        Ok((first.len(), tx.entries(session_id(1), 0, 0)?.len()))
    })?;
    written.unwrap_or_else(|| Err(Wrong("the work never ran".to_owned())))?;
    same!(
        states,
        (1, 1),
        "entries at the start and at the end of one read"
    );
    let after = reader.read(|tx| tx.entries(session_id(1), 0, 0))?;
    same!(after.len(), 2, "entries in the next read");
    Ok(())
}

fn no_lost_update(shelf: &dyn Shelf) -> Outcome {
    const EACH: u128 = 20;
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let hands = [Desk::open(shelf)?, Desk::open(shelf)?];
    let start = Barrier::new(hands.len());
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let start = &start;
        let running: Vec<_> = (0u128..)
            .zip(hands)
            .map(|(hand, desk)| scope.spawn(move || append_many(desk, hand, EACH, start)))
            .collect();
        running
            .into_iter()
            .map(|hand| {
                hand.join()
                    .unwrap_or_else(|_| Err(Wrong("a writer panicked".to_owned())))
            })
            .collect()
    });
    outcomes.into_iter().collect::<Outcome>()?;
    let (head, entries) = desk.read(|tx| {
        let head = tx.session(session_id(1))?.map(|s| s.head);
        Ok((head, tx.entries(session_id(1), 0, 0)?))
    })?;
    same!(head, Some(2 * 20), "the head after two writers");
    let sequences: Vec<u64> = entries.iter().map(|e| e.sequence).collect();
    let wanted: Vec<u64> = (1..=40).collect();
    same!(sequences, wanted, "the sequences after two writers");
    Ok(())
}

fn append_many(mut desk: Desk, hand: u128, each: u128, start: &Barrier) -> Outcome {
    start.wait();
    for n in 0..each {
        let seen = prompt(&format!("k{hand}-{n}"), "x");
        desk.write(|tx| append(tx, session_id(1), hand * 100 + n, None, &seen))?;
    }
    Ok(())
}

fn sound(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    survey::fill(&mut desk)?;
    let mut other = Desk::open(shelf)?;
    same!(other.0.id(), desk.0.id(), "the id by another handle");
    same!(other.0.key(), desk.0.key(), "the key by another handle");
    let home = desk.0.id();
    let found = desk.read(|tx| tx.session(session_id(1)))?;
    same!(found.map(|s| s.home), Some(home), "the home of a session");
    for durability in [Durability::Disk, Durability::Process] {
        desk.0
            .write(durability, &mut |tx| tx.push(at(1), "t", "b"))?;
    }
    desk.0.maintain()?;
    let wrong = other.0.check()?;
    same!(
        wrong,
        Vec::<String>::new(),
        "what the store finds wrong with itself"
    );
    Ok(())
}
