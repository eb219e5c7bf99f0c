//! Which repository a directory is: its clones are known by the commits that they go back to and by where they are fetched
//! from, wherever they lie and whatever they are called.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use siglum_domain::intake::Place;
use siglum_domain::{Oid, RepositoryId};
use siglum_gitstore::{Git, GitError, Repo, discover};
use siglum_ledger::{
    Durability, Ledger, LedgerError, RepositoryIdentity, RepositoryRecord, Transaction, read, write,
};

use crate::{EngineError, World};

/// By how many of its commits a repository is recognised whose roots nobody asked git for.
const COMMITS: usize = 8;
/// The longest name of a remote, in bytes.
const NAME_MOST: usize = 512;

/// What is known of the repository in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognised {
    /// It is this one.
    Known(RepositoryRecord),
    /// It goes back to the same commits as these, and nothing tells whether it is one of them or a fork.
    Unclear(Vec<RepositoryRecord>),
    /// It has nothing in common with any.
    Unknown,
}

/// Looks which repository it is that lies in a directory, and notes that it was seen there. One that is in no place where it
/// was before has moved; else it is another clone.
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn recognise(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repo: &Repo,
) -> Result<Recognised, EngineError> {
    if let Some(known) = read(ledger, |tx| tx.repository(&repo.place.common_dir))? {
        return Ok(Recognised::Known(known));
    }
    let git = world.git(&repo.place.worktree);
    let related = related(ledger, &git, None)?;
    if related.is_empty() {
        return Ok(Recognised::Unknown);
    }
    let here = Side::of(&repo.place.common_dir, &git)?;
    let (mut same, mut unclear) = (Vec::new(), Vec::new());
    for record in related {
        match here.is_same(&Side::known(world, &record)?) {
            Some(true) => same.push(record),
            Some(false) => {}
            None => unclear.push(record),
        }
    }
    let mut gone = same.iter().filter(|r| !Path::new(&r.common_dir).is_dir());
    let (moved, others) = (gone.next(), gone.next());
    match (moved, others, same.first()) {
        (Some(moved), None, _) => {
            let from = place_of(moved);
            write(ledger, Durability::Process, |tx| {
                tx.move_repository(moved.id, &from, &repo.place)
            })?;
        }
        (.., Some(first)) => add_clone(world, ledger, repo, first.id)?,
        _ if unclear.is_empty() => return Ok(Recognised::Unknown),
        _ => return Ok(Recognised::Unclear(unclear)),
    }
    let known = read(ledger, |tx| tx.repository(&repo.place.common_dir))?;
    Ok(known.map_or(Recognised::Unknown, Recognised::Known))
}

/// Notes that the repository in a directory is a clone of a known one.
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn add_clone(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repo: &Repo,
    of: RepositoryId,
) -> Result<(), EngineError> {
    let identity = identity(world, &repo.place)?;
    let (fresh, now) = (RepositoryId::mint(world.ids), world.now());
    Ok(write(ledger, Durability::Process, |tx| {
        let id = tx.note_place(&repo.place, fresh, now)?;
        let all = tx.repositories()?;
        let find = |id| all.iter().find(|r| r.id == id);
        let clone_of = find(id).and_then(|r| r.clone_of);
        tx.set_identity(id, &identity, clone_of)?;
        let first = |id| find(id).map_or(id, RepositoryRecord::first_clone);
        join(tx, &BTreeSet::from([first(id), first(of)]))
    })?)
}

/// Asks git what a repository has in common with its clones, and finds those among the others: where hooks saw it first,
/// nobody has looked yet.
pub(crate) fn look(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    record: &RepositoryRecord,
) -> Result<(), EngineError> {
    // A remote may be added later.
    let is_known = |identity: &RepositoryIdentity| identity.remote.is_some();
    let place = place_of(record);
    if record.identity.as_ref().is_some_and(is_known) || !Path::new(&place.worktree).is_dir() {
        return Ok(());
    }
    let identity = identity(world, &place)?;
    if record.identity.as_ref() == Some(&identity) {
        return Ok(());
    }
    let git = world.git(&place.worktree);
    let here = Side {
        common_dir: record.common_dir.clone(),
        remote: identity.remote.clone(),
    };
    let mut firsts = BTreeSet::from([record.first_clone()]);
    for other in related(ledger, &git, Some(record.id))? {
        if here.is_same(&Side::known(world, &other)?) == Some(true) {
            firsts.insert(other.first_clone());
        }
    }
    Ok(write(ledger, Durability::Process, |tx| {
        tx.set_identity(record.id, &identity, record.clone_of)?;
        join(tx, &firsts)
    })?)
}

