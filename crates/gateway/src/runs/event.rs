//! What happens in a run, as it is told to those who follow it.

use serde_json::Value;
use siglum_domain::context::Keys;
use siglum_domain::observation::{Outcome, Tokens, ToolClass};
use siglum_domain::trace::TraceId;
use siglum_domain::{ConversationId, InteractionId, NativeId, SessionId, Timestamp, TurnId};

use super::NameSource;

/// One thing that happened in a run. Texts are redacted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunEvent {
    /// The run started; always the first event.
    Started(Started),
    /// A further part of a message of the agent.
    Text {
        /// The message.
        id: String,
        /// What comes behind what there was of it.
        delta: String,
    },
    /// A further part of the agent's reasoning.
    Reasoning {
        /// The thought.
        id: String,
        /// What comes behind what there was of it.
        delta: String,
    },
    /// A tool is about to be called.
    ToolCall {
        /// The agent's own name for the call.
        id: String,
        /// The tool's.
        name: String,
        title: String,
        class: ToolClass,
        input: Value,
    },
    ToolResult {
        /// The call.
        id: String,
        output: String,
        outcome: Outcome,
    },
    /// The agent waits for an answer from people.
    Interaction {
        id: InteractionId,
        title: String,
        /// The tool call that it is about.
        call: Option<String>,
        options: Vec<Choice>,
    },
    /// The agent no longer waits.
    Answered {
        id: InteractionId,
        /// What was chosen; nothing where nobody said anything and the run went on or ended without.
        option: Option<String>,
        by: String,
    },
    /// What was used so far in this run.
    Usage(Usage),
    /// The run ended; always the last event.
    Finished(Finished),
}

/// What is told of a run of which the store has nothing.
pub(crate) const NOT_COMMITTED: &str = "not-committed";

/// A run began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) session: SessionId,
    /// What the outside world calls it.
    pub(crate) conversation: ConversationId,
    pub(crate) named_by: NameSource,
    /// What the agent calls it.
    pub(crate) native: Option<NativeId>,
    pub(crate) turn: TurnId,
    /// The trace of the turn: that of whoever asked, where they were traced.
    pub(crate) trace: TraceId,
    pub(crate) keys: Option<Keys>,
    /// Whether the agent's own session had more than is committed, so that it began another one.
    pub(crate) diverged: bool,
    pub(crate) at: Timestamp,
}

/// An option of an interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Id to answer with.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: ChoiceKind,
}

/// What an answer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceKind {
    AllowOnce,
    AllowAlways,
    RefuseOnce,
    RefuseAlways,
    Other,
}

impl ChoiceKind {
    /// Its word.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::AllowOnce => "allow-once",
            Self::AllowAlways => "allow-always",
            Self::RefuseOnce => "refuse-once",
            Self::RefuseAlways => "refuse-always",
            Self::Other => "other",
        }
    }
}

/// What was used in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) tokens: Tokens,
    /// The model, where it is told.
    pub(crate) model: Option<String>,
    /// Cost in billionths of a US dollar, if the price is known.
    pub(crate) nano_usd: Option<u64>,
}

/// A run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) status: Status,
    /// What the agent said last: its answer.
    pub(crate) text: String,
    pub(crate) usage: Usage,
    pub(crate) error: Option<RunError>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// The agent came to its stop.
    Done,
    Cancelled,
    Limit,
    Failed,
}

impl Status {
    /// Its word.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Limit => "limit",
            Self::Failed => "failed",
        }
    }
}

/// An error of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunError {
    /// Stable code for programs.
    pub(crate) code: &'static str,
    /// For people, redacted.
    pub(crate) text: String,
}
