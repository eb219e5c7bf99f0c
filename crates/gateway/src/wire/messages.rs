//! Messages to an agent, as they are sent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use siglum_domain::AgentName;
use siglum_domain::link::Link;
use utoipa::ToSchema;

use super::LinkInput;
use super::links::{of_both, with_links};
use super::numbers::count_if_any;
use crate::problem::Problem;
use crate::runner::{self, Permissions};

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Whoever is in charge of both.
    System,
    /// The person.
    User,
    /// The agent, at an earlier time.
    Assistant,
}

/// One message, in one of two forms: `content` is its text, or `parts` are those of a UI message of the AI SDK. One of the
/// two is there. Other fields, which pages of the AI SDK send, are left out of account.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct MessageInput {
    /// Who says it.
    pub(crate) role: Role,
    /// What.
    pub(crate) content: Option<String>,
    /// What, in parts. Texts are told as they are, tool calls with what they were given and what they returned; of files
    /// the address, or the text of one that is sent along (`data:` with a text). Thoughts, sources and data of the page
    /// are not told.
    #[schema(value_type = Option<Vec<Object>>, max_items = 1_000)]
    pub(crate) parts: Option<Vec<Value>>,
}

/// What is done while another run of the session goes on.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
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

impl From<IfBusy> for runner::IfBusy {
    fn from(told: IfBusy) -> Self {
        match told {
            IfBusy::Refuse => Self::Refuse,
            IfBusy::Queue => Self::Queue,
            IfBusy::Steer => Self::Steer,
            IfBusy::Cancel => Self::Cancel,
        }
    }
}

/// What is answered when the agent wants to be allowed something.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
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
    fn from(told: PermissionMode) -> Self {
        match told {
            PermissionMode::Ask => Self::Ask,
            PermissionMode::Allow => Self::Allow,
            PermissionMode::Refuse => Self::Refuse,
        }
    }
}

/// When the run is ended, come what may. Limits of the operator hold where these are wider.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunLimits {
    /// So long after it began, in milliseconds.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) wall_ms: Option<u64>,
    /// When the agent said nothing for so long, in milliseconds.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) silent_ms: Option<u64>,
    /// When it used so many tokens.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) tokens: Option<u64>,
    /// When it cost so many billionths of a dollar.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) nano_usd: Option<u64>,
}

/// How the agent works.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentParameters {
    /// The model, where it is not the agent's own choice.
    #[schema(pattern = r"^[!-~]{1,200}$")]
    pub(crate) model: Option<String>,
}

with_links! {
/// Messages for an agent. No field chooses a program, its arguments or its environment. What the work is for is in
/// `links`, or beside the other fields.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendMessages {
    /// What the outside world calls the conversation. It names the session, and loads nothing: the agent is told what
    /// `messages` say, and knows nothing else of the conversation unless `resume` asks for it. Blank is absent; then the
    /// header `siglum-conversation-id` names it, else the baggage member `session.id`, else the agent's own id does.
    #[schema(pattern = r"^(\s*|(?!.*\.\.)[A-Za-z0-9._:-]{1,128})$")]
    pub(crate) session_id: Option<String>,
    /// The agent. It may be left out where the session is there and has one.
    #[schema(value_type = Option<String>, pattern = r"^[a-z0-9-]{1,64}$")]
    pub(crate) agent: Option<AgentName>,
    /// All that the agent is told, whole and in order; one of them at least is the user's.
    #[schema(min_items = 1, max_items = 10_000)]
    pub(crate) messages: Vec<MessageInput>,
    /// Data that the messages speak of. The agent is told it as JSON, before the messages.
    #[schema(value_type = Option<Object>)]
    pub(crate) inputs: Option<Map<String, Value>>,
    /// How the agent works.
    pub(crate) parameters: Option<AgentParameters>,
    /// What the work is for; attached to the session.
    pub(crate) links: Option<LinkInput>,
    /// Where replies go, and what the run is called: see contexts.
    #[schema(pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    pub(crate) route_key: Option<String>,
    /// The run gets a session and a context of its own, and keeps its route. Needs `route_key`.
    pub(crate) isolated: Option<bool>,
    /// The agent goes on with its own newest session of this conversation. Refused where the log of the session is known
    /// to have a gap.
    pub(crate) resume: Option<bool>,
    /// What is done while another run of the session goes on; refused where nothing is said.
    pub(crate) if_busy: Option<IfBusy>,
    /// When the run is ended, come what may.
    pub(crate) limits: Option<RunLimits>,
    /// What is answered when the agent wants to be allowed something; where nothing is said, somebody is asked.
    pub(crate) permissions: Option<PermissionMode>,
    /// The directory it works in, within one that the operator named.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$")]
    pub(crate) cwd: Option<String>,
    /// What the turn is called: the same request with the same key is done once. The header `idempotency-key` says the
    /// same.
    #[schema(pattern = r"^[A-Za-z0-9._:-]{1,200}$")]
    pub(crate) key: Option<String>,
    /// What the AI SDK calls its chat. Left out of account, as `trigger` and `messageId`.
    #[serde(rename = "id")]
    pub(crate) _id: Option<String>,
    /// Why the AI SDK asks.
    #[serde(rename = "trigger")]
    pub(crate) _trigger: Option<String>,
    /// The message that the AI SDK wants again.
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

/// An answer to an interaction: one of its options, or whether it is allowed.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerInteraction {
    /// The id of an option.
    #[schema(min_length = 1, max_length = 512)]
    pub(crate) option: Option<String>,
    /// Whether it is allowed, this once where there is a choice.
    pub(crate) approved: Option<bool>,
}

/// A message that was said before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct PastMessage {
    /// Its id: of an answer that of its turn.
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn_id: Option<String>,
    /// Who said it.
    pub(crate) role: Role,
    /// What, without the calls of tools.
    pub(crate) content: String,
    #[schema(format = DateTime)]
    pub(crate) at: String,
}

/// What was said in a session: of its committed turns.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub(crate) struct MessagePage {
    /// In order; in the form that was asked for.
    #[schema(value_type = Vec<Object>)]
    pub(crate) messages: Vec<Value>,
    /// Give it as `before` to get what was said before; absent at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u64>,
    /// The turn that runs now, if one does: its stream tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) running: Option<String>,
}
