//! The commits that a commit was made of, each with who made it.

use serde::{Deserialize, Serialize};
use siglum_domain::evidence::{Case, Committer, Judgement, judge};
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId};
use siglum_ledger::{CommitRecord, LedgerError, Transaction};

use crate::commits::prompts::{Prompt, prompt_at};

/// How many commits are listed at most.
const MOST: usize = 64;

/// A commit that git made another one of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub commit: Oid,
    /// What git made of it.
    pub became: Oid,
    /// The first line of its message, where git was asked.
    pub subject: Option<String>,
    pub checkpoint: Option<CheckpointId>,
    pub judgement: Judgement,
    /// Whether what became of it makes the same change; absent where that is not known.
    pub same_change: Option<bool>,
    /// What led to it.
    pub prompt: Option<Prompt>,
}

/// The commits that a commit was made of, the nearest first, and those that they were made of.
///
/// # Errors
/// Those of the ledger.
pub fn origins_of(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
) -> Result<Vec<Origin>, LedgerError> {
    let mut found: Vec<Origin> = Vec::new();
    let mut next = 0;
    let mut became = commit.clone();
    loop {
        let of_became = tx.commit(repository, &became)?;
        for old in tx.rewritten_from(repository, &became)? {
            let seen = old == *commit || found.iter().any(|o| o.commit == old);
            if !seen && found.len() < MOST {
                found.push(origin(tx, repository, old, &became, of_became.as_ref())?);
            }
        }
        let Some(deeper) = found.get(next) else {
            return Ok(found);
        };
        became = deeper.commit.clone();
        next += 1;
    }
}

/// The sessions that made these commits, without the one that rewrote them, each once.
#[must_use]
pub fn makers(origins: &[Origin], rewriter: Committer) -> Vec<SessionId> {
    let mut sessions = Vec::new();
    for origin in origins {
        let made_by = origin.judgement.committer;
        if let Committer::Session { session } = made_by
            && made_by != rewriter
            && !sessions.contains(&session)
        {
            sessions.push(session);
        }
    }
    sessions
}

fn origin(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    old: Oid,
    became: &Oid,
    of_became: Option<&CommitRecord>,
) -> Result<Origin, LedgerError> {
    let record = tx.commit(repository, &old)?;
    let patch = |record: Option<&CommitRecord>| {
        let patch = record.and_then(|r| r.patch.clone());
        patch.filter(|p| !p.is_empty())
    };
    let (before, after) = (patch(record.as_ref()), patch(of_became));
    let prompt = match &record {
        Some(record) => match record.judgement.committer {
            Committer::Session { session } => prompt_at(tx, session, record.at)?,
            Committer::Human | Committer::Unknown => None,
        },
        None => None,
    };
    Ok(Origin {
        became: became.clone(),
        subject: record
            .as_ref()
            .and_then(|r| r.facts.as_ref())
            .map(|f| f.subject.clone()),
        checkpoint: record.as_ref().and_then(|r| r.checkpoint),
        same_change: before.zip(after).map(|(before, after)| before == after),
        judgement: record.map_or_else(|| judge(&Case::default()), |r| r.judgement),
        prompt,
        commit: old,
    })
}
