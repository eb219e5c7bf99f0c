//! The store's own log: brought into its file, and cut off.
//!
//! What is copied holds up nobody who writes, however much it is. The log starts again from its beginning only once all
//! of it is copied and nobody reads in it, and somebody else never finds that moment beside a connection that writes
//! without a pause: before it has copied the last pages, there are new ones. So where one thread does nothing but write,
//! another one copies nearly all ([`SqliteLedger::copy_log`]), and then the one that writes does the short rest between
//! two of its transactions ([`SqliteLedger::cut_log`]).

use std::path::Path;
use std::time::Duration;

use rusqlite::Row;

use super::open::{CHECKPOINT_ABOVE, SqliteLedger};
use crate::LedgerError;

/// A rest of so many pages is short: 4 MB.
const FEW: i64 = 1_000;
/// After so many passes in a row that had a short rest to copy, the next one has, too. One is not enough: what is copied
/// reaches the disk in a pass that no commit came in between, and those that wait for that are long.
const SHORT_PASSES: u32 = 3;
/// After so many passes it is as short as it becomes: each copies what was written during the one before it.
const PASSES: u32 = 8;
/// How long whoever writes waits for those who read in the log. A reader that comes later reads none of it.
const READERS_WAIT: Duration = Duration::from_millis(20);

/// What is left of the log to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogRest {
    /// The log is short, or was cut off.
    Nothing,
    /// Few pages, which the connection that writes copies and cuts off in a moment.
    Short,
    /// Somebody is in the way: reads, or copies as well.
    Long,
}

/// A log with all pages, and how many of them are in the file now.
struct Pages {
    log: i64,
    copied: i64,
}

impl SqliteLedger {
    /// The size of the store's own log in bytes.
    #[must_use]
    pub fn log_bytes(path: &Path) -> u64 {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        std::fs::metadata(log).map_or(0, |m| m.len())
    }

    /// Copies the log into the file while another connection may write without a pause, and holds up nobody for more than
    /// a short rest of it. Gives what is left.
    ///
    /// # Errors
    /// Those of the store.
    pub fn copy_log(&self) -> Result<LogRest, LedgerError> {
        if Self::log_bytes(self.path()) <= CHECKPOINT_ABOVE {
            return Ok(LogRest::Nothing);
        }
        let (mut before, mut short) = (0, 0);
        for _ in 0..PASSES {
            let Some(pages) = self.pass("PASSIVE", Duration::ZERO)? else {
                return Ok(LogRest::Long);
            };
            if pages.log - pages.copied > FEW {
                return Ok(LogRest::Long);
            }
            // One that began again has fewer pages than before.
            let new = match pages.log - before {
                new @ 0.. => new,
                _ => pages.log,
            };
            before = pages.copied;
            short = if new > FEW { 0 } else { short + 1 };
            if short == SHORT_PASSES {
                break;
            }
        }
        // Nobody may be writing just now.
        self.pass("TRUNCATE", Duration::ZERO)?;
        Ok(match Self::log_bytes(self.path()) {
            0 => LogRest::Nothing,
            _ => LogRest::Short,
        })
    }

    /// Copies the rest of the log and cuts it off, unless somebody is in the way for more than a moment: for the connection
    /// that writes, which waits for all of it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn cut_log(&self) -> Result<(), LedgerError> {
        self.pass("TRUNCATE", READERS_WAIT).map(drop)
    }

    /// Copies the log into the file, and cuts it off where nobody is in the way. Where others read
    /// or write, the next one to come by does.
    pub(super) fn bring_in_above(&self, bytes: u64) -> Result<(), LedgerError> {
        if Self::log_bytes(self.path()) <= bytes {
            return Ok(());
        }
        // In every other mode the store keeps writers out for as long as it copies.
        let pages = self.pass("PASSIVE", Duration::ZERO)?;
        if pages.is_some_and(|pages| pages.log == pages.copied) {
            self.pass("TRUNCATE", Duration::ZERO)?;
        }
        Ok(())
    }

    /// Copies as far as that can be done without more waiting; nothing where somebody else is at it, or in the way of what
    /// goes beyond copying.
    fn pass(&self, mode: &str, wait: Duration) -> Result<Option<Pages>, LedgerError> {
        let db = self.connection();
        db.busy_timeout(wait)?;
        let pragma = format!("PRAGMA wal_checkpoint({mode})");
        let passed = db.query_row(&pragma, [], done).map_err(LedgerError::from);
        db.busy_timeout(self.wait())?;
        match passed {
            Err(LedgerError::Busy) => Ok(None),
            passed => passed,
        }
    }
}

/// Whether somebody was in the way, how many pages the log has, and how many of them are in the file now.
fn done(row: &Row<'_>) -> rusqlite::Result<Option<Pages>> {
    let is_busy: bool = row.get(0)?;
    let (log, copied) = (row.get(1)?, row.get(2)?);
    Ok((!is_busy).then_some(Pages { log, copied }))
}
