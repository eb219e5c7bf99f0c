//! What work on a ledger costs the store, counted and not timed: for tests that it does not grow with history.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::SqliteLedger;
use super::columns::count;
use crate::LedgerError;

/// What some work cost. Nothing in it depends on how busy the machine is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cost {
    /// The statements that were run, with how often.
    pub statements: BTreeMap<String, u64>,
    /// Rows of tables that were written, changed or deleted.
    pub rows: u64,
    /// Bytes of text and blobs given to statements that write.
    pub bytes: u64,
    /// Bytes hashed for digests and receipts.
    pub hashed: u64,
    /// Instructions of SQLite's machine: what was read counts in it, too.
    pub steps: u64,
    /// Pages that went into the write-ahead log.
    pub pages: u64,
}

#[derive(Default)]
struct Tally {
    statements: BTreeMap<String, u64>,
    bytes: u64,
    steps: u64,
}

impl SqliteLedger {
    /// What `work` costs. It must not bring the write-ahead log in, which is brought in first.
    ///
    /// # Errors
    /// Those of the store. Whether the work went well only it can tell.
    pub fn cost_of<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> T,
    ) -> Result<(T, Cost), LedgerError> {
        let db = self.connection();
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        let page: u64 = db.query_row("PRAGMA page_size", [], |row| count(row, 0))?;
        let before = self.changes()?;
        let tally = self.listen()?;
        let hashed = siglum_domain::digest::hashed();
        let done = work(self);
        let hashed = siglum_domain::digest::hashed() - hashed;
        self.deafen()?;
        let tally = std::mem::take(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner));
        let cost = Cost {
            statements: tally.statements,
            rows: self.changes()? - before,
            bytes: tally.bytes,
            hashed,
            steps: tally.steps,
            // Each page has a header of 24 bytes there, and the log one of 32.
            pages: Self::log_bytes(self.path()) / (page + 24),
        };
        Ok((done, cost))
    }

    fn changes(&self) -> Result<u64, LedgerError> {
        let sql = "SELECT total_changes()";
        Ok(self.connection().query_row(sql, [], |row| count(row, 0))?)
    }

    fn listen(&mut self) -> Result<Arc<Mutex<Tally>>, LedgerError> {
        let tally = Arc::new(Mutex::new(Tally::default()));
        let (statements, steps) = (Arc::clone(&tally), Arc::clone(&tally));
        let db = self.connection_mut();
        let profile = move |event: TraceEvent<'_>| {
            if let TraceEvent::Profile(statement, _) = event {
                let mut tally = statements.lock().unwrap_or_else(PoisonError::into_inner);
                let sql = statement.sql().into_owned();
                if !sql.starts_with("SELECT") {
                    let bound = statement.expanded_sql().unwrap_or_default();
                    tally.bytes += quoted(&bound);
                }
                *tally.statements.entry(sql).or_default() += 1;
            }
        };
        db.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(profile))?;
        let step = move || {
            steps.lock().unwrap_or_else(PoisonError::into_inner).steps += 1;
            false
        };
        db.progress_handler(1, Some(step))?;
        Ok(tally)
    }

    fn deafen(&mut self) -> Result<(), LedgerError> {
        let db = self.connection_mut();
        db.trace_v2(TraceEventCodes::empty(), None::<fn(TraceEvent<'_>)>)?;
        db.progress_handler(0, None::<fn() -> bool>)?;
        Ok(())
    }
}

/// The bytes of a statement within quotes. Numbers are left out: they have more digits in a longer log, and no more
/// bytes that matter.
fn quoted(sql: &str) -> u64 {
    sql.split('\'')
        .skip(1)
        .step_by(2)
        .map(|text| text.len() as u64)
        .sum()
}
