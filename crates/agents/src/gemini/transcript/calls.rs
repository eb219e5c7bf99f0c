//! The tool calls of one message: what was called, what came of it, and what the result shows: the
//! change of a file, the name of a commit.

use std::path::PathBuf;

use siglum_domain::Timestamp;
use siglum_domain::observation::{Body, Fact, Outcome, ToolClass, event};
use siglum_domain::redact::Redactor;

use super::Reader;
use super::document::inline;
use crate::draft::word;
use crate::gemini::output::{Output, output};
use crate::gemini::passage::result_text;
use crate::gemini::tools;
use crate::gemini::wire::{Call, EditDisplay, Line, ToolInput};
use crate::json::Field;
use crate::mentions::{CommitOutput, mentioned};
use crate::paths;
use crate::summary;
use crate::transcript::{CommitMention, TranscriptEdit};

/// Longest result that is kept in the observation where its line holds several, in bytes.
const RESULT_INLINE: usize = 4 * 1024;
/// Largest side of a change, in bytes.
const SIDE_LIMIT: usize = 8 << 20;
/// What stands for bytes that the agent could not read as text.
const UNREADABLE: char = '\u{fffd}';

/// A fact, before it is said whose it is.
pub(super) struct Seen {
    pub(super) key: String,
    pub(super) event: String,
    pub(super) at: Timestamp,
    pub(super) subagent: Option<String>,
    pub(super) fact: Fact,
}

/// What comes of one line.
#[derive(Default)]
pub(super) struct Out {
    pub(super) seen: Vec<Seen>,
    pub(super) edits: Vec<TranscriptEdit>,
    pub(super) commits: Vec<CommitMention>,
}

/// One call on its way out.
struct ParsedCall<'a> {
    wire: Call<'a>,
    id: String,
    tool: String,
    class: ToolClass,
    event: String,
    /// Whether its line holds the result of no other call.
    alone: bool,
    started: Timestamp,
    ended: Option<(Timestamp, Outcome)>,
}

pub(super) fn read(
    reader: &Reader,
    offset: u64,
    line: &Line<'_>,
    redactor: &Redactor,
    out: &mut Out,
) {
    let items = line.calls.items();
    let alone = items.len() == 1;
    for item in items {
        let Some(call) = parse_call(reader, item.object(), alone, redactor) else {
            continue;
        };
        started(reader, offset, &call, redactor, out);
        if call.ended.is_some() {
            ended(reader, offset, &call, redactor, out);
        }
    }
}

fn parse_call<'a>(
    reader: &Reader,
    call: Call<'a>,
    alone: bool,
    redactor: &Redactor,
) -> Option<ParsedCall<'a>> {
    let id = word(&call.id.text()?);
    let tool = call.name.text().map(|name| word(&name)).unwrap_or_default();
    let class = tools::class(&tool);
    let likeness = tools::likeness(&tool, class, call.args, redactor);
    let at = call.timestamp.text().and_then(|text| text.parse().ok());
    let outcome = match call.status.text().as_deref() {
        Some("success") => Some(Outcome::Ok),
        Some("error" | "cancelled") => Some(Outcome::Failed),
        _ => None,
    };
    Some(ParsedCall {
        event: event::unnamed_with_id(&likeness, &id),
        wire: call,
        id,
        tool,
        class,
        alone,
        started: reader.last_at,
        ended: outcome.map(|outcome| (at.unwrap_or(reader.last_at), outcome)),
    })
}

fn started(
    reader: &Reader,
    offset: u64,
    call: &ParsedCall<'_>,
    redactor: &Redactor,
    out: &mut Out,
) {
    let args: ToolInput<'_> = call.wire.args.object();
    let input = match (call.class, args.command.text()) {
        (ToolClass::Shell, Some(command)) if summary::is_kept(&command) => {
            Body::Text(redactor.redact(&command))
        }
        (ToolClass::Shell, Some(command)) => reader.body(offset, &command, redactor),
        _ => Body::Text(redactor.redact(&tools::summary(call.class, call.wire.args))),
    };
    out.seen.push(Seen {
        key: format!("call:{}", call.id),
        event: call.event.clone(),
        at: call.started,
        subagent: None,
        fact: Fact::ToolStarted {
            tool: call.tool.clone(),
            class: call.class,
            input,
            path: edited(reader, call, redactor),
        },
    });
    subagent(call, out, call.started, || Fact::SubagentStarted {
        agent_type: args
            .agent_name
            .text()
            .map(|name| word(&name))
            .unwrap_or_default(),
        // The engine knows what the call is called.
        call: Some(call.event.clone()),
    });
}

