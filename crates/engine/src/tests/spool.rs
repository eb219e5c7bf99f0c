//! Moving deliveries from the spool.

use std::fs;

use siglum_domain::observation::StartKind;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{LedgerError, SqliteLedger};

use super::stage::*;
use crate::worker::drain;

#[test]
fn what_cannot_be_read_is_set_aside_and_the_rest_goes_on() {
    let mut stage = Stage::new();
    let spool = stage.spool();
    spool
        .put(&intake(says("one", vec![started(1, StartKind::Startup)])))
        .unwrap();
    fs::write(spool.dir().join("00000-bad.json"), "{\"version\":").unwrap();
    spool
        .put(&intake(says("two", vec![started(2, StartKind::Startup)])))
        .unwrap();
    let moved = drain(&stage.ids, &mut stage.ledger, std::slice::from_ref(&spool)).unwrap();
    assert_eq!(moved, 2);
    assert!(spool.is_empty());
    assert!(spool.dir().join("00000-bad.bad").exists());
    assert_eq!(stage.sessions().len(), 2);
}

#[test]
fn a_busy_ledger_stops_the_drain_and_nothing_is_lost() {
    let mut stage = Stage::new();
    let spool = stage.spool();
    for n in 1..=3 {
        let start = vec![started(n, StartKind::Startup)];
        spool.put(&intake(says(&format!("s{n}"), start))).unwrap();
    }
    let path = stage.dir.path().join("ledger.db");
    let mut hook = SqliteLedger::open(&path, Open::Hook).unwrap();
    let refused = stage.play(|world, ledger| {
        let mut refused = None;
        siglum_ledger::write(ledger, siglum_ledger::Durability::Process, |tx| {
            tx.push(at(0), "holds", "the lock")?;
            refused = drain(world.ids, &mut hook, std::slice::from_ref(&spool)).err();
            Ok(())
        })
        .unwrap();
        refused
    });
    assert!(matches!(refused, Some(LedgerError::Busy)), "{refused:?}");
    assert_eq!((spool.len(), stage.sessions().len()), (3, 0));
    let moved = drain(&stage.ids, &mut hook, std::slice::from_ref(&spool)).unwrap();
    assert_eq!((moved, spool.len(), stage.sessions().len()), (3, 0, 3));
}
