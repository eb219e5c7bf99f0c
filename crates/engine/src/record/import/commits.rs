//! The commits that hold the work of imported sessions.
//!
//! No hook saw these commits. Content gives their authors, never a committer; a committer there is
//! only where a tool call moved HEAD to the commit and named it in its output.

use std::collections::BTreeMap;

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::judge;
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_gitstore::Git;
use siglum_ledger::{
    Durability, Ledger, LedgerError, OutputMention, RepositoryRecord, SeenBy, Transaction, read,
    stored_name, write,
};

use crate::commits::scene::{self, Unseen};
use crate::commits::{authors, landing};
use crate::identity::repositories;
use crate::{EngineError, World};

/// How many commits of a repository are looked at, newest first.
const COMMITS_MOST: usize = 20_000;
/// How many git is asked about at once.
const BATCH: usize = 500;
/// Commits from this long before the first session began are looked at, since clocks differ, in ms.
const BEFORE_MS: i64 = 60 * 60 * 1000;
/// An edit belongs to a commit that git made up to this long before it, since git counts whole
/// seconds and clocks are read in turn, in ms.
const SLACK_MS: i64 = 2_000;

/// What the look at a repository's history brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Linked {
    /// Commits that were looked at.
    pub looked_at: u64,
    /// Commits that hold work of a session, or that a session made.
    pub commits: u64,
}

/// Notes, before a session is imported, that the history since `since` is to be looked at: a kill
/// on the way leaves the debt to the next import.
pub(super) fn owe(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    since: Timestamp,
) -> Result<(), LedgerError> {
    let since = u64::try_from(since.plus_millis(-BEFORE_MS).nanos())
        .unwrap_or(0)
        .max(1);
    let owed = tx.cursor(&debt(repository))?;
    if owed == 0 || since < owed {
        tx.set_cursor(&debt(repository), since)?;
    }
    Ok(())
}

/// Whether an import of this repository runs, or did not come to its end.
///
/// # Errors
/// Those of the ledger.
pub fn is_owed(tx: &mut dyn Transaction, repository: RepositoryId) -> Result<bool, LedgerError> {
    Ok(tx.cursor(&debt(repository))? != 0)
}

fn debt(repository: RepositoryId) -> String {
    format!("import:{repository}")
}

/// Looks at the history that is owed: a commit gets a record if one of its files has the content
/// that a session left there, or if a tool call named the commit. `progress` hears how many commits
/// of how many were looked at.
///
/// # Errors
/// Git fails, or those of the ledger; the debt stays then.
pub fn link_commits(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Linked, EngineError> {
    let owed = read(ledger, |tx| tx.cursor(&debt(repository.id)))?;
    if owed == 0 {
        return Ok(Linked::default());
    }
    let Some(git) = repositories::usable_git(world, repository) else {
        return Err(EngineError::NoCheckout(repository.common_dir.clone()));
    };
    let since = Timestamp::from_nanos(i64::try_from(owed).unwrap_or(i64::MAX));
    // Oldest first, so that what a commit is made of is known when its copy comes.
    let mut commits = git.commits_after(since, COMMITS_MOST)?;
    commits.reverse();
    let mut linked = Linked::default();
    for batch in commits.chunks(BATCH) {
        linked.commits += link_batch(world, ledger, &git, repository.id, batch)?;
        linked.looked_at += batch.len() as u64;
        progress(linked.looked_at, commits.len() as u64);
    }
    write(ledger, Durability::Process, |tx| {
        tx.set_cursor(&debt(repository.id), 0)
    })?;
    Ok(linked)
}

fn link_batch(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    git: &Git,
    repository: RepositoryId,
    batch: &[Oid],
) -> Result<u64, EngineError> {
    let facts = git.facts(batch)?.known;
    let matching = read(ledger, |tx| {
        let mut matching = Vec::new();
        for facts in &facts {
            if holds_work(tx, repository, facts)? || was_named(tx, repository, facts)? {
                matching.push(facts.clone());
            }
        }
        Ok(matching)
    })?;
    if matching.is_empty() {
        return Ok(0);
    }
    let commits: Vec<Oid> = matching.iter().map(|f| f.commit.clone()).collect();
    let patches: BTreeMap<Oid, String> = git.patch_ids(&commits)?.into_iter().collect();
    for facts in &matching {
        let fresh = CheckpointId::mint(world.ids);
        write(ledger, Durability::Process, |tx| {
            note(tx, repository, facts, fresh)
        })?;
        let patch = patches.get(&facts.commit).map_or("", String::as_str);
        authors::finish_one(world, ledger, git, repository, facts, patch)?;
    }
    Ok(matching.len() as u64)
}

/// Whether a file of the commit has the content that a session left there before.
fn holds_work(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    facts: &CommitFacts,
) -> Result<bool, LedgerError> {
    let until = facts.committed.plus_millis(SLACK_MS);
    for change in &facts.changes {
        let Some(after) = &change.after else { continue };
        let (edits, path) = (tx.edits_leaving(after)?, stored_name(&change.path));
        if edits
            .iter()
            .any(|e| e.repository == repository && e.path == path && e.at <= until)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn was_named(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    facts: &CommitFacts,
) -> Result<bool, LedgerError> {
    let moves = tx.moves_to(repository, &facts.commit)?;
    Ok(moves.iter().any(|m| m.mention > OutputMention::Nothing))
}

/// Gives the commit a record, or judges again what an earlier import judged. What a hook saw stays.
fn note(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    facts: &CommitFacts,
    fresh: CheckpointId,
) -> Result<(), LedgerError> {
    match tx.commit(repository, &facts.commit)? {
        None => landing::imported(tx, repository, facts, fresh),
        Some(known) if known.seen_by == SeenBy::Import && known.checkpoint.is_none() => {
            let unseen = Unseen {
                repository,
                facts,
                at: facts.committed,
            };
            let judgement = judge(&scene::unwitnessed(tx, &unseen)?);
            if judgement == known.judgement {
                return Ok(());
            }
            landing::imported(tx, repository, facts, fresh)
        }
        Some(_) => Ok(()),
    }
}

/// How many commits name a session as their committer, and how many more hold lines of it.
///
/// # Errors
/// Those of the ledger.
pub fn commits_with(
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<(u64, u64), LedgerError> {
    let made = tx.commits_of_session(session, 100_000)?;
    let written = tx.authored(session)?;
    let more = written
        .iter()
        .filter(|(_, commit, _)| made.iter().all(|m| m.commit != *commit));
    Ok((made.len() as u64, more.count() as u64))
}
