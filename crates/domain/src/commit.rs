//! What git says of a commit, and what a message says of checkpoints.

use serde::{Deserialize, Serialize};

use crate::grammar::Oid;
use crate::id::CheckpointId;
use crate::time::Timestamp;

/// How a path changed between a commit's first parent and the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path after the commit, relative to the root; `/` between parts.
    pub path: String,
    /// Its content before; absent if it was added.
    pub before: Option<Oid>,
    /// Its content after; absent if it was deleted.
    pub after: Option<Oid>,
}

/// What git says of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitFacts {
    pub commit: Oid,
    pub tree: Oid,
    /// Its parents, first parent first.
    pub parents: Vec<Oid>,
    pub authored: Timestamp,
    pub committed: Timestamp,
    /// The person that git names as author.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// The checkpoints that its message names.
    pub named: Vec<CheckpointId>,
    /// What changed against the first parent.
    pub changes: Vec<Change>,
}

/// Tells whether a text has the line that git prints when it has made this commit:
/// `[main (root-commit) 1a2b3c4] subject`. A log does not have it.
#[must_use]
pub fn says_it_was_made(text: &str, commit: &Oid) -> bool {
    let made = |line: &str| made_in_line(line).is_some_and(|id| commit.as_str().starts_with(id));
    text.lines().any(made)
}

/// The abbreviated id, of 4 or more digits in lower case, in a line that git prints when it has made a
/// commit; nothing in any other line.
#[must_use]
pub fn made_in_line(line: &str) -> Option<&str> {
    let line = line.strip_prefix('[')?;
    let rest = match line.strip_prefix("detached HEAD ") {
        Some(rest) => rest,
        // A branch has no blank in its name.
        None => {
            line.split_once(' ')
                .filter(|(branch, _)| !branch.is_empty())?
                .1
        }
    };
    let rest = rest.strip_prefix("(root-commit) ").unwrap_or(rest);
    let (id, subject) = rest.split_once(']')?;
    let digits = id.len() >= 4 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (digits && (subject.is_empty() || subject.starts_with(' '))).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_git_prints_when_it_has_made_a_commit() {
        let commit = Oid::new("a2e430eda264c05ac40491f4b1c4dba90a0b919f").unwrap();
        for made in [
            "[main a2e430e] add",
            "hooks talk\n[main (root-commit) a2e430e] add\n 1 file changed",
            "[detached HEAD a2e430eda2] add",
            "[feat/x]y a2e430e]",
            "[main a2e4] short",
        ] {
            assert!(says_it_was_made(made, &commit), "{made}");
        }
        for other in [
            "a2e430e add",
            "commit a2e430eda264c05ac40491f4b1c4dba90a0b919f",
            "[main b2e430e] add",
            "[a2e430e] add",
            "> [main a2e430e] add",
            "[main a2e430e]add",
            "[two words a2e430e] add",
            "",
        ] {
            assert!(!says_it_was_made(other, &commit), "{other}");
        }
    }
}
