//! Checkpoints by what their sessions work for.

use siglum_domain::SessionId;
use siglum_domain::link::Link;
use siglum_ledger::{CheckpointRecord, LedgerError, Transaction};

/// What is attached now to each session that a checkpoint pins, in the order of its pins.
///
/// # Errors
/// Those of the ledger.
pub fn links(
    tx: &mut dyn Transaction,
    record: &CheckpointRecord,
) -> Result<Vec<Vec<Link>>, LedgerError> {
    let of = |(session, _): &(SessionId, u64)| {
        let statements = tx.statements_of_session(*session)?;
        Ok(crate::identity::statements::links(&statements))
    };
    record.pins.iter().map(of).collect()
}
