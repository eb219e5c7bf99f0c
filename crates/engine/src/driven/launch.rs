//! Sessions that a launcher starts: registered before their agent runs, taken up by the first agent
//! process below the launcher, and ended with the command, or when the launcher is found dead.
//!
//! All of it is statements; what they amount to is [`standing`]. Who only inherited the claim gets
//! no identity from it.

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::intake::{Decline, LaunchClaim, Place};
use siglum_domain::link::Stated;
use siglum_domain::process::Chain;
use siglum_domain::{ConversationId, SessionId, Timestamp};
use siglum_ledger::{
    Durability, Launch, LaunchEnd, Ledger, LedgerError, Mode, OwnWorktree, Relation, SessionOrigin,
    SessionRecord, Statement, Transaction, attempt, read, write,
};

use crate::Here;
use crate::identity::audit::{self, Entry};
use crate::identity::links::{self, LinksError};
use crate::identity::repositories::note_place;
use crate::identity::{FirstLinks, NewSession, open_session, proven, target};
pub use crate::identity::{Standing, UNREADABLE_TOKEN, standing};
use crate::record::session_log;

/// What a launcher says of a session that it is about to start.
#[derive(Debug, Clone)]
pub struct NewLaunch {
    pub session: SessionId,
    pub launch: Launch,
    /// What is attached to it, each with where that was stated.
    pub links: Vec<Stated>,
    /// The variables that were to be links and are none.
    pub left_out: Vec<Decline>,
    pub by: String,
    pub cwd: String,
    /// The repository it starts in.
    pub place: Option<Place>,
    /// What a launcher further out handed down to this one.
    pub outer: Option<LaunchClaim>,
}

/// Writes down that a session is about to be launched, with its links.
///
/// # Errors
/// [`LinksError`]; nothing was written then.
pub fn register(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    new: &NewLaunch,
) -> Result<(), LinksError> {
    let home = ledger.id();
    let at = here.now();
    let first = FirstLinks::new(new.links.iter().cloned())?;
    attempt(ledger, Durability::Disk, |tx| {
        let repository = match &new.place {
            Some(place) => Some(note_place(tx, here.ids, place, at)?),
            None => None,
        };
        let parent = match &new.outer {
            Some(claim) => proven(tx, claim, [])?.map(|outer| target(claim.session, &outer)),
            None => None,
        };
        let session = new.session;
        let record = SessionRecord {
            parent: parent.map(|parent| (parent, Relation::Nested)),
            cwd: Some(here.redactor.redact(&new.cwd).into_string()),
            repository,
            worktree: new.place.as_ref().map(|p| p.worktree.clone()),
            ..SessionRecord::new(
                session,
                new.launch.agent.clone(),
                // No agent has given it a name yet.
                ConversationId::of_native(None, session),
                home,
                Mode::Observed,
                SessionOrigin::Launch,
                at,
            )
        };
        let launch = new.launch.clone();
        let launched = Statement::Launched { session, launch };
        open_session(
            tx,
            &NewSession {
                record,
                name: None,
                links: first.clone(),
                statement: Some(("launcher", launched)),
                by: &new.by,
                audit: Some((here, json!({ "program": new.launch.program }))),
            },
        )?;
        links::note_left_out(tx, here.ids, at, (session, &new.by), &new.left_out)?;
        Ok(())
    })
}

/// The session that a command speaks for that was handed a claim. None if the claim proves nothing, or if the nearest
/// agent above the command is another one, which only inherited it.
///
/// # Errors
/// Those of the ledger.
pub fn speaker(
    tx: &mut dyn Transaction,
    claim: &LaunchClaim,
    chain: &Chain,
) -> Result<Option<SessionId>, LedgerError> {
    let Some(standing) = proven(tx, claim, chain.identities())? else {
        return Ok(None);
    };
    let target = target(claim.session, &standing);
    for above in &chain.ancestors {
        let bound = tx.bound_to(&above.identity.key())?;
        if !bound.is_empty() {
            return Ok(bound.iter().any(|b| b.session == target).then_some(target));
        }
    }
    Ok(Some(target))
}

