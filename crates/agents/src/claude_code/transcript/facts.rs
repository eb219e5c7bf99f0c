//! What one line says.

use siglum_domain::NativeId;
use siglum_domain::observation::{Body, Fact, Outcome, Role, Tokens, ToolClass, event};
use siglum_domain::redact::{Redacted, Redactor};

use super::Reader;
use super::calls::{Owner, Purpose};
use crate::claude_code::wire::{Block, Compact, Line, Message, Spawned, ToolInput, Usage};
use crate::claude_code::{prompt, tools};
use crate::json::Field;
use crate::paths;
use crate::summary;

/// Longest prompt that is kept in the observation, in bytes.
const PROMPT_INLINE: usize = 4 * 1024;
/// What the agent calls messages that no model wrote.
const NO_MODEL: &str = "<synthetic>";

/// A fact, before it is known whose it is.
pub(super) struct Seen {
    pub(super) key: String,
    pub(super) event: String,
    pub(super) fact: Fact,
    /// The sub-agent that it is about, where that is not the one whose transcript this is.
    pub(super) subagent: Option<String>,
    /// Of a call: what its result is looked at for.
    pub(super) purpose: Option<Purpose>,
}

/// Tells whether a fact means the same in a copy of the line: it is named by an id that copying
/// keeps.
pub(super) fn survives_copying(fact: &Fact) -> bool {
    !matches!(fact, Fact::Prompt { .. } | Fact::Compacted { .. })
}

impl Reader {
    fn passage(&self, offset: u64) -> Body {
        Body::Passage {
            stream: self.stream.clone(),
            offset,
        }
    }

    fn key(&self, offset: u64, line: &Line<'_>) -> String {
        let uuid = line
            .uuid
            .text()
            .filter(|uuid| !uuid.is_empty() && uuid.len() <= 128);
        uuid.map_or_else(|| format!("{}@{offset}", self.stream), |uuid| clean(&uuid))
    }
}

/// A line of the person, or of whoever stands in: a prompt, or results of tools.
pub(super) fn user(
    reader: &mut Reader,
    offset: u64,
    line: &Line<'_>,
    redactor: &Redactor,
) -> Vec<Seen> {
    let message: Message<'_> = line.message.object();
    let key = reader.key(offset, line);
    if line.summary.is_true() {
        return vec![compacted(reader, offset, line, key)];
    }
    let blocks: Vec<Block<'_>> = message
        .content
        .items()
        .into_iter()
        .map(Field::object)
        .collect();
    let mut results: Vec<Seen> = blocks
        .iter()
        .enumerate()
        .filter_map(|(i, b)| result(reader, offset, &key, i, b))
        .collect();
    if !results.is_empty() || line.meta.is_true() {
        results.extend(spawned(&key, line, &results));
        return results;
    }
    let text = match message.content.text() {
        Some(text) => text.into_owned(),
        None => blocks
            .iter()
            .filter_map(|b| b.text.text())
            .collect::<Vec<_>>()
            .join("\n"),
    };
    if prompt::is_echo(&text) || (text.is_empty() && blocks.is_empty()) {
        return Vec::new();
    }
    vec![prompted(reader, offset, line, key, &text, redactor)]
}

fn prompted(
    reader: &Reader,
    offset: u64,
    line: &Line<'_>,
    key: String,
    text: &str,
    redactor: &Redactor,
) -> Seen {
    let small = !text.is_empty() && text.len() <= PROMPT_INLINE;
    let body = if small {
        Body::Text(redactor.redact(text))
    } else {
        reader.passage(offset)
    };
    let inner = line.sidechain.is_true() || line.agent_id.raw().is_some();
    if inner {
        let fact = Fact::Message {
            role: Role::User,
            text: body,
            model: None,
            tokens: None,
            request: None,
        };
        return Seen {
            event: event::message(&key),
            key,
            fact,
            subagent: None,
            purpose: None,
        };
    }
    let by_agent = line.prompt_source.text().as_deref() == Some("system");
    let event = line
        .prompt_id
        .text()
        .map_or_else(|| event::prompt(&key), |turn| event::prompt(&clean(&turn)));
    Seen {
        key,
        event,
        fact: Fact::Prompt {
            text: body,
            synthetic: by_agent || prompt::is_synthetic(text),
        },
        subagent: None,
        purpose: None,
    }
}

