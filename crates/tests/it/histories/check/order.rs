//! Receipts and those who were told of them.

use super::super::history::Op;
use super::{Known, Part};

pub(super) fn check(part: &Part<'_>) -> Vec<String> {
    let mut problems = receipt_problems(part);
    problems.extend(in_time(part));
    problems.extend(epochs(part));
    problems
}

/// Whoever was told of a receipt finds it, where it was told and with what it asked for.
fn receipt_problems(part: &Part<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    for op in part.ops.iter().filter(|op| op.is_done()) {
        let Some(number) = op.receipt() else {
            continue;
        };
        let answer = match op.what.as_str() {
            "lease" => &op.answer["recovered"]["receipt"],
            "open" => &op.answer["committed"],
            _ => &op.answer["receipt"],
        };
        let index = usize::try_from(number).unwrap().wrapping_sub(1);
        let stored = part.log.receipts.get(index);
        let named = |key: &str| op.key.is_empty() || op.key == key;
        match stored {
            Some(receipt) if receipt.is(answer) && named(&receipt.key) => {
                // Asked for again, it is still all that it was.
                if op.committed_now() && !part.log.items(receipt).ends_with(&op.items) {
                    problems.push(part.problem(&format!("lost: what {} said", op.name())));
                }
                if op.committed_now() && op.step["expected"] != receipt.first - 1 {
                    let what = format!("reordered: {} is not behind what it named", op.name());
                    problems.push(part.problem(&what));
                }
            }
            stored => {
                let what = format!(
                    "lost: {} was told of receipt {answer}, not {stored:?}",
                    op.name()
                );
                problems.push(part.problem(&what));
            }
        }
    }
    problems
}

/// What was acknowledged before something else was asked for comes before it.
fn in_time(part: &Part<'_>) -> Vec<String> {
    let receipts = part.ops.iter().filter(|op| op.is_done());
    let receipts = receipts.filter_map(|op| Some((op.returned, op.receipt()?)));
    let known = Known::new(receipts.collect());
    let committed = part.ops.iter().filter(|op| op.committed_now());
    let late = committed.filter(|op| op.receipt() <= Some(known.before(op.invoked)));
    late.map(|op| {
        let what = format!(
            "reordered: {} is before what was acknowledged before it",
            op.name()
        );
        part.problem(&what)
    })
    .collect()
}

/// The epochs under which receipts were made never go back.
fn epochs(part: &Part<'_>) -> Vec<String> {
    let by_commit = |op: &&&Op| op.committed_now();
    let commits = part.ops.iter().filter(by_commit);
    let mut all: Vec<(u64, u64)> = commits
        .filter_map(|op| Some((op.receipt()?, op.epoch())))
        .collect();
    let leases = part.all("lease").filter(|op| op.is_done());
    all.extend(leases.filter_map(|op| Some((op.receipt()?, op.answer["epoch"].as_u64()?))));
    all.sort_unstable();
    let back = all.windows(2).filter(|pair| pair[0].1 > pair[1].1);
    back.map(|pair| {
        let what = format!(
            "fenced: receipt {} has an older epoch than {}",
            pair[1].0, pair[0].0
        );
        part.problem(&what)
    })
    .collect()
}
