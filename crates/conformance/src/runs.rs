//! Runs are noted with how they ended, and what agents ask is settled once.

use siglum_domain::Redacted;
use siglum_domain::context::{ContextKey, RouteKey};
use siglum_ledger::{
    ActiveRun, InteractionOption, InteractionRecord, RunEnd, RunEvents, RunRecord, Settlement,
};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a run is noted, and how it ended", noted),
    Check::new("the runs of a session come newest first", listed),
    Check::new("what an agent asks is settled once", settled),
    Check::new("what an agent asks comes newest first", list_interactions),
    Check::new("runs of a forgotten session say nothing", forgotten),
    Check::new("an active run is that of its driver", announced),
    Check::new("a run is cancelled for its driver alone", cancelled),
    Check::new("events of a run come in order behind a number", followed),
    Check::new("events of a run are let go", let_go),
];

fn run(n: u128, session: u128) -> RunRecord {
    RunRecord {
        turn: turn_id(n),
        session: session_id(session),
        key: format!("key-{n}"),
        native: None,
        route: None,
        context: None,
        by: "somebody".to_owned(),
        started_at: at(i64::try_from(n).unwrap_or_default()),
        end: None,
    }
}

fn ended(n: u128, session: u128) -> RunRecord {
    let key = format!("a/b@c#d:{n}");
    RunRecord {
        native: Some(native("native-1")),
        route: RouteKey::new(key.clone()).ok(),
        context: ContextKey::new(key).ok(),
        end: Some(RunEnd {
            at: at(90),
            status: "failed".to_owned(),
            error: Some(Redacted::from_stored("it broke ä".to_owned())),
            committed: n.is_multiple_of(2),
        }),
        ..run(n, session)
    }
}

fn interaction(n: u128, session: u128) -> InteractionRecord {
    InteractionRecord {
        id: interaction_id(n),
        session: session_id(session),
        turn: turn_id(1),
        kind: "permission".to_owned(),
        title: Redacted::from_stored(format!("may I? {n} ä")),
        call: Some(format!("call-{n}")),
        options: vec![InteractionOption {
            id: "yes".to_owned(),
            name: Redacted::from_stored("Yes".to_owned()),
            kind: "allow-once".to_owned(),
        }],
        raised_at: at(i64::try_from(n).unwrap_or_default()),
        settled: None,
    }
}

fn settlement() -> Settlement {
    Settlement {
        at: at(80),
        how: "answered".to_owned(),
        option: Some("yes".to_owned()),
        by: "a person".to_owned(),
    }
}

fn noted(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_run(&run(1, 1))?;
        tx.put_run(&run(2, 1))
    })?;
    let mut later = Desk::open(shelf)?;
    let found = later.read(|tx| tx.run_of_turn(turn_id(1)))?;
    same!(found, Some(run(1, 1)), "a run that goes on");
    later.write(|tx| tx.put_run(&ended(1, 1)))?;
    let found = desk.read(|tx| tx.run_of_turn(turn_id(1)))?;
    same!(found, Some(ended(1, 1)), "a run that ended");
    let found = desk.read(|tx| tx.run_of_turn(turn_id(2)))?;
    same!(found, Some(run(2, 1)), "another run");
    same!(desk.read(|tx| tx.run_of_turn(turn_id(9)))?, None, "no run");
    Ok(())
}

fn listed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [2, 1, 3] {
            tx.put_run(&run(n, 1))?;
        }
        tx.put_run(&run(4, 2))
    })?;
    let mut later = Desk::open(shelf)?;
    let all = later.read(|tx| tx.runs_of(session_id(1), 0))?;
    same!(all, [3, 2, 1].map(|n| run(n, 1)).to_vec(), "all runs");
    let newest = later.read(|tx| tx.runs_of(session_id(1), 1))?;
    same!(newest, vec![run(3, 1)], "the newest run");
    Ok(())
}

