//! Telemetry that has no session, and how it gets one when its trace has.

use siglum_domain::trace::TraceId;
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{LedgerError, TelemetryBatch, Transaction, UnassignedRecord};

use crate::identity::Unresolved;

/// The most rows of a trace that are looked at again at once.
const AGAIN_MOST: usize = 256;

/// Why. The words are stored and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// It is nobody's.
    Unresolved(Unresolved),
    /// What was seen could not be written to its session.
    Failed,
    /// The batch that it was in cannot be read any more.
    Damaged,
}

impl Reason {
    /// Nothing names a session that is known: what is learned later may.
    pub(crate) const NO_SESSION: Self = Self::Unresolved(Unresolved::NoSession);

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Unresolved(Unresolved::NoSession) => "no_session",
            Self::Unresolved(Unresolved::OtherSession) => "other_session",
            Self::Unresolved(Unresolved::SharedTrace) => "shared_trace",
            Self::Unresolved(Unresolved::Replica) => "replica",
            Self::Unresolved(Unresolved::Quarantined) => "quarantined",
            Self::Failed => "failed",
            Self::Damaged => "damaged",
        }
    }
}

/// Takes up again what was kept of a trace whose session is known now.
pub(crate) fn take_up(tx: &mut dyn Transaction, trace: &TraceId) -> Result<(), LedgerError> {
    for row in tx.unassigned_of(trace, AGAIN_MOST)? {
        if row.reason == Reason::NO_SESSION.as_str() {
            again(tx, row)?;
        }
    }
    Ok(())
}

/// Puts what was kept where it is looked at once more.
pub(crate) fn again(tx: &mut dyn Transaction, row: UnassignedRecord) -> Result<(), LedgerError> {
    tx.drop_unassigned(row.sequence)?;
    tx.put_batch(&TelemetryBatch {
        sequence: 0,
        at: row.at,
        signal: row.signal,
        session: row.session,
        records: row.records,
        forwarded: row.forwarded,
        payload: row.payload,
    })?;
    Ok(())
}

/// Notes that a trace belongs to a session, and takes up again what was kept of it.
///
/// # Errors
/// Those of the ledger.
pub(crate) fn note_trace(
    tx: &mut dyn Transaction,
    trace: &TraceId,
    session: SessionId,
    at: Timestamp,
) -> Result<(), LedgerError> {
    tx.note_trace(trace, session, at)?;
    take_up(tx, trace)
}
