//! Driven turns: one driver at a time leases a session, opens a turn, says what happens in it, and commits it.
//!
//! What is said waits outside the log, where nobody but the driver reads it. [`commit`] is one transaction that checks
//! the lease and where the log ends, takes the turn into the log, seals it with a receipt and makes that due at every
//! projection. It is keyed: said twice it is done once, and a driver that lost the answer gets it by asking again.
//! A driver that dies leaves a tail, which [`recover`] settles or holds for a person.

mod driver;
mod error;
mod event;
mod lease;
mod read;
mod recover;
mod say;
mod sessions;
#[cfg(test)]
mod tests;

pub use driver::Driver;
pub use error::{Fate, TurnError};
pub use event::Event;
pub use lease::{Hold, Holder, release, renew};
pub(crate) use lease::{is_held_by, prolong};
pub(crate) use read::between;
pub use read::{Page, committed, context, history, pending, receipt};
pub use recover::{
    Decider, Decision, Held, Leased, Recovered, decide, held, lease, recover, waiting, waits,
};
pub(crate) use recover::{borrow, break_off, recover_all};
pub use say::{Committed, Opened, abort, append, commit, open};
pub(crate) use say::{commit_before, still_unknown};
pub use sessions::{NewSession, archive, create, fork};

use siglum_domain::{LedgerId, SessionId, TurnKey};
use siglum_ledger::{SessionRecord, Transaction, attempt};

/// The most events of one turn.
pub const EVENTS_MOST: usize = 10_000;
/// The most bytes of one event, as JSON.
pub const EVENT_BYTES_MOST: usize = 4 << 20;
/// The most bytes of all events of one turn.
pub const TURN_BYTES_MOST: usize = 64 << 20;

fn driven(tx: &mut dyn Transaction, session: SessionId) -> Result<SessionRecord, TurnError> {
    let record = tx.session(session)?.ok_or(TurnError::NoSession(session))?;
    match record.mode {
        siglum_ledger::Mode::Driven => Ok(record),
        siglum_ledger::Mode::Observed => Err(TurnError::NotDriven(session)),
    }
}

/// A driven session that may be written to.
fn writable(tx: &mut dyn Transaction, session: SessionId) -> Result<SessionRecord, TurnError> {
    let record = driven(tx, session)?;
    if let Some(at) = record.archived_at {
        return Err(TurnError::Archived { session, at });
    }
    match &record.quarantined {
        Some(reason) => Err(TurnError::Quarantined {
            session,
            reason: reason.clone(),
        }),
        None => Ok(record),
    }
}

/// Refuses a session whose chain another ledger extends.
fn at_home(record: &SessionRecord, home: LedgerId) -> Result<(), TurnError> {
    match record.home == home {
        true => Ok(()),
        false => Err(TurnError::Replica {
            session: record.id,
            home: record.home,
        }),
    }
}

/// Refuses a write under a lease that somebody else took since. Nobody takes it before this transaction ends.
fn fence(tx: &mut dyn Transaction, hold: Hold) -> Result<(), TurnError> {
    match tx.lease(hold.session)? {
        Some(lease) if lease.epoch == hold.epoch => Ok(()),
        None if tx.session(hold.session)?.is_none() => Err(TurnError::NoSession(hold.session)),
        lease => Err(TurnError::Fenced {
            session: hold.session,
            epoch: hold.epoch,
            newest: lease.map_or(0, |l| l.epoch),
        }),
    }
}

/// The name of a turn or an event, if it keeps to the grammar.
fn key(field: &'static str, text: &str) -> Result<TurnKey, TurnError> {
    TurnKey::new(text).map_err(|e| TurnError::Invalid {
        field,
        rule: e.rule.to_owned(),
    })
}
