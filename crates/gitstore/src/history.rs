//! Questions about commits, refs and settings that git answers in a line or a list.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use siglum_domain::{Oid, Timestamp};

use crate::error::GitError;
use crate::facts::lines;
use crate::git::Git;

/// One move of HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflogEntry {
    /// Where HEAD stood; absent at the start of what git remembers.
    pub old: Option<Oid>,
    /// Where it went.
    pub new: Oid,
    pub at: Timestamp,
    /// What moved it, in git's words.
    pub message: String,
}

impl ReflogEntry {
    /// Whether a rebase that ran by itself moved HEAD: it picked a commit, or came to its end.
    #[must_use]
    pub fn is_of_running_rebase(&self) -> bool {
        let begins = |words| self.message.starts_with(words);
        begins("rebase (pick)") || begins("rebase (finish)")
    }
}

/// What decides what git makes of a commit message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageSettings {
    /// What begins a comment: text, or `auto`; none where it is not set.
    pub comment: Option<String>,
    /// How a message is tidied (`commit.cleanup`).
    pub cleanup: Option<String>,
}

impl Git {
    /// The commit that a revision names, if it names one.
    ///
    /// # Errors
    /// Git fails, as outside a repository.
    pub fn resolve(&self, rev: &str) -> Result<Option<Oid>, GitError> {
        if rev.is_empty() || rev.contains('\0') {
            return Ok(None);
        }
        let name = format!("{rev}^{{commit}}");
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ];
        let output = self.run(&args, b"")?;
        match output.code {
            Some(0) => Ok(Oid::new(String::from_utf8_lossy(&output.stdout).trim_end()).ok()),
            Some(1) => Ok(None),
            _ => Err(output.refusal("rev-parse")),
        }
    }

    /// The commit that HEAD of this checkout stands at; none on an unborn branch.
    ///
    /// # Errors
    /// Git fails.
    pub fn head(&self) -> Result<Option<Oid>, GitError> {
        self.resolve("HEAD")
    }

    /// Commits that `to` reaches and `from` does not, newest first, at most `limit`. A `from` that
    /// git does not have hides nothing.
    ///
    /// # Errors
    /// Git fails.
    pub fn commits_since(
        &self,
        from: Option<&Oid>,
        to: &Oid,
        limit: usize,
    ) -> Result<Vec<Oid>, GitError> {
        let mut args = vec!["rev-list".to_owned(), "--ignore-missing".to_owned()];
        args.extend([format!("--max-count={limit}"), to.as_str().to_owned()]);
        args.extend(from.map(|oid| format!("^{oid}")));
        self.oids(&args)
    }

    /// The commits that any ref reaches, newest first, at most `limit`.
    ///
    /// # Errors
    /// Git fails.
    pub fn all_commits(&self, limit: usize) -> Result<Vec<Oid>, GitError> {
        self.oids(&[
            "rev-list".to_owned(),
            "--all".to_owned(),
            format!("--max-count={limit}"),
        ])
    }

    /// The commits that any ref reaches and that were made at or after `since`, newest first, at most
    /// `limit`.
    ///
    /// # Errors
    /// Git fails.
    pub fn commits_after(&self, since: Timestamp, limit: usize) -> Result<Vec<Oid>, GitError> {
        let seconds = since.nanos().div_euclid(1_000_000_000).max(0);
        self.oids(&[
            "rev-list".to_owned(),
            "--all".to_owned(),
            format!("--max-age={seconds}"),
            format!("--max-count={limit}"),
        ])
    }

    /// The newest commit that HEAD has now and that was made before `at`.
    ///
    /// # Errors
    /// Git fails, as it does where HEAD has no commit.
    pub fn head_before(&self, at: Timestamp) -> Result<Option<Oid>, GitError> {
        let seconds = at.nanos().div_euclid(1_000_000_000).max(0);
        let args = ["rev-list", "--first-parent", "--max-count=1"].map(str::to_owned);
        let before = [format!("--min-age={seconds}"), "HEAD".to_owned()];
        Ok(self.oids(&[&args[..], &before].concat())?.pop())
    }

    fn oids(&self, args: &[String]) -> Result<Vec<Oid>, GitError> {
        let text = self.text(args)?;
        let oids: Result<_, _> = text.lines().map(Oid::new).collect();
        oids.map_err(|_| GitError::unreadable("rev-list"))
    }

    /// The moves of HEAD of this checkout, newest first, at most `limit`.
    ///
    /// # Errors
    /// Git fails.
    pub fn reflog(&self, limit: usize) -> Result<Vec<ReflogEntry>, GitError> {
        let count = format!("--max-count={}", limit.saturating_add(1));
        let format = "--format=%H%x00%gd%x00%gs";
        let args = [
            "log",
            "-g",
            "-z",
            "--date=raw",
            "--no-show-signature",
            &count,
            format,
            "HEAD",
            "--",
        ];
        let output = self.run(&args, b"")?;
        if output.code != Some(0) {
            let unborn = self.head()?.is_none();
            return if unborn {
                Ok(Vec::new())
            } else {
                Err(output.refusal("log"))
            };
        }
        let mut moves = moves(&output.stdout).ok_or_else(|| GitError::unreadable("log"))?;
        moves.truncate(limit);
        Ok(moves)
    }

    /// The checkouts of the repository, the main one first. Those that were deleted without telling
    /// git are among them.
    ///
    /// # Errors
    /// Git fails.
    pub fn worktrees(&self) -> Result<Vec<PathBuf>, GitError> {
        let output = self.bytes(&["worktree", "list", "--porcelain"], b"")?;
        let entries = output
            .split(|b| *b == b'\n')
            .filter_map(|l| l.strip_prefix(b"worktree "));
        Ok(entries.map(path_of).collect())
    }

    /// The patch ids of commits against their first parents: equal for equal changes, wherever they
    /// were applied. Commits that change nothing have none.
    ///
    /// # Errors
    /// Git fails.
    pub fn patch_ids(&self, commits: &[Oid]) -> Result<Vec<(Oid, String)>, GitError> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let diff = [
            "diff-tree",
            "--stdin",
            "-p",
            "-r",
            "--root",
            "--full-index",
            "--diff-merges=first-parent",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
        ];
        let output = self.piped(&diff, &["patch-id", "--stable"], &lines(commits))?;
        let output = String::from_utf8_lossy(&output);
        let pair = |line: &str| {
            let (patch, commit) = line.split_once(' ')?;
            Some((Oid::new(commit).ok()?, patch.to_owned()))
        };
        let pairs: Option<_> = output.lines().map(pair).collect();
        pairs.ok_or_else(|| GitError::unreadable("patch-id"))
    }

    /// The whole message of a commit.
    ///
    /// # Errors
    /// Git fails, or the message is no text.
    pub fn message(&self, commit: &Oid) -> Result<String, GitError> {
        self.text(&[
            "log",
            "-1",
            "--no-show-signature",
            "--format=%B",
            &commit.to_string(),
        ])
    }

    /// The settings that decide what git makes of a commit message.
    ///
    /// # Errors
    /// Git fails.
    pub fn message_settings(&self) -> Result<MessageSettings, GitError> {
        let args = [
            "config",
            "--null",
            "--get-regexp",
            r"^(core\.comment(char|string)|commit\.cleanup)$",
        ];
        let output = self.run(&args, b"")?;
        let text = match output.code {
            Some(0) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Some(1) => String::new(),
            _ => return Err(output.refusal("config")),
        };
        let mut settings = MessageSettings::default();
        let entries = text.split_terminator('\0');
        for (key, value) in entries.filter_map(|entry| entry.split_once('\n')) {
            let value = Some(value.to_owned()).filter(|value| !value.is_empty());
            match key {
                "commit.cleanup" => settings.cleanup = value,
                _ => settings.comment = value,
            }
        }
        Ok(settings)
    }

    /// The name that git would put on a commit by its settings, if there is one.
    ///
    /// # Errors
    /// Git fails.
    pub fn user_name(&self) -> Result<Option<String>, GitError> {
        self.setting("user.name")
    }

    /// The address of the remote `origin`, if there is one.
    ///
    /// # Errors
    /// Git does not run or refuses.
    pub fn origin(&self) -> Result<Option<String>, GitError> {
        self.setting("remote.origin.url")
    }

    /// The pager that the user's or the system's settings name, and no repository's: whoever asks starts it.
    ///
    /// # Errors
    /// Git does not run or refuses.
    pub fn pager(&self) -> Result<Option<String>, GitError> {
        let args = [
            "config",
            "--null",
            "--show-scope",
            "--get-all",
            "core.pager",
        ];
        let output = self.run(&args, b"")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let words: Vec<&str> = text.split('\0').collect();
        let mut own = words
            .chunks_exact(2)
            .filter(|pair| ["system", "global"].contains(&pair[0]));
        Ok(own.next_back().map(|pair| pair[1].to_owned()))
    }

    fn setting(&self, name: &str) -> Result<Option<String>, GitError> {
        let output = self.run(&["config", "--get", name], b"")?;
        match output.code {
            Some(0) => {
                let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                Ok(Some(name).filter(|name| !name.is_empty()))
            }
            Some(1) => Ok(None),
            _ => Err(output.refusal("config")),
        }
    }

    /// The directory that git takes hooks from, absolute; it need not exist.
    ///
    /// # Errors
    /// Git fails.
    pub fn hooks_path(&self) -> Result<PathBuf, GitError> {
        let args = ["rev-parse", "--path-format=absolute", "--git-path", "hooks"];
        let output = self.clone().seeing_hooks().bytes(&args, b"")?;
        Ok(self
            .dir()
            .join(path_of(output.strip_suffix(b"\n").unwrap_or(&output))))
    }
}

pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_owned()))
}

/// Reads triples of commit, `HEAD@{<seconds> <zone>}` and message; each starts where the next, older
/// one went.
fn moves(output: &[u8]) -> Option<Vec<ReflogEntry>> {
    let text = String::from_utf8_lossy(output);
    let fields: Vec<&str> = text.split_terminator('\0').collect();
    let mut moves = Vec::new();
    for triple in fields.chunks(3) {
        let [commit, selector, message] = triple else {
            return None;
        };
        let (_, date) = selector.split_once("@{")?;
        let seconds = date.split([' ', '}']).next()?.parse().ok()?;
        moves.push(ReflogEntry {
            old: None,
            new: Oid::new(*commit).ok()?,
            at: Timestamp::from_seconds(seconds),
            message: (*message).to_owned(),
        });
    }
    for at in 1..moves.len() {
        moves[at - 1].old = Some(moves[at].new.clone());
    }
    Some(moves)
}
