//! What git says of commits: one process for any number of them.

use std::collections::HashSet;
use std::str;

use siglum_domain::commit::{Change, CommitFacts};
use siglum_domain::{Oid, Timestamp, trailer};

use crate::error::GitError;
use crate::git::Git;

const COMMAND: &str = "diff-tree";
const FORMAT: &str = "--format=tformat:%H%x00%T%x00%P%x00%at%x00%ct%x00%an%x00%B%x00";

/// The facts of the commits that were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What git says of those it has, in the order asked.
    pub known: Vec<CommitFacts>,
    /// Those it has not, and what is no commit.
    pub missing: Vec<Oid>,
}

impl Git {
    /// Asks for the facts of commits. Changes are those against the first parent, or against
    /// nothing for a root commit; renames are a removal and an addition. Names and messages that
    /// are not UTF-8 are read with replacement characters.
    ///
    /// # Errors
    /// Git does not start, fails or answers in an unknown form.
    pub fn facts(&self, commits: &[Oid]) -> Result<Facts, GitError> {
        if commits.is_empty() {
            return Ok(Facts::default());
        }
        let args = [
            COMMAND,
            "--stdin",
            "-z",
            "--raw",
            "--no-abbrev",
            "-r",
            "--root",
            "--always",
            "--diff-merges=first-parent",
            "--no-renames",
            "--ignore-submodules=none",
            "--encoding=UTF-8",
            FORMAT,
        ];
        let known = parse(&self.bytes(&args, &lines(commits))?)
            .ok_or_else(|| GitError::unreadable(COMMAND))?;
        let found: HashSet<&Oid> = known.iter().map(|facts| &facts.commit).collect();
        let missing = commits
            .iter()
            .filter(|oid| !found.contains(oid))
            .cloned()
            .collect();
        Ok(Facts { known, missing })
    }
}

/// Object ids as git reads them from its input.
pub(crate) fn lines(oids: &[Oid]) -> Vec<u8> {
    oids.iter()
        .flat_map(|oid| [oid.as_str(), "\n"])
        .collect::<String>()
        .into_bytes()
}

/// Reads headers of seven fields, each followed by an empty one and by pairs of a raw entry
/// (`:modes oids status`) and its path.
fn parse(output: &[u8]) -> Option<Vec<CommitFacts>> {
    let mut fields = output.split(|b| *b == 0).peekable();
    let mut known = Vec::new();
    while fields.peek().is_some_and(|field| !field.is_empty()) {
        let mut facts = header(&mut fields)?;
        while let Some(entry) = fields.next_if(|field| after_newline(field).starts_with(b":")) {
            facts.changes.push(change(
                str::from_utf8(after_newline(entry)).ok()?,
                fields.next()?,
            )?);
        }
        known.push(facts);
    }
    Some(known)
}

fn header<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<CommitFacts> {
    let mut text = || fields.next().map(String::from_utf8_lossy);
    let oid = |text: &str| Oid::new(text).ok();
    let commit = oid(&text()?)?;
    let tree = oid(&text()?)?;
    let parents = text()?
        .split_ascii_whitespace()
        .map(oid)
        .collect::<Option<_>>()?;
    let authored = Timestamp::from_seconds(text()?.parse().ok()?);
    let committed = Timestamp::from_seconds(text()?.parse().ok()?);
    let author = text()?.into_owned();
    let message = text()?;
    text()?;
    Some(CommitFacts {
        commit,
        tree,
        parents,
        authored,
        committed,
        author,
        subject: message.lines().next().unwrap_or_default().to_owned(),
        named: trailer::named(&message),
        changes: Vec::new(),
    })
}

/// Git puts a line break between a message and its first raw entry.
fn after_newline(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\n").unwrap_or(field)
}

fn change(entry: &str, path: &[u8]) -> Option<Change> {
    let mut parts = entry.split(' ').skip(2).map(|part| Oid::new(part).ok());
    let (before, after) = (parts.next()??, parts.next()??);
    let present = |oid: Oid| (!oid.is_zero()).then_some(oid);
    let path = String::from_utf8_lossy(path).into_owned();
    Some(Change {
        path,
        before: present(before),
        after: present(after),
    })
}
