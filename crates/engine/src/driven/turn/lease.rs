//! Who may drive a session.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{Durability, Ledger, LedgerError, OpenTurn, Transaction};

use super::{TurnError, attempt};
use crate::Here;

/// Who drives: a name for people, and the process where one is known. Two drivers are never equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// For people: a host, a program, a replica.
    pub name: String,
    /// Tells two drivers of one process apart.
    pub nonce: String,
    /// The process, where the store is on the same machine: a lease of a dead one is free at once.
    pub process: Option<ProcessIdentity>,
}

impl Holder {
    /// The form in which leases hold it.
    pub(super) fn stored(&self) -> String {
        serde_json::to_string(self).expect("because a holder has text keys only")
    }

    /// The holder of a lease; one that another version wrote is only its text.
    pub(crate) fn read(stored: &str) -> Self {
        serde_json::from_str(stored).unwrap_or_else(|_| Self {
            name: stored.to_owned(),
            nonce: String::new(),
            process: None,
        })
    }
}

/// The right to write to a session, as long as nobody took it over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The session.
    pub session: SessionId,
    /// The epoch of the lease.
    pub epoch: u64,
}

/// Whether a lease is this one's, whether it has run out or not.
pub(crate) fn is_held_by(lease: &siglum_ledger::Lease, holder: &Holder) -> bool {
    lease.holder == holder.stored()
}

/// Takes the lease, if it is free: given back, run out, or of a process that is dead.
pub(super) fn take(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
    holder: &Holder,
    at: Timestamp,
    term: Duration,
) -> Result<u64, TurnError> {
    let until = at.plus_millis(i64::try_from(term.as_millis()).unwrap_or(i64::MAX / 2_000_000));
    let stored = holder.stored();
    let held = tx.lease(session)?.filter(|lease| lease.expires_at > at);
    if let Some(lease) = held.filter(|lease| lease.holder != stored) {
        let other = Holder::read(&lease.holder);
        let dead = other.process.as_ref().and_then(|p| (here.alive)(p)) == Some(false);
        if !dead {
            return Err(TurnError::Leased {
                session,
                holder: other.name,
                until: lease.expires_at,
            });
        }
        tx.release_lease(session, lease.epoch, at)?;
    }
    let epoch = tx.take_lease(session, &stored, at, until)?;
    epoch.ok_or(TurnError::Ledger(LedgerError::Busy))
}

/// Prolongs a lease to `term` from now, also one that ran out and that nobody took. Gives the hold to go on with.
///
/// # Errors
/// [`TurnError::Fenced`] if somebody else took it.
pub fn renew(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    hold: Hold,
    term: Duration,
) -> Result<Hold, TurnError> {
    attempt(ledger, Durability::Process, |tx| {
        prolong(here, tx, hold, term)
    })
}

/// Prolongs a lease as a part of a transaction, as [`renew`] does.
pub(crate) fn prolong(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    hold: Hold,
    term: Duration,
) -> Result<Hold, TurnError> {
    super::fence(tx, hold)?;
    let at = tx.clock(here.now())?;
    let until = at.plus_millis(i64::try_from(term.as_millis()).unwrap_or(i64::MAX / 2_000_000));
    let lease = tx.lease(hold.session)?;
    let stored = lease.map(|l| l.holder).unwrap_or_default();
    let epoch = tx
        .take_lease(hold.session, &stored, at, until)?
        .ok_or(TurnError::Ledger(LedgerError::Busy))?;
    if let Some(turn) = tx.open_turn(hold.session)?
        && turn.epoch != epoch
    {
        tx.put_open_turn(&OpenTurn { epoch, ..turn })?;
    }
    let session = hold.session;
    Ok(Hold { session, epoch })
}

/// Gives a lease back. One that somebody else took since stays.
///
/// # Errors
/// [`TurnError::NoSession`], and those of the store.
pub fn release(here: &Here<'_>, ledger: &mut dyn Ledger, hold: Hold) -> Result<(), TurnError> {
    attempt(ledger, Durability::Process, |tx| {
        if tx.session(hold.session)?.is_none() {
            return Err(TurnError::NoSession(hold.session));
        }
        let at = tx.clock(here.now())?;
        Ok(tx.release_lease(hold.session, hold.epoch, at)?)
    })
}
