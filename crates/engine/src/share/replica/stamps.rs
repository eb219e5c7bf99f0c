//! Stamps of batches: in which order a ledger read what it sends, and which of them a destination remembers.
//!
//! A destination that came from an older backup answers as it did then, and says nothing of its own accord. So each batch
//! names the one before, by its stamp, and the destination says whether it knows that one.

use siglum_domain::Timestamp;
use siglum_ledger::{Durability, Ledger, LedgerError, Transaction, write};

use crate::Here;
use crate::share::project::is_once;

/// The cursor under which the stamp of the last batch is kept.
const STAMP: &str = "replica-stamp";

/// The stamp of a batch that is read in this transaction: greater than all before.
pub(super) fn next_stamp(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
) -> Result<Timestamp, LedgerError> {
    let last = tx.cursor(STAMP)?;
    let now = u64::try_from(here.now().nanos()).unwrap_or(0);
    let stamp = now.max(last + 1);
    tx.set_cursor(STAMP, stamp)?;
    let stamp = i64::try_from(stamp).unwrap_or(i64::MAX);
    Ok(Timestamp::from_nanos(stamp))
}

/// The stamp of the last batch that a destination remembers; nothing of one that is fed once.
pub(super) fn last_remembered(
    tx: &mut dyn Transaction,
    name: &str,
) -> Result<Option<Timestamp>, LedgerError> {
    if is_once(name).is_some() {
        return Ok(None);
    }
    let stamp = tx.cursor(&remembered(name))?;
    let stamp = i64::try_from(stamp).unwrap_or(i64::MAX);
    Ok(Some(Timestamp::from_nanos(stamp)))
}

/// Notes that a destination remembers a batch with this stamp.
pub(super) fn note_remembered(
    tx: &mut dyn Transaction,
    name: &str,
    stamp: Timestamp,
) -> Result<(), LedgerError> {
    let (cursor, stamp) = (remembered(name), u64::try_from(stamp.nanos()).unwrap_or(0));
    match tx.cursor(&cursor)? < stamp {
        true => tx.set_cursor(&cursor, stamp),
        false => Ok(()),
    }
}

/// Has the next batch come after none: all that a destination lost is due there again.
pub(super) fn forget_remembered(tx: &mut dyn Transaction, name: &str) -> Result<(), LedgerError> {
    tx.set_cursor(&remembered(name), 0)
}

/// The cursor under which the stamp is kept of the last batch that a destination remembers.
fn remembered(name: &str) -> String {
    format!("replica-remembered {name}")
}

/// The sender's clock went back, or its ledger came from a backup: what it reads next is newer than this.
pub(super) fn newer_than(ledger: &mut dyn Ledger, stamp: Timestamp) -> Result<(), LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let stamp = u64::try_from(stamp.nanos()).unwrap_or(0);
        match tx.cursor(STAMP)? < stamp {
            true => tx.set_cursor(STAMP, stamp),
            false => Ok(()),
        }
    })
}
