//! What one line says.

use siglum_domain::observation::{Body, Fact, Role, Tokens, ToolClass, event};
use siglum_domain::redact::{Redacted, Redactor};

use super::Reader;
use super::results::{self, OpenCall, Owner, Seen};
use crate::draft::word;
use crate::gemini::tools;
use crate::gemini::wire::ToolInput;
use crate::json::Field;
use crate::mentions::CommitOutput;
use crate::paths;
use crate::qwen::passage::text_of;
use crate::qwen::reduce::is_synthetic;
use crate::qwen::wire::{
    AgentInput, Answer, Call, Compression, CompressionInfo, Line, Message, Noted, Part, Usage,
};
use crate::summary;
use crate::transcript::ReadLine;

/// Longest prompt that is kept in the observation, in bytes.
const PROMPT_INLINE: usize = 4 * 1024;
/// Prompts that nobody typed.
const BY_AGENT: &[&str] = &["notification", "cron", "goal_runtime"];
/// What a person says while the agent works, which begins no turn.
const IN_BETWEEN: &[&str] = &["mid_turn_user_message", "realtime_message"];
/// How the ids of sub-agents begin that the agent starts for itself, and that write no transcript.
const OWN_AGENT: &str = "managed-";

pub(super) fn read(
    reader: &mut Reader,
    offset: u64,
    owner: &Owner,
    line: &Line<'_>,
    redactor: &Redactor,
    out: &mut ReadLine<'_>,
) -> Vec<Seen> {
    let uuid = line.uuid.text().map(|uuid| word(&uuid));
    let Some(id) = uuid.filter(|id| !id.is_empty()) else {
        return Vec::new();
    };
    let message: Message<'_> = line.message.object();
    let parts: Vec<Part<'_>> = message
        .parts
        .items()
        .into_iter()
        .map(Field::object)
        .collect();
    let at = (offset, id.as_str());
    match line.kind.text().as_deref() {
        Some("user") => user(reader, at, line, &parts, redactor)
            .into_iter()
            .collect(),
        Some("assistant") => {
            let mut seen = Vec::new();
            seen.extend(assistant_message(reader, at, line, &parts));
            let calls = parts.iter().enumerate();
            seen.extend(calls.filter_map(|(n, part)| called(reader, at, n, owner, part, redactor)));
            seen
        }
        Some("tool_result") => results::read(reader, at, owner, line, &parts, out),
        Some("system") => match line.subtype.text().as_deref() {
            Some("chat_compression") => vec![compacted(reader, at, line)],
            Some("ui_telemetry") => answered(reader, &id, line).into_iter().collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// A message in the person's name: a prompt, or what is said to a sub-agent or in between.
fn user(
    reader: &mut Reader,
    (offset, id): (u64, &str),
    line: &Line<'_>,
    parts: &[Part<'_>],
    redactor: &Redactor,
) -> Option<Seen> {
    let text = text_of(parts)?;
    let body = if text.len() <= PROMPT_INLINE {
        Body::Text(redactor.redact(&text))
    } else {
        reader.passage(offset)
    };
    let subtype = line.subtype.text().unwrap_or_default();
    if reader.subagent.is_some() || IN_BETWEEN.contains(&&*subtype) {
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
    Some(Seen {
        key: event::prompt(id),
        event: event::prompt(id),
        fact: Fact::Prompt {
            text: body,
            synthetic: BY_AGENT.contains(&&*subtype) || is_synthetic(&text),
        },
        subagent: None,
    })
}

/// The text and the cost of a message.
fn assistant_message(
    reader: &mut Reader,
    (offset, id): (u64, &str),
    line: &Line<'_>,
    parts: &[Part<'_>],
) -> Option<Seen> {
    let request = reader.request.take();
    let tokens = line.usage.raw().map(|_| tokens(line.usage.object()));
    let text = match text_of(parts) {
        Some(_) => reader.passage(offset),
        None if tokens.is_some() => Body::Text(Redacted::empty()),
        None => return None,
    };
    Some(Seen {
        key: id.to_owned(),
        event: event::message(request.as_deref().unwrap_or(id)),
        fact: Fact::Message {
            role: Role::Assistant,
            text,
            model: line.model.text().map(|model| word(&model)),
            tokens,
            request,
        },
        subagent: None,
    })
}

/// That a model answered. The answer to a turn is the message that follows, and those to a sub-agent stand in its own
/// transcript; left are those to what the agent asks for itself, such as a summary or what to remember.
fn answered(reader: &mut Reader, id: &str, line: &Line<'_>) -> Option<Seen> {
    let noted: Noted<'_> = line.payload.object();
    let answer: Answer<'_> = noted.event.object();
    if answer.name.text().as_deref() != Some("qwen-code.api_response") {
        return None;
    }
    let request = word(&answer.request.text().filter(|id| !id.is_empty())?);
    let prompt = answer.prompt.text().unwrap_or_default();
    let subagent = answer.agent.text().map(|agent| word(&agent));
    let own = match &subagent {
        Some(agent) => agent.starts_with(OWN_AGENT),
        None => !prompt.contains('#'),
    };
    if !own {
        if subagent.is_none() {
            reader.request = Some(request);
        }
        return None;
    }
    let usage = Usage {
        input: answer.input,
        output: answer.output,
        cached: answer.cached,
        thoughts: answer.thoughts,
        total: answer.total,
    };
    Some(Seen {
        key: id.to_owned(),
        event: event::message(&request),
        fact: Fact::Message {
            role: Role::Assistant,
            text: Body::Text(Redacted::empty()),
            model: answer.model.text().map(|model| word(&model)),
            tokens: Some(tokens(usage)),
            request: Some(request),
        },
        subagent,
    })
}

/// What is told as read holds what came from the cache, too. Thoughts are a part of what was written for some models, and
/// stand beside it for others: the total tells.
fn tokens(usage: Usage<'_>) -> Tokens {
    let number = |field: Field<'_>| field.number().unwrap_or(0);
    let (input, output) = (number(usage.input), number(usage.output));
    let cached = number(usage.cached);
    let counted = input.saturating_add(output);
    let thoughts = match number(usage.total) > counted {
        true => number(usage.thoughts),
        false => 0,
    };
    Tokens {
        input: input.saturating_sub(cached),
        output: output.saturating_add(thoughts),
        cache_read: cached,
        cache_write: 0,
    }
}

fn called(
    reader: &mut Reader,
    (offset, id): (u64, &str),
    index: usize,
    owner: &Owner,
    part: &Part<'_>,
    redactor: &Redactor,
) -> Option<Seen> {
    let call: Call<'_> = part.call.object();
    let event = event::tool(&word(&call.id.text()?));
    let tool = call.name.text().map(|name| word(&name)).unwrap_or_default();
    let class = tools::class(&tool);
    let input: ToolInput<'_> = call.args.object();
    let command = input.command.text().filter(|_| class == ToolClass::Shell);
    let agent: AgentInput<'_> = call.args.object();
    let kind = agent.kind.text().filter(|_| class == ToolClass::Agent);
    let asked = OpenCall {
        output: command.as_deref().and_then(CommitOutput::from_command),
        agent_type: kind.map(|kind| word(&kind)),
        owner: owner.clone(),
        at: reader.last_at,
    };
    reader.calls.begin(event.clone(), asked);
    let input = match command {
        Some(command) if summary::is_kept(&command) => Body::Text(redactor.redact(&command)),
        Some(_) => reader.passage(offset),
        None => Body::Text(redactor.redact(&tools::summary(class, call.args))),
    };
    let root = reader.worktree.as_deref();
    let path = root.filter(|_| class == ToolClass::Edit).and_then(|root| {
        let path = paths::relative(&tools::edited(call.args, None)?, Some(root));
        Some(redactor.redact_cow(&path.to_string_lossy()).into_owned())
    });
    Some(Seen {
        key: format!("{id}#{index}"),
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

/// That the context was compacted.
fn compacted(reader: &Reader, (offset, id): (u64, &str), line: &Line<'_>) -> Seen {
    let compression: Compression<'_> = line.payload.object();
    let info: CompressionInfo<'_> = compression.info.object();
    let trigger = info.trigger.text().map(|trigger| word(&trigger));
    Seen {
        key: format!("compact:{id}"),
        event: format!("compact:{id}"),
        fact: Fact::Compacted {
            trigger: trigger.unwrap_or_default(),
            summary: Some(reader.passage(offset)),
        },
        subagent: None,
    }
}
