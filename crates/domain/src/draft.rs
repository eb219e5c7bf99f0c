//! What a commit will be if it lands, as one digest.
//!
//! A commit that no hook saw landing, and whose message names nothing, is the one that was announced only if its tree
//! and its subject are those that were announced. The digest is kept for that, and not the words, which may be of a
//! commit that never came to be.

use crate::digest::Hasher;
use crate::grammar::Oid;
use crate::id::CheckpointId;

/// The digest of the tree and the first line of the message of a commit, for one intent alone.
#[must_use]
pub fn draft_digest(checkpoint: CheckpointId, tree: &Oid, subject: &str) -> String {
    let mut hasher = Hasher::new();
    hasher.field(checkpoint.to_string().as_bytes());
    hasher.field(tree.as_str().as_bytes());
    hasher.field(subject.as_bytes());
    hasher.hex()
}
