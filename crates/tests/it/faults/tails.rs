//! What a driver that died at some step of its turn leaves, and what becomes of it.

use serde_json::{Value, json};

use super::driver::{Driver, whole};
use super::store::{Store, each_store};

/// A turn in steps; each is one writing transaction.
fn steps(session: &str) -> Vec<Value> {
    let step = |what: &str, items: Value| json!({ "do": what, "session": session, "key": "k", "said": items });
    vec![
        json!({ "do": "lease", "session": session }),
        step("open", json!([{ "prompt": "asked" }])),
        step("append", json!([{ "call": "c" }])),
        step("append", json!([{ "result": "c" }])),
        step("append", json!([{ "answer": "answered" }, { "stop": "" }])),
        step("commit", json!([])),
    ]
}

/// A driver takes so many steps of a turn and dies in or around the last one. Gives the session.
fn died(store: &mut Store, name: &str, at: u32, place: &str) -> String {
    let mut driver = store.driver();
    let session = driver.create(name);
    driver.fault(at, place, "die");
    for step in steps(&session) {
        if driver.ask(&step).is_none() {
            store.killed();
            return session;
        }
    }
    panic!("it lives");
}

/// What is recovered when so many steps are stored.
const RECOVERED: [&str; 7] = [
    "nothing",
    "nothing",
    "asked",
    "held",
    "interrupted",
    "committed",
    "nothing",
];

/// Whoever reads meanwhile sees nothing of it.
fn nothing_is_seen(driver: &mut Driver, session: &str) {
    assert_eq!(driver.texts(session), Vec::<String>::new());
    assert_eq!(driver.receipts(session), Vec::<Value>::new());
}

#[test]
fn a_driver_is_killed_at_every_step_and_the_next_one_recovers() {
    each_store(|store| {
        store.driver().follow();
        for at in 1..=6 {
            for place in ["before", "inside", "after"] {
                let name = format!("killed-{place}-{at}");
                let session = died(store, &name, at, place);
                let stored = at - u32::from(place != "after");
                let mut next = store.driver();
                if stored < 6 {
                    nothing_is_seen(&mut next, &session);
                }
                let how = RECOVERED[stored as usize];
                let done = next.must(&json!({ "do": "recover", "session": session }));
                assert_eq!(done["how"], how, "{name}");
                store.outcome(how);
                let again = next.must(&json!({ "do": "recover", "session": session }));
                let twice = if matches!(how, "asked" | "held") {
                    how
                } else {
                    "nothing"
                };
                assert_eq!(again["how"], twice, "{name}");
                goes_on(&mut next, &session, how, stored);
                next.feed(store);
                store.check();
            }
        }
    });
}

/// The next driver gets the session, and no turn is there twice.
fn goes_on(next: &mut Driver, session: &str, how: &str, stored: u32) {
    if how == "held" {
        next.refused(&json!({ "do": "lease", "session": session }), "held");
        next.must(&json!({ "do": "decide", "session": session, "decision": "done" }));
    }
    next.lease(session);
    if stored < 3 {
        for step in &steps(session)[1..] {
            next.must(step);
        }
    }
    let done = next.ask(steps(session).last().unwrap()).unwrap();
    match how {
        // A person spoke in it, so that it is not what its driver asks for.
        "held" => assert_eq!(done["error"], "conflict"),
        _ => assert_eq!(done["already"], true),
    }
    let receipts = next.receipts(session);
    assert_eq!(receipts.len(), 1);
    if done.get("receipt").is_some() {
        assert_eq!(done["receipt"], receipts[0]);
    }
    let texts = next.texts(session);
    assert_eq!(
        texts.iter().filter(|t| *t == "asked").count(),
        1,
        "{texts:?}"
    );
    next.turn(session, "more");
    assert_eq!(next.receipts(session).len(), 2);
}

/// The commands show what became of the turn, of a session by what its runtime calls it.
fn is_shown(store: &Store, conversation: &str, state: &str) {
    if store.is_file() {
        let root = &store.world.root;
        let shown = store.world.json(root, &["session", "show", conversation]);
        assert_eq!(shown["turns"][0]["state"], state, "{shown}");
    }
}

#[test]
fn a_turn_that_had_come_to_its_stop_is_committed_once() {
    each_store(|store| {
        let session = died(store, "s", 6, "before");
        let mut next = store.driver();
        next.must(&json!({ "do": "work" }));
        assert_eq!(
            next.texts(&session),
            ["asked", "c", "c", "answered", "complete"]
        );
        is_shown(store, "s", "sealed");
        next.must(&json!({ "do": "work" }));
        assert_eq!(next.receipts(&session).len(), 1);
        store.outcome("recovered by the worker");
    });
}

