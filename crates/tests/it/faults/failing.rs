//! Stores that fail, and stores from the future.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::server::Gateway;
use crate::harness::{left_out, until};

use super::driver::{Driver, whole};
use super::store::{Store, each_store, on_a_file, on_a_server_with_little_room};

/// A small file system.
struct Small {
    dir: PathBuf,
    is_ours: bool,
}

impl Small {
    /// At the place of the store's file; none where this user may not mount.
    fn below(store: &Store) -> Option<Self> {
        let dir = store.world.siglum_home();
        std::fs::create_dir_all(&dir).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]);
        let mounted = mount.arg(&dir).output().unwrap();
        let is_ours = true;
        mounted.status.success().then_some(Self { dir, is_ours })
    }

    fn fill(&self) {
        let zeros = vec![0; 32 << 20];
        std::fs::write(self.dir.join("ballast"), zeros).unwrap_err();
    }

    fn make_room(&self) {
        std::fs::remove_file(self.dir.join("ballast")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if self.is_ours {
            let mut umount = Command::new("umount");
            let _ = umount.arg("-l").arg(&self.dir).status();
        }
    }
}

/// Everything that shows a session.
fn seen(driver: &mut Driver, store: &Store, session: &str) -> Vec<Value> {
    let shown = std::fs::read_to_string(format!("{}/{session}.jsonl", store.dir()));
    vec![
        driver.must(&json!({ "do": "read", "session": session })),
        json!(driver.receipts(session)),
        driver.must(&json!({ "do": "list" })),
        driver.must(&json!({ "do": "lag", "name": "shown" })),
        json!(shown.unwrap()),
        json!(store.sql("SELECT count(*) FROM observations")),
        json!(store.sql("SELECT count(*) FROM turns")),
    ]
}

#[test]
fn nothing_of_a_turn_is_seen_when_the_disk_is_full() {
    on_a_file(|store| {
        let Some(small) = Small::below(store) else {
            left_out("this user may not mount");
            return;
        };
        full(store, &small);
        store.check();
        // What is below goes before the world does.
        let kept = store.backup();
        drop(small);
        store.restore(&kept);
        std::fs::remove_dir_all(store.dir()).unwrap();
    });
    on_a_server_with_little_room(|store, place| {
        let (dir, is_ours) = (place.to_owned(), false);
        full(store, &Small { dir, is_ours });
    });
}

/// A turn that finds no room, and then some.
fn full(store: &mut Store, small: &Small) {
    let mut driver = store.driver();
    driver.follow();
    let session = driver.create("s");
    driver.lease(&session);
    driver.turns(&session, 3);
    driver.feed(store);
    let before = seen(&mut driver, store, &session);
    small.fill();
    let mut large = whole(&session, "t4");
    large["said"][1]["answer"] = json!(noise());
    let refused = driver.refused(&large, "store");
    assert_eq!(refused["fate"], "not committed", "{refused}");
    let text = refused["text"].as_str().unwrap();
    assert!(text.contains("cannot write to the ledger"), "{refused}");
    store.outcome("not committed");
    driver.ask(&json!({ "do": "feed", "name": "shown", "dir": store.dir() }));
    assert_eq!(seen(&mut driver, store, &session), before);
    small.make_room();
    assert_eq!(driver.must(&large)["already"], false);
    driver.feed(store);
    store.outcome("committed when there was room");
    driver.kill();
}

/// A text that cannot be compressed.
fn noise() -> String {
    let mut state = 1_u64;
    let mut word = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 40
    };
    (0..100_000).map(|_| format!("{} ", word())).collect()
}

