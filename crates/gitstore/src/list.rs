//! Listing commits the way `git log` does: one process for any number of them.

use siglum_domain::redact::Redactor;
use siglum_domain::{Oid, Timestamp};

use crate::error::GitError;
use crate::git::Git;

const COMMAND: &str = "log";
const FORMAT: &str = "--format=tformat:%H%x00%ct%x00%an%x00%s";

/// Which commits to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listing<'a> {
    /// A revision or range in git's words; HEAD if absent.
    pub range: Option<&'a str>,
    /// Only those committed at or after this, to the second.
    pub since: Option<Timestamp>,
    /// Only those committed before this, to the second.
    pub until: Option<Timestamp>,
    /// At most this many; 0 means all.
    pub limit: usize,
}

/// One commit as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCommit {
    pub commit: Oid,
    pub committed: Timestamp,
    /// The person that git names as author, without secrets.
    pub author: String,
    /// The first paragraph of its message on one line, without secrets.
    pub subject: String,
}

impl Git {
    /// Lists commits in git's own order, newest first; none on an unborn branch.
    ///
    /// # Errors
    /// Git fails, as for a range that names nothing.
    pub fn list(&self, wanted: &Listing<'_>) -> Result<Vec<ListedCommit>, GitError> {
        let mut args = vec![
            COMMAND.to_owned(),
            "-z".to_owned(),
            "--no-show-signature".to_owned(),
            "--no-patch".to_owned(),
            "--encoding=UTF-8".to_owned(),
            FORMAT.to_owned(),
        ];
        if wanted.limit > 0 {
            args.push(format!("--max-count={}", wanted.limit));
        }
        args.extend(wanted.since.map(|t| format!("--max-age={}", t.seconds())));
        // Git counts whole seconds and takes the bound itself, too.
        let last = |until: Timestamp| Timestamp::from_nanos(until.nanos() - 1).seconds();
        args.extend(wanted.until.map(|t| format!("--min-age={}", last(t))));
        let range = wanted.range.unwrap_or("HEAD");
        args.extend(["--end-of-options", range, "--"].map(str::to_owned));
        let output = self.run(&args, b"")?;
        if output.code == Some(0) {
            return parse(&output.stdout).ok_or_else(|| GitError::unreadable(COMMAND));
        }
        if wanted.range.is_none() && self.head()?.is_none() {
            return Ok(Vec::new());
        }
        Err(output.refusal(COMMAND))
    }
}

/// What git shows may be handed on: to a file, to a pipeline, to an agent.
pub(crate) fn without_secrets(text: &str) -> String {
    Redactor::shared().redact_cow(text).into_owned()
}

fn parse(output: &[u8]) -> Option<Vec<ListedCommit>> {
    let text = String::from_utf8_lossy(output);
    let fields: Vec<&str> = text.split_terminator('\0').collect();
    let commit = |fields: &[&str]| match fields {
        [commit, committed, author, subject] => Some(ListedCommit {
            commit: Oid::new(*commit).ok()?,
            committed: Timestamp::from_seconds(committed.parse().ok()?),
            author: without_secrets(author),
            subject: without_secrets(subject),
        }),
        _ => None,
    };
    fields.chunks(4).map(commit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_fields_make_a_commit() {
        let oid = "a".repeat(40);
        let output = format!("{oid}\x001700000000\x00Ann\x00one\x00{oid}\x005\x00\x00\x00");
        let list = parse(output.as_bytes()).expect("well formed");
        assert_eq!(list.len(), 2);
        assert_eq!(list[0].committed, Timestamp::from_seconds(1_700_000_000));
        assert_eq!(
            (list[1].author.as_str(), list[1].subject.as_str()),
            ("", "")
        );
        assert_eq!(parse(b""), Some(Vec::new()));
        assert_eq!(parse(b"nonsense\x00"), None);
    }
}
