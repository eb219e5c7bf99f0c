//! Whose session it is that somebody names, and that of a hook's claims or of an imported transcript's.

use siglum_domain::intake::{AgentMatter, Decline};
use siglum_domain::observation::{Fact, Observation, StartKind};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{
    AgentName, ConversationId, IdSource, LedgerId, NativeId, RepositoryId, SessionId, Timestamp,
};
use siglum_ledger::{LedgerError, Mode, Relation, SessionOrigin, SessionRecord, Transaction};

use super::claims::{Taken, check_claim, take_up};
use super::{FirstLinks, Name, NewSession, open_session};
use crate::identity::repositories::note_place;

/// The session that everything after this speaks of. Nobody but this module makes one, so that what is appended has been
/// resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionIdentity {
    session: SessionId,
    repository: Option<RepositoryId>,
}

impl SessionIdentity {
    pub(crate) const fn session(self) -> SessionId {
        self.session
    }

    /// Where that was seen which is written, as far as that is known.
    pub(crate) const fn repository(self) -> Option<RepositoryId> {
        self.repository
    }

    /// The same session, of which something was seen in this repository.
    pub(crate) const fn within(self, repository: Option<RepositoryId>) -> Self {
        Self { repository, ..self }
    }
}

/// How somebody says which session is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SessionClaim<'a> {
    /// By the ledger's own id.
    Id(SessionId),
    /// By what its agent or a caller calls it.
    Alias(&'a AgentName, &'a NativeId),
    /// By such a name alone, whichever agent it is of.
    Native(&'a NativeId),
    /// By the key of a call that stands in its log.
    Call(&'a str),
}

/// The session that a claim names, if it names one, and only one.
pub(crate) fn find(
    tx: &mut dyn Transaction,
    claim: SessionClaim<'_>,
) -> Result<Option<SessionIdentity>, LedgerError> {
    let session = match claim {
        SessionClaim::Id(id) => tx.session(id)?.map(|known| known.id),
        SessionClaim::Alias(agent, native) => tx.session_by_alias(agent, native)?,
        SessionClaim::Native(native) => {
            let named = tx.sessions_by_native(native)?;
            let mut sessions: Vec<SessionId> = named.into_iter().map(|(_, id)| id).collect();
            sessions.sort();
            sessions.dedup();
            only(&sessions)
        }
        SessionClaim::Call(event) => only(&tx.sessions_of_call(event, 2)?),
    };
    Ok(session.map(|session| SessionIdentity {
        session,
        repository: None,
    }))
}

fn only(sessions: &[SessionId]) -> Option<SessionId> {
    match sessions {
        [session] => Some(*session),
        _ => None,
    }
}

/// Notes that something was heard of a session whose id is known: it goes on where it had ended, and has this name, too.
pub(crate) fn note_activity(
    tx: &mut dyn Transaction,
    identity: SessionIdentity,
    at: Timestamp,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    let session = identity.session;
    let (first_at, last_at) = span(matter, at);
    tx.touch(session, last_at, None, None)?;
    tx.add_alias(&matter.agent, &matter.native, session, first_at)?;
    match starts(matter) {
        true => goes_on(tx, session, matter, last_at),
        false => Ok(()),
    }
}

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
        None => by_alias(tx, matter, &matter.native)?,
    };
    let (first_at, last_at) = span(matter, at);
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

fn by_alias(
    tx: &mut dyn Transaction,
    matter: &AgentMatter,
    native: &NativeId,
) -> Result<Option<SessionId>, LedgerError> {
    let known = find(tx, SessionClaim::Alias(&matter.agent, native))?;
    Ok(known.map(SessionIdentity::session))
}

/// When the first and the last was seen of what is said.
fn span(matter: &AgentMatter, at: Timestamp) -> (Timestamp, Timestamp) {
    let seen = || matter.observations.iter().map(|o| o.at);
    (seen().min().unwrap_or(at), seen().max().unwrap_or(at))
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
            statement: None,
            by: matter.agent.as_str(),
            audit: None,
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
        && let Some(parent) = by_alias(tx, matter, parent)?
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
