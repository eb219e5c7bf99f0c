//! Heartbeats are kept, each of their ticks once, and what they came to adds up.

use siglum_domain::context::ContextKey;
use siglum_domain::heartbeat::{HeartbeatName, TickCause, TickOutcome};
use siglum_ledger::{HeartbeatRecord, TickRecord, TickTotal};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a heartbeat is kept, changed and let go", kept),
    Check::new("heartbeats are due in the order of their times", due),
    Check::new("a tick is noted once", once),
    Check::new("what became of a tick is noted", became),
    Check::new("ticks are listed by heartbeat, newest first", listed),
    Check::new("a tick that nobody holds is found", lost),
    Check::new(
        "what is to be delivered is found when its time has come",
        owed,
    ),
    Check::new("old ticks go, and never the newest", old),
    Check::new("totals add up by outcome and reason", totals),
];

fn name(text: &str) -> HeartbeatName {
    HeartbeatName::new(text).expect("because samples keep to the grammar")
}

fn heartbeat(text: &str, due: Option<i64>) -> HeartbeatRecord {
    HeartbeatRecord {
        name: name(text),
        definition: format!("{{\"prompt\":\"{text} ä\"}}"),
        origin: "config".to_owned(),
        by: "Ann".to_owned(),
        created_at: at(1),
        changed_at: at(2),
        anchor: at(3),
        paused_at: due.is_none().then(|| at(4)),
        removed_at: (text == "c").then(|| at(5)),
        next_due: due.map(at),
        alive_at: (text == "b").then(|| at(6)),
    }
}

pub(super) fn tick(of: &str, n: i64, outcome: TickOutcome) -> TickRecord {
    let full = outcome != TickOutcome::Running;
    TickRecord {
        heartbeat: name(of),
        due: at(n),
        cause: if full {
            TickCause::Asked
        } else {
            TickCause::Schedule
        },
        fired_at: at(n + 1),
        by: format!("replica {n}"),
        held_until: at(n + 100),
        outcome,
        reason: full.then(|| format!("reason {n}")),
        ended_at: full.then(|| at(n + 2)),
        missed: 3,
        session: full.then(|| session_id(1)),
        context: full.then(|| {
            ContextKey::new(format!("c-run:{n}")).expect("because samples keep to the grammar")
        }),
        tokens: 40,
        nano_usd: 5_000_000_000,
        target: "log".to_owned(),
        owed: (outcome == TickOutcome::Owed).then(|| "text ä".to_owned()),
        tries: 2,
        retry_at: full.then(|| at(n + 50)),
        delivered_at: (outcome == TickOutcome::Delivered).then(|| at(n + 60)),
    }
}

fn kept(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let all = [
        heartbeat("a", None),
        heartbeat("b", Some(9)),
        heartbeat("c", None),
    ];
    for record in all.iter().rev() {
        desk.write(|tx| tx.put_heartbeat(record))?;
    }
    let mut later = Desk::open(shelf)?;
    same!(later.read(|tx| tx.heartbeats())?, all, "all");
    let one = later.write(|tx| tx.heartbeat(&name("b")))?;
    same!(one.as_ref(), Some(&all[1]), "one");
    same!(later.read(|tx| tx.heartbeat(&name("d")))?, None, "none");
    let changed = HeartbeatRecord {
        definition: "{}".to_owned(),
        origin: "api".to_owned(),
        by: "Bob".to_owned(),
        ..heartbeat("a", Some(7))
    };
    desk.write(|tx| tx.put_heartbeat(&changed))?;
    same!(
        later.read(|tx| tx.heartbeat(&name("a")))?,
        Some(changed.clone()),
        "the changed one"
    );
    let total = TickTotal {
        outcome: TickOutcome::Ran,
        reason: String::new(),
        ticks: 1,
        tokens: 1,
        nano_usd: 1,
    };
    desk.write(|tx| {
        tx.put_tick(&tick("b", 1, TickOutcome::Ran))?;
        tx.add_tick_total(&name("b"), &total)?;
        tx.drop_heartbeat(&name("b"))
    })?;
    same!(
        later.read(|tx| tx.heartbeats())?,
        [changed, all[2].clone()],
        "the others"
    );
    same!(
        later.read(|tx| tx.tick_totals(&name("b")))?,
        [],
        "totals that are let go"
    );
    same!(
        later.read(|tx| tx.ticks(&name("b"), None, 9))?.len(),
        1,
        "its ticks"
    );
    Ok(())
}

