//! What one event says.

use std::path::PathBuf;

use siglum_domain::Timestamp;
use siglum_domain::observation::{Body, Fact, Outcome, Role, Tokens, ToolClass, event};
use siglum_domain::redact::{Redacted, Redactor};

use super::Reader;
use crate::copilot::output::output;
use crate::copilot::passage::returned;
use crate::copilot::tools;
use crate::copilot::wire::{Data, Line, ToolInput, Usage};
use crate::draft::word;
use crate::json::Field;
use crate::mentions::{CommitOutput, mentioned};
use crate::paths;
use crate::summary;
use crate::transcript::{CommitMention, ReadLine, TranscriptEdit};

/// Longest prompt that is kept in the observation, in bytes.
const PROMPT_INLINE: usize = 4 * 1024;
/// Most that is kept of files until the calls that make them have returned, in bytes.
const CREATED_LIMIT: usize = 8 << 20;

/// What is known of a call until its result is read.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    pub(super) event: String,
    pub(super) tool: String,
    pub(super) class: ToolClass,
    /// What its output is looked at for.
    pub(super) output: Option<CommitOutput>,
    /// The file that it makes, and the whole content.
    pub(super) created: Option<(PathBuf, Vec<u8>)>,
    pub(super) at: Timestamp,
}

/// A fact, before it is said whose it is.
pub(super) struct Seen {
    pub(super) key: String,
    pub(super) event: String,
    pub(super) fact: Fact,
    /// The sub-agent that it is about, where that is not the one that tells it.
    pub(super) subagent: Option<String>,
}

/// One event on its way.
struct Reading<'l, 'a> {
    offset: u64,
    id: String,
    line: &'l Line<'a>,
    data: &'l Data<'a>,
    redactor: &'l Redactor,
}

pub(super) fn read<'a>(
    reader: &mut Reader,
    offset: u64,
    line: &Line<'a>,
    data: &Data<'a>,
    redactor: &Redactor,
    out: &mut ReadLine<'a>,
) -> Option<Seen> {
    let id = line.id.text().map(|id| word(&id))?;
    if id.is_empty() {
        return None;
    }
    let reading = Reading {
        offset,
        id,
        line,
        data,
        redactor,
    };
    match line.kind.text()?.as_ref() {
        "user.message" => user(reader, &reading),
        "assistant.message" => assistant_message(reader, &reading),
        "session.usage_record" => usage_record(&reading),
        "tool.execution_start" => started(reader, &reading),
        "tool.execution_complete" => ended(reader, &reading, out),
        "subagent.started" => subagent_started(reader, &reading),
        "subagent.completed" | "subagent.failed" => subagent_stopped(reader, &reading),
        "session.compaction_complete" => compacted(reader, &reading),
        _ => None,
    }
}

/// A prompt, or what is said to a sub-agent.
fn user(reader: &mut Reader, reading: &Reading<'_, '_>) -> Option<Seen> {
    let text = reading
        .data
        .content
        .text()
        .filter(|text| !text.is_empty())?;
    let body = if text.len() <= PROMPT_INLINE {
        Body::Text(reading.redactor.redact(&text))
    } else {
        reader.passage(reading.offset)
    };
    let id = reading.id.as_str();
    if reader.subagent_of(reading.line).is_some() {
        return Some(Seen {
            key: id.to_owned(),
            event: event::message(id),
            fact: Fact::Message {
                role: Role::User,
                text: body,
                model: None,
                tokens: None,
                request: None,
            },
            subagent: None,
        });
    }
    reader.turn = Some(id.to_owned());
    // Of what a person types, no source is told.
    let typed = reading.data.source.text();
    let typed = typed.is_none_or(|source| matches!(&*source, "" | "user"));
    Some(Seen {
        key: event::prompt(id),
        event: event::prompt(id),
        fact: Fact::Prompt {
            text: body,
            synthetic: !typed || reading.data.continuation.is_true(),
        },
        subagent: None,
    })
}

