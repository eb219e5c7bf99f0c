//! A store with one fault, around a good one.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use siglum_domain::LedgerId;
use siglum_ledger::{Durability, Ledger, LedgerError, SearchIndex, Transaction};

use super::Fault;
use crate::tests::{directory, open_or_copy};

type Work<'a> = &'a mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>;

/// The names of verbs that were called.
pub(super) type Called = BTreeSet<&'static str>;

/// A shelf whose stores have one fault.
pub(super) struct Broken {
    dir: tempfile::TempDir,
    fault: Fault,
    opened: Cell<u32>,
    called: Arc<Mutex<Called>>,
}

impl Broken {
    pub(super) fn new(fault: Fault) -> Self {
        Self {
            dir: directory(),
            fault,
            opened: Cell::new(0),
            called: Arc::default(),
        }
    }

    /// The verbs that were called so far, through any handle.
    pub(super) fn called(&self) -> Called {
        self.called.lock().unwrap().clone()
    }

    fn path(&self) -> PathBuf {
        let own = if self.fault == Fault::Separate {
            self.opened.get()
        } else {
            0
        };
        self.dir.path().join(format!("ledger-{own}.db"))
    }
}

impl crate::Shelf for Broken {
    fn open(&self) -> Result<Box<dyn Ledger + Send>, LedgerError> {
        let path = self.path();
        let nth = self.opened.replace(self.opened.get() + 1);
        Ok(Box::new(BrokenLedger {
            good: open_or_copy(&path)?,
            state: State {
                fault: self.fault,
                nth,
                calls: 0,
                called: Arc::clone(&self.called),
            },
        }))
    }
}

/// Which fault, and what it remembers.
pub(super) struct State {
    pub(super) fault: Fault,
    /// How many handles were opened before.
    pub(super) nth: u32,
    /// How often the faulty verb was called.
    pub(super) calls: u64,
    called: Arc<Mutex<Called>>,
}

impl State {
    /// Keeps that a verb was called.
    pub(super) fn note(&self, verb: &'static str) {
        self.called.lock().unwrap().insert(verb);
    }
}

/// A ledger with one fault.
pub(super) struct BrokenLedger {
    pub(super) good: Box<dyn Ledger + Send>,
    pub(super) state: State,
}

/// The verbs of a store with one fault.
pub(super) struct BrokenTx<'a> {
    pub(super) good: &'a mut dyn Transaction,
    pub(super) state: &'a mut State,
}

impl Transaction for BrokenTx<'_> {
    fn nested(&mut self, work: Work<'_>) -> Result<(), LedgerError> {
        let state = &mut *self.state;
        let fault = state.fault;
        let mut stopped = None;
        let done = self
            .good
            .nested(&mut |good| match work(&mut BrokenTx { good, state }) {
                Err(error) if fault == Fault::HalfNested => {
                    stopped = Some(error);
                    Ok(())
                }
                done => done,
            });
        stopped.map_or(done, Err)
    }
}

impl Ledger for BrokenLedger {
    fn id(&self) -> LedgerId {
        self.good.id()
    }

    fn key(&self) -> [u8; 32] {
        let mut key = self.good.key();
        if self.state.fault == Fault::NewKey {
            key[0] ^= u8::try_from(self.state.nth).unwrap();
        }
        key
    }

    fn read(&mut self, work: Work<'_>) -> Result<(), LedgerError> {
        let state = &mut self.state;
        let fault = state.fault;
        let done = self
            .good
            .read(&mut |good| work(&mut BrokenTx { good, state }));
        other_error(fault, done)
    }

    fn write(&mut self, durability: Durability, work: Work<'_>) -> Result<(), LedgerError> {
        let state = &mut self.state;
        let fault = state.fault;
        let mut stopped = None;
        let done = self.good.write(
            durability,
            &mut |good| match work(&mut BrokenTx { good, state }) {
                Err(error) if fault == Fault::HalfCommits => {
                    stopped = Some(error);
                    Ok(())
                }
                done => done,
            },
        );
        match (fault, stopped, done) {
            (_, Some(error), _) => Err(error),
            (Fault::SwallowsErrors, ..) => Ok(()),
            (_, None, done) => other_error(fault, done),
        }
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        self.good.maintain()
    }

    fn maintain_at_work(&mut self) -> Result<(), LedgerError> {
        self.good.maintain_at_work()
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        self.good.scrub()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        self.good.check()
    }

    fn index(&mut self) -> Result<&mut dyn SearchIndex, LedgerError> {
        self.note_index();
        Ok(self)
    }
}

fn other_error(fault: Fault, done: Result<(), LedgerError>) -> Result<(), LedgerError> {
    match done {
        Err(_) if fault == Fault::OtherError => Err(LedgerError::Busy),
        done => done,
    }
}
