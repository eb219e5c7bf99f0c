//! Verifying what changed since it was verified last.
//!
//! The ledger notes of each session that was verified and sound how far its log went, and numbers that change with whatever
//! happens to it ([`siglum_ledger::SessionState`]). A session whose numbers are the same is left out; of another one the log
//! is verified from there on, and all that stands around it again. Bytes that went bad without anything happening are found
//! by verifying everything, and in the end by the looks of the doctor.

use std::collections::BTreeMap;

use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{Forgotten, Ledger, LedgerError, SessionState, StoredSession, Verified, read};

use super::around::Versions;
use super::noted::{Noted, note_whole, whole_at};
use super::report::Report;
use super::{SESSIONS, Step, beside_logs, file, one, tables, take_steps};
use crate::World;
use crate::damage::undamaged;

/// What was verified.
#[derive(Debug)]
pub struct Verification {
    pub report: Report,
    /// Whether it was everything.
    pub is_whole: bool,
    /// Sessions that were left out: nothing happened to them since they were verified, and sound.
    pub unchanged: u64,
    /// When everything was verified at once before, and was sound.
    pub verified: Option<Timestamp>,
}

/// Verifies everything. `progress` is told how many sessions are behind it.
///
/// # Errors
/// Those of the store as a whole; what is wrong with a session, or with a row, is in the report.
pub fn verify_all(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    progress: &mut dyn FnMut(u64),
) -> Result<Verification, LedgerError> {
    let begun = world.now();
    let verified = whole_at(ledger)?;
    let mut report = Report::default();
    file(ledger, &mut report)?;
    let mut unchanged = 0;
    let walk: Step<'_> = &mut |ledger, report| {
        unchanged = sessions(world, ledger, true, report, progress)?;
        Ok(())
    };
    take_steps(ledger, &mut report, None, [walk])?;
    tables(ledger, &mut report)?;
    note_whole(ledger, report.is_sound().then_some(begun));
    Ok(Verification {
        report,
        is_whole: true,
        unchanged,
        verified,
    })
}

/// Verifies what changed since it was verified, and the tables beside the logs; everything, where that was never done.
/// `progress` is told how many sessions are behind it.
///
/// # Errors
/// Those of the store as a whole; what is wrong with a session, or with a row, is in the report.
pub fn verify_changes(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    progress: &mut dyn FnMut(u64),
) -> Result<Verification, LedgerError> {
    let verified = whole_at(ledger)?;
    if verified.is_none() {
        return verify_all(world, ledger, progress);
    }
    let mut report = Report::default();
    let unchanged = sessions(world, ledger, false, &mut report, progress)?;
    beside_logs(ledger, &mut report)?;
    Ok(Verification {
        report,
        is_whole: false,
        unchanged,
        verified,
    })
}

/// Verifies sessions in the order of their ids: all as a whole, or what changed of those that changed. Gives how many were
/// left out.
fn sessions(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    is_whole: bool,
    report: &mut Report,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, LedgerError> {
    let (mut after, mut done, mut unchanged) = (None, 0, 0);
    let mut versions = Versions::default();
    loop {
        // First what is there: what happens from then on is seen as a change the next time.
        let states = read(ledger, |tx| tx.session_states(after, SESSIONS));
        let states = undamaged(states)?.unwrap_or_default();
        let mut states: BTreeMap<SessionId, SessionState> =
            states.into_iter().map(|s| (s.session, s)).collect();
        let page = read(ledger, |tx| tx.stored_sessions(after, SESSIONS))?;
        let Some(last) = page.last() else {
            return Ok(unchanged);
        };
        after = Some(last.id);
        let mut noted = Noted::default();
        for stored in &page {
            let state = states.remove(&stored.id);
            done += 1;
            if !is_whole && state.as_ref().is_some_and(SessionState::is_unchanged) {
                unchanged += 1;
                continue;
            }
            let from = match &state {
                Some(state) if !is_whole => still_verified(ledger, stored, state)?,
                _ => None,
            };
            let end = one(world, ledger, stored, from, &mut versions, report)?;
            noted.add(world, stored, state.as_ref(), end);
            progress(done);
        }
        noted.write(ledger);
        progress(done);
    }
}

/// How far a session was verified, if what was verified is still its beginning.
fn still_verified<'s>(
    ledger: &mut dyn Ledger,
    stored: &StoredSession,
    state: &'s SessionState,
) -> Result<Option<&'s Verified>, LedgerError> {
    let (Some(verified), Ok(record)) = (&state.verified, &stored.record) else {
        return Ok(None);
    };
    // Where things were forgotten or came back, payloads are others than before.
    if record.forgotten.map(Forgotten::at) != verified.forgotten || verified.receipt == 0 {
        return Ok(None);
    }
    let (id, before) = (stored.id, verified.receipt - 1);
    let found = read(ledger, |tx| tx.stored_receipts(id, before, 1))?.pop();
    let receipt = found.and_then(|stored| stored.row.ok());
    let is_same = receipt.is_some_and(|receipt| {
        receipt.number == verified.receipt
            && receipt.last == verified.sequence
            && receipt.digest == verified.digest
    });
    Ok(is_same.then_some(verified))
}
