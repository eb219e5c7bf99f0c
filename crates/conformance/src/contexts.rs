//! Contexts: routes that point at them, turns and gaps of theirs, and runs that are given the same again.

use siglum_domain::context::{Cause, ContextKey, Inherit, RouteKey};
use siglum_ledger::{
    ContextGap, ContextRecord, ContextRun, ContextTurn, ContextTurnKind, LastRun, RouteMove,
    RouteRecord,
};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a route comes back whole, and is claimed once", routes),
    Check::new("routes are listed by key, in pages", listed),
    Check::new("a context comes back whole", contexts),
    Check::new(
        "the contexts of a route are listed newest first, in pages",
        of_route,
    ),
    Check::new("what came from a context is found", children),
    Check::new(
        "a context goes with all that is noted of it, a route when none is left",
        dropped,
    ),
    Check::new("turns of a context are found by key and by log", turns),
    Check::new("gaps of a context are kept in the order of its host", gaps),
    Check::new("a run is given one context, until that is forgotten", runs),
    Check::new("a route's moves are kept, newest first", moves),
];

fn route_key(key: &str) -> RouteKey {
    RouteKey::new(key).expect("because samples keep to the grammar")
}

pub(super) fn context_key(key: &str) -> ContextKey {
    ContextKey::new(key).expect("because samples keep to the grammar")
}

fn bare(key: &str) -> RouteRecord {
    RouteRecord {
        key: route_key(key),
        current: None,
        agent: agent("claude-code"),
        created_at: at(1),
        seen_at: at(2),
        runs: 0,
        last: None,
    }
}

fn full(key: &str) -> RouteRecord {
    RouteRecord {
        current: Some(context_key("c/1@x#y+z")),
        seen_at: at(9),
        runs: 7,
        last: Some(LastRun {
            context: context_key("c:2"),
            session: session_id(2),
            outcome: Some("acknowledged".to_owned()),
            at: at(8),
        }),
        ..bare(key)
    }
}

pub(super) fn context(n: u128, route: &str) -> ContextRecord {
    let seconds = i64::try_from(n).unwrap_or(0);
    ContextRecord {
        key: context_key(&format!("{route}-run:{n}")),
        route: route_key(route),
        session: session_id(n),
        prepared: None,
        parent: None,
        cause: Cause::Tick,
        inherit: Inherit::None,
        by: "tests".to_owned(),
        created_at: at(seconds),
        seen_at: at(seconds),
        ended_at: None,
        next: None,
        anchors: "{}".to_owned(),
    }
}

fn whole(n: u128, route: &str) -> ContextRecord {
    ContextRecord {
        prepared: Some("{\"agent\":\"x\"}".to_owned()),
        parent: Some((context_key("Parent"), u64::from(u32::MAX) + 7)),
        cause: Cause::Subagent,
        inherit: Inherit::Tail(6),
        ended_at: Some(at(99)),
        next: Some(1 << 50),
        anchors: "{\"generation\":\"ü\"}".to_owned(),
        ..context(n, route)
    }
}

fn turn(key: &str, log: (u64, u64)) -> ContextTurn {
    ContextTurn {
        context: context_key("r-run:1"),
        key: key.to_owned(),
        turn: turn_id(u128::from(log.0)),
        log,
        positions: None,
        kind: ContextTurnKind::Asked,
        recovers: None,
        digest: None,
        at: at(3),
    }
}

fn gap(first: u64, last: u64) -> ContextGap {
    ContextGap {
        context: context_key("r-run:1"),
        first,
        last,
        reason: "the engine was away".to_owned(),
        since: at(1),
        filled_at: None,
        accepted: None,
    }
}

fn run(client: &str, name: &str, seconds: i64) -> ContextRun {
    ContextRun {
        client: client.to_owned(),
        run: name.to_owned(),
        context: context_key("r-run:1"),
        content: "digest".to_owned(),
        made: true,
        at: at(seconds),
    }
}

fn routes(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for route in [bare("Agent:x"), bare("agent:x"), bare("b")] {
        let claimed = desk.write(|tx| tx.claim_route(&route))?;
        same!(claimed, route, "a route that is new");
    }
    for kept in [full("agent:x"), full("b")] {
        desk.write(|tx| tx.put_route(&kept))?;
        let claimed = desk.write(|tx| tx.claim_route(&bare(kept.key.as_str())))?;
        same!(claimed, kept, "a route that was claimed again");
    }
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.route(&route_key("agent:x")))?;
        same!(found, Some(full("agent:x")), "a route");
        let other = desk.read(|tx| tx.route(&route_key("Agent:x")))?;
        same!(other, Some(bare("Agent:x")), "one that differs in case");
        let none = desk.read(|tx| tx.route(&route_key("x")))?;
        same!(none, None, "a route that is not there");
    }
    Ok(())
}

