//! From the inbox to sessions.

use siglum_ledger::{Durability, Ledger, LedgerError, TelemetryBatch, Transaction, read, write};

use super::forward;
use super::settle::{self, Tally};
use crate::Here;
use crate::record::unassigned::Reason;

/// Rows that are kept without a session; the oldest go first.
const KEPT_MOST: usize = 10_000;

/// The name of the count of records that named two sessions.
pub const CONFLICTS: &str = "conflicts";

/// Joins the batches that were taken first to sessions, at most so many. Each is one transaction.
///
/// # Errors
/// Those of the ledger; what was not joined waits on.
pub fn join(here: &Here<'_>, ledger: &mut dyn Ledger, most: usize) -> Result<Tally, LedgerError> {
    let mut tally = Tally::default();
    forward::put_unassigned(here, ledger)?;
    if read(ledger, |tx| tx.inbox())?.rows == 0 {
        return Ok(tally);
    }
    for _ in 0..most {
        match one(here, ledger)? {
            Some(done) => tally += done,
            None => break,
        }
    }
    Ok(tally)
}

/// Joins the oldest batch; nothing where none waits.
fn one(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<Option<Tally>, LedgerError> {
    let home = ledger.id();
    write(ledger, Durability::Process, |tx| {
        let Some(row) = tx.batches(1)?.pop() else {
            return Ok(None);
        };
        let mut done = None;
        let settled = tx.nested(&mut |tx| {
            done = Some(settle::settle(here, tx, home, &row)?);
            Ok(())
        });
        let tally = match (settled, done) {
            (Ok(()), Some(tally)) => tally,
            (Err(error @ (LedgerError::Damaged(_) | LedgerError::Storage(_))), _) => {
                set_aside(tx, &row, &error)?
            }
            (Err(error), _) => return Err(error),
            (Ok(()), None) => return Ok(None),
        };
        count(tx, tally)?;
        Ok(Some(tally))
    })
}

/// One bad batch holds up no others.
fn set_aside(
    tx: &mut dyn Transaction,
    row: &TelemetryBatch,
    error: &LedgerError,
) -> Result<Tally, LedgerError> {
    tracing::warn!("a batch of telemetry was set aside: {error}");
    tx.drop_batch(row.sequence)?;
    settle::keep_whole(tx, row, Reason::Failed)
}

fn count(tx: &mut dyn Transaction, tally: Tally) -> Result<(), LedgerError> {
    let mut lost = 0;
    if tally.unassigned > 0 {
        lost = tx.trim_unassigned(KEPT_MOST)?;
    }
    let counts = [
        ("joined", tally.joined),
        ("unassigned", tally.unassigned),
        (CONFLICTS, tally.conflicts),
        ("unassigned_lost", lost),
    ];
    for (name, by) in counts {
        if by > 0 {
            tx.add_count(name, by)?;
        }
    }
    Ok(())
}
