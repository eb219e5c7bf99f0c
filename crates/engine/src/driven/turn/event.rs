//! What a driver says: the constructors take raw text and redact it.

use siglum_domain::Timestamp;
use siglum_domain::digest::Hasher;
use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, Tokens, ToolClass, event,
};
use siglum_domain::redact::Redactor;
use siglum_domain::trace::TraceParent;

/// One thing that happened in a turn.
///
/// Its key names it in the session for good: the same one twice is there once, and one that says something else is
/// refused. 1 to 200 characters without blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    key: String,
    event: String,
    at: Option<Timestamp>,
    subagent: Option<String>,
    fact: Fact,
}

impl Event {
    /// Somebody prompted.
    #[must_use]
    pub fn prompt(key: &str, text: &str) -> Self {
        let (text, synthetic) = (body(text), false);
        let event = event::prompt(key);
        Self::new(event.clone(), event, Fact::Prompt { text, synthetic })
    }

    /// The agent wrote a message.
    #[must_use]
    pub fn message(key: &str, text: &str) -> Self {
        let event = event::message(key);
        let fact = Fact::Message {
            role: Role::Assistant,
            text: body(text),
            model: None,
            tokens: None,
            request: None,
        };
        Self::new(event.clone(), event, fact)
    }

    /// Whoever asked for the turn of this key was being traced: its trace is a part of theirs. Of several, the first
    /// one counts.
    #[must_use]
    pub fn traced(turn_key: &str, parent: TraceParent) -> Self {
        let mut hasher = Hasher::new();
        hasher.field(turn_key.as_bytes());
        hasher.field(parent.to_string().as_bytes());
        let key = format!("traced:{}", hasher.hex());
        Self::new(key.clone(), key, Fact::Traced { parent })
    }

    /// A tool is about to be called. To be said before it is: a driver that dies between call and result leaves a
    /// turn that waits for a decision, since nobody knows whether the tool did its work.
    #[must_use]
    pub fn tool_call(call: &str, tool: &str, input: &str) -> Self {
        let fact = Fact::ToolStarted {
            tool: tool.to_owned(),
            class: ToolClass::Other,
            input: body(input),
            path: None,
        };
        Self::new(format!("call:{call}"), event::tool(call), fact)
    }

    /// A tool returned.
    #[must_use]
    pub fn tool_result(call: &str, tool: &str, output: &str) -> Self {
        let fact = Fact::ToolEnded {
            tool: tool.to_owned(),
            class: ToolClass::Other,
            outcome: Outcome::Ok,
            output: Some(body(output)),
            duration_ms: None,
        };
        Self::new(format!("result:{call}"), event::tool(call), fact)
    }

    /// The turn came to its stop; `key` is that of its prompt. A turn that has one is whole: it is committed even if
    /// its driver dies first.
    #[must_use]
    pub fn stop(key: &str) -> Self {
        let event = event::stop(key);
        let fact = Fact::Stopped {
            last_message: None,
            background: Vec::new(),
            failure: None,
        };
        Self::new(event.clone(), event, fact)
    }

    /// The context was compacted: what is left of it. [`context`](super::context) begins with it.
    #[must_use]
    pub fn compaction(key: &str, summary: &str) -> Self {
        let fact = Fact::Compacted {
            trigger: "driver".to_owned(),
            summary: Some(body(summary)),
        };
        let event = format!("compaction:{key}");
        Self::new(event.clone(), event, fact)
    }

    /// A sub-agent began, of this kind, by the call that started it.
    #[must_use]
    pub fn subagent_started(id: &str, agent_type: &str, call: &str) -> Self {
        let kind = Redactor::shared().redact(agent_type).into_string();
        let fact = Fact::SubagentStarted {
            agent_type: kind,
            call: Some(call.to_owned()),
        };
        let event = event::subagent(id);
        Self::new(format!("{event}:start"), event, fact).in_subagent(id)
    }

    /// A sub-agent came to its stop.
    #[must_use]
    pub fn subagent_stopped(id: &str) -> Self {
        let fact = Fact::SubagentStopped { last_message: None };
        let event = event::subagent(id);
        Self::new(format!("{event}:stop"), event, fact).in_subagent(id)
    }

    /// Something that there is no word for here, by the runtime's own name.
    #[must_use]
    pub fn other(key: &str, name: &str) -> Self {
        let event = format!("other:{key}");
        let name = Redactor::shared().redact(name).into_string();
        Self::new(event.clone(), event, Fact::Other { name })
    }

    fn new(key: String, event: String, fact: Fact) -> Self {
        Self {
            key,
            event,
            at: None,
            subagent: None,
            fact,
        }
    }

    /// When it happened; without this, when it is said.
    #[must_use]
    pub const fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// The sub-agent that it happened in, by its id.
    #[must_use]
    pub fn in_subagent(mut self, id: &str) -> Self {
        self.subagent = Some(id.to_owned());
        self
    }

    /// The agent wrote the prompt itself, such as a note that a task has ended.
    #[must_use]
    pub const fn synthetic(mut self) -> Self {
        if let Fact::Prompt { synthetic, .. } = &mut self.fact {
            *synthetic = true;
        }
        self
    }

    /// The model that wrote a message.
    #[must_use]
    pub fn model(mut self, name: &str) -> Self {
        if let Fact::Message { model, .. } = &mut self.fact {
            *model = Some(Redactor::shared().redact(name).into_string());
        }
        self
    }

    /// What a message cost.
    #[must_use]
    pub const fn usage(mut self, used: Tokens) -> Self {
        if let Fact::Message { tokens, .. } = &mut self.fact {
            *tokens = Some(used);
        }
        self
    }

    /// What the tool of a call or a result does.
    #[must_use]
    pub const fn class(mut self, of: ToolClass) -> Self {
        if let Fact::ToolStarted { class, .. } | Fact::ToolEnded { class, .. } = &mut self.fact {
            *class = of;
        }
        self
    }

    /// How a call ended, where it was not well.
    #[must_use]
    pub const fn outcome(mut self, how: Outcome) -> Self {
        if let Fact::ToolEnded { outcome, .. } = &mut self.fact {
            *outcome = how;
        }
        self
    }

    /// The last words of the agent, with its stop.
    #[must_use]
    pub fn last_words(mut self, text: &str) -> Self {
        if let Fact::Stopped { last_message, .. } = &mut self.fact {
            *last_message = Some(body(text));
        }
        self
    }

    /// As it is said at `now`, unless it says otherwise.
    #[must_use]
    pub fn observed(self, now: Timestamp) -> Observation {
        let mut observation = Observation {
            source: Source::Api,
            key: self.key,
            event: self.event,
            at: self.at.unwrap_or(now),
            turn: None,
            subagent: self.subagent,
            fact: self.fact,
        };
        observation.redact_names(Redactor::shared());
        observation
    }
}

fn body(raw: &str) -> Body {
    Body::Text(Redactor::shared().redact(raw))
}
