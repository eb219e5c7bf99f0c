//! A copy of the whole file while it is in use, and back.
//!
//! A copy is made by `VACUUM INTO`: it is of one moment, holds up no writer, reads every row on the way, and has no freed
//! pages, so that nothing of what was forgotten is in it. Bringing one back goes through SQLite's backup interface into
//! the file that others have open, never by renaming: whoever has it open sees the restored state from its next
//! transaction on, and nobody goes on writing into a file that was taken away.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::open::{integrity_check, version};
use super::{SqliteLedger, bound, migrate};
use crate::LedgerError;

/// How often the file is tried to be had alone, and the pause between.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(20);

impl SqliteLedger {
    /// Writes a copy of everything, as it is at one moment, to a file of its own; there must be none yet.
    ///
    /// # Errors
    /// Those of the store, also where a page of it cannot be read, or of the place.
    pub fn copy_to(&mut self, to: &Path) -> Result<(), LedgerError> {
        let file = private(to)?;
        self.connection()
            .execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
        file.sync_all().map_err(unwritable)?;
        Ok(())
    }

    /// Looks at a file that nobody uses, without a change to it or a file beside it, and gives what is wrong in words.
    ///
    /// # Errors
    /// It is no ledger, or one that this program may not read.
    pub fn look_at(path: &Path) -> Result<Vec<String>, LedgerError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let escaped: String = path
            .to_string_lossy()
            .chars()
            .map(|c| match c {
                '%' => "%25".to_owned(),
                '?' => "%3f".to_owned(),
                '#' => "%23".to_owned(),
                c => c.to_string(),
            })
            .collect();
        let db = Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)?;
        let wrong = integrity_check(&db)?;
        if !wrong.is_empty() {
            return Ok(wrong);
        }
        migrate::meta(&db)?;
        match migrate::admit(&db) {
            Ok(()) | Err(LedgerError::Outdated { .. }) => {}
            Err(error) => return Err(error),
        }
        migrate::strangers(&db)
    }

    /// Brings all of the store's own log into its file, so that the file stands by itself.
    ///
    /// # Errors
    /// Those of the store.
    pub fn settle(&mut self) -> Result<(), LedgerError> {
        self.connection()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Replaces everything by what the file at `source` holds, in one transaction. What was there is at `keep`
    /// afterwards, up to the last write before.
    ///
    /// # Errors
    /// [`LedgerError::Busy`] while others write all the time; those of the store. Nothing has changed then.
    pub fn replace_by(&mut self, source: &Path, keep: &Path) -> Result<(), LedgerError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let source = Connection::open_with_flags(source, flags)?;
        let old = Connection::open_with_flags(self.path(), flags)?;
        for _ in 0..TRIES {
            let before = version(&old)?;
            let _ = std::fs::remove_file(keep);
            copy(&old, keep)?;
            if self.take_over(&source, &old, before)? {
                self.connection()
                    .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        let _ = std::fs::remove_file(keep);
        Err(LedgerError::Busy)
    }

    /// Copies all pages, if nobody has written since `before`; `false` if somebody has, or is writing.
    fn take_over(
        &mut self,
        source: &Connection,
        old: &Connection,
        before: i64,
    ) -> Result<bool, LedgerError> {
        self.connection()
            .pragma_update(None, "synchronous", "FULL")?;
        let backup = Backup::new(source, self.connection_mut())?;
        // The first page takes the lock that keeps writers out until the last one.
        match backup.step(1)? {
            StepResult::Done | StepResult::More => {}
            _ => return Ok(false),
        }
        if version(old)? != before {
            return Ok(false);
        }
        // What comes in may know of more processes than what was there.
        bound::forget_rows(old, bound::TABLE)?;
        loop {
            match backup.step(-1)? {
                StepResult::Done => return Ok(true),
                _ => std::thread::sleep(PAUSE),
            }
        }
    }
}

fn copy(from: &Connection, to: &Path) -> Result<(), LedgerError> {
    let file = private(to)?;
    let mut copy = Connection::open(to)?;
    Backup::new(from, &mut copy)?.run_to_completion(4096, Duration::ZERO, None)?;
    drop(copy);
    file.sync_all().map_err(unwritable)
}

/// A new file that only its owner reads.
fn private(path: &Path) -> Result<File, LedgerError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(unwritable)
}

