//! Asking a destination how far it is with what it was sent before.
//!
//! A destination may have lost what it had: somebody erased it there, or it came from a backup. What it lacks then, and
//! what this ledger did not forget itself, is due there once more.

use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{Durability, Forgotten, Ledger, LedgerError, Transaction, read, write};

use super::outgoing::Destined;
use super::stamps::{forget_remembered, last_remembered, next_stamp};
use super::wire::{Batch, Position, Positions};
use super::{DocumentName, encode};
use crate::Here;
use crate::share::scope::Guard;

/// Sessions that are asked about at once.
const PAGE: usize = 1_000;

/// Why a batch was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// It cannot be reached, does not answer, or does not know us: it is tried again for as long as it takes.
    #[error("{0}")]
    Unavailable(String),
    /// It does not want what is in the batch.
    #[error("{reason}")]
    Refused {
        /// The document that breaks a rule, where it says so.
        document: Option<DocumentName>,
        /// The rule, in its own words.
        reason: String,
    },
}

/// The way to a destination.
pub trait Gate {
    /// Hands over a batch, as [`encode`] made it, and gives the answer.
    ///
    /// # Errors
    /// Why it was not taken, as far as that is known.
    fn send(&mut self, batch: &[u8]) -> Result<Positions, GateError>;
}

/// What came of asking.
#[derive(Debug, Default)]
pub struct Rechecked {
    /// Sessions of which it has less than it was sent.
    pub lacking: u64,
    /// It does not know the last batch that it took: it was restored from an older backup, and all else that it was sent
    /// is due there again.
    pub was_restored: bool,
    /// Why not all of it was answered.
    pub trouble: Option<GateError>,
}

/// Asks a destination how far it is with each session that it was sent, and makes due again what it lacks.
///
/// # Errors
/// Those of the ledger.
pub fn recheck(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    to: &Destined<'_>,
    gate: &mut dyn Gate,
) -> Result<Rechecked, LedgerError> {
    let home = ledger.id();
    let mut rechecked = Rechecked::default();
    let (mut behind, mut is_asked) = (None, false);
    loop {
        let page = read(ledger, |tx| tx.delivered(to.name, behind, PAGE))?;
        let is_last = page.len() < PAGE;
        behind = page.last().copied();
        let (asks, stamp, after) = write(ledger, Durability::Process, |tx| {
            let asks = shareable_sessions(tx, to.name, &page)?;
            Ok((asks, next_stamp(here, tx)?, last_remembered(tx, to.name)?))
        })?;
        // Where there is nothing to ask about, it is still asked whether it knows the last batch.
        let is_known_there = after > Some(Timestamp::default());
        if !asks.is_empty() || (is_last && is_known_there && !is_asked) {
            let batch = Batch {
                asks,
                after,
                ..Batch::new(home, stamp)
            };
            let answer = match gate.send(&encode(&batch)) {
                Ok(answer) => answer,
                Err(trouble) => {
                    rechecked.trouble = Some(trouble);
                    break;
                }
            };
            is_asked = true;
            rechecked.was_restored |= answer.remembers == Some(false);
            let wanted = |p: &&Position| batch.asks.contains(&p.session);
            let positions: Vec<&Position> = answer.receipts.iter().filter(wanted).collect();
            rechecked.lacking += write(ledger, Durability::Disk, |tx| {
                set_back(here, tx, to.name, &positions)
            })?;
        }
        if is_last {
            break;
        }
    }
    write(ledger, Durability::Process, |tx| {
        if rechecked.lacking > 0 || rechecked.was_restored {
            // What it has it does not take twice.
            tx.restart_documents(to.name)?;
        }
        if rechecked.was_restored && rechecked.trouble.is_none() {
            forget_remembered(tx, to.name)?;
        }
        Ok(())
    })?;
    Ok(rechecked)
}

/// Those of the sessions that may leave and that this ledger did not forget.
fn shareable_sessions(
    tx: &mut dyn Transaction,
    name: &str,
    sessions: &[SessionId],
) -> Result<Vec<SessionId>, LedgerError> {
    let guard = Guard::read(tx, name)?;
    let mut shareable = Vec::with_capacity(sessions.len());
    for session in sessions {
        let forgotten = tx.session(*session)?.and_then(|r| r.forgotten);
        let is_forgotten = matches!(forgotten, Some(Forgotten::Whole { .. }));
        if !is_forgotten && guard.has_session(tx, *session)? {
            shareable.push(*session);
        }
    }
    Ok(shareable)
}

/// Notes where the destination is with the sessions of which it has less than was thought; gives their number.
fn set_back(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    name: &str,
    positions: &[&Position],
) -> Result<u64, LedgerError> {
    let now = tx.clock(here.now())?;
    let mut lacking = 0;
    for at in positions {
        let Some(delivery) = tx.delivery(name, at.session)? else {
            continue;
        };
        let number = at.number.max(delivery.left_out);
        if number < delivery.taken && is_ours(tx, at.session, Some(at))? {
            tx.come_to(name, at.session, number, now)?;
            lacking += 1;
        }
    }
    Ok(lacking)
}

/// Whether the last receipt that a destination says it has of a session is the one of this number here.
pub(super) fn is_ours(
    tx: &mut dyn Transaction,
    session: SessionId,
    at: Option<&Position>,
) -> Result<bool, LedgerError> {
    let Some(at) = at.filter(|p| p.number > 0) else {
        return Ok(true);
    };
    let ours = tx.receipts_after(session, at.number - 1, 1)?.pop();
    Ok(ours.is_some_and(|r| r.number == at.number && Some(&r.digest) == at.digest.as_ref()))
}
