//! What was read meanwhile is a beginning of what is there at the end, and never less than before.

use std::collections::BTreeMap;

use super::super::history::{Item, Op};
use super::{Known, Part};

pub(super) fn check(part: &Part<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let known = Known::new(acknowledged_receipts(part));
    let begun = begun(part);
    for op in part.ops.iter().filter(|op| op.is_done()) {
        let wrong = match op.what.as_str() {
            "page" => page(part, op, &known, &begun),
            "sealed" => sealed(part, op, &known, &begun),
            "keyed" => keyed(part, op),
            "pending" => pending(part, op),
            "lease" => leased(part, op, &known, &begun),
            _ => None,
        };
        problems.extend(wrong.map(|what| part.problem(&format!("{what}: {}", op.name()))));
    }
    problems
}

fn after(op: &Op) -> usize {
    usize::try_from(op.step["after"].as_u64().unwrap_or_default()).unwrap()
}

fn limit(op: &Op) -> usize {
    usize::try_from(op.step["limit"].as_u64().unwrap_or_default()).unwrap()
}

fn list(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The number of the last receipt that an operation was told of.
fn number(part: &Part<'_>, op: &Op) -> Option<u64> {
    match op.what.as_str() {
        "page" | "lease" => part.log.ends_at(op.answer["committed"].as_u64()?),
        "sealed" => list(&op.answer).last()?["number"].as_u64(),
        "keyed" => list(&op.answer)
            .iter()
            .filter_map(serde_json::Value::as_u64)
            .max(),
        _ => op.receipt(),
    }
}

fn acknowledged_receipts(part: &Part<'_>) -> Vec<(u64, u64)> {
    let done = part.ops.iter().filter(|op| op.is_done());
    done.filter_map(|op| Some((op.returned, number(part, op)?)))
        .collect()
}

/// When a turn was first asked to be committed, for those that their driver committed.
fn begun<'a>(part: &'a Part<'_>) -> BTreeMap<&'a str, u64> {
    let mut first = BTreeMap::new();
    for op in part.all("commit").filter(|op| op.may_be_done()) {
        first.entry(op.key.as_str()).or_insert(op.invoked);
    }
    first
}

/// Whether so many receipts can be there when this was read.
fn timely(
    part: &Part<'_>,
    op: &Op,
    number: u64,
    known: &Known,
    begun: &BTreeMap<&str, u64>,
) -> Option<String> {
    if number < known.before(op.invoked) {
        return Some(format!(
            "stale: {number} receipts, fewer than were known before"
        ));
    }
    let at = usize::try_from(number).unwrap();
    let receipt = part.log.receipts.get(at.checked_sub(1)?)?;
    let recovered = part
        .log
        .items(receipt)
        .last()
        .is_some_and(Item::is_of_recovery);
    let requested = begun.get(receipt.key.as_str()).copied().unwrap_or_default();
    let early = !recovered && requested > op.returned;
    early.then(|| format!("uncommitted: receipt {number} before anybody asked for it"))
}

fn page(part: &Part<'_>, op: &Op, known: &Known, begun: &BTreeMap<&str, u64>) -> Option<String> {
    let read: Vec<Item> = list(&op.answer["entries"]).iter().map(Item::read).collect();
    let committed = op.answer["committed"].as_u64()?;
    let (from, to) = (after(op), after(op) + read.len());
    if part.log.entries.get(from.min(to)..to) != Some(&read[..]) && !read.is_empty() {
        return Some("uncommitted: what was read is not in the log".to_owned());
    }
    let there = usize::try_from(committed).unwrap().saturating_sub(from);
    if read.len() != there.min(limit(op)) {
        return Some(format!(
            "uncommitted: {} entries of {there} were read",
            read.len()
        ));
    }
    match part.log.ends_at(committed) {
        None => Some(format!(
            "uncommitted: the log ended in a turn, at {committed}"
        )),
        Some(number) => timely(part, op, number, known, begun),
    }
}

fn sealed(part: &Part<'_>, op: &Op, known: &Known, begun: &BTreeMap<&str, u64>) -> Option<String> {
    let read = list(&op.answer);
    let stored = part.log.receipts.get(after(op)..).unwrap_or_default();
    let same = read.len() <= stored.len() && stored.iter().zip(read).all(|(s, r)| s.is(r));
    if !same {
        return Some(
            "uncommitted: the receipts that were read are not those of the log".to_owned(),
        );
    }
    if read.len() == limit(op) {
        return None;
    }
    match read.last() {
        Some(last) => timely(part, op, last["number"].as_u64()?, known, begun),
        None if after(op) as u64 >= known.before(op.invoked) => None,
        None => Some("stale: no receipt was read".to_owned()),
    }
}

fn keyed(part: &Part<'_>, op: &Op) -> Option<String> {
    for (key, number) in list(&op.step["keys"]).iter().zip(list(&op.answer)) {
        let key = key.as_str()?;
        let Some(number) = number.as_u64() else {
            let acknowledged_before =
                |c: &Op| c.is_done() && c.key == key && c.returned < op.invoked;
            if part
                .turn(key)
                .iter()
                .any(|op| op.is("commit") && acknowledged_before(op))
            {
                return Some(format!("lost: {key} was acknowledged and not found"));
            }
            continue;
        };
        let at = usize::try_from(number).unwrap();
        let stored = part.log.receipts.get(at - 1);
        if stored.is_none_or(|r| r.key != key) {
            return Some(format!("lost: {key} was receipt {number}"));
        }
    }
    None
}

/// Who takes a session is told where its log ends.
fn leased(part: &Part<'_>, op: &Op, known: &Known, begun: &BTreeMap<&str, u64>) -> Option<String> {
    match part.log.ends_at(op.answer["committed"].as_u64()?) {
        None => Some("uncommitted: the log ended in a turn".to_owned()),
        Some(number) => timely(part, op, number, known, begun),
    }
}

/// A driver that looks at its open turn finds all that it said and was acknowledged, and nothing of another turn.
fn pending(part: &Part<'_>, op: &Op) -> Option<String> {
    let read: Vec<Item> = list(&op.answer).iter().map(Item::read).collect();
    if let Some(other) = read.iter().find(|item| item.turn() != op.key) {
        return Some(format!(
            "interleaved: {} waits in turn {}",
            other.key, op.key
        ));
    }
    let of = part
        .turn(&op.key)
        .iter()
        .filter(|o| o.says() && !o.is("commit"));
    let mine = of
        .clone()
        .filter(|o| o.by == op.by && o.is_done() && o.returned < op.invoked);
    if let Some(lost) = mine
        .flat_map(|o| &o.items)
        .find(|item| !read.contains(item))
    {
        return Some(format!("lost: {} does not wait", lost.key));
    }
    let sent: Vec<&Item> = of
        .filter(|o| o.may_be_done())
        .flat_map(|o| &o.items)
        .collect();
    let other = read.iter().find(|item| !sent.contains(item))?;
    Some(format!("altered: nobody said {}", other.key))
}
