//! Builds the observations of one record.

use siglum_domain::Timestamp;
use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, StartKind, Tokens, event,
};
use siglum_domain::redact::{Redacted, Redactor};

use super::record::Record;
use super::tools;

/// A call of a tool, as one record tells it.
pub(super) struct Call<'a> {
    pub(super) id: &'a str,
    pub(super) tool: &'a str,
    pub(super) outcome: Outcome,
    /// How long it ran, in milliseconds.
    pub(super) duration: Option<u64>,
}

/// Collects what one record says.
pub(super) struct Teller<'a> {
    record: &'a Record<'a>,
    /// The turn that it is of, by the agent's own name.
    pub(super) turn: Option<String>,
    pub(super) subagent: Option<String>,
    observations: Vec<Observation>,
}

impl<'a> Teller<'a> {
    pub(super) const fn from_record(record: &'a Record<'a>) -> Self {
        Self {
            record,
            turn: None,
            subagent: None,
            observations: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Vec<Observation> {
        self.observations
    }

    fn say(&mut self, part: &str, event: String, at: Timestamp, fact: Fact) {
        let key = self.record.key();
        let key = if part.is_empty() {
            key
        } else {
            format!("{key}:{part}")
        };
        self.observations.push(Observation {
            source: Source::Telemetry,
            key,
            event,
            at,
            turn: self.turn.clone(),
            subagent: self.subagent.clone(),
            fact,
        });
    }

    /// What one answer of a model cost. Without the provider's id of it, nobody can tell it from what other sources say,
    /// and the record itself names it.
    pub(super) fn usage(&mut self, id: Option<&str>, model: Option<&str>, tokens: Option<Tokens>) {
        let Some(tokens) = tokens.filter(|tokens| *tokens != Tokens::default()) else {
            return;
        };
        let event = id.map_or_else(|| event::message(&self.record.key()), event::message);
        let fact = Fact::Message {
            role: Role::Assistant,
            text: Body::Text(Redacted::empty()),
            model: model.map(str::to_owned),
            tokens: Some(tokens),
            request: id.map(str::to_owned),
        };
        self.say("", event, self.record.end(), fact);
    }

    /// A call from its start to its end.
    pub(super) fn call(&mut self, call: &Call<'_>) {
        let class = tools::class(call.tool);
        let end = self.record.end();
        let start = match call.duration {
            Some(ms) if !self.record.is_span() => end.plus_millis(-i64::try_from(ms).unwrap_or(0)),
            _ => self.record.start(),
        };
        let started = Fact::ToolStarted {
            tool: call.tool.to_owned(),
            class,
            input: Body::Text(Redacted::empty()),
            path: None,
        };
        let ended = Fact::ToolEnded {
            tool: call.tool.to_owned(),
            class,
            outcome: call.outcome,
            output: None,
            duration_ms: call.duration,
        };
        self.say("start", event::tool(call.id), start, started);
        self.say("end", event::tool(call.id), end, ended);
    }

    /// A turn begins, and is the turn of what follows.
    pub(super) fn prompt(&mut self, turn: &str, text: &str, synthetic: Synthetic) {
        self.turn = Some(turn.to_owned());
        let fact = Fact::Prompt {
            text: body(text),
            synthetic: matches!(synthetic, Synthetic::Yes),
        };
        self.say("prompt", event::prompt(turn), self.record.start(), fact);
    }

    pub(super) fn stop(&mut self, turn: &str) {
        self.turn = Some(turn.to_owned());
        let fact = Fact::Stopped {
            last_message: None,
            background: Vec::new(),
            failure: None,
        };
        self.say("stop", event::stop(turn), self.record.end(), fact);
    }

    /// A sub-agent begins at the start of the record.
    pub(super) fn subagent_starts(&mut self, id: &str, kind: &str, call: Option<&str>) {
        let at = self.record.start();
        self.subagent_starts_at(id, kind, call, at);
    }

    /// A sub-agent began at some time.
    pub(super) fn subagent_starts_at(
        &mut self,
        id: &str,
        kind: &str,
        call: Option<&str>,
        at: Timestamp,
    ) {
        self.subagent = Some(id.to_owned());
        let fact = Fact::SubagentStarted {
            agent_type: kind.to_owned(),
            call: call.map(str::to_owned),
        };
        self.say("subagent", event::subagent(id), at, fact);
    }

    /// A sub-agent comes to its stop at the end of the record.
    pub(super) fn subagent_stops(&mut self, id: &str) {
        self.subagent = Some(id.to_owned());
        let fact = Fact::SubagentStopped { last_message: None };
        let at = self.record.end();
        self.say("subagent-end", event::subagent(id), at, fact);
    }

    pub(super) fn session_starts(&mut self) {
        let fact = Fact::SessionStarted {
            how: StartKind::Startup,
            model: None,
        };
        self.say("", self.record.key(), self.record.start(), fact);
    }

    pub(super) fn session_ends(&mut self, reason: &str) {
        let fact = Fact::SessionEnded {
            reason: reason.to_owned(),
        };
        self.say("", self.record.key(), self.record.start(), fact);
    }
}

/// Whether an agent wrote a prompt itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Synthetic {
    /// It did.
    Yes,
    /// Somebody asked.
    No,
}

/// The outcome that a yes or no stands for; what says nothing went well.
pub(super) const fn outcome(success: Option<bool>) -> Outcome {
    match success {
        Some(false) => Outcome::Failed,
        Some(true) | None => Outcome::Ok,
    }
}

fn body(text: &str) -> Body {
    Body::Text(Redactor::shared().redact(text))
}
