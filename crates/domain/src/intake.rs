//! What an edge hands over: claims and observations, extracted and redacted, not yet resolved.
//!
//! An intake is the unit that is written to the ledger in one transaction, or to the spool where
//! the ledger is out of reach; drained from there, it has the same effect. Its key makes it
//! idempotent. The types here are the stored form of the spool; [`VERSION`] goes with them.

use serde::{Deserialize, Serialize};

use crate::grammar::{AgentName, NativeId, Oid};
use crate::id::{CheckpointId, SessionId};
use crate::link::Stated;
use crate::observation::Observation;
pub use crate::place::{Decline, Place};
use crate::process::{Chain, ProcessIdentity};
use crate::time::Timestamp;

/// The version of the stored form.
pub const VERSION: u32 = 1;

/// One delivery from one edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intake {
    /// The version of this form.
    pub version: u32,
    /// Equal for equal deliveries and for no others.
    pub key: String,
    /// When the edge took it.
    pub at: Timestamp,
    /// What it brings.
    pub matter: Matter,
}

/// What a delivery is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// An agent's hook, or its transcript.
    Agent(AgentMatter),
    /// A git hook: somebody is about to commit.
    Intent(Scene),
    /// A git hook: a commit landed.
    Landed(Landed),
    /// A git hook: commits were rewritten.
    Rewritten(Rewritten),
    /// A git hook: HEAD of a checkout moved without a commit, or the checkout is new.
    Head(Head),
    /// Something was refused, deferred or lost.
    Decline(Decline),
}

/// Who an agent's hook says it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMatter {
    pub agent: AgentName,
    /// The agent's id for the session.
    pub native: NativeId,
    /// The agent's id for the session that this one came from (a fork, a clear).
    pub parent: Option<NativeId>,
    /// The id under which a sub-agent that begins tells what it does, where that is not the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<NativeId>,
    /// A session named by the caller, which wins over all else.
    pub explicit: Option<SessionId>,
    /// The agent's process, where this delivery binds the session to it.
    pub process: Option<ProcessIdentity>,
    /// The processes above the agent's, nearest first, where they were looked at.
    pub above: Vec<ProcessIdentity>,
    /// The variables of agents in the environment of the agent's hook, without its own: those that
    /// its process had inherited. Absent where nobody looked.
    #[serde(default)]
    pub carried: Option<Vec<AgentVariable>>,
    /// What a launcher handed down to the agent's process, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<LaunchClaim>,
    /// The links that variables in the agent's environment name, where it was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Stated>,
    /// What was left out of its environment, and why: each is noted once for the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Decline>,
    /// The directory the agent works in.
    pub cwd: Option<String>,
    /// The repository it works in.
    pub place: Option<Place>,
    /// The transcript of the session, checked to lie in the agent's own directory.
    pub transcript: Option<String>,
    /// The sub-agent that the transcript belongs to; absent if it is the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript_of: Option<String>,
    pub observations: Vec<Observation>,
}

impl AgentMatter {
    /// What an agent calls its session, and nothing else of it.
    #[must_use]
    pub const fn new(agent: AgentName, native: NativeId) -> Self {
        Self {
            agent,
            native,
            parent: None,
            thread: None,
            explicit: None,
            process: None,
            above: Vec::new(),
            carried: None,
            claim: None,
            links: Vec::new(),
            left_out: Vec::new(),
            cwd: None,
            place: None,
            transcript: None,
            transcript_of: None,
            observations: Vec::new(),
        }
    }
}

/// The identity that a launcher handed down in the environment. Whatever runs below it has it, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchClaim {
    /// The session that was launched.
    pub session: SessionId,
    /// The digest of the token that proves it; the token itself goes nowhere. Empty where the token could not be read, as in
    /// a sandbox: then only the launcher above proves it. No launch has an empty one, so that older readers take it for a wrong one.
    pub digest: String,
}

/// A variable in the environment that names a session of an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AgentVariable {
    pub name: String,
    /// The agent that sets it.
    pub agent: AgentName,
    /// The session it names; absent for variables that only say that an agent is there.
    pub native: Option<NativeId>,
}

/// What could be seen at the moment of a commit: raw evidence, kept so that a better rule can
/// judge again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// The checkpoint that the commit will be, if it lands.
    pub checkpoint: CheckpointId,
    pub place: Place,
    /// HEAD before; absent for the first commit.
    pub head: Option<Oid>,
    /// The processes from the hook upwards.
    pub chain: Chain,
    /// Variables of agents in the environment.
    pub variables: Vec<AgentVariable>,
    /// What a launcher handed down to git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<LaunchClaim>,
    /// The launches that were under way, where a launcher seems to be above git.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launches: Vec<SessionId>,
    /// Agents whose executable is in the chain, nearest first: position in the chain and name.
    pub agents: Vec<(usize, AgentName)>,
    /// For each of these agents whose own environment could be read, by its position: the names of the variables that its
    /// process had from its start with the value they have at git. It inherited them; others were set below.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherited: Vec<(usize, Vec<String>)>,
    /// Where the message came from, in git's words: message, template, merge, squash, commit, none.
    pub message: String,
    /// The checkpoint that the message named already (an amend, a copy).
    pub named: Option<CheckpointId>,
    /// The digest of the tree and the subject that the commit will have ([`crate::draft`]), where both could be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
}

/// Where HEAD of a checkout stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub place: Place,
    /// The commit; absent on an unborn branch.
    pub commit: Option<Oid>,
}

/// Which hook saw a commit landing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandedBy {
    /// `post-commit`: the commit is new.
    Commit,
    /// `post-merge`: HEAD may have moved to a commit that somebody else made.
    Merge,
}

/// A commit that landed, as a hook saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    pub place: Place,
    pub commit: Oid,
    /// Which hook saw it.
    pub by: LandedBy,
    /// What could be seen when it had landed, for a commit that nothing announced.
    pub scene: Scene,
    /// The last moves of HEAD, newest first, from and to; nothing where git does not log them. HEAD
    /// may have moved on since this commit.
    #[serde(default)]
    pub moves: Vec<(Option<Oid>, Oid)>,
}

/// Commits that git rewrote (an amend, a rebase).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewritten {
    pub place: Place,
    /// `amend` or `rebase`, in git's words.
    pub command: String,
    /// Old and new.
    pub pairs: Vec<(Oid, Oid)>,
    /// Which git processes made the new commits, as far as hooks saw it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RewriteRun>,
}

/// What one git process rewrote. A rebase that stops is continued by another one, and maybe by somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewriteRun {
    /// When its hook looked around.
    pub at: Timestamp,
    /// What could be seen then.
    pub scene: Scene,
    /// The commits that it made.
    pub commits: Vec<Oid>,
}
