//! A checkout of its own for one session: made before the command runs, and removed after it only if
//! nothing in it would be lost.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use siglum_domain::intake::Place;
use siglum_domain::{Oid, SessionId};
use siglum_gitstore::{Git, GitError, discover};
use siglum_ledger::{OwnWorktree, Snapshot};

use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;

/// The checkout.
pub struct Tree {
    /// Its root.
    pub path: PathBuf,
    /// Where in it the command starts.
    pub dir: PathBuf,
    pub place: Place,
    branch: String,
    /// The branch was made with it; `named` by the caller or not.
    is_new: bool,
    is_named: bool,
    /// The commit that it began with.
    start: Oid,
    /// Git in the checkout that it was made from.
    home: Git,
}

impl Tree {
    /// Makes one, with a branch of this name, else with one that is named after the session.
    pub fn make(cx: &Cx, session: SessionId, branch: Option<&str>) -> Result<Self, CommandError> {
        let repo = cx.repo()?;
        let home = Git::new(env::git(), repo.worktree());
        if home.head()?.is_none() {
            return Err(CommandError::failed(
                "cannot create a worktree: the repository has no commits",
            ));
        }
        let name = repo.worktree().file_name().unwrap_or_default();
        let name = format!("{}-{}", name.to_string_lossy(), session.short());
        let parent = cx.home.worktrees();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&parent)?;
        let path = parent.canonicalize()?.join(name);
        let own = format!("siglum/{}", session.short());
        let wanted = branch.unwrap_or(&own);
        let is_new = home.add_worktree(&path, wanted)?;
        let undo = |error: CommandError| {
            let _ = home.remove_worktree(&path);
            error
        };
        let made = discover(&path, None, None);
        let made =
            made.ok_or_else(|| undo(CommandError::failed("git did not create the worktree")))?;
        let start = Git::new(env::git(), &path).head();
        let start = start.map_err(|e| undo(e.into()))?;
        let start = start.ok_or_else(|| undo(CommandError::failed("the branch has no commits")))?;
        let below = cx
            .dir
            .strip_prefix(repo.worktree())
            .unwrap_or(Path::new(""));
        let within = (below != Path::new("")).then(|| path.join(below));
        let dir = within.filter(|dir| dir.is_dir());
        Ok(Self {
            dir: dir.unwrap_or_else(|| path.clone()),
            path,
            place: made.place,
            branch: wanted.to_owned(),
            is_new,
            is_named: branch.is_some(),
            start,
            home,
        })
    }

    /// Tells whoever comes into a checkout what others left uncommitted in it, or on its branch.
    pub fn tell_left(cx: &Cx, dir: &Path) {
        let git = Git::new(env::git(), dir);
        let branch = git.branch().ok().flatten();
        for left in git.snapshots_of(dir, branch.as_deref()).unwrap_or_default() {
            let short = left.commit.short().to_owned();
            cx.ui.warning(format!(
                "uncommitted changes were left here; they are kept as {} ({short})",
                left.reference
            ));
            cx.ui.hint(format!(
                "Run `git diff HEAD {short}` to see them, `git update-ref -d {}` to discard them.",
                left.reference
            ));
        }
    }

    /// Takes it back: nothing ran in it.
    pub fn undo(&self) {
        if self.home.remove_worktree(&self.path).is_ok() && self.is_new {
            let _ = self.home.drop_branch(&self.branch, &self.start);
        }
    }

    /// Removes it if nothing in it would be lost. `busy` says who is still in it.
    pub fn settle(&self, session: SessionId, busy: Option<&str>) -> OwnWorktree {
        let kept = |reason: &str| OwnWorktree::Kept {
            reason: reason.to_owned(),
            snapshot: self.snapshot(session),
        };
        if let Some(busy) = busy {
            return kept(busy);
        }
        match self.remove() {
            Ok(None) => OwnWorktree::Removed,
            Ok(Some(reason)) => kept(reason),
            Err(error) => kept(&format!("git would not remove it: {error}")),
        }
    }

    /// Keeps what is not committed in it; what cannot be kept there is still in the checkout.
    fn snapshot(&self, session: SessionId) -> Option<Snapshot> {
        let git = Git::new(env::git(), &self.path);
        let branch = git.branch().ok().flatten().unwrap_or_default();
        let kept = git.keep_snapshot(&session.to_string(), &branch);
        let kept = kept.inspect_err(|e| tracing::warn!("no snapshot of {session}: {e}"));
        kept.ok().flatten().map(|kept| Snapshot {
            reference: kept.reference,
            commit: kept.commit,
        })
    }

    fn remove(&self) -> Result<Option<&'static str>, GitError> {
        if let Some(reason) = Git::new(env::git(), &self.path).unfinished(&self.start)? {
            return Ok(Some(reason));
        }
        self.home.remove_worktree(&self.path)?;
        if self.is_new && !self.is_named {
            // A branch that moved has commits, and stays.
            let _ = self.home.drop_branch(&self.branch, &self.start);
        }
        Ok(None)
    }
}
