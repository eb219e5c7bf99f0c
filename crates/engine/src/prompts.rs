//! The prompts that led to commits and to lines.

use siglum_domain::observation::Fact;
use siglum_domain::provenance::line_hash;
use siglum_domain::{RepositoryId, SessionId, Timestamp, TurnId};
use siglum_ledger::{EditRecord, Ledger, LedgerError, Transaction, read};

use crate::World;
use crate::contents::hash_added_lines;
use crate::verify::undamaged;
use crate::why::{Why, made_at};

/// What a session was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Which session.
    pub session: SessionId,
    /// The turn that it began.
    pub turn: TurnId,
    /// Its text, without secrets.
    pub text: String,
}

/// The prompt that led a session to write a line of a commit's file: that of its newest edit of the file that added such a
/// line. Where no edit is seen to have added it, it is known only if the session has one edit there.
///
/// # Errors
/// Those of the ledger.
pub fn prompt_of_line(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    why: &Why,
    session: SessionId,
    path: &str,
    line: &[u8],
) -> Result<Option<Prompt>, LedgerError> {
    let key = ledger.key();
    // Git shows a line without its end, which may be one of three.
    let hashes = [&b"\n"[..], b"\r\n", b""].map(|end| line_hash(&key, &[line, end].concat()));
    let edits = read(ledger, |tx| {
        let record = tx.commit(why.repository, &why.facts.commit)?;
        let until = made_at(record.as_ref(), &why.facts);
        edits_of(tx, (why.repository, path, until), session)
    })?;
    let is_there = |lines: &[u64]| lines.iter().any(|added| hashes.contains(added));
    let adds_line = |edit: &&EditRecord| match &edit.lines {
        Some(lines) => is_there(lines),
        // The worker has not looked at those of this moment yet.
        None => is_there(&hash_added_lines(world, &key, edit)),
    };
    let only = || edits.first().filter(|_| edits.len() == 1);
    match edits.iter().rev().find(adds_line).or_else(only) {
        Some(edit) => read(ledger, |tx| prompt_at(tx, session, edit.at)),
        None => Ok(None),
    }
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
    let Some((turn, sequence)) = undamaged(tx.last_asked(session, at))?.flatten() else {
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
