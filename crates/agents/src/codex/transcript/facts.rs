//! What is said and what it costs.

use siglum_domain::observation::{Body, Fact, Role, Tokens, event};
use siglum_domain::redact::Redacted;

use super::Reader;
use super::reader::{Reading, word};
use crate::codex::passage::content_text;
use crate::codex::prompt;
use crate::codex::wire::{Info, Usage};
use crate::json::Field;

/// Longest prompt or summary that is kept in the observation, in bytes.
const PROMPT_INLINE: usize = 4 * 1024;

impl Reader {
    /// A prompt: of the person, or of the agent to its sub-agent.
    pub(super) fn prompt(&mut self, line: &mut Reading<'_, '_>, kind: &str, content: Field<'_>) {
        let text = content_text(content).unwrap_or_default();
        let digest = blake3::hash(text.as_bytes());
        let again = |(by, known): &(String, blake3::Hash)| by != kind && *known == digest;
        if self.prompted.as_ref().is_some_and(again) {
            self.prompted = None;
            return;
        }
        self.prompted = Some((kind.to_owned(), digest));
        let id = match kind {
            "UserMessage" => line.payload.item.object::<super::items::Named<'_>>().id,
            _ => Field::default(),
        };
        let key = self.key(line, id);
        let body = self.body(line, &text, PROMPT_INLINE);
        if self.subagent.is_some() {
            let fact = Fact::Message {
                role: Role::User,
                text: body,
                model: None,
                tokens: None,
                request: None,
            };
            return self.push(
                line,
                self.last_at,
                (key.clone(), event::message(&key)),
                fact,
            );
        }
        let turn = self.turn_of(&line.payload);
        let event = event::prompt(turn.as_deref().unwrap_or(&key));
        let fact = Fact::Prompt {
            text: body,
            synthetic: prompt::is_synthetic(&text),
        };
        self.push(line, self.last_at, (key, event), fact);
    }

    /// A message of the model. What it was told is no prompt: that is told as an event.
    pub(super) fn message(&mut self, line: &mut Reading<'_, '_>) {
        let payload = line.payload;
        let by_model = payload.role.text().as_deref() == Some("assistant");
        let says = content_text(payload.content).is_some_and(|text| !text.is_empty());
        if !by_model || !says {
            return;
        }
        self.prompted = None;
        let key = self.key(line, payload.id);
        let text = self.passage(line);
        let fact = Fact::Message {
            role: Role::Assistant,
            text,
            model: self.model.clone(),
            tokens: None,
            request: None,
        };
        self.push(
            line,
            self.last_at,
            (key.clone(), event::message(&key)),
            fact,
        );
    }

    /// A turn is over. One that was broken off is, too: its hook tells it as a stop.
    pub(super) fn stopped(&self, line: &mut Reading<'_, '_>) {
        let key = format!("{}@{}", self.stream, line.offset);
        let (event, fact) = match &self.subagent {
            Some(agent) => {
                let last_message = None;
                let fact = Fact::SubagentStopped { last_message };
                (event::subagent(agent), fact)
            }
            None => {
                let turn = self.turn_of(&line.payload);
                let event = turn.map_or_else(|| key.clone(), |turn| event::stop(&turn));
                // The last words have a line of their own.
                let fact = Fact::Stopped {
                    last_message: None,
                    background: Vec::new(),
                    failure: None,
                };
                (event, fact)
            }
        };
        self.push(line, self.last_at, (key, event), fact);
    }

    /// What older versions say of the cost.
    pub(super) fn counted(&mut self, line: &mut Reading<'_, '_>) {
        let info: Info<'_> = line.payload.info.object();
        self.used(line, info.total, info.last);
    }

    /// What one answer of the model cost. Two lines tell it, or more: it is named by the sum of the
    /// thread, which is the same in all of them.
    pub(super) fn used(&mut self, line: &mut Reading<'_, '_>, total: Field<'_>, usage: Field<'_>) {
        let total: Usage<'_> = total.object();
        let usage: Usage<'_> = usage.object();
        let (Some(total), Some(own)) = (total.total.number(), usage.total.number()) else {
            return;
        };
        let tokens = tokens(&usage);
        if tokens == Tokens::default() {
            return;
        }
        let thread = self.subagent.as_deref().unwrap_or(self.session.as_str());
        let key = format!("tokens:{thread}:{total}:{own}");
        let fact = Fact::Message {
            role: Role::Assistant,
            text: Body::Text(Redacted::empty()),
            model: self.model.clone(),
            tokens: Some(tokens),
            request: word(line.payload.response_id),
        };
        self.push(
            line,
            self.last_at,
            (key.clone(), event::message(&key)),
            fact,
        );
    }

    pub(super) fn compacted(&mut self, line: &mut Reading<'_, '_>) {
        let text = line.payload.message.text().unwrap_or_default().into_owned();
        let key = format!("{}@{}", self.stream, line.offset);
        let event = event::compaction(self.turn_of(&line.payload).as_deref().unwrap_or(&key));
        let summary = (!text.is_empty()).then(|| self.body(line, &text, PROMPT_INLINE));
        let fact = Fact::Compacted {
            trigger: String::new(),
            summary,
        };
        self.push(line, self.last_at, (key, event), fact);
    }
}

/// The provider counts what came from the cache as input, too.
fn tokens(usage: &Usage<'_>) -> Tokens {
    let number = |field: Field<'_>| field.number().unwrap_or(0);
    let (cache_read, cache_write) = (number(usage.cached), number(usage.cache_write));
    Tokens {
        input: number(usage.input)
            .saturating_sub(cache_read)
            .saturating_sub(cache_write),
        output: number(usage.output),
        cache_read,
        cache_write,
    }
}
