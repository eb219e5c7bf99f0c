//! What a hook or a transcript tells of its session, beside what was done in it: that it goes on, where it came from, and
//! which process runs it.

use siglum_domain::claims::Claims;
use siglum_domain::intake::{AgentMatter, Decline};
use siglum_domain::observation::{Fact, Observation, StartKind};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{ConversationId, IdSource, LedgerId, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Mode, Relation, SessionOrigin, SessionRecord, Transaction};

use super::launch_claims::{Taken, note_unreadable, take_up};
use super::open::{FirstLinks, Name, NewSession, add_name, open_session};
use super::resolve::{By, Resolution, Resolver, SessionIdentity, Whose, find};
use crate::identity::repositories::note_place;

/// Notes that something was heard of a session whose id is known: it goes on where it had ended, and has this name, too.
pub(crate) fn note_activity(
    tx: &mut dyn Transaction,
    identity: SessionIdentity,
    at: Timestamp,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    let session = identity.session();
    let (first_at, last_at) = span(matter, at);
    tx.touch(session, last_at, None, None)?;
    let name = Name::Native(&matter.native);
    add_name(tx, session, &matter.agent, name, first_at)?;
    match starts(matter) {
        true => goes_on(tx, session, matter, last_at),
        false => Ok(()),
    }
}

/// The session that a hook or a transcript is of, and what it tells of it. One that nobody knew is opened, and is said to
/// be of this origin.
pub(crate) fn resolve_or_open(
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
    let (first_at, last_at) = span(matter, at);
    let claims = Claims::from_matter(matter, first_at);
    let Resolution {
        whose,
        launch,
        replica,
    } = Resolver::new(home, None).resolve(tx, &claims)?;
    if let Some(replica) = &replica {
        declined(tx, at, replica, matter)?;
    }
    if matches!(launch, Some(Taken::Unproven)) {
        note_unreadable(tx, matter, first_at)?;
    }
    let (known, outer) = match whose {
        Whose::Known(known, by) => (Some((known, by)), None),
        Whose::New { below, .. } => (None, below),
        Whose::Nobody(_) => (None, None),
    };
    if let Some(outer) = outer
        && only_ends(tx, outer.session(), matter)?
    {
        return Ok(outer.within(repository));
    }
    let identity = match known {
        Some((known, _)) => known.within(repository),
        None => open_observed(tx, home, ids, first_at, matter, repository, origin)?,
    };
    let session = identity.session();
    if let Some(Taken::Up(launched, standing)) = &launch {
        take_up(tx, *launched, standing, session, matter, first_at)?;
    }
    let place = repository.zip(matter.place.as_ref().map(|p| p.worktree.as_str()));
    tx.touch(session, last_at, place, matter.cwd.as_deref())?;
    let by = known.map(|(_, by)| by);
    // A known name may be a caller's: whether it is the agent's, too, is said once for each turn.
    if by != Some(By::Name) || starts(matter) {
        let name = Name::Native(&matter.native);
        add_name(tx, session, &matter.agent, name, first_at)?;
    }
    // It is found by it, and is not resumed by it.
    if let Some(thread) = &matter.thread {
        add_name(tx, session, &matter.agent, Name::Caller(thread), first_at)?;
    }
    if !matches!(by, Some(By::Id | By::Name)) || starts(matter) {
        goes_on(tx, session, matter, last_at)?;
        relate(tx, session, matter)?;
        if let Some(outer) = outer {
            tx.set_parent(session, outer.session(), Relation::Nested)?;
        }
    }
    // An end may come late, from a process that the session has left.
    if let Some(process) = matter.process.as_ref().filter(|_| !ends(matter)) {
        tx.bind(session, process, matter.carried.as_deref(), at)?;
    }
    Ok(identity)
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

/// Opens the session of an agent that runs by itself.
pub(crate) fn open_observed(
    tx: &mut dyn Transaction,
    home: LedgerId,
    ids: &dyn IdSource,
    at: Timestamp,
    matter: &AgentMatter,
    repository: Option<RepositoryId>,
    origin: SessionOrigin,
) -> Result<SessionIdentity, LedgerError> {
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
    let opened = open_session(
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
    Ok(opened.within(repository))
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
        && let Some(parent) = find(tx, &Claims::by_name(&matter.agent, parent))?
    {
        return tx.set_parent(session, parent.session(), Relation::Fork);
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
