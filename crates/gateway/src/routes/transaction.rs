//! Transactions that may be refused.

use siglum_engine::remote::RemoteError;
use siglum_engine::turn::TurnError;
use siglum_ledger::{Durability, Ledger, LedgerError, Transaction, write};

use crate::problem::Problem;

/// Runs what may be refused in one transaction: then nothing of it is written.
pub(super) fn refusable<T>(
    ledger: &mut dyn Ledger,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mut refusal = None;
    let done = write(ledger, Durability::Disk, |tx| {
        // It may run again after it met another one.
        refusal = None;
        work(tx).map_err(|problem| {
            let text = problem.detail().to_owned();
            refusal = Some(problem);
            LedgerError::Storage(text.into())
        })
    });
    match (done, refusal) {
        (Ok(done), _) => Ok(done),
        (Err(_), Some(refusal)) => Err(refusal),
        (Err(error), None) => Err(error.into()),
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
