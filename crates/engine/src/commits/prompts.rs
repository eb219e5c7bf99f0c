//! The prompts that led to commits and to lines.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};
use siglum_domain::commit::CommitFacts;
use siglum_domain::observation::Fact;
use siglum_domain::provenance::line_hash;
use siglum_domain::{RepositoryId, SessionId, Timestamp, TurnId};
use siglum_ledger::{CommitRecord, EditRecord, Ledger, LedgerError, SeenBy, Transaction, read};

use crate::World;
use crate::commits::contents::hash_added_lines;
use crate::damage::undamaged;

/// What a session was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    pub session: SessionId,
    /// The turn that it began.
    pub turn: TurnId,
    /// Its text, without secrets.
    pub text: String,
}

/// The last moment that can have had a part in a commit.
pub(crate) fn made_at(record: Option<&CommitRecord>, facts: &CommitFacts) -> Timestamp {
    match record {
        Some(record) if record.seen_by == SeenBy::Hook => record.at,
        // Git counts whole seconds.
        _ => facts.committed.plus_millis(999),
    }
}

/// The prompt that led a session to write a line of a commit's file: that of its newest edit of the file that added such a
/// line. Where no edit is seen to have added it, it is known only if the session has one edit there.
///
/// # Errors
/// Those of the ledger.
pub fn prompt_of_line(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    (repository, facts): (RepositoryId, &CommitFacts),
    session: SessionId,
    path: &str,
    line: &[u8],
) -> Result<Option<Prompt>, LedgerError> {
    let until = read(ledger, |tx| {
        let record = tx.commit(repository, &facts.commit)?;
        Ok(made_at(record.as_ref(), facts))
    })?;
    let of = (repository, path, until);
    let mut found = prompts_of_lines(world, ledger, of, session, &[line])?;
    Ok(found.pop().flatten())
}

/// The same for several lines of a file as it was at a moment, in the order asked.
pub(crate) fn prompts_of_lines(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    of: (RepositoryId, &str, Timestamp),
    session: SessionId,
    lines: &[&[u8]],
) -> Result<Vec<Option<Prompt>>, LedgerError> {
    let key = ledger.key();
    let edits = read(ledger, |tx| edits_of(tx, of, session))?;
    let added = edits.iter().map(|edit| match &edit.lines {
        Some(lines) => lines.clone(),
        // The worker has not looked at those of this moment yet.
        None => hash_added_lines(world, &key, edit),
    });
    let added: Vec<Vec<u64>> = added.collect();
    let mut known: BTreeMap<usize, Option<Prompt>> = BTreeMap::new();
    let mut found = Vec::with_capacity(lines.len());
    for line in lines {
        // Git shows a line without its end, which may be one of three.
        let hashes = [&b"\n"[..], b"\r\n", b""].map(|end| line_hash(&key, &[*line, end].concat()));
        let adds_line = |added: &Vec<u64>| added.iter().any(|line| hashes.contains(line));
        let only = || (edits.len() == 1).then_some(0);
        let Some(at) = added.iter().rposition(adds_line).or_else(only) else {
            found.push(None);
            continue;
        };
        if let Entry::Vacant(unknown) = known.entry(at) {
            unknown.insert(read(ledger, |tx| prompt_at(tx, session, edits[at].at))?);
        }
        found.push(known[&at].clone());
    }
    Ok(found)
}

/// The prompt of a session's newest edit of a file until a moment.
pub(crate) fn prompt_of_last_edit(
    tx: &mut dyn Transaction,
    of: (RepositoryId, &str, Timestamp),
    session: SessionId,
) -> Result<Option<Prompt>, LedgerError> {
    match edits_of(tx, of, session)?.last() {
        Some(edit) => prompt_at(tx, session, edit.at),
        None => Ok(None),
    }
}

/// The edits of a session in a file until a moment, oldest first.
fn edits_of(
    tx: &mut dyn Transaction,
    (repository, path, until): (RepositoryId, &str, Timestamp),
    session: SessionId,
) -> Result<Vec<EditRecord>, LedgerError> {
    let mut edits = tx.edits(repository, path, until)?;
    edits.retain(|edit| edit.session == session);
    Ok(edits)
}

/// The prompt that was the last one at a moment. Prompts that the agent wrote itself stand for the one before them.
pub(crate) fn prompt_at(
    tx: &mut dyn Transaction,
    session: SessionId,
    at: Timestamp,
) -> Result<Option<Prompt>, LedgerError> {
    let Some((turn, sequence)) = undamaged(tx.last_prompt(session, at))?.flatten() else {
        return Ok(None);
    };
    let text = prompt_text(tx, session, sequence)?;
    Ok(text.map(|text| Prompt {
        session,
        turn,
        text,
    }))
}

/// The text of the prompt at a place in a session's log; nothing if there is none any more.
pub(crate) fn prompt_text(
    tx: &mut dyn Transaction,
    session: SessionId,
    sequence: u64,
) -> Result<Option<String>, LedgerError> {
    let entry = undamaged(tx.entries(session, sequence.saturating_sub(1), 1))?
        .unwrap_or_default()
        .pop()
        .filter(|e| e.sequence == sequence);
    Ok(entry.and_then(|e| match e.observation.fact {
        Fact::Prompt { text, .. } => text.text().map(str::to_owned),
        _ => None,
    }))
}
