//! What each turn holds: all that was said in it, in its order, once, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::super::history::{Item, Op, Outcome};
use super::Part;

pub(super) fn check(part: &Part<'_>) -> Vec<String> {
    let (log, mut problems) = (part.log, Vec::new());
    for receipt in &log.receipts {
        let all = log.items(receipt);
        let turn = Turn::new(part, &receipt.key, body(all));
        let mut wrong = turn.wrong();
        let closed = all.get(turn.items.len()..).unwrap_or_default();
        wrong.extend(match closed {
            [] => turn.committed(receipt.first),
            closed => recovered(part, receipt.number, closed),
        });
        let number = receipt.number;
        problems.extend(
            wrong
                .iter()
                .map(|w| part.problem(&format!("receipt {number}: {w}"))),
        );
    }
    if let Some((key, items)) = &log.open {
        let wrong = Turn::new(part, key, items).wrong();
        problems.extend(
            wrong
                .iter()
                .map(|w| part.problem(&format!("the open turn: {w}"))),
        );
    }
    problems.extend(not_there(part));
    problems
}

/// What drivers said, before what a recovery adds.
fn body(all: &[Item]) -> &[Item] {
    let end = all.iter().position(Item::is_of_recovery);
    &all[..end.unwrap_or(all.len())]
}

/// One turn as it is stored, and those who spoke in it.
struct Turn<'a> {
    key: &'a str,
    /// All that was asked of it.
    ops: &'a [&'a Op],
    items: &'a [Item],
}

impl<'a> Turn<'a> {
    fn new(part: &'a Part<'_>, key: &'a str, items: &'a [Item]) -> Self {
        let ops = part.turn(key);
        Self { key, ops, items }
    }

    fn content_ops(&self) -> impl Iterator<Item = &'a Op> {
        self.ops.iter().copied().filter(|op| op.says())
    }

    /// What is there if this was done, and not if it was not: of what nobody was told that it was done, that which
    /// was not said otherwise, too.
    fn own(&self, op: &'a Op) -> Vec<&'a Item> {
        let elsewhere = |item: &Item| {
            let mut others = self.content_ops().filter(|other| other.items != op.items);
            others.any(|other| other.items.contains(item))
        };
        let all = op.items.iter();
        all.filter(|item| op.is_done() || !elsewhere(item))
            .collect()
    }

    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut place: BTreeMap<&Item, usize> = BTreeMap::new();
        for (at, item) in self.items.iter().enumerate() {
            place.insert(item, at);
            if item.turn() != self.key {
                wrong.push(format!("interleaved: {} is in turn {}", item.key, self.key));
                continue;
            }
            let mut by = self
                .content_ops()
                .filter(|op| op.items.contains(item))
                .peekable();
            if by.peek().is_none() {
                wrong.push(format!("altered: nobody said {item:?}"));
            } else if by.all(|op| op.outcome == Outcome::Refused) {
                wrong.push(format!(
                    "uncommitted: {} was refused, and is shown",
                    item.key
                ));
            }
        }
        for op in self.content_ops() {
            let own = self.own(op);
            let places: Vec<_> = own.iter().filter_map(|item| place.get(item)).collect();
            let may_lack = !op.is_done() && places.is_empty();
            if places.len() < own.len() && !may_lack && op.may_be_done() {
                wrong.push(format!("lost: some of what {} said", op.name()));
            }
            if op.may_be_done() && !places.windows(2).all(|pair| *pair[0] + 1 == *pair[1]) {
                wrong.push(format!("reordered: what {} said is torn apart", op.name()));
            }
        }
        wrong.extend(self.out_of_order(&place));
        wrong
    }

    /// Who spoke first comes first.
    fn out_of_order(&self, place: &BTreeMap<&Item, usize>) -> Vec<String> {
        let mut wrong = Vec::new();
        let possible = self.content_ops().filter(|op| op.may_be_done());
        let all: Vec<_> = possible.map(|op| (op, self.own(op))).collect();
        let at = |own: &[&Item]| Some((*place.get(own.first()?)?, *place.get(own.last()?)?));
        for (n, (one, ones)) in all.iter().enumerate() {
            // What was asked for again may be of the last time, if nobody was told of the first, ...
            if !one.is_done() && all[n + 1..].iter().any(|(op, _)| op.items == one.items) {
                continue;
            }
            for (two, twos) in &all[n + 1..] {
                // ... and stays where it was said first.
                let first = all.iter().find(|(op, _)| op.items == two.items);
                if first.is_some_and(|(op, _)| op.invoked < two.invoked) {
                    continue;
                }
                let (Some((_, one_ends)), Some((two_begins, _))) = (at(ones), at(twos)) else {
                    continue;
                };
                let follows = one.by == two.by || one.returned < two.invoked;
                if follows && one_ends > two_begins {
                    wrong.push(format!(
                        "reordered: {} is behind {}",
                        one.name(),
                        two.name()
                    ));
                }
            }
        }
        wrong
    }

    /// A driver asked for this turn to be committed, and was not refused.
    fn committed(&self, first: u64) -> Vec<String> {
        let mut commits = self.ops.iter().filter(|op| op.is("commit"));
        let ends = |op: &Op| op.items.len() <= self.items.len() && self.items.ends_with(&op.items);
        let behind = |op: &Op| op.step["expected"].as_u64() == Some(first - 1);
        let mut wrong = Vec::new();
        if !commits.any(|op| op.may_be_done() && ends(op) && behind(op)) {
            wrong.push(format!("uncommitted: nobody committed {}", self.key));
        }
        if self.ops.iter().any(|op| op.is("abort") && op.is_done()) {
            wrong.push(format!(
                "uncommitted: {} was aborted, and is shown",
                self.key
            ));
        }
        wrong
    }
}

