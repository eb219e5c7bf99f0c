//! Judging again what was judged before: more was seen since, or the rules are better now.
//!
//! Raw evidence is kept: the scene that a hook saw, and the logs of sessions. A case is made of it as
//! of the moment of the commit, so that the same evidence gives the same answer whenever it is asked.

use siglum_domain::evidence::{
    Case, Committer, Counterfactual, Judgement, RULES, Rule, Verdict, counterfactuals, judge, rule,
};
use siglum_domain::{CheckpointId, IdSource, Oid, RepositoryId, SessionId};
use siglum_ledger::{
    CommitFilter, CommitRecord, Durability, IntentState, Ledger, LedgerError, SeenBy, Transaction,
    read, write,
};

use crate::commits::landing::{concerned, pin};
use crate::commits::scene::{self, Unseen};
use crate::commits::{rewrites, rivals};
use crate::{EngineError, World};

/// How many commits are judged again in one transaction.
const BATCH: usize = 64;

/// More became known of a commit that no hook of git saw landing: the end of another call, or what git
/// says. One that a trailer gave to its announcer may turn out to be somebody else's.
pub(crate) fn judge_again(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    repository: RepositoryId,
    commit: &Oid,
) -> Result<(), LedgerError> {
    let Some(known) = tx.commit(repository, commit)? else {
        return Ok(());
    };
    let announced = known.intent.map(|id| tx.intent(id)).transpose()?.flatten();
    let unseen = match (known.seen_by, &announced) {
        (SeenBy::Tool, None) => true,
        (SeenBy::Sweep, Some(intent)) => rivals::made_otherwise(tx, intent, commit)?,
        _ => false,
    };
    if !unseen {
        return match (known.seen_by, &announced) {
            (SeenBy::Hook, Some(_)) => judge_seen_again(tx, ids, known),
            (SeenBy::Rewrite, Some(_)) => {
                let judgement = rewrites::judge_again(tx, &known)?;
                tx.put_commit(&CommitRecord { judgement, ..known })
            }
            (SeenBy::Sweep, Some(intent)) => {
                let beside = rivals::beside(tx, intent, commit, None)?;
                rivals::doubt(tx, intent, &[], &beside, commit)
            }
            _ => Ok(()),
        };
    }
    // Without them it is judged again when git was asked.
    let Some(facts) = &known.facts else {
        return Ok(());
    };
    let (at, facts) = (known.at, facts);
    let unseen = Unseen {
        repository,
        facts,
        at,
    };
    let judgement = judge(&scene::unwitnessed(tx, &unseen)?);
    if judgement == known.judgement {
        return Ok(());
    }
    if let Some(intent) = &announced {
        tx.close_intent(intent.scene.checkpoint, &IntentState::Expired)?;
    }
    let unseen = CommitRecord {
        intent: None,
        seen_by: SeenBy::Tool,
        ..known
    };
    renew(tx, ids, unseen, judgement)
}

/// The case of a commit as of the moment when it was made, from raw evidence. None where a sweep
/// settled it with what else was there at that moment.
pub(crate) fn case_of(
    tx: &mut dyn Transaction,
    known: &CommitRecord,
) -> Result<Option<Case>, LedgerError> {
    let subject = known.facts.as_ref().map_or("", |f| f.subject.as_str());
    let intent = known.intent.map(|id| tx.intent(id)).transpose()?.flatten();
    match (known.seen_by, intent, &known.facts) {
        (SeenBy::Hook, Some(intent), _) => {
            let repository = known.repository;
            let mut case = scene::past_case(tx, repository, &intent.scene, intent.at)?;
            scene::tool_output(tx, repository, &known.commit, subject, &mut case)?;
            Ok(Some(case))
        }
        (SeenBy::Tool | SeenBy::Import, None, Some(facts)) => {
            let unseen = Unseen {
                repository: known.repository,
                facts,
                at: known.at,
            };
            scene::unwitnessed(tx, &unseen).map(Some)
        }
        (SeenBy::Rewrite, _, _) => rewrites::case_of(tx, known).map(Some),
        _ => Ok(None),
    }
}

/// Stores a new judgement of a commit, with the checkpoint that goes with it: one that the message names
/// stays, whoever it was.
pub(crate) fn renew(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    known: CommitRecord,
    judgement: Judgement,
) -> Result<(), LedgerError> {
    let sessions = concerned(&judgement);
    let promised = known
        .checkpoint
        .filter(|id| known.facts.iter().any(|f| f.named.contains(id)));
    if let Some(checkpoint) = known.checkpoint {
        tx.withdraw_checkpoint(checkpoint)?;
    }
    let checkpoint = match sessions.is_empty() {
        true => promised,
        false => Some(known.checkpoint.unwrap_or_else(|| CheckpointId::mint(ids))),
    };
    if let Some(id) = checkpoint {
        pin(tx, id, known.repository, &known.commit, &sessions, known.at)?;
    }
    tx.put_commit(&CommitRecord {
        checkpoint,
        judgement,
        ..known
    })
}

