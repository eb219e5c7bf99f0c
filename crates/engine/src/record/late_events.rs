//! Deliveries that were overtaken: the earlier half of a call that comes after the later one.
//!
//! Hooks run side by side, and one may wait in the spool while another does not.

use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::{Fact, Observation, Side, Source};
use siglum_domain::{IdSource, SessionId};
use siglum_ledger::{LedgerError, Transaction};

use crate::identity::SessionIdentity;
use crate::identity::sighting_keys::{file_key, keyed_path, side_key};
use crate::record::edits;
use crate::record::moves;

/// How many entries of a log are looked at for the end of a call.
const LOOK_BACK: u64 = 256;
/// How far from each other the entries of one delivery lie at most.
const TOGETHER: u64 = 8;

/// The content of a file before an edit: completes the edit whose content after is there.
pub(crate) fn file_before(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    identity: SessionIdentity,
    matter: &AgentMatter,
    before: &Observation,
) -> Result<(), LedgerError> {
    let Fact::FileSeen { path, place, .. } = &before.fact else {
        return Ok(());
    };
    let path = keyed_path(path, place.as_ref());
    let key = file_key(&before.event, &path, Side::After);
    match tx.entry(identity.session(), before.source, &key)? {
        Some(entry) => edits::edit(tx, ids, identity, matter, entry.turn, &entry.observation),
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
    let Some(entry) = tx.entry(identity.session(), before.source, &key)? else {
        return Ok(());
    };
    let from = entry.sequence.saturating_sub(TOGETHER);
    let near = tx.entries(identity.session(), from, 2 * TOGETHER as usize)?;
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

/// An agent may end a session that it left long ago only when its process does. Where the session goes
/// on in another process by then, that is no end of it: what it is then.
pub(crate) fn end(
    tx: &mut dyn Transaction,
    session: SessionId,
    matter: &AgentMatter,
    observation: &Observation,
) -> Result<Option<Observation>, LedgerError> {
    let (Fact::SessionEnded { .. }, Some(process)) = (&observation.fact, &matter.process) else {
        return Ok(None);
    };
    let newest = tx.bindings(session)?.into_iter().next();
    let elsewhere = newest.is_some_and(|b| b.process.key() != process.key());
    Ok(elsewhere.then(|| Observation {
        fact: Fact::Other {
            name: "session_end of an earlier process".to_owned(),
        },
        ..observation.clone()
    }))
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
        // What a transcript takes for a stop may have been none.
        Fact::Stopped { .. } if o.source == Source::Transcript => false,
        Fact::Stopped { .. } | Fact::SessionEnded { .. } => o.at > start.at,
        _ => false,
    };
    let entries = tx.entries(session, from, 0)?;
    Ok(entries.iter().any(|e| ends(&e.observation)))
}
