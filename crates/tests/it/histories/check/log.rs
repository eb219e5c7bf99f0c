//! The log by itself: no gap, nothing twice, each receipt one turn; and what forks have of it.

use std::collections::BTreeSet;

use super::super::authority::Authority;
use super::super::history::Op;
use super::{Known, Part};

pub(super) fn check(part: &Part<'_>) -> Vec<String> {
    let (log, mut problems) = (part.log, Vec::new());
    let mut problem = |text: String| problems.push(part.problem(&text));
    let mut last = 0;
    for (number, receipt) in (1..).zip(&log.receipts) {
        if receipt.number != number || receipt.first != last + 1 || receipt.last < receipt.first {
            problem(format!(
                "gap: receipt {number} is {receipt:?}, behind {last}"
            ));
        }
        last = receipt.last;
    }
    if last != log.entries.len() as u64 {
        let entries = log.entries.len();
        problem(format!("gap: {entries} entries, receipts up to {last}"));
    }
    let mut keys = BTreeSet::new();
    for receipt in &log.receipts {
        if receipt.key.is_empty() || !keys.insert(&receipt.key) {
            let number = receipt.number;
            problem(format!(
                "doubled: receipt {number} is of no turn of its own: `{}`",
                receipt.key
            ));
        }
    }
    let mut items = BTreeSet::new();
    for item in log
        .entries
        .iter()
        .chain(log.open.iter().flat_map(|(_, items)| items))
    {
        if !items.insert(&item.key) {
            problem(format!("doubled: {} is there twice", item.key));
        }
    }
    problems
}

/// A fork begins with what its parent had when it was forked, at the end of a turn.
pub(super) fn forks(history: &[Op], authority: &Authority) -> Vec<String> {
    let mut problems = Vec::new();
    for (session, log) in authority {
        let made = |op: &&Op| op.is("fork") && op.answer["session"].as_str() == Some(session);
        let forks: Vec<_> = history.iter().filter(made).collect();
        let Some(parent) = forks.first().and_then(|op| authority.get(&op.session)) else {
            continue;
        };
        let at = log.inherited.len();
        let Some(number) = parent.ends_at(at as u64) else {
            problems.push(format!(
                "{session}: forked in the middle of a turn, at {at}"
            ));
            continue;
        };
        if parent.entries[..at] != log.inherited[..] {
            problems.push(format!(
                "{session}: what it was forked from is not its parent's log"
            ));
        }
        // Whoever was told first that it is there may not have made it; nobody made it before one was asked to.
        let requests = history
            .iter()
            .filter(|op| op.is("fork") && op.session == forks[0].session);
        let from = requests.map(|op| op.invoked).min().unwrap_or_default();
        let until = forks.iter().map(|op| op.returned).min().unwrap_or(u64::MAX);
        let commits = history
            .iter()
            .filter(|op| op.is("commit") && op.session == forks[0].session);
        let acknowledged = commits
            .clone()
            .filter_map(|op| Some((op.returned, op.receipt()?)));
        if Known::new(acknowledged.collect()).before(from) > number {
            problems.push(format!(
                "{session}: forked before what was acknowledged, at {at}"
            ));
        }
        let late =
            |op: &&Op| op.committed_now() && op.receipt() <= Some(number) && op.invoked > until;
        if let Some(op) = commits.clone().find(late) {
            problems.push(format!("{session}: forked behind {}", op.name()));
        }
    }
    problems
}
