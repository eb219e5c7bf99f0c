//! Runs: what they are known by, what happens in them, and how they end.

use serde::Serialize;
use serde_json::Value;
use siglum_domain::observation::{Outcome, ToolClass};
use siglum_ledger::{InteractionOption, InteractionRecord};
use utoipa::ToSchema;

use super::{IgnoredName, NameSource, TokenUsage};
use crate::runner::{self, Choice, Finished, Started, Usage};

/// What a run is known by: the same in its first event, in its result and in the headers of the answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RunIds {
    /// What the outside world calls the conversation.
    pub(crate) session_id: String,
    /// Where that name came from.
    named_by: NameSource,
    /// The session.
    pub(crate) session: String,
    /// The agent's own id for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_id: Option<String>,
    /// The turn.
    pub(crate) turn_id: String,
    /// The trace of the turn.
    pub(crate) trace_id: String,
    /// Where replies go.
    #[serde(skip_serializing_if = "Option::is_none")]
    route_key: Option<String>,
    /// What state the run sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_key: Option<String>,
    /// The agent's own session had more than is committed. It began another one, and was told what is committed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    diverged: bool,
    #[schema(format = DateTime)]
    started_at: String,
}

impl From<&Started> for RunIds {
    fn from(started: &Started) -> Self {
        let keys = started.keys.as_ref();
        Self {
            session_id: started.conversation.to_string(),
            named_by: started.named_by,
            session: started.session.to_string(),
            native_id: started.native.as_ref().map(ToString::to_string),
            turn_id: started.turn.to_string(),
            trace_id: started.trace.to_string(),
            route_key: keys.map(|keys| keys.route.to_string()),
            context_key: keys.map(|keys| keys.context.to_string()),
            diverged: started.diverged,
            started_at: started.at.to_string(),
        }
    }
}

/// What a run used.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RunUsage {
    tokens: TokenUsage,
    /// The model, where the agent told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// What that costs in billionths of a dollar, where the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    nano_usd: Option<u64>,
}

impl From<&Usage> for RunUsage {
    fn from(usage: &Usage) -> Self {
        Self {
            tokens: usage.tokens.into(),
            model: usage.model.clone(),
            nano_usd: usage.nano_usd,
        }
    }
}

/// What went wrong in a run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RunError {
    /// A word for programs, which never changes.
    code: &'static str,
    /// For people.
    text: String,
}

impl From<&runner::RunError> for RunError {
    fn from(error: &runner::RunError) -> Self {
        Self {
            code: error.code,
            text: error.text.clone(),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RunEnd {
    /// `done`, `cancelled`, `limit` or `failed`.
    pub(crate) status: &'static str,
    /// The last message of the agent: its answer. What it said before is in the stream, and in what was said.
    text: String,
    usage: RunUsage,
    /// What went wrong, where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RunError>,
}

impl From<&Finished> for RunEnd {
    fn from(finished: &Finished) -> Self {
        Self {
            status: finished.status.as_str(),
            text: finished.text.clone(),
            usage: (&finished.usage).into(),
            error: finished.error.as_ref().map(RunError::from),
        }
    }
}

/// A run that ended.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RunResult {
    /// What it is known by.
    pub(crate) run: RunIds,
    /// The agent.
    pub(crate) agent: String,
    /// Names of the conversation that another one came before.
    pub(crate) ignored: Vec<IgnoredName>,
    /// How it ended.
    pub(crate) end: RunEnd,
}

/// One answer that an interaction can have.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct InteractionChoice {
    /// To be chosen by.
    id: String,
    /// For people.
    name: String,
    /// `allow-once`, `allow-always`, `refuse-once`, `refuse-always` or `other`.
    kind: String,
}

impl From<&Choice> for InteractionChoice {
    fn from(choice: &Choice) -> Self {
        Self {
            id: choice.id.clone(),
            name: choice.name.clone(),
            kind: choice.kind.as_str().to_owned(),
        }
    }
}

/// One event of a run, as its stream tells it. The id of each is its place in the run, from 1.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum RunEvent {
    /// It began: the first one, always.
    Started {
        run: RunIds,
        /// Names of the conversation that another one came before.
        ignored: Vec<IgnoredName>,
    },
    /// More of a message of the agent.
    Text { id: String, delta: String },
    /// More of what the agent thinks.
    Reasoning { id: String, delta: String },
    /// A tool is about to be called.
    ToolCall {
        id: String,
        name: String,
        title: String,
        /// `edit`, `shell`, `agent` or `other`.
        class: &'static str,
        input: Value,
    },
    /// A tool returned.
    ToolResult {
        id: String,
        output: String,
        /// `ok`, `failed` or `denied`.
        outcome: &'static str,
    },
    /// The agent waits for somebody.
    Interaction {
        id: String,
        title: String,
        /// The call that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        options: Vec<InteractionChoice>,
    },
    /// It waits no more.
    Answered {
        id: String,
        /// What was chosen; absent where nobody said anything.
        #[serde(skip_serializing_if = "Option::is_none")]
        option: Option<String>,
        by: String,
    },
    /// What was used so far.
    Usage { usage: RunUsage },
    /// So many events are kept no more: the log of the session has what they said.
    Cut { events: u64 },
    /// It ended: the last one, always.
    Finished { end: RunEnd },
}

