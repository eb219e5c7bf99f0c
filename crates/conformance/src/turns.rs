//! Turns, and who asked for them.

use siglum_ledger::TurnRecord;

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a turn has one id and its earliest time", turns),
    Check::new("a turn begins with its prompt, and once", begun),
    Check::new("the last turn is the one opened last", last_turn),
    Check::new("the first prompt of a turn stands", first_prompt),
    Check::new(
        "the turns of a session come in the order in which they were opened",
        in_order,
    ),
];

fn turns(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let ids = desk.write(|tx| {
        Ok([
            tx.turn(session_id(1), "p", turn_id(1), at(5))?,
            tx.turn(session_id(1), "p", turn_id(2), at(3))?,
            tx.turn(session_id(1), "p", turn_id(2), at(9))?,
            tx.turn(session_id(1), "q", turn_id(3), at(4))?,
            tx.turn(session_id(2), "p", turn_id(4), at(4))?,
        ])
    })?;
    same!(ids, [1, 1, 1, 3, 4].map(turn_id), "ids of turns");
    let last = desk.read(|tx| tx.last_turn(session_id(1)))?;
    let last = last.map(|t| (t.id, t.opened_at));
    same!(last, Some((turn_id(3), at(4))), "the last turn");
    Ok(())
}

fn begun(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let turn = |n, native: &str, seconds| TurnRecord {
        id: turn_id(n),
        session: session_id(1),
        native: native.to_owned(),
        opened_at: at(seconds),
    };
    let ids = desk.write(|tx| {
        tx.turn(session_id(1), "seen", turn_id(3), at(9))?;
        Ok([
            tx.begin_turn(&turn(1, "p", 5), Some(10))?,
            tx.begin_turn(&turn(2, "q", 6), None)?,
            tx.begin_turn(&turn(4, "p", 7), Some(20))?,
            tx.begin_turn(&turn(5, "seen", 8), Some(30))?,
        ])
    })?;
    same!(ids, [1, 2, 1, 3].map(turn_id), "ids of turns that begin");
    let (turns, first, last) = desk.read(|tx| {
        Ok((
            tx.turns_of(session_id(1))?,
            tx.first_prompt(session_id(1))?,
            tx.last_prompt(session_id(1), at(9))?,
        ))
    })?;
    let wanted = [turn(1, "p", 5), turn(2, "q", 6), turn(3, "seen", 8)];
    same!(turns, wanted, "turns that began");
    let prompts = (first, last);
    let wanted = (Some((turn_id(1), 10)), Some((turn_id(3), 30)));
    same!(prompts, wanted, "the prompts of turns that began");
    same!(desk.read(|tx| tx.unlike(9))?, [], "turns with another sum");
    same!(
        desk.read(|tx| tx.miscounts())?,
        [],
        "tables with other rows"
    );
    Ok(())
}

fn last_turn(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.turn(session_id(1), "late", turn_id(1), at(9))?;
        tx.turn(session_id(1), "early", turn_id(2), at(3))?;
        tx.turn(session_id(2), "other", turn_id(3), at(99))
    })?;
    let found = desk.read(|tx| tx.last_turn(session_id(1)))?;
    let wanted = TurnRecord {
        id: turn_id(1),
        session: session_id(1),
        native: "late".to_owned(),
        opened_at: at(9),
    };
    same!(found, Some(wanted), "the last turn");
    let none = desk.read(|tx| tx.last_turn(session_id(3)))?;
    same!(none, None, "the last turn of a session without one");
    Ok(())
}

fn first_prompt(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for (n, seconds) in [(1, 5), (2, 3), (3, 9), (4, 1)] {
            tx.turn(session_id(1), &format!("p{n}"), turn_id(n), at(seconds))?;
        }
        tx.turn(session_id(2), "p", turn_id(9), at(1))?;
        for (turn, sequence) in [(1, 10), (2, 20), (3, 30), (1, 11), (9, 90)] {
            tx.note_prompt(turn_id(turn), sequence)?;
        }
        Ok(())
    })?;
    let first = desk.read(|tx| {
        Ok((
            tx.first_prompt(session_id(1))?,
            tx.first_prompt(session_id(3))?,
        ))
    })?;
    same!(first, (Some((turn_id(2), 20)), None), "the first prompts");
    for (until, wanted) in [
        (2, None),
        (3, Some((turn_id(2), 20))),
        (5, Some((turn_id(1), 10))),
        (99, Some((turn_id(3), 30))),
    ] {
        let found = desk.read(|tx| tx.last_prompt(session_id(1), at(until)))?;
        same!(found, wanted, format!("the last prompt up to {until}"));
    }
    Ok(())
}

fn in_order(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for (n, seconds) in [(1, 5), (2, 3), (3, 9), (4, 3)] {
            tx.turn(session_id(1), &format!("p{n}"), turn_id(n), at(seconds))?;
        }
        tx.turn(session_id(2), "p", turn_id(9), at(1))
    })?;
    let mut later = Desk::open(shelf)?;
    let turns = later.read(|tx| tx.turns_of(session_id(1)))?;
    let found: Vec<_> = turns.iter().map(|t| (t.id, t.opened_at)).collect();
    let wanted = [(2, 3), (4, 3), (1, 5), (3, 9)].map(|(n, seconds)| (turn_id(n), at(seconds)));
    same!(found, wanted, "the turns");
    let none = later.read(|tx| tx.turns_of(session_id(3)))?;
    same!(none, [], "the turns of a session without one");
    Ok(())
}