fn settled(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_interaction(&interaction(1, 1))?;
        tx.put_interaction(&interaction(2, 1))
    })?;
    let mut later = Desk::open(shelf)?;
    let found = later.read(|tx| tx.interaction(interaction_id(1)))?;
    same!(found, Some(interaction(1, 1)), "what is asked");
    let first = later.write(|tx| tx.settle_interaction(interaction_id(1), &settlement()))?;
    same!(first, true, "whether it is settled");
    let other = Settlement {
        how: "lost".to_owned(),
        option: None,
        ..settlement()
    };
    let second = later.write(|tx| tx.settle_interaction(interaction_id(1), &other))?;
    same!(second, false, "whether it is settled again");
    let nobody = later.write(|tx| tx.settle_interaction(interaction_id(9), &other))?;
    same!(nobody, false, "whether nothing is settled");
    let found = desk.read(|tx| tx.interaction(interaction_id(1)))?;
    let expected = InteractionRecord {
        settled: Some(settlement()),
        ..interaction(1, 1)
    };
    same!(found, Some(expected), "what became of it");
    let found = desk.read(|tx| tx.interaction(interaction_id(2)))?;
    same!(found, Some(interaction(2, 1)), "what else is asked");
    Ok(())
}

fn list_interactions(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [2, 1, 3] {
            tx.put_interaction(&interaction(n, 1))?;
        }
        tx.put_interaction(&interaction(4, 2))
    })?;
    let mut later = Desk::open(shelf)?;
    let all = later.read(|tx| tx.interactions_of(session_id(1), 0))?;
    same!(all, [3, 2, 1].map(|n| interaction(n, 1)).to_vec(), "all");
    let newest = later.read(|tx| tx.interactions_of(session_id(1), 2))?;
    same!(
        newest,
        [3, 2].map(|n| interaction(n, 1)).to_vec(),
        "the newest"
    );
    Ok(())
}

fn forgotten(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_run(&ended(1, 1))?;
        tx.put_run(&ended(2, 2))?;
        tx.put_interaction(&interaction(1, 1))?;
        tx.put_interaction(&interaction(2, 2))?;
        tx.forget_session(session_id(1), at(95))
    })?;
    let error = |record: Option<RunRecord>| record.and_then(|r| r.end).and_then(|end| end.error);
    let found = desk.read(|tx| tx.run_of_turn(turn_id(1)))?;
    same!(error(found), None, "what went wrong in it");
    let found = desk.read(|tx| tx.run_of_turn(turn_id(2)))?;
    same!(found, Some(ended(2, 2)), "a run of another session");
    let found = desk.read(|tx| tx.interaction(interaction_id(1)))?;
    let content = found.map(|i| (i.title.as_str().to_owned(), i.options.len()));
    same!(content, Some((String::new(), 0)), "what was asked in it");
    let found = desk.read(|tx| tx.interaction(interaction_id(2)))?;
    same!(
        found,
        Some(interaction(2, 2)),
        "what was asked in another session"
    );
    Ok(())
}

fn active(n: u128, session: u128) -> ActiveRun {
    ActiveRun {
        session: session_id(session),
        driver: format!("driver-{n}"),
        key: format!("key-{n}"),
        by: "somebody ä".to_owned(),
        since: at(i64::try_from(n).unwrap_or_default()),
        turn: None,
        cancelled_by: None,
    }
}

/// The events `first ..= last` of a run.
fn events(turn: u128, first: u64, last: u64) -> RunEvents {
    RunEvents {
        turn: turn_id(turn),
        session: session_id(turn),
        first,
        last,
        at: at(i64::try_from(first).unwrap_or_default()),
        events: format!("[\"{first} to {last} ä\"]"),
    }
}

fn announced(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_active_run(&active(1, 1))?;
        tx.put_active_run(&active(2, 2))
    })?;
    let mut later = Desk::open(shelf)?;
    let found = later.read(|tx| tx.active_run(session_id(1)))?;
    same!(found, Some(active(1, 1)), "the run of a session");
    let found = later.read(|tx| tx.active_run(session_id(2)))?;
    same!(found, Some(active(2, 2)), "the run of another session");
    let none = later.read(|tx| tx.active_run(session_id(3)))?;
    same!(none, None, "the run of a session that has none");
    desk.write(|tx| {
        tx.begin_active_run(session_id(1), "driver-9", turn_id(9))?;
        tx.begin_active_run(session_id(2), "driver-2", turn_id(2))
    })?;
    let found = later.read(|tx| tx.active_run(session_id(1)))?;
    same!(found, Some(active(1, 1)), "the run of another driver");
    let begun = ActiveRun {
        turn: Some(turn_id(2)),
        ..active(2, 2)
    };
    let found = later.read(|tx| tx.active_run(session_id(2)))?;
    same!(found, Some(begun), "a run that has its turn");
    desk.write(|tx| {
        tx.put_active_run(&active(3, 1))?;
        tx.put_active_run(&active(4, 2))
    })?;
    let found = later.read(|tx| tx.active_run(session_id(2)))?;
    same!(found, Some(active(4, 2)), "the next run of a session");
    Ok(())
}

