//! The commits that a session made, in the order in which it made them.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{CommitRecord, LedgerError, SessionCommit, Transaction, made_at};

/// How many commits of a session are looked at.
const MOST: usize = 100_000;

/// A commit of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) at: Timestamp,
    pub(super) repository: RepositoryId,
    /// What it is called now.
    pub(super) commit: Oid,
    pub(super) subject: Option<String>,
}

/// The commits that a session made for certain, or likely. One that was rewritten counts as what became of it.
pub(super) fn commits_of_session(
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<Vec<Made>, LedgerError> {
    let mut records = tx.commits_of_session(session, MOST)?;
    records.retain(|r| is_made_by(r, session));
    let mut became: BTreeMap<(RepositoryId, Oid), Oid> = BTreeMap::new();
    let rewritten = rewritten_by_others(tx, &records)?;
    for record in records.iter().chain(&rewritten) {
        for old in tx.rewritten_from(record.repository, &record.commit)? {
            became.insert((record.repository, old), record.commit.clone());
        }
    }
    let subject = |r: &CommitRecord| r.facts.as_ref().map(|f| f.subject.clone());
    let subjects: BTreeMap<(RepositoryId, Oid), Option<String>> = records
        .iter()
        .chain(&rewritten)
        .map(|r| ((r.repository, r.commit.clone()), subject(r)))
        .collect();
    let mut made: Vec<Made> = records
        .iter()
        .map(|record| {
            let commit = last(&became, record.repository, &record.commit);
            let subject = subjects.get(&(record.repository, commit.clone()));
            Made {
                at: when(record),
                repository: record.repository,
                subject: subject.cloned().flatten(),
                commit,
            }
        })
        .collect();
    sort(&mut made);
    Ok(made)
}

fn sort(made: &mut [Made]) {
    made.sort_by(|a, b| (a.at, &a.commit).cmp(&(b.at, &b.commit)));
}

/// What others made of these commits: it has their checkpoint, and a rewriter of its own.
fn rewritten_by_others(
    tx: &mut dyn Transaction,
    records: &[CommitRecord],
) -> Result<Vec<CommitRecord>, LedgerError> {
    let mut found = Vec::new();
    for record in records {
        let Some(checkpoint) = record.checkpoint else {
            continue;
        };
        let mut same = tx.commits_of_checkpoint(checkpoint)?;
        same.retain(|r| r.repository == record.repository && r.commit != record.commit);
        found.append(&mut same);
    }
    Ok(found)
}

fn is_made_by(record: &CommitRecord, session: SessionId) -> bool {
    is_sure(record.judgement.verdict)
        && record.judgement.committer == Committer::Session { session }
}

const fn is_sure(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Certain | Verdict::Likely)
}

/// When a commit was made.
fn when(record: &CommitRecord) -> Timestamp {
    let committed = record.facts.as_ref().map(|facts| facts.committed);
    made_at(record.at, record.seen_by, committed)
}

/// The commits that sessions made, from what is known in short; of a session with one that was rewritten, from all that is
/// known.
pub(super) fn commits_of_sessions(
    tx: &mut dyn Transaction,
    commits: Vec<SessionCommit>,
) -> Result<BTreeMap<SessionId, Vec<Made>>, LedgerError> {
    let mut made: BTreeMap<SessionId, Vec<Made>> = BTreeMap::new();
    let mut rewritten = BTreeSet::new();
    for commit in commits {
        if commit.is_rewritten {
            rewritten.insert(commit.session);
        }
        if is_sure(commit.verdict) {
            made.entry(commit.session).or_default().push(Made {
                at: commit.made_at(),
                repository: commit.repository,
                commit: commit.commit,
                subject: commit.facts.map(|(_, subject)| subject),
            });
        }
    }
    for made in made.values_mut() {
        sort(made);
    }
    for session in rewritten {
        made.insert(session, commits_of_session(tx, session)?);
    }
    Ok(made)
}

/// What became of a commit. Rewrites that come back to it are followed once.
fn last(
    became: &BTreeMap<(RepositoryId, Oid), Oid>,
    repository: RepositoryId,
    commit: &Oid,
) -> Oid {
    let mut commit = commit;
    for _ in 0..became.len() {
        match became.get(&(repository, commit.clone())) {
            Some(next) => commit = next,
            None => break,
        }
    }
    commit.clone()
}

/// The commit that something at this time went into: the first one made after it.
pub(super) fn after(made: &[Made], at: Timestamp) -> Option<&Made> {
    made.get(made.partition_point(|m| m.at < at))
}
