//! Runs: what they are known by, what happens in them, and how they end.

use serde::Serialize;
use serde_json::Value;
use siglum_domain::observation::Outcome;
use siglum_engine::views::session;
use siglum_ledger::{InteractionOption, InteractionRecord};

use super::{IgnoredName, ToolClass, ToolOutcome};
use crate::runs::{self, Choice, Finished, NameSource, Started, Status, Usage};
#[cfg(test)]
use crate::shared_schemas::TokenUsage;

/// Ids of a run: the same in its first event, in its result and in the headers of the response.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RunIds {
    /// Conversation id.
    pub(crate) conversation_id: String,
    /// Where the conversation id came from.
    named_by: NameSource,
    /// The session.
    pub(crate) session: String,
    /// Native id: the agent's own id for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_id: Option<String>,
    /// The turn.
    pub(crate) turn: String,
    /// The trace of the turn.
    pub(crate) trace_id: String,
    /// Route key: where answers are delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    route_key: Option<String>,
    /// Context key: the state that the run sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_key: Option<String>,
    /// True if the agent's own session had more than the committed turns, or if the gateway did not find it on a store that
    /// several gateways serve; the agent then started a new session and was given the committed turns.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    diverged: bool,
    #[cfg_attr(test, schema(format = DateTime))]
    started_at: String,
}

impl From<&Started> for RunIds {
    fn from(started: &Started) -> Self {
        let keys = started.keys.as_ref();
        Self {
            conversation_id: started.conversation.to_string(),
            named_by: started.named_by,
            session: started.session.to_string(),
            native_id: started.native.as_ref().map(ToString::to_string),
            turn: started.turn.to_string(),
            trace_id: started.trace.to_string(),
            route_key: keys.map(|keys| keys.route.to_string()),
            context_key: keys.map(|keys| keys.context.to_string()),
            diverged: started.diverged,
            started_at: started.at.to_string(),
        }
    }
}

/// Usage of a run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RunUsage {
    #[cfg_attr(test, schema(value_type = TokenUsage))]
    tokens: session::TokenUsage,
    /// The model, if the agent reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Cost in billionths of a US dollar, if the price is known.
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

/// An error of a run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RunError {
    /// Stable code for programs.
    code: &'static str,
    /// Human-readable text.
    text: String,
}

impl From<&runs::RunError> for RunError {
    fn from(error: &runs::RunError) -> Self {
        Self {
            code: error.code,
            text: error.text.clone(),
        }
    }
}

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    /// The agent came to its stop.
    Done,
    /// Somebody cancelled it.
    Cancelled,
    /// It reached a limit.
    Limit,
    /// It failed.
    Failed,
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::Done,
            Status::Cancelled => Self::Cancelled,
            Status::Limit => Self::Limit,
            Status::Failed => Self::Failed,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RunEnd {
    status: RunStatus,
    /// Last message of the agent: its answer. Earlier messages are in the stream and in the messages of the session.
    text: String,
    usage: RunUsage,
    /// The error, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RunError>,
}

impl From<&Finished> for RunEnd {
    fn from(finished: &Finished) -> Self {
        Self {
            status: finished.status.into(),
            text: finished.text.clone(),
            usage: (&finished.usage).into(),
            error: finished.error.as_ref().map(RunError::from),
        }
    }
}

/// The result of a run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RunResult {
    /// Ids of the run.
    pub(crate) run: RunIds,
    /// The agent.
    pub(crate) agent: String,
    /// Conversation ids that were ignored, because one with higher precedence was given.
    pub(crate) ignored: Vec<IgnoredName>,
    /// How it ended.
    pub(crate) end: RunEnd,
}

/// An option of an interaction.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct InteractionChoice {
    /// Id to answer with.
    id: String,
    /// Human-readable text.
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

/// An event of a run, as sent in its stream. Its id is its position in the run, from 1.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum RunEvent {
    /// The run started; always the first event.
    Started {
        run: RunIds,
        /// Conversation ids that were ignored, because one with higher precedence was given.
        ignored: Vec<IgnoredName>,
    },
    /// A further part of a message of the agent.
    Text { id: String, delta: String },
    /// A further part of the agent's reasoning.
    Reasoning { id: String, delta: String },
    /// A tool is about to be called.
    ToolCall {
        id: String,
        name: String,
        title: String,
        class: ToolClass,
        input: Value,
    },
    /// A tool result.
    ToolResult {
        id: String,
        output: String,
        outcome: ToolOutcome,
    },
    /// The agent waits for an answer from people.
    Interaction {
        id: String,
        title: String,
        /// The tool call that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        options: Vec<InteractionChoice>,
    },
    /// The agent no longer waits.
    Answered {
        id: String,
        /// The chosen option; absent if there was no answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        option: Option<String>,
        by: String,
    },
    /// Usage so far.
    Usage { usage: RunUsage },
    /// Some events are no longer kept, as many as `events`; the log of the session has their content.
    Cut { events: u64 },
    /// The run ended; always the last event.
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

impl From<&runs::RunEvent> for RunEvent {
    fn from(event: &runs::RunEvent) -> Self {
        match event {
            runs::RunEvent::Started(started) => Self::Started {
                run: started.into(),
                ignored: Vec::new(),
            },
            runs::RunEvent::Text { id, delta } => Self::Text {
                id: id.clone(),
                delta: delta.clone(),
            },
            runs::RunEvent::Reasoning { id, delta } => Self::Reasoning {
                id: id.clone(),
                delta: delta.clone(),
            },
            runs::RunEvent::ToolCall {
                id,
                name,
                title,
                class,
                input,
            } => Self::ToolCall {
                id: id.clone(),
                name: name.clone(),
                title: title.clone(),
                class: (*class).into(),
                input: input.clone(),
            },
            runs::RunEvent::ToolResult {
                id,
                output,
                outcome,
            } => Self::ToolResult {
                id: id.clone(),
                output: output.clone(),
                outcome: (*outcome).into(),
            },
            runs::RunEvent::Interaction {
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
            runs::RunEvent::Answered { id, option, by } => Self::Answered {
                id: id.to_string(),
                option: option.clone(),
                by: by.clone(),
            },
            runs::RunEvent::Usage(usage) => Self::Usage {
                usage: usage.into(),
            },
            runs::RunEvent::Finished(finished) => Self::Finished {
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

/// A run that is being cancelled.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CancelledRun {
    /// The session.
    pub(crate) session: String,
    /// Ids of the run; absent while its agent is still starting, or while a message waits here for a run of another gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunIds>,
}

/// A question that an agent asks people.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Interaction {
    id: String,
    session: String,
    turn: String,
    /// `permission`.
    kind: String,
    /// What the agent asks for.
    title: String,
    /// The tool call that it is about, by the agent's own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    options: Vec<InteractionChoice>,
    #[cfg_attr(test, schema(format = DateTime))]
    raised_at: String,
    /// The outcome; absent while the interaction is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<InteractionOutcome>,
}

/// The outcome of an interaction.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct InteractionOutcome {
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
    /// `answered`, `policy`, `expired`, `cancelled` or `lost`.
    how: String,
    /// The chosen option.
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
            turn: record.turn.to_string(),
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

/// Questions that an agent asked people.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct InteractionList {
    /// Newest first.
    pub(crate) items: Vec<Interaction>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}
