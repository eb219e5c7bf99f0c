//! From a request to the inbox.

use siglum_domain::SessionId;
use siglum_ledger::{Durability, Ledger, LedgerError, TelemetryBatch, Transaction, write};

use super::parcel::Parcel;
use crate::Here;

/// Rows that wait in the inbox at most.
const ROWS_MOST: u64 = 8_192;
/// Bytes that wait in the inbox at most.
const BYTES_MOST: u64 = 256 << 20;
/// The name of the count of records that were not taken.
const REJECTED: &str = "rejected";

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is stored, whatever happens next.
    Stored,
    /// Too much waits already; nothing of it was stored.
    Full,
}

/// Stores a request. `session` is the one that its sender may speak for, if not for all; `rejected` is how many records
/// of it broke a rule and were left out.
///
/// # Errors
/// Those of the ledger; nothing was stored then.
pub fn take(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: Option<SessionId>,
    parcels: &[Parcel],
    rejected: u64,
) -> Result<Taken, LedgerError> {
    let at = here.now();
    write(ledger, Durability::Disk, |tx| {
        if !has_room(tx, parcels)? {
            return Ok(Taken::Full);
        }
        for parcel in parcels {
            tx.put_batch(&TelemetryBatch {
                sequence: 0,
                at,
                signal: parcel.signal.as_str().to_owned(),
                session,
                records: parcel.records,
                forwarded: false,
                payload: parcel.payload.clone(),
            })?;
        }
        if rejected > 0 {
            tx.add_count(REJECTED, rejected)?;
        }
        Ok(Taken::Stored)
    })
}

/// An empty inbox takes whatever fits into a request.
fn has_room(tx: &mut dyn Transaction, parcels: &[Parcel]) -> Result<bool, LedgerError> {
    let waiting = tx.inbox()?;
    let bytes: usize = parcels.iter().map(|p| p.payload.len()).sum();
    let fits = waiting.rows + parcels.len() as u64 <= ROWS_MOST
        && waiting.bytes + bytes as u64 <= BYTES_MOST;
    Ok(fits || waiting.rows == 0)
}
