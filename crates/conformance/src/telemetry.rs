//! Telemetry from outside waits, is found by trace and call, and is let go.

use siglum_domain::observation::{Fact, Observation, ToolClass, event};
use siglum_domain::trace::{SpanId, TraceId};
use siglum_ledger::{Depth, ForwardRecord, TelemetryBatch, UnassignedRecord};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("batches wait in the order in which they came", inbox),
    Check::new("a trace belongs to the sessions it was noted for", traces),
    Check::new("a call is found in the logs that it stands in", calls),
    Check::new("a turn names its session, open or not", turns),
    Check::new("what has no session is kept until it has one", unassigned),
    Check::new("what has no session is bounded", trimmed),
    Check::new(
        "what was kept for long and not sent is found once",
        unforwarded,
    ),
    Check::new("what is to be sent on waits for its destination", forwards),
    Check::new("counts add up by name", counts),
];

fn trace(n: u8) -> TraceId {
    TraceId::from_bytes(&[n; 16]).expect("because no sample is zero")
}

fn batch(n: i64) -> TelemetryBatch {
    TelemetryBatch {
        sequence: 0,
        at: at(n),
        signal: format!("signal {n}"),
        session: (n == 2).then(|| session_id(2)),
        records: 10 + n.unsigned_abs(),
        forwarded: n == 3,
        payload: vec![0, 1, 0xff, n.to_le_bytes()[0]],
    }
}

fn lost(n: i64, of: Option<u8>) -> UnassignedRecord {
    UnassignedRecord {
        sequence: 0,
        at: at(n),
        signal: "traces".to_owned(),
        trace: of.map(trace),
        span: of.and_then(|n| SpanId::from_bytes(&[n; 8])),
        agent: of.map(|_| agent("codex")),
        name: format!("name {n} ä"),
        session: of.map(|_| session_id(9)),
        records: 1 + n.unsigned_abs(),
        reason: format!("reason {n}"),
        forwarded: n == 2 && of == Some(3),
        payload: vec![7; usize::try_from(n).unwrap_or(0)],
    }
}

fn forward(n: i64, destination: &str) -> ForwardRecord {
    ForwardRecord {
        sequence: 0,
        destination: destination.to_owned(),
        at: at(n),
        signal: "logs".to_owned(),
        session: (n % 2 == 0).then(|| session_id(1)),
        records: n.unsigned_abs(),
        payload: vec![3; 4],
    }
}

fn inbox(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    same!(desk.read(|tx| tx.inbox())?, Depth::default(), "the depth");
    let mut wanted = Vec::new();
    for n in 1..5 {
        let sequence = desk.write(|tx| tx.put_batch(&batch(n)))?;
        wanted.push(TelemetryBatch {
            sequence,
            ..batch(n)
        });
    }
    let mut later = Desk::open(shelf)?;
    same!(later.read(|tx| tx.batches(9))?, wanted, "what waits");
    same!(
        later.read(|tx| tx.batches(2))?,
        wanted[..2],
        "what waits first"
    );
    let depth = Depth {
        rows: 4,
        records: 50,
        bytes: 16,
    };
    same!(later.read(|tx| tx.inbox())?, depth, "the depth");
    for gone in [1, 2] {
        desk.write(|tx| tx.drop_batch(wanted[gone].sequence))?;
    }
    let left = [wanted[0].clone(), wanted[3].clone()];
    same!(later.read(|tx| tx.batches(9))?, left, "what is left");
    let taken = desk.write(|tx| tx.batches(9))?;
    same!(taken, left, "what is taken to be looked at");
    Ok(())
}