fn cancelled(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| tx.put_active_run(&active(1, 1)))?;
    let mut later = Desk::open(shelf)?;
    let (one, driver) = (session_id(1), "driver-1");
    let other = later.write(|tx| tx.cancel_active_run(one, "driver-9", "Eve"))?;
    same!(other, false, "whether another driver's run is cancelled");
    let found = desk.read(|tx| tx.active_run(one))?;
    same!(found, Some(active(1, 1)), "a run that nobody cancels");
    let first = later.write(|tx| tx.cancel_active_run(one, driver, "Ann"))?;
    same!(first, true, "whether it is cancelled");
    later.write(|tx| {
        tx.cancel_active_run(one, driver, "Bob")?;
        tx.begin_active_run(one, driver, turn_id(1))
    })?;
    let expected = ActiveRun {
        turn: Some(turn_id(1)),
        cancelled_by: Some("Ann".to_owned()),
        ..active(1, 1)
    };
    let found = desk.read(|tx| tx.active_run(one))?;
    same!(found, Some(expected), "a run that is cancelled");
    Ok(())
}

fn followed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let all = [events(1, 1, 1), events(1, 2, 5), events(1, 6, 6)];
    desk.write(|tx| {
        tx.put_run_events(&events(1, 2, 3))?;
        for n in [2, 0, 1] {
            tx.put_run_events(&all[n])?;
        }
        tx.put_run_events(&events(2, 1, 9))
    })?;
    let mut later = Desk::open(shelf)?;
    let one = turn_id(1);
    let found = later.read(|tx| tx.run_events(one, 0, 0))?;
    same!(found, all.to_vec(), "all events of a run");
    let found = later.read(|tx| tx.run_events(one, 2, 0))?;
    same!(found, all[1..].to_vec(), "events behind one within a row");
    let found = later.read(|tx| tx.run_events(one, 5, 0))?;
    same!(found, all[2..].to_vec(), "events behind a row");
    let found = later.read(|tx| tx.run_events(one, 0, 2))?;
    same!(found, all[..2].to_vec(), "so many rows of events");
    Ok(())
}

fn let_go(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for turn in [1, 2, 3] {
            for first in [1, 3, 5] {
                tx.put_run_events(&events(turn, first, first + 1))?;
            }
        }
        tx.cut_run_events(turn_id(1), 5)?;
        tx.cut_run_events(turn_id(2), 4)
    })?;
    let firsts = |turn: u128| -> Outcome<Vec<u64>> {
        let mut later = Desk::open(shelf)?;
        let rows = later.read(|tx| tx.run_events(turn_id(turn), 0, 0))?;
        Ok(rows.iter().map(|row| row.first).collect())
    };
    for (turn, left) in [(1, vec![1_u64, 5]), (2, vec![1, 5]), (3, vec![1, 3, 5])] {
        same!(firsts(turn)?, left, "events that are not cut");
    }
    desk.write(|tx| {
        tx.drop_run_events(turn_id(9))?;
        tx.drop_run_events(turn_id(1))?;
        tx.drop_old_run_events(at(0), 9).map(drop)
    })?;
    let gone = desk.write(|tx| tx.drop_old_run_events(at(3), 1))?;
    same!(gone, 1, "how many rows go at once");
    let more = desk.write(|tx| tx.drop_old_run_events(at(3), 9))?;
    same!(more, 1, "how many rows were left");
    for (turn, left) in [(1, Vec::<u64>::new()), (2, vec![5]), (3, vec![3, 5])] {
        same!(firsts(turn)?, left, "events that are not let go");
    }
    desk.write(|tx| {
        tx.forget_parts(session_id(2), at(95))?;
        tx.forget_session(session_id(3), at(95))
    })?;
    for turn in [2, 3] {
        same!(
            firsts(turn)?,
            Vec::<u64>::new(),
            "events of what is forgotten"
        );
    }
    Ok(())
}
