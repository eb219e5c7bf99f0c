//! Random kills in a stream of turns: `SIGLUM_KILLS` says how many (200).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::driver::{Driver, whole};
use super::store::each_store;
use crate::harness::{Dice, kill, number, seed};

/// Drives one turn, at once or in steps. Gives its receipt; nothing if the driver died.
fn drive(driver: &mut Driver, session: &str, n: usize) -> Option<Value> {
    let key = format!("t{n}");
    if n.is_multiple_of(2) {
        let done = driver.ask(&whole(session, &key))?;
        assert_eq!(done.get("error"), None, "{done}");
        return Some(done["receipt"].clone());
    }
    let step = |what: &str, items: Value| json!({ "do": what, "session": session, "key": key, "said": items });
    let opened = driver.ask(&step("open", json!([{ "prompt": format!("{key} asks") }])))?;
    assert_eq!(opened.get("error"), None, "{opened}");
    if opened.get("committed").is_none() {
        let items = json!([{ "answer": format!("{key} answers") }, { "stop": "" }]);
        let added = driver.ask(&step("append", items))?;
        assert_eq!(added.get("error"), None, "{added}");
    }
    let done = driver.ask(&step("commit", json!([])))?;
    assert_eq!(done.get("error"), None, "{done}");
    Some(done["receipt"].clone())
}

#[test]
fn kills_in_a_stream_of_turns_lose_nothing_and_double_nothing() {
    let kills = number("SIGLUM_KILLS").unwrap_or(200);
    each_store(|store| {
        let seed = seed();
        eprintln!("SIGLUM_SEED={seed} SIGLUM_KILLS={kills}");
        let mut dice = Dice(seed);
        let mut driver = store.driver();
        driver.follow();
        let session = driver.create("stream");
        let mut acknowledged: Vec<Value> = Vec::new();
        for round in 0..kills {
            let took = driver.lease(&session);
            let stored = driver.receipts(&session);
            let ahead = stored.len() - acknowledged.len();
            assert!(
                ahead <= 1,
                "{} acknowledged, {} stored",
                acknowledged.len(),
                stored.len()
            );
            assert_eq!(stored[..acknowledged.len()], acknowledged[..]);
            store.outcome(match (ahead, took["recovered"]["how"].as_str()) {
                (0, Some("asked")) => "a prompt was left",
                (0, _) => "acknowledged",
                (_, Some("committed")) => "acknowledged + 1, recovered",
                _ => "acknowledged + 1",
            });
            // What was asked for last is asked for again.
            let again = drive(&mut driver, &session, acknowledged.len()).unwrap();
            if let Some(known) = stored.get(acknowledged.len()) {
                assert_eq!(&again, known);
            }
            acknowledged.push(again);
            if round % 10 == 9 {
                driver.feed(store);
            }
            if round % 50 == 49 {
                store.check();
            }
            let (pid, delay) = (driver.pid(), Duration::from_micros(dice.roll(15_000)));
            let began = Instant::now();
            let killer = std::thread::spawn(move || {
                std::thread::sleep(delay.saturating_sub(began.elapsed()));
                kill(pid);
            });
            while let Some(receipt) = drive(&mut driver, &session, acknowledged.len()) {
                acknowledged.push(receipt);
            }
            killer.join().unwrap();
            driver.kill();
            store.killed();
            driver = store.driver();
        }
        // Each turn says three things, and those that were recovered say so.
        let texts = driver.texts(&session);
        let prompts: Vec<_> = texts.iter().filter(|t| t.ends_with("asks")).collect();
        let turns = driver.receipts(&session).len();
        let expected: Vec<_> = (0..turns).map(|n| format!("t{n} asks")).collect();
        assert_eq!(prompts, expected.iter().collect::<Vec<_>>());
        eprintln!("{turns} turns");
    });
}
