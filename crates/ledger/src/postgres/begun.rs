//! Transactions: begun, committed, rolled back, and begun again after a conflict.

use std::time::Duration;

use siglum_domain::LedgerId;

use super::blob_store::BlobSettings;
use super::connection::Link;
use super::error::{self, Fault};
use super::tx::{Access, Tx};
use crate::{Durability, LedgerError};

/// How a transaction ended that was not stored.
pub(super) enum Ended {
    /// It met another one and may run again.
    Conflict,
    Failed(LedgerError),
    /// It failed, and its connection is gone.
    Lost(LedgerError),
}

/// How often a transaction runs that meets others.
pub(super) const TRIES: u32 = 10;

/// The pause before it runs again.
pub(super) fn pause(tries: u32) -> Duration {
    Duration::from_millis(1 << tries.min(7))
}

/// The statements that begin a transaction. One that writes says that it is ours: the tallies of tables count it.
pub(super) const fn opening(durability: Option<Durability>) -> &'static str {
    match durability {
        None => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        Some(Durability::Process) => {
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL siglum.stripe = 'none yet'; SET LOCAL synchronous_commit = off"
        }
        Some(Durability::Disk) => {
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL siglum.stripe = 'none yet'; SET LOCAL synchronous_commit = on"
        }
    }
}

/// Runs `work` in the transaction that was begun on `link`, and ends that.
pub(super) fn run(
    link: &mut Link,
    (tenant, ledger, access): (&str, LedgerId, Access),
    blobs: Option<&BlobSettings>,
    work: &mut dyn FnMut(&mut Tx<'_>) -> Result<(), LedgerError>,
) -> Result<(), Ended> {
    let mut tx = Tx::new(link, tenant, ledger, access, blobs);
    let done = work(&mut tx);
    let fault = tx.fault;
    let error = match (done, fault) {
        (Ok(()), None) => return commit(link, access),
        (Err(error), _) => error,
        // To commit would silently store nothing.
        (Ok(()), Some(_)) => {
            LedgerError::Storage("a statement failed and the transaction went on".into())
        }
    };
    match (fault, link.client.batch_execute("ROLLBACK")) {
        (Some(Fault::Lost), _) | (_, Err(_)) => Err(Ended::Lost(error)),
        (Some(Fault::Conflict), Ok(())) => Err(Ended::Conflict),
        (_, Ok(())) => Err(Ended::Failed(error)),
    }
}

fn commit(link: &mut Link, access: Access) -> Result<(), Ended> {
    let Err(error) = link.client.batch_execute("COMMIT") else {
        return Ok(());
    };
    match (access, error::fault(&error)) {
        // What was read was read.
        (Access::Read, _) => Ok(()),
        (_, Fault::Conflict) => Err(Ended::Conflict),
        (_, Fault::Lost) => Err(Ended::Lost(LedgerError::Unknown(Box::new(error)))),
        (_, Fault::Other) => Err(Ended::Failed(error::refused(error))),
    }
}
