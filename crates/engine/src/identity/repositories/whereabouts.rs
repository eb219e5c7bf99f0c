//! Where the repositories of this machine are now: which are gone, which were found again and by what, and what a person
//! states of one that nothing tells of. Only [`relocate`] writes.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use siglum_gitstore::{Git, GitError, Repo, discover, is_shallow, marks, may_be_at, remote};
use siglum_ledger::{Durability, Ledger, LedgerError, RepositoryRecord, read, write};

use super::clones::{Kinship, kinship, share_root};
use super::git::usable_git;
use super::identity::{Occupant, give_way, mark, occupant, roots_here};
use super::recognition::set_clone_of;
use super::relocation::renamed;
use crate::{EngineError, World};

/// In how many directories repositories are looked for, and in how many entries of each.
const DIRECTORIES_MOST: usize = 64;
const ENTRIES_MOST: usize = 2_000;

/// What tells that two places have one repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// The mark of Siglum, which goes with a repository and with no clone.
    Mark,
    /// A checkout that is known of it leads there.
    Worktree,
    /// Both go back to one commit.
    RootCommit,
    /// Both are fetched from one address.
    Remote,
    /// One was cloned or copied from the other, or a person said that it was.
    Origin,
}

/// A repository of this machine, and where it is now.
#[derive(Debug, Clone)]
pub struct LocatedRepository {
    /// What is recorded of it.
    pub record: RepositoryRecord,
    /// Where it is.
    pub whereabouts: Whereabouts,
}

/// Where a repository is now.
#[derive(Debug, Clone)]
pub enum Whereabouts {
    /// Where it was seen last, as far as that can be told.
    InPlace,
    /// In another place, by these signs. Whatever is run there notes it.
    Moved {
        /// The checkout that it was found by.
        repo: Repo,
        /// What tells that it is the same.
        signs: Vec<Sign>,
    },
    /// It is gone, and these are clones of it, in which its sessions and commits are shown.
    Cloned(Vec<CloneMatch>),
    /// It is gone. These have commits in common with it, and nothing tells a clone from a fork.
    Unclear(Vec<CloneMatch>),
    /// It is gone, and nothing here has anything in common with it.
    Missing,
}

/// A repository that is a clone of another one, or may be one, and what tells that.
#[derive(Debug, Clone)]
pub struct CloneMatch {
    /// The repository.
    pub record: RepositoryRecord,
    /// What both have in common.
    pub signs: Vec<Sign>,
}

/// Says of each repository of this machine where it is. Repositories that are gone are looked for in these directories, at
/// the checkouts that are known, and beside all of them.
///
/// # Errors
/// Those of the ledger. What git cannot read is taken to be in its place.
pub fn locate(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    dirs: &[PathBuf],
) -> Result<Vec<LocatedRepository>, LedgerError> {
    let mut records = read(ledger, |tx| tx.repositories())?;
    records.retain(|record| record.is_here());
    let in_place: Vec<bool> = records.iter().map(|r| is_in_place(world, r)).collect();
    let repos = match in_place.contains(&false) {
        true => candidates(&records, dirs),
        false => Vec::new(),
    };
    let here = records.iter().zip(&in_place);
    let here: Vec<&RepositoryRecord> = here.filter(|(_, is)| **is).map(|(r, _)| r).collect();
    let located = records.iter().zip(&in_place).map(|(record, is_in_place)| {
        let whereabouts = match *is_in_place {
            true => Whereabouts::InPlace,
            false => moved(world, record, &here, &repos).unwrap_or_else(|| related(record, &here)),
        };
        let record = record.clone();
        LocatedRepository {
            record,
            whereabouts,
        }
    });
    Ok(located.collect())
}

/// Whether a repository is where it was seen last. What git cannot read does not say that it is another one.
fn is_in_place(world: &World<'_>, record: &RepositoryRecord) -> bool {
    usable_git(world, record).is_some_and(|git| {
        let occupant = occupant(&git, Path::new(&record.common_dir), record);
        !matches!(occupant, Ok(Occupant::Another))
    })
}

/// The repositories in which one that was moved may be found, those of its own checkouts first.
fn candidates(records: &[RepositoryRecord], dirs: &[PathBuf]) -> Vec<Repo> {
    let worktrees = records.iter().flat_map(|record| &record.worktrees);
    let mut paths: Vec<PathBuf> = worktrees.map(|(path, _)| path.into()).collect();
    let mut beside: Vec<PathBuf> = Vec::new();
    for dir in dirs {
        let around = discover(dir, None, None).map(|repo| repo.worktree().to_owned());
        // Of whoever stands beside repositories, these are what was meant.
        beside.extend(around.map_or(Some(dir.clone()), |w| Some(w.parent()?.to_owned())));
        paths.push(dir.clone());
    }
    // Behind those, which are not left out where there are many others.
    let checkouts = records.iter().map(|record| Path::new(record.checkout()));
    beside.extend(checkouts.filter_map(|path| Some(path.parent()?.to_owned())));
    let mut seen = HashSet::new();
    beside.retain(|dir| seen.insert(dir.clone()));
    for dir in beside.into_iter().take(DIRECTORIES_MOST) {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let entries = entries.take(ENTRIES_MOST).map(|entry| entry.path());
        paths.extend(entries.filter(|path| path.join(".git").exists()));
    }
    let mut seen = HashSet::new();
    let repos = paths
        .iter()
        .filter_map(|path| discover(path, None, None))
        .filter(|repo| seen.insert(repo.place.clone()));
    repos.collect()
}

