//! A ledger from a backup, sinks that are ahead of it, and drivers from before.

use std::time::Duration;

use siglum_domain::ConversationId;
use siglum_domain::observation::Source;
use siglum_ledger::{Ledger as _, read};

use super::stage::*;
use crate::driven::turn::{self, Driver, TurnError};
use crate::share::project::{self, Directory};
use crate::views::verify;
use crate::{World, restore};

fn driver(world: &World<'_>, ledger: &mut dyn siglum_ledger::Ledger, nonce: &str) -> Driver {
    let new = turn::NewSession {
        agent: agent(),
        conversation: ConversationId::new("driven").unwrap(),
        cwd: None,
        links: Vec::new(),
        by: "me".to_owned(),
    };
    let session = turn::create(world, ledger, &new).unwrap().id;
    let holder = turn::Holder {
        name: "me".to_owned(),
        nonce: nonce.to_owned(),
        process: None,
    };
    Driver::take(world, ledger, session, &holder, Duration::from_secs(60)).unwrap()
}

fn api_prompt(key: &str) -> Vec<siglum_domain::observation::Observation> {
    let mut observation = prompt(key, 2);
    observation.source = Source::Api;
    vec![observation]
}

/// Restored twice from the same backup: each time, whoever drove before is fenced, and a sink that is ahead is filled again.
#[test]
fn drivers_from_before_are_fenced_and_sinks_that_are_ahead_are_filled_again() {
    let mut stage = Stage::new();
    let root = stage.dir.path().to_owned();
    let (sink, copy) = (root.join("sink"), root.join("copy.db"));
    stage.play(|world, ledger| {
        let mut first = driver(world, ledger, "1");
        first
            .commit(world, ledger, "k1", &api_prompt("k1"))
            .unwrap();
        first.release(world, ledger).unwrap();
        project::add(
            world,
            ledger,
            "docs",
            "directory",
            sink.to_str().unwrap(),
            &siglum_domain::scope::Scope::in_process(),
        )
        .unwrap();
        ledger.copy_to(&copy).unwrap();
    });
    for round in 0..2 {
        stage.now.set(2_000 + round * 100);
        let mut late = stage.play(|world, ledger| {
            let mut late = driver(world, ledger, &format!("late {round}"));
            let key = format!("late-{round}");
            late.commit(world, ledger, &key, &api_prompt(&key)).unwrap();
            project::feed(world, ledger, "docs", &mut Directory::at(&sink)).unwrap();
            late
        });
        stage.now.set(2_050 + round * 100);
        let part = root.join(format!("part {round}.db"));
        std::fs::copy(&copy, &part).unwrap();
        let how = siglum_ledger::sqlite::Open::Command {
            id: stage.ledger.id(),
            key: [7; 32],
        };
        let mut restored = siglum_ledger::SqliteLedger::open(&part, how).unwrap();
        let epoch = stage.read(|tx| tx.greatest_epoch());
        let prepared = stage.play(|world, _| restore::prepare(world, &mut restored, epoch, "Ann"));
        assert_eq!(prepared.unwrap(), restore::Prepared { due: 1, fenced: 1 });
        restored.settle().unwrap();
        drop(restored);
        stage
            .ledger
            .replace_by(&part, &root.join(format!("kept {round}.db")))
            .unwrap();
        stage.play(|world, ledger| {
            let mut newest = driver(world, ledger, &format!("new {round}"));
            let fenced = late.commit(world, ledger, "k9", &api_prompt("k9"));
            assert!(
                matches!(fenced, Err(TurnError::Fenced { .. })),
                "{fenced:?}"
            );
            newest
                .commit(world, ledger, "k2", &api_prompt("k2"))
                .unwrap();
            newest.release(world, ledger).unwrap();
            project::feed(world, ledger, "docs", &mut Directory::at(&sink)).unwrap();
            let report = verify::verify(world, ledger, None).unwrap();
            assert!(report.is_sound(), "{:?}", report.problems);
            let session = newest_session(ledger);
            let shown = std::fs::read_to_string(sink.join(format!("{session}.jsonl"))).unwrap();
            assert_eq!(shown.lines().count(), 2, "{shown}");
            assert!(!shown.contains("late"), "{shown}");
        });
    }
}

fn newest_session(ledger: &mut dyn siglum_ledger::Ledger) -> siglum_domain::SessionId {
    let all = read(ledger, |tx| tx.stored_sessions(None, 2)).unwrap();
    all[0].id
}
