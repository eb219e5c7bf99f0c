//! Whoever shows what is committed: it fails, hangs, lies, comes late, runs ahead.

use std::fs;

use serde_json::{Value, json};

use super::driver::{Driver, whole};
use super::store::{Store, each_store};

/// Sessions with so many turns each, followed by the directory.
fn sessions(driver: &mut Driver, names: &[&str], turns: u32) -> Vec<String> {
    driver.follow();
    let all: Vec<String> = names.iter().map(|name| driver.create(name)).collect();
    for session in &all {
        driver.lease(session);
        driver.turns(session, turns);
    }
    all
}

fn feed(store: &Store, fault: &Value) -> Value {
    json!({ "do": "feed", "name": "shown", "dir": store.dir(), "fault": fault })
}

fn lag(driver: &mut Driver) -> Value {
    driver.must(&json!({ "do": "lag", "name": "shown" }))
}

/// How many receipts of a session the directory has.
fn shown(store: &Store, session: &str) -> usize {
    let text = fs::read_to_string(format!("{}/{session}.jsonl", store.dir()));
    text.map_or(0, |text| text.lines().count())
}

#[test]
fn what_was_not_shown_when_the_driver_died_is_shown_later() {
    each_store(|store| {
        for (n, place) in ["after", "inside", "before"].into_iter().enumerate() {
            let mut driver = store.driver();
            let session = sessions(&mut driver, &[place], 2).remove(0);
            driver.fault(1, place, "die");
            assert_eq!(driver.ask(&whole(&session, "t3")), None);
            store.killed();
            store.check();
            let mut next = store.driver();
            let committed = next.receipts(&session).len();
            assert_eq!(committed, if n == 0 { 3 } else { 2 });
            assert_eq!(lag(&mut next)["receipts"], committed);
            next.feed(store);
            assert_eq!(shown(store, &session), committed);
            store.outcome(&format!("{committed} shown"));
        }
    });
}

#[test]
fn a_feeder_that_dies_at_every_step_shows_nothing_twice() {
    each_store(|store| {
        let mut driver = store.driver();
        let all = sessions(&mut driver, &["a", "b"], 3);
        for what in ["die before", "die after"] {
            for number in 1..=3 {
                let mut feeder = store.driver();
                let fault = json!({ "what": what, "number": number });
                let died = feeder.ask(&feed(store, &fault)).is_none();
                store.outcome(if died { "died" } else { "had no more to show" });
                store.check();
                store.seconds_pass(120);
            }
        }
        for at in 1..=8 {
            let mut feeder = store.driver();
            driver.turn(&all[0], &format!("more{at}"));
            feeder.fault(
                at % 4 + 1,
                ["before", "inside", "after"][at as usize % 3],
                "die",
            );
            if feeder.ask(&feed(store, &Value::Null)).is_none() {
                store.killed();
            }
            store.check();
            store.seconds_pass(120);
        }
        store.driver().feed(store);
        assert_eq!((shown(store, &all[0]), shown(store, &all[1])), (11, 3));
        assert_eq!(lag(&mut driver)["receipts"], 0);
    });
}

#[test]
fn a_sink_that_is_down_is_in_nobodys_way_and_catches_up() {
    each_store(|store| {
        let mut driver = store.driver();
        driver.must(&json!({ "do": "add", "name": "other" }));
        let all = sessions(&mut driver, &["a", "b", "c"], 4);
        let down = json!({ "what": "fail" });
        for _ in 0..6 {
            driver.must(&feed(store, &down));
            store.seconds_pass(300);
            for session in &all {
                let count = driver.receipts(session).len();
                driver.turn(session, &format!("more{count}"));
            }
        }
        let behind = lag(&mut driver);
        assert_eq!(
            (&behind["receipts"], &behind["sessions"]),
            (&json!(30), &json!(3))
        );
        assert_eq!(
            (&behind["failing"], &behind["parked"]),
            (&json!(3), &json!(0))
        );
        assert!(behind["since"].is_string());
        let other = store.world.root.join("other");
        driver.must(&json!({ "do": "feed", "name": "other", "dir": other }));
        assert_eq!(
            driver.must(&json!({ "do": "lag", "name": "other" }))["receipts"],
            0
        );
        store.seconds_pass(300);
        let took = driver.feed(store);
        assert_eq!(took["took"].as_array().unwrap().len(), 30);
        for session in &all {
            assert_eq!(shown(store, session), 10);
        }
        store.outcome("caught up");
    });
}

#[test]
fn a_sink_that_took_it_and_says_no_gets_it_once() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = sessions(&mut driver, &["a"], 4).remove(0);
        for number in 1..=4 {
            let fault = json!({ "what": "apply, then fail", "number": number });
            driver.must(&feed(store, &fault));
            assert_eq!(shown(store, &session), number);
            store.check();
            store.seconds_pass(300);
        }
        driver.feed(store);
        assert_eq!(shown(store, &session), 4);
        store.outcome("shown once");
    });
}

