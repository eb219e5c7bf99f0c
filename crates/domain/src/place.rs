//! Where something happened, and what did not come of it.

use serde::{Deserialize, Serialize};

/// Where in the world of repositories something happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The git common directory, absolute.
    pub common_dir: String,
    /// The root of the checkout, absolute.
    pub worktree: String,
}

/// Something that was refused, deferred or lost, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decline {
    /// Which edge: `hook claude-code`, `hook git post-commit`, `import`.
    pub edge: String,
    /// A stable word for the reason.
    pub reason: String,
    /// What exactly, without secrets.
    pub detail: String,
    /// The repository, if it is known.
    pub place: Option<Place>,
}
