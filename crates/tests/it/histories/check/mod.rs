//! What cannot be, if every session is one log that one driver at a time adds whole turns to.

mod leases;
mod log;
mod order;
mod reads;
mod turns;

use std::collections::BTreeMap;

use super::authority::{Authority, Log};
use super::history::Op;

/// When a driver died whose lease is free from then on. Empty where nobody sees that.
pub(super) type Deaths = BTreeMap<String, u64>;

/// One session, and all that was asked of it, in order.
struct Part<'a> {
    session: &'a str,
    ops: Vec<&'a Op>,
    /// Those that name a turn.
    turns: BTreeMap<&'a str, Vec<&'a Op>>,
    log: &'a Log,
}

impl Part<'_> {
    /// The operations of this kind.
    fn all<'o>(&'o self, what: &'o str) -> impl Iterator<Item = &'o Op> {
        self.ops.iter().copied().filter(move |op| op.is(what))
    }

    /// What was asked of one turn.
    fn turn(&self, key: &str) -> &[&Op] {
        self.turns.get(key).map_or(&[], Vec::as_slice)
    }

    fn problem(&self, text: &str) -> String {
        format!("{}: {text}", self.session)
    }
}

/// What is wrong, in words.
pub(super) fn check(history: &[Op], authority: &Authority, deaths: &Deaths) -> Vec<String> {
    let mut of: BTreeMap<&str, Vec<&Op>> = BTreeMap::new();
    for op in history {
        of.entry(op.session.as_str()).or_default().push(op);
    }
    let mut problems = Vec::new();
    for op in history.iter().filter(|op| op.is("create") || op.is("fork")) {
        if let Some(made) = op.answer["session"]
            .as_str()
            .filter(|s| !authority.contains_key(*s))
        {
            problems.push(format!("{made}: it was made and is lost"));
        }
    }
    for (session, log) in authority {
        let ops = of.remove(session.as_str()).unwrap_or_default();
        let mut turns: BTreeMap<&str, Vec<&Op>> = BTreeMap::new();
        for &op in ops.iter().filter(|op| !op.key.is_empty()) {
            turns.entry(&op.key).or_default().push(op);
        }
        let part = Part {
            session,
            ops,
            turns,
            log,
        };
        for check in [log::check, turns::check, order::check, reads::check] {
            problems.extend(check(&part));
        }
        problems.extend(leases::check(&part, deaths));
    }
    problems.extend(log::forks(history, authority));
    problems
}

/// What was known at least at some moment: the greatest number that anybody had been told before.
struct Known {
    /// Moment and number, both growing.
    steps: Vec<(u64, u64)>,
}

impl Known {
    /// From moments and what was told at each.
    fn new(mut steps: Vec<(u64, u64)>) -> Self {
        steps.sort_unstable();
        let mut most = 0;
        for (_, number) in &mut steps {
            most = most.max(*number);
            *number = most;
        }
        Self { steps }
    }

    /// What had been told before a moment.
    fn before(&self, moment: u64) -> u64 {
        let at = self.steps.partition_point(|(time, _)| *time < moment);
        at.checked_sub(1).map_or(0, |at| self.steps[at].1)
    }
}