fn listed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    desk.write(|tx| {
        for key in ["b", "a", "B", "c"] {
            tx.claim_route(&bare(key))?;
        }
        Ok(())
    })?;
    let keys = |desk: &mut Desk, after: Option<&str>, limit| -> Outcome<Vec<String>> {
        let after = after.map(route_key);
        let page = desk.read(|tx| tx.routes(after.as_ref(), limit))?;
        Ok(page
            .into_iter()
            .map(|route| route.key.to_string())
            .collect())
    };
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        same!(keys(desk, None, 10)?, ["B", "a", "b", "c"], "all routes");
        same!(keys(desk, None, 2)?, ["B", "a"], "the first page");
        same!(keys(desk, Some("a"), 10)?, ["b", "c"], "the next page");
    }
    Ok(())
}

fn contexts(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for record in [context(1, "r"), whole(2, "r"), whole(3, "r")] {
        desk.write(|tx| tx.put_context(&record))?;
    }
    let again = ContextRecord {
        seen_at: at(50),
        ..context(3, "r")
    };
    desk.write(|tx| tx.put_context(&again))?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        for record in [context(1, "r"), whole(2, "r"), again.clone()] {
            let found = desk.read(|tx| tx.context(&record.key))?;
            same!(found, Some(record.clone()), "a context");
            let found = desk.read(|tx| tx.context_of_session(record.session))?;
            same!(found, Some(record), "a context by its session");
        }
        let none = desk.read(|tx| tx.context_of_session(session_id(9)))?;
        same!(none, None, "a session that keeps no context");
    }
    Ok(())
}

fn of_route(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    desk.write(|tx| {
        for n in [3, 1, 2] {
            tx.put_context(&context(n, "r"))?;
        }
        tx.put_context(&context(4, "s"))
    })?;
    let page = |desk: &mut Desk, before: Option<&ContextRecord>, limit| {
        desk.read(|tx| tx.contexts_of_route(&route_key("r"), before, limit))
    };
    let all: Vec<ContextRecord> = [3, 2, 1].map(|n| context(n, "r")).to_vec();
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        same!(page(desk, None, 10)?, all, "all of a route");
        same!(page(desk, None, 2)?, all[..2], "the first page");
        same!(page(desk, Some(&all[1]), 10)?, all[2..], "the next page");
    }
    Ok(())
}

fn children(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let of: Vec<ContextRecord> = [1, 2, 3].map(|n| whole(n, "r")).to_vec();
    desk.write(|tx| {
        for child in of.iter().rev() {
            tx.put_context(child)?;
        }
        tx.put_context(&context(4, "r"))
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.contexts_from(&context_key("Parent"), 10))?;
        same!(found, of, "what came from a context");
        let two = desk.read(|tx| tx.contexts_from(&context_key("Parent"), 2))?;
        same!(two, of[..2], "the first of them");
    }
    Ok(())
}

fn dropped(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let moved = moved(1);
    desk.write(|tx| {
        tx.claim_route(&bare("r"))?;
        tx.put_route_move(&moved)?;
        for n in [1, 2] {
            tx.put_context(&context(n, "r"))?;
        }
        tx.put_context_turn(&turn("t", (1, 2)))?;
        tx.put_context_gap(&gap(1, 2))?;
        tx.put_context_run(&run("c", "run", 1))
    })?;
    desk.write(|tx| tx.drop_context(&context_key("r-run:1")))?;
    let key = context_key("r-run:1");
    same!(
        desk.read(|tx| tx.context(&key))?,
        None,
        "a context that went"
    );
    same!(desk.read(|tx| tx.context_turns(&key, 0))?, [], "its turns");
    same!(desk.read(|tx| tx.context_gaps(&key))?, [], "its gaps");
    same!(desk.read(|tx| tx.context_run("c", "run"))?, None, "its run");
    desk.write(|tx| tx.drop_route(&route_key("r")))?;
    let left = desk.read(|tx| tx.context(&context_key("r-run:2")))?;
    same!(left, Some(context(2, "r")), "the other context");
    let left = desk.read(|tx| tx.route(&route_key("r")))?;
    same!(left, Some(bare("r")), "a route that has a context");
    desk.write(|tx| tx.drop_context(&context_key("r-run:2")))?;
    desk.write(|tx| tx.drop_route(&route_key("r")))?;
    let gone = desk.read(|tx| tx.route(&route_key("r")))?;
    same!(gone, None, "a route that has none");
    let gone = desk.read(|tx| tx.route_moves(&route_key("r"), 9))?;
    same!(gone, [], "its moves");
    Ok(())
}

