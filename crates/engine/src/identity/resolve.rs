//! Whose session a hook's claims are, or an imported transcript's.

use siglum_domain::intake::{AgentMatter, Decline};
use siglum_domain::observation::{Fact, Observation, StartKind};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{ConversationId, IdSource, LedgerId, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Mode, Relation, SessionOrigin, SessionRecord, Transaction};

use super::claims::{Taken, check_claim, take_up};
use super::{FirstLinks, Name, NewSession, SessionIdentity, open_session};
use crate::identity::repositories::note_place;

/// First match wins: a session named by the caller, a known alias, the one that a launcher started
/// this process for, a new session.
pub(crate) fn resolve(
    tx: &mut dyn Transaction,
    home: LedgerId,
    ids: &dyn IdSource,
    at: Timestamp,
    matter: &AgentMatter,
    origin: SessionOrigin,
) -> Result<SessionIdentity, LedgerError> {
    let repository = match &matter.place {
        Some(place) => Some(note_place(tx, ids, place, at)?),
        None => None,
    };
    let named = match matter.explicit {
        Some(id) => match tx.session(id)? {
            Some(known) if known.home != home => {
                declined(tx, at, &known, matter)?;
                None
            }
            known => known.map(|s| s.id),
        },
        None => None,
    };
    let known = match named {
        Some(id) => Some(id),
        None => tx.session_by_alias(&matter.agent, &matter.native)?,
    };
    let first_at = matter.observations.iter().map(|o| o.at).min().unwrap_or(at);
    let taken = check_claim(tx, matter, first_at)?;
    let launched = match (&taken, &matter.claim) {
        (Some(Taken::Up(_)), Some(claim)) => Some(claim.session),
        _ => None,
    };
    if let (None, None, Some(Taken::Inherited(outer))) = (known, launched, &taken)
        && only_ends(tx, *outer, matter)?
    {
        let session = *outer;
        return Ok(SessionIdentity {
            session,
            repository,
        });
    }
    let session = match known.or(launched) {
        Some(id) => id,
        None => create(tx, home, ids, first_at, matter, repository, origin)?,
    };
    if let (Some(Taken::Up(standing)), Some(launched)) = (&taken, launched) {
        take_up(tx, launched, standing, session, matter, first_at)?;
    }
    let last_at = matter.observations.iter().map(|o| o.at).max().unwrap_or(at);
    let place = repository.zip(matter.place.as_ref().map(|p| p.worktree.as_str()));
    tx.touch(session, last_at, place, matter.cwd.as_deref())?;
    // A known name may be a caller's: whether it is the agent's, too, is said once for each turn.
    if known.is_none() || named.is_some() || starts(matter) {
        tx.add_alias(&matter.agent, &matter.native, session, first_at)?;
    }
    // It is found by it, and is not resumed by it.
    if let Some(thread) = &matter.thread {
        tx.add_caller_name(&matter.agent, thread, session, first_at)?;
    }
    if known.is_none() || starts(matter) {
        goes_on(tx, session, matter, last_at)?;
        relate(tx, session, matter)?;
        if let Some(Taken::Inherited(outer)) = taken
            && known.is_none()
        {
            tx.set_parent(session, outer, Relation::Nested)?;
        }
    }
    // An end may come late, from a process that the session has left.
    if let Some(process) = matter.process.as_ref().filter(|_| !ends(matter)) {
        tx.bind(session, process, matter.carried.as_deref(), at)?;
    }
    Ok(SessionIdentity {
        session,
        repository,
    })
}

/// Whether all that is said is that a process ends below a driven session. Some agents name a session then that they never
/// ran, which is none.
fn only_ends(
    tx: &mut dyn Transaction,
    outer: SessionId,
    matter: &AgentMatter,
) -> Result<bool, LedgerError> {
    let ends = |o: &Observation| matches!(o.fact, Fact::SessionEnded { .. });
    let driven = tx.session(outer)?.is_some_and(|s| s.mode == Mode::Driven);
    Ok(driven && !matter.observations.is_empty() && matter.observations.iter().all(ends))
}

