//! A file of a commit, and the edits that may have led to it.

use std::fs;
use std::path::Path;

use siglum_domain::observation::FileIdentity;
use siglum_domain::{Oid, RepositoryId, Timestamp};
use siglum_gitstore::file_identity;
use siglum_ledger::{EditRecord, Ledger, LedgerError, Transaction, read, stored_name};

/// A file of a commit whose life is asked for.
pub(crate) struct CommittedFile<'a> {
    pub(crate) repository: RepositoryId,
    pub(crate) commit: &'a Oid,
    /// Its path in the commit.
    pub(crate) path: &'a str,
    /// Its path in the parent, where the commit moved it.
    pub(crate) moved_from: Option<&'a str>,
    pub(crate) parent: Option<&'a Oid>,
    pub(crate) blob: &'a Oid,
    pub(crate) content: &'a [u8],
    /// The last moment of edits that may be in it.
    pub(crate) until: Timestamp,
}

impl CommittedFile<'_> {
    /// Whether this is what the ledger calls it, in the commit or in the parent.
    pub(crate) fn is_called(&self, stored: &str) -> bool {
        let names = [Some(self.path), self.moved_from];
        names
            .into_iter()
            .flatten()
            .any(|name| stored_name(name) == stored)
    }

    /// The edits that may lie on the way to the commit, in the order in which they ended.
    pub(crate) fn edits(
        &self,
        ledger: &mut dyn Ledger,
        worktree: Option<&str>,
    ) -> Result<Vec<EditRecord>, LedgerError> {
        let here = |e: &EditRecord| worktree.is_none_or(|w| e.worktree == w);
        read(ledger, |tx| {
            let mut edits = tx.edits(self.repository, self.path, self.until)?;
            if let Some(from) = self.moved_from {
                edits.extend(tx.edits(self.repository, from, self.until)?);
            }
            edits.retain(here);
            if let Some(worktree) = worktree {
                self.follow(tx, worktree, &mut edits)?;
            }
            edits.sort_by(|a, b| (a.at, &a.event).cmp(&(b.at, &b.event)));
            edits.dedup_by(|a, b| (a.session, &a.event, &a.path) == (b.session, &b.event, &b.path));
            Ok(edits)
        })
    }

    /// Adds the edits of the same file under the path that it had before somebody moved it.
    fn follow(
        &self,
        tx: &mut dyn Transaction,
        worktree: &str,
        edits: &mut Vec<EditRecord>,
    ) -> Result<(), LedgerError> {
        let mut places = vec![(
            self.blob.clone(),
            identity_now(worktree, self.path),
            self.until,
        )];
        if let Some(first) = edits.first()
            && let Some(before) = &first.before
        {
            places.push((before.blob.clone(), first.detail.before.file, first.began));
        }
        for (blob, identity, until) in places {
            let Some(identity) = identity else { continue };
            let moved = tx.edits_leaving(&blob)?.into_iter().find(|e| {
                let elsewhere = !self.is_called(&e.path);
                let here = e.worktree == worktree && e.repository == self.repository;
                here && elsewhere && e.detail.after.file == Some(identity)
            });
            if let Some(moved) = moved {
                let earlier = tx.edits(self.repository, &moved.path, until)?;
                edits.extend(earlier.into_iter().filter(|e| e.worktree == worktree));
            }
        }
        Ok(())
    }
}

/// Which file is at a path of a checkout now.
pub(crate) fn identity_now(worktree: &str, path: &str) -> Option<FileIdentity> {
    let metadata = fs::symlink_metadata(Path::new(worktree).join(path)).ok()?;
    file_identity(&metadata)
}
