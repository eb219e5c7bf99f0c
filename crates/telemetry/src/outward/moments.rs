//! What of a turn happened when, and in which sub-agent.

use std::collections::BTreeMap;

use siglum_domain::Timestamp;
use siglum_domain::fold::{Entry, SubagentView, TurnView};
use siglum_domain::observation::Fact;

/// A sub-agent that anything in a part of a turn happened in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subagent {
    pub(super) view: SubagentView,
    /// When it was last heard of.
    pub(super) last: Timestamp,
    /// Whether this part of the log has its beginning.
    begins_here: bool,
}

/// The sub-agents that anything in these entries happened in, by id.
pub(super) fn subagents(entries: &[Entry], views: Vec<SubagentView>) -> BTreeMap<String, Subagent> {
    let of = |view: SubagentView| {
        let own = || {
            let entries = entries.iter().map(|e| &e.observation);
            entries.filter(|o| o.subagent.as_deref() == Some(view.id.as_str()))
        };
        let begins_here = own().any(|o| matches!(o.fact, Fact::SubagentStarted { .. }));
        let last = own().map(|o| o.at).max().unwrap_or(view.started);
        let subagent = Subagent {
            last,
            begins_here,
            view: view.clone(),
        };
        (view.id, subagent)
    };
    views.into_iter().map(of).collect()
}

impl Subagent {
    /// Whether it went on when its turn had come to its stop: it is a trace of its own then.
    pub(super) fn outlives(&self, turn: &TurnView) -> bool {
        let goes_on = |stopped: Timestamp| self.view.stopped.is_none_or(|at| at > stopped);
        !self.begins_here || turn.stopped.is_some_and(goes_on)
    }

    /// Whether all is known of it that will be.
    pub(super) const fn is_over(&self) -> bool {
        self.view.stopped.is_some()
    }
}

/// When the model was asked for what it said at `at`: as soon as what came before in the same agent was over.
pub(super) fn request_time(turn: &TurnView, subagent: Option<&str>, at: Timestamp) -> Timestamp {
    let own = |of: &Option<String>| of.as_deref() == subagent;
    let tools = turn.tools.iter().filter(|t| own(&t.subagent));
    let tools = tools.filter_map(|t| t.ended.or(t.started));
    let messages = turn.messages.iter().filter(|m| own(&m.subagent));
    let before = tools
        .chain(messages.map(|m| m.at))
        .filter(|t| *t < at)
        .max();
    before.or(turn.opened).unwrap_or(at).min(at)
}

/// When anything of a turn was last heard of, outside of what went on behind its stop.
pub(super) fn end(turn: &TurnView, entries: &[Entry]) -> Timestamp {
    let own = entries.iter().filter(|e| e.observation.subagent.is_none());
    let last = own.map(|e| e.observation.at).max();
    let opened = turn.opened.unwrap_or_default();
    turn.stopped.or(last).unwrap_or(opened).max(opened)
}