/// A replica is extended by its home alone: what was to be written to it gets a session of its own.
fn declined(
    tx: &mut dyn Transaction,
    at: Timestamp,
    known: &SessionRecord,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    let decline = Decline {
        edge: "session".to_owned(),
        reason: "replica".to_owned(),
        detail: format!("the home of session {} is {}", known.id, known.home),
        place: matter.place.clone(),
    };
    let key = format!("replica:{}:{}:{}", known.id, matter.agent, matter.native);
    tx.decline(&key, at, &decline)
}

/// Tells whether a session begins to run, or a turn.
fn starts(matter: &AgentMatter) -> bool {
    let starting =
        |o: &Observation| matches!(o.fact, Fact::SessionStarted { .. } | Fact::Prompt { .. });
    matter.observations.iter().any(starting)
}

fn ends(matter: &AgentMatter) -> bool {
    let ended = |o: &Observation| matches!(o.fact, Fact::SessionEnded { .. });
    matter.observations.iter().any(ended)
}

fn create(
    tx: &mut dyn Transaction,
    home: LedgerId,
    ids: &dyn IdSource,
    at: Timestamp,
    matter: &AgentMatter,
    repository: Option<RepositoryId>,
    origin: SessionOrigin,
) -> Result<SessionId, LedgerError> {
    let id = SessionId::mint(ids);
    let record = SessionRecord {
        cwd: matter.cwd.clone(),
        repository,
        worktree: matter.place.as_ref().map(|p| p.worktree.clone()),
        ..SessionRecord::new(
            id,
            matter.agent.clone(),
            ConversationId::of_native(Some(&matter.native), id),
            home,
            Mode::Observed,
            origin,
            at,
        )
    };
    open_session(
        tx,
        &NewSession {
            record,
            name: Some(Name::Native(&matter.native)),
            links: FirstLinks::default(),
            by: matter.agent.as_str(),
        },
    )?;
    Ok(id)
}

/// A session that begins to run again after its end goes on. The clock may have been set back
/// meanwhile, but a process that began after all others of the session is a new one.
fn goes_on(
    tx: &mut dyn Transaction,
    session: SessionId,
    matter: &AgentMatter,
    at: Timestamp,
) -> Result<(), LedgerError> {
    let Some(ended) = tx.session(session)?.and_then(|s| s.ended_at) else {
        return Ok(());
    };
    let bound = tx.bindings(session)?;
    let newer = |process: &ProcessIdentity| bound.iter().all(|b| process.began_after(&b.process));
    let anew = !bound.is_empty() && matter.process.as_ref().is_some_and(newer);
    if anew || ended < at {
        tx.set_ended(session, None)?;
    }
    Ok(())
}

/// Notes where a session came from: what the agent says, the session that its process ran before a
/// clear, or the session of the agent that started its process.
fn relate(
    tx: &mut dyn Transaction,
    session: SessionId,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    if let Some(parent) = &matter.parent
        && let Some(parent) = tx.session_by_alias(&matter.agent, parent)?
    {
        return tx.set_parent(session, parent, Relation::Fork);
    }
    let cleared = |o: &Observation| {
        matches!(
            &o.fact,
            Fact::SessionStarted {
                how: StartKind::Clear,
                ..
            }
        )
    };
    if matter.observations.iter().any(cleared)
        && let Some(process) = &matter.process
    {
        let before = tx
            .bound_to(&process.key())?
            .into_iter()
            .filter(|b| b.session != session)
            .max_by_key(|b| (b.bound_at, b.session));
        if let Some(before) = before {
            return tx.set_parent(session, before.session, Relation::Clear);
        }
    }
    for process in &matter.above {
        let bound = tx.bound_to(&process.key())?;
        if let Some(outer) = bound
            .into_iter()
            .filter(|b| b.session != session)
            .max_by_key(|b| (b.bound_at, b.session))
        {
            return tx.set_parent(session, outer.session, Relation::Nested);
        }
    }
    Ok(())
}