fn traces(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let noted = [(1, 1), (1, 2), (1, 1), (2, 2), (1, 3)];
    for (n, of) in noted {
        desk.write(|tx| tx.note_trace(&trace(n), session_id(of), at(1)))?;
    }
    let mut later = Desk::open(shelf)?;
    for (n, limit, count) in [(1, 9, 3), (1, 2, 2), (2, 9, 1), (3, 9, 0)] {
        let found = later.read(|tx| tx.sessions_of_trace(&trace(n), limit))?;
        same!(found.len(), count, "how many sessions a trace has");
    }
    let mut found = later.read(|tx| tx.sessions_of_trace(&trace(1), 9))?;
    found.sort();
    let wanted = [1, 2, 3].map(session_id);
    same!(found, wanted, "the sessions of a trace");
    Ok(())
}

fn of_call(call: &str, key: &str, fact: Fact) -> Observation {
    Observation {
        event: event::tool(call),
        fact,
        ..prompt(&format!("{key}:{call}"), "")
    }
}

fn began(call: &str) -> Observation {
    let fact = Fact::ToolStarted {
        tool: "Bash".to_owned(),
        class: ToolClass::Shell,
        input: text("ls"),
        path: None,
    };
    of_call(call, "began", fact)
}

fn ended(call: &str) -> Observation {
    let fact = Fact::ToolEnded {
        tool: "Bash".to_owned(),
        class: ToolClass::Shell,
        outcome: siglum_domain::observation::Outcome::Ok,
        output: None,
        duration_ms: None,
    };
    of_call(call, "ended", fact)
}

fn calls(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    for (id, of, call) in [(1, 1, "a"), (3, 1, "b"), (5, 2, "b"), (7, 3, "b")] {
        desk.write(|tx| {
            append(tx, session_id(of), id, None, &began(call))?;
            append(tx, session_id(of), id + 1, None, &ended(call)).map(drop)
        })?;
    }
    let mut later = Desk::open(shelf)?;
    for (call, limit, count) in [("a", 9, 1), ("b", 9, 3), ("b", 2, 2), ("c", 9, 0)] {
        let found = later.read(|tx| tx.sessions_of_call(&event::tool(call), limit))?;
        same!(found.len(), count, "how many sessions have a call");
    }
    let found = later.read(|tx| tx.sessions_of_call(&event::tool("a"), 9))?;
    same!(found, [session_id(1)], "the session of a call");
    Ok(())
}

fn turns(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.turn(session_id(1), "a", turn_id(1), at(1))?;
        tx.turn(session_id(2), "a", turn_id(2), at(1))?;
        tx.put_open_turn(&open_turn(3))
    })?;
    let mut later = Desk::open(shelf)?;
    for n in 1..5 {
        let found = later.read(|tx| tx.session_of_turn(turn_id(n)))?;
        same!(
            found,
            (n < 4).then(|| session_id(n)),
            "the session of a turn"
        );
    }
    Ok(())
}

fn unassigned(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let mut all = Vec::new();
    for (n, of) in [(1, Some(1)), (2, Some(3)), (3, Some(1)), (4, Some(2))] {
        let sequence = desk.write(|tx| tx.put_unassigned(&lost(n, of)))?;
        all.push(UnassignedRecord {
            sequence,
            ..lost(n, of)
        });
    }
    let mut later = Desk::open(shelf)?;
    let newest: Vec<_> = all.iter().rev().cloned().collect();
    same!(later.read(|tx| tx.unassigned(None, 9))?, newest, "all");
    let before = Some(all[2].sequence);
    let page = later.read(|tx| tx.unassigned(before, 9))?;
    same!(page, newest[2..], "those before a place");
    let page = later.read(|tx| tx.unassigned(None, 2))?;
    same!(page, newest[..2], "a page");
    let of = [all[0].clone(), all[2].clone()];
    let found = later.read(|tx| tx.unassigned_of(&trace(1), 9))?;
    same!(found, of, "those of a trace");
    let found = later.read(|tx| tx.unassigned_of(&trace(1), 1))?;
    same!(found, of[..1], "the first of a trace");
    let depth = Depth {
        rows: 4,
        records: 14,
        bytes: 10,
    };
    let found = later.read(|tx| tx.unassigned_depth())?;
    same!(found, depth, "the depth");
    for gone in [0, 3] {
        desk.write(|tx| tx.drop_unassigned(all[gone].sequence))?;
    }
    let left = later.read(|tx| tx.unassigned(None, 9))?;
    same!(left, [all[2].clone(), all[1].clone()], "what is left");
    Ok(())
}

