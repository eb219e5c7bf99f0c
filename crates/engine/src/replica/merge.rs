//! One commit that several ledgers know of, as one answer.

use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::{Oid, RepositoryId, SessionId};
use siglum_ledger::{CommitRecord, Ledger, LedgerError, RepositoryRecord, Transaction, read};

/// What is known of a commit, here or elsewhere, and in which repository: what says most. Where two ledgers that are
/// equally sure name different committers, nobody can tell, and all of them are candidates.
///
/// # Errors
/// Those of the ledger.
pub fn known_elsewhere(
    tx: &mut dyn Transaction,
    here: Option<RepositoryId>,
    commit: &Oid,
) -> Result<Option<CommitRecord>, LedgerError> {
    let mut records = Vec::new();
    for record in tx.commits_named(commit)? {
        if here == Some(record.repository) || tx.replica_repository(record.repository)?.is_some() {
            records.push(record);
        }
    }
    // Of what is equally sure, what was seen here comes first.
    records.sort_by_key(|r| {
        let rank = std::cmp::Reverse(r.judgement.verdict);
        (rank, here != Some(r.repository), r.at, r.repository)
    });
    let mut records = records.into_iter();
    let Some(mut best) = records.next() else {
        return Ok(None);
    };
    let rank = best.judgement.verdict;
    for other in records.filter(|r| r.judgement.verdict == rank) {
        if other.judgement.committer != best.judgement.committer {
            contradict(&mut best, other);
        }
    }
    Ok(Some(best))
}

fn contradict(best: &mut CommitRecord, other: CommitRecord) {
    let judgement = &mut best.judgement;
    let session = |c: &Committer| match c {
        Committer::Session { session } => Some(*session),
        Committer::Human | Committer::Unknown => None,
    };
    let mut candidates: Vec<SessionId> = session(&judgement.committer).into_iter().collect();
    candidates.extend(session(&other.judgement.committer));
    candidates.append(&mut judgement.candidates);
    candidates.extend(other.judgement.candidates);
    candidates.sort();
    candidates.dedup();
    judgement.candidates = candidates;
    judgement.evidence.extend(other.judgement.evidence);
    judgement.committer = Committer::Unknown;
    judgement.verdict = Verdict::Ambiguous;
}

/// The repository of another ledger that answers for a commit, where that says more than what is known here.
///
/// # Errors
/// Those of the ledger.
pub fn elsewhere(
    ledger: &mut dyn Ledger,
    here: Option<RepositoryId>,
    commit: &Oid,
) -> Result<Option<RepositoryRecord>, LedgerError> {
    read(ledger, |tx| {
        let Some(best) = known_elsewhere(tx, here, commit)? else {
            return Ok(None);
        };
        let replica = tx.replica_repository(best.repository)?;
        Ok(replica.map(|r| RepositoryRecord {
            id: r.id,
            common_dir: r.common_dir,
            worktrees: Vec::new(),
        }))
    })
}
