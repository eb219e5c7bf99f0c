//! From an intent to a commit.

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::{Committer, Judgement, judge};
use siglum_domain::intake::{Head, Landed, LandedBy, Place};
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    CheckpointKind, CheckpointRecord, CommitRecord, IntentRecord, IntentState, LedgerError, SeenBy,
    Transaction,
};

use crate::commits::scene::{self, Unseen};

/// A commit landed: closes the intent of the same git process, or takes what could be seen now.
pub(crate) fn land(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    at: Timestamp,
    landed: &Landed,
) -> Result<(), LedgerError> {
    let intent = own_intent(tx, repository, landed)?;
    let commit = match &intent {
        Some(intent) => became(intent, landed),
        None => Some(&landed.commit),
    };
    let Some(commit) = commit else { return Ok(()) };
    if let Some(known) = tx.commit(repository, commit)? {
        // What a sweep said of it, without its intent or while this word was under way, was less.
        let less = known.intent.is_none() || known.seen_by == SeenBy::Sweep;
        if intent.is_none() || !less {
            return Ok(());
        }
        take_back(tx, &known)?;
    }
    match intent {
        Some(intent) => {
            follow(tx, repository, landed, intent.scene.head.as_ref(), commit)?;
            close(tx, &intent, commit, at, SeenBy::Hook)
        }
        None if landed.by == LandedBy::Merge => Ok(()),
        None if left_by_git(tx, repository, landed)? => Ok(()),
        None => {
            let case = scene::case(tx, &landed.scene, at)?;
            let checkpoint = landed.scene.checkpoint;
            put(
                tx,
                repository,
                &landed.commit,
                Some(checkpoint),
                None,
                judge(&case),
                at,
                SeenBy::Hook,
            )
        }
    }
}

/// The intent of the git whose hook speaks. A sweep that saw that git dead while the hook's word was under way
/// may have closed it.
fn own_intent(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    landed: &Landed,
) -> Result<Option<IntentRecord>, LedgerError> {
    let Some((_, git)) = landed.scene.chain.git_process() else {
        return Ok(None);
    };
    let mut own = tx.intents_of_git(&git.identity.key())?;
    own.retain(|i| i.repository == repository);
    let open = own.iter().position(|i| i.state == IntentState::Open);
    let closed = || {
        own.iter().position(|i| match &i.state {
            IntentState::Open => false,
            IntentState::Expired => became(i, landed).is_some(),
            IntentState::Landed(commit) => became(i, landed) == Some(commit),
        })
    };
    Ok(open.or_else(closed).map(|at| own.swap_remove(at)))
}

/// Takes back what was said of a commit by less than a hook that saw it landing.
pub(crate) fn take_back(tx: &mut dyn Transaction, known: &CommitRecord) -> Result<(), LedgerError> {
    if let Some(intent) = known.intent {
        tx.close_intent(intent, &IntentState::Expired)?;
    }
    match known.checkpoint {
        Some(id) => withdraw(tx, id, &known.commit).map(drop),
        None => Ok(()),
    }
}

/// Withdraws a checkpoint, if it is this commit's, and tells whether it was.
pub(crate) fn withdraw(
    tx: &mut dyn Transaction,
    id: CheckpointId,
    commit: &Oid,
) -> Result<bool, LedgerError> {
    let of_commit = tx
        .checkpoint(id)?
        .is_some_and(|c| c.commit.as_ref() == Some(commit));
    if of_commit {
        tx.withdraw_checkpoint(id)?;
    }
    Ok(of_commit)
}

/// Tells whether git died before this hook of its looked around, and an intent in the same checkout
/// is open: the sweep, which can tell whose git is dead, closes it by the trailer.
fn left_by_git(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    landed: &Landed,
) -> Result<bool, LedgerError> {
    if landed.scene.chain.git_process().is_some() {
        return Ok(false);
    }
    let open = tx.open_intents(Some(repository))?;
    Ok(open
        .iter()
        .any(|i| i.scene.place == landed.place && i.scene.chain.git_process().is_some()))
}

/// The commit that an intent became. Somebody else may have moved HEAD on since, so it is the one to
/// which HEAD went from where the intent saw it; where the log of HEAD has no such move, the sweep
/// finds it by its trailer.
fn became<'a>(intent: &IntentRecord, landed: &'a Landed) -> Option<&'a Oid> {
    if landed.moves.is_empty() {
        return Some(&landed.commit);
    }
    let moved = landed
        .moves
        .iter()
        .find(|(from, _)| *from == intent.scene.head);
    moved.map(|(_, to)| to)
}

/// A checkout that was looked through up to the commit's parent is looked through with it.
fn follow(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    landed: &Landed,
    parent: Option<&Oid>,
    commit: &Oid,
) -> Result<(), LedgerError> {
    if parent.is_some() && swept(tx, &landed.place)?.as_ref() == parent {
        tx.set_swept(repository, &landed.place.worktree, commit)?;
    }
    Ok(())
}

/// Up to which commit a checkout was looked through.
fn swept(tx: &mut dyn Transaction, place: &Place) -> Result<Option<Oid>, LedgerError> {
    let known = tx.repository(&place.common_dir)?;
    let worktree = known.and_then(|r| r.worktrees.into_iter().find(|(w, _)| *w == place.worktree));
    Ok(worktree.and_then(|(_, swept)| swept))
}

