//! What was erased goes from the files, too.
//!
//! Rows that are erased are overwritten, but pages that were freed before may have kept what was in them. They go when
//! the file is written anew, which takes as long as the file is large, and nobody else writes meanwhile. Whoever erases
//! in many parts does that once: each part notes in its own transaction that it is due. The note is there until it has
//! been done, whoever does it and whatever fails before.

use rusqlite::{OptionalExtension as _, TransactionBehavior};

use super::open::{SqliteLedger, patiently};
use crate::LedgerError;

type Result<T> = std::result::Result<T, LedgerError>;

impl SqliteLedger {
    /// Whether something was erased in parts and the files were not scrubbed since.
    ///
    /// # Errors
    /// Those of the store.
    pub fn owes_scrub(&self) -> Result<bool> {
        Ok(self.owed()?.is_some())
    }

    fn owed(&self) -> Result<Option<i64>> {
        let sql = "SELECT value FROM meta WHERE key = 'scrub'";
        let mut query = self.connection().prepare_cached(sql)?;
        Ok(query.query_row([], |row| row.get(0)).optional()?)
    }

    /// Writes the file anew and cuts off its log.
    pub(super) fn write_anew(&mut self) -> Result<()> {
        let (owed, wait) = (self.owed()?, self.wait());
        self.scrub_index()?;
        patiently(wait, || Ok(self.connection().execute_batch("VACUUM")?))?;
        // The worker's transactions are short. One that stands still never ends its own.
        patiently(wait, || self.cut_off())?;
        match owed {
            Some(note) => self.take_back(note),
            None => Ok(()),
        }
    }

    fn cut_off(&self) -> Result<()> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let is_busy: bool = self.connection().query_row(sql, [], |row| row.get(0))?;
        if is_busy {
            Err(LedgerError::Busy)
        } else {
            Ok(())
        }
    }

    fn take_back(&mut self, note: i64) -> Result<()> {
        let tx = self.begin(TransactionBehavior::Immediate)?;
        let sql = "DELETE FROM meta WHERE key = 'scrub' AND value = ?1";
        tx.execute(sql, [note])?;
        Ok(tx.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use siglum_domain::LedgerId;
    use uuid::Uuid;

    use super::*;
    use crate::sqlite::Open;
    use crate::{Durability, Ledger as _, write};

    fn opened(dir: &tempfile::TempDir) -> SqliteLedger {
        let how = Open::Command {
            id: LedgerId::from_uuid(Uuid::from_u128(1)),
            key: [1; 32],
        };
        SqliteLedger::open(&dir.path().join("ledger.db"), how).unwrap()
    }

    fn erase(ledger: &mut SqliteLedger) -> Result<()> {
        write(ledger, Durability::Process, |tx| tx.owe_scrub())
    }

    #[test]
    fn a_scrub_is_due_until_it_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (opened(&dir), opened(&dir));
        assert!(!one.owes_scrub().unwrap());
        // What is taken back owes nothing.
        let failed = write(&mut one, Durability::Process, |tx| {
            tx.owe_scrub()?;
            Err::<(), _>(LedgerError::Busy)
        });
        assert!(failed.is_err() && !two.owes_scrub().unwrap());
        erase(&mut one).unwrap();
        erase(&mut one).unwrap();
        assert!(two.owes_scrub().unwrap());
        two.scrub().unwrap();
        assert!(!one.owes_scrub().unwrap());
        // Nobody owes it, and it is done all the same.
        one.scrub().unwrap();
    }

    #[test]
    fn a_scrub_that_fails_is_still_due() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = opened(&dir);
        erase(&mut ledger).unwrap();
        let path = dir.path().join("ledger.db");
        let reader = Connection::open(&path).unwrap();
        reader
            .execute_batch("BEGIN; SELECT count(*) FROM meta")
            .unwrap();
        // From a hook it waits for a moment only.
        let mut hook = SqliteLedger::open(&path, Open::Hook).unwrap();
        assert!(matches!(hook.scrub(), Err(LedgerError::Busy)));
        reader.execute_batch("COMMIT").unwrap();
        assert!(ledger.owes_scrub().unwrap());
        ledger.scrub().unwrap();
        assert!(!ledger.owes_scrub().unwrap());
    }

    #[test]
    fn what_is_erased_during_a_scrub_is_due_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (opened(&dir), opened(&dir));
        erase(&mut one).unwrap();
        let before = one.owed().unwrap().unwrap();
        // The other one erases, has all of it written anew, and erases once more: none of that is what this one found.
        erase(&mut two).unwrap();
        one.take_back(before).unwrap();
        assert!(one.owes_scrub().unwrap());
        two.scrub().unwrap();
        erase(&mut two).unwrap();
        one.take_back(before).unwrap();
        assert!(one.owes_scrub().unwrap());
    }
}
