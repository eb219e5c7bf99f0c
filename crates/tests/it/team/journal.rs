//! What was acknowledged, how long it took, what was broken on the way, and which promises were.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::receipts::Receipts;

/// From when until when something went on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) begun: Instant,
    pub(super) over: Instant,
}

impl Span {
    /// What began then and is over now.
    pub(super) fn since(begun: Instant) -> Self {
        Self {
            begun,
            over: Instant::now(),
        }
    }

    pub(super) fn length(self) -> Duration {
        self.over - self.begun
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.begun < other.over && other.begun < self.over
    }
}

/// What is written down.
#[derive(Default)]
pub(super) struct Records {
    /// The receipts that somebody got, of the gateway's sessions and of laptops'.
    pub(super) receipts: Receipts,
    /// The names of conversations that were created, by the session of each.
    pub(super) conversations: BTreeMap<String, String>,
    /// What was said in committed turns, each only once: by session.
    pub(super) messages: BTreeMap<String, Vec<String>>,
    /// The pipelines of which every event was acknowledged.
    pub(super) pipelines: BTreeSet<String>,
    /// Acknowledged writes of the API, and answered reads.
    pub(super) writes: Vec<Span>,
    pub(super) reads: Vec<Span>,
    pub(super) faults: Vec<(&'static str, Span)>,
    pub(super) counts: BTreeMap<&'static str, u64>,
    pub(super) problems: Vec<String>,
}

/// The records of all who work at once.
#[derive(Default)]
pub(super) struct Journal(Mutex<Records>);

impl Journal {
    pub(super) fn records(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap()
    }

    pub(super) fn count(&self, what: &'static str) {
        *self.records().counts.entry(what).or_default() += 1;
    }

    /// A promise is broken.
    pub(super) fn problem(&self, text: String) {
        eprintln!("broken: {text}");
        self.records().problems.push(text);
    }

    /// Somebody got these receipts. Another digest under a number that was given out is a problem.
    pub(super) fn acknowledge(&self, receipts: Receipts) {
        let mut changed = Vec::new();
        let mut records = self.records();
        for (position, digest) in receipts {
            let known = records
                .receipts
                .entry(position.clone())
                .or_insert(digest.clone());
            if *known != digest {
                changed.push(format!("{position:?} was {known} and is {digest}"));
            }
        }
        drop(records);
        for text in changed {
            self.problem(format!("two receipts of one number: {text}"));
        }
    }

    /// Does something whose surprises are problems, and end nothing else.
    pub(super) fn watch(&self, who: &str, work: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            self.problem(format!("{who}: {}", text.unwrap_or_default()));
        }
    }
}
