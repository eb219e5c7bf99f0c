//! Git in a repository, as long as a checkout is there and git ends.

use std::path::Path;

use siglum_gitstore::{Git, GitError, discover, without_checkout};
use siglum_ledger::{Durability, Ledger, LedgerError, RepositoryRecord, read, write};

use crate::World;

/// The queue of repositories in which git did not end.
const REPOSITORIES: &str = "repositories";

/// Git in a checkout of the repository that is still there.
pub(crate) fn usable_git(world: &World<'_>, repository: &RepositoryRecord) -> Option<Git> {
    if !repository.is_here() {
        return None;
    }
    let mut worktrees = repository.worktrees.iter().map(|(worktree, _)| worktree);
    if let Some(worktree) = worktrees.find(|worktree| leads_to(worktree, repository)) {
        return Some(world.git(worktree));
    }
    // Some checkouts know nothing of their git directory: variables lead there. From another directory git would look above.
    let dir = Path::new(&repository.common_dir);
    without_checkout(dir, Some(dir)).map(|_| world.git(&repository.common_dir))
}

/// Whether a directory is a checkout of a repository, and not of another one that lies there or around it.
pub(crate) fn leads_to(worktree: &str, repository: &RepositoryRecord) -> bool {
    let found = discover(Path::new(worktree), None, None);
    found.is_some_and(|repo| repo.place.common_dir == repository.common_dir)
}

/// Whether git did not end in a repository.
pub(crate) fn is_set_aside(
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
) -> Result<bool, LedgerError> {
    let parked = read(ledger, |tx| tx.parked())?;
    Ok(parked
        .iter()
        .any(|(queue, item, ..)| queue == REPOSITORIES && *item == repository.common_dir))
}

/// A repository that git does not end in holds up all others no second time. It stays aside until somebody asks for it.
pub(crate) fn set_aside(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
    error: &GitError,
) -> Result<(), LedgerError> {
    if !matches!(error, GitError::TooSlow { .. }) {
        return Ok(());
    }
    let (now, reason) = (world.now(), error.to_string());
    write(ledger, Durability::Process, |tx| {
        tx.park(REPOSITORIES, &repository.common_dir, now, &reason)
    })
}
