//! What launchers state of the sessions that they start.

use serde::{Deserialize, Serialize};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{AgentName, NativeId, Oid, SessionId};

/// How a session was launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The digest of the token that was handed down.
    pub digest: String,
    /// The launcher, where the system tells it.
    pub launcher: Option<ProcessIdentity>,
    /// The agent that it starts, by the word of the caller or by the name of the program.
    pub agent: Option<AgentName>,
    /// The file name of the program.
    pub program: String,
    /// The checkout that was made for it alone.
    pub worktree: Option<String>,
}

/// Who took up what was launched: the first agent process, with the first id of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The session that the agent runs: the launched one, or an older one that goes on.
    pub to: SessionId,
    pub agent: AgentName,
    /// Its own id of the session.
    pub native: NativeId,
    pub process: ProcessIdentity,
}

/// How the command of a launched session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum LaunchEnd {
    /// With exit code 0.
    Completed,
    /// With another exit code.
    Failed { code: i32 },
    /// By a signal.
    Signalled { signal: i32 },
    /// It could not be started.
    NotStarted {
        /// The exit code of the launcher: 127 where it was not found, 126 else.
        code: i32,
    },
    /// The launcher died before it could say how.
    Lost,
    /// Nothing was heard of it for long, and nobody can act for it any more.
    Expired,
}

/// What became of a checkout that was made for one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum OwnWorktree {
    /// Nothing in it would have been lost, and it was removed.
    Removed,
    Kept {
        reason: String,
        /// What was not committed in it, as a commit that no branch has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<Snapshot>,
    },
}

/// A commit that keeps what was left uncommitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The name of the reference that keeps it.
    pub reference: String,
    pub commit: Oid,
}
