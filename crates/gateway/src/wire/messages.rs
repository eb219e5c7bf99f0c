//! Messages to an agent, as they are sent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use siglum_domain::AgentName;
use siglum_domain::link::Link;

use super::LinkInput;
use super::links::{of_both, with_links};
use super::numbers::count_if_any;
use crate::problem::Problem;
use crate::runs::{self, Permissions};

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Whoever is in charge of both.
    System,
    /// The person.
    User,
    /// The agent, at an earlier time.
    Assistant,
}

/// A message with exactly one of `content` (text) and `parts` (the parts of a UI message of the AI SDK). Other fields,
/// which pages of the AI SDK send, are ignored.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct MessageInput {
    /// Role of the sender.
    pub(crate) role: Role,
    /// Text of the message.
    pub(crate) content: Option<String>,
    /// Parts of the message. The agent gets text unchanged, tool calls with input and output, and files as their URL,
    /// or as text if it is inline (`data:` with text). Reasoning, sources and data of the page are omitted.
    #[cfg_attr(test, schema(value_type = Option<Vec<Object>>, max_items = 1_000))]
    pub(crate) parts: Option<Vec<Value>>,
}

/// What to do if the session has an active run.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum IfBusy {
    /// The message is refused with 409 `session-busy`.
    Refuse,
    /// It waits for its turn.
    Queue,
    /// The run that goes on is ended, what it did is kept, and the agent goes on with this.
    Steer,
    /// The run that goes on is cancelled, and this one begins.
    Cancel,
}

impl From<IfBusy> for runs::IfBusy {
    fn from(if_busy: IfBusy) -> Self {
        match if_busy {
            IfBusy::Refuse => Self::Refuse,
            IfBusy::Queue => Self::Queue,
            IfBusy::Steer => Self::Steer,
            IfBusy::Cancel => Self::Cancel,
        }
    }
}

/// How permission requests of the agent are answered.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum PermissionMode {
    /// Somebody is asked: an interaction.
    Ask,
    /// It is allowed, each time.
    Allow,
    /// It is refused.
    Refuse,
}

impl From<PermissionMode> for Permissions {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Ask => Self::Ask,
            PermissionMode::Allow => Self::Allow,
            PermissionMode::Refuse => Self::Refuse,
        }
    }
}

/// Limits at which the run is ended. The operator's limits apply if they are stricter.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RunLimits {
    /// Limit on the duration of the run, in milliseconds.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 1, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) wall_ms: Option<u64>,
    /// Limit on the time without output of the agent, in milliseconds.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 1, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) silent_ms: Option<u64>,
    /// Limit on the tokens used.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 1, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) tokens: Option<u64>,
    /// Limit on the cost, in billionths of a US dollar.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 1, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) nano_usd: Option<u64>,
}

/// Parameters of the agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentParameters {
    /// Model; default: the agent's own choice.
    #[cfg_attr(test, schema(pattern = r"^[!-~]{1,200}$"))]
    pub(crate) model: Option<String>,
}

with_links! {
/// Messages for an agent. No field selects a program, its arguments or its environment. Links are in `links` or at the
/// top level.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SendMessages {
    /// Conversation id. It identifies the session and loads no history: the agent gets `messages` and knows nothing
    /// else of the conversation, unless `resume` is set. If blank or absent, it is taken from the header
    /// `siglum-conversation-id`, else from the baggage member `session.id`, else from the agent's native id.
    #[cfg_attr(test, schema(pattern = r"^(\s*|(?!.*\.\.)[A-Za-z0-9._:-]{1,128})$"))]
    pub(crate) conversation_id: Option<String>,
    /// The agent; optional if the session exists and has one.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^[a-z0-9-]{1,64}$"))]
    pub(crate) agent: Option<AgentName>,
    /// Everything that the agent is given, in order; at least one message must be the user's.
    #[cfg_attr(test, schema(min_items = 1, max_items = 10_000))]
    pub(crate) messages: Vec<MessageInput>,
    /// Data that the messages refer to. The agent gets it as JSON, before the messages.
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    pub(crate) inputs: Option<Map<String, Value>>,
    /// Parameters of the agent.
    pub(crate) parameters: Option<AgentParameters>,
    /// Links to attach to the session.
    pub(crate) links: Option<LinkInput>,
    /// Route key: where answers are delivered; see contexts.
    #[cfg_attr(test, schema(pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    pub(crate) route_key: Option<String>,
    /// Run in a session and a context of its own, on the same route. Requires `route_key`.
    pub(crate) isolated: Option<bool>,
    /// Resume the agent's own newest session of this conversation. Refused if the log of the session has a known gap.
    pub(crate) resume: Option<bool>,
    /// What to do if the session has an active run; default: refuse the request.
    pub(crate) if_busy: Option<IfBusy>,
    /// Limits at which the run is ended.
    pub(crate) limits: Option<RunLimits>,
    /// How permission requests of the agent are answered; default: people are asked.
    pub(crate) permissions: Option<PermissionMode>,
    /// Working directory, inside one that the operator allows.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"))]
    pub(crate) cwd: Option<String>,
    /// Turn key: a repeated request with the same key runs only once. The header `idempotency-key` sets it, too.
    #[cfg_attr(test, schema(pattern = r"^[A-Za-z0-9._:-]{1,200}$"))]
    pub(crate) turn_key: Option<String>,
    /// Chat id of the AI SDK; ignored, like `trigger` and `messageId`.
    #[serde(rename = "id")]
    pub(crate) _id: Option<String>,
    /// Why the AI SDK sends the request; ignored.
    #[serde(rename = "trigger")]
    pub(crate) _trigger: Option<String>,
    /// The message that the AI SDK wants to regenerate; ignored.
    #[serde(rename = "messageId")]
    pub(crate) _message_id: Option<String>,
}
}

impl SendMessages {
    /// What the work is for, checked by the one validator.
    pub(crate) fn links(&self) -> Result<Vec<Link>, Problem> {
        of_both(self.links.as_ref(), self.beside()?)
    }
}

/// An answer to an interaction: one of its options, or an approval or rejection.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerInteraction {
    /// Id of the chosen option.
    #[cfg_attr(test, schema(min_length = 1, max_length = 512))]
    pub(crate) option: Option<String>,
    /// Whether to approve; approves only once if the options offer that.
    pub(crate) approved: Option<bool>,
}

/// A message that was said before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct PastMessage {
    /// Its id: of an answer that of its turn.
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<String>,
    /// Who said it.
    pub(crate) role: Role,
    /// What, without the calls of tools.
    pub(crate) content: String,
    #[cfg_attr(test, schema(format = DateTime))]
    pub(crate) at: String,
}

/// Messages of a session's committed turns.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct MessageList {
    /// The messages in order, in the requested format.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    pub(crate) items: Vec<Value>,
    /// Pass it as `cursor` to get earlier messages; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    /// The active turn, if any; the stream has its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) running: Option<String>,
}
