//! How long a session waits for its next driver when the last one was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::history::Op;

/// A driver that was killed, and when.
pub(super) struct Kill {
    pub(super) driver: String,
    pub(super) at: u64,
}

/// From each kill to the first operation that somebody else had acknowledged on a session that the dead one held:
/// shortest first. Of sessions that all drivers want all the time; nobody waits for a fork.
pub(super) fn times(history: &[Op], kills: &[Kill]) -> Vec<Duration> {
    let made = history.iter().filter(|op| op.is("create"));
    let wanted: BTreeSet<_> = made
        .filter_map(|op| op.answer["session"].as_str())
        .collect();
    let mut of: BTreeMap<&str, Vec<&Op>> = BTreeMap::new();
    for op in history {
        if wanted.contains(op.session.as_str()) {
            of.entry(&op.session).or_default().push(op);
        }
    }
    let mut times = Vec::new();
    for kill in kills {
        for ops in of.values().filter(|ops| held(ops, kill)) {
            let next = ops
                .iter()
                .filter(|op| op.by != kill.driver && holds(op) && op.invoked > kill.at);
            if let Some(first) = next.map(|op| op.returned).min() {
                times.push(Duration::from_nanos(first - kill.at));
            }
        }
    }
    times.sort();
    times
}

/// Whether only a driver that has the lease could have done it.
fn holds(op: &Op) -> bool {
    op.is_done() && op.is("lease") || op.wrote()
}

/// Whether whoever was killed was the last to get the lease, and did not give it back.
fn held(ops: &[&Op], kill: &Kill) -> bool {
    let takes =
        |op: &&&Op| (op.is("lease") || op.is("renew")) && op.is_done() && op.returned < kill.at;
    let Some(last) = ops.iter().rev().find(takes) else {
        return false;
    };
    let gives_back = |op: &&Op| op.is("release") && op.by == last.by && op.invoked > last.invoked;
    last.by == kill.driver && !ops.iter().any(gives_back)
}
