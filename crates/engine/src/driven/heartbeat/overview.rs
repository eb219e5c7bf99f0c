//! What there is of heartbeats: for lists and pages.

use siglum_domain::Timestamp;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_ledger::{
    HeartbeatRecord, Ledger, LedgerError, TickRecord, TickTotal, Transaction, read,
};

use super::keep::{definition, known};
use super::{Definition, HeartbeatError};

/// One heartbeat, as it is.
#[derive(Debug, Clone)]
pub struct Overview {
    pub record: HeartbeatRecord,
    /// What it is; else why that cannot be told here.
    pub definition: Result<Definition, String>,
    pub last: Option<TickRecord>,
    /// What all its ticks came to, also those that are not kept.
    pub totals: Vec<TickTotal>,
}

/// Heartbeats that are not removed, by name: those behind `after`, `limit` at most.
///
/// # Errors
/// Those of the ledger.
pub fn list(
    ledger: &mut dyn Ledger,
    after: Option<&HeartbeatName>,
    limit: usize,
) -> Result<Vec<Overview>, LedgerError> {
    let is_wanted =
        |r: &HeartbeatRecord| r.removed_at.is_none() && after.is_none_or(|after| r.name > *after);
    read(ledger, |tx| {
        let all = tx.heartbeats()?.into_iter();
        all.filter(is_wanted)
            .take(limit)
            .map(|r| one(tx, r))
            .collect()
    })
}

/// One heartbeat.
///
/// # Errors
/// [`HeartbeatError::Unknown`], and those of the ledger.
pub fn show(ledger: &mut dyn Ledger, name: &HeartbeatName) -> Result<Overview, HeartbeatError> {
    let found = read(ledger, |tx| match known(tx, name)? {
        Some(record) => one(tx, record).map(Some),
        None => Ok(None),
    })?;
    found.ok_or_else(|| HeartbeatError::Unknown(name.clone()))
}

/// The ticks of a heartbeat, newest first, before a time if one is given; also of one that was removed.
///
/// # Errors
/// Those of the ledger.
pub fn ticks(
    ledger: &mut dyn Ledger,
    name: &HeartbeatName,
    before: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<TickRecord>, LedgerError> {
    read(ledger, |tx| tx.ticks(name, before, limit))
}

fn one(tx: &mut dyn Transaction, record: HeartbeatRecord) -> Result<Overview, LedgerError> {
    Ok(Overview {
        definition: definition(&record).map_err(|e| e.to_string()),
        last: tx.ticks(&record.name, None, 1)?.pop(),
        totals: tx.tick_totals(&record.name)?,
        record,
    })
}
