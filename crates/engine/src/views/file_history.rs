//! Which sessions touched a file, when, what they were asked, and the commits that have lines of theirs in it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{EditRecord, Ledger, LedgerError, Transaction, read, stored_name};

use crate::Here;
use crate::commits::cards::{SessionCard, card};
use crate::commits::prompts::{Prompt, prompt_at};

/// How many prompts of one session are told, the last ones.
const PROMPTS: usize = 5;
/// How many commits with lines of one session are looked into, the newest.
const COMMITS: usize = 100;

/// A session that touched a file.
#[derive(Debug, Clone)]
pub struct FileSession {
    pub card: SessionCard,
    /// How many edits of the file were seen.
    pub edits: usize,
    pub first: Timestamp,
    pub last: Timestamp,
    /// What it was asked when it edited the file, oldest first.
    pub prompts: Vec<Prompt>,
    /// The commits with lines of the file that it wrote, newest first.
    pub commits: Vec<Oid>,
}

/// The sessions that were seen editing a file, those that did so last first, at most `limit` (0: all), and whether there
/// are more. The path is relative to the root of the repositories, which are clones of one.
///
/// # Errors
/// Those of the ledger.
pub fn sessions_of_file(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    repositories: &[RepositoryId],
    path: &str,
    limit: usize,
) -> Result<(Vec<FileSession>, bool), LedgerError> {
    let now = here.now();
    read(ledger, |tx| {
        let mut by_session: BTreeMap<SessionId, Vec<EditRecord>> = BTreeMap::new();
        for repository in repositories {
            for edit in tx.edits(*repository, path, now)? {
                by_session.entry(edit.session).or_default().push(edit);
            }
        }
        let mut by_last: Vec<(SessionId, Vec<EditRecord>)> = by_session.into_iter().collect();
        by_last.sort_by_cached_key(|(session, edits)| {
            Reverse((edits.iter().map(|edit| edit.at).max(), *session))
        });
        let more = limit > 0 && by_last.len() > limit;
        if more {
            by_last.truncate(limit);
        }
        let mut found = Vec::new();
        for (session, edits) in by_last {
            found.extend(file_session(tx, session, &edits, path)?);
        }
        Ok((found, more))
    })
}

fn file_session(
    tx: &mut dyn Transaction,
    session: SessionId,
    edits: &[EditRecord],
    path: &str,
) -> Result<Option<FileSession>, LedgerError> {
    let (first, last) = (
        edits.iter().map(|e| e.at).min(),
        edits.iter().map(|e| e.at).max(),
    );
    let Some(((card, first), last)) = card(tx, session)?.zip(first).zip(last) else {
        return Ok(None);
    };
    let mut prompts: Vec<Prompt> = Vec::new();
    let mut turn = None;
    for edit in edits.iter().rev() {
        if prompts.len() == PROMPTS {
            break;
        }
        if edit.turn.is_some() && edit.turn == turn {
            continue;
        }
        turn = edit.turn;
        let prompt = prompt_at(tx, session, edit.at)?;
        prompts.extend(prompt.filter(|p| prompts.iter().all(|known| known.turn != p.turn)));
    }
    prompts.reverse();
    let name = stored_name(path);
    let mut commits = Vec::new();
    for (repository, commit, _) in tx.authored(session)?.into_iter().take(COMMITS) {
        let files = tx.authors(repository, &commit)?.unwrap_or_default();
        if files.iter().any(|file| file.path == name) {
            commits.push(commit);
        }
    }
    Ok(Some(FileSession {
        card,
        edits: edits.len(),
        first,
        last,
        prompts,
        commits,
    }))
}