/// Closes an intent with the commit that it became.
pub(crate) fn close(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    commit: &Oid,
    at: Timestamp,
    seen_by: SeenBy,
) -> Result<(), LedgerError> {
    let scene = &intent.scene;
    tx.close_intent(scene.checkpoint, &IntentState::Landed(commit.clone()))?;
    let mut case = scene::case(tx, scene, intent.at)?;
    scene::tool_output(tx, intent.repository, commit, "", &mut case)?;
    let checkpoint = checkpoint_of(tx, intent, commit)?;
    withdraw_other(tx, intent.repository, commit, checkpoint)?;
    put(
        tx,
        intent.repository,
        commit,
        Some(checkpoint),
        Some(scene.checkpoint),
        judge(&case),
        at,
        seen_by,
    )
}

/// The checkpoint that the commit of an intent is. An amend whose message names one that never came
/// to be, because its hooks were killed, is that one.
fn checkpoint_of(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    commit: &Oid,
) -> Result<CheckpointId, LedgerError> {
    let own = intent.scene.checkpoint;
    let Some(named) = intent
        .scene
        .named
        .filter(|_| intent.scene.message == "commit")
    else {
        return Ok(own);
    };
    let announced = tx
        .intent(named)?
        .is_some_and(|i| i.repository == intent.repository);
    let there = tx.checkpoint(named)?.map(|c| c.commit);
    let free = there.is_none_or(|of| of.as_ref() == Some(commit));
    Ok(if announced && free { named } else { own })
}

/// A checkpoint that the commit got before a better one was known is replaced.
pub(crate) fn withdraw_other(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
    checkpoint: CheckpointId,
) -> Result<(), LedgerError> {
    let known = tx.commit(repository, commit)?.and_then(|c| c.checkpoint);
    match known {
        Some(other) if other != checkpoint => withdraw(tx, other, commit).map(drop),
        _ => Ok(()),
    }
}

/// A commit that no hook of git announced or saw landing.
pub(crate) fn unannounced(
    tx: &mut dyn Transaction,
    unseen: &Unseen<'_>,
    fresh: CheckpointId,
) -> Result<(), LedgerError> {
    if tx
        .commit(unseen.repository, &unseen.facts.commit)?
        .is_some()
    {
        return Ok(());
    }
    put_unseen(tx, unseen, fresh, SeenBy::Tool)
}

/// A commit that an import of transcripts found. It is noted at the moment that git says it was
/// made, so that the prompt that led to it is the one before it.
pub(crate) fn imported(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    facts: &CommitFacts,
    fresh: CheckpointId,
) -> Result<(), LedgerError> {
    let at = facts.committed;
    let unseen = Unseen {
        repository,
        facts,
        at,
    };
    put_unseen(tx, &unseen, fresh, SeenBy::Import)
}

fn put_unseen(
    tx: &mut dyn Transaction,
    unseen: &Unseen<'_>,
    fresh: CheckpointId,
    seen_by: SeenBy,
) -> Result<(), LedgerError> {
    let judgement = judge(&scene::unwitnessed(tx, unseen)?);
    put(
        tx,
        unseen.repository,
        &unseen.facts.commit,
        Some(fresh),
        None,
        judgement,
        unseen.at,
        seen_by,
    )
}

#[expect(clippy::too_many_arguments, reason = "the columns of one row")]
fn put(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
    checkpoint: Option<CheckpointId>,
    intent: Option<CheckpointId>,
    judgement: Judgement,
    at: Timestamp,
    seen_by: SeenBy,
) -> Result<(), LedgerError> {
    let sessions = concerned(&judgement);
    let checkpoint = checkpoint.filter(|_| !sessions.is_empty());
    if let Some(id) = checkpoint {
        pin(tx, id, repository, commit, &sessions, at)?;
    }
    let record = CommitRecord {
        repository,
        commit: commit.clone(),
        checkpoint,
        intent,
        judgement,
        facts: None,
        patch: None,
        at,
        seen_by,
    };
    tx.put_commit(&record)?;
    tx.push(at, "commit", commit.as_str())
}

/// The sessions that a judgement names: the committer, or those between which it cannot tell.
pub(crate) fn concerned(judgement: &Judgement) -> Vec<SessionId> {
    match judgement.committer {
        Committer::Session { session } => vec![session],
        Committer::Human => Vec::new(),
        Committer::Unknown if judgement.verdict == siglum_domain::evidence::Verdict::Ambiguous => {
            judgement.candidates.clone()
        }
        Committer::Unknown => Vec::new(),
    }
}

/// Makes a checkpoint of a commit that pins sessions to where their logs stand.
pub(crate) fn pin(
    tx: &mut dyn Transaction,
    id: CheckpointId,
    repository: RepositoryId,
    commit: &Oid,
    sessions: &[SessionId],
    at: Timestamp,
) -> Result<(), LedgerError> {
    let mut pins = Vec::with_capacity(sessions.len());
    for session in sessions {
        if let Some(record) = tx.session(*session)? {
            pins.push((*session, record.head));
        }
    }
    let commit = Some(commit.clone());
    tx.put_checkpoint(&CheckpointRecord {
        id,
        kind: CheckpointKind::Commit,
        repository: Some(repository),
        commit,
        at,
        pins,
    })
}

/// A checkout that was never looked through is looked through from where its HEAD stands now.
pub(crate) fn look_from_here(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    head: &Head,
) -> Result<(), LedgerError> {
    match (&head.commit, swept(tx, &head.place)?) {
        (Some(commit), None) => tx.set_swept(repository, &head.place.worktree, commit),
        _ => Ok(()),
    }
}
