//! Deliveries that were overtaken: the earlier half of a call that comes after the later one.
//!
//! Hooks run side by side, and one may wait in the spool while another does not.

use siglum_domain::intake::{AgentMatter, Intake, Matter};
use siglum_domain::observation::{Fact, Observation, Side};
use siglum_domain::{IdSource, SessionId};
use siglum_ledger::{CommitRecord, Durability, Ledger, LedgerError, Transaction, write};

use crate::moves;
use crate::session::{self, SessionIdentity, file_key, side_key};

/// How many entries of a log are looked at for the end of a call.
const LOOK_BACK: u64 = 256;
/// How far from each other the entries of one delivery lie at most.
const TOGETHER: u64 = 8;

/// How many commits are looked at whose authors an edit that came late may change.
const COMMITS_BACK: usize = 256;

/// An edit that waited may have been overtaken by its commit, whose authors were then found without
/// it: they are looked for again.
pub(crate) fn authors_again(ledger: &mut dyn Ledger, intake: &Intake) -> Result<(), LedgerError> {
    let Matter::Agent(matter) = &intake.matter else {
        return Ok(());
    };
    let edited: Vec<&str> = matter.observations.iter().filter_map(edited).collect();
    let (Some(place), false) = (&matter.place, edited.is_empty()) else {
        return Ok(());
    };
    let touched = |c: &CommitRecord| {
        let changes = c.facts.iter().flat_map(|f| &f.changes);
        c.at >= intake.at
            && changes
                .into_iter()
                .any(|c| edited.contains(&c.path.as_str()))
    };
    write(ledger, Durability::Process, |tx| {
        let Some(repository) = tx.repository(&place.common_dir)? else {
            return Ok(());
        };
        for commit in tx.commits(Some(repository.id), COMMITS_BACK)? {
            if touched(&commit) {
                let (facts, patch) = (None, None);
                tx.put_commit(&CommitRecord {
                    facts,
                    patch,
                    ..commit
                })?;
            }
        }
        Ok(())
    })
}

fn edited(observation: &Observation) -> Option<&str> {
    match &observation.fact {
        Fact::FileSeen { path, .. } => Some(path),
        _ => None,
    }
}

/// The content of a file before an edit: completes the edit whose content after is there.
pub(crate) fn file_before(
    tx: &mut dyn Transaction,
    identity: SessionIdentity,
    matter: &AgentMatter,
    before: &Observation,
) -> Result<(), LedgerError> {
    let Fact::FileSeen { path, .. } = &before.fact else {
        return Ok(());
    };
    let key = file_key(&before.event, path, Side::After);
    match tx.entry(identity.session, before.source, &key)? {
        Some(entry) => session::edit(tx, identity, matter, entry.turn, &entry.observation),
        None => Ok(()),
    }
}

/// HEAD before a call: notes what was made in the call if HEAD after it is there.
pub(crate) fn head_before(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    identity: SessionIdentity,
    matter: &AgentMatter,
    before: &Observation,
) -> Result<(), LedgerError> {
    let key = side_key("head", &before.event, Side::After);
    let Some(entry) = tx.entry(identity.session, before.source, &key)? else {
        return Ok(());
    };
    let from = entry.sequence.saturating_sub(TOGETHER);
    let near = tx.entries(identity.session, from, 2 * TOGETHER as usize)?;
    let of_call: Vec<_> = near
        .into_iter()
        .map(|e| e.observation)
        .filter(|o| o.event == before.event)
        .collect();
    moves::note(
        tx,
        ids,
        identity,
        matter.place.as_ref(),
        &of_call,
        &entry.observation,
    )
}

/// Tells whether a call that is said to start has come to its end already.
pub(crate) fn is_over(
    tx: &mut dyn Transaction,
    session: SessionId,
    start: &Observation,
) -> Result<bool, LedgerError> {
    let Some(record) = tx.session(session)?.filter(|s| s.last_at > start.at) else {
        return Ok(false);
    };
    let from = record.head.saturating_sub(LOOK_BACK);
    let ends = |o: &Observation| match &o.fact {
        Fact::ToolEnded { .. } => o.event == start.event,
        Fact::Stopped { .. } | Fact::SessionEnded { .. } => o.at > start.at,
        _ => false,
    };
    let entries = tx.entries(session, from, 0)?;
    Ok(entries.iter().any(|e| ends(&e.observation)))
}
