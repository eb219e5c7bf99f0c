//! What is said in a context: messages as a host hands them over, and as events of a turn.

use siglum_domain::digest::Hasher;
use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, Tokens, ToolClass, event,
};
use siglum_domain::redact::Redactor;
use siglum_domain::{Timestamp, TurnKey};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub spoken: Spoken,
    /// When; without this, when it is handed over.
    pub at: Option<Timestamp>,
}

/// What a message says, and who says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spoken {
    /// Somebody asks.
    User { text: String },
    /// The host says something in nobody's name.
    System { text: String },
    /// The agent answers.
    Assistant {
        text: String,
        model: Option<String>,
        tokens: Option<Tokens>,
    },
    /// A tool is called.
    Call {
        id: String,
        tool: String,
        input: String,
    },
    /// A tool returned.
    Result {
        /// The call.
        id: String,
        tool: String,
        output: String,
        outcome: Outcome,
    },
}

impl From<Spoken> for Message {
    fn from(spoken: Spoken) -> Self {
        Self { spoken, at: None }
    }
}

impl Spoken {
    /// Everything that a model reads of it.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::User { text } | Self::System { text } | Self::Assistant { text, .. } => text,
            Self::Call { input, .. } => input,
            Self::Result { output, .. } => output,
        }
    }

    /// What an event of a driven turn says; nothing where it is no message.
    pub(super) fn from_observation(observation: &Observation) -> Option<Self> {
        let body_text = |body: &Body| body.text().unwrap_or_default().to_owned();
        let call = || event::call_of(&observation.event).unwrap_or_default();
        if observation.source != Source::Api || observation.subagent.is_some() {
            return None;
        }
        match &observation.fact {
            Fact::Prompt {
                text,
                synthetic: true,
            } => Some(Self::System {
                text: body_text(text),
            }),
            Fact::Prompt { text, .. }
            | Fact::Message {
                role: Role::User,
                text,
                ..
            } => Some(Self::User {
                text: body_text(text),
            }),
            Fact::Message {
                role: Role::Assistant,
                text,
                model,
                tokens,
                ..
            } => Some(Self::Assistant {
                text: body_text(text),
                model: model.clone(),
                tokens: *tokens,
            }),
            Fact::ToolStarted { tool, input, .. } => Some(Self::Call {
                id: call().to_owned(),
                tool: tool.clone(),
                input: body_text(input),
            }),
            Fact::ToolEnded {
                tool,
                output,
                outcome,
                ..
            } => Some(Self::Result {
                id: call().to_owned(),
                tool: tool.clone(),
                output: output.as_ref().map(body_text).unwrap_or_default(),
                outcome: *outcome,
            }),
            _ => None,
        }
    }

    fn fact(&self, redactor: &Redactor) -> Fact {
        let body = |text: &str| Body::Text(redactor.redact(text));
        let plain = |text: &str| redactor.redact(text).into_string();
        match self {
            Self::User { text } => Fact::Prompt {
                text: body(text),
                synthetic: false,
            },
            Self::System { text } => Fact::Prompt {
                text: body(text),
                synthetic: true,
            },
            Self::Assistant {
                text,
                model,
                tokens,
            } => Fact::Message {
                role: Role::Assistant,
                text: body(text),
                model: model.as_deref().map(plain),
                tokens: *tokens,
                request: None,
            },
            Self::Call { tool, input, .. } => Fact::ToolStarted {
                tool: plain(tool),
                class: ToolClass::Other,
                input: body(input),
                path: None,
            },
            Self::Result {
                tool,
                output,
                outcome,
                ..
            } => Fact::ToolEnded {
                tool: plain(tool),
                class: ToolClass::Other,
                outcome: *outcome,
                output: Some(body(output)),
                duration_ms: None,
            },
        }
    }
}

/// What events of a turn are called by: its own key may be too long for that.
fn name_of(key: &TurnKey) -> String {
    let mut hasher = Hasher::new();
    hasher.field(key.as_str().as_bytes());
    hasher.hex()[..32].to_owned()
}

/// The messages of a turn as events, each named by its place in it: the same turn again is the same events.
pub(super) fn events(
    redactor: &Redactor,
    key: &TurnKey,
    messages: &[(usize, &Message)],
    now: Timestamp,
) -> Vec<Observation> {
    let name = name_of(key);
    let observed = |(place, message): &(usize, &Message)| {
        let own = format!("{name}:{place}");
        let event = match &message.spoken {
            Spoken::User { .. } | Spoken::System { .. } => event::prompt(&own),
            Spoken::Assistant { .. } => event::message(&own),
            Spoken::Call { id, .. } | Spoken::Result { id, .. } => {
                event::tool(&redactor.redact(id).into_string())
            }
        };
        api_observation(
            own,
            event,
            message.at.unwrap_or(now),
            message.spoken.fact(redactor),
        )
    };
    messages.iter().map(observed).collect()
}

/// The end of a turn.
pub(super) fn stop(key: &TurnKey, now: Timestamp) -> Observation {
    let fact = Fact::Stopped {
        last_message: None,
        background: Vec::new(),
        failure: None,
    };
    let name = name_of(key);
    api_observation(format!("{name}:stop"), event::stop(&name), now, fact)
}

/// What is left of what was said.
pub(super) fn summary(
    redactor: &Redactor,
    key: &TurnKey,
    (trigger, summary): (&str, &str),
    now: Timestamp,
) -> Observation {
    let fact = Fact::Compacted {
        trigger: redactor.redact(trigger).into_string(),
        summary: Some(Body::Text(redactor.redact(summary))),
    };
    let name = format!("compaction:{}", name_of(key));
    api_observation(name.clone(), name, now, fact)
}

fn api_observation(key: String, event: String, at: Timestamp, fact: Fact) -> Observation {
    Observation {
        source: Source::Api,
        key,
        event,
        at,
        turn: None,
        subagent: None,
        fact,
    }
}
