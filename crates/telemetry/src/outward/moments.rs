//! What of a turn happened when, and in which sub-agent.

use std::collections::BTreeMap;

use siglum_domain::Timestamp;
use siglum_domain::fold::{Entry, TurnView};
use siglum_domain::observation::{Body, Fact, event};

/// What is known of a sub-agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Subagent {
    pub(super) kind: String,
    /// The tool call that started it, as an event.
    pub(super) call: Option<String>,
    pub(super) started: Option<Timestamp>,
    pub(super) stopped: Option<Timestamp>,
    pub(super) last_message: Option<Body>,
    /// When it was first and last heard of.
    pub(super) span: Option<(Timestamp, Timestamp)>,
    /// Whether this part of the log has its beginning.
    pub(super) begins_here: bool,
}

/// The sub-agents that anything in these entries happened in.
pub(super) fn subagents(entries: &[Entry]) -> BTreeMap<String, Subagent> {
    let mut all: BTreeMap<String, Subagent> = BTreeMap::new();
    for entry in entries {
        let o = &entry.observation;
        let Some(id) = &o.subagent else { continue };
        let known = all.entry(id.clone()).or_default();
        let (first, last) = known.span.unwrap_or((o.at, o.at));
        known.span = Some((first.min(o.at), last.max(o.at)));
        match &o.fact {
            Fact::SubagentStarted { agent_type, call } => {
                known.begins_here = true;
                known.started = known.started.map_or(Some(o.at), |at| Some(at.min(o.at)));
                if !agent_type.is_empty() {
                    known.kind.clone_from(agent_type);
                }
                if let Some(call) = call {
                    known.call = Some(event::tool(call));
                }
            }
            Fact::SubagentStopped { last_message } => {
                known.stopped = known.stopped.max(Some(o.at));
                if last_message.is_some() {
                    known.last_message.clone_from(last_message);
                }
            }
            _ => {}
        }
    }
    all
}

impl Subagent {
    /// Whether it went on when its turn had come to its stop: it is a trace of its own then.
    pub(super) fn outlives(&self, turn: &TurnView) -> bool {
        let Some(stopped) = turn.stopped else {
            return !self.begins_here;
        };
        !self.begins_here || self.stopped.is_none_or(|at| at > stopped)
    }
}

/// When the model was asked for what it said at `at`: as soon as what came before in the same agent was over.
pub(super) fn asked(turn: &TurnView, subagent: Option<&str>, at: Timestamp) -> Timestamp {
    let own = |of: &Option<String>| of.as_deref() == subagent;
    let tools = turn.tools.iter().filter(|t| own(&t.subagent));
    let tools = tools.filter_map(|t| t.ended.or(t.started));
    let said = turn.messages.iter().filter(|m| own(&m.subagent));
    let before = tools.chain(said.map(|m| m.at)).filter(|t| *t < at).max();
    before.or(turn.opened).unwrap_or(at).min(at)
}

/// When anything of a turn was last heard of, outside of what went on behind its stop.
pub(super) fn end(turn: &TurnView, entries: &[Entry]) -> Timestamp {
    let own = entries.iter().filter(|e| e.observation.subagent.is_none());
    let last = own.map(|e| e.observation.at).max();
    let opened = turn.opened.unwrap_or_default();
    turn.stopped.or(last).unwrap_or(opened).max(opened)
}
