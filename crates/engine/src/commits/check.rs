//! Whether commits are accounted for: each has a record, and its message points to it.
//!
//! Judges nothing anew: what the ledger says of a commit stands. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::evidence::{Case, Committer, Judgement, Verdict, join_attestations, judge};
use siglum_domain::{AgentName, CheckpointId, Oid, RepositoryId, SessionId};
use siglum_gitstore::RangeCommit;
use siglum_ledger::{CommitRecord, Ledger, LedgerError, SeenBy, Transaction, read};

use crate::commits::answers::CommitAnswer;
use crate::commits::attestations::attestations_of;
use crate::commits::elsewhere;
use crate::commits::why::{self, Claim};

/// What the ledger says of who made a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A session, as sure as this.
    Session(SessionId, Verdict),
    /// A person was seen making it.
    Human,
    /// A person says that it is a session's.
    Claimed(SessionId),
    /// A trusted platform attests that it is a session's, and nobody was seen making it.
    Attested(SessionId),
    /// One of so many sessions.
    Ambiguous(usize),
    /// It is recorded, and nobody was seen making it.
    Unknown,
    /// Nothing is recorded of it, or there is no ledger to ask.
    Unrecorded,
}

impl Standing {
    /// Whether nobody is known to have made it.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Unknown | Self::Unrecorded)
    }

    /// By evidence, else by a person's word, else by a platform's.
    fn new(judgement: &Judgement, claim: Option<&Claim>) -> Self {
        match (judgement.committer, claim) {
            (Committer::Session { .. }, Some(claim)) if judgement.is_attested() => {
                Self::Claimed(claim.session)
            }
            (Committer::Session { session }, None) if judgement.is_attested() => {
                Self::Attested(session)
            }
            (Committer::Session { session }, _) => Self::Session(session, judgement.verdict),
            (Committer::Human, _) => Self::Human,
            (Committer::Unknown, Some(claim)) => Self::Claimed(claim.session),
            (Committer::Unknown, None) if judgement.verdict == Verdict::Ambiguous => {
                Self::Ambiguous(judgement.candidates.len())
            }
            (Committer::Unknown, None) => Self::Unknown,
        }
    }
}

/// What is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Nothing is recorded of it, and its message names no checkpoint.
    Unrecorded,
    /// It is recorded, nobody was seen making it, and its message names no checkpoint.
    Unknown,
    /// The same of a merge.
    Merge,
    /// Its message names no checkpoint, although a session made it; without a ledger nobody is known
    /// to have made it.
    NoTrailer(Option<(Option<AgentName>, SessionId)>),
    /// Its message names only checkpoints of others.
    Copied {
        /// The first of them.
        checkpoint: CheckpointId,
        /// The commit that is this checkpoint, if it is one of a commit.
        of: Option<Oid>,
    },
    /// Its message names a checkpoint that is not in the ledger.
    Nowhere(CheckpointId),
    /// Its trailer is no checkpoint id.
    Malformed(String),
    /// One of so many sessions made it.
    Ambiguous(usize),
    /// Only a trusted platform says whose it is.
    Attested,
    /// It was there before Siglum was switched on, whatever else it lacks.
    Before,
}

/// One commit that was looked at.
#[derive(Debug, Clone)]
pub struct Checked {
    pub git: RangeCommit,
    /// What the ledger says.
    pub standing: Standing,
    pub findings: Vec<Finding>,
}

/// Checks commits against the ledger, in one transaction; those that were there `before` Siglum was switched on may lack
/// anything. Nothing if the ledger can say nothing of them: it knows neither the repository nor any checkpoint that they
/// name.
///
/// # Errors
/// Those of the ledger.
pub fn against(
    ledger: &mut dyn Ledger,
    repository: Option<RepositoryId>,
    commits: &[RangeCommit],
    before: &BTreeSet<Oid>,
) -> Result<Option<Vec<Checked>>, LedgerError> {
    read(ledger, |tx| {
        if repository.is_none() && !knows_any(tx, commits)? {
            return Ok(None);
        }
        let mut checked = Vec::new();
        for commit in commits {
            let mut found = check_commit(tx, repository, commit)?;
            if !found.findings.is_empty() && before.contains(&commit.commit) {
                found.findings = vec![Finding::Before];
            }
            checked.push(found);
        }
        Ok(Some(checked))
    })
}