/// Whether two judgements say the same of who it was.
fn says_the_same(one: &Judgement, other: &Judgement) -> bool {
    (one.committer, one.verdict) == (other.committer, other.verdict)
        && concerned(one) == concerned(other)
}

/// Judges a commit again that a hook saw, now that more is known of it. An answer that stays is not
/// written again.
pub(crate) fn judge_seen_again(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    known: CommitRecord,
) -> Result<(), LedgerError> {
    let Some(case) = case_of(tx, &known)? else {
        return Ok(());
    };
    let judgement = judge(&case);
    if says_the_same(&judgement, &known.judgement) {
        return Ok(());
    }
    renew(tx, ids, known, judgement)
}

/// An answer that another one took the place of.
#[derive(Debug, Clone)]
pub struct Changed {
    pub repository: RepositoryId,
    pub commit: Oid,
    /// The first line of its message, where git was asked.
    pub subject: Option<String>,
    /// The answer before.
    pub before: (Committer, Verdict),
    /// The answer now, and the row of the table that gave it.
    pub after: (Committer, Verdict),
    /// The row of the table that gives it.
    pub rule: String,
}

/// Judges all commits by today's rules, and gives those whose answer changed. `progress` is called with
/// how many of how many were looked at.
///
/// # Errors
/// Those of the ledger; what was judged until then stays.
pub fn rebuild(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(u64, Vec<Changed>), EngineError> {
    let all: Vec<(RepositoryId, Oid)> = read(ledger, |tx| {
        let commits = tx.commits(&CommitFilter::default())?;
        Ok(commits
            .into_iter()
            .map(|c| (c.repository, c.commit))
            .collect())
    })?;
    let mut changed = Vec::new();
    for (done, batch) in all.chunks(BATCH).enumerate() {
        write(ledger, Durability::Process, |tx| {
            for (repository, commit) in batch {
                if let Some(known) = tx.commit(*repository, commit)? {
                    changed.extend(judge_by_todays_rules(tx, world.ids, known)?);
                }
            }
            Ok(())
        })?;
        let looked_at = (done * BATCH + batch.len()) as u64;
        progress(looked_at, all.len() as u64);
    }
    Ok((all.len() as u64, changed))
}

fn judge_by_todays_rules(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    known: CommitRecord,
) -> Result<Option<Changed>, LedgerError> {
    let judgement = match known.seen_by {
        SeenBy::Rewrite => rewrites::judge_again(tx, &known)?,
        _ => match case_of(tx, &known)? {
            Some(case) => judge(&case),
            None => return Ok(None),
        },
    };
    let old = known.judgement.clone();
    if judgement == old {
        return Ok(None);
    }
    let changed = (!says_the_same(&judgement, &old)).then(|| Changed {
        repository: known.repository,
        commit: known.commit.clone(),
        subject: known.facts.as_ref().map(|f| f.subject.clone()),
        before: (old.committer, old.verdict),
        after: (judgement.committer, judgement.verdict),
        rule: judgement.rule.clone(),
    });
    match known.seen_by {
        // Its checkpoint is that of the commit before.
        SeenBy::Rewrite => tx.put_commit(&CommitRecord { judgement, ..known })?,
        _ => renew(tx, ids, known, judgement)?,
    }
    Ok(changed)
}

/// Why an answer is what it is.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The row of the table that gave it; none in answers that are older than the names of rows, and
    /// where a sweep or a rewrite settled it.
    pub rule: Option<&'static Rule>,
    /// The version of the rules that the stored answer was made by, where it is not today's.
    pub older_rules: Option<u32>,
    /// Each sign: whose, its text, what it is worth, and what defeats it.
    pub signs: Vec<(SessionId, String, &'static str, &'static str)>,
    /// Pieces of the evidence without which the answer would be another one.
    pub counterfactuals: Vec<Counterfactual>,
}

/// Explains the stored answer for a commit from the raw evidence.
///
/// # Errors
/// Those of the ledger.
pub fn explain(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
) -> Result<Option<Explanation>, LedgerError> {
    let Some(known) = tx.commit(repository, commit)? else {
        return Ok(None);
    };
    let older_rules = (known.judgement.rules != RULES).then_some(known.judgement.rules);
    let case = case_of(tx, &known)?.unwrap_or_default();
    let mut signs: Vec<_> = case.signs.iter().collect();
    signs.sort();
    signs.dedup();
    let described = signs.into_iter().map(|(session, sign)| {
        let (worth, defeated_by) = sign.strength();
        (*session, sign.to_string(), worth, defeated_by)
    });
    Ok(Some(Explanation {
        rule: rule(&known.judgement.rule),
        older_rules,
        signs: described.collect(),
        counterfactuals: counterfactuals(&case),
    }))
}