/// Makes clones of one repository of those that were known as several. Ids tell which was known first.
fn join(tx: &mut dyn Transaction, firsts: &BTreeSet<RepositoryId>) -> Result<(), LedgerError> {
    let Some(first) = firsts.first().filter(|_| firsts.len() > 1) else {
        return Ok(());
    };
    for record in tx.repositories()? {
        if record.id != *first && firsts.contains(&record.first_clone()) {
            let identity = record.identity.unwrap_or_default();
            tx.set_identity(record.id, &identity, Some(*first))?;
        }
    }
    Ok(())
}

/// All clones of a repository, with itself.
///
/// # Errors
/// Those of the ledger.
pub fn clones(
    tx: &mut dyn Transaction,
    of: RepositoryId,
) -> Result<BTreeSet<RepositoryId>, LedgerError> {
    let all = tx.repositories()?;
    let first = all
        .iter()
        .find(|r| r.id == of)
        .map(RepositoryRecord::first_clone);
    let same = all.iter().filter(|r| Some(r.first_clone()) == first);
    Ok(same.map(|r| r.id).chain([of]).collect())
}

/// What names a remote on every machine: `github.com/o/r` for any form of its address, without a scheme, a port, a user or a
/// password. Nothing for a path of this machine.
#[must_use]
pub fn remote_name(address: &str) -> Option<String> {
    let (has_scheme, rest) = match address.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, address),
    };
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let rest = rest.trim_end_matches('/');
    let rest = rest.strip_suffix(".git").unwrap_or(rest);
    let (host, path) = match has_scheme {
        true => rest.split_once('/')?,
        false => rest.split_once(':').or_else(|| rest.split_once('/'))?,
    };
    let host = host.split(':').next().unwrap_or_default();
    let name = format!(
        "{}/{}",
        host.to_ascii_lowercase(),
        path.trim_start_matches('/')
    );
    let plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'/' | b'~' | b'+' | b'-');
    let is_name = name.len() <= NAME_MOST && !name.starts_with(['/', '.', '~']);
    (is_name && name.bytes().all(plain)).then_some(name)
}

/// One of two places that may be clones of one repository.
struct Side {
    common_dir: String,
    remote: Option<String>,
}

impl Side {
    fn of(common_dir: &str, git: &Git) -> Result<Self, GitError> {
        Ok(Self {
            common_dir: common_dir.to_owned(),
            remote: remote(git, Path::new(common_dir))?,
        })
    }

    /// One that is known: as it is now, or as it was seen last.
    fn known(world: &World<'_>, record: &RepositoryRecord) -> Result<Self, GitError> {
        let place = place_of(record);
        if Path::new(&place.worktree).is_dir() {
            return Self::of(&record.common_dir, &world.git(&place.worktree));
        }
        let identity = record.identity.as_ref();
        Ok(Self {
            common_dir: record.common_dir.clone(),
            remote: identity.and_then(|identity| identity.remote.clone()),
        })
    }

    /// Whether both are clones of one repository, given that they go back to the same commits. Nothing if that cannot be told.
    fn is_same(&self, other: &Self) -> Option<bool> {
        let by_remotes = self.is_fetched_alike(other);
        by_remotes.or_else(|| {
            // What nothing tells apart from one that is gone is that one, which has moved.
            let (gone, here) = match (self.is_there(), other.is_there()) {
                (true, false) => (other, self),
                (false, true) => (self, other),
                _ => return None,
            };
            let was_on = Path::new(&here.common_dir).join("siglum").is_dir();
            (was_on || gone.remote == here.remote).then_some(true)
        })
    }

    /// Whether both are fetched from one place, or one from the other.
    fn is_fetched_alike(&self, other: &Self) -> Option<bool> {
        let is_from = |one: &Self, other: &Self| one.remote.as_ref() == Some(&other.common_dir);
        if is_from(self, other) || is_from(other, self) {
            return Some(true);
        }
        let (one, other) = (self.remote.as_ref()?, other.remote.as_ref()?);
        let is_path = |name: &String| name.starts_with('/');
        match one == other {
            true => Some(true),
            // Where a clone on this machine is fetched from is another question.
            false if is_path(one) || is_path(other) => None,
            false => Some(false),
        }
    }

    fn is_there(&self) -> bool {
        Path::new(&self.common_dir).is_dir()
    }
}

