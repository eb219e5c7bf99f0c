//! Commits that are made at once in one checkout.
//!
//! They share the file with the message, so that the trailer of one may come into the other. Where a
//! hook saw the commit landing, that is no question; where none did, the trailer alone decides nothing
//! between those who committed at that moment.

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::{Basis, Committer, Evidence, Judgement, Verdict, judge};
use siglum_domain::{Oid, SessionId, Timestamp};
use siglum_ledger::{CommitRecord, IntentRecord, LedgerError, OutputMention, SeenBy, Transaction};

use crate::commits::landing::{concerned, pin, withdraw};
use crate::commits::scene;

/// A commit without our trailer belongs to an intent only if git made it this soon after, in ms.
pub(crate) const SOON_MS: i64 = 10_000;

/// The intents that are open beside this one and could have become the commit, too.
pub(crate) fn open_rivals(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    facts: &CommitFacts,
) -> Result<Vec<IntentRecord>, LedgerError> {
    let mut open = tx.open_intents(Some(intent.repository))?;
    open.retain(|other| {
        other.scene.checkpoint != intent.scene.checkpoint
            && other.scene.place == intent.scene.place
            && other.scene.head == intent.scene.head
            && other.scene.head.as_ref() == facts.parents.first()
            && other.at.millis_since(intent.at).abs() <= SOON_MS
    });
    Ok(open)
}

/// Who announced a commit, by what was seen then.
fn announced(tx: &mut dyn Transaction, intent: &IntentRecord) -> Result<Judgement, LedgerError> {
    Ok(judge(&scene::case(tx, &intent.scene, intent.at)?))
}

/// Tells whether a hook saw a commit landing that somebody else made than who announced it.
pub(crate) fn seen_otherwise(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    commit: &Oid,
) -> Result<bool, LedgerError> {
    let known = tx.commit(intent.repository, commit)?;
    let Some(known) = known.filter(|c| c.seen_by == SeenBy::Hook) else {
        return Ok(false);
    };
    let seen = known.judgement.committer;
    Ok(seen != Committer::Unknown && seen != announced(tx, intent)?.committer)
}

/// Tells whether a call of somebody else than who announced a commit has git's own line of making it in
/// its output, and none of theirs has: the message was theirs, the commit was not.
pub(crate) fn made_otherwise(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    commit: &Oid,
) -> Result<bool, LedgerError> {
    let moves = tx.moves_to(intent.repository, commit)?;
    let mut makers = moves
        .iter()
        .filter(|m| m.mention == OutputMention::Made)
        .peekable();
    if makers.peek().is_none() {
        return Ok(false);
    }
    let announced = announced(tx, intent)?.committer;
    Ok(makers.all(|m| announced != Committer::Session { session: m.session }))
}

/// The sessions whose calls HEAD came to a commit in, or whose calls ran here when it was made and have not
/// returned: their own hooks of git may have been killed.
pub(crate) fn beside(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    commit: &Oid,
    committed: Option<Timestamp>,
) -> Result<Vec<SessionId>, LedgerError> {
    let mut sessions: Vec<SessionId> = tx
        .moves_to(intent.repository, commit)?
        .into_iter()
        .map(|moved| moved.session)
        .collect();
    if let Some(committed) = committed {
        // Git's clock has whole seconds.
        let made = committed.plus_millis(1_000);
        let running = tx.running_calls(&intent.scene.place.worktree, Timestamp::default())?;
        sessions.extend(
            running
                .iter()
                .filter(|call| call.started <= made)
                .map(|call| call.session),
        );
    }
    Ok(sessions)
}

/// Nobody saw a commit landing, and several who announced one at once, or whose calls ran `beside`, could have
/// made it: unless all of them are one, nobody can tell.
pub(crate) fn doubt(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    rivals: &[IntentRecord],
    beside: &[SessionId],
    commit: &Oid,
) -> Result<(), LedgerError> {
    let Some(mut known) = tx.commit(intent.repository, commit)? else {
        return Ok(());
    };
    let mut doubtful = false;
    for rival in rivals {
        let judged = announced(tx, rival)?;
        if judged.committer == known.judgement.committer {
            continue;
        }
        doubtful = true;
        known.judgement.candidates.extend(concerned(&judged));
    }
    for session in beside {
        let is_listed = known.judgement.committer == Committer::Unknown
            && known.judgement.candidates.contains(session);
        if !is_listed && known.judgement.committer != (Committer::Session { session: *session }) {
            doubtful = true;
            known.judgement.candidates.push(*session);
        }
    }
    if !doubtful {
        return Ok(());
    }
    let text = "others were at work here at the same moment, and no hook saw whose commit landed";
    put_ambiguous(tx, known, text)
}

/// A rebase that ran by itself made a commit with the message that somebody else's hook had left in the file which
/// all who commit in a checkout share: that says who announced one, and not who made this one.
pub(crate) fn doubt_picked(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    commit: &Oid,
) -> Result<(), LedgerError> {
    let Some(known) = tx.commit(intent.repository, commit)? else {
        return Ok(());
    };
    let text = "a rebase made it, by git's list of the moves of HEAD: its message may be of a commit that was \
                begun here at the same moment";
    put_ambiguous(tx, known, text)
}

/// Stores that nobody can tell whose a commit is: those who were named, or could be, are its candidates.
fn put_ambiguous(
    tx: &mut dyn Transaction,
    mut known: CommitRecord,
    text: &str,
) -> Result<(), LedgerError> {
    let named = concerned(&known.judgement);
    let judgement = &mut known.judgement;
    judgement.candidates.extend(named);
    judgement.candidates.sort();
    judgement.candidates.dedup();
    (judgement.committer, judgement.verdict) = (Committer::Unknown, Verdict::Ambiguous);
    judgement
        .evidence
        .iter_mut()
        .for_each(|e| e.counted = false);
    judgement.evidence.push(Evidence {
        session: None,
        basis: Basis::Inferred,
        counted: true,
        text: text.to_owned(),
    });
    if let Some(id) = known.checkpoint
        && withdraw(tx, id, &known.commit)?
    {
        let sessions = concerned(&known.judgement);
        pin(tx, id, known.repository, &known.commit, &sessions, known.at)?;
    }
    tx.put_commit(&known)
}

/// No hook saw a commit landing, and its message does not name who announced it: somebody else may have made the very
/// same one after git refused theirs.
pub(crate) fn doubt_landing(
    tx: &mut dyn Transaction,
    intent: &IntentRecord,
    commit: &Oid,
) -> Result<(), LedgerError> {
    let Some(mut known) = tx.commit(intent.repository, commit)? else {
        return Ok(());
    };
    known.judgement.verdict = known.judgement.verdict.min(Verdict::Likely);
    known.judgement.evidence.push(Evidence {
        session: None,
        basis: Basis::Inferred,
        counted: true,
        text: "no hook saw it landing: its parent, tree and subject are those that were announced"
            .to_owned(),
    });
    tx.put_commit(&known)
}
