//! What somebody claims about whose something is, before the ledger is asked.
//!
//! Every edge hands over the same [`Claims`], each with what it knows: a hook its agent's id, process and launch, a caller
//! the name that it gives, telemetry what stands in a record. Which session that comes to is decided in one place, in the
//! engine. What one kind of sender can know and another one only inherits is the [`Origin`] of the claims.

use crate::grammar::{AgentName, NativeId};
use crate::id::SessionId;
use crate::intake::{AgentMatter, LaunchClaim};
use crate::process::ProcessIdentity;
use crate::time::Timestamp;
use crate::trace::TraceId;

/// Who makes a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// A hook or a transcript of the agent, or a caller who asks for a session: the ids are of this session and of this
    /// agent, and nothing was inherited but what a launcher handed down.
    #[default]
    Direct,
    /// Telemetry of an agent of the table; a record of it may open a session.
    Agent,
    /// Telemetry about generative models of a program that the table lacks; it may open a session, too.
    Model,
    /// Any other telemetry. It joins a session or stays unassigned.
    Other,
}

impl Origin {
    /// Whether a claim of this kind may open a session for a native id that nobody knows yet.
    #[must_use]
    pub const fn may_open(self) -> bool {
        !matches!(self, Self::Other)
    }
}

/// What is claimed about whose something is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    pub origin: Origin,
    /// When it was seen: a launch is taken up before it ends. The epoch where that does not matter.
    pub at: Timestamp,
    /// The agent, as the table has it; for a foreign program the name of its service, as far as the grammar goes.
    pub agent: Option<AgentName>,
    /// The session by the ledger's own id: the one that is meant, or in telemetry the one that was injected into the
    /// environment of an agent, and so of all that runs below it.
    pub session: Option<SessionId>,
    /// The sender's own ids of the session: most telling first, each once.
    pub natives: Vec<NativeId>,
    /// Whether the sender itself names two sessions: `session.id` is not `gen_ai.conversation.id`.
    pub conflict: bool,
    /// What a launcher handed down to the process that makes the claims.
    pub launch: Option<LaunchClaim>,
    /// That process.
    pub process: Option<ProcessIdentity>,
    /// The processes above it, nearest first.
    pub above: Vec<ProcessIdentity>,
    /// The tool call it belongs to.
    pub call: Option<String>,
    /// The trace it stands in, if a trace of this sender is of one session.
    pub trace: Option<TraceId>,
}

impl Claims {
    /// The session that has this id.
    #[must_use]
    pub fn by_id(session: SessionId) -> Self {
        Self {
            session: Some(session),
            ..Self::default()
        }
    }

    /// The session that an agent, or a caller, calls so.
    #[must_use]
    pub fn by_name(agent: &AgentName, native: &NativeId) -> Self {
        Self {
            agent: Some(agent.clone()),
            natives: vec![native.clone()],
            ..Self::default()
        }
    }

    /// The session of an agent's hook or transcript, of which something was seen then.
    #[must_use]
    pub fn from_matter(matter: &AgentMatter, at: Timestamp) -> Self {
        Self {
            at,
            session: matter.explicit,
            launch: matter.claim.clone(),
            process: matter.process.clone(),
            above: matter.above.clone(),
            ..Self::by_name(&matter.agent, &matter.native)
        }
    }
}