#[test]
fn nothing_of_a_turn_is_seen_when_the_store_refuses_it() {
    each_store(|store| {
        let mut driver = store.driver();
        driver.follow();
        let session = driver.create("s");
        driver.lease(&session);
        driver.turns(&session, 2);
        driver.feed(store);
        let before = seen(&mut driver, store, &session);
        store.break_commits(&session);
        let refused = driver.refused(&whole(&session, "t3"), "store");
        assert_eq!(refused["fate"], "not committed");
        driver.feed(store);
        assert_eq!(seen(&mut driver, store, &session), before);
        // The same in steps: what was said waits, and nobody sees it.
        let step = |what: &str, items: Value| json!({ "do": what, "session": session, "key": "t4", "said": items });
        driver.must(&step("open", json!([{ "prompt": "t4 asks" }])));
        driver.must(&step("append", json!([{ "answer": "t4 answers" }])));
        driver.refused(&step("commit", json!([])), "store");
        driver.feed(store);
        assert_eq!(seen(&mut driver, store, &session), before);
        store.outcome("not committed");
        store.mend_commits();
        driver.must(&step("commit", json!([])));
        driver.turn(&session, "t5");
        assert_eq!(driver.feed(store)["took"].as_array().unwrap().len(), 2);
        store.outcome("committed when it was mended");
    });
}

#[test]
fn one_session_that_cannot_commit_is_in_nobodys_way() {
    each_store(|store| {
        let mut drivers: Vec<(Driver, String)> = (0..16)
            .map(|n| {
                let mut driver = store.driver();
                let session = driver.create(&format!("s{n}"));
                driver.lease(&session);
                (driver, session)
            })
            .collect();
        store.break_commits(&drivers[0].1);
        let (mut longest, rounds) = (Duration::ZERO, 8);
        for round in 0..rounds {
            let began = Instant::now();
            for (driver, session) in &mut drivers {
                driver.say(&whole(session, &format!("t{round}")));
            }
            for (n, (driver, _)) in drivers.iter_mut().enumerate() {
                let done = driver.answer().unwrap();
                assert_eq!(done.get("error").is_some(), n == 0, "{n}: {done}");
            }
            longest = longest.max(began.elapsed());
        }
        assert!(longest < Duration::from_secs(10), "{longest:?}");
        for (n, (driver, session)) in drivers.iter_mut().enumerate() {
            let expected = if n == 0 { 0 } else { rounds };
            assert_eq!(driver.receipts(session).len(), expected);
        }
        store.mend_commits();
        let (driver, session) = &mut drivers[0];
        driver.turn(session, "t0");
        store.outcome(&format!(
            "15 × {rounds} committed, longest round {longest:.1?}"
        ));
    });
}

#[test]
fn a_store_from_the_future_is_refused_and_stays_as_it_is() {
    on_a_file(|store| {
        store.driver().create("s");
        store.sql("UPDATE meta SET value = 999 WHERE key IN ('min_reader', 'min_writer')");
        store.sql("PRAGMA user_version = 999");
        store.sql("PRAGMA wal_checkpoint(TRUNCATE)");
        let before = std::fs::read(store.file()).unwrap();
        let began = store.driver().began.clone();
        assert!(
            began["text"]
                .as_str()
                .unwrap_or_default()
                .contains("supports"),
            "{began}"
        );
        assert!(
            std::fs::read(store.file()).unwrap() == before,
            "it was written to"
        );
        store.outcome("refused");
        std::fs::remove_file(store.file()).unwrap();
    });
}

#[test]
fn the_doctor_reports_a_full_disk_and_its_gateway_is_not_ready() {
    on_a_file(|store| {
        let Some(small) = Small::below(store) else {
            left_out("this user may not mount");
            return;
        };
        let gateway = Gateway::start(store);
        let anybody = gateway.stranger();
        let doctor = || store.world.siglum(&store.world.root, &["doctor"]);
        anybody.get("/readyz").is(200);
        let nearly = doctor();
        assert!(nearly.stdout.contains("nearly full"), "{nearly:?}");
        small.fill();
        until("it is not ready", || anybody.get("/readyz").status == 503);
        let full = doctor();
        assert!(full.stdout.contains("is full"), "{full:?}");
        assert_ne!(full.code, Some(0), "{full:?}");
        small.make_room();
        until("it is ready again", || anybody.get("/readyz").status == 200);
        drop(gateway);
        // What is below goes before the world does.
        let kept = store.backup();
        drop(small);
        store.restore(&kept);
    });
}
