//! Asking a destination how far it is with what it was sent before.
//!
//! A destination may have lost what it had: somebody erased it there, or it came from a backup. What it lacks then, and
//! what this ledger did not forget itself, is due there once more.

use siglum_domain::SessionId;
use siglum_ledger::{Durability, Forgotten, Ledger, LedgerError, Transaction, read, write};

use super::encode;
use super::outgoing::next_stamp;
use super::send::{Destined, Gate, GateError, is_ours};
use super::wire::{Batch, Position};
use crate::Here;
use crate::share::scope::Guard;

/// Sessions that are asked about at once.
const PAGE: usize = 1_000;

/// What came of asking.
#[derive(Debug, Default)]
pub struct Rechecked {
    /// Sessions of which it has less than it was sent.
    pub lacking: u64,
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
    let mut after = None;
    loop {
        let page = read(ledger, |tx| tx.delivered(to.name, after, PAGE))?;
        let Some(last) = page.last().copied() else {
            break;
        };
        after = Some(last);
        let asks = read(ledger, |tx| kept(tx, to.name, &page))?;
        if asks.is_empty() {
            continue;
        }
        let stamp = write(ledger, Durability::Process, |tx| next_stamp(here, tx))?;
        let batch = Batch {
            asks,
            ..Batch::new(home, stamp)
        };
        match gate.send(&encode(&batch)) {
            Ok(answer) => {
                let wanted = |p: &&Position| batch.asks.contains(&p.session);
                let positions: Vec<&Position> = answer.receipts.iter().filter(wanted).collect();
                rechecked.lacking += write(ledger, Durability::Disk, |tx| {
                    set_back(here, tx, to.name, &positions)
                })?;
            }
            Err(trouble) => {
                rechecked.trouble = Some(trouble);
                break;
            }
        }
    }
    if rechecked.lacking > 0 {
        // What it has it does not take twice.
        write(ledger, Durability::Process, |tx| {
            tx.restart_documents(to.name)
        })?;
    }
    Ok(rechecked)
}

/// Those of the sessions that may leave and that this ledger did not forget.
fn kept(
    tx: &mut dyn Transaction,
    name: &str,
    sessions: &[SessionId],
) -> Result<Vec<SessionId>, LedgerError> {
    let guard = Guard::read(tx, name)?;
    let mut kept = Vec::with_capacity(sessions.len());
    for session in sessions {
        let forgotten = tx.session(*session)?.and_then(|r| r.forgotten);
        let is_forgotten = matches!(forgotten, Some(Forgotten::Whole { .. }));
        if !is_forgotten && guard.has_session(tx, *session)? {
            kept.push(*session);
        }
    }
    Ok(kept)
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
