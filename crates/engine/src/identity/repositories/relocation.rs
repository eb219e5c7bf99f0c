//! Repositories that were moved, renamed, or put in the place of others. Their marks tell: hooks ask this, too, so no git is
//! started.

use std::path::{Path, PathBuf};

use siglum_domain::intake::Place;
use siglum_domain::{IdSource, RepositoryId, Timestamp};
use siglum_gitstore::{discover, marks, may_be_at};
use siglum_ledger::{LedgerError, RepositoryRecord, Transaction};

/// The repository in a place, which becomes a new one if none is known there or has moved there.
///
/// # Errors
/// Those of the ledger.
pub fn note_place(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    place: &Place,
    at: Timestamp,
) -> Result<RepositoryId, LedgerError> {
    follow(tx, place)?;
    tx.note_place(place, RepositoryId::mint(ids), at)
}

/// Notes that a repository was moved to a place, if one was.
pub(super) fn follow(tx: &mut dyn Transaction, place: &Place) -> Result<(), LedgerError> {
    let Some(moved) = moved_to(tx, &place.common_dir)? else {
        return Ok(());
    };
    if let Some(other) = tx.repository(&place.common_dir)? {
        set_apart(tx, &other)?;
    }
    let renamed = renamed(&moved, &place.common_dir);
    tx.move_repository(moved.id, &place.common_dir, &renamed)
}

/// The repository that was moved to a place, if one was: its mark is there, and no more where it was seen last.
fn moved_to(
    tx: &mut dyn Transaction,
    common_dir: &str,
) -> Result<Option<RepositoryRecord>, LedgerError> {
    let marks = marks(Path::new(common_dir));
    if marks.is_empty() {
        return Ok(None);
    }
    let here = tx.repository(common_dir)?;
    if here.is_some_and(|r| marks.contains(&r.id)) {
        return Ok(None);
    }
    let has_left = |r: &RepositoryRecord| {
        marks.contains(&r.id) && r.is_here() && !may_be_at(Path::new(&r.common_dir), r.id)
    };
    Ok(tx.repositories()?.into_iter().find(has_left))
}

/// The repository in a place, also where nobody noted yet that it was moved there.
pub(crate) fn lying_at(
    tx: &mut dyn Transaction,
    common_dir: &str,
) -> Result<Option<RepositoryRecord>, LedgerError> {
    match moved_to(tx, common_dir)? {
        None => tx.repository(common_dir),
        moved => Ok(moved),
    }
}

/// Notes that another repository lies where this one was seen last. If it was moved, its mark will tell where to.
pub(super) fn set_apart(
    tx: &mut dyn Transaction,
    repository: &RepositoryRecord,
) -> Result<(), LedgerError> {
    let nowhere = format!("{}#{}", repository.common_dir, repository.id.short());
    tx.move_repository(repository.id, &nowhere, &[])
}

/// The checkouts that came along when a repository was moved, with the path before and after.
pub(super) fn renamed(repository: &RepositoryRecord, to: &str) -> Vec<(String, String)> {
    let (left, reached) = moved_directory(Path::new(&repository.common_dir), Path::new(to));
    let worktrees = repository.worktrees.iter().map(|(worktree, _)| worktree);
    let after = |worktree: &String| {
        let path = reached.join(Path::new(worktree).strip_prefix(&left).ok()?);
        let found = discover(&path, None, None)?.place;
        (found.common_dir == to && Path::new(&found.worktree) == path)
            .then(|| (worktree.clone(), found.worktree))
    };
    worktrees.filter_map(after).collect()
}

/// The directory that was moved, before and after: the paths without the names that both end with.
fn moved_directory(from: &Path, to: &Path) -> (PathBuf, PathBuf) {
    let (mut from, mut to) = (from, to);
    while let (Some(before), Some(after)) = (from.parent(), to.parent())
        && from.file_name() == to.file_name()
    {
        (from, to) = (before, after);
    }
    (from.to_owned(), to.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_that_was_moved_is_found() {
        for (from, to, moved) in [
            ("/w/shop/.git", "/w/renamed/.git", ("/w/shop", "/w/renamed")),
            ("/src/a/.git", "/code/a/.git", ("/src", "/code")),
            ("/a/.git/modules/m", "/b/.git/modules/m", ("/a", "/b")),
            ("/a/x.git", "/a/y.git", ("/a/x.git", "/a/y.git")),
            ("/a/.git", "/a/b/.git", ("/a", "/a/b")),
        ] {
            let found = moved_directory(Path::new(from), Path::new(to));
            assert_eq!(found, (moved.0.into(), moved.1.into()), "{from}");
        }
    }
}
