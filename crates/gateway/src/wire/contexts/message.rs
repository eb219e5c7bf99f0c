//! Messages of contexts.

use serde::{Deserialize, Serialize};
use siglum_domain::Timestamp;
use siglum_domain::observation::{Outcome, Tokens};
use siglum_engine::driven::context::{Message, Origin, Seen, Spoken};
use siglum_ledger::ContextTurnKind;

use crate::problem::Problem;
use crate::wire::{ToolOutcome, Usage};

/// A message. Text is redacted before it is stored.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ContextMessage {
    /// A prompt.
    User {
        text: String,
        #[cfg_attr(test, schema(format = DateTime))]
        at: Option<String>,
    },
    /// A message of the host itself.
    System {
        text: String,
        #[cfg_attr(test, schema(format = DateTime))]
        at: Option<String>,
    },
    /// A message of the agent.
    Assistant {
        text: String,
        #[cfg_attr(test, schema(min_length = 1, max_length = 256))]
        model: Option<String>,
        tokens: Option<Usage>,
        #[cfg_attr(test, schema(format = DateTime))]
        at: Option<String>,
    },
    /// A tool call.
    ToolCall {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        call: String,
        #[cfg_attr(test, schema(min_length = 1, max_length = 256))]
        tool: String,
        input: String,
        #[cfg_attr(test, schema(format = DateTime))]
        at: Option<String>,
    },
    /// A tool result.
    ToolResult {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        call: String,
        #[cfg_attr(test, schema(min_length = 1, max_length = 256))]
        tool: String,
        output: String,
        outcome: Option<ToolOutcome>,
        #[cfg_attr(test, schema(format = DateTime))]
        at: Option<String>,
    },
}

fn within(field: &str, text: &str) -> Result<String, Problem> {
    match (1..=256).contains(&text.chars().count()) {
        true => Ok(text.to_owned()),
        false => Err(Problem::invalid(field, "1 to 256 characters")),
    }
}

fn call_id(text: &str) -> Result<String, Problem> {
    let fits = (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    match fits {
        true => Ok(text.to_owned()),
        false => Err(Problem::invalid(
            "call",
            "1 to 128 printable ASCII characters without blanks",
        )),
    }
}

impl ContextMessage {
    /// The message, if it keeps to the rules.
    pub(crate) fn checked(&self) -> Result<Message, Problem> {
        let (spoken, at) = match self {
            Self::User { text, at } => (Spoken::User { text: text.clone() }, at),
            Self::System { text, at } => (Spoken::System { text: text.clone() }, at),
            Self::Assistant {
                text,
                model,
                tokens,
                at,
            } => {
                let model = model.as_deref().map(|m| within("model", m)).transpose()?;
                let spoken = Spoken::Assistant {
                    text: text.clone(),
                    model,
                    tokens: tokens.map(Tokens::from),
                };
                (spoken, at)
            }
            Self::ToolCall {
                call,
                tool,
                input,
                at,
            } => {
                let spoken = Spoken::Call {
                    id: call_id(call)?,
                    tool: within("tool", tool)?,
                    input: input.clone(),
                };
                (spoken, at)
            }
            Self::ToolResult {
                call,
                tool,
                output,
                outcome,
                at,
            } => {
                let spoken = Spoken::Result {
                    id: call_id(call)?,
                    tool: within("tool", tool)?,
                    output: output.clone(),
                    outcome: outcome.map_or(Outcome::Ok, Outcome::from),
                };
                (spoken, at)
            }
        };
        let at = at.as_deref().map(str::parse::<Timestamp>).transpose();
        let at = at.map_err(|_| Problem::invalid("at", "a time of RFC 3339"))?;
        Ok(Message { spoken, at })
    }
}

/// The messages of a request, in order.
pub(crate) fn messages(sent: &[ContextMessage]) -> Result<Vec<Message>, Problem> {
    let one = |(place, message): (usize, &ContextMessage)| {
        let checked = message.checked();
        checked.map_err(|p| p.within(&format!("messages.{place}")))
    };
    sent.iter().enumerate().map(one).collect()
}

/// Where a visible message comes from.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageOrigin {
    /// In the context itself.
    Own,
    /// In the one of `from`.
    Inherited,
    /// It is what compaction left of what was said in the one of `from`.
    Summary,
    /// In the turn that is open.
    Open,
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum MessageKind {
    User,
    System,
    Assistant,
    ToolCall,
    ToolResult,
}

/// A message as a run reads it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct VisibleMessage {
    #[serde(rename = "type")]
    kind: MessageKind,
    /// Text; for a tool call its input, for a tool result its output.
    text: String,
    /// The tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// How the call ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<ToolOutcome>,
    /// The model that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    origin: MessageOrigin,
    /// The context that it is inherited from or summarises.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The session whose log contains it.
    session: String,
    /// Its sequence in that log; 0 in an open turn.
    sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
    /// Whether it comes from a heartbeat.
    heartbeat: bool,
}

/// The origin as it is told, with the context that it names.
fn origin(origin: &Origin) -> (MessageOrigin, Option<String>) {
    match origin {
        Origin::Own => (MessageOrigin::Own, None),
        Origin::Open => (MessageOrigin::Open, None),
        Origin::Inherited { from } => (MessageOrigin::Inherited, Some(from.to_string())),
        Origin::Summary { of } => (MessageOrigin::Summary, Some(of.to_string())),
    }
}

impl From<&Seen> for VisibleMessage {
    fn from(seen: &Seen) -> Self {
        let (kind, call, tool, how, model) = match &seen.spoken {
            Spoken::User { .. } => (MessageKind::User, None, None, None, None),
            Spoken::System { .. } => (MessageKind::System, None, None, None, None),
            Spoken::Assistant { model, .. } => {
                (MessageKind::Assistant, None, None, None, model.clone())
            }
            Spoken::Call { id, tool, .. } => (
                MessageKind::ToolCall,
                Some(id.clone()),
                Some(tool.clone()),
                None,
                None,
            ),
            Spoken::Result {
                id,
                tool,
                outcome: how,
                ..
            } => (
                MessageKind::ToolResult,
                Some(id.clone()),
                Some(tool.clone()),
                Some(ToolOutcome::from(*how)),
                None,
            ),
        };
        let (origin, from) = origin(&seen.origin);
        Self {
            kind,
            text: seen.spoken.text().to_owned(),
            call,
            tool,
            outcome: how,
            model,
            origin,
            from,
            session: seen.session.to_string(),
            sequence: seen.sequence,
            turn: seen.turn.map(|turn| turn.to_string()),
            at: seen.at.to_string(),
            heartbeat: seen.kind == ContextTurnKind::Heartbeat,
        }
    }
}
