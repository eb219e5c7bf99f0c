//! What the ledger holds when all drivers are gone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::history::{Item, Op};
use crate::faults::driver::Driver;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Receipt {
    pub(super) number: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) digest: String,
    /// What its driver called the turn; empty where nobody asked for it.
    pub(super) key: String,
}

impl Receipt {
    fn read(value: &Value) -> Self {
        let number = |key: &str| value[key].as_u64().unwrap();
        Self {
            number: number("number"),
            first: number("first"),
            last: number("last"),
            digest: value["digest"].as_str().unwrap().to_owned(),
            key: String::new(),
        }
    }

    /// Whether an answer names it, and names it right.
    pub(super) fn is(&self, answer: &Value) -> bool {
        Self {
            key: self.key.clone(),
            ..Self::read(answer)
        } == *self
    }
}

/// One session.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    pub(super) entries: Vec<Item>,
    pub(super) receipts: Vec<Receipt>,
    /// The turn that is open, and what waits in it.
    pub(super) open: Option<(String, Vec<Item>)>,
    /// What it has from before it was forked.
    pub(super) inherited: Vec<Item>,
}

impl Log {
    /// What a receipt seals, as far as it is there.
    pub(super) fn items(&self, receipt: &Receipt) -> &[Item] {
        let at = |n: u64| usize::try_from(n).unwrap().min(self.entries.len());
        let (from, to) = (at(receipt.first.saturating_sub(1)), at(receipt.last));
        &self.entries[from.min(to)..to]
    }

    /// The number of the receipt that ends at this entry; none within a turn.
    pub(super) fn ends_at(&self, last: u64) -> Option<u64> {
        let ends = self.receipts.binary_search_by_key(&last, |r| r.last).ok();
        match last {
            0 => Some(0),
            _ => ends.map(|at| self.receipts[at].number),
        }
    }
}

/// All sessions.
pub(super) type Authority = BTreeMap<String, Log>;

fn items(entries: &Value) -> Vec<Item> {
    entries.as_array().unwrap().iter().map(Item::read).collect()
}

const PAGE: usize = 2_000;

/// Asks a driver that drives nothing.
pub(super) fn read(reader: &mut Driver, history: &[Op]) -> Authority {
    let mut all = Authority::new();
    for session in reader.must(&json!({ "do": "list" })).as_array().unwrap() {
        let session = session.as_str().unwrap();
        all.insert(session.to_owned(), log(reader, session, history));
    }
    for held in reader.must(&json!({ "do": "held" })).as_array().unwrap() {
        let log = all.get_mut(held["session"].as_str().unwrap()).unwrap();
        log.open = Some((
            held["key"].as_str().unwrap().to_owned(),
            items(&held["said"]),
        ));
    }
    let forked = |op: &&Op| op.is("fork") && op.is_done();
    let forks: BTreeSet<_> = history
        .iter()
        .filter(forked)
        .map(|op| &op.answer["session"])
        .map(Value::to_string)
        .collect();
    for (session, log) in &mut all {
        if forks.contains(&json!(session).to_string()) {
            let whole = items(&reader.must(&json!({ "do": "history", "session": session })));
            let own = whole.len() - log.entries.len();
            log.inherited = whole[..own].to_vec();
        }
    }
    all
}

fn log(reader: &mut Driver, session: &str, history: &[Op]) -> Log {
    let mut log = Log::default();
    let step = |what: &str, after: u64| json!({ "do": what, "session": session, "after": after, "limit": PAGE });
    loop {
        let page = reader.must(&step("page", log.entries.len() as u64));
        let more = items(&page["entries"]);
        if more.is_empty() {
            break;
        }
        log.entries.extend(more);
    }
    loop {
        let after = log.receipts.last().map_or(0, |r| r.number);
        let more = reader.must(&step("sealed", after));
        let more: Vec<_> = more.as_array().unwrap().iter().map(Receipt::read).collect();
        if more.is_empty() {
            break;
        }
        log.receipts.extend(more);
    }
    let of = history
        .iter()
        .filter(|op| op.session == session && !op.key.is_empty());
    let keys: BTreeSet<_> = of.map(|op| op.key.as_str()).collect();
    let keys: Vec<_> = keys.into_iter().collect();
    for keys in keys.chunks(PAGE) {
        let numbers = reader.must(&json!({ "do": "keyed", "session": session, "keys": keys }));
        for (key, number) in keys.iter().zip(numbers.as_array().unwrap()) {
            let Some(number) = number.as_u64() else {
                continue;
            };
            let at = log.receipts.binary_search_by_key(&number, |r| r.number);
            let receipt = &mut log.receipts[at.expect("a receipt that has a key is listed")];
            assert_eq!(
                receipt.key, "",
                "receipt {number} of {session} has two keys"
            );
            (*key).clone_into(&mut receipt.key);
        }
    }
    log
}
