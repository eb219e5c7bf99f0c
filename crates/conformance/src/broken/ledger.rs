//! A store with one fault, around a good one.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::OnceLock;

use siglum_domain::LedgerId;
use siglum_ledger::{Durability, Ledger, LedgerError, SearchIndex, Transaction};

use super::Fault;
use crate::tests::open;

type Work<'a> = &'a mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>;

/// A shelf whose stores have one fault.
pub(super) struct Broken {
    dir: tempfile::TempDir,
    fault: Fault,
    opened: Cell<u32>,
}

/// An empty store, made once: to copy it is faster than to make another one.
fn template() -> &'static [u8] {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        drop(open(&path).unwrap());
        let db = rusqlite::Connection::open(&path).unwrap();
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        drop(db);
        std::fs::read(&path).unwrap()
    })
}

impl Broken {
    pub(super) fn new(fault: Fault) -> Self {
        let memory = std::path::Path::new("/dev/shm");
        let dir = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        };
        Self {
            dir: dir.unwrap(),
            fault,
            opened: Cell::new(0),
        }
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
        if !path.exists() {
            std::fs::write(&path, template()).unwrap();
        }
        let nth = self.opened.replace(self.opened.get() + 1);
        Ok(Box::new(BrokenLedger {
            good: open(&path)?,
            state: State {
                fault: self.fault,
                nth,
                calls: 0,
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
        Ok(self)
    }
}

fn other_error(fault: Fault, done: Result<(), LedgerError>) -> Result<(), LedgerError> {
    match done {
        Err(_) if fault == Fault::OtherError => Err(LedgerError::Busy),
        done => done,
    }
}
