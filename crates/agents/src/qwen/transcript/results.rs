//! What the result of a call shows: how it ended, the change of a file, the name of a commit.

use std::path::PathBuf;

use siglum_domain::observation::{Fact, Outcome, ToolClass, event};
use siglum_domain::{NativeId, Timestamp};

use super::Reader;
use crate::draft::word;
use crate::gemini::tools;
use crate::gemini::wire::{EditDisplay, ResponseBody};
use crate::json::Field;
use crate::mentions::{CommitOutput, mentioned};
use crate::qwen::output::output;
use crate::qwen::wire::{CallResult, Line, Part, Response};
use crate::transcript::{CommitMention, ReadLine, TranscriptEdit};

/// Largest side of a change, in bytes.
const SIDE_LIMIT: usize = 8 << 20;
/// What stands for bytes that the agent could not read as text.
const UNREADABLE: char = '\u{fffd}';

/// A fact, before it is said whose it is.
pub(super) struct Seen {
    pub(super) key: String,
    pub(super) event: String,
    pub(super) fact: Fact,
    /// The sub-agent that it is about, where that is not the one whose transcript this is.
    pub(super) subagent: Option<String>,
}

/// Whose a line is.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) id: NativeId,
    pub(super) copied: bool,
}

/// What is known of a call until its result is read.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    /// What its output is looked at for.
    pub(super) output: Option<CommitOutput>,
    /// The kind of the sub-agent that it starts.
    pub(super) agent_type: Option<String>,
    pub(super) owner: Owner,
    pub(super) at: Timestamp,
}

pub(super) fn read(
    reader: &mut Reader,
    at: (u64, &str),
    owner: &Owner,
    line: &Line<'_>,
    parts: &[Part<'_>],
    out: &mut ReadLine<'_>,
) -> Vec<Seen> {
    let result: CallResult<'_> = line.result.object();
    let mut seen = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let response: Response<'_> = part.response.object();
        let Some(call) = response.id.text().map(|id| word(&id)) else {
            continue;
        };
        let event = event::tool(&call);
        let asked = reader.calls.end(&event);
        let body: ResponseBody<'_> = response.response.object();
        let name = response.name.text().map(|name| word(&name));
        let class = name.as_deref().map_or(ToolClass::Other, tools::class);
        let text = body.output.text().or_else(|| body.error.text());
        let printed = output(text.as_deref().unwrap_or_default());
        let failed = match result.status.text().as_deref() {
            Some("success") => false,
            Some("error" | "cancelled") => true,
            _ => body.error.raw().is_some(),
        };
        let outcome = match failed || class == ToolClass::Shell && printed.failed {
            true => Outcome::Failed,
            false => Outcome::Ok,
        };
        if let Some((asked, kind)) = asked.as_ref().and_then(|a| Some((a, a.output?))) {
            out.commits
                .extend(commits(reader, &event, asked, printed.text, kind));
        }
        if outcome == Outcome::Ok && class == ToolClass::Edit {
            out.edits
                .extend(edit(reader, owner, &event, result.display));
        }
        let agent_type = asked.and_then(|asked| asked.agent_type);
        seen.extend(agent_type.map(|kind| subagent(&call, kind)));
        seen.push(Seen {
            key: format!("{}#{index}", at.1),
            event,
            fact: Fact::ToolEnded {
                tool: name.unwrap_or_default(),
                class,
                outcome,
                output: Some(reader.passage(at.0)),
                duration_ms: result.duration_ms.number(),
            },
            subagent: None,
        });
    }
    seen
}

/// The sub-agent that a call started: it is called after its kind and the call.
fn subagent(call: &str, agent_type: String) -> Seen {
    let agent = format!("{agent_type}-{call}");
    Seen {
        key: format!("spawned:{agent}"),
        event: event::subagent(&agent),
        fact: Fact::SubagentStarted {
            agent_type,
            call: Some(call.to_owned()),
        },
        subagent: Some(agent),
    }
}

fn commits(
    reader: &Reader,
    event: &str,
    asked: &OpenCall,
    output: &str,
    kind: CommitOutput,
) -> Vec<CommitMention> {
    let mention = |id: &str| CommitMention {
        owner: asked.owner.id.clone(),
        copied: asked.owner.copied,
        event: event.to_owned(),
        abbreviated: id.to_owned(),
        started: Some(asked.at),
        ended: reader.last_at,
    };
    mentioned(output, kind).into_iter().map(mention).collect()
}

/// Both sides of a change, as the tool shows them; not where what was saved was cut.
fn edit(reader: &Reader, owner: &Owner, event: &str, display: Field<'_>) -> Option<TranscriptEdit> {
    let shown: EditDisplay<'_> = display.object();
    if shown.truncated.is_true() {
        return None;
    }
    let path = shown.path.exact()?;
    let usable = !path.is_empty() && path.len() <= 4096 && !path.contains('\0');
    // A new file and an empty one are told alike.
    let before = side(shown.before).filter(|text| !text.is_empty());
    let after = side(shown.after)?;
    let readable = before
        .as_deref()
        .is_none_or(|text| !text.contains(UNREADABLE));
    (usable && readable).then(|| TranscriptEdit {
        owner: owner.id.clone(),
        copied: owner.copied,
        event: event.to_owned(),
        path: PathBuf::from(path.into_owned()),
        before: before.map(String::into_bytes),
        after: after.into_bytes(),
        at: reader.last_at,
        turn: reader.turn_name().filter(|_| !owner.copied),
        subagent: reader.subagent.clone(),
    })
}

fn side(field: Field<'_>) -> Option<String> {
    let text = field.exact().filter(|text| text.len() <= SIDE_LIMIT)?;
    Some(text.into_owned())
}
