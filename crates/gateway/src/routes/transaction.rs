//! Transactions that may be refused.

use siglum_engine::driven::remote::RemoteError;
use siglum_engine::driven::turn::TurnError;
use siglum_ledger::{Durability, Ledger, LedgerError, Refusal, Transaction, attempt};

use crate::problem::Problem;

/// Runs what may be refused in one transaction: then nothing of it is written.
pub(super) fn refusable<T>(
    ledger: &mut dyn Ledger,
    work: impl FnMut(&mut dyn Transaction) -> Result<T, Problem>,
) -> Result<T, Problem> {
    attempt(ledger, Durability::Disk, work)
}

impl Refusal for Problem {
    fn into_store(self) -> Result<LedgerError, Self> {
        Err(self)
    }
}

impl From<RemoteError> for Problem {
    fn from(error: RemoteError) -> Self {
        let detail = error.to_string();
        match error {
            RemoteError::Taken { .. } => Self::conflict("taken", detail),
            RemoteError::Ahead { .. } => Self::conflict("ahead", detail),
            RemoteError::NoSession(session) => TurnError::NoSession(session).into(),
            RemoteError::Invalid { field, rule } => Self::invalid(field, rule),
            RemoteError::Ledger(error) => error.into(),
        }
    }
}