fn trimmed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for n in 1..6 {
        desk.write(|tx| tx.put_unassigned(&lost(n, None)))?;
    }
    same!(desk.write(|tx| tx.trim_unassigned(5))?, 0, "none too many");
    let gone = desk.write(|tx| tx.trim_unassigned(2))?;
    same!(gone, 2 + 3 + 4, "the records that are let go");
    let mut later = Desk::open(shelf)?;
    let left = later.read(|tx| tx.unassigned(None, 9))?;
    let names: Vec<_> = left.iter().map(|r| r.name.as_str()).collect();
    same!(names, ["name 5 ä", "name 4 ä"], "what is left");
    Ok(())
}

fn unforwarded(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let mut places = Vec::new();
    // They need not come in the order of their times.
    for n in [3, 1, 2, 4] {
        places.push(desk.write(|tx| tx.put_unassigned(&lost(n, None)))?);
    }
    let mut later = Desk::open(shelf)?;
    let mut found = |until, limit| {
        let found = later.read(|tx| tx.unforwarded(at(until), limit))?;
        Outcome::Ok(found.into_iter().map(|r| r.at).collect::<Vec<_>>())
    };
    same!(found(3, 9)?, [at(1), at(2), at(3)], "what is kept for long");
    same!(found(3, 2)?, [at(1), at(2)], "what is kept for longest");
    for (n, sent) in [(1, vec![at(2), at(3)]), (0, vec![at(2)])] {
        desk.write(|tx| tx.set_forwarded(places[n]))?;
        same!(found(3, 9)?, sent, "what was not sent on");
    }
    let kept = desk.read(|tx| tx.unassigned(None, 9))?;
    same!(kept.len(), 4, "what is sent on is kept");
    Ok(())
}

fn forwards(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let mut ours = Vec::new();
    for n in 1..5 {
        let sequence = desk.write(|tx| tx.put_forward(&forward(n, "ours")))?;
        ours.push(ForwardRecord {
            sequence,
            ..forward(n, "ours")
        });
        desk.write(|tx| tx.put_forward(&forward(n + 10, "theirs")))?;
    }
    let mut later = Desk::open(shelf)?;
    same!(later.read(|tx| tx.forwards("ours", 9))?, ours, "what waits");
    let first = later.read(|tx| tx.forwards("ours", 3))?;
    same!(first, ours[..3], "what waits first");
    desk.write(|tx| tx.drop_forward(ours[0].sequence))?;
    desk.write(|tx| tx.drop_forward(ours[1].sequence))?;
    let left = later.read(|tx| tx.forwards("ours", 9))?;
    same!(left, ours[2..], "what is left");
    let depth = Depth {
        rows: 2,
        records: 7,
        bytes: 8,
    };
    let found = later.read(|tx| tx.forward_depth("ours"))?;
    same!(found, depth, "the depth");
    same!(desk.write(|tx| tx.drop_forwards("ours"))?, 7, "records");
    for (destination, rows) in [("ours", 0), ("theirs", 4)] {
        let found = later.read(|tx| tx.forward_depth(destination))?;
        same!(found.rows, rows, "what is left of a destination");
    }
    Ok(())
}

fn counts(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for (name, by) in [("b", 2), ("a", 5), ("b", 3)] {
        desk.write(|tx| tx.add_count(name, by))?;
    }
    let mut later = Desk::open(shelf)?;
    let wanted = [("a".to_owned(), 5), ("b".to_owned(), 5)];
    same!(later.read(|tx| tx.counts())?, wanted, "the counts");
    Ok(())
}
