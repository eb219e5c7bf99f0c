//! Which repository lies in a directory that a command is run in.

use std::collections::BTreeSet;
use std::path::Path;

use siglum_domain::{Oid, RepositoryId};
use siglum_gitstore::{Git, Repo, is_shallow, marks, remote};
use siglum_ledger::{
    Durability, Ledger, LedgerError, RepositoryIdentity, RepositoryRecord, Transaction, read, write,
};

use super::clones::{Kinship, kinship, share_root};
use super::identity::{Occupant, give_way, mark, occupant, origin, roots_here};
use super::relocation::follow;
use crate::{EngineError, World};

/// What is known of the repository in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognised {
    /// It is this one.
    Known(RepositoryRecord),
    /// It is another one than those that are known. It goes back to the same commits as these, and nothing tells whether it is
    /// a clone of one of them or a fork.
    Unknown(Vec<RepositoryRecord>),
}

/// Looks which repository it is that lies in a directory, and notes a clone of a known one as a repository of its own.
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn recognise(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    git: &Git,
    repo: &Repo,
) -> Result<Recognised, EngineError> {
    let dir = repo.common_dir();
    let marks = marks(dir);
    let is_marked = |r: &RepositoryRecord| marks.contains(&r.id);
    let mut here = read(ledger, |tx| tx.repository(&repo.place.common_dir))?;
    if !marks.is_empty() && !here.as_ref().is_some_and(is_marked) {
        here = write(ledger, Durability::Process, |tx| {
            follow(tx, &repo.place)?;
            tx.repository(&repo.place.common_dir)
        })?;
    }
    if let Some(known) = here {
        if occupant(git, dir, &known)? == Occupant::Same {
            // One with the marks of others may be a copy, which is for the worker to note.
            if marks.is_empty() {
                mark(ledger, dir, known.id)?;
            }
            return Ok(Recognised::Known(known));
        }
        give_way(ledger, &known)?;
    }
    let related = related(ledger, git, dir)?;
    recognise_clone(world, ledger, repo, &marks, related)
}

/// Looks among repositories that go back to the same commits whether one in a new place is a clone.
fn recognise_clone(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repo: &Repo,
    marks: &[RepositoryId],
    Related {
        records,
        mut identity,
    }: Related,
) -> Result<Recognised, EngineError> {
    identity.clone_of = origin(&identity, marks, &records);
    let fresh = RepositoryRecord {
        id: RepositoryId::mint(world.ids),
        common_dir: repo.place.common_dir.clone(),
        worktrees: Vec::new(),
        identity,
    };
    let (clones, others): (Vec<_>, Vec<_>) = records
        .into_iter()
        .partition(|r| kinship(&fresh, r) == Kinship::Clones);
    if clones.is_empty() {
        let is_unclear = |r: &RepositoryRecord| kinship(&fresh, r) == Kinship::Unclear;
        let unclear = others.into_iter().filter(is_unclear).collect();
        return Ok(Recognised::Unknown(unclear));
    }
    let known = write(ledger, Durability::Process, |tx| {
        follow(tx, &repo.place)?;
        let mut now = tx.repository(&repo.place.common_dir)?;
        // Unless a hook was here first, whose repository the worker looks at.
        if now.is_none() {
            tx.note_place(&repo.place, fresh.id, world.now())?;
            tx.set_identity(fresh.id, &fresh.identity)?;
            update_remotes(tx, &clones)?;
            now = tx.repository(&repo.place.common_dir)?;
        }
        Ok(now)
    })?;
    Ok(known.map_or(Recognised::Unknown(Vec::new()), Recognised::Known))
}

/// Notes remotes that changed since a worker looked: clones may be known by nothing else.
fn update_remotes(tx: &mut dyn Transaction, seen: &[RepositoryRecord]) -> Result<(), LedgerError> {
    for now in tx.repositories()? {
        let Some(seen) = seen.iter().find(|r| r.id == now.id) else {
            continue;
        };
        let remote = seen.identity.remote.clone();
        if now.identity.remote != remote {
            let identity = now.identity;
            tx.set_identity(now.id, &RepositoryIdentity { remote, ..identity })?;
        }
    }
    Ok(())
}

/// The repositories of this machine that have commits in common with one in a new place, or may have.
struct Related {
    records: Vec<RepositoryRecord>,
    /// Where the one in the new place is fetched from, and those of the commits that they go back to which it has.
    identity: RepositoryIdentity,
}

/// Finds them by what is stored of each: git is asked in the new place only, so one that cannot be read is in the way of no
/// other.
fn related(ledger: &mut dyn Ledger, git: &Git, dir: &Path) -> Result<Related, EngineError> {
    let mut records = read(ledger, |tx| tx.repositories())?;
    records.retain(|r| r.is_here() && !r.identity.roots.is_empty());
    let all: BTreeSet<&Oid> = records.iter().flat_map(|r| &r.identity.roots).collect();
    let all: Vec<Oid> = all.into_iter().cloned().collect();
    let roots = match all.is_empty() {
        true => all,
        false => roots_here(git, &all)?,
    };
    let identity = RepositoryIdentity {
        roots,
        remote: remote(dir),
        clone_of: None,
    };
    let is_alike = |known: &RepositoryIdentity| {
        is_shallow(dir) && known.remote.is_some() && known.remote == identity.remote
    };
    records.retain(|r| share_root(&r.identity, &identity) || is_alike(&r.identity));
    for record in &mut records {
        let dir = Path::new(&record.common_dir);
        if marks(dir).contains(&record.id) {
            record.identity.remote = remote(dir);
        }
    }
    Ok(Related { records, identity })
}

/// Notes what a person says: that a repository is a clone of another one, or of none, if that is itself.
///
/// # Errors
/// Those of the ledger.
pub fn set_clone_of(
    ledger: &mut dyn Ledger,
    repository: RepositoryId,
    of: RepositoryId,
) -> Result<(), LedgerError> {
    // Itself is stored, too: else the worker would put its own finding in place of it.
    let clone_of = Some(of);
    write(ledger, Durability::Process, |tx| {
        let all = tx.repositories()?;
        let Some(now) = all.into_iter().find(|r| r.id == repository) else {
            return Ok(());
        };
        let identity = now.identity;
        tx.set_identity(
            repository,
            &RepositoryIdentity {
                clone_of,
                ..identity
            },
        )
    })
}
