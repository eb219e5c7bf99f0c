//! Work that is not committed, kept as a commit that no branch has.
//!
//! Index, branches, HEAD and files stay as they are, and no hook runs.

use std::path::Path;

use siglum_domain::Oid;

use crate::error::GitError;
use crate::git::Git;
use crate::place::discover;

/// Where snapshots are.
const SNAPSHOTS: &str = "refs/siglum/snapshots/";
/// How many snapshots are looked at, newest first.
const LOOKED_AT: &str = "--count=200";
/// What git is told for each of its commands here.
const QUIET: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "user.name=Siglum",
    "-c",
    "user.email=siglum@localhost",
];

/// Work that was left in a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The name of the reference that keeps it.
    pub reference: String,
    /// The commit.
    pub commit: Oid,
    /// The checkout that it was left in.
    pub worktree: String,
    /// The branch that was checked out there.
    pub branch: String,
}

impl Git {
    fn quietly(&self, args: &[&str], input: &[u8]) -> Result<String, GitError> {
        let args: Vec<&str> = QUIET.iter().chain(args).copied().collect();
        let said = self.bytes(&args, input)?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// Keeps what is not committed in the checkout that this is, with files that git does not know and does not ignore,
    /// under the name of whoever left it; nothing where all of it is committed.
    ///
    /// # Errors
    /// Git cannot read a file, or write a commit.
    pub fn keep_snapshot(&self, name: &str, branch: &str) -> Result<Option<Snapshot>, GitError> {
        let (Some(repo), Some(head)) = (discover(self.dir(), None, None), self.head()?) else {
            return Ok(None);
        };
        let index = repo.git_dir.join("siglum-snapshot-index");
        let git = self.clone().with_index(&index);
        let kept = git.snapshot(&repo.place.worktree, &head, name, branch);
        for left in [index.clone(), index.with_extension("lock")] {
            let _ = std::fs::remove_file(left);
        }
        kept
    }

    fn snapshot(
        &self,
        worktree: &str,
        head: &Oid,
        name: &str,
        branch: &str,
    ) -> Result<Option<Snapshot>, GitError> {
        self.quietly(&["read-tree", head.as_str()], b"")?;
        self.quietly(&["add", "--all", "--", "."], b"")?;
        let tree = self.quietly(&["write-tree"], b"")?;
        let before = self.quietly(&["rev-parse", &format!("{head}^{{tree}}")], b"")?;
        if tree == before {
            return Ok(None);
        }
        let message = format!(
            "What {name} left uncommitted\n\nSiglum-Snapshot-Worktree: {worktree}\nSiglum-Snapshot-Branch: {branch}\n"
        );
        let args = ["commit-tree", &tree, "-p", head.as_str()];
        let commit = self.quietly(&args, message.as_bytes())?;
        let commit = Oid::new(commit).map_err(|_| GitError::unreadable("commit-tree"))?;
        let reference = format!("{SNAPSHOTS}{name}");
        self.quietly(&["update-ref", &reference, commit.as_str()], b"")?;
        Ok(Some(Snapshot {
            reference,
            commit,
            worktree: worktree.to_owned(),
            branch: branch.to_owned(),
        }))
    }

    /// The snapshots of what was left in a checkout or on a branch, newest first.
    ///
    /// # Errors
    /// Git cannot look.
    pub fn snapshots_of(
        &self,
        worktree: &Path,
        branch: Option<&str>,
    ) -> Result<Vec<Snapshot>, GitError> {
        let format = "--format=%(refname)%00%(objectname)%00%(contents)%00";
        let args = [
            "for-each-ref",
            "--sort=-creatordate",
            LOOKED_AT,
            format,
            SNAPSHOTS,
        ];
        let said = self.text(&args)?;
        let mut parts = said.split('\0');
        let mut found = Vec::new();
        while let (Some(reference), Some(commit), Some(message)) =
            (parts.next(), parts.next(), parts.next())
        {
            let value = |key: &str| {
                let line = message.lines().find_map(|l| l.strip_prefix(key));
                line.unwrap_or_default().to_owned()
            };
            let Ok(commit) = Oid::new(commit) else {
                continue;
            };
            let snapshot = Snapshot {
                reference: reference.trim().to_owned(),
                commit,
                worktree: value("Siglum-Snapshot-Worktree: "),
                branch: value("Siglum-Snapshot-Branch: "),
            };
            let is_here = Path::new(&snapshot.worktree) == worktree;
            if is_here || branch.is_some_and(|b| b == snapshot.branch) {
                found.push(snapshot);
            }
        }
        Ok(found)
    }

    /// The branch that is checked out; nothing where HEAD is on none.
    ///
    /// # Errors
    /// Git cannot look.
    pub fn branch(&self) -> Result<Option<String>, GitError> {
        let said = self.run(&["symbolic-ref", "-q", "--short", "HEAD"], b"")?;
        let name = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        Ok((said.code == Some(0) && !name.is_empty()).then_some(name))
    }
}