/// Where the mark of a repository is that has left its place.
fn moved(
    world: &World<'_>,
    record: &RepositoryRecord,
    here: &[&RepositoryRecord],
    repos: &[Repo],
) -> Option<Whereabouts> {
    let identity = &record.identity;
    if may_be_at(Path::new(&record.common_dir), record.id) {
        return None;
    }
    let mut places = repos.iter().filter(|repo| {
        let marks = marks(repo.common_dir());
        let is_its_own = here
            .iter()
            .any(|r| r.common_dir == repo.place.common_dir && marks.contains(&r.id));
        marks.contains(&record.id) && !is_its_own
    });
    let repo = places.next()?;
    // Copies have the mark, too, and nothing tells which of several is the one that was moved.
    if places.any(|other| other.place.common_dir != repo.place.common_dir) {
        return None;
    }
    let mut signs = vec![Sign::Mark];
    let mut worktrees = record.worktrees.iter();
    if worktrees.any(|(path, _)| *path == repo.place.worktree) {
        signs.push(Sign::Worktree);
    }
    let has_roots = |git: &Git| roots_here(git, &identity.roots).is_ok_and(|r| !r.is_empty());
    if !identity.roots.is_empty() && has_roots(&world.git(&repo.place.worktree)) {
        signs.push(Sign::RootCommit);
    }
    if identity.remote.is_some() && identity.remote == remote(repo.common_dir()) {
        signs.push(Sign::Remote);
    }
    let repo = repo.clone();
    Some(Whereabouts::Moved { repo, signs })
}

/// What is here of a repository that is gone.
fn related(record: &RepositoryRecord, here: &[&RepositoryRecord]) -> Whereabouts {
    let (mut clones, mut unclear) = (Vec::new(), Vec::new());
    for other in here {
        let all = match kinship(record, other) {
            Kinship::Clones => &mut clones,
            Kinship::Unclear => &mut unclear,
            Kinship::Apart => continue,
        };
        all.push(CloneMatch {
            record: (*other).clone(),
            signs: clone_signs(record, other),
        });
    }
    match (clones.is_empty(), unclear.is_empty()) {
        (false, _) => Whereabouts::Cloned(clones),
        (true, false) => Whereabouts::Unclear(unclear),
        (true, true) => Whereabouts::Missing,
    }
}

fn clone_signs(one: &RepositoryRecord, other: &RepositoryRecord) -> Vec<Sign> {
    let is_origin =
        one.identity.clone_of == Some(other.id) || other.identity.clone_of == Some(one.id);
    let is_remote = one.identity.remote.is_some() && one.identity.remote == other.identity.remote;
    let signs = [
        (Sign::RootCommit, share_root(&one.identity, &other.identity)),
        (Sign::Remote, is_remote),
        (Sign::Origin, is_origin),
    ];
    let signs = signs.into_iter().filter(|(_, is)| *is);
    signs.map(|(sign, _)| sign).collect()
}

/// What becomes of a repository that a person says is in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relocation {
    /// It is there already, as far as the ledger knows.
    Unchanged,
    /// It is the one that lies there, with its id and all that was recorded in it, and with the scope of what may leave.
    Move,
    /// The one that lies there is known by itself, and stays so, with its own scope: it is a clone of the one that is gone.
    Clone,
}

/// Why a repository cannot be the one in a place.
#[derive(Debug, thiserror::Error)]
pub enum RelocationError {
    /// The ledger, or git.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It did not go anywhere.
    #[error("the repository is still at {0}")]
    StillThere(String),
    /// Nothing can be compared yet.
    #[error("the repository at {0} has no commit yet")]
    Unborn(String),
    /// Nobody knows what one of them goes back to, as of a shallow clone, and no remote tells that they are the same.
    #[error("the repository at {0} cannot be compared with the one that is gone")]
    Unproven(String),
    /// It goes back to other commits.
    #[error("the repository at {0} has none of the root commits of the one that is gone")]
    OtherRoots(String),
    /// It is fetched from elsewhere, as a fork is.
    #[error("it was fetched from {before}, and the repository at {place} is fetched from {now}")]
    OtherRemote {
        /// Where it was fetched from.
        before: String,
        /// Where the one in the place is fetched from.
        now: String,
        /// The checkout.
        place: String,
    },
}

