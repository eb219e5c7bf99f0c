//! A part of a turn as spans.

use std::collections::{BTreeMap, HashSet};

use opentelemetry_proto::tonic::trace::v1::Span;
use siglum_domain::fold::{self, Entry, ToolCall, TurnView};
use siglum_domain::observation::event;
use siglum_domain::trace::{SpanId, TraceId};

use super::moments::{Subagent, subagents};
use super::spans::Writer;
use super::subject::{Content, Origin, Subject, TurnPart};

/// The spans of a turn that have not been told yet, children before whatever they are in.
///
/// Nothing at all where whoever asked for the turn does not record its trace.
#[must_use]
pub fn turn(subject: &Subject, part: &TurnPart, content: Content<'_>) -> Vec<Span> {
    if part.parent.is_some_and(|parent| !parent.sampled) {
        return Vec::new();
    }
    let split = part
        .entries
        .partition_point(|e| e.sequence <= part.exported);
    let (old, _) = part.entries.split_at(split);
    let (before, mut earlier) = view(old);
    let (now, subagents) = view(&part.entries);
    let shape = Shape {
        subject,
        part,
        now: &now,
        subagents,
    };
    let writer = Writer::new(&shape, content);
    let mut spans = Vec::new();
    for unexported in &part.messages {
        spans.extend(writer.message(&unexported.message, unexported.news));
    }
    let exported: HashSet<&str> = before.tools.iter().map(|t| t.event.as_str()).collect();
    let calls = now.tools.iter();
    for call in calls.filter(|t| !exported.contains(t.event.as_str())) {
        spans.push(writer.call(call));
    }
    earlier.retain(|_, subagent| subagent.is_over());
    for (id, subagent) in &shape.subagents {
        if subagent.is_over() && !earlier.contains_key(id) {
            spans.push(writer.subagent(subagent));
        }
    }
    if old.is_empty() {
        spans.push(writer.root());
    }
    spans
}

fn view(entries: &[Entry]) -> (TurnView, BTreeMap<String, Subagent>) {
    let session = fold::session(entries);
    let turn = session.turns.into_iter().next_back().unwrap_or_default();
    (turn, subagents(entries, session.subagents))
}

/// The tree that the spans of a turn are in.
pub(super) struct Shape<'a> {
    pub(super) subject: &'a Subject,
    pub(super) part: &'a TurnPart,
    pub(super) now: &'a TurnView,
    subagents: BTreeMap<String, Subagent>,
}

impl Shape<'_> {
    /// The first span of the turn.
    pub(super) fn origin(&self) -> Origin {
        Origin::new(self.subject.session, self.part.id, self.part.parent)
    }

    pub(super) fn span(&self, event: &str) -> SpanId {
        SpanId::of_event(self.subject.session, self.part.id, event)
    }

    /// Whether the spans of a sub-agent are a trace of their own.
    pub(super) fn is_apart(&self, id: &str) -> bool {
        let known = self.subagents.get(id);
        known.is_none_or(|known| known.outlives(self.now))
    }

    /// The trace that something in this sub-agent, or in none, is in.
    pub(super) fn trace(&self, subagent: Option<&str>) -> TraceId {
        match subagent {
            Some(id) if self.is_apart(id) => TraceId::of_subagent(self.subject.session, id),
            _ => self.origin().trace,
        }
    }

    /// The span that something in this sub-agent, or in none, is in.
    pub(super) fn around(&self, subagent: Option<&str>) -> SpanId {
        match subagent {
            Some(id) => SpanId::of_subagent(self.subject.session, id),
            None => self.origin().span,
        }
    }

    /// The call that started a sub-agent.
    pub(super) fn call_of(&self, subagent: &Subagent) -> Option<&ToolCall> {
        let event = event::tool(subagent.view.call.as_deref()?);
        self.now.tools.iter().find(|t| t.event == event)
    }
}
