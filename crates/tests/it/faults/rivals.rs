//! Two drivers of one session, and one who archives it.

use serde_json::{Value, json};

use super::driver::{Driver, texts, whole};
use super::store::each_store;
use crate::harness::until;

/// Takes the lease as soon as it has run out.
fn take_over(next: &mut Driver, session: &str) -> Value {
    let step = json!({ "do": "lease", "session": session });
    let mut took = Value::Null;
    until("the lease runs out", || {
        took = next.ask(&step).unwrap();
        assert!(
            took.get("error").is_none_or(|code| code == "leased"),
            "{took}"
        );
        took.get("error").is_none()
    });
    took
}

fn short(session: &str) -> Value {
    json!({ "do": "lease", "session": session, "term_ms": 500 })
}

#[test]
fn a_driver_that_slept_past_its_lease_is_fenced() {
    each_store(|store| {
        let mut sleeper = store.driver();
        let session = sleeper.create("s");
        sleeper.lease(&session);
        sleeper.turn(&session, "t1");
        sleeper.must(&json!({ "do": "release", "session": session }));
        sleeper.must(&short(&session));
        sleeper.fault(1, "before", "stop");
        sleeper.say(&whole(&session, "late"));
        sleeper.until_stopped();
        let mut next = store.driver();
        take_over(&mut next, &session);
        next.turn(&session, "t2");
        sleeper.go_on();
        let late = sleeper.answer().unwrap();
        assert_eq!(
            (&late["error"], &late["fate"]),
            (&json!("fenced"), &json!("not committed"))
        );
        for what in ["renew", "pending"] {
            sleeper.refused(&json!({ "do": what, "session": session }), "fenced");
        }
        next.turn(&session, "t3");
        let expected = [
            "t1 asks",
            "t1 answers",
            "t2 asks",
            "t2 answers",
            "t3 asks",
            "t3 answers",
        ];
        assert_eq!(next.texts(&session), expected);
        store.outcome("fenced");
    });
}

#[test]
fn the_turn_of_a_fenced_driver_is_settled_once_and_never_mixed() {
    each_store(|store| {
        for (name, end) in [
            ("stopped", json!({ "stop": "" })),
            ("in the middle", json!({ "answer": "more" })),
        ] {
            let mut sleeper = store.driver();
            let session = sleeper.create(&name.replace(' ', "-"));
            sleeper.must(&short(&session));
            let step = |what: &str, items: Value| json!({ "do": what, "session": session, "key": "late", "said": items });
            sleeper.must(&step("open", json!([{ "prompt": "late asks" }])));
            sleeper.must(&step("append", json!([{ "answer": "late answers" }])));
            if name == "stopped" {
                sleeper.must(&step("append", json!([end])));
            }
            sleeper.stop();
            let mut next = store.driver();
            take_over(&mut next, &session);
            next.turn(&session, "t1");
            sleeper.say(&step("append", json!([{ "call": "c" }])));
            sleeper.go_on();
            assert_eq!(sleeper.answer().unwrap()["error"], "fenced");
            // Its commit says what became of the turn, and changes nothing.
            let late = sleeper.ask(&step("commit", json!([]))).unwrap();
            assert_eq!(late["receipt"], next.receipts(&session)[0]);
            assert_eq!(late["already"], true);
            let log = next.must(&json!({ "do": "read", "session": session }));
            let how = if name == "stopped" {
                "complete"
            } else {
                "interrupted"
            };
            assert_eq!(
                texts(&log),
                ["late asks", "late answers", how, "t1 asks", "t1 answers"]
            );
            store.outcome(how);
        }
    });
}

#[test]
fn of_two_commits_behind_the_same_turn_one_is_taken() {
    each_store(|store| {
        let mut one = store.driver();
        let session = one.create("s");
        let epoch = one.lease(&session)["epoch"].clone();
        one.turn(&session, "t0");
        let mut two = store.driver();
        for round in 1..=20 {
            let expected = one.receipts(&session).last().unwrap()["last"].clone();
            let step = |who: &str| {
                let mut step = whole(&session, &format!("{who}{round}"));
                step["epoch"] = epoch.clone();
                step["expected"] = expected.clone();
                step
            };
            one.say(&step("one"));
            two.say(&step("two"));
            let answers = [one.answer().unwrap(), two.answer().unwrap()];
            let taken = answers
                .iter()
                .filter(|a| a.get("receipt").is_some())
                .count();
            assert_eq!(taken, 1, "{answers:?}");
            let other = answers.iter().find(|a| a.get("error").is_some()).unwrap();
            assert_eq!(other["error"], "stale");
            let last = one.receipts(&session).last().unwrap()["last"].clone();
            assert_eq!(other["committed"], last);
            store.outcome(if answers[0].get("receipt").is_some() {
                "first"
            } else {
                "second"
            });
        }
        assert_eq!(one.receipts(&session).len(), 21);
    });
}

#[test]
fn a_turn_is_committed_before_its_session_is_archived_or_refused() {
    each_store(|store| {
        for round in 0..20 {
            let mut driver = store.driver();
            let session = driver.create(&format!("s{round}"));
            driver.lease(&session);
            let mut archivist = store.driver();
            let archive = json!({ "do": "archive", "session": session });
            // Every other time it is archived just before the commit begins.
            if round % 2 == 0 {
                driver.fault(1, "before", "stop");
                driver.say(&whole(&session, "t1"));
                driver.until_stopped();
                archivist.must(&archive);
                driver.go_on();
            } else {
                driver.say(&whole(&session, "t1"));
                archivist.must(&archive);
            }
            let done = driver.answer().unwrap();
            let receipts = driver.receipts(&session).len();
            match done.get("error") {
                None => assert_eq!(receipts, 1),
                Some(code) => assert_eq!((code, receipts), (&json!("archived"), 0)),
            }
            store.outcome(if receipts == 1 {
                "in, then archived"
            } else {
                "refused"
            });
            for step in [
                whole(&session, "t2"),
                json!({ "do": "lease", "session": session }),
            ] {
                driver.refused(&step, "archived");
            }
            archivist.must(&archive);
        }
    });
}
