//! Commits whose authors are looked for again, since something came late that they may depend on.

use siglum_domain::commit::CommitFacts;
use siglum_domain::{RepositoryId, Timestamp};
use siglum_ledger::{CommitFilter, CommitRecord, LedgerError, Transaction, stored_name};

use crate::commits::copies::keeps_authorship;

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
        let newest = tx.commits(&CommitFilter::of_repository(repository, limit))?;
        let older = newest.last().is_none_or(|commit| commit.at < moment);
        if older || newest.len() < limit || limit >= COMMITS_BACK {
            return Ok(newest);
        }
        limit *= 16;
    }
}