/// The file that an edit names, where the worktree is known.
fn edited(reader: &Reader, call: &ParsedCall<'_>, redactor: &Redactor) -> Option<String> {
    let root = reader
        .worktree
        .as_deref()
        .filter(|_| call.class == ToolClass::Edit)?;
    let path = paths::relative(&tools::edited(call.wire.args, None)?, Some(root));
    Some(redactor.redact_cow(&path.to_string_lossy()).into_owned())
}

fn subagent(call: &ParsedCall<'_>, out: &mut Out, at: Timestamp, fact: impl FnOnce() -> Fact) {
    let Some(id) = call.wire.agent_id.text().map(|id| word(&id)) else {
        return;
    };
    let fact = fact();
    out.seen.push(Seen {
        key: format!("{}:{id}", fact.kind()),
        event: event::subagent(&id),
        at,
        subagent: Some(id),
        fact,
    });
}

fn ended(reader: &Reader, offset: u64, call: &ParsedCall<'_>, redactor: &Redactor, out: &mut Out) {
    let Some((at, mut outcome)) = call.ended else {
        return;
    };
    let result = result_text(call.wire.result).unwrap_or_default();
    let Output { text, failed } = output(&result);
    if call.class == ToolClass::Shell {
        commits(reader, call, text, at, out);
    }
    if failed {
        outcome = Outcome::Failed;
    }
    if outcome == Outcome::Ok && call.class == ToolClass::Edit {
        out.edits.extend(edit(reader, call, at));
    }
    subagent(call, out, at, || Fact::SubagentStopped {
        last_message: None,
    });
    out.seen.push(Seen {
        key: format!("back:{}", call.event),
        event: call.event.clone(),
        at,
        subagent: None,
        fact: Fact::ToolEnded {
            tool: call.tool.clone(),
            class: call.class,
            outcome,
            output: Some(if call.alone || text.len() > RESULT_INLINE {
                reader.body(offset, text, redactor)
            } else {
                inline(text, redactor)
            }),
            duration_ms: None,
        },
    });
}

fn commits(reader: &Reader, call: &ParsedCall<'_>, output: &str, at: Timestamp, out: &mut Out) {
    let args: ToolInput<'_> = call.wire.args.object();
    let Some(kind) = args
        .command
        .text()
        .and_then(|command| CommitOutput::from_command(&command))
    else {
        return;
    };
    let mention = |id: &str| CommitMention {
        owner: reader.session.clone(),
        copied: false,
        event: call.event.clone(),
        abbreviated: id.to_owned(),
        started: Some(call.started),
        ended: at,
    };
    out.commits
        .extend(mentioned(output, kind).into_iter().map(mention));
}

/// Both sides of a change, as the tool shows them.
fn edit(reader: &Reader, call: &ParsedCall<'_>, at: Timestamp) -> Option<TranscriptEdit> {
    let shown: EditDisplay<'_> = call.wire.display.object();
    let path = shown.path.exact()?;
    let usable = !path.is_empty() && path.len() <= 4096 && !path.contains('\0');
    let before = match shown.is_new.is_true() {
        true => None,
        false => Some(side(shown.before).filter(|text| !text.contains(UNREADABLE))?),
    };
    let after = side(shown.after)?;
    usable.then(|| TranscriptEdit {
        owner: reader.session.clone(),
        copied: false,
        event: call.event.clone(),
        path: PathBuf::from(path.into_owned()),
        before: before.map(String::into_bytes),
        after: after.into_bytes(),
        at,
        turn: reader.turn_name(),
        subagent: reader.subagent.clone(),
    })
}

fn side(field: Field<'_>) -> Option<String> {
    let text = field.exact().filter(|text| text.len() <= SIDE_LIMIT)?;
    Some(text.into_owned())
}
