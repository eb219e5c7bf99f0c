//! Whether everything that is stored is what was stored: receipts, payloads, transcripts, file versions, cursors, open
//! turns. Reads in pages and changes nothing; one row that went bad is told and hides no other.
//!
//! *Forgotten* is what a person had erased: its header and digest are there, and its receipts verify. *Missing* is what
//! should be there. *Damaged* is what is there and is not what was stored.

mod around;
mod changes;
mod log;
mod look;
mod noted;
mod report;
mod sinks;

pub use changes::{Verification, verify_all, verify_changes};
pub use look::{Look, spot_check};
pub use report::{Counts, Kind, Problem, Report};

use siglum_domain::SessionId;
use siglum_ledger::{Durability, Ledger, LedgerError, StoredSession, Verified, read, write};

use crate::damage::undamaged;
use crate::{EngineError, World};
use around::Versions;
use noted::Noted;

/// How many sessions are asked for at a time.
const SESSIONS: usize = 256;

/// What to do about a row of the ledger.
const RESTORE: &str = "Keep a copy of the ledger as it is; `siglum restore` brings back one from before. \
     `siglum verify --quarantine` has nobody write to the session meanwhile.";

/// Verifies one session, or everything.
///
/// # Errors
/// Those of the store as a whole; what is wrong with a session, or with a row, is in the report.
pub fn verify(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    session: Option<SessionId>,
) -> Result<Report, LedgerError> {
    let Some(id) = session else {
        return Ok(verify_all(world, ledger, &mut |_| {})?.report);
    };
    let mut report = Report::default();
    let state = undamaged(read(ledger, |tx| tx.session_state(id)))?.flatten();
    if let Some(stored) = read(ledger, |tx| tx.stored_session(id))? {
        let versions = &mut Versions::default();
        let end = one(world, ledger, &stored, None, versions, &mut report)?;
        // Else what is wrong with it would be left out the next time.
        let mut noted = Noted::default();
        noted.add(world, &stored, state.as_ref(), end);
        noted.write(ledger);
    }
    Ok(report)
}

/// Verifies the pages of the store.
fn file(ledger: &mut dyn Ledger, report: &mut Report) -> Result<(), LedgerError> {
    for wrong in ledger.check()? {
        report.damaged(None, "the file", wrong, RESTORE);
    }
    Ok(())
}

/// Verifies what belongs to no session, or might.
fn tables(ledger: &mut dyn Ledger, report: &mut Report) -> Result<(), LedgerError> {
    beside_logs(ledger, report)?;
    let steps: [Step<'_>; 2] = [&mut around::strays, &mut sinks::strangers];
    take_steps(ledger, report, None, steps)
}

/// Verifies the tables beside the logs, and the audit.
fn beside_logs(ledger: &mut dyn Ledger, report: &mut Report) -> Result<(), LedgerError> {
    let steps: [Step<'_>; 3] = [
        &mut around::miscounted,
        &mut around::rotten,
        &mut around::audit,
    ];
    take_steps(ledger, report, None, steps)
}

/// One look at a session, or at what is beside them.
type Step<'a> = &'a mut dyn FnMut(&mut dyn Ledger, &mut Report) -> Result<(), LedgerError>;

/// Takes some steps. What stops one of them is told, and ends no other.
fn take_steps<'a>(
    ledger: &mut dyn Ledger,
    report: &mut Report,
    session: Option<SessionId>,
    steps: impl IntoIterator<Item = Step<'a>>,
) -> Result<(), LedgerError> {
    let place = session.map_or("the tables", |_| "its rows");
    for step in steps {
        match step(ledger, report) {
            Err(LedgerError::Damaged(what)) => report.damaged(session, place, what, RESTORE),
            other => other?,
        }
    }
    Ok(())
}

/// Verifies one session; its log from where it was `verified` up to, or as a whole. What stops the look at it is told of it,
/// and ends nothing else. Gives how far its log is sound; nothing where anything is wrong with the session.
fn one(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    stored: &StoredSession,
    verified: Option<&Verified>,
    versions: &mut Versions,
    report: &mut Report,
) -> Result<Option<log::End>, LedgerError> {
    let id = stored.id;
    let wrong_before = report.counts.missing + report.counts.damaged;
    report.counts.sessions += 1;
    if let Err(what) = &stored.record {
        report.damaged(Some(id), "its record", what.clone(), RESTORE);
    }
    let after = verified.map_or(0, |verified| verified.sequence);
    let mut end = None;
    let steps: [Step<'_>; 6] = [
        &mut |ledger, report| {
            end = Some(log::log(ledger, stored, verified, report)?);
            Ok(())
        },
        &mut |ledger, report| around::rotten_entries(ledger, id, after, report),
        &mut |ledger, report| around::open_turn(ledger, id, report),
        &mut |ledger, report| around::transcripts(ledger, id, report),
        &mut |ledger, report| around::versions(world, ledger, id, versions, report),
        &mut |ledger, report| sinks::cursors(ledger, id, report),
    ];
    take_steps(ledger, report, Some(id), steps)?;
    let was = stored
        .record
        .as_ref()
        .ok()
        .and_then(|r| r.quarantined.as_ref());
    if was.is_some() {
        report.counts.quarantined += 1;
        if !report.covers(id) {
            report.recovered.push(id);
        }
    }
    let is_sound = report.counts.missing + report.counts.damaged == wrong_before;
    Ok(end.filter(|_| is_sound))
}

/// Stores file versions again that are damaged or missing, where git has their content. Gives how many.
///
/// # Errors
/// Those of the ledger, of git and of the object store.
pub fn heal_versions(world: &World<'_>, ledger: &mut dyn Ledger) -> Result<u64, EngineError> {
    let (mut after, mut healed) = (None, 0);
    let mut sound = Versions::default();
    loop {
        let page = read(ledger, |tx| tx.stored_sessions(after, SESSIONS))?;
        let Some(last) = page.last() else {
            return Ok(healed);
        };
        after = Some(last.id);
        for stored in &page {
            healed += around::heal(world, ledger, stored.id, &mut sound)?;
        }
    }
}

/// Sets the damaged sessions of a report aside: nobody drives them any more. Takes those back that are sound again.
/// Gives how many were set aside, and how many were taken back.
///
/// # Errors
/// Those of the ledger.
pub fn quarantine(ledger: &mut dyn Ledger, report: &Report) -> Result<(u64, u64), LedgerError> {
    for (session, reason) in &report.unsound {
        write(ledger, Durability::Disk, |tx| {
            tx.quarantine(*session, Some(reason))
        })?;
    }
    Ok((report.unsound.len() as u64, take_back(ledger, report)?))
}

/// Takes the sessions back that were set aside and are sound again. Gives how many.
///
/// # Errors
/// Those of the ledger.
pub fn take_back(ledger: &mut dyn Ledger, report: &Report) -> Result<u64, LedgerError> {
    for session in &report.recovered {
        write(ledger, Durability::Disk, |tx| tx.quarantine(*session, None))?;
    }
    Ok(report.recovered.len() as u64)
}

#[cfg(test)]
mod tests;
