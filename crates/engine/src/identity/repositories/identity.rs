//! What tells a repository and its clones from others, as far as its place shows it.

use std::path::Path;

use siglum_domain::{Oid, RepositoryId};
use siglum_gitstore::{Git, GitError, discover, is_shallow, marks, remote, set_marks};
use siglum_ledger::{
    Durability, Ledger, LedgerError, RepositoryIdentity, RepositoryRecord, read, write,
};

use super::clones::share_root;
use super::git::{set_aside, usable_git};
use super::relocation::set_apart;
use crate::{EngineError, World};

/// Looks at a repository once in each run of a worker, and marks it. Git is asked for the commits that it goes back to, which
/// stay the same, so once in its life. Returns false where another repository lies in its place.
///
/// # Errors
/// Those of the ledger. A repository that git cannot read stays as it is known.
pub(crate) fn note_identity(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
) -> Result<bool, EngineError> {
    let Some(git) = usable_git(world, repository) else {
        return Ok(true);
    };
    match identify(ledger, &git, repository) {
        Err(EngineError::Git(error)) => {
            tracing::warn!("left {} out: {error}", repository.common_dir);
            set_aside(world, ledger, repository, &error)?;
            Ok(true)
        }
        other => other,
    }
}

fn identify(
    ledger: &mut dyn Ledger,
    git: &Git,
    repository: &RepositoryRecord,
) -> Result<bool, EngineError> {
    let dir = Path::new(&repository.common_dir);
    match occupant(git, dir, repository)? {
        Occupant::Same => {}
        Occupant::Unborn => return Ok(true),
        Occupant::Another => {
            give_way(ledger, repository)?;
            return Ok(false);
        }
    }
    let mut now = remote(dir);
    if now.is_none() && repository.identity.remote.is_some() {
        // It was taken away; or the place is just being cloned into, where it comes before the first commit.
        if git.head()?.is_none() {
            return Ok(true);
        }
        now = remote(dir);
    }
    let mut found = RepositoryIdentity {
        roots: roots(git, dir, repository)?,
        remote: now,
        clone_of: None,
    };
    let mut others = read(ledger, |tx| tx.repositories())?;
    others.retain(|r| r.id != repository.id && share_root(&r.identity, &found));
    found.clone_of = origin(&found, &marks(dir), &others);
    store(ledger, repository, &found)?;
    mark(ledger, dir, repository.id)?;
    Ok(true)
}

/// Stores what was found in a place, if the repository is still there. What a person said meanwhile stays.
fn store(
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
    found: &RepositoryIdentity,
) -> Result<(), LedgerError> {
    let is_known = |now: &RepositoryIdentity| {
        let is_origin_known = now.clone_of.is_some() || found.clone_of.is_none();
        (&now.roots, &now.remote) == (&found.roots, &found.remote) && is_origin_known
    };
    if is_known(&repository.identity) {
        return Ok(());
    }
    write(ledger, Durability::Process, |tx| {
        let now = tx.repository(&repository.common_dir)?;
        let Some(now) = now.filter(|now| now.id == repository.id) else {
            return Ok(());
        };
        let clone_of = now.identity.clone_of.or(found.clone_of);
        let found = found.clone();
        tx.set_identity(repository.id, &RepositoryIdentity { clone_of, ..found })
    })
}

/// Notes that another repository lies in the place of this one, unless it was moved meanwhile.
pub(super) fn give_way(
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
) -> Result<(), LedgerError> {
    write(ledger, Durability::Process, |tx| {
        match tx.repository(&repository.common_dir)? {
            Some(now) if now.id == repository.id => set_apart(tx, &now),
            _ => Ok(()),
        }
    })
}

/// What lies where a repository was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occupant {
    Same,
    /// It has neither the mark of the known one, nor any of the commits that that one goes back to.
    Another,
    /// It has no commit, or became another one while it was looked at: it may be the same that is just being cloned again.
    Unborn,
}

/// Looks what lies where a repository was seen last.
///
/// # Errors
/// Git cannot read it, or not all of it.
pub(super) fn occupant(
    git: &Git,
    dir: &Path,
    repository: &RepositoryRecord,
) -> Result<Occupant, GitError> {
    let known = &repository.identity;
    if known.roots.is_empty() || marks(dir).contains(&repository.id) {
        return Ok(Occupant::Same);
    }
    // Before all else: git notes where a shallow clone ends before it has a commit, so what is read behind this is whole.
    let is_unborn = git.head()?.is_none();
    let was_shallow = is_shallow(dir);
    let is_same = match was_shallow {
        // The commits that it goes back to were left out.
        true => {
            let now = remote(dir);
            known.remote.is_none() || now.is_none() || known.remote == now
        }
        false => !roots_here(git, &known.roots)?.is_empty(),
    };
    if is_same {
        return Ok(Occupant::Same);
    }
    if is_unborn {
        return Ok(Occupant::Unborn);
    }
    // One that is just being removed lacks commits, too. Then git does not find HEAD here, or fails where one behind it is
    // missing.
    let is_whole = !git.roots()?.is_empty() && is_shallow(dir) == was_shallow;
    Ok(match is_whole {
        true => Occupant::Another,
        false => Occupant::Unborn,
    })
}

/// Those of some commits that a repository has.
pub(super) fn roots_here(git: &Git, roots: &[Oid]) -> Result<Vec<Oid>, GitError> {
    let ids: Vec<&str> = roots.iter().map(Oid::as_str).collect();
    let found = git.resolve_ids(&ids)?;
    Ok(found.into_iter().flatten().collect())
}

fn roots(git: &Git, dir: &Path, repository: &RepositoryRecord) -> Result<Vec<Oid>, GitError> {
    let known = &repository.identity.roots;
    match known.is_empty() && !is_shallow(dir) {
        true => git.roots(),
        false => Ok(known.clone()),
    }
}

/// The one of these that a repository was copied from, with its mark, or that it is fetched from by its path.
pub(super) fn origin(
    identity: &RepositoryIdentity,
    marks: &[RepositoryId],
    others: &[RepositoryRecord],
) -> Option<RepositoryId> {
    let copied = others.iter().find(|r| marks.contains(&r.id));
    let path = identity.remote.as_deref().filter(|r| r.starts_with('/'));
    let found = copied.or_else(|| {
        let path = Path::new(path?).canonicalize().ok()?;
        let checkout = discover(&path, None, None).filter(|repo| repo.worktree() == path);
        let dir = checkout.map_or(path, |repo| repo.common_dir().to_owned());
        others.iter().find(|r| Path::new(&r.common_dir) == dir)
    });
    found.map(|r| r.id)
}

/// Marks a repository where Siglum is on, in place of others of this ledger that it may be a copy of. What cannot be written
/// is tried again at the next look.
///
/// # Errors
/// Those of the ledger.
pub fn mark(ledger: &mut dyn Ledger, dir: &Path, id: RepositoryId) -> Result<(), LedgerError> {
    let mut all = marks(dir);
    if all.contains(&id) {
        return Ok(());
    }
    let known = read(ledger, |tx| tx.repositories())?;
    all.retain(|mark| known.iter().all(|r| r.id != *mark));
    all.push(id);
    if let Err(error) = set_marks(dir, &all) {
        tracing::debug!("{} cannot be marked: {error}", dir.display());
    }
    Ok(())
}
