//! Days of heartbeats in played time: several heartbeats and zones, clocks that change, three processes whose clocks
//! differ, one that is killed, and ticks that are kept for one day.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::Timestamp;
use siglum_domain::heartbeat::TickOutcome;

use super::stage::*;
use crate::driven::heartbeat::*;

const BEGIN: &str = "2026-03-28T00:00:00Z";
const DAYS: i64 = 3;
const DAY_MS: i64 = 86_400_000;

fn heartbeats() -> Vec<Definition> {
    [
        ("often", r#""every":"25s""#),
        (
            "office",
            r#""every":"2m","active":"08:00-20:00","zone":"Europe/Berlin","target":"none""#,
        ),
        (
            "quarter",
            r#""cron":"*/15 * * * *","zone":"America/New_York""#,
        ),
        ("night", r#""cron":"30 2 * * *","zone":"Europe/Berlin""#),
        ("shared", r#""every":"10m","isolated":false"#),
        (
            "late",
            r#""every":"7m","active":"22:00-06:00","zone":"Australia/Lord_Howe""#,
        ),
    ]
    .into_iter()
    .map(|(name, form)| defined(name, &format!(r#"{form},"keep":"1d""#)))
    .collect()
}

/// What was seen of one run of everything.
#[derive(Default)]
struct Seen {
    /// Each tick that was fired, by heartbeat and time.
    fired: BTreeMap<(String, Timestamp), u32>,
    contexts: BTreeSet<String>,
    most_rows: usize,
    lost: u32,
    sent: BTreeMap<String, u32>,
}

fn fire(replica: &mut Replica, now: Timestamp, dies: bool, seen: &mut Seen) {
    let due = replica.play(now, |here, ledger| is_due(here, ledger).unwrap());
    if !due {
        return;
    }
    replica.play(now, |here, ledger| bury(here, ledger).unwrap());
    for claimed in replica.claim(now) {
        let of = claimed.tick.heartbeat.to_string();
        *seen.fired.entry((of, claimed.tick.due)).or_default() += 1;
        let keys = replica.begin(now, &claimed);
        assert_eq!(keys.route, claimed.definition.route);
        if claimed.definition.isolation == Isolation::Isolated {
            assert!(
                seen.contexts.insert(keys.context.to_string()),
                "a context of its own"
            );
        }
        if dies {
            seen.lost += 1;
            continue;
        }
        let remainder = seen.fired.len() % 10;
        let text = if remainder == 0 {
            "Look at this."
        } else {
            "HEARTBEAT_OK"
        };
        let ended = Ended::Answered {
            text: text.to_owned(),
        };
        replica.end(now, &claimed, &ended).unwrap();
    }
    replica.deliver(now, |parcel| {
        *seen.sent.entry(parcel.id.clone()).or_default() += 1;
        Ok(())
    });
}

/// The times that all of them are due between the beginning and an end.
fn expected(all: &[Definition], end: Timestamp) -> BTreeSet<(String, Timestamp)> {
    let mut expected = BTreeSet::new();
    for definition in all {
        let mut now = at(BEGIN);
        while let Some(due) = definition
            .schedule
            .next(at(BEGIN), now)
            .filter(|d| *d <= end)
        {
            expected.insert((definition.name.to_string(), due));
            now = due;
        }
    }
    expected
}

#[test]
fn each_tick_of_ten_thousand_is_fired_once_and_rows_are_bounded() {
    let dir = place();
    let mut replicas: Vec<_> = [(1, 0), (2, 900), (3, -900)]
        .map(|(n, skew)| Replica::new(opened(&dir), n, skew))
        .into();
    let all = heartbeats();
    for definition in &all {
        replicas[0].play(at(BEGIN), |here, ledger| {
            put(here, ledger, definition, Origin::Asked, "ann").unwrap()
        });
    }
    let end = at(BEGIN).plus_millis(DAYS * DAY_MS);
    let wanted = expected(&all, end);
    assert!(wanted.len() > 10_000, "{}", wanted.len());
    let killed = at(BEGIN).plus_millis(DAYS * DAY_MS / 2);
    let mut seen = Seen::default();
    let mut swept = at(BEGIN);
    let times: BTreeSet<_> = wanted.iter().map(|(_, due)| *due).collect();
    let mut bytes = Vec::new();
    for (step, now) in times.iter().copied().enumerate() {
        // In the middle one dies with what it runs, and is not there for an hour.
        let dead =
            (now.millis_since(killed) > 0 && now.millis_since(killed) < 3_600_000).then_some(1);
        let dies = seen.lost == 0 && now >= killed;
        for n in 0..3 {
            let n = (n + step) % 3;
            let first = replicas[n].skew > 0 || dies;
            if Some(n) != dead || dies {
                let replica = &mut replicas[n];
                // A clock that is behind comes to the time later.
                let now = now.plus_millis(if first { 0 } else { -replica.skew.min(0) });
                fire(replica, now, dies && seen.lost == 0, &mut seen);
            }
        }
        if now.millis_since(swept) >= 3_600_000 {
            swept = now;
            replicas[0].play(now, |here, ledger| sweep(here, ledger).unwrap());
            let rows: usize = all
                .iter()
                .map(|d| replicas[0].ticks(d.name.as_str()).len())
                .sum();
            seen.most_rows = seen.most_rows.max(rows);
            replicas[0].ledger.maintain().unwrap();
            bytes.push(
                std::fs::metadata(dir.path().join("ledger.db"))
                    .unwrap()
                    .len(),
            );
        }
    }
    check(&mut replicas[0], &all, &wanted, &seen);
    // The third day needs no more room than the second.
    let (second, last) = (bytes[26..47].iter().max().unwrap(), bytes.last().unwrap());
    println!(
        "{} ticks, {} rows at most, {second} bytes on the second day, {last} at the end",
        wanted.len(),
        seen.most_rows
    );
    assert!(*last < second + second / 10, "{bytes:?}");
}

fn check(
    replica: &mut Replica,
    all: &[Definition],
    wanted: &BTreeSet<(String, Timestamp)>,
    seen: &Seen,
) {
    let twice: Vec<_> = seen
        .fired
        .iter()
        .filter(|(_, times)| **times != 1)
        .collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(seen.sent.values().all(|times| *times == 1));
    assert!(seen.lost >= 1);
    let (mut total, mut interrupted, mut skipped) = (0, 0, 0);
    for definition in all {
        let shown = show(replica.ledger.as_mut(), &definition.name).unwrap();
        for t in &shown.totals {
            total += t.ticks;
            match (t.outcome, t.reason.as_str()) {
                (TickOutcome::Interrupted, _) => interrupted += t.ticks,
                (TickOutcome::Skipped, "still-running") => skipped += t.ticks,
                _ => {}
            }
        }
        assert!(
            shown.record.alive_at.is_some(),
            "whether {} lives",
            definition.name
        );
        let last = shown.last.unwrap();
        let newest = wanted.iter().rfind(|(n, _)| *n == definition.name.as_str());
        assert_eq!(
            Some(&(definition.name.to_string(), last.due)),
            newest,
            "its last tick"
        );
    }
    assert_eq!(interrupted, u64::from(seen.lost), "what died is told, once");
    assert_eq!(total, wanted.len() as u64, "each time is told once");
    let missing: Vec<_> = wanted
        .iter()
        .filter(|w| !seen.fired.contains_key(*w))
        .collect();
    // While the dead one's ticks were held, the next ones were skipped.
    assert!(
        missing.len() as u64 == skipped && missing.len() < 10,
        "{missing:?}"
    );
    // One day and the hour between two sweeps.
    assert!(
        seen.most_rows < wanted.len() * 25 / 72 + 100,
        "{} rows",
        seen.most_rows
    );
    assert_eq!(replica.read(|tx| tx.strays()), []);
    let mut sessions = 0;
    let mut after = None;
    loop {
        let page = replica.read(|tx| tx.stored_sessions(after, 1_000));
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        sessions += page.len();
    }
    assert!(sessions < seen.most_rows + 600, "{sessions} sessions");
}

/// Real processes at once, on one server: fewer ticks.
#[cfg(feature = "postgres")]
#[test]
fn several_connections_fire_each_tick_once() {
    use std::sync::{Arc, Barrier, Mutex};
    let Some(address) = siglum_conformance::Server::address() else {
        println!("not tested: SIGLUM_TEST_PG is not set");
        return;
    };
    let server = siglum_conformance::Server::shared(&address).unwrap();
    let shelf = siglum_conformance::tenant_shelf(&server);
    let mut first = Replica::new(shelf.open().unwrap(), 9, 0);
    let all: Vec<_> = (0..4)
        .map(|n| defined(&format!("h{n}"), r#""every":"1m""#))
        .collect();
    for definition in &all {
        first.play(at(BEGIN), |here, ledger| {
            put(here, ledger, definition, Origin::Asked, "ann").unwrap()
        });
    }
    let seen = Arc::new(Mutex::new(Seen::default()));
    let minute_over = Arc::new(Barrier::new(4));
    std::thread::scope(|scope| {
        for n in 0..4_i64 {
            let ledger = shelf.open().unwrap();
            let (seen, minute_over) = (Arc::clone(&seen), Arc::clone(&minute_over));
            scope.spawn(move || {
                let mut replica = Replica::new(ledger, u128::try_from(n).unwrap() + 1, n * 300);
                for minute in 1..=30 {
                    minute_over.wait();
                    let now = at(BEGIN).plus_millis(minute * 60_000);
                    let claimed = replica.claim(now);
                    for one in claimed {
                        let of = one.tick.heartbeat.to_string();
                        *seen
                            .lock()
                            .unwrap()
                            .fired
                            .entry((of, one.tick.due))
                            .or_default() += 1;
                        replica.begin(now, &one);
                        let ended = Ended::Answered {
                            text: "Look.".to_owned(),
                        };
                        replica.end(now, &one, &ended).unwrap();
                    }
                    replica.deliver(now, |parcel| {
                        *seen
                            .lock()
                            .unwrap()
                            .sent
                            .entry(parcel.id.clone())
                            .or_default() += 1;
                        Ok(())
                    });
                    if minute % 10 == 0 {
                        replica.play(now, |here, ledger| sweep(here, ledger).unwrap());
                    }
                }
            });
        }
    });
    let seen = seen.lock().unwrap();
    assert!(
        seen.fired.values().all(|times| *times == 1),
        "{:?}",
        seen.fired
    );
    assert!(
        seen.sent.values().all(|times| *times == 1),
        "{:?}",
        seen.sent
    );
    assert_eq!(seen.fired.len(), 4 * 30);
    assert_eq!(seen.sent.len(), 4 * 30);
    for definition in &all {
        let ticks = first.ticks(definition.name.as_str());
        assert_eq!(ticks.len(), 30, "{}", definition.name);
        assert!(
            ticks
                .iter()
                .all(|t| t.missed == 0 && t.outcome == TickOutcome::Delivered)
        );
    }
}
