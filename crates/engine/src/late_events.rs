//! Deliveries that were overtaken: the earlier half of a call that comes after the later one.
//!
//! Hooks run side by side, and one may wait in the spool while another does not.

use siglum_domain::commit::CommitFacts;
use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::{Fact, Observation, Side};
use siglum_domain::{IdSource, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{CommitRecord, LedgerError, Transaction, stored_name};

use crate::copies::keeps_authorship;
use crate::identity::SessionIdentity;
use crate::moves;
use crate::session::{self, file_key, side_key};

/// How many entries of a log are looked at for the end of a call.
const LOOK_BACK: u64 = 256;
/// How far from each other the entries of one delivery lie at most.
const TOGETHER: u64 = 8;

/// How many commits are looked at whose authors an edit that came late may change.
const COMMITS_BACK: usize = 256;

/// A file may be committed by somebody else before the call that wrote it has come to its end, and
/// what a hook saw may wait: the authors of commits that an edit may be in are looked for again.
pub(crate) fn authors_again(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    path: &str,
    began: Timestamp,
) -> Result<(), LedgerError> {
    let path = stored_name(path);
    let touched = |c: &CommitRecord| {
        let mut changes = c.facts.iter().flat_map(|f| &f.changes);
        c.at >= began && changes.any(|change| change.path == path)
    };
    for commit in since(tx, repository, began)?.into_iter().filter(touched) {
        reopen(tx, commit)?;
    }
    Ok(())
}

/// A copy may be finished before what it is a copy of, where the hook of that one waits: where something new is known of
/// the lines of a commit, the authors of its copies are looked for again.
pub(crate) fn copies_again(
    tx: &mut dyn Transaction,
    record: &CommitRecord,
    facts: &CommitFacts,
) -> Result<(), LedgerError> {
    for commit in since(tx, record.repository, record.at)? {
        if commit.at <= record.at || commit.patch.is_none() {
            continue;
        }
        let mut is_copy = keeps_authorship(&commit, facts);
        if !is_copy {
            let origins = tx.rewritten_from(record.repository, &commit.commit)?;
            is_copy = origins.contains(&record.commit);
        }
        if is_copy {
            reopen(tx, commit)?;
        }
    }
    Ok(())
}

/// Makes a commit unfinished.
fn reopen(tx: &mut dyn Transaction, commit: CommitRecord) -> Result<(), LedgerError> {
    let (facts, patch) = (None, None);
    tx.put_commit(&CommitRecord {
        facts,
        patch,
        ..commit
    })
}

/// The newest commits, back to one that is older than a moment: a hook, which mostly finds none that is
/// newer, reads one.
fn since(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    moment: Timestamp,
) -> Result<Vec<CommitRecord>, LedgerError> {
    let mut limit = 1;
    loop {
        let newest = tx.commits(Some(repository), limit)?;
        let older = newest.last().is_none_or(|commit| commit.at < moment);
        if older || newest.len() < limit || limit >= COMMITS_BACK {
            return Ok(newest);
        }
        limit *= 16;
    }
}

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
    let path = session::keyed_path(path, place.as_ref());
    let key = file_key(&before.event, &path, Side::After);
    match tx.entry(identity.session, before.source, &key)? {
        Some(entry) => session::edit(tx, ids, identity, matter, entry.turn, &entry.observation),
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
        Fact::Stopped { .. } | Fact::SessionEnded { .. } => o.at > start.at,
        _ => false,
    };
    let entries = tx.entries(session, from, 0)?;
    Ok(entries.iter().any(|e| ends(&e.observation)))
}
