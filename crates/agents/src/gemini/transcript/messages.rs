//! What one message says, or one update.

use siglum_domain::observation::{Body, Fact, Role, Tokens, event};
use siglum_domain::redact::{Redacted, Redactor};

use super::Reader;
use super::calls::{self, Out, Seen};
use super::document::inline;
use crate::draft::word;
use crate::gemini::passage::{content_text, summary};
use crate::gemini::wire::{Line, Usage};
use crate::json::Field;

/// Longest prompt that is kept in the observation, in bytes.
const PROMPT_INLINE: usize = 4 * 1024;
/// Openings of messages that the agent puts before a conversation.
const CONTEXT: &[&str] = &["<session_context>", "This is the Gemini CLI."];
/// Openings of prompts that the agent writes itself.
const SYNTHETIC: &[&str] = &["Please continue.", "System: ", "<state_snapshot>"];

pub(super) fn read(reader: &mut Reader, offset: u64, line: &Line<'_>, redactor: &Redactor) -> Out {
    let id = line.id.text().map(|id| word(&id)).unwrap_or_default();
    let mut out = Out::default();
    match line.kind.text().as_deref() {
        _ if line.set.raw().is_some() => out
            .seen
            .extend(compacted(reader, offset, line.set, redactor)),
        _ if id.is_empty() => {}
        Some("user") => out.seen.extend(user(reader, offset, &id, line, redactor)),
        Some("gemini") => {
            out.seen
                .extend(assistant_message(reader, offset, &id, line, redactor));
            calls::read(reader, offset, line, redactor, &mut out);
        }
        _ => {}
    }
    out
}

/// A message in the person's name: a prompt, what is said to a sub-agent, or results of tools.
fn user(
    reader: &mut Reader,
    offset: u64,
    id: &str,
    line: &Line<'_>,
    redactor: &Redactor,
) -> Option<Seen> {
    let text = content_text(line.content)?;
    if CONTEXT.iter().any(|opening| text.starts_with(opening)) {
        return None;
    }
    let body = if text.len() <= PROMPT_INLINE {
        Body::Text(redactor.redact(&text))
    } else {
        reader.body(offset, &text, redactor)
    };
    if reader.subagent.is_some() {
        return Some(Seen {
            key: id.to_owned(),
            event: event::message(id),
            at: reader.last_at,
            subagent: None,
            fact: Fact::Message {
                role: Role::User,
                text: body,
                model: None,
                tokens: None,
                request: None,
            },
        });
    }
    reader.turn = Some(id.to_owned());
    Some(Seen {
        key: event::prompt(id),
        event: event::prompt(id),
        at: reader.last_at,
        subagent: None,
        fact: Fact::Prompt {
            text: body,
            synthetic: SYNTHETIC.iter().any(|opening| text.starts_with(opening)),
        },
    })
}

/// The text and the cost of a message. It is written again with what became of its calls; its cost
/// may be told later.
fn assistant_message(
    reader: &mut Reader,
    offset: u64,
    id: &str,
    line: &Line<'_>,
    redactor: &Redactor,
) -> Option<Seen> {
    let tokens = line.tokens.raw().map(|_| tokens(line.tokens.object()));
    let again = match &reader.last_message {
        Some((before, cost)) if before == id => {
            if tokens.is_none() || *cost == tokens {
                return None;
            }
            true
        }
        _ => false,
    };
    reader.last_message = Some((id.to_owned(), tokens));
    let text = content_text(line.content).filter(|_| !again);
    if text.is_none() && tokens.is_none() {
        return None;
    }
    let cost = tokens.map_or(0, |t| t.input + t.output);
    Some(Seen {
        key: if again {
            format!("{id}#{cost}")
        } else {
            id.to_owned()
        },
        event: event::message(id),
        at: reader.last_at,
        subagent: None,
        fact: Fact::Message {
            role: Role::Assistant,
            text: match text {
                None => Body::Text(Redacted::empty()),
                // The text of a line with calls is what they returned.
                Some(text) if line.calls.raw().is_some() => inline(&text, redactor),
                Some(text) => reader.body(offset, &text, redactor),
            },
            model: line.model.text().map(|model| word(&model)),
            tokens,
            request: None,
        },
    })
}

/// What is told as read holds what came from the cache, too; thoughts are written.
fn tokens(usage: Usage<'_>) -> Tokens {
    let number = |field: Field<'_>| field.number().unwrap_or(0);
    let cached = number(usage.cached);
    let input = number(usage.input).saturating_sub(cached);
    Tokens {
        input: input.saturating_add(number(usage.tool)),
        output: number(usage.output).saturating_add(number(usage.thoughts)),
        cache_read: cached,
        cache_write: 0,
    }
}

/// An update that puts a summary in the place of the conversation.
fn compacted(
    reader: &mut Reader,
    offset: u64,
    set: Field<'_>,
    redactor: &Redactor,
) -> Option<Seen> {
    let (summary, _) = summary(set)?;
    let id = word(&summary.id.text()?);
    let at = summary.timestamp.text().and_then(|text| text.parse().ok());
    reader.last_at = at.unwrap_or(reader.last_at);
    let text = content_text(summary.content).unwrap_or_default();
    Some(Seen {
        key: format!("compact:{id}"),
        event: format!("compact:{id}"),
        at: reader.last_at,
        subagent: None,
        fact: Fact::Compacted {
            trigger: String::new(),
            summary: Some(reader.body(offset, &text, redactor)),
        },
    })
}
