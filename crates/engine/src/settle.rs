//! What every command does before it answers: take in what waits, so that the answer is of now.

use siglum_ledger::{Ledger, RepositoryRecord, Spool};

use crate::commits::sweep;
use crate::{EngineError, World, worker};

/// Takes in what waits in the spools, closes what landed in this repository, and folds what grew.
/// Transcripts are left to the worker, which the caller starts.
///
/// # Errors
/// Those of the ledger.
pub fn settle(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    spools: &[Spool],
    repository: Option<&RepositoryRecord>,
) -> Result<(), EngineError> {
    while worker::drain(world.ids, ledger, spools)? > 0 {}
    if let Some(repository) = repository {
        sweep::sweep(world, ledger, repository)?;
        while worker::finish(world, ledger, repository)? {}
    }
    worker::fold_sessions(world, ledger, 256)?;
    Ok(())
}