/// Writes down how the command of a launched session ended; a second time changes nothing.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn end(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    end: &LaunchEnd,
    worktree: Option<&OwnWorktree>,
) -> Result<(), LedgerError> {
    let at = here.now();
    write(ledger, Durability::Disk, |tx| {
        let Some(standing) = standing(tx, session)?.filter(|s| s.end.is_none()) else {
            return Ok(());
        };
        if tx.session(session)?.is_some_and(|s| s.mode == Mode::Driven) {
            return stop(tx, at, session, &standing.by, end);
        }
        let (end, worktree) = (end.clone(), worktree.cloned());
        let reason = words(&end);
        let actor = match end {
            LaunchEnd::Lost => audit::SIGLUM,
            _ => audit::LAUNCHER,
        };
        let entry = Entry::done(actor, Action::SessionEnded).for_session(session);
        let entry = entry.with(json!({ "how": reason }));
        let ended = Statement::LaunchEnded {
            session,
            end,
            worktree,
        };
        let number = tx.state(at, &standing.by, "launcher", &ended)?;
        over(
            here,
            tx,
            session,
            &format!("launch-ended:{number}"),
            reason,
            at,
        )?;
        audit::record(tx, here, &entry)?;
        Ok(())
    })
}

/// The process of a driven session is over, and the session is not: its runner still has the lease, and commits.
fn stop(
    tx: &mut dyn Transaction,
    at: Timestamp,
    session: SessionId,
    by: &str,
    end: &LaunchEnd,
) -> Result<(), LedgerError> {
    let ended = Statement::LaunchEnded {
        session,
        end: end.clone(),
        worktree: None,
    };
    tx.end_calls(session)?;
    tx.state(at, by, "runner", &ended).map(drop)
}

/// Writes down which of these launches are lost: their launcher is dead and said nothing. Returns
/// those of which nothing more is to be heard, lost or not.
///
/// # Errors
/// Those of the ledger.
pub fn find_lost(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    sessions: &[SessionId],
) -> Result<Vec<SessionId>, LedgerError> {
    let mut done = Vec::new();
    for session in sessions {
        let Some(standing) = read(ledger, |tx| standing(tx, *session))? else {
            // It is about to be registered, or belongs to another ledger.
            continue;
        };
        if standing.end.is_none() {
            let launcher = standing.launch.launcher.as_ref();
            if launcher.and_then(|l| (here.alive)(l)) != Some(false) {
                continue;
            }
            end(here, ledger, *session, &LaunchEnd::Lost, None)?;
        }
        done.push(*session);
    }
    Ok(done)
}

/// Ends a session with its command, unless its agent said so before, or goes on without the launcher.
fn over(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
    key: &str,
    reason: String,
    at: Timestamp,
) -> Result<(), LedgerError> {
    let Some(record) = tx.session(session)?.filter(|s| s.ended_at.is_none()) else {
        return Ok(());
    };
    let newest = tx.bindings(session)?.into_iter().next();
    if newest.is_some_and(|b| (here.alive)(&b.process) == Some(true)) {
        return Ok(());
    }
    session_log::say_ended(tx, here.ids, &record, key.to_owned(), reason, at)
}

/// How a launch ended, in words.
#[must_use]
pub fn words(end: &LaunchEnd) -> String {
    match end {
        LaunchEnd::Completed => "completed".to_owned(),
        LaunchEnd::Failed { code } => format!("failed with code {code}"),
        LaunchEnd::Signalled { signal } => format!("ended by signal {signal}"),
        LaunchEnd::NotStarted { code: 127 } => "its command was not found".to_owned(),
        LaunchEnd::NotStarted { .. } => "its command could not be started".to_owned(),
        LaunchEnd::Lost => "lost: the launcher died unexpectedly".to_owned(),
        LaunchEnd::Expired => "expired: no activity for a long time".to_owned(),
    }
}
