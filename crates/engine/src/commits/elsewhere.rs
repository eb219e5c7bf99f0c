//! One commit that several ledgers know of, as one answer.

use siglum_domain::evidence::{Basis, Committer, Evidence, Judgement, Verdict};
use siglum_domain::{Oid, RepositoryId, SessionId};
use siglum_ledger::{
    CommitRecord, Ledger, LedgerError, RepositoryIdentity, RepositoryRecord, Transaction, read,
};

/// What is known of a commit, here or elsewhere, and in which repository: what says most. Elsewhere is another ledger,
/// or another clone on this machine: a commit's id is a digest of all that is in it, so it is the same commit. Where
/// two that are equally sure name different committers, nobody can tell, and all of them are candidates.
///
/// # Errors
/// Those of the ledger.
pub fn known_elsewhere(
    tx: &mut dyn Transaction,
    here: Option<RepositoryId>,
    commit: &Oid,
) -> Result<Option<CommitRecord>, LedgerError> {
    Ok(most_telling(tx.commits_named(commit)?, here))
}

/// Of the records of one commit the one that says most.
pub(super) fn most_telling(
    mut records: Vec<CommitRecord>,
    here: Option<RepositoryId>,
) -> Option<CommitRecord> {
    // Of what is equally sure, what was seen here comes first.
    records.sort_by_key(|r| {
        let rank = std::cmp::Reverse(r.judgement.verdict);
        (rank, here != Some(r.repository), r.at, r.repository)
    });
    let mut records = records.into_iter();
    let mut best = records.next()?;
    let rank = best.judgement.verdict;
    for other in records.filter(|r| r.judgement.verdict == rank) {
        if other.judgement.committer != best.judgement.committer {
            contradict(&mut best, other);
        }
    }
    Some(best)
}

/// The judgement of a record, and where it was recorded, if that is another clone.
///
/// # Errors
/// Those of the ledger.
pub fn judgement_for(
    tx: &mut dyn Transaction,
    record: &CommitRecord,
    here: RepositoryId,
) -> Result<Judgement, LedgerError> {
    let mut judgement = record.judgement.clone();
    if record.repository == here || tx.replica_repository(record.repository)?.is_some() {
        return Ok(judgement);
    }
    let repositories = tx.repositories()?;
    let clone = repositories.iter().find(|r| r.id == record.repository);
    if let Some(place) = clone.map(RepositoryRecord::checkout) {
        judgement.evidence.push(Evidence {
            session: None,
            basis: Basis::Derived,
            counted: true,
            text: format!("recorded in {place}: the same commit in another clone"),
        });
    }
    Ok(judgement)
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

/// The repository that answers for a commit: one of another ledger, or another clone on this machine, where that says
/// more than what is known here.
///
/// # Errors
/// Those of the ledger.
pub fn repository(
    ledger: &mut dyn Ledger,
    here: Option<RepositoryId>,
    commit: &Oid,
) -> Result<Option<RepositoryRecord>, LedgerError> {
    read(ledger, |tx| {
        let Some(best) = known_elsewhere(tx, here, commit)? else {
            return Ok(None);
        };
        if let Some(replica) = tx.replica_repository(best.repository)? {
            return Ok(Some(RepositoryRecord {
                id: replica.id,
                common_dir: replica.common_dir,
                worktrees: Vec::new(),
                identity: RepositoryIdentity::default(),
            }));
        }
        let mut repositories = tx.repositories()?;
        repositories.retain(|r| r.id == best.repository && here != Some(r.id));
        Ok(repositories.pop())
    })
}