fn due(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for (text, time) in [
        ("a", Some(8)),
        ("b", Some(5)),
        ("d", Some(5)),
        ("e", None),
        ("f", Some(9)),
    ] {
        desk.write(|tx| tx.put_heartbeat(&heartbeat(text, time)))?;
    }
    let mut later = Desk::open(shelf)?;
    for (time, limit, wanted) in [
        (8, 9, vec!["b", "d", "a"]),
        (8, 2, vec!["b", "d"]),
        (7, 9, vec!["b", "d"]),
        (4, 9, vec![]),
    ] {
        let found = later.write(|tx| tx.due_heartbeats(at(time), limit))?;
        let names: Vec<_> = found.iter().map(|h| h.name.as_str()).collect();
        same!(names, wanted, "what is due at {time}");
    }
    let found = later.read(|tx| tx.due_heartbeats(at(5), 1))?;
    same!(found, [heartbeat("b", Some(5))], "what is due first");
    Ok(())
}

fn once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let first = tick("a", 1, TickOutcome::Running);
    same!(
        desk.write(|tx| tx.put_tick(&first))?,
        true,
        "whether it is new"
    );
    let mut later = Desk::open(shelf)?;
    let again = TickRecord {
        by: "another".to_owned(),
        ..first.clone()
    };
    same!(
        later.write(|tx| tx.put_tick(&again))?,
        false,
        "whether it is new again"
    );
    let found = later.read(|tx| tx.tick(&name("a"), at(1)))?;
    same!(found, Some(first), "the tick");
    for other in [
        tick("a", 2, TickOutcome::Ran),
        tick("b", 1, TickOutcome::Delivered),
    ] {
        same!(
            desk.write(|tx| tx.put_tick(&other))?,
            true,
            "whether another one is new"
        );
        let found = later.write(|tx| tx.tick(&other.heartbeat, other.due))?;
        same!(found, Some(other.clone()), "another one");
    }
    same!(later.read(|tx| tx.tick(&name("b"), at(2)))?, None, "none");
    Ok(())
}

fn became(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for n in [1, 2] {
        desk.write(|tx| tx.put_tick(&tick("a", n, TickOutcome::Running)))?;
        let ended = tick("a", n, TickOutcome::Owed);
        desk.write(|tx| tx.set_tick(&ended))?;
        let mut later = Desk::open(shelf)?;
        let found = later.read(|tx| tx.tick(&name("a"), at(n)))?;
        same!(found, Some(ended), "the tick");
    }
    desk.write(|tx| tx.set_tick(&tick("a", 3, TickOutcome::Ran)))?;
    same!(
        desk.read(|tx| tx.tick(&name("a"), at(3)))?,
        None,
        "a tick that nobody noted"
    );
    Ok(())
}

fn listed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for n in [3, 1, 2, 4] {
        desk.write(|tx| {
            tx.put_tick(&tick("a", n, TickOutcome::Ran))?;
            tx.put_tick(&tick("b", n, TickOutcome::Running))
        })?;
    }
    let mut later = Desk::open(shelf)?;
    for (before, limit, wanted) in [
        (None, 9, vec![4, 3, 2, 1]),
        (None, 2, vec![4, 3]),
        (Some(3), 9, vec![2, 1]),
    ] {
        let found = later.read(|tx| tx.ticks(&name("a"), before.map(at), limit))?;
        let wanted: Vec<_> = wanted
            .into_iter()
            .map(|n| tick("a", n, TickOutcome::Ran))
            .collect();
        same!(found, wanted, "the ticks before {before:?}");
    }
    for (of, wanted) in [("a", None), ("b", Some(1))] {
        let found = later.read(|tx| tx.running_tick(&name(of)))?;
        same!(
            found,
            wanted.map(|n| tick(of, n, TickOutcome::Running)),
            "what runs"
        );
    }
    Ok(())
}