/// The sub-agent that the one result in a line is about. Results of other tools may name one, too; only that of the
/// tool that starts it repeats what it was asked.
fn spawned(key: &str, line: &Line<'_>, results: &[Seen]) -> Option<Seen> {
    let [result] = results else {
        return None;
    };
    let call = event::call_of(&result.event)?;
    let spawn: Spawned<'_> = line.result.object();
    let agent = spawn.agent_id.text().filter(|_| spawn.prompt.is_string())?;
    let agent = NativeId::new(agent).ok()?.as_str().to_owned();
    let agent_type = spawn.agent_type.text().unwrap_or_default();
    Some(Seen {
        key: format!("{key}#agent"),
        event: event::subagent(&agent),
        fact: Fact::SubagentStarted {
            agent_type: clean(&agent_type),
            call: Some(call.to_owned()),
        },
        subagent: Some(agent),
        purpose: None,
    })
}

fn result(
    reader: &Reader,
    offset: u64,
    key: &str,
    index: usize,
    block: &Block<'_>,
) -> Option<Seen> {
    if block.kind.text().as_deref() != Some("tool_result") {
        return None;
    }
    let call = block.tool_use_id.text()?;
    let fact = Fact::ToolEnded {
        tool: String::new(),
        class: ToolClass::Other,
        outcome: if block.is_error.is_true() {
            Outcome::Failed
        } else {
            Outcome::Ok
        },
        output: Some(reader.passage(offset)),
        duration_ms: None,
    };
    Some(Seen {
        key: format!("{key}#{index}"),
        event: event::tool(&clean(&call)),
        fact,
        subagent: None,
        purpose: None,
    })
}

fn compacted(reader: &mut Reader, offset: u64, line: &Line<'_>, key: String) -> Seen {
    let trigger = reader.compacted_by.take().unwrap_or_default();
    let event = line.prompt_id.text().map_or_else(
        || event::compaction(&key),
        |turn| event::compaction(&clean(&turn)),
    );
    Seen {
        key,
        event,
        fact: Fact::Compacted {
            trigger,
            summary: Some(reader.passage(offset)),
        },
        subagent: None,
        purpose: None,
    }
}

/// A line of the agent's own: only what the next summary is about.
pub(super) fn system(reader: &mut Reader, line: &Line<'_>) {
    if line.subtype.text().as_deref() == Some("compact_boundary") {
        let compact: Compact<'_> = line.compact.object();
        reader.compacted_by = compact.trigger.text().map(|trigger| clean(&trigger));
    }
}

/// A line of the assistant: a part of one message of the provider.
pub(super) fn assistant(
    reader: &mut Reader,
    offset: u64,
    line: &Line<'_>,
    redactor: &Redactor,
) -> Vec<Seen> {
    let message: Message<'_> = line.message.object();
    let key = reader.key(offset, line);
    let blocks: Vec<Block<'_>> = message
        .content
        .items()
        .into_iter()
        .map(Field::object)
        .collect();
    let request = line.request.text().filter(|id| !id.is_empty());
    let request = request.map(|id| clean(&id));
    let mut seen: Vec<Seen> = assistant_message(reader, offset, (&key, request), &message, &blocks)
        .into_iter()
        .collect();
    let calls = blocks
        .iter()
        .enumerate()
        .filter_map(|(i, b)| called(reader, offset, &key, i, b, redactor));
    seen.extend(calls);
    seen
}

/// The text and the cost of a message. Its lines repeat the cost, which may grow; a line without
/// text tells it only if it is news.
fn assistant_message(
    reader: &mut Reader,
    offset: u64,
    (key, request): (&str, Option<String>),
    message: &Message<'_>,
    blocks: &[Block<'_>],
) -> Option<Seen> {
    let written = |b: &Block<'_>| {
        b.kind.text().as_deref() == Some("text") && b.text.raw().is_some_and(|t| t.len() > 2)
    };
    let texts = blocks.iter().any(written);
    let model = model(message);
    let usage = message.usage.raw().filter(|_| model.is_some());
    let tokens = usage.map(|_| tokens(message.usage.object()));
    let id = message
        .id
        .text()
        .map_or_else(|| key.to_owned(), |id| clean(&id));
    let news = tokens.is_some_and(|t| reader.counted.as_ref() != Some(&(id.clone(), t)));
    if let Some(tokens) = tokens {
        reader.counted = Some((id.clone(), tokens));
    }
    if !texts && !news {
        return None;
    }
    let text = if texts {
        reader.passage(offset)
    } else {
        Body::Text(Redacted::empty())
    };
    let fact = Fact::Message {
        role: Role::Assistant,
        text,
        model,
        tokens,
        request,
    };
    Some(Seen {
        key: key.to_owned(),
        event: event::message(&id),
        fact,
        subagent: None,
        purpose: None,
    })
}