/// Checks a commit that is `known` to nobody here against what a gateway says: its `answer`, and the commits of the
/// `checkpoints` that it knows.
#[must_use]
pub fn answered(
    commit: &RangeCommit,
    known: Standing,
    answer: Option<&CommitAnswer>,
    checkpoints: &BTreeMap<CheckpointId, Vec<Oid>>,
) -> Checked {
    let standing = answer.map_or(known, |a| Standing::new(&a.judgement, a.claim.as_ref()));
    let mut trailers = Trailers::new(commit);
    for id in &commit.named {
        let commits = checkpoints.get(id);
        let is_own = answer.is_some_and(|a| a.checkpoint == Some(*id))
            || commits.is_some_and(|commits| commits.contains(&commit.commit));
        match commits {
            _ if is_own => trailers.own = true,
            Some(commits) => trailers.add_copied(*id, commits.first().cloned()),
            None => trailers.findings.push(Finding::Nowhere(*id)),
        }
    }
    let by = answer.zip(standing_session(standing));
    let by = by.and_then(|(answer, id)| answer.sessions.iter().find(|s| s.id == id));
    let is_rewritten_alone = answer.is_some_and(|a| {
        let by_session = matches!(a.judgement.committer, Committer::Session { .. });
        a.seen_by == Some(SeenBy::Rewrite) && a.checkpoint.is_none() && by_session
    });
    trailers.checked(
        commit,
        standing,
        is_rewritten_alone,
        by.map(|s| (s.agent.clone().named(), s.id)),
    )
}

/// Checks the trailers of commits alone: that there is one, and that it is well formed.
#[must_use]
pub fn trailers(commits: &[RangeCommit]) -> Vec<Checked> {
    let look = |commit: &RangeCommit| {
        let mut findings = malformed(commit);
        if commit.named.is_empty() && findings.is_empty() {
            findings.push(if commit.parents > 1 {
                Finding::Merge
            } else {
                Finding::NoTrailer(None)
            });
        }
        Checked {
            git: commit.clone(),
            standing: Standing::Unrecorded,
            findings,
        }
    };
    commits.iter().map(look).collect()
}

