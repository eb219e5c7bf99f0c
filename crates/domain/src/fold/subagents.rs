//! The sub-agents of a session: which call started each, when, and what it said in the end.

use std::collections::BTreeMap;

use super::Entry;
use crate::observation::{Body, Fact, Role, Source};
use crate::time::Timestamp;

/// One sub-agent, joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentView {
    pub id: String,
    /// Its kind; empty where no source tells.
    pub agent_type: String,
    /// The tool call that started it: the [`ToolCall`](super::ToolCall) whose event is
    /// [`event::tool`](crate::observation::event::tool) of this. That call's own sub-agent is the one that it was
    /// started by.
    pub call: Option<String>,
    /// When it began: when that is told, or when anything was first seen in it.
    pub started: Timestamp,
    /// When it last came to its stop, where a source tells.
    pub stopped: Option<Timestamp>,
    /// Its last words: those that came with its last stop, else the end of its last message.
    pub last_message: Option<Body>,
}

/// Folds what was seen of and in sub-agents; the entries are in order.
pub(super) fn fold(sorted: &[&Entry]) -> Vec<SubagentView> {
    let mut known: BTreeMap<&str, Known<'_>> = BTreeMap::new();
    for entry in sorted {
        if let Some(id) = &entry.observation.subagent {
            known.entry(id).or_default().see(entry);
        }
    }
    let view = |(id, known): (&str, Known<'_>)| known.view(id);
    let mut views: Vec<SubagentView> = known.into_iter().filter_map(view).collect();
    views.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
    views
}

/// What is known of one sub-agent so far.
#[derive(Default)]
struct Known<'e> {
    started: Option<Timestamp>,
    stopped: Option<Timestamp>,
    /// Its kind, by who tells.
    agent_type: Option<(Source, &'e str)>,
    call: Option<&'e str>,
    parting: Option<&'e Body>,
    message: Option<&'e Body>,
}

impl<'e> Known<'e> {
    /// Entries come by time and key, so the first one that tells something stands, and the last one of its words.
    fn see(&mut self, entry: &'e Entry) {
        let o = &entry.observation;
        self.started.get_or_insert(o.at);
        match &o.fact {
            Fact::SubagentStarted { agent_type, call } => {
                let stated = (o.source, agent_type.as_str());
                let better = self.agent_type.is_none_or(|known| stated.0 < known.0);
                if better && !agent_type.is_empty() {
                    self.agent_type = Some(stated);
                }
                self.call = self.call.or(call.as_deref());
            }
            Fact::SubagentStopped { last_message } => {
                self.stopped = self.stopped.max(Some(o.at));
                self.parting = last_message.as_ref().or(self.parting);
            }
            Fact::Message {
                role: Role::Assistant,
                text,
                ..
            } if text.text() != Some("") => self.message = Some(text),
            _ => {}
        }
    }

    fn view(self, id: &str) -> Option<SubagentView> {
        Some(SubagentView {
            id: id.to_owned(),
            agent_type: self.agent_type.map_or("", |stated| stated.1).to_owned(),
            call: self.call.map(str::to_owned),
            started: self.started?,
            stopped: self.stopped,
            last_message: self.parting.or(self.message).cloned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::fold::{self, Entry};
    use crate::id::ObservationId;
    use crate::observation::{Body, Fact, Observation, Role, Source, event};
    use crate::redact::Redacted;
    use crate::time::Timestamp;

    fn body(text: &str) -> Body {
        Body::Text(Redacted::from_stored(text.to_owned()))
    }

    fn entry(sequence: u64, at: i64, source: Source, agent: &str, fact: Fact) -> Entry {
        let at = Timestamp::from_seconds(at);
        Entry {
            id: ObservationId::from_uuid(uuid::Uuid::from_u128(u128::from(sequence))),
            sequence,
            turn: None,
            recorded_at: at,
            observation: Observation {
                source,
                key: format!("k{sequence}"),
                event: match fact {
                    Fact::Message { .. } => event::message(&sequence.to_string()),
                    _ => event::subagent(agent),
                },
                at,
                turn: None,
                subagent: Some(agent.to_owned()),
                fact,
            },
        }
    }

    fn started(agent_type: &str, call: Option<&str>) -> Fact {
        Fact::SubagentStarted {
            agent_type: agent_type.to_owned(),
            call: call.map(str::to_owned),
        }
    }

    fn assistant_message(text: &str) -> Fact {
        Fact::Message {
            role: Role::Assistant,
            text: body(text),
            model: None,
            tokens: None,
            request: None,
        }
    }

    /// Two sub-agents at once: hooks know their kinds, a transcript their calls.
    fn two() -> Vec<Entry> {
        let stopped = |text| Fact::SubagentStopped {
            last_message: Some(body(text)),
        };
        vec![
            entry(1, 1, Source::Hook, "a", started("explore", None)),
            entry(2, 2, Source::Hook, "b", started("plan", None)),
            entry(3, 3, Source::Transcript, "b", started("", Some("two"))),
            entry(4, 3, Source::Transcript, "a", started("x", Some("one"))),
            entry(
                5,
                4,
                Source::Transcript,
                "a",
                assistant_message("a goes on"),
            ),
            entry(
                6,
                5,
                Source::Transcript,
                "b",
                assistant_message("b goes on"),
            ),
            entry(7, 5, Source::Transcript, "b", assistant_message("")),
            entry(8, 6, Source::Hook, "a", stopped("a is done")),
            entry(9, 8, Source::Hook, "a", stopped("a is done again")),
        ]
    }

    #[test]
    fn each_is_bound_to_the_call_that_started_it() {
        let views = fold::session(&two()).subagents;
        let seconds = |at: Timestamp| at.millis_since(Timestamp::from_seconds(0)) / 1000;
        let summaries: Vec<_> = views
            .iter()
            .map(|v| {
                let words = v.last_message.as_ref().and_then(Body::text);
                let times = (seconds(v.started), v.stopped.map(seconds));
                let call = v.call.as_deref();
                (v.id.as_str(), v.agent_type.as_str(), call, times, words)
            })
            .collect();
        assert_eq!(
            summaries,
            [
                (
                    "a",
                    "explore",
                    Some("one"),
                    (1, Some(8)),
                    Some("a is done again")
                ),
                ("b", "plan", Some("two"), (2, None), Some("b goes on")),
            ]
        );
    }

    proptest! {
        #[test]
        fn order_and_repetition_change_nothing(
            order in Just((0..9usize).collect::<Vec<_>>()).prop_shuffle(),
            twice in 0..9usize,
        ) {
            let log = two();
            let mut shuffled: Vec<_> = order.iter().map(|n| log[*n].clone()).collect();
            shuffled.push(log[twice].clone());
            prop_assert_eq!(fold::session(&shuffled).subagents, fold::session(&log).subagents);
        }
    }
}
