//! One driver at a time.

use std::collections::BTreeMap;

use super::super::history::Op;
use super::{Deaths, Known, Part};

/// Nobody's clock is so far off from another's of the same machine.
const SLACK: u64 = 100_000_000;

pub(super) fn check(part: &Part<'_>, deaths: &Deaths) -> Vec<String> {
    let mut problems = fenced(part);
    problems.extend(two_holders(part, deaths));
    problems
}

/// The epoch that a driver was given.
fn granted(op: &Op) -> Option<u64> {
    let grants = (op.is("lease") || op.is("renew")) && op.is_done();
    op.answer["epoch"].as_u64().filter(|_| grants)
}

/// Nobody's write is acknowledged after a higher epoch was given to somebody, and each epoch is one driver's.
fn fenced(part: &Part<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let grants = part
        .ops
        .iter()
        .filter_map(|op| Some((op.returned, granted(op)?)));
    let known = Known::new(grants.collect());
    let mut owners: BTreeMap<u64, &str> = BTreeMap::new();
    for op in &part.ops {
        if let Some(epoch) = granted(op) {
            if *owners.entry(epoch).or_insert(&op.by) != op.by {
                problems
                    .push(part.problem(&format!("fenced: {} got an epoch of another", op.name())));
            }
            if epoch < known.before(op.invoked) {
                problems.push(part.problem(&format!("fenced: {} got an older epoch", op.name())));
            }
        }
        if op.wrote() && op.epoch() < known.before(op.invoked) {
            let what = format!(
                "fenced: {} was acknowledged under an older epoch",
                op.name()
            );
            problems.push(part.problem(&what));
        }
    }
    problems
}

/// Nobody gets a lease that another one has: that has not run out, was not given back, and whose holder lives.
fn two_holders(part: &Part<'_>, deaths: &Deaths) -> Vec<String> {
    let mut problems = Vec::new();
    let settles = |op: &Op| match op.what.as_str() {
        "decide" => op.is_done(),
        // Where no turn was open it looked no further.
        "recover" => op.is_done() && op.answer["how"] != "nothing",
        _ => false,
    };
    let takes = |op: &&&Op| granted(op).is_some() || settles(op);
    let all: Vec<&Op> = part.ops.iter().filter(takes).copied().collect();
    let releases: Vec<&Op> = part.all("release").filter(|op| op.may_be_done()).collect();
    for (n, one) in all.iter().enumerate() {
        let Some(epoch) = granted(one) else {
            continue;
        };
        let term = one.step["term_ms"].as_u64().unwrap_or(60_000) * 1_000_000;
        let good_until = (one.invoked + term).saturating_sub(SLACK);
        for two in all[n + 1..].iter().take_while(|op| op.invoked < good_until) {
            let both = two.by != one.by && two.invoked > one.returned && two.returned < good_until;
            let gave_back = |op: &&&Op| {
                op.epoch() == epoch
                    && op.by == one.by
                    && op.invoked < two.returned
                    && op.invoked > one.invoked
            };
            let died = deaths.get(&one.by).is_some_and(|at| *at < two.returned);
            // What was taken over since is not its any more.
            let newer = |op: &&&Op| granted(op) > Some(epoch) && op.invoked < two.invoked;
            let lost = all[n + 1..].iter().find(newer).is_some();
            if both && !died && !lost && releases.iter().find(gave_back).is_none() {
                let what = format!("fenced: {} got what {} had", two.name(), one.name());
                problems.push(part.problem(&what));
            }
        }
    }
    problems
}