fn knows_any(tx: &mut dyn Transaction, commits: &[RangeCommit]) -> Result<bool, LedgerError> {
    for id in commits.iter().flat_map(|c| &c.named) {
        if tx.checkpoint(*id)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn malformed(commit: &RangeCommit) -> Vec<Finding> {
    let values = commit.malformed.iter().cloned();
    values.map(Finding::Malformed).collect()
}

fn check_commit(
    tx: &mut dyn Transaction,
    repository: Option<RepositoryId>,
    commit: &RangeCommit,
) -> Result<Checked, LedgerError> {
    let mut record = match repository {
        Some(_) => elsewhere::known_elsewhere(tx, repository, &commit.commit)?,
        None => None,
    };
    let mut trailers = Trailers::new(commit);
    for id in &commit.named {
        match whose(tx, *id, &commit.commit, record.as_ref())? {
            Whose::Own(found) => {
                trailers.own = true;
                record = record.or(found.map(|found| *found));
            }
            Whose::Other(of) => trailers.add_copied(*id, of),
            Whose::Nobodys => trailers.findings.push(Finding::Nowhere(*id)),
        }
    }
    let standing = standing(tx, repository, commit, record.as_ref())?;
    let by = match standing_session(standing) {
        Some(session) if !trailers.own => tx.session(session)?.map(|s| (s.agent, s.id)),
        _ => None,
    };
    let is_rewritten_alone = is_rewritten_alone(record.as_ref());
    Ok(trailers.checked(commit, standing, is_rewritten_alone, by))
}

/// What the checkpoints come to that a message names.
struct Trailers {
    /// What is wrong with them.
    findings: Vec<Finding>,
    /// Whether one is the commit's own.
    own: bool,
    /// The first one that is another commit's.
    copied: Option<Finding>,
}

impl Trailers {
    fn new(commit: &RangeCommit) -> Self {
        Self {
            findings: malformed(commit),
            own: false,
            copied: None,
        }
    }

    fn add_copied(&mut self, checkpoint: CheckpointId, of: Option<Oid>) {
        self.copied
            .get_or_insert(Finding::Copied { checkpoint, of });
    }

    /// The commit with all that is wrong with it; `by` is the session that made it, with its agent.
    fn checked(
        self,
        commit: &RangeCommit,
        standing: Standing,
        is_rewritten_alone: bool,
        by: Option<(Option<AgentName>, SessionId)>,
    ) -> Checked {
        let mut findings = self.findings;
        if !self.own && findings.is_empty() {
            findings.extend(match self.copied {
                Some(copied) => Some(copied),
                None if is_rewritten_alone => None,
                None => unnamed(standing, commit.parents > 1, by),
            });
        }
        match standing {
            Standing::Ambiguous(sessions) => findings.push(Finding::Ambiguous(sessions)),
            Standing::Attested(_) => findings.push(Finding::Attested),
            _ => {}
        }
        Checked {
            git: commit.clone(),
            standing,
            findings,
        }
    }
}

/// The session that made a commit by evidence.
const fn standing_session(standing: Standing) -> Option<SessionId> {
    match standing {
        Standing::Session(session, _) => Some(session),
        _ => None,
    }
}

/// Whether a session only rewrote a commit that was no checkpoint: git gave it the message of the one before, and a
/// rebase asks nobody for a trailer.
fn is_rewritten_alone(record: Option<&CommitRecord>) -> bool {
    record.is_some_and(|r| {
        let by_session = matches!(r.judgement.committer, Committer::Session { .. });
        r.seen_by == SeenBy::Rewrite && r.checkpoint.is_none() && by_session
    })
}

/// Whose a checkpoint is that a message names.
enum Whose {
    /// The commit's, with its record where that is in another repository: that of a clone.
    Own(Option<Box<CommitRecord>>),
    /// That of another commit, or of none.
    Other(Option<Oid>),
    /// It is not there.
    Nobodys,
}

fn whose(
    tx: &mut dyn Transaction,
    id: CheckpointId,
    commit: &Oid,
    record: Option<&CommitRecord>,
) -> Result<Whose, LedgerError> {
    let Some(checkpoint) = tx.checkpoint(id)? else {
        return Ok(Whose::Nobodys);
    };
    if record.is_some_and(|r| r.checkpoint == Some(id)) {
        return Ok(Whose::Own(None));
    }
    // An amend takes its checkpoint along, so it may be several commits; the newest counts.
    let mut commits = tx.commits_of_checkpoint(id)?;
    if let Some(at) = commits.iter().position(|c| c.commit == *commit) {
        return Ok(Whose::Own(Some(Box::new(commits.swap_remove(at)))));
    }
    if checkpoint.commit.as_ref() == Some(commit) {
        return Ok(Whose::Own(None));
    }
    let newest = commits.into_iter().next().map(|c| c.commit);
    Ok(Whose::Other(newest.or(checkpoint.commit)))
}

fn standing(
    tx: &mut dyn Transaction,
    repository: Option<RepositoryId>,
    commit: &RangeCommit,
    record: Option<&CommitRecord>,
) -> Result<Standing, LedgerError> {
    let attestations = attestations_of(tx, &commit.commit, None)?;
    let judgement = match record {
        Some(record) => Some(record.judgement.clone()),
        None if attestations.is_empty() => None,
        None => Some(judge(&Case::default())),
    };
    let judgement = judgement.map(|judgement| join_attestations(judgement, &attestations));
    let is_observed = |j: &Judgement| j.committer != Committer::Unknown && !j.is_attested();
    let is_judged = judgement.as_ref().is_some_and(is_observed);
    let claim = match record.map(|r| r.repository).or(repository) {
        Some(repository) if !is_judged => {
            why::claim(&tx.statements_of_commit(repository, &commit.commit)?)
        }
        _ => None,
    };
    Ok(match (judgement, claim) {
        (Some(judgement), claim) => Standing::new(&judgement, claim.as_ref()),
        (None, Some(claim)) => Standing::Claimed(claim.session),
        (None, None) => Standing::Unrecorded,
    })
}

/// What is wrong with a commit whose message names no checkpoint.
fn unnamed(
    standing: Standing,
    merge: bool,
    by: Option<(Option<AgentName>, SessionId)>,
) -> Option<Finding> {
    match standing {
        Standing::Human | Standing::Claimed(_) | Standing::Attested(_) => None,
        Standing::Session(..) => Some(Finding::NoTrailer(by)),
        Standing::Ambiguous(_) => Some(Finding::NoTrailer(None)),
        Standing::Unknown | Standing::Unrecorded if merge => Some(Finding::Merge),
        Standing::Unknown => Some(Finding::Unknown),
        Standing::Unrecorded => Some(Finding::Unrecorded),
    }
}
