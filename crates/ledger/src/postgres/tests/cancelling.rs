//! Reads that nobody waits for any more.

use std::thread;
use std::time::{Duration, Instant};

use super::losses::backend;
use super::together::wait_for_a_waiter;
use super::*;
use crate::Cancellation;

/// Sleeps for a minute in the server; tells how that ended, and after how long.
fn sleep(ledger: &mut PostgresLedger) -> (Result<(), LedgerError>, Duration) {
    let begun = Instant::now();
    let slept = ledger.run_once(&mut |tx| {
        let sql = "SELECT pg_sleep(60) WHERE $1::text <> ''";
        tx.each(sql, &[], |_| Ok(()))
    });
    (slept, begun.elapsed())
}

#[test]
fn a_read_is_ended_at_the_server_and_nothing_after_it() {
    let Some(home) = Home::shared() else { return };
    drop(home.open());
    let mut connection = PostgresConnection::new(home.settings.clone());
    let tenant = &home.settings.tenant;
    let before = connection.with(tenant, backend).unwrap();
    let cancellation = Cancellation::default();
    let left = cancellation.clone();
    assert!(!left.interrupt(), "nothing runs");
    let (slept, time) = thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_a_waiter(&home, "Timeout", "%pg_sleep(60)%");
            left.cancel();
            while left.interrupt() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let slept = connection.with(tenant, |ledger| {
            ledger.cancel_by(Some(cancellation.clone()));
            sleep(ledger)
        });
        slept.unwrap()
    });
    assert!(matches!(slept, Err(LedgerError::Cancelled)), "{slept:?}");
    assert!(time < Duration::from_secs(5), "{time:?}");
    // A request to end something may be on its way: it finds nobody there.
    assert!(!connection.is_open());
    let after = connection.with(tenant, backend).unwrap();
    assert_ne!(after, before);
    let kept = connection.with(tenant, |ledger| {
        ledger.cancel_by(Some(cancellation.clone()));
        let read = ledger.read(&mut |_| panic!("nobody waits for it"));
        (read, decline(ledger, "what writes goes on"))
    });
    let (read, written) = kept.unwrap();
    assert!(matches!(read, Err(LedgerError::Cancelled)), "{read:?}");
    written.unwrap();
    assert_eq!(connection.with(tenant, backend).unwrap(), after);
    let found = connection.with(tenant, details).unwrap();
    assert_eq!(found, ["what writes goes on"]);
}

#[test]
fn a_read_ends_before_its_next_statement() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.open();
    let pid = backend(&mut ledger);
    let cancellation = Cancellation::default();
    ledger.cancel_by(Some(cancellation.clone()));
    let mut looked = 0;
    let read = ledger.read(&mut |tx| {
        loop {
            tx.parked()?;
            looked += 1;
            cancellation.cancel();
        }
    });
    assert!(matches!(read, Err(LedgerError::Cancelled)), "{read:?}");
    assert_eq!(looked, 1);
    ledger.cancel_by(None);
    assert_eq!(backend(&mut ledger), pid, "nobody was to interrupt it");
    decline(&mut ledger, "no transaction is open").unwrap();
}
