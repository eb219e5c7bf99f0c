//! The commits of a range with what their messages name: one process for any number of them.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use siglum_domain::{CheckpointId, Oid, trailer};

use crate::bounded;
use crate::error::GitError;
use crate::git::Git;
use crate::list::without_secrets;
use crate::owner::give_to_owner;
use crate::place::Repo;

const COMMAND: &str = "log";
const FORMAT: &str = "--format=tformat:%H%x00%P%x00%an%x00%s%x00%B";
const SHALLOW_LIMIT: u64 = 64 << 20;
/// What the names of a repository stood for when Siglum was switched on in it, in its directory of Siglum.
pub const BEGUN: &str = "begun";
const BEGUN_MOST: u64 = 64 << 20;

/// One commit of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeCommit {
    pub commit: Oid,
    /// How many parents it has here; in a shallow clone those at its edge have none.
    pub parents: usize,
    /// The person that git names as author, without secrets.
    pub author: String,
    /// The first paragraph of its message on one line, without secrets.
    pub subject: String,
    /// The checkpoints that its message names.
    pub named: Vec<CheckpointId>,
    /// The values of its trailers that are no checkpoint ids.
    pub malformed: Vec<String>,
}

impl Git {
    /// The commits that revisions name together (`main..HEAD`, `HEAD ^main`), newest first.
    ///
    /// # Errors
    /// Git fails, as for a revision that names nothing.
    pub fn range(&self, revisions: &[String]) -> Result<Vec<RangeCommit>, GitError> {
        let mut args = vec![
            COMMAND,
            "-z",
            "--no-show-signature",
            "--no-patch",
            "--encoding=UTF-8",
            FORMAT,
            "--end-of-options",
        ];
        args.extend(revisions.iter().map(String::as_str));
        args.push("--");
        let output = self.bytes(&args, b"")?;
        parse(&output).ok_or_else(|| GitError::unreadable(COMMAND))
    }

    /// Those of the commits that revisions name together which none of these commits and tags goes back to.
    ///
    /// # Errors
    /// Git fails, as for a revision that names nothing.
    pub fn range_beyond(
        &self,
        revisions: &[String],
        tips: &[Oid],
    ) -> Result<BTreeSet<Oid>, GitError> {
        // One that git threw away since is nobody's past.
        let mut args = vec![
            "rev-list",
            "--ignore-missing",
            "--stdin",
            "--end-of-options",
        ];
        args.extend(revisions.iter().map(String::as_str));
        args.push("--");
        let mut input = String::new();
        for tip in tips {
            let _ = writeln!(input, "^{tip}");
        }
        let output = self.bytes(&args, input.as_bytes())?;
        Ok(ids(&String::from_utf8_lossy(&output)).collect())
    }

    /// The commits and tags that all names here stand for, HEAD's, too.
    ///
    /// # Errors
    /// Git fails, or does not end in time.
    pub fn tips(&self) -> Result<BTreeSet<Oid>, GitError> {
        let output = self.bytes(&["for-each-ref", "--format=%(objectname)"], b"")?;
        let mut tips: BTreeSet<Oid> = ids(&String::from_utf8_lossy(&output)).collect();
        tips.extend(self.head()?);
        Ok(tips)
    }

    /// The commits without parents that HEAD goes back to, in order; none before the first commit. In a shallow clone they
    /// are those at which it ends ([`Repo::shallow_edge`]).
    ///
    /// # Errors
    /// Git fails, or does not end in time.
    pub fn roots(&self) -> Result<Vec<Oid>, GitError> {
        let Some(head) = self.head()? else {
            return Ok(Vec::new());
        };
        let args = ["rev-list", "--max-parents=0", head.as_str(), "--"];
        let output = self.bytes(&args, b"")?;
        let mut roots: Vec<Oid> = ids(&String::from_utf8_lossy(&output)).collect();
        roots.sort_unstable();
        Ok(roots)
    }

    /// The name of the branch that this one follows, if it follows one that is there.
    ///
    /// # Errors
    /// Git does not start.
    pub fn upstream(&self) -> Result<Option<String>, GitError> {
        let args = ["rev-parse", "--abbrev-ref", "--verify", "@{upstream}"];
        let output = self.run(&args, b"")?;
        let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok((output.code == Some(0) && !name.is_empty()).then_some(name))
    }
}

/// Tells whether the repository with this common directory lacks commits that others go back to.
#[must_use]
pub fn is_shallow(common_dir: &Path) -> bool {
    common_dir.join("shallow").exists()
}

impl Repo {
    /// Writes down what there is while Siglum is being switched on.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_begin(&self, tips: &BTreeSet<Oid>) -> io::Result<()> {
        let lines: Vec<&str> = tips.iter().map(Oid::as_str).collect();
        let mut options = fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.begun())?;
        give_to_owner(&file, &self.siglum_dir())?;
        file.write_all((lines.join("\n") + "\n").as_bytes())
    }

    /// What there was when Siglum was switched on here; nothing where nobody wrote that down.
    #[must_use]
    pub fn tips_at_begin(&self) -> Vec<Oid> {
        let text = bounded::read_text(&self.begun(), BEGUN_MOST).unwrap_or_default();
        ids(&text).collect()
    }

    fn begun(&self) -> PathBuf {
        self.siglum_dir().join(BEGUN)
    }

    /// The commits at which a shallow clone ends: those whose parents were left out.
    #[must_use]
    pub fn shallow_edge(&self) -> HashSet<Oid> {
        let path = self.common_dir().join("shallow");
        let text = bounded::read_text(&path, SHALLOW_LIMIT).unwrap_or_default();
        ids(&text).collect()
    }
}

/// The ids in a list of one each line.
fn ids(text: &str) -> impl Iterator<Item = Oid> {
    text.lines().filter_map(|line| Oid::new(line).ok())
}

fn parse(output: &[u8]) -> Option<Vec<RangeCommit>> {
    let text = String::from_utf8_lossy(output);
    let fields: Vec<&str> = text.split_terminator('\0').collect();
    let commit = |fields: &[&str]| match fields {
        [commit, parents, author, subject, message] => Some(RangeCommit {
            commit: Oid::new(*commit).ok()?,
            parents: parents.split_ascii_whitespace().count(),
            author: without_secrets(author),
            subject: without_secrets(subject),
            named: trailer::named(message),
            malformed: trailer::malformed(message),
        }),
        _ => None,
    };
    fields.chunks(5).map(commit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_fields_make_a_commit() {
        let (one, two) = ("a".repeat(40), "b".repeat(40));
        let output = format!(
            "{one}\0{two} {two}\0Ann\0one\0one\n\nSiglum-Checkpoint: chk_\n\0{two}\0\0\0\0\0"
        );
        let list = parse(output.as_bytes()).expect("well formed");
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].parents, list[1].parents), (2, 0));
        assert_eq!(list[0].malformed, ["chk_"]);
        assert_eq!(parse(b""), Some(Vec::new()));
        assert_eq!(parse(b"nonsense\0"), None);
    }
}
