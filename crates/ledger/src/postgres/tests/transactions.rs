//! What a transaction promises beyond what every store does.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn what_goes_on_after_a_failed_statement_is_not_stored() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    let again = session(1, ledger.id());
    let done = put(&mut ledger, |tx| {
        declined(tx, "before")?;
        let _ = tx.create_session(&again);
        Ok(())
    });
    assert!(matches!(done, Err(LedgerError::Storage(_))), "{done:?}");
    assert_eq!(details(&mut ledger), [""; 0]);
    decline(&mut ledger, "next").unwrap();
    assert_eq!(details(&mut ledger), ["next"]);
}

#[test]
fn a_panic_leaves_nothing_and_the_next_transaction_works() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.open();
    let work = std::panic::AssertUnwindSafe(|| {
        put(&mut ledger, |tx| {
            declined(tx, "x")?;
            panic!("on purpose")
        })
    });
    assert!(std::panic::catch_unwind(work).is_err());
    assert_eq!(details(&mut ledger), [""; 0]);
    decline(&mut ledger, "next").unwrap();
    assert_eq!(details(&mut ledger), ["next"]);
}

#[test]
fn a_writer_waits_for_a_lock_and_not_for_long() {
    let Some(home) = Home::shared() else { return };
    drop(home.furnished());
    let mut settings = home.settings.clone();
    settings.wait = Duration::from_millis(60);
    let mut ledger = PostgresLedger::open(&settings, Open::Hook).unwrap();
    let mut holder = home.raw();
    let mut held = holder.transaction().unwrap();
    let sql = "SELECT id FROM sessions WHERE tenant = $1 FOR UPDATE";
    held.query(sql, &[&settings.tenant.as_str()]).unwrap();
    let start = Instant::now();
    let refused = put(&mut ledger, |tx| append(tx, 1, "k"));
    let waited = start.elapsed();
    assert!(matches!(refused, Err(LedgerError::Busy)), "{refused:?}");
    assert!((50..5000).contains(&waited.as_millis()), "{waited:?}");
    let head = |ledger: &mut PostgresLedger| {
        let found = crate::read(ledger, |tx| tx.session(session_id(1)));
        found.unwrap().map(|s| s.head)
    };
    assert_eq!(head(&mut ledger), Some(0), "a reader waits for nobody");
    held.rollback().unwrap();
    put(&mut ledger, |tx| append(tx, 1, "k")).unwrap();
    assert_eq!(head(&mut ledger), Some(1));
}

#[test]
fn a_statement_that_takes_too_long_ends() {
    let Some(home) = Home::shared() else { return };
    let mut settings = home.settings.clone();
    drop(home.open());
    settings.statement = Duration::from_millis(80);
    let mut ledger = PostgresLedger::open(&settings, Open::Hook).unwrap();
    let mut holder = home.raw();
    let mut held = holder.transaction().unwrap();
    held.batch_execute("LOCK TABLE parked").unwrap();
    let refused = put(&mut ledger, |tx| tx.park("q", "i", at(1), "r"));
    assert!(matches!(refused, Err(LedgerError::Busy)), "{refused:?}");
}

#[test]
fn texts_may_hold_anything() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    decline(&mut ledger, "a\0b\u{1a}ü\u{10ffff}'\\").unwrap();
    assert_eq!(details(&mut ledger), ["a\u{1a}b\u{1a}ü\u{10ffff}'\\"]);
    for _ in 0..2 {
        put(&mut ledger, |tx| append(tx, 1, "k\0")).unwrap();
    }
    let entries = crate::read(&mut ledger, |tx| tx.entries(session_id(1), 0, 0)).unwrap();
    let keys: Vec<_> = entries.iter().map(|e| &*e.observation.key).collect();
    assert_eq!(keys, ["k\u{1a}"]);
}

#[test]
fn what_does_not_fit_together_is_reported() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    put(&mut ledger, |tx| append(tx, 1, "k")).unwrap();
    assert_eq!(ledger.check().unwrap(), [""; 0]);
    let sql = "UPDATE sessions SET head = 5 WHERE tenant = $1 AND head = 1";
    let tenant = home.settings.tenant.as_str();
    assert_eq!(home.raw().execute(sql, &[&tenant]).unwrap(), 1);
    let wrong = ledger.check().unwrap();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("5 entries"), "{wrong:?}");
    assert!(
        wrong[0].starts_with(&session_id(1).to_string()),
        "{wrong:?}"
    );
}

#[test]
fn what_was_erased_leaves_the_tables() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    put(&mut ledger, |tx| append(tx, 1, "k")).unwrap();
    put(&mut ledger, |tx| tx.forget_session(session_id(1), at(5))).unwrap();
    ledger.scrub().unwrap();
    ledger.maintain().unwrap();
    put(&mut ledger, |tx| append(tx, 2, "k")).unwrap();
    assert_eq!(ledger.check().unwrap(), [""; 0]);
}