#[test]
fn a_sink_that_hangs_is_left_and_tried_again() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = sessions(&mut driver, &["a"], 0).remove(0);
        // It reads nothing, has a child, and more is said than a pipe holds.
        let mut large = whole(&session, "large");
        large["said"][1]["answer"] = json!("word ".repeat(100_000));
        driver.must(&large);
        driver.turn(&session, "small");
        let hangs = "echo $$ > hangs; sleep 1000; true";
        let mut step = json!({ "do": "feed", "name": "shown", "program": hangs, "term_ms": 300 });
        let began = std::time::Instant::now();
        driver.must(&step);
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
        assert!(
            lag(&mut driver)["troubled"][0]["reason"]
                .as_str()
                .unwrap()
                .contains("did not end")
        );
        store.seconds_pass(300);
        step["program"] = json!("cat >> taken");
        driver.must(&step);
        assert_eq!(lag(&mut driver)["receipts"], 0);
        let taken = fs::read_to_string(store.world.root.join("taken")).unwrap();
        assert_eq!(taken.lines().count(), 2);
        store.outcome("left and tried again");
    });
}

#[test]
fn what_is_refused_for_ever_is_set_aside_and_others_go_on() {
    each_store(|store| {
        let mut driver = store.driver();
        let all = sessions(&mut driver, &["a", "b"], 3);
        let poison = json!({ "what": "refuse", "session": all[0], "number": 2 });
        for _ in 0..4 {
            driver.must(&feed(store, &poison));
            store.seconds_pass(600);
        }
        let aside = lag(&mut driver);
        assert_eq!(
            (&aside["parked"], &aside["receipts"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(aside["troubled"][0]["reason"], "told to refuse");
        assert_eq!((shown(store, &all[0]), shown(store, &all[1])), (1, 3));
        driver.turn(&all[1], "more");
        driver.must(&feed(store, &poison));
        assert_eq!(shown(store, &all[1]), 4);
        store.check();
        let this = |what: &str| json!({ "do": what, "name": "shown", "session": all[0] });
        driver.must(&this("retry"));
        driver.feed(store);
        assert_eq!(
            (shown(store, &all[0]), lag(&mut driver)["parked"].as_u64()),
            (3, Some(0))
        );
        store.outcome("retried");
    });
}

#[test]
fn what_comes_late_is_ignored() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = sessions(&mut driver, &["a"], 3).remove(0);
        driver.feed(store);
        let file = format!("{}/{session}.jsonl", store.dir());
        let before = fs::read(&file).unwrap();
        driver.must(&json!({ "do": "archive", "session": session }));
        for number in 1..=3 {
            driver.must(&json!({
                "do": "late", "name": "shown", "dir": store.dir(), "session": session, "number": number,
            }));
        }
        driver.feed(store);
        assert_eq!(fs::read(&file).unwrap(), before);
        driver.refused(&whole(&session, "t4"), "archived");
        store.outcome("ignored");
    });
}

#[test]
fn a_sink_that_is_ahead_is_filled_again_and_never_adopted() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = sessions(&mut driver, &["a"], 2).remove(0);
        let backup = store.backup();
        driver.turn(&session, "lost-1");
        driver.turn(&session, "lost-2");
        driver.feed(store);
        assert_eq!(shown(store, &session), 4);
        driver.kill();
        drop(driver);
        store.restore(&backup);
        store.killed();
        let mut next = store.driver();
        // The ledger goes another way, and comes to as many turns.
        next.lease(&session);
        next.turn(&session, "t3");
        next.feed(store);
        store.check();
        assert_eq!(shown(store, &session), 3);
        next.turn(&session, "t4");
        next.feed(store);
        assert_eq!(shown(store, &session), 4);
        assert!(!next.texts(&session).concat().contains("lost"));
        store.outcome("filled again");
    });
}

#[test]
fn a_sink_that_cannot_write_is_shown_and_repaired() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = sessions(&mut driver, &["a"], 2).remove(0);
        fs::write(store.dir(), "in the way").unwrap();
        driver.feed(store);
        let behind = lag(&mut driver);
        assert_eq!(
            (&behind["receipts"], &behind["failing"]),
            (&json!(2), &json!(1))
        );
        assert!(
            behind["troubled"][0]["reason"]
                .as_str()
                .unwrap()
                .contains("shown"),
            "{behind}"
        );
        assert_eq!(driver.receipts(&session).len(), 2);
        fs::remove_file(store.dir()).unwrap();
        driver.must(&json!({ "do": "retry", "name": "shown" }));
        driver.feed(store);
        assert_eq!(shown(store, &session), 2);
        store.outcome("repaired");
    });
}
