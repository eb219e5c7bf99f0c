//! A part of a turn as spans.

use std::collections::{BTreeMap, HashSet};

use opentelemetry_proto::tonic::trace::v1::Span;
use siglum_domain::fold::{self, Entry, TurnView};

use super::moments::{Subagent, subagents};
use super::spans::{Shape, Writer};
use super::subject::{Content, Subject, TurnPart};

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
