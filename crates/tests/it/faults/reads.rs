//! What is read: a turn that is open, a session that goes on elsewhere, forks, links.

use serde_json::{Value, json};

use super::driver::texts;
use super::store::{Store, each_store};

#[test]
fn an_open_turn_is_seen_by_its_driver_alone() {
    each_store(|store| {
        let mut driver = store.driver();
        driver.follow();
        let session = driver.create("s");
        driver.lease(&session);
        driver.turn(&session, "t1");
        let secret = "wombat";
        let step = |what: &str, items: Value| json!({ "do": what, "session": session, "key": "t2", "said": items });
        driver.must(&step("open", json!([{ "prompt": secret }])));
        driver.must(&step("append", json!([{ "answer": secret }])));
        let mut other = store.driver();
        other.feed(store);
        other.must(&json!({ "do": "work" }));
        for what in ["read", "history", "receipts"] {
            let seen = other
                .must(&json!({ "do": what, "session": session }))
                .to_string();
            assert!(!seen.contains(secret), "{what}: {seen}");
        }
        other.refused(&json!({ "do": "pending", "session": session }), "fenced");
        if store.is_file() {
            commands_say_nothing(store, &session, secret);
        }
        let file = std::fs::read_to_string(format!("{}/{session}.jsonl", store.dir())).unwrap();
        assert!(file.contains("t1 asks") && !file.contains(secret));
        assert_eq!(store.sql("SELECT count(*) FROM observations"), "3");
        assert_eq!(store.sql("SELECT count(*) FROM turns"), "1");
        assert_eq!(store.sql("SELECT count(*) FROM pending"), "2");
        let waits = driver.must(&json!({ "do": "pending", "session": session }));
        assert_eq!(texts(&waits), [secret, secret]);
        driver.must(&step("commit", json!([])));
        assert!(other.texts(&session).contains(&secret.to_owned()));
        store.outcome("seen when it was committed");
    });
}

fn commands_say_nothing(store: &Store, session: &str, secret: &str) {
    let root = &store.world.root;
    for args in [
        &["session", "show", session][..],
        &["session", "list"],
        &["log"],
        &["status"],
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = store.world.siglum(root, &[args, json].concat());
            assert!(!(ran.stdout + &ran.stderr).contains(secret), "{args:?}");
        }
    }
    let shown = store
        .world
        .siglum(root, &["session", "show", session, "--json"])
        .ok();
    assert!(shown.contains("t1 asks"), "{shown}");
}

#[test]
fn a_session_in_another_process_is_the_same_to_the_byte() {
    each_store(|store| {
        let mut driver = store.driver();
        let session = driver.create("s");
        driver.lease(&session);
        driver.turns(&session, 5);
        let read = json!({ "do": "read", "session": session });
        let before = driver.must(&read);
        let last = driver.receipts(&session).pop().unwrap();
        driver.kill();
        store.killed();
        let mut next = store.driver();
        assert_eq!(
            next.create("s"),
            session,
            "never another one of the same name"
        );
        assert_eq!(next.lease(&session)["committed"], last["last"]);
        assert_eq!(next.must(&read).to_string(), before.to_string());
        next.must(&json!({
            "do": "commit", "session": session, "key": "resumed", "said": [{ "resumed": "another-model" }],
        }));
        let after = next.must(&read);
        let count = before.as_array().unwrap().len();
        assert_eq!(
            after.as_array().unwrap()[..count],
            before.as_array().unwrap()[..]
        );
        assert_eq!(after[count]["text"], "another-model");
        store.outcome("the same");
    });
}

#[test]
fn forks_and_rewinds_cost_their_difference_and_the_past_stays() {
    each_store(|store| {
        let mut driver = store.driver();
        driver.follow();
        let session = driver.create("s");
        driver.lease(&session);
        driver.turns(&session, 40);
        let all = driver.texts(&session);
        let rows = "SELECT (SELECT count(*) FROM observations) + (SELECT count(*) FROM receipts) + (SELECT count(*) FROM turns)";
        let before: u64 = store.sql(rows).parse().unwrap();
        let tenth = driver.receipts(&session)[9]["turns"][0].clone();
        // Of a running session: a turn is open in it.
        let open = json!({ "do": "open", "session": session, "key": "open", "said": [{ "prompt": "open" }] });
        driver.must(&open);
        let mut other = store.driver();
        let mut fork = |turn: &Value, name: &str, of: &str| {
            let step = json!({ "do": "fork", "session": of, "turn": turn, "conversation": name });
            let made = other.must(&step)["session"].as_str().unwrap().to_owned();
            assert_eq!(
                other.must(&step)["session"],
                made,
                "the same fork twice is one"
            );
            other.lease(&made);
            other.turn(&made, "mine");
            let log = texts(&other.must(&json!({ "do": "history", "session": made })));
            (made, log)
        };
        let mine = ["mine asks".to_owned(), "mine answers".to_owned()];
        let (rewound, log) = fork(&tenth, "rewound", &session);
        assert_eq!(log, [&all[..20], &mine].concat());
        let (_, log) = fork(&Value::Null, "ahead", &session);
        assert_eq!(log, [&all[..], &mine].concat());
        let (_, log) = fork(&Value::Null, "again", &rewound);
        assert_eq!(log, [&all[..20], &mine, &mine].concat());
        let after: u64 = store.sql(rows).parse().unwrap();
        assert_eq!(
            after - before,
            3 * (3 + 1 + 1),
            "three entries, a receipt and a turn for each"
        );
        driver.must(&json!({ "do": "commit", "session": session, "key": "open" }));
        assert_eq!(
            driver.texts(&session)[..80],
            all[..],
            "the old one goes on by itself"
        );
        driver.feed(store);
        store.outcome("3 forks");
    });
}

#[test]
fn a_link_that_was_attached_by_one_who_died_is_there_once() {
    each_store(|store| {
        let links = [
            ("issue_number", "42"),
            ("pr_number", "7"),
            ("pipeline_id", "p-1"),
            ("agent_role", "reviewer"),
            ("phase", "plan"),
        ];
        for (n, place) in ["before", "inside", "after"].into_iter().enumerate() {
            let mut driver = store.driver();
            let session = driver.create(place);
            driver.lease(&session);
            driver.turn(&session, "t1");
            for (field, value) in links {
                let link = json!([field, value]);
                let attach = json!({ "do": "link", "session": session, "link": link });
                let mut dying = store.driver();
                dying.fault(1, place, "die");
                assert_eq!(dying.ask(&attach), None);
                store.killed();
                driver.must(&attach);
                driver.must(&attach);
                let found = driver.must(&json!({ "do": "list", "link": link }));
                assert_eq!(found.as_array().unwrap().len(), n + 1);
                assert!(found.as_array().unwrap().contains(&json!(session)));
            }
            store.outcome("attached once");
        }
        assert_eq!(store.sql("SELECT count(*) FROM statements"), "15");
        assert_eq!(store.sql("SELECT count(*) FROM links"), "15");
    });
}