/// A turn that the ledger closed: how is said at its end, and somebody was there who had it closed.
fn recovered(part: &Part<'_>, number: u64, closed: &[Item]) -> Vec<String> {
    let mut wrong = Vec::new();
    let (end, decided) = closed.split_last().expect("because it is not empty");
    if !end.key.starts_with("recovered:") || !decided.iter().all(|i| i.key.starts_with("decided:"))
    {
        wrong.push(format!("interleaved: it ends with {closed:?}"));
    }
    let deeds = || {
        part.ops
            .iter()
            .filter(|op| op.is("lease") || op.is("recover") || op.is("decide"))
    };
    let by = deeds().any(|op| match op.outcome {
        Outcome::Done => op.receipt() == Some(number),
        Outcome::Refused => false,
        Outcome::Unknown => true,
    });
    if !by {
        wrong.push("uncommitted: nobody recovered it".to_owned());
    }
    let decides =
        |op: &&&Op| op.is("decide") && op.step["decision"] != "discard" && op.may_be_done();
    if !decided.is_empty() && deeds().find(decides).is_none() {
        wrong.push("uncommitted: nobody decided it".to_owned());
    }
    wrong
}

/// What was acknowledged within a turn is committed, still waits, or was dropped by somebody.
fn not_there(part: &Part<'_>) -> Vec<String> {
    let committed: BTreeSet<_> = part.log.receipts.iter().map(|r| r.key.as_str()).collect();
    let waits = part.log.open.as_ref().map(|(key, _)| key.as_str());
    let mut problems = Vec::new();
    for (key, ops) in &part.turns {
        let says = |op: &&&Op| op.says() && op.is_done() && !op.items.is_empty();
        // A commit that was acknowledged has a receipt to ask for.
        let kept = ops.iter().filter(says).find(|op| !op.is("commit"));
        let Some(op) = kept.filter(|_| !committed.contains(key)) else {
            continue;
        };
        let dropped = part.ops.iter().any(|deed| {
            let drops = (deed.is("abort") && deed.key == **key)
                || (deed.is("decide") && deed.step["decision"] == "discard");
            drops && deed.may_be_done() && deed.returned > op.invoked
        });
        if !dropped && waits != Some(*key) {
            problems.push(part.problem(&format!("lost: what {} said", op.name())));
        }
    }
    problems
}
