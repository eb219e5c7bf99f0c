//! What happens in a run, as it is told to those who follow it, and as it is stored for those who follow it at another
//! gateway.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use siglum_domain::context::Keys;
use siglum_domain::observation::{Outcome, Tokens, ToolClass};
use siglum_domain::trace::TraceId;
use siglum_domain::{ConversationId, InteractionId, NativeId, SessionId, Timestamp, TurnId};

use super::NameSource;
use crate::problem_codes::code_of_a_run;

/// One thing that happened in a run. Texts are redacted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) session: SessionId,
    /// What the outside world calls it.
    pub(crate) conversation: ConversationId,
    pub(crate) named_by: NameSource,
    /// What the agent calls it.
    pub(crate) native: Option<NativeId>,
    pub(crate) turn: TurnId,
    /// The trace of the turn: that of whoever asked, where they were traced.
    #[serde(with = "hex")]
    pub(crate) trace: TraceId,
    pub(crate) keys: Option<Keys>,
    /// Whether the agent's own session had more than is committed, or is not to be found here, so that it began another one.
    pub(crate) diverged: bool,
    pub(crate) at: Timestamp,
}

/// An option of an interaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Choice {
    /// Id to answer with.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: ChoiceKind,
}

/// What an answer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) tokens: Tokens,
    /// The model, where it is told.
    pub(crate) model: Option<String>,
    /// Cost in billionths of a US dollar, if the price is known.
    pub(crate) nano_usd: Option<u64>,
}

/// A run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) status: Status,
    /// What the agent said last: its answer.
    pub(crate) text: String,
    pub(crate) usage: Usage,
    pub(crate) error: Option<RunError>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// A word of the list of codes. Under this name nothing that is read has to live as long.
type Code = &'static str;

/// An error of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunError {
    /// Stable code for programs.
    #[serde(deserialize_with = "known_code")]
    pub(crate) code: Code,
    /// For people, redacted.
    pub(crate) text: String,
}

fn known_code<'de, D: Deserializer<'de>>(reader: D) -> Result<Code, D::Error> {
    Ok(code_of_a_run(&String::deserialize(reader)?))
}

/// A trace as text.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use siglum_domain::trace::TraceId;

    pub(super) fn serialize<S: Serializer>(id: &TraceId, writer: S) -> Result<S::Ok, S::Error> {
        writer.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<TraceId, D::Error> {
        String::deserialize(reader)?
            .parse()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_of_an_event_is_read_as_it_was() {
        let turn: TurnId = format!("trn_{:032x}", 3).parse().unwrap();
        let id: InteractionId = format!("int_{:032x}", 4).parse().unwrap();
        let started = Started {
            session: format!("ses_{:032x}", 2).parse().unwrap(),
            conversation: ConversationId::new("c-1").unwrap(),
            named_by: NameSource::Body,
            native: None,
            turn,
            trace: TraceId::of_turn(turn),
            keys: Some(Keys::shared(
                siglum_domain::context::RouteKey::new("r").unwrap(),
            )),
            diverged: true,
            at: Timestamp::from_nanos(7),
        };
        let events = vec![
            RunEvent::Started(started),
            RunEvent::ToolCall {
                id: "c1".to_owned(),
                name: "Bash".to_owned(),
                title: String::new(),
                class: ToolClass::Shell,
                input: serde_json::json!({ "command": "x" }),
            },
            RunEvent::Interaction {
                id,
                title: "May I?".to_owned(),
                call: None,
                options: vec![Choice {
                    id: "yes".to_owned(),
                    name: "Yes".to_owned(),
                    kind: ChoiceKind::AllowOnce,
                }],
            },
            RunEvent::Finished(Finished {
                status: Status::Failed,
                text: String::new(),
                usage: Usage::default(),
                error: Some(RunError {
                    code: NOT_COMMITTED,
                    text: "why".to_owned(),
                }),
            }),
        ];
        let stored = serde_json::to_string(&events).unwrap();
        let read: Vec<RunEvent> = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, events);
    }

    #[test]
    fn a_code_that_nobody_knows_here_is_that_of_a_run_that_ended() {
        let error = r#"{"code":"of-another-version","text":"why"}"#;
        let read: RunError = serde_json::from_str(error).unwrap();
        assert_eq!(read.code, "run-ended");
    }
}
