//! Whether a run of entries is what was recorded.

use std::fmt;

use super::{Entry, GENESIS};
use crate::LedgerId;

/// What is wrong at a place of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The number of the entry.
    pub number: u64,
    pub wrong: Wrong,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// It is not there, and those after it up to this one are not, either.
    Missing {
        /// The last one that is not there.
        last: u64,
    },
    Unreadable(String),
    /// It is not what its digest says.
    Changed,
    /// Its body is not what its digest says.
    Body,
    /// It is not chained to the entry before it.
    Unchained,
    /// It is there twice, or behind one with a greater number.
    OutOfOrder,
    /// It stands behind the one that was recorded last.
    Beyond,
    /// It is the last one, and another one was recorded in its place.
    NotTheLast,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match &self.wrong {
            Wrong::Missing { last } if *last == number => write!(f, "entry {number} is missing"),
            Wrong::Missing { last } => write!(f, "entries {number} to {last} are missing"),
            Wrong::Unreadable(what) => write!(f, "entry {number} cannot be read: {what}"),
            Wrong::Changed => write!(f, "entry {number} is not what was recorded"),
            Wrong::Body => write!(f, "the body of entry {number} is not what was recorded"),
            Wrong::Unchained => write!(f, "entry {number} is not chained to the one before"),
            Wrong::OutOfOrder => write!(f, "entry {number} is out of order"),
            Wrong::Beyond => write!(f, "entry {number} stands behind the one recorded last"),
            Wrong::NotTheLast => write!(f, "entry {number} is not the one recorded last"),
        }
    }
}

/// Verifies entries, one after the other, in the order in which they should stand.
#[derive(Debug)]
pub struct Verifying {
    ledger: LedgerId,
    /// The number of the entry before.
    last: u64,
    /// Its digest; unknown behind one that is missing or cannot be read.
    digest: Option<String>,
}

impl Verifying {
    /// From the beginning of a ledger's chain.
    #[must_use]
    pub fn new(ledger: LedgerId) -> Self {
        Self {
            ledger,
            last: 0,
            digest: Some(GENESIS.to_owned()),
        }
    }

    /// From behind an entry that is gone, of which the number and the digest are known.
    #[must_use]
    pub const fn after(ledger: LedgerId, number: u64, digest: String) -> Self {
        Self {
            ledger,
            last: number,
            digest: Some(digest),
        }
    }

    /// From the entry of this number on. What is before is taken on trust.
    #[must_use]
    pub const fn from(ledger: LedgerId, number: u64) -> Self {
        Self {
            ledger,
            last: number.saturating_sub(1),
            digest: None,
        }
    }

    /// Takes the next entry, or what is known of one that cannot be read, and gives what is wrong.
    pub fn entry(&mut self, number: u64, entry: Result<&Entry, &str>) -> Vec<Flaw> {
        let mut flaws = Vec::new();
        let mut add = |number, wrong| flaws.push(Flaw { number, wrong });
        if number <= self.last {
            add(number, Wrong::OutOfOrder);
            return flaws;
        }
        if number > self.last + 1 {
            let last = number - 1;
            add(self.last + 1, Wrong::Missing { last });
            self.digest = None;
        }
        self.last = number;
        let before = self.digest.take();
        match entry {
            Err(what) => add(number, Wrong::Unreadable(what.to_owned())),
            Ok(entry) => {
                if entry.number != number || entry.digest != entry.expected(self.ledger) {
                    add(number, Wrong::Changed);
                } else if before.is_some_and(|digest| digest != entry.previous) {
                    add(number, Wrong::Unchained);
                }
                let body = entry.body.as_ref();
                if body.is_some_and(|body| body.digest() != entry.body_digest) {
                    add(number, Wrong::Body);
                }
                self.digest = Some(entry.digest.clone());
            }
        }
        flaws
    }

    /// Compares the end of the run with what the store says of it: the number and digest of the last entry.
    #[must_use]
    pub fn end(&self, number: u64, digest: &str) -> Option<Flaw> {
        let last = self.last;
        if last < number {
            let wrong = Wrong::Missing { last: number };
            return Some(Flaw {
                number: last + 1,
                wrong,
            });
        }
        let other = self.digest.as_deref().is_some_and(|d| d != digest);
        let wrong = match last > number {
            true => Wrong::Beyond,
            false if other => Wrong::NotTheLast,
            false => return None,
        };
        let number = if last > number { number + 1 } else { number };
        Some(Flaw { number, wrong })
    }
}