impl RunEvent {
    /// Its name in the stream.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Text { .. } => "text",
            Self::Reasoning { .. } => "reasoning",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult { .. } => "tool_result",
            Self::Interaction { .. } => "interaction",
            Self::Answered { .. } => "answered",
            Self::Usage { .. } => "usage",
            Self::Cut { .. } => "cut",
            Self::Finished { .. } => "finished",
        }
    }
}

impl From<&runner::RunEvent> for RunEvent {
    fn from(event: &runner::RunEvent) -> Self {
        match event {
            runner::RunEvent::Started(started) => Self::Started {
                run: started.into(),
                ignored: Vec::new(),
            },
            runner::RunEvent::Text { id, delta } => Self::Text {
                id: id.clone(),
                delta: delta.clone(),
            },
            runner::RunEvent::Reasoning { id, delta } => Self::Reasoning {
                id: id.clone(),
                delta: delta.clone(),
            },
            runner::RunEvent::ToolCall {
                id,
                name,
                title,
                class,
                input,
            } => Self::ToolCall {
                id: id.clone(),
                name: name.clone(),
                title: title.clone(),
                class: class_word(*class),
                input: input.clone(),
            },
            runner::RunEvent::ToolResult {
                id,
                output,
                outcome,
            } => Self::ToolResult {
                id: id.clone(),
                output: output.clone(),
                outcome: outcome_word(*outcome),
            },
            runner::RunEvent::Interaction {
                id,
                title,
                call,
                options,
            } => Self::Interaction {
                id: id.to_string(),
                title: title.clone(),
                call: call.clone(),
                options: options.iter().map(InteractionChoice::from).collect(),
            },
            runner::RunEvent::Answered { id, option, by } => Self::Answered {
                id: id.to_string(),
                option: option.clone(),
                by: by.clone(),
            },
            runner::RunEvent::Usage(usage) => Self::Usage {
                usage: usage.into(),
            },
            runner::RunEvent::Finished(finished) => Self::Finished {
                end: finished.into(),
            },
        }
    }
}

pub(crate) const fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied",
    }
}

const fn class_word(class: ToolClass) -> &'static str {
    match class {
        ToolClass::Edit => "edit",
        ToolClass::Shell => "shell",
        ToolClass::Agent => "agent",
        ToolClass::Other => "other",
    }
}

/// A run that is being cancelled.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct CancelledRun {
    /// What it is known by.
    pub(crate) run: RunIds,
}

/// Something that an agent wants to hear from people.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Interaction {
    id: String,
    session: String,
    turn_id: String,
    /// `permission`.
    kind: String,
    /// What the agent wants.
    title: String,
    /// The tool call that it is about, by the agent's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    options: Vec<InteractionChoice>,
    #[schema(format = DateTime)]
    raised_at: String,
    /// What became of it; absent while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<InteractionOutcome>,
}

/// What became of an interaction.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct InteractionOutcome {
    #[schema(format = DateTime)]
    at: String,
    /// `answered`, `policy`, `expired`, `cancelled` or `lost`.
    how: String,
    /// What was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<String>,
    by: String,
}

impl From<&InteractionRecord> for Interaction {
    fn from(record: &InteractionRecord) -> Self {
        let choice = |option: &InteractionOption| InteractionChoice {
            id: option.id.clone(),
            name: option.name.as_str().to_owned(),
            kind: option.kind.clone(),
        };
        Self {
            id: record.id.to_string(),
            session: record.session.to_string(),
            turn_id: record.turn.to_string(),
            kind: record.kind.clone(),
            title: record.title.as_str().to_owned(),
            call: record.call.clone(),
            options: record.options.iter().map(choice).collect(),
            raised_at: record.raised_at.to_string(),
            settled: record.settled.as_ref().map(|settled| InteractionOutcome {
                at: settled.at.to_string(),
                how: settled.how.clone(),
                option: settled.option.clone(),
                by: settled.by.clone(),
            }),
        }
    }
}

/// What an agent asked people.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct InteractionList {
    /// Newest first.
    pub(crate) interactions: Vec<Interaction>,
}
