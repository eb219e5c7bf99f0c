//! Folds: what a session's log amounts to.
//!
//! Agents' events come late, twice, early or not at all, so every fold here gives the same answer
//! for every order and repetition of the entries. Sightings of one event are joined by its key; for
//! each field the table is: what a hook saw inline wins over a passage in a transcript, the earliest
//! start and the latest end stand, and a failure that any source tells of is one (not every hook knows
//! of it). Messages are also joined by the provider's request, and what they cost is counted once
//! ([`usage()`]).

mod subagents;
mod usage;

use std::collections::{BTreeMap, BTreeSet};

use crate::grammar::Oid;
use crate::id::{ObservationId, TurnId};
use crate::observation::{
    Body, Fact, FileVersion, Observation, Outcome, Recovery, Role, Side, Source, Tokens, ToolClass,
};
use crate::time::Timestamp;

pub use subagents::SubagentView;
pub use usage::{Records, Usage, usage};

/// One entry of a session's log.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: ObservationId,
    /// Its place in the log, from 1, without holes.
    pub sequence: u64,
    pub turn: Option<TurnId>,
    /// When the ledger took it.
    pub recorded_at: Timestamp,
    pub observation: Observation,
}

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// A turn is open.
    Working {
        /// Since its prompt.
        since: Timestamp,
    },
    /// The last turn came to its stop; the agent has not said that the session ended.
    Waiting {
        /// Since the stop.
        since: Timestamp,
    },
    /// The agent said that it ended.
    Ended {
        at: Timestamp,
        /// Why, in its own words.
        reason: String,
    },
}

impl SessionState {
    /// The word that listings use.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Working { .. } => "working",
            Self::Waiting { .. } => "waiting",
            Self::Ended { .. } => "ended",
        }
    }
}

/// One tool call, joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The event's key.
    pub event: String,
    /// The tool's own name.
    pub tool: String,
    pub class: ToolClass,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// How it ended; absent while it runs, or if nobody saw the end.
    pub outcome: Option<Outcome>,
    pub input: Option<Body>,
    pub output: Option<Body>,
    /// The file it names.
    pub path: Option<String>,
    /// The files that it changed, by path.
    pub edits: Vec<Edit>,
    /// HEAD before and after.
    pub heads: (Option<Oid>, Option<Oid>),
    pub subagent: Option<String>,
}

/// The change of one file by one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edit {
    /// Relative to the worktree.
    pub path: String,
    pub before_seen: bool,
    pub after_seen: bool,
    /// The content before; absent if there was no file.
    pub before: Option<FileVersion>,
    /// The content after; absent if there is none.
    pub after: Option<FileVersion>,
}

/// One message, joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageView {
    /// The event's key.
    pub event: String,
    /// The keys of all events that are this message: sources may call it differently.
    pub events: BTreeSet<String>,
    /// The provider's id of the request that it answers, where a source tells.
    pub request: Option<String>,
    /// When it was written first.
    pub at: Timestamp,
    pub role: Role,
    /// What it says: its parts in order.
    pub parts: Vec<Body>,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub subagent: Option<String>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnView {
    /// Which; absent for what happened outside any turn.
    pub id: Option<TurnId>,
    pub opened: Option<Timestamp>,
    /// When it last came to a stop.
    pub stopped: Option<Timestamp>,
    pub prompt: Option<Body>,
    /// Whether the agent wrote the prompt itself.
    pub synthetic: bool,
    /// How it was settled after its driver had died.
    pub recovered: Option<Recovery>,
    /// The last words of the agent: those that came with its stop, else the end of its last message.
    pub last_message: Option<Body>,
    /// The error that ended it, in the agent's own word.
    pub failure: Option<String>,
    /// Its tool calls in order.
    pub tools: Vec<ToolCall>,
    /// Its messages in order.
    pub messages: Vec<MessageView>,
    pub tokens: Tokens,
    /// Times at which the context was compacted.
    pub compactions: u32,
}