fn turns(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let full = ContextTurn {
        positions: Some((5, 1 << 40)),
        kind: ContextTurnKind::Compaction { keep: 6 },
        recovers: Some("broken".to_owned()),
        digest: Some("d".to_owned()),
        ..turn("b", (3, 5))
    };
    let beat = ContextTurn {
        kind: ContextTurnKind::Heartbeat,
        ..turn("a", (6, 8))
    };
    let other = ContextTurn {
        context: context_key("other"),
        ..turn("a", (1, 1))
    };
    for turn in [&beat, &turn("c", (1, 2)), &other, &turn("b", (3, 5)), &full] {
        desk.write(|tx| tx.put_context_turn(turn))?;
    }
    let all = [turn("c", (1, 2)), full.clone(), beat];
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let key = context_key("r-run:1");
        same!(desk.read(|tx| tx.context_turns(&key, 0))?, all, "all turns");
        same!(
            desk.read(|tx| tx.context_turns(&key, 2))?,
            all[1..],
            "those behind"
        );
        same!(
            desk.read(|tx| tx.context_turns(&key, 4))?,
            all[1..],
            "those that end behind"
        );
        let one = desk.read(|tx| tx.context_turn(&key, "b"))?;
        same!(one, Some(full.clone()), "one by its key");
        same!(
            desk.read(|tx| tx.context_turn(&key, "x"))?,
            None,
            "none by its key"
        );
    }
    Ok(())
}

fn gaps(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let filled = ContextGap {
        filled_at: Some(at(7)),
        ..gap(3, 4)
    };
    let accepted = ContextGap {
        accepted: Some((at(8), "somebody".to_owned())),
        ..gap(9, 12)
    };
    for gap in [&accepted, &gap(3, 3), &filled, &gap(6, 7)] {
        desk.write(|tx| tx.put_context_gap(gap))?;
    }
    let all = [filled, gap(6, 7), accepted];
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.context_gaps(&context_key("r-run:1")))?;
        same!(found, all, "gaps");
    }
    let open: Vec<bool> = all.iter().map(ContextGap::is_open).collect();
    same!(open, [false, true, false], "gaps that are open");
    Ok(())
}

fn runs(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let theirs = ContextRun {
        context: context_key("theirs"),
        made: false,
        ..run("d", "one", 2)
    };
    for run in [&run("c", "one", 1), &theirs, &run("c", "two", 3)] {
        desk.write(|tx| tx.put_context_run(run))?;
    }
    let other = ContextRun {
        context: context_key("other"),
        ..run("c", "one", 9)
    };
    desk.write(|tx| tx.put_context_run(&other))?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.context_run("c", "one"))?;
        same!(
            found,
            Some(run("c", "one", 1)),
            "the run that was noted first"
        );
        let found = desk.read(|tx| tx.context_run("d", "one"))?;
        same!(found, Some(theirs.clone()), "that of another client");
    }
    same!(
        desk.write(|tx| tx.trim_context_runs(at(3), 1))?,
        1,
        "trimmed"
    );
    let left = |desk: &mut Desk| -> Outcome<Vec<bool>> {
        let names = [("c", "one"), ("d", "one"), ("c", "two")];
        let found = names.map(|(client, run)| desk.read(|tx| tx.context_run(client, run)));
        found.into_iter().map(|run| Ok(run?.is_some())).collect()
    };
    same!(
        left(&mut desk)?,
        [false, true, true],
        "after the oldest went"
    );
    same!(
        desk.write(|tx| tx.trim_context_runs(at(3), 9))?,
        1,
        "trimmed"
    );
    same!(
        left(&mut desk)?,
        [false, false, true],
        "after the old ones went"
    );
    Ok(())
}

fn moved(seconds: i64) -> RouteMove {
    RouteMove {
        route: route_key("r"),
        at: at(seconds),
        by: "tests".to_owned(),
        from: (seconds > 1).then(|| context_key("before")),
        to: context_key(&format!("to-{seconds}")),
        cause: Cause::Reset,
    }
}

fn moves(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    for seconds in [2, 1, 3, 3] {
        desk.write(|tx| tx.put_route_move(&moved(seconds)))?;
    }
    let all = [moved(3), moved(2), moved(1)];
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.route_moves(&route_key("r"), 9))?;
        same!(found, all, "the moves of a route");
        let last = desk.read(|tx| tx.route_moves(&route_key("r"), 1))?;
        same!(last, all[..1], "the last of them");
        let none = desk.read(|tx| tx.route_moves(&route_key("s"), 9))?;
        same!(none, [], "those of another");
    }
    Ok(())
}
