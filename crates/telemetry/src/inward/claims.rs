//! Who a record says it is from.

use siglum_domain::{AgentName, NativeId, SessionId};

/// What kind of program a record came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An agent of the table; a record of it may open a session.
    Agent,
    /// A record about generative models of a program that the table lacks; it may open a session, too.
    Model,
    /// Anything else. It joins a session or stays unassigned.
    Other,
}

impl Origin {
    /// Whether a record of this kind may open a session for a native id that nobody knows yet.
    #[must_use]
    pub const fn may_open(self) -> bool {
        matches!(self, Self::Agent | Self::Model)
    }
}

/// What a record claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The agent, as the table has it; for a foreign program the name of its service, where that is a name.
    pub agent: Option<AgentName>,
    /// The session by the ledger's own id, injected by whoever started the agent or stamped by another gateway.
    pub session: Option<SessionId>,
    /// The sender's own ids of the session: most telling first, each once.
    pub natives: Vec<NativeId>,
    /// Whether the record itself names two sessions: `session.id` is not `gen_ai.conversation.id`.
    pub conflict: bool,
    /// The tool call it belongs to.
    pub call: Option<String>,
    /// What kind of program it came from.
    pub origin: Origin,
    /// The sub-agent it happened in.
    pub subagent: Option<String>,
}