/// What a session's log amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionView {
    pub state: SessionState,
    /// Its turns in order; what belongs to none comes first.
    pub turns: Vec<TurnView>,
    /// The first prompt that somebody else than the agent wrote.
    pub title: Option<String>,
    /// The models that wrote messages.
    pub models: BTreeSet<String>,
    pub tokens: Tokens,
    /// When anything was first and last seen.
    pub span: Option<(Timestamp, Timestamp)>,
    /// The sub-agents that were seen, in the order in which they began.
    pub subagents: Vec<SubagentView>,
}

impl SessionView {
    /// The number of turns that have a prompt.
    #[must_use]
    pub fn prompted_turns(&self) -> usize {
        self.turns.iter().filter(|t| t.prompt.is_some()).count()
    }

    /// The number of tool calls.
    #[must_use]
    pub fn tool_calls(&self) -> usize {
        self.turns.iter().map(|t| t.tools.len()).sum()
    }
}

/// Folds a session's log.
#[must_use]
pub fn session(entries: &[Entry]) -> SessionView {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|a, b| {
        (a.observation.at, &a.observation.key).cmp(&(b.observation.at, &b.observation.key))
    });
    let joined = usage::Joined::from_entries(&sorted);
    let mut turns: BTreeMap<Option<TurnId>, Vec<&Entry>> = BTreeMap::new();
    for entry in &sorted {
        let o = &entry.observation;
        let placed = match o.fact {
            Fact::Message { .. } => joined.place(&o.event).map(|place| place.turn),
            _ => Some(entry.turn),
        };
        if let Some(turn) = placed {
            turns.entry(turn).or_default().push(entry);
        }
    }
    let mut turns: Vec<TurnView> = turns
        .into_iter()
        .map(|(id, entries)| turn(id, &entries, &joined))
        .collect();
    turns.sort_by_key(|t| (t.id.is_some(), t.opened, t.id));
    let mut tokens = Tokens::default();
    turns.iter().for_each(|t| tokens += t.tokens);
    let messages = turns.iter().flat_map(|t| &t.messages);
    SessionView {
        state: state(&sorted),
        title: title(&turns),
        models: messages.filter_map(|m| m.model.clone()).collect(),
        tokens,
        span: sorted
            .first()
            .zip(sorted.last())
            .map(|(a, b)| (a.observation.at, b.observation.at)),
        subagents: subagents::fold(&sorted),
        turns,
    }
}

fn title(turns: &[TurnView]) -> Option<String> {
    let prompts = turns
        .iter()
        .filter(|t| !t.synthetic)
        .filter_map(|t| t.prompt.as_ref()?.text());
    let line = prompts
        .filter_map(|text| text.lines().find(|l| !l.trim().is_empty()))
        .next()?;
    Some(line.trim().chars().take(200).collect())
}

/// The state after the latest fact that says something of it. A session that ended and goes on is
/// resumed; facts of the same moment count in the order start, prompt, stop, end.
fn state(sorted: &[&Entry]) -> SessionState {
    let worked = last_work(sorted);
    let rank = |o: &Observation| match &o.fact {
        Fact::SessionStarted { .. } => Some(0),
        Fact::Prompt { .. } | Fact::ToolStarted { .. } => Some(1),
        Fact::Stopped { .. } => is_stop(o, worked).then_some(2),
        Fact::Recovered { .. } => Some(2),
        Fact::SessionEnded { .. } => Some(3),
        _ => None,
    };
    let speaking = sorted
        .iter()
        .filter_map(|e| Some((e.observation.at, rank(&e.observation)?, e)));
    let Some((at, _, entry)) =
        speaking.max_by_key(|(at, rank, e)| (*at, *rank, e.observation.key.as_str()))
    else {
        return SessionState::Waiting {
            since: sorted
                .last()
                .map_or(Timestamp::default(), |e| e.observation.at),
        };
    };
    match &entry.observation.fact {
        Fact::SessionEnded { reason } => SessionState::Ended {
            at,
            reason: reason.clone(),
        },
        Fact::Prompt { .. } | Fact::ToolStarted { .. } => SessionState::Working { since: at },
        _ => SessionState::Waiting { since: at },
    }
}

