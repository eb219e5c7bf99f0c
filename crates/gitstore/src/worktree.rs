//! Checkouts that are made for one session, and whether one may go.
//!
//! A checkout goes only if nothing in it would be lost: no change that is not committed, no commit
//! that is not pushed, nothing under way. What cannot be told is a reason to keep it.

use std::path::Path;

use siglum_domain::Oid;

use crate::error::GitError;
use crate::git::Git;
use crate::place::discover;

/// What git leaves in a git directory while an operation is under way.
const UNDER_WAY: [&str; 7] = [
    "rebase-merge",
    "rebase-apply",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "sequencer",
];

impl Git {
    /// Makes a checkout with a branch: one that is there, here or on one remote, or a new one at HEAD.
    /// Returns whether the branch is new.
    ///
    /// # Errors
    /// Git refuses: no such name, no commit yet, the branch is checked out elsewhere.
    pub fn add_worktree(&self, path: &Path, branch: &str) -> Result<bool, GitError> {
        self.text(&["check-ref-format", "--branch", branch])?;
        let known = format!("refs/heads/{branch}");
        let afar = format!("refs/remotes/*/{branch}");
        let found = self.text(&["for-each-ref", "--count=1", "--format=x", &known, &afar])?;
        let is_new = found.trim().is_empty();
        let start = self.head()?;
        let place = path.to_string_lossy().into_owned();
        let git = self.without_own_filters()?;
        let made = if is_new {
            git.text(&["worktree", "add", "-q", "-b", branch, "--", &place, "HEAD"])
        } else {
            git.text(&["worktree", "add", "-q", "--", &place, branch])
        };
        made.inspect_err(|_| {
            // A checkout that fails halfway leaves what it made.
            if (!path.exists() || self.remove_worktree(path).is_ok()) && is_new {
                let _ = start.map(|start| self.drop_branch(branch, &start));
            }
        })?;
        Ok(is_new)
    }

    /// Why the checkout that this is must stay, if it must. `since` is the commit that it began with.
    ///
    /// # Errors
    /// Git cannot look.
    pub fn unfinished(&self, since: &Oid) -> Result<Option<&'static str>, GitError> {
        // Git does not remove a checkout with submodules, so nobody needs to look into them.
        let status = [
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ];
        if !self.without_own_filters()?.bytes(&status, b"")?.is_empty() {
            return Ok(Some("it has changes that are not committed"));
        }
        let git_dir = discover(self.dir(), None, None).map(|repo| repo.git_dir);
        let under_way = |name: &&'static str| {
            let path = git_dir.as_ref().map(|dir| dir.join(name));
            path.is_none_or(|path| path.symlink_metadata().is_ok())
        };
        if UNDER_WAY.iter().any(under_way) {
            return Ok(Some("an operation of git is under way in it"));
        }
        // What was committed and reset away again is in the list of the moves of HEAD alone, which
        // goes with the checkout.
        let heads = self.text(&["log", "-g", "--format=%H", "HEAD"])?;
        let heads = format!("HEAD\n{heads}");
        let since = format!("^{since}");
        let list = [
            "rev-list",
            "--max-count=1",
            "--stdin",
            &since,
            "--not",
            "--remotes",
        ];
        if !self.bytes(&list, heads.as_bytes())?.is_empty() {
            return Ok(Some("it has commits that are not pushed"));
        }
        Ok(None)
    }

    /// Removes a checkout; git refuses if something in it is not committed.
    ///
    /// # Errors
    /// Git refuses.
    pub fn remove_worktree(&self, path: &Path) -> Result<(), GitError> {
        let path = path.to_string_lossy().into_owned();
        let git = self.without_own_filters()?;
        git.text(&["worktree", "remove", "--", &path]).map(drop)
    }

    /// Deletes a branch that still is where it began.
    ///
    /// # Errors
    /// It is elsewhere by now, or git refuses.
    pub fn drop_branch(&self, branch: &str, at: &Oid) -> Result<(), GitError> {
        let name = format!("refs/heads/{branch}");
        self.text(&["update-ref", "-d", &name, at.as_str()])
            .map(drop)
    }
}
