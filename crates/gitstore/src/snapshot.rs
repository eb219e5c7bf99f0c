//! Work that is not committed, kept as a commit that no branch has.
//!
//! Index, branches, HEAD and files stay as they are.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use siglum_domain::Oid;

use crate::error::GitError;
use crate::git::Git;
use crate::place::discover;

/// Where snapshots are.
const SNAPSHOTS: &str = "refs/siglum/snapshots/";
/// How many snapshots are looked at, newest first.
const LOOKED_AT: &str = "--count=200";
/// Who commits what is kept.
const COMMITTER: [&str; 2] = ["user.name=Siglum", "user.email=siglum@localhost"];
/// The mode of a submodule in git's list of files.
const SUBMODULE: &[u8] = b"160000 ";

/// Work that was left in a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The name of the reference that keeps it.
    pub reference: String,
    pub commit: Oid,
    /// The checkout that it was left in.
    pub worktree: String,
    /// The branch that was checked out there.
    pub branch: String,
}

impl Git {
    fn line(&self, args: &[&str], input: &[u8]) -> Result<String, GitError> {
        let output = self.bytes(args, input)?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
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
        let committer = COMMITTER.map(str::to_owned);
        let git = self.without_own_filters()?.with_index(&index);
        let git = git.with_settings(committer);
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
        self.line(&["read-tree", head.as_str()], b"")?;
        self.add_all()?;
        let tree = self.line(&["write-tree"], b"")?;
        let before = self.line(&["rev-parse", &format!("{head}^{{tree}}")], b"")?;
        if tree == before {
            return Ok(None);
        }
        let message = format!(
            "What {name} left uncommitted\n\nSiglum-Snapshot-Worktree: {worktree}\nSiglum-Snapshot-Branch: {branch}\n"
        );
        let args = ["commit-tree", &tree, "-p", head.as_str()];
        let commit = self.line(&args, message.as_bytes())?;
        let commit = Oid::new(commit).map_err(|_| GitError::unreadable("commit-tree"))?;
        let reference = format!("{SNAPSHOTS}{name}");
        self.line(&["update-ref", &reference, commit.as_str()], b"")?;
        Ok(Some(Snapshot {
            reference,
            commit,
            worktree: worktree.to_owned(),
            branch: branch.to_owned(),
        }))
    }

    /// Adds what is in the checkout, without submodules: to look into one, git would run what its
    /// settings name.
    fn add_all(&self) -> Result<(), GitError> {
        let files = self.bytes(&["ls-files", "--stage", "-z"], b"")?;
        let mut args = vec![OsString::from("add")];
        args.extend(["--all", "--", "."].map(OsString::from));
        for entry in files
            .split(|b| *b == 0)
            .filter(|e| e.starts_with(SUBMODULE))
        {
            let path = entry.splitn(2, |b| *b == b'\t').nth(1).unwrap_or_default();
            let exclude = [b":(top,exclude,literal)", path].concat();
            args.push(OsString::from_vec(exclude));
        }
        self.bytes(&args, b"").map(drop)
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
        let output = self.text(&args)?;
        let mut parts = output.split('\0');
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
        let output = self.run(&["symbolic-ref", "-q", "--short", "HEAD"], b"")?;
        let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.code == Some(0) && !name.is_empty()).then_some(name))
    }
}