fn turn(id: Option<TurnId>, entries: &[&Entry], joined: &usage::Joined) -> TurnView {
    let mut view = TurnView {
        id,
        ..TurnView::default()
    };
    let mut tools: BTreeMap<&str, ToolCall> = BTreeMap::new();
    let mut messages: BTreeMap<&str, MessageView> = BTreeMap::new();
    let mut compactions: BTreeSet<&str> = BTreeSet::new();
    view.opened = entries.first().map(|e| e.observation.at);
    view.stopped = stopped(entries);
    for entry in entries {
        let o = &entry.observation;
        match &o.fact {
            Fact::Prompt { text, synthetic } => {
                view.synthetic = *synthetic;
                merge_body(&mut view.prompt, text);
                view.opened = view.opened.min(Some(o.at));
            }
            Fact::Stopped {
                last_message,
                failure,
                ..
            } if o.subagent.is_none() => {
                if last_message.is_some() {
                    view.last_message.clone_from(last_message);
                }
                if failure.is_some() {
                    view.failure.clone_from(failure);
                }
            }
            Fact::Recovered { how } => view.recovered = Some(*how),
            Fact::ToolStarted { .. }
            | Fact::ToolEnded { .. }
            | Fact::FileSeen { .. }
            | Fact::HeadSeen { .. } => {
                tool(tools.entry(&o.event).or_insert_with(|| blank_tool(o)), o);
            }
            Fact::Message { .. } => {
                let event = joined
                    .place(&o.event)
                    .map_or(&o.event, |place| &place.event);
                let view = messages.entry(event).or_insert_with(|| MessageView {
                    event: event.clone(),
                    tokens: joined.tokens(event),
                    ..blank_message(o)
                });
                message(view, o);
            }
            Fact::Compacted { .. } => {
                compactions.insert(&o.event);
            }
            _ => {}
        }
    }
    view.compactions = u32::try_from(compactions.len()).unwrap_or(u32::MAX);
    view.tools = tools.into_values().filter(|t| !t.tool.is_empty()).collect();
    view.tools
        .sort_by(|a, b| (a.started.or(a.ended), &a.event).cmp(&(b.started.or(b.ended), &b.event)));
    view.messages = messages.into_values().collect();
    view.messages.sort_by_key(|m| m.at);
    view.messages.iter().for_each(|m| view.tokens += m.tokens);
    if view.last_message.is_none() {
        let own = |m: &&MessageView| {
            m.role == Role::Assistant && m.subagent.is_none() && !m.parts.is_empty()
        };
        let last = view.messages.iter().rev().find(own);
        view.last_message = last.and_then(|m| m.parts.last().cloned());
    }
    view
}

/// When a turn last came to its stop.
fn stopped(entries: &[&Entry]) -> Option<Timestamp> {
    let worked = last_work(entries);
    let own = entries.iter().map(|e| &e.observation);
    let stops = own.filter(|o| o.subagent.is_none() && is_stop(o, worked));
    stops.map(|o| o.at).max()
}

/// A transcript tells of a stop by how an answer ends, and the agent may go on all the same, as where a hook refused it:
/// it is one where the transcript tells of no work behind it.
fn is_stop(o: &Observation, worked: Option<Timestamp>) -> bool {
    let stands = o.source != Source::Transcript || worked.is_none_or(|at| at <= o.at);
    stands && matches!(o.fact, Fact::Stopped { .. })
}

/// When the agent itself last did anything that a transcript tells of.
fn last_work(entries: &[&Entry]) -> Option<Timestamp> {
    let works = |o: &&Observation| match &o.fact {
        Fact::ToolStarted { .. } => true,
        // What a message cost may be told behind it.
        Fact::Message {
            role: Role::Assistant,
            text,
            ..
        } => text.text() != Some(""),
        _ => false,
    };
    let all = entries.iter().map(|e| &e.observation);
    let own = all.filter(|o| o.source == Source::Transcript && o.subagent.is_none());
    own.filter(works).map(|o| o.at).max()
}