/// The text of a message, and what was written for it: of what was read, another event tells.
fn assistant_message(reader: &Reader, reading: &Reading<'_, '_>) -> Option<Seen> {
    let data = reading.data;
    let output = data.output.number();
    let text = match data.content.text().is_some_and(|text| !text.is_empty()) {
        true => reader.passage(reading.offset),
        false if output.is_some() => Body::Text(Redacted::empty()),
        false => return None,
    };
    let request = data.api_call.text().filter(|id| !id.is_empty());
    let request = request.map(|id| word(&id));
    let own = data.message.text().map(|id| word(&id));
    let name = request.as_ref().or(own.as_ref()).unwrap_or(&reading.id);
    let event = event::message(name);
    let tokens = output.map(|output| Tokens {
        output,
        ..Tokens::default()
    });
    Some(Seen {
        key: reading.id.clone(),
        event,
        fact: Fact::Message {
            role: Role::Assistant,
            text,
            model: data.model.text().map(|model| word(&model)),
            tokens,
            request,
        },
        subagent: None,
    })
}

/// What an answer of a model cost.
fn usage_record(reading: &Reading<'_, '_>) -> Option<Seen> {
    let usage: Usage<'_> = reading.data.usage.object();
    let tokens = tokens(&usage);
    if tokens == Tokens::default() {
        return None;
    }
    let request = usage.api_call.text().filter(|id| !id.is_empty());
    let request = request.map(|id| word(&id));
    Some(Seen {
        key: reading.id.clone(),
        event: event::message(request.as_ref().unwrap_or(&reading.id)),
        fact: Fact::Message {
            role: Role::Assistant,
            text: Body::Text(Redacted::empty()),
            model: usage.model.text().map(|model| word(&model)),
            tokens: Some(tokens),
            request,
        },
        subagent: None,
    })
}

/// What is told as read holds what came from the cache and went into it, too.
fn tokens(usage: &Usage<'_>) -> Tokens {
    let number = |field: Field<'_>| field.number().unwrap_or(0);
    let (cache_read, cache_write) = (number(usage.cache_read), number(usage.cache_write));
    let cached = cache_read.saturating_add(cache_write);
    Tokens {
        input: number(usage.input).saturating_sub(cached),
        output: number(usage.output),
        cache_read,
        cache_write,
    }
}

fn started(reader: &mut Reader, reading: &Reading<'_, '_>) -> Option<Seen> {
    let data = reading.data;
    let call = word(&data.call.text()?);
    let tool = data.tool.text().map(|name| word(&name)).unwrap_or_default();
    let class = tools::class(&tool);
    let likeness = tools::likeness(&tool, class, data.arguments, reading.redactor);
    let event = event::unnamed_with_id(&likeness, &call);
    let input: ToolInput<'_> = data.arguments.object();
    let command = input.command.text().filter(|_| class == ToolClass::Shell);
    let file = tools::edited(data.arguments, None).filter(|_| class == ToolClass::Edit);
    let made = reader.calls.iter().filter_map(|call| call.created.as_ref());
    let held: usize = made.map(|(_, content)| content.len()).sum();
    let created = input
        .content
        .exact()
        .filter(|text| held + text.len() <= CREATED_LIMIT);
    let asked = OpenCall {
        event: event.clone(),
        tool: tool.clone(),
        class,
        output: command.as_deref().and_then(CommitOutput::from_command),
        created: file
            .clone()
            .zip(created.map(|text| text.into_owned().into_bytes())),
        at: reader.last_at,
    };
    reader.calls.begin(call.clone(), asked);
    let input = match command {
        Some(command) if summary::is_kept(&command) => {
            Body::Text(reading.redactor.redact(&command))
        }
        Some(_) => reader.passage(reading.offset),
        None => {
            let short = tools::summary(class, data.arguments);
            Body::Text(reading.redactor.redact(&short))
        }
    };
    let root = reader.worktree.as_deref();
    let path = root.zip(file).map(|(root, file)| {
        let path = paths::relative(&file, Some(root));
        let path = path.to_string_lossy();
        reading.redactor.redact_cow(&path).into_owned()
    });
    Some(Seen {
        key: format!("call:{call}"),
        event,
        fact: Fact::ToolStarted {
            tool,
            class,
            input,
            path,
        },
        subagent: None,
    })
}