fn unwritable(error: std::io::Error) -> LedgerError {
    LedgerError::Unwritable(Box::new(error))
}

#[cfg(test)]
mod tests {
    use siglum_domain::intake::Decline;
    use siglum_domain::process::ProcessIdentity;
    use siglum_domain::{LedgerId, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::sqlite::Open;
    use crate::{Durability, Ledger as _, read};

    fn open(path: &Path) -> SqliteLedger {
        let how = Open::Command {
            id: LedgerId::from_uuid(Uuid::from_u128(1)),
            key: [1; 32],
        };
        SqliteLedger::open(path, how).unwrap()
    }

    fn decline(ledger: &mut SqliteLedger, key: &str) {
        let decline = Decline {
            edge: "test".into(),
            reason: "r".into(),
            detail: key.into(),
            place: None,
        };
        ledger
            .write(Durability::Process, &mut |tx| {
                tx.decline(key, Timestamp::default(), &decline)
            })
            .unwrap();
    }

    fn decline_details(ledger: &mut SqliteLedger) -> Vec<String> {
        let all = read(ledger, |tx| tx.declines(Timestamp::default(), 100)).unwrap();
        all.into_iter().rev().map(|d| d.detail).collect()
    }

    #[test]
    fn a_copy_is_of_one_moment_and_comes_back_under_those_who_have_it_open() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mut ledger = open(&at("ledger.db"));
        let mut driver = open(&at("ledger.db"));
        decline(&mut ledger, "before");
        ledger.copy_to(&at("copy.db")).unwrap();
        assert!(ledger.copy_to(&at("copy.db")).is_err(), "it is there");
        decline(&mut driver, "after");
        assert_eq!(decline_details(&mut driver), ["before", "after"]);
        let process = ProcessIdentity::from_key("host/boot/1/1/1").unwrap();
        ledger.list_bound(&process).unwrap();
        let nearest = || {
            let processes = std::iter::once(&process);
            SqliteLedger::nearest_bound(&at("ledger.db"), processes)
        };
        assert!(nearest().is_some());
        drop(open(&at("copy.db")));
        ledger.replace_by(&at("copy.db"), &at("kept.db")).unwrap();
        assert_eq!(nearest(), None, "that was of the other one");
        assert_eq!(
            decline_details(&mut driver),
            ["before"],
            "seen by who has it open"
        );
        decline(&mut driver, "new");
        assert_eq!(
            decline_details(&mut open(&at("ledger.db"))),
            ["before", "new"]
        );
        assert_eq!(
            decline_details(&mut open(&at("kept.db"))),
            ["before", "after"]
        );
        assert_eq!(ledger.check().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn nothing_changes_while_somebody_writes() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mut ledger = open(&at("ledger.db"));
        decline(&mut ledger, "before");
        ledger.copy_to(&at("copy.db")).unwrap();
        let source = Connection::open(at("copy.db")).unwrap();
        let old = Connection::open(at("ledger.db")).unwrap();
        let before = version(&old).unwrap();
        decline(&mut open(&at("ledger.db")), "meanwhile");
        assert!(!ledger.take_over(&source, &old, before).unwrap());
        let writer = Connection::open(at("ledger.db")).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        let before = version(&old).unwrap();
        assert!(!ledger.take_over(&source, &old, before).unwrap());
        writer.execute_batch("ROLLBACK").unwrap();
        assert_eq!(decline_details(&mut ledger), ["before", "meanwhile"]);
    }
}