/// Text that is here wins over text that is elsewhere, which wins over text that was only measured, and that over none
/// at all: telemetry knows of a prompt and not what it says. Else the first one stands.
fn merge_body(slot: &mut Option<Body>, new: &Body) {
    let rank = |body: &Body| match body {
        Body::Text(text) if text.as_str().is_empty() => 0,
        Body::Withheld { .. } => 1,
        Body::Passage { .. } => 2,
        Body::Text(_) => 3,
    };
    if slot.as_ref().is_none_or(|old| rank(old) < rank(new)) {
        *slot = Some(new.clone());
    }
}

fn blank_tool(o: &Observation) -> ToolCall {
    ToolCall {
        event: o.event.clone(),
        tool: String::new(),
        class: ToolClass::Other,
        started: None,
        ended: None,
        outcome: None,
        input: None,
        output: None,
        path: None,
        edits: Vec::new(),
        heads: (None, None),
        subagent: o.subagent.clone(),
    }
}

fn tool(call: &mut ToolCall, o: &Observation) {
    match &o.fact {
        Fact::ToolStarted {
            tool,
            class,
            input,
            path,
        } => {
            named(call, tool, *class);
            call.started = call.started.map_or(Some(o.at), |at| Some(at.min(o.at)));
            merge_body(&mut call.input, input);
            call.path = call.path.take().or_else(|| path.clone());
        }
        Fact::ToolEnded {
            tool,
            class,
            outcome,
            output,
            ..
        } => {
            named(call, tool, *class);
            call.ended = call.ended.max(Some(o.at));
            if call.outcome.is_none_or(|known| known == Outcome::Ok) {
                call.outcome = Some(*outcome);
            }
            if let Some(output) = output {
                merge_body(&mut call.output, output);
            }
        }
        Fact::FileSeen {
            path,
            side,
            version,
            ..
        } => {
            let edit = edited(&mut call.edits, path);
            let (seen, slot) = match side {
                Side::Before => (&mut edit.before_seen, &mut edit.before),
                Side::After => (&mut edit.after_seen, &mut edit.after),
            };
            *seen = true;
            slot.clone_from(version);
        }
        Fact::HeadSeen {
            side: Side::Before,
            commit,
            ..
        } => call.heads.0.clone_from(commit),
        Fact::HeadSeen {
            side: Side::After,
            commit,
            ..
        } => call.heads.1.clone_from(commit),
        _ => {}
    }
}

/// The change of this file among those of one call, which are kept by path.
fn edited<'e>(edits: &'e mut Vec<Edit>, path: &str) -> &'e mut Edit {
    let at = edits.binary_search_by(|edit| edit.path.as_str().cmp(path));
    let at = at.unwrap_or_else(|at| {
        let path = path.to_owned();
        edits.insert(
            at,
            Edit {
                path,
                ..Edit::default()
            },
        );
        at
    });
    &mut edits[at]
}

/// A transcript's result does not repeat the tool's name.
fn named(call: &mut ToolCall, tool: &str, class: ToolClass) {
    if call.tool.is_empty() && !tool.is_empty() {
        tool.clone_into(&mut call.tool);
    }
    if call.class == ToolClass::Other {
        call.class = class;
    }
}

fn blank_message(o: &Observation) -> MessageView {
    MessageView {
        event: o.event.clone(),
        events: BTreeSet::new(),
        request: None,
        at: o.at,
        role: Role::Assistant,
        parts: Vec::new(),
        model: None,
        tokens: Tokens::default(),
        subagent: o.subagent.clone(),
    }
}

fn message(view: &mut MessageView, o: &Observation) {
    let Fact::Message {
        role,
        text,
        model,
        request,
        ..
    } = &o.fact
    else {
        return;
    };
    view.role = *role;
    view.events.insert(o.event.clone());
    let empty = text.text().is_some_and(str::is_empty);
    if !empty && !view.parts.contains(text) {
        view.parts.push(text.clone());
    }
    view.model = view.model.take().or_else(|| model.clone());
    view.request = view.request.take().or_else(|| request.clone());
}

#[cfg(test)]
mod tests;