/// The stop that a line tells of: the model is done, and calls nothing. A message that was cut is none, since the agent
/// lets the model go on; nor is one of a copy, whose turn is not known.
pub(super) fn stopped(
    reader: &Reader,
    owner: &Owner,
    offset: u64,
    line: &Line<'_>,
) -> Option<Seen> {
    let message: Message<'_> = line.message.object();
    let reason = message.stop_reason.text()?;
    let done = matches!(&*reason, "end_turn" | "stop_sequence" | "refusal");
    let calls = |block: Field<'_>| {
        let block: Block<'_> = block.object();
        block.kind.text().as_deref() == Some("tool_use")
    };
    if owner.copied || !done || message.content.items().into_iter().any(calls) {
        return None;
    }
    let key = format!("{}#stop", reader.key(offset, line));
    let (event, fact) = match reader.subagent_of(line) {
        Some(agent) => {
            let last_message = None;
            let fact = Fact::SubagentStopped { last_message };
            (event::subagent(&agent), fact)
        }
        None if line.sidechain.is_true() => return None,
        None => {
            let turn = reader.turn_of(owner);
            let event = turn.map_or_else(|| key.clone(), |turn| event::stop(&turn));
            // The last words are told as a message.
            let fact = Fact::Stopped {
                last_message: None,
                background: Vec::new(),
                failure: None,
            };
            (event, fact)
        }
    };
    Some(Seen {
        key,
        event,
        fact,
        subagent: None,
        purpose: None,
    })
}

fn model(message: &Message<'_>) -> Option<String> {
    let model = message.model.text().filter(|model| model != NO_MODEL);
    model.map(|model| clean(&model))
}

fn tokens(usage: Usage<'_>) -> Tokens {
    Tokens {
        input: usage.input.number().unwrap_or(0),
        output: usage.output.number().unwrap_or(0),
        cache_read: usage.cache_read.number().unwrap_or(0),
        cache_write: usage.cache_write.number().unwrap_or(0),
    }
}

fn called(
    reader: &Reader,
    offset: u64,
    key: &str,
    index: usize,
    block: &Block<'_>,
    redactor: &Redactor,
) -> Option<Seen> {
    if block.kind.text().as_deref() != Some("tool_use") {
        return None;
    }
    let call = block.id.text()?;
    let tool = block
        .name
        .text()
        .map(|name| clean(&name))
        .unwrap_or_default();
    let class = tools::class(&tool);
    let command = Some(class)
        .filter(|class| *class == ToolClass::Shell)
        .and_then(|_| block.input.object::<ToolInput<'_>>().command.text());
    let purpose = Some(Purpose::for_tool(&tool, command.as_deref()));
    let input = match class {
        ToolClass::Shell => shell_input(reader, offset, command.as_deref(), redactor),
        _ => Body::Text(redactor.redact(&tools::summary(class, block.input))),
    };
    let path = edited(reader, class, block.input, redactor);
    let fact = Fact::ToolStarted {
        tool,
        class,
        input,
        path,
    };
    Some(Seen {
        key: format!("{key}#{index}"),
        event: event::tool(&clean(&call)),
        fact,
        subagent: None,
        purpose,
    })
}

/// The file that an edit names, where the worktree is known.
fn edited(
    reader: &Reader,
    class: ToolClass,
    input: Field<'_>,
    redactor: &Redactor,
) -> Option<String> {
    let root = reader
        .worktree
        .as_deref()
        .filter(|_| class == ToolClass::Edit)?;
    let path = paths::relative(&tools::edited(input, None)?, Some(root));
    Some(redactor.redact_cow(&path.to_string_lossy()).into_owned())
}

fn shell_input(reader: &Reader, offset: u64, command: Option<&str>, redactor: &Redactor) -> Body {
    match command.filter(|text| summary::is_kept(text)) {
        Some(text) => Body::Text(redactor.redact(text)),
        None => reader.passage(offset),
    }
}

/// A word from outside: short, and without control characters.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}