impl From<LedgerError> for RelocationError {
    fn from(error: LedgerError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<GitError> for RelocationError {
    fn from(error: GitError) -> Self {
        Self::Engine(error.into())
    }
}

/// What would become of a repository that a person says is in a place. Nothing is written.
///
/// # Errors
/// The identities contradict that, it is still where it was, git fails, or those of the ledger.
pub fn planned_relocation(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    record: &RepositoryRecord,
    repo: &Repo,
) -> Result<Relocation, RelocationError> {
    let (dir, place) = (repo.common_dir(), &repo.place);
    if record.common_dir == place.common_dir {
        return Ok(Relocation::Unchanged);
    }
    if is_in_place(world, record) {
        return Err(RelocationError::StillThere(record.checkout().to_owned()));
    }
    let git = world.git(&place.worktree);
    let now = remote(dir).filter(|name| !name.starts_with('/'));
    if let (Some(before), Some(now)) = (record.identity.hosted_remote(), now)
        && before != now
    {
        return Err(RelocationError::OtherRemote {
            before: before.to_owned(),
            now,
            place: place.worktree.clone(),
        });
    }
    let has_roots = !record.identity.roots.is_empty() && !is_shallow(dir);
    let is_same_remote = record.identity.remote.is_some() && record.identity.remote == remote(dir);
    if !has_roots && !is_same_remote && !marks(dir).contains(&record.id) {
        return Err(RelocationError::Unproven(place.worktree.clone()));
    }
    match occupant(&git, dir, record)? {
        Occupant::Same => {}
        Occupant::Unborn => return Err(RelocationError::Unborn(place.worktree.clone())),
        Occupant::Another => return Err(RelocationError::OtherRoots(place.worktree.clone())),
    }
    let is_known = match read(ledger, |tx| tx.repository(&place.common_dir))? {
        Some(known) => occupant(&git, dir, &known)? != Occupant::Another,
        None => false,
    };
    Ok(match is_known {
        true => Relocation::Clone,
        false => Relocation::Move,
    })
}

/// Notes what a person says: that a repository is the one in a place.
///
/// # Errors
/// As those of [`planned_relocation`], with which nothing is written.
pub fn relocate(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    record: &RepositoryRecord,
    repo: &Repo,
) -> Result<Relocation, RelocationError> {
    let relocation = planned_relocation(world, ledger, record, repo)?;
    let here = read(ledger, |tx| tx.repository(&repo.place.common_dir))?;
    match (relocation, here) {
        (Relocation::Unchanged, _) => {}
        (Relocation::Clone, Some(clone)) => set_clone_of(ledger, clone.id, record.id)?,
        (Relocation::Clone | Relocation::Move, here) => {
            if let Some(another) = here {
                give_way(ledger, &another)?;
            }
            move_to(world, ledger, record, repo)?;
        }
    }
    Ok(relocation)
}

/// Notes that a repository is in a place, in which no other one is known.
fn move_to(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    record: &RepositoryRecord,
    repo: &Repo,
) -> Result<(), LedgerError> {
    let (place, now) = (&repo.place, world.now());
    let renamed = renamed(record, &place.common_dir);
    write(ledger, Durability::Process, |tx| {
        tx.move_repository(record.id, &place.common_dir, &renamed)?;
        tx.note_place(place, record.id, now).map(drop)
    })?;
    mark(ledger, repo.common_dir(), record.id)
}

#[cfg(test)]
mod tests {
    use siglum_ledger::RepositoryIdentity;

    use super::super::clones::tests::record;
    use super::*;

    #[test]
    fn a_repository_that_is_gone_is_matched_with_its_clones_alone() {
        let gone = record(1, "a", Some("host/o/r"));
        let clone = record(2, "a", Some("host/o/r"));
        let fork = record(3, "a", Some("host/me/r"));
        let unnamed = record(4, "a", None);
        let copy = RepositoryRecord {
            identity: RepositoryIdentity {
                clone_of: Some(gone.id),
                ..RepositoryIdentity::default()
            },
            ..record(5, "", None)
        };
        let Whereabouts::Cloned(matches) = related(&gone, &[&clone, &fork, &unnamed, &copy]) else {
            panic!("it has clones");
        };
        let matches: Vec<_> = matches
            .iter()
            .map(|m| (m.record.id, m.signs.as_slice()))
            .collect();
        assert_eq!(
            matches,
            [
                (clone.id, &[Sign::RootCommit, Sign::Remote][..]),
                (copy.id, &[Sign::Origin][..]),
            ]
        );
        let Whereabouts::Unclear(others) = related(&gone, &[&fork, &unnamed]) else {
            panic!("nothing tells a clone from a fork");
        };
        assert_eq!(others.len(), 1);
        assert_eq!(others[0].record, unnamed);
        assert!(matches!(related(&gone, &[&fork]), Whereabouts::Missing));
    }
}