/// The end of a call: whose start was not read is not known by what it does.
fn ended(reader: &mut Reader, reading: &Reading<'_, '_>, out: &mut ReadLine<'_>) -> Option<Seen> {
    let data = reading.data;
    let asked = reader.calls.end(&word(&data.call.text()?))?;
    let text = returned(data).unwrap_or_default();
    let printed = output(&text);
    let failed = !data.success.is_true() || asked.class == ToolClass::Shell && printed.failed;
    if let Some(kind) = asked.output {
        let mention = |id: &str| CommitMention {
            owner: reader.session.clone(),
            copied: false,
            event: asked.event.clone(),
            abbreviated: id.to_owned(),
            started: Some(asked.at),
            ended: reader.last_at,
        };
        let found = mentioned(printed.text, kind).into_iter().map(mention);
        out.commits.extend(found);
    }
    if let Some((path, after)) = asked.created.filter(|_| !failed) {
        out.edits.push(TranscriptEdit {
            owner: reader.session.clone(),
            copied: false,
            event: asked.event.clone(),
            path,
            before: None,
            after,
            at: reader.last_at,
            turn: reader.turn_name(),
            subagent: reader.subagent_of(reading.line),
        });
    }
    Some(Seen {
        key: format!("back:{}", asked.event),
        event: asked.event,
        fact: Fact::ToolEnded {
            tool: asked.tool,
            class: asked.class,
            outcome: match failed {
                true => Outcome::Failed,
                false => Outcome::Ok,
            },
            output: Some(reader.passage(reading.offset)),
            duration_ms: None,
        },
        subagent: None,
    })
}

fn subagent_started(reader: &Reader, reading: &Reading<'_, '_>) -> Option<Seen> {
    let data = reading.data;
    let agent = subagent(reader, reading)?;
    let call = data.call.text().map(|call| word(&call));
    let asked = call.and_then(|call| reader.calls.get(&call));
    let kind = data.agent_type.text().or_else(|| data.agent_name.text());
    Some(Seen {
        key: format!("subagent_started:{agent}"),
        event: event::subagent(&agent),
        fact: Fact::SubagentStarted {
            agent_type: kind.map(|kind| word(&kind)).unwrap_or_default(),
            // The engine knows what the call is called.
            call: asked.map(|asked| asked.event.clone()),
        },
        subagent: Some(agent),
    })
}

fn subagent_stopped(reader: &Reader, reading: &Reading<'_, '_>) -> Option<Seen> {
    let agent = subagent(reader, reading)?;
    Some(Seen {
        key: format!("subagent_stopped:{agent}"),
        event: event::subagent(&agent),
        fact: Fact::SubagentStopped { last_message: None },
        subagent: Some(agent),
    })
}

/// The sub-agent that an event is about: it has an id, or at least that of the call.
fn subagent(reader: &Reader, reading: &Reading<'_, '_>) -> Option<String> {
    let call = || reading.data.call.text().map(|call| word(&call));
    reader.subagent_of(reading.line).or_else(call)
}

fn compacted(reader: &Reader, reading: &Reading<'_, '_>) -> Option<Seen> {
    let data = reading.data;
    let trigger = data.trigger.text().map(|trigger| word(&trigger));
    let event = format!("compact:{}", reading.id);
    data.success.is_true().then(|| Seen {
        key: event.clone(),
        event,
        fact: Fact::Compacted {
            trigger: trigger.unwrap_or_default(),
            summary: Some(reader.passage(reading.offset)),
        },
        subagent: None,
    })
}
