//! A driver that stays: it holds its lease, knows where the log ends, and commits turn after turn.

use std::time::Duration;

use siglum_domain::SessionId;
use siglum_domain::observation::Observation;
use siglum_domain::receipt::Receipt;
use siglum_ledger::{Ledger, OpenTurn};

use super::lease::{Hold, Holder, release, renew};
use super::recover::{Leased, lease};
use super::say::{Committed, Opened, abort, append, commit, open, still_unknown};
use super::{Fate, Recovered, TurnError};
use crate::Here;

/// The driver of one session. What it is told of the log it keeps, so that a write which comes too late is refused
/// and never lands behind another one's.
#[derive(Debug, Clone)]
pub struct Driver {
    hold: Hold,
    committed: u64,
    term: Duration,
    open: Option<OpenTurn>,
    /// The turn of which nobody knows yet whether it is committed.
    doubt: Option<String>,
    /// What became of the turn that the driver before left open.
    pub recovered: Recovered,
}

impl Driver {
    /// Takes the lease of a session for `term`, and settles what the driver before left.
    ///
    /// # Errors
    /// As [`lease`].
    pub fn take(
        here: &Here<'_>,
        ledger: &mut dyn Ledger,
        session: SessionId,
        holder: &Holder,
        term: Duration,
    ) -> Result<Self, TurnError> {
        let Leased {
            hold,
            committed,
            recovered,
            open,
        } = lease(here, ledger, session, holder, term)?;
        Ok(Self {
            hold,
            committed,
            term,
            open,
            doubt: None,
            recovered,
        })
    }

    /// The right to write that it has.
    #[must_use]
    pub const fn hold(&self) -> Hold {
        self.hold
    }

    /// Where the log ends, as far as it knows.
    #[must_use]
    pub const fn committed(&self) -> u64 {
        self.committed
    }

    /// The turn that is open: its own, or one that the driver before opened and in which nothing was answered.
    #[must_use]
    pub const fn open_turn(&self) -> Option<&OpenTurn> {
        self.open.as_ref()
    }

    /// Prolongs the lease by its term. To be called well before it runs out.
    ///
    /// # Errors
    /// [`TurnError::Fenced`] if somebody else took it.
    pub fn renew(&mut self, here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<(), TurnError> {
        self.hold = renew(here, ledger, self.hold, self.term)?;
        Ok(())
    }

    /// As [`open`]. Gives the receipt of a turn of this key that was committed before.
    ///
    /// # Errors
    /// As [`open`].
    pub fn open(
        &mut self,
        here: &Here<'_>,
        ledger: &mut dyn Ledger,
        key: &str,
        observations: &[Observation],
    ) -> Result<Option<Receipt>, TurnError> {
        match open(here, ledger, self.hold, self.committed, key, observations)? {
            Opened::Turn(turn) => {
                self.open = Some(turn);
                Ok(None)
            }
            Opened::Committed(receipt) => Ok(Some(receipt)),
        }
    }

    /// As [`append`], to the turn that is open.
    ///
    /// # Errors
    /// As [`append`].
    pub fn append(
        &self,
        here: &Here<'_>,
        ledger: &mut dyn Ledger,
        observations: &[Observation],
    ) -> Result<(), TurnError> {
        append(here, ledger, self.hold, self.open_key(), observations)
    }

    /// As [`commit`].
    ///
    /// # Errors
    /// As [`commit`].
    pub fn commit(
        &mut self,
        here: &Here<'_>,
        ledger: &mut dyn Ledger,
        key: &str,
        observations: &[Observation],
    ) -> Result<Committed, TurnError> {
        let done = commit(here, ledger, self.hold, self.committed, key, observations)
            .map_err(|error| self.doubted(key, error))?;
        self.committed = self.committed.max(done.receipt.last);
        self.open = None;
        self.doubt = None;
        Ok(done)
    }

    /// A store that fails when it is asked again does not say what became of the first write.
    fn doubted(&mut self, key: &str, error: TurnError) -> TurnError {
        if error.fate() == Fate::Unknown {
            self.doubt = Some(key.to_owned());
        }
        match error {
            TurnError::Ledger(error) if self.doubt.as_deref() == Some(key) => still_unknown(error),
            other => other,
        }
    }

    /// As [`abort`], of the turn that is open.
    ///
    /// # Errors
    /// As [`abort`].
    pub fn abort(&mut self, ledger: &mut dyn Ledger) -> Result<(), TurnError> {
        abort(ledger, self.hold, self.open_key())?;
        self.open = None;
        Ok(())
    }

    /// Gives the lease back.
    ///
    /// # Errors
    /// Those of the store.
    pub fn release(self, here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<(), TurnError> {
        release(here, ledger, self.hold)
    }

    fn open_key(&self) -> &str {
        self.open.as_ref().map_or("", |turn| &turn.key)
    }
}