/// Those of the other repositories of this machine that go back to the same commits: git has their roots here, too, or
/// commits that were made in them.
fn related(
    ledger: &mut dyn Ledger,
    git: &Git,
    but: Option<RepositoryId>,
) -> Result<Vec<RepositoryRecord>, EngineError> {
    let asked: Vec<(RepositoryRecord, Vec<Oid>)> = read(ledger, |tx| {
        let mut all = tx.repositories()?;
        all.retain(|r| r.is_here() && Some(r.id) != but);
        let mut asked = Vec::new();
        for record in all {
            let roots = record.identity.iter().flat_map(|i| i.roots.clone());
            let mut commits: Vec<Oid> = roots.collect();
            if commits.is_empty() {
                let made = tx.commits(Some(record.id), COMMITS)?;
                commits.extend(made.into_iter().map(|c| c.commit));
            }
            asked.push((record, commits));
        }
        Ok(asked)
    })?;
    let all: Vec<&str> = asked.iter().flat_map(|(_, c)| c).map(Oid::as_str).collect();
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = git.resolve_ids(&all)?.into_iter();
    let mut related = Vec::new();
    for (record, commits) in asked {
        let known = found.by_ref().take(commits.len()).flatten().count();
        if known > 0 {
            related.push(record);
        }
    }
    Ok(related)
}

/// What a repository has in common with its clones.
fn identity(world: &World<'_>, place: &Place) -> Result<RepositoryIdentity, GitError> {
    let git = world.git(&place.worktree);
    let is_shallow = Path::new(&place.common_dir).join("shallow").exists();
    let roots = match is_shallow {
        true => Vec::new(),
        false => git.roots()?,
    };
    let remote = remote(&git, Path::new(&place.common_dir))?;
    Ok(RepositoryIdentity { roots, remote })
}

/// Where a repository is fetched from, by one name for all forms of an address.
fn remote(git: &Git, common_dir: &Path) -> Result<Option<String>, GitError> {
    let Some(address) = git.origin()? else {
        return Ok(None);
    };
    let path = address.strip_prefix("file://").unwrap_or(&address);
    // Git takes a path from the checkout.
    let path = match common_dir.parent() {
        Some(checkout) => checkout.join(path),
        None => PathBuf::from(path),
    };
    match path.canonicalize() {
        Ok(path) => {
            let clone = discover(&path, None, None).filter(|r| r.common_dir().starts_with(&path));
            let dir = clone.map_or(path, |repo| repo.common_dir().to_owned());
            Ok(Some(dir.to_string_lossy().into_owned()))
        }
        Err(_) => {
            Ok(remote_name(&address).or_else(|| address.starts_with('/').then(|| address.clone())))
        }
    }
}

/// The checkout that a repository was seen in: the one around its git directory, else the first of all.
fn place_of(record: &RepositoryRecord) -> Place {
    let mut worktrees = record.worktrees.iter().map(|(worktree, _)| worktree);
    let around =
        |worktree: &&String| Path::new(worktree).join(".git") == Path::new(&record.common_dir);
    let main = worktrees.clone().find(around).or_else(|| worktrees.next());
    record.place(main.unwrap_or(&record.common_dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_has_one_name_without_credentials() {
        for (address, name) in [
            ("https://github.com/o/r.git", Some("github.com/o/r")),
            ("https://GitHub.com/o/r/", Some("github.com/o/r")),
            (
                "https://user:hunter2@github.com/o/r",
                Some("github.com/o/r"),
            ),
            ("git@github.com:o/r.git", Some("github.com/o/r")),
            ("ssh://git@host:22/o/r", Some("host/o/r")),
            ("/srv/git/r.git", None),
            ("../r", None),
            ("~/r", None),
            ("file:///srv/r", None),
            ("https://host/a b", None),
            ("r", None),
        ] {
            assert_eq!(remote_name(address).as_deref(), name, "{address}");
        }
    }

    #[test]
    fn remotes_tell_clones_from_forks() {
        let side = |dir: &str, remote: Option<&str>| Side {
            common_dir: dir.to_owned(),
            remote: remote.map(str::to_owned),
        };
        let one = side("/a/.git", Some("host/o/r"));
        for (other, same) in [
            (side("/b/.git", Some("host/o/r")), Some(true)),
            (side("/b/.git", Some("/a/.git")), Some(true)),
            (side("/b/.git", Some("host/me/r")), Some(false)),
            (side("/b/.git", Some("/c/.git")), None),
            (side("/b/.git", None), None),
        ] {
            assert_eq!(one.is_same(&other), same, "{:?}", other.remote);
            assert_eq!(other.is_same(&one), same, "{:?}", other.remote);
        }
    }
}
