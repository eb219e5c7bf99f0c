//! What a turn costs, counted: the same on a short session and on a long one, whatever else the machine does.

use siglum_ledger::SqliteLedger;
use siglum_ledger::sqlite::Cost;

use super::*;
use crate::Here;

/// The events of the sessions that are compared.
const HISTORIES: [usize; 3] = [10, 1_000, 100_000];
/// The most events of one of their turns.
const TURN: usize = 100;
/// How many turns are counted behind each.
const TURNS: usize = 9;
/// How many more pages a turn may write where trees have grown.
const PAGES_MORE: u64 = 3;
/// How many more instructions it may take to find the way in a deeper tree, in percent.
const STEPS_MORE: u64 = 30;

/// A session with a driver and so many events, all of them committed.
fn grown(events: usize) -> (Stage, Driver) {
    let (mut stage, session, mut driver) = driving();
    for first in (0..events).step_by(TURN) {
        let last = (first + TURN).min(events);
        let all: Vec<_> = (first..last)
            .map(|n| message(&format!("m-{n}"), "So far, so good."))
            .collect();
        act(&mut stage, |world, ledger| {
            let key = format!("before-{first}");
            driver.commit(world, ledger, &key, &all).unwrap()
        });
    }
    assert_eq!(stage.session(session).sealed, events as u64);
    (stage, driver)
}

/// A turn as drivers make them: opened with a prompt, grown twice, committed by its key, and asked for again. The
/// keys of its events begin alike.
fn one_turn(here: &Here<'_>, ledger: &mut dyn Ledger, driver: &mut Driver, key: &str) {
    let mine = |mut event: Observation| {
        event.key = format!("{key}/{}", event.key);
        event
    };
    let long = "The build is green, and here is why. ".repeat(100);
    let [prompt, call, result] = [prompt("Build it."), call("a"), result("a")].map(mine);
    let [answer, stop] = [message("m", &long), stop()].map(mine);
    driver.open(here, ledger, key, &[prompt]).unwrap();
    driver.append(here, ledger, &[call]).unwrap();
    driver.append(here, ledger, &[result, answer]).unwrap();
    let mut commit = || {
        let events = std::slice::from_ref(&stop);
        driver.commit(here, ledger, key, events).unwrap()
    };
    let (first, again) = (commit(), commit());
    assert!(again.already);
    assert_eq!(again.receipt, first.receipt);
}

/// What a turn costs behind so many events. Each of some turns in a row costs the same, but for the pages, of which the
/// median stands: where a page is full by chance, it is split.
fn cost(events: usize) -> Cost {
    let (mut stage, mut driver) = grown(events);
    let mut costs: Vec<Cost> = (1..=TURNS)
        .map(|n| {
            stage.play(|world, ledger| {
                let key = format!("turn-{n}");
                let turn = |ledger: &mut SqliteLedger| one_turn(world, ledger, &mut driver, &key);
                ledger.cost_of(turn).unwrap().1
            })
        })
        .collect();
    costs.sort_by_key(|cost| cost.pages);
    let median = costs.swap_remove(TURNS / 2);
    for other in costs {
        assert_same(&other, &median, &format!("of turns behind {events} events"));
    }
    println!(
        "{events} events before: {} rows, {} bytes, {} bytes hashed, {} instructions, {} pages, {} statements",
        median.rows,
        median.bytes,
        median.hashed,
        median.steps,
        median.pages,
        median.statements.values().sum::<u64>()
    );
    median
}

fn assert_same(one: &Cost, other: &Cost, what: &str) {
    assert_eq!(one.rows, other.rows, "rows {what}");
    assert_eq!(one.bytes, other.bytes, "bytes {what}");
    assert_eq!(one.hashed, other.hashed, "bytes hashed {what}");
    assert_eq!(one.statements, other.statements, "statements {what}");
}

#[test]
fn a_turn_costs_the_same_whatever_came_before() {
    let [short, rest @ ..] = HISTORIES.map(|events| (events, cost(events)));
    let (_, least) = &short;
    assert!(least.rows > 0 && least.bytes > 0 && least.hashed > 0);
    for (events, long) in &rest {
        let what = format!("of a turn behind {events} events, and behind {}", short.0);
        assert_same(long, least, &what);
        let (many, few) = (long.steps, least.steps);
        assert!(
            many * 100 <= few * (100 + STEPS_MORE),
            "instructions {what}: {many}, {few}"
        );
        let (many, few) = (long.pages, least.pages);
        assert!(many <= few + PAGES_MORE, "pages {what}: {many}, {few}");
    }
}

#[test]
fn a_context_costs_the_same_whatever_came_before_its_compaction() {
    let [short, long] = [10, 10_000].map(|events| {
        let (mut stage, mut driver) = grown(events);
        let session = driver.hold().session;
        let fact = Fact::Compacted {
            trigger: "auto".to_owned(),
            summary: None,
        };
        let compacted = api_observation("compacted", "compact:1".to_owned(), fact);
        stage.play(|world, ledger| {
            driver.commit(world, ledger, "c", &[compacted]).unwrap();
            one_turn(world, ledger, &mut driver, "turn");
            let read = |ledger: &mut SqliteLedger| context(ledger, session, None).unwrap();
            let (found, cost) = ledger.cost_of(read).unwrap();
            assert_eq!(found.len(), 6);
            cost
        })
    });
    assert_eq!(short, long);
}
