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
    /// The commit.
    pub commit: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents, first parent first.
    pub parents: Vec<Oid>,
    /// When the author made it.
    pub authored: Timestamp,
    /// When it was committed.
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