#[test]
fn a_turn_that_was_broken_off_is_kept_and_marked() {
    each_store(|store| {
        let session = died(store, "s", 5, "before");
        let mut next = store.driver();
        let took = next.lease(&session);
        assert_eq!(took["recovered"]["how"], "interrupted");
        assert_eq!(next.texts(&session), ["asked", "c", "c", "interrupted"]);
        assert_eq!(took["open"], Value::Null);
        is_shown(store, "s", "interrupted");
        store.outcome("interrupted");
    });
}

#[test]
fn a_call_without_a_result_waits_for_a_person() {
    each_store(|store| {
        for (decision, texts) in [
            ("done", vec!["asked", "c", "decided"]),
            ("failed", vec!["asked", "c", "decided"]),
            ("discard", vec![]),
        ] {
            let session = died(store, decision, 4, "before");
            let mut next = store.driver();
            next.must(&json!({ "do": "work" }));
            let held = next.must(&json!({ "do": "held" }));
            assert_eq!(held[0]["said"][1]["key"], "call:k:c");
            assert!(
                held[0]["held"].as_str().unwrap().contains("tool:k:c"),
                "{held}"
            );
            nothing_is_seen(&mut next, &session);
            next.refused(&json!({ "do": "lease", "session": session }), "held");
            next.must(&json!({ "do": "decide", "session": session, "decision": decision }));
            assert_eq!(next.texts(&session), texts);
            assert_eq!(next.must(&json!({ "do": "held" })), json!([]));
            if !texts.is_empty() {
                is_shown(store, decision, "settled by a person");
            }
            next.lease(&session);
            next.turn(&session, "more");
            store.outcome(decision);
        }
    });
}

#[test]
fn a_prompt_alone_is_offered_once() {
    each_store(|store| {
        let session = died(store, "s", 3, "before");
        let mut next = store.driver();
        let took = next.lease(&session);
        assert_eq!(
            (&took["recovered"]["how"], &took["open"]),
            (&json!("asked"), &json!("k"))
        );
        let waits = next.must(&json!({ "do": "pending", "session": session }));
        assert_eq!(waits.as_array().unwrap().len(), 1);
        next.must(&json!({ "do": "abort", "session": session, "key": "k" }));
        nothing_is_seen(&mut next, &session);
        next.turn(&session, "more");
        store.outcome("aborted");
    });
}

#[test]
fn a_session_whose_driver_is_dead_is_free_at_once() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = driver.create("s");
        driver.lease(&session);
        let mut next = store.driver();
        next.refused(&json!({ "do": "lease", "session": session }), "leased");
        driver.kill();
        store.killed();
        assert_eq!(next.lease(&session)["epoch"], 2);
        store.outcome("taken over");
    });
}

#[test]
fn a_commit_whose_answer_was_lost_is_repeated_and_stored_once() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = driver.create("s");
        driver.lease(&session);
        driver.fault(1, "after", "die");
        assert_eq!(driver.ask(&whole(&session, "t1")), None);
        store.killed();
        let mut next = store.driver();
        let receipts = next.receipts(&session);
        next.lease(&session);
        let again = next.turn(&session, "t1");
        assert_eq!(
            (&again["already"], &again["receipt"]),
            (&json!(true), &receipts[0])
        );
        // The same key for something else is no repetition.
        let mut other = whole(&session, "t1");
        other["said"][0]["prompt"] = json!("something else");
        let refused = next.refused(&other, "conflict");
        assert_eq!(refused["digest"], receipts[0]["digest"]);
        assert_eq!(next.receipts(&session), receipts);
        store.outcome("already committed");
    });
}

#[test]
fn an_outcome_that_nobody_knows_is_resolved_by_its_key() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = driver.create("s");
        driver.lease(&session);
        for (place, already) in [("before", false), ("after", true)] {
            driver.fault(1, place, "unknown");
            assert_eq!(driver.turn(&session, place)["already"], already);
            store.outcome(if already {
                "had been stored"
            } else {
                "stored by the second try"
            });
        }
        // Nobody answers for long: the driver is told so, and asks later.
        driver.must(&json!({ "do": "fault", "where": "after", "what": "unknown", "times": 99 }));
        let lost = driver.refused(&whole(&session, "long"), "unknown");
        assert_eq!(lost["fate"], "unknown");
        driver.must(&json!({ "do": "fault" }));
        assert_eq!(driver.turn(&session, "long")["already"], true);
        assert_eq!(driver.receipts(&session).len(), 3);
    });
}