fn lost(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for (of, n) in [("a", 2), ("b", 1), ("b", 3), ("c", 9)] {
        desk.write(|tx| tx.put_tick(&tick(of, n, TickOutcome::Running)))?;
    }
    desk.write(|tx| tx.put_tick(&tick("d", 0, TickOutcome::Ran)))?;
    let mut later = Desk::open(shelf)?;
    for (time, limit, wanted) in [
        (103, 9, vec![1, 2, 3]),
        (103, 1, vec![1]),
        (102, 9, vec![1, 2]),
        (100, 9, vec![]),
    ] {
        let found = later.write(|tx| tx.lost_ticks(at(time), limit))?;
        let found: Vec<_> = found.iter().map(|t| t.due).collect();
        let wanted: Vec<_> = wanted.into_iter().map(at).collect();
        same!(found, wanted, "what nobody holds at {time}");
    }
    Ok(())
}

fn owed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for (of, n) in [("a", 2), ("b", 1), ("b", 3), ("c", 9)] {
        desk.write(|tx| tx.put_tick(&tick(of, n, TickOutcome::Owed)))?;
    }
    desk.write(|tx| tx.put_tick(&tick("d", 0, TickOutcome::Delivered)))?;
    let mut later = Desk::open(shelf)?;
    for (time, limit, wanted) in [
        (53, 9, vec![1, 2, 3]),
        (53, 1, vec![1]),
        (52, 9, vec![1, 2]),
        (50, 9, vec![]),
    ] {
        let found = later.write(|tx| tx.owed_ticks(at(time), limit))?;
        let found: Vec<_> = found.iter().map(|t| t.due).collect();
        let wanted: Vec<_> = wanted.into_iter().map(at).collect();
        same!(found, wanted, "what is to be delivered at {time}");
    }
    Ok(())
}

fn old(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for n in [1, 2, 3, 6] {
        desk.write(|tx| tx.put_tick(&tick("a", n, TickOutcome::Ran)))?;
    }
    desk.write(|tx| {
        tx.put_tick(&tick("a", 4, TickOutcome::Running))?;
        tx.put_tick(&tick("a", 5, TickOutcome::Owed))?;
        tx.put_tick(&tick("b", 1, TickOutcome::Skipped))
    })?;
    let mut later = Desk::open(shelf)?;
    for (after, before, limit, wanted) in [
        (None, 9, 9, vec![1, 2, 3]),
        (None, 9, 2, vec![1, 2]),
        (None, 3, 9, vec![1, 2]),
        (Some(1), 9, 9, vec![2, 3]),
    ] {
        let found = later.write(|tx| tx.old_ticks(&name("a"), after.map(at), at(before), limit))?;
        let wanted: Vec<_> = wanted
            .into_iter()
            .map(|n| tick("a", n, TickOutcome::Ran))
            .collect();
        same!(found, wanted, "what is old");
    }
    let newest = later.read(|tx| tx.old_ticks(&name("b"), None, at(9), 9))?;
    same!(newest, [], "the newest one");
    for n in [1, 3] {
        desk.write(|tx| tx.drop_tick(&name("a"), at(n)))?;
    }
    let left = later.read(|tx| tx.ticks(&name("a"), None, 9))?;
    let left: Vec<_> = left.iter().map(|t| t.due).collect();
    same!(left, [6, 5, 4, 2].map(at), "what is left");
    same!(
        later.read(|tx| tx.ticks(&name("b"), None, 9))?.len(),
        1,
        "those of another one"
    );
    Ok(())
}

fn totals(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let total = |outcome, reason: &str, ticks| TickTotal {
        outcome,
        reason: reason.to_owned(),
        ticks,
        tokens: ticks * 10,
        nano_usd: ticks * 100,
    };
    let added = [
        ("a", total(TickOutcome::Skipped, "busy", 2)),
        ("a", total(TickOutcome::Ran, "", 3)),
        ("a", total(TickOutcome::Skipped, "quiet-hours", 1)),
        ("a", total(TickOutcome::Skipped, "busy", 4)),
        ("b", total(TickOutcome::Ran, "", 7)),
    ];
    for (of, total) in &added {
        desk.write(|tx| tx.add_tick_total(&name(of), total))?;
    }
    let mut later = Desk::open(shelf)?;
    let wanted = [
        added[1].1.clone(),
        total(TickOutcome::Skipped, "busy", 6),
        added[2].1.clone(),
    ];
    same!(
        later.read(|tx| tx.tick_totals(&name("a")))?,
        wanted,
        "the totals"
    );
    Ok(())
}
