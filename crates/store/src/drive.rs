//! Driving a session: one at a time, turn after turn.

use std::time::{Duration, Instant};

use siglum_domain::IdSource as _;
use siglum_domain::observation::Observation;
use siglum_domain::receipt::Receipt;
use siglum_engine::driven::turn::{self, Committed, Driver, Holder, Recovered, TurnError};
use siglum_ledger::{Ledger, OpenTurn};
use siglum_platform::clock::{self, Ids};

use crate::place::here;
use crate::store::Store;
use crate::{Event, SessionId};

/// The right to write to a session, for as long as it is used: each call prolongs it once half of its term is over.
///
/// Let go, it gives the session back. A turn that is open then is treated as that of a driver that died.
#[derive(Debug)]
pub struct Drive {
    store: Store,
    driver: Driver,
    term: Duration,
    renewed: Instant,
}

/// What opening a turn gives.
#[derive(Debug)]
pub enum Opening<'a> {
    /// The turn is open.
    Turn(Turn<'a>),
    /// A turn of this key was committed before.
    Committed(Receipt),
}

impl Store {
    /// Drives a session, for `term` from each use on, and settles what the driver before left.
    ///
    /// # Errors
    /// [`TurnError::Leased`] while somebody else does; [`TurnError::Held`] while a turn waits for a decision.
    pub fn drive(&self, session: SessionId, term: Duration) -> Result<Drive, TurnError> {
        let process = siglum_platform::own();
        let holder = Holder {
            name: process.as_ref().map_or_else(
                || format!("process {}", std::process::id()),
                |p| format!("process {} on {}", p.pid, p.host),
            ),
            nonce: Ids.fresh().to_string(),
            process,
        };
        Drive::take(self, session, &holder, term)
    }
}

impl Drive {
    fn take(
        store: &Store,
        session: SessionId,
        holder: &Holder,
        term: Duration,
    ) -> Result<Self, TurnError> {
        let renewed = Instant::now();
        let driver = store.with(|ledger| Driver::take(&here(), ledger, session, holder, term))?;
        if driver.recovered != Recovered::Nothing {
            store.committed();
        }
        let store = store.clone();
        Ok(Self {
            store,
            driver,
            term,
            renewed,
        })
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.driver.hold().session
    }

    /// What became of the turn that the driver before left open.
    #[must_use]
    pub const fn recovered(&self) -> &Recovered {
        &self.driver.recovered
    }

    /// The turn that is open. Right after the start it is one in which somebody asked and nothing was answered: open it
    /// by its key to answer, or to abort it.
    #[must_use]
    pub const fn open_turn(&self) -> Option<&OpenTurn> {
        self.driver.open_turn()
    }

    /// The last sequence of the log that is committed, as far as this driver knows.
    #[must_use]
    pub const fn committed(&self) -> u64 {
        self.driver.committed()
    }

    /// Opens a turn, or goes on with the one of this key that is open.
    ///
    /// # Errors
    /// [`TurnError::NotOpen`] while another turn is open, [`TurnError::Fenced`] if somebody else drives now.
    pub fn open(&mut self, key: &str) -> Result<Opening<'_>, TurnError> {
        let committed = self.act(|driver, ledger| driver.open(&here(), ledger, key, &[]))?;
        Ok(match committed {
            Some(receipt) => Opening::Committed(receipt),
            None => Opening::Turn(Turn {
                key: key.to_owned(),
                drive: self,
            }),
        })
    }

    /// Commits a turn at once, behind what was said in it if it is open. The same key with the same events again gives
    /// the same receipt.
    ///
    /// # Errors
    /// Nothing was written, unless [`TurnError::fate`] says that nobody can tell; then ask again.
    pub fn commit(
        &mut self,
        key: &str,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Committed, TurnError> {
        let observations = observed(events);
        // One that cannot be prolonged any more has no say in what this key already has.
        let _ = self.renew_in_time();
        let driver = &mut self.driver;
        let done = self
            .store
            .with(|ledger| driver.commit(&here(), ledger, key, &observations))?;
        self.store.committed();
        Ok(done)
    }

    /// Commits that the context was compacted to `summary`. What was before stays and can be read.
    ///
    /// # Errors
    /// As [`Drive::commit`].
    pub fn compact(&mut self, key: &str, summary: &str) -> Result<Committed, TurnError> {
        self.commit(key, [Event::compaction(key, summary)])
    }

    /// Prolongs the lease now. Each call does it by itself in time; this is for long pauses between calls.
    ///
    /// # Errors
    /// [`TurnError::Fenced`] if somebody else drives now.
    pub fn renew(&mut self) -> Result<(), TurnError> {
        let now = Instant::now();
        let driver = &mut self.driver;
        self.store.with(|ledger| driver.renew(&here(), ledger))?;
        self.renewed = now;
        Ok(())
    }

    /// Does something with the driver, under a lease that lasts.
    fn act<T>(
        &mut self,
        work: impl FnOnce(&mut Driver, &mut dyn Ledger) -> Result<T, TurnError>,
    ) -> Result<T, TurnError> {
        self.renew_in_time()?;
        let driver = &mut self.driver;
        self.store.with(|ledger| work(driver, ledger))
    }

    fn renew_in_time(&mut self) -> Result<(), TurnError> {
        if self.renewed.elapsed() * 2 >= self.term {
            self.renew()?;
        }
        Ok(())
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        let driver = self.driver.clone();
        // One that cannot be given back runs out, or is free when this process ends.
        let _ = self.store.with(|ledger| driver.release(&here(), ledger));
    }
}

/// A turn that is open. What is said in it survives the death of this process, and nobody sees it before it is
/// committed.
#[derive(Debug)]
pub struct Turn<'a> {
    key: String,
    drive: &'a mut Drive,
}

impl Turn<'_> {
    /// What the driver calls it.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Says one thing.
    ///
    /// # Errors
    /// [`TurnError::Conflict`] where the turn has an event of this key that says something else.
    pub fn say(&mut self, event: Event) -> Result<(), TurnError> {
        self.say_all([event])
    }

    /// Says several things, all of them or none.
    ///
    /// # Errors
    /// As [`Turn::say`].
    pub fn say_all(&mut self, events: impl IntoIterator<Item = Event>) -> Result<(), TurnError> {
        let observations = observed(events);
        self.drive
            .act(|driver, ledger| driver.append(&here(), ledger, &observations))
    }

    /// What was said in it so far.
    ///
    /// # Errors
    /// [`TurnError::Fenced`] if somebody else drives now.
    pub fn pending(&mut self) -> Result<Vec<Observation>, TurnError> {
        self.drive
            .act(|driver, ledger| turn::pending(ledger, driver.hold()))
    }

    /// Commits it.
    ///
    /// # Errors
    /// As [`Drive::commit`].
    pub fn commit(self) -> Result<Committed, TurnError> {
        self.drive.commit(&self.key, [])
    }

    /// Drops it, with all that was said in it.
    ///
    /// # Errors
    /// [`TurnError::Fenced`] if somebody else drives now.
    pub fn abort(self) -> Result<(), TurnError> {
        self.drive.act(|driver, ledger| driver.abort(ledger))
    }
}

fn observed(events: impl IntoIterator<Item = Event>) -> Vec<Observation> {
    let now = clock::now();
    events.into_iter().map(|e| e.observed(now)).collect()
}
