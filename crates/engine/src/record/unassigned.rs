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
    /// Nothing in it names a session that is known.
    NoSession,
    /// It is of another session than the one that the token of its sender acts for.
    OtherSession,
    /// Its trace belongs to several sessions, and nothing else tells.
    SharedTrace,
    /// Its session is at home in another ledger, which alone extends it.
    Replica,
    /// Its session is set aside because its store is damaged.
    Quarantined,
    /// What was seen could not be written to its session.
    Failed,
    /// The batch that it was in cannot be read any more.
    Damaged,
}

impl Reason {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::NoSession => "no_session",
            Self::OtherSession => "other_session",
            Self::SharedTrace => "shared_trace",
            Self::Replica => "replica",
            Self::Quarantined => "quarantined",
            Self::Failed => "failed",
            Self::Damaged => "damaged",
        }
    }
}

impl From<Unresolved> for Reason {
    fn from(unresolved: Unresolved) -> Self {
        match unresolved {
            Unresolved::NoSession => Self::NoSession,
            Unresolved::OtherSession => Self::OtherSession,
            Unresolved::SharedTrace => Self::SharedTrace,
            Unresolved::Replica => Self::Replica,
            Unresolved::Quarantined => Self::Quarantined,
        }
    }
}

/// Takes up again what was kept of a trace whose session is known now.
pub(crate) fn take_up(tx: &mut dyn Transaction, trace: &TraceId) -> Result<(), LedgerError> {
    for row in tx.unassigned_of(trace, AGAIN_MOST)? {
        if row.reason == Reason::NoSession.as_str() {
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
