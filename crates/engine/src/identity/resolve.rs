//! Whose something is: the one place that turns [`Claims`] into a session, for every edge.
//!
//! First match wins:
//!
//! 1. the ledger's own id. Who names it directly means that session. What telemetry has was injected into the environment
//!    of an agent, and is inherited by whatever runs below it: it makes no agent the session of another one, which with an
//!    id of its own is a session of its own, below the other one;
//! 2. an id of the sender's that is known: of its agent; where the sender is no agent of the table, of any agent that
//!    alone has it; in telemetry of an agent, also that of the thread of a sub-agent;
//! 3. the launch that the sender's process is the first one to take up;
//! 4. the tool call that it is about, if one session alone has it;
//! 5. the trace that it stands in, if that is of one session alone. It is inherited, too;
//! 6. a new session, below the one whose launch or trace was only inherited, if the sender may open one.
//!
//! A token of a session speaks for that session alone, and what names no other one is its own. Nothing is written in this file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use siglum_domain::claims::{Claims, Origin};
use siglum_domain::observation::event;
use siglum_domain::{AgentName, LedgerId, NativeId, RepositoryId, SessionId};
use siglum_ledger::{LedgerError, Relation, SessionOrigin, SessionRecord, Transaction};

use super::launch_claims::{Taken, check_claim};

/// Ids of tool calls that are shorter than this may be used by several sessions.
const CALL_LEAST: usize = 16;

/// The session that everything after this speaks of. Nobody but this folder makes one, so that what is appended has been
/// resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionIdentity {
    session: SessionId,
    repository: Option<RepositoryId>,
}

impl SessionIdentity {
    pub(super) const fn new(session: SessionId) -> Self {
        let repository = None;
        Self {
            session,
            repository,
        }
    }

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

/// By which of its claims a session is known, as far as that matters to whoever hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Id,
    Name,
    /// By what it happened in: a launch, a tool call, a trace, or what is sent with the session's token.
    Context,
}

/// Why something is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unresolved {
    /// Nothing in it names a session that is known.
    NoSession,
    /// It is of another session than the one that the token of its sender acts for.
    OtherSession,
    /// Its trace belongs to several sessions, and nothing else tells.
    SharedTrace,
    /// Its session is at home in another ledger, which alone extends it.
    Replica,
    /// Its session is set aside because its store is damaged.
    Quarantined,
}

/// Whose something is.
#[derive(Debug)]
pub(crate) enum Whose {
    Known(SessionIdentity, By),
    /// That of a session that nobody knew, which its sender calls so, below another one perhaps.
    New {
        native: NativeId,
        below: Option<SessionIdentity>,
    },
    Nobody(Unresolved),
}

impl Whose {
    const fn known(session: SessionId, by: By) -> Self {
        Self::Known(SessionIdentity::new(session), by)
    }
}

/// What claims come to.
pub(crate) struct Resolution {
    pub(crate) whose: Whose,
    /// What the claim of a launch comes to for the process that makes it, whatever else names the session.
    pub(super) launch: Option<Taken>,
    /// The session that was named directly, and is at home in another ledger: it was left out.
    pub(super) replica: Option<SessionRecord>,
}

/// The session that claims name, if they name one that is known, and only one.
pub(crate) fn find(
    tx: &mut dyn Transaction,
    claims: &Claims,
) -> Result<Option<SessionIdentity>, LedgerError> {
    match Resolver::default().resolve(tx, claims)?.whose {
        Whose::Known(known, _) => Ok(Some(known)),
        Whose::New { .. } | Whose::Nobody(_) => Ok(None),
    }
}

/// The session that this agent, or a caller for it, calls so. One statement, for whoever looks up nothing else.
///
/// # Errors
/// Those of the ledger.
pub fn session_by_name(
    tx: &mut dyn Transaction,
    agent: &AgentName,
    native: &NativeId,
) -> Result<Option<SessionId>, LedgerError> {
    let known = find(tx, &Claims::by_name(agent, native))?;
    Ok(known.map(SessionIdentity::session))
}

/// The session that any agent calls so, for whoever does not know which one; none where several sessions are called so.
/// One statement, too.
///
/// # Errors
/// Those of the ledger.
pub fn only_session_by_name(
    tx: &mut dyn Transaction,
    native: &NativeId,
) -> Result<Option<SessionId>, LedgerError> {
    let of_any = tx.sessions_by_native(native)?;
    let mut sessions: Vec<SessionId> = of_any.into_iter().map(|(_, id)| id).collect();
    sessions.sort();
    sessions.dedup();
    Ok(only(&sessions))
}

/// Answers for the claims of one delivery, and remembers what it asked the ledger.
#[derive(Debug, Default)]
pub(crate) struct Resolver {
    /// The ledger that writes what is claimed; none where a session is only looked for.
    home: Option<LedgerId>,
    /// The only session that the sender may speak for.
    own: Option<SessionId>,
    sessions: BTreeMap<SessionId, Option<SessionRecord>>,
    pub(super) named: BTreeMap<(Option<AgentName>, NativeId), SessionId>,
    pub(super) threads: BTreeMap<NativeId, Option<SessionId>>,
    /// Claims that named two sessions.
    pub(crate) conflicts: u64,
}

impl Resolver {
    pub(crate) fn new(home: LedgerId, own: Option<SessionId>) -> Self {
        Self {
            home: Some(home),
            own,
            ..Self::default()
        }
    }

    pub(crate) fn resolve(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
    ) -> Result<Resolution, LedgerError> {
        let launch = check_claim(tx, claims)?;
        let is_direct = claims.origin == Origin::Direct;
        let with_id = match claims.session {
            Some(id) => self.session(tx, id)?.cloned(),
            None => None,
        };
        let is_replica = with_id.as_ref().is_some_and(|r| self.is_elsewhere(r));
        let (with_id, replica) = match is_direct && is_replica {
            true => (None, with_id),
            false => (with_id, None),
        };
        let whose = match with_id {
            Some(meant) if is_direct => Whose::known(meant.id, By::Id),
            injected => self.by_claims(tx, claims, injected.as_ref(), launch.as_ref())?,
        };
        let whose = match self.spoken_for(tx, claims, whose)? {
            Whose::New { native, below } => opened_before(tx, claims, native, below)?,
            other => other,
        };
        Ok(Resolution {
            whose: self.writable(tx, claims, whose)?,
            launch,
            replica,
        })
    }

    /// What something is found to be by all but an id that was meant, whoever sent it.
    fn by_claims(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        injected: Option<&SessionRecord>,
        launch: Option<&Taken>,
    ) -> Result<Whose, LedgerError> {
        let named = self.named(tx, claims)?;
        if let Some(injected) = injected {
            return self.injected(tx, claims, injected, named.first().copied());
        }
        self.conflicts += u64::from(claims.conflict || named.len() > 1);
        if let Some(known) = named.first() {
            return Ok(Whose::known(*known, By::Name));
        }
        let outer = match launch {
            Some(Taken::Up(launched, _)) => return Ok(Whose::known(*launched, By::Context)),
            Some(Taken::Inherited(outer)) => Some(SessionIdentity::new(*outer)),
            Some(Taken::Unproven) | None => None,
        };
        let own = opened_by(claims);
        if let Some(id) = self.by_call(tx, claims, own.is_some())? {
            return Ok(Whose::known(id, By::Context));
        }
        Ok(match (by_trace(tx, claims)?, own) {
            (Trail::Of(id), None) => Whose::known(id, By::Context),
            (Trail::Of(id), Some(native)) => match self.is_unnamed(tx, claims, id)? {
                true => Whose::known(id, By::Context),
                false => Whose::New {
                    native,
                    below: Some(SessionIdentity::new(id)),
                },
            },
            (_, Some(native)) => Whose::New {
                native,
                below: outer,
            },
            (Trail::Shared, None) => Whose::Nobody(Unresolved::SharedTrace),
            (Trail::None, None) => Whose::Nobody(Unresolved::NoSession),
        })
    }

    /// A token of a session speaks for that session: what names no other one is its own.
    fn spoken_for(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        whose: Whose,
    ) -> Result<Whose, LedgerError> {
        let Some(own) = self.own else {
            return Ok(whose);
        };
        Ok(match whose {
            Whose::Known(known, _) if known.session() == own => whose,
            Whose::Nobody(Unresolved::NoSession | Unresolved::SharedTrace) => {
                Whose::known(own, By::Context)
            }
            Whose::New { below, .. } if below.is_none_or(|id| id.session() == own) => {
                let record = self.session(tx, own)?;
                match record.is_some_and(|record| !differs(record, claims)) {
                    true => Whose::known(own, By::Context),
                    false => Whose::Nobody(Unresolved::OtherSession),
                }
            }
            _ => Whose::Nobody(Unresolved::OtherSession),
        })
    }

    /// Telemetry of a session that cannot be written here is kept. What is claimed directly is refused by whoever writes it,
    /// and a hook's name leads to no replica.
    fn writable(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        whose: Whose,
    ) -> Result<Whose, LedgerError> {
        let Whose::Known(known, _) = whose else {
            return Ok(whose);
        };
        if claims.origin == Origin::Direct {
            return Ok(whose);
        }
        let record = self.session(tx, known.session())?.cloned();
        Ok(match record {
            None => Whose::Nobody(Unresolved::NoSession),
            Some(record) if self.is_elsewhere(&record) => Whose::Nobody(Unresolved::Replica),
            Some(record) if record.quarantined.is_some() => Whose::Nobody(Unresolved::Quarantined),
            Some(_) => whose,
        })
    }

    fn is_elsewhere(&self, record: &SessionRecord) -> bool {
        self.home.is_some_and(|home| home != record.home)
    }

    /// An id was injected into the environment of an agent, and of all that runs below it.
    fn injected(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        injected: &SessionRecord,
        named: Option<SessionId>,
    ) -> Result<Whose, LedgerError> {
        let id = injected.id;
        let is_foreign = differs(injected, claims);
        match named.filter(|named| *named != id) {
            Some(other) => {
                let record = self.session(tx, other)?;
                let parent = record.and_then(|record| record.parent);
                if is_foreign || parent == Some((id, Relation::Nested)) {
                    return Ok(Whose::known(other, By::Name));
                }
                self.conflicts += 1;
            }
            None => {
                if named.is_none()
                    && is_foreign
                    && let Some(native) = opened_by(claims)
                {
                    let below = Some(SessionIdentity::new(id));
                    return Ok(Whose::New { native, below });
                }
                self.conflicts += u64::from(claims.conflict);
            }
        }
        Ok(Whose::known(id, By::Id))
    }

    /// The sessions that the sender's ids are known to name, each once, in their order.
    fn named(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
    ) -> Result<Vec<SessionId>, LedgerError> {
        let mut found = Vec::new();
        for native in &claims.natives {
            let mut known = self.by_native(tx, claims, native)?;
            if known.is_none() {
                known = self.by_thread(tx, claims, native)?;
            }
            found.extend(known.filter(|id| !found.contains(id)));
        }
        Ok(found)
    }

    /// An id of an agent names a session of that agent. What is no agent of the table may be told the id of any.
    pub(super) fn by_native(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        native: &NativeId,
    ) -> Result<Option<SessionId>, LedgerError> {
        let key = (claims.agent.clone(), native.clone());
        if let Some(known) = self.named.get(&key) {
            return Ok(Some(*known));
        }
        let mut known = match &claims.agent {
            Some(agent) => tx.session_by_alias(agent, native)?,
            None => None,
        };
        if known.is_none() && matches!(claims.origin, Origin::Model | Origin::Other) {
            known = only_session_by_name(tx, native)?;
        }
        if let Some(id) = known {
            self.named.insert(key, id);
        }
        Ok(known)
    }

    /// The one session that has a sub-agent of this id, whose thread then is no session of its own.
    fn by_thread(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        native: &NativeId,
    ) -> Result<Option<SessionId>, LedgerError> {
        if claims.origin != Origin::Agent {
            return Ok(None);
        }
        self.by_event(tx, claims, &event::subagent(native.as_str()))
    }

    /// The one session in whose log the tool call stands.
    fn by_call(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        has_own: bool,
    ) -> Result<Option<SessionId>, LedgerError> {
        let Some(call) = &claims.call else {
            return Ok(None);
        };
        let found = self.by_event(tx, claims, &event::tool(call))?;
        let tells = !has_own || call.len() >= CALL_LEAST;
        Ok(found.filter(|_| tells))
    }

    /// The one session in whose log an event stands, unless it is known to be another agent's.
    fn by_event(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        event: &str,
    ) -> Result<Option<SessionId>, LedgerError> {
        let Some(id) = only(&tx.sessions_of_call(event, 2)?) else {
            return Ok(None);
        };
        let record = self.session(tx, id)?;
        let is_foreign = record.is_none_or(|record| differs(record, claims));
        Ok((!is_foreign).then_some(id))
    }

    /// Whether a session waits for the name that its agent gives it: a driver or launcher made it, and the agent has
    /// not been heard.
    fn is_unnamed(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        id: SessionId,
    ) -> Result<bool, LedgerError> {
        let Some(record) = self.session(tx, id)?.cloned() else {
            return Ok(false);
        };
        let is_made = matches!(record.origin, SessionOrigin::Api | SessionOrigin::Launch);
        if !is_made || differs(&record, claims) {
            return Ok(false);
        }
        let names = tx.aliases(id)?;
        let given = |name: &NativeId| name.as_str() != record.conversation.as_str();
        Ok(!names.iter().any(given))
    }

    /// The record of a session, as it was when it was first asked for.
    pub(crate) fn session(
        &mut self,
        tx: &mut dyn Transaction,
        id: SessionId,
    ) -> Result<Option<&SessionRecord>, LedgerError> {
        if let Entry::Vacant(place) = self.sessions.entry(id) {
            place.insert(tx.session(id)?);
        }
        Ok(self.sessions.get(&id).and_then(Option::as_ref))
    }

    /// The session is not what it was.
    pub(crate) fn forget(&mut self, id: SessionId) {
        self.sessions.remove(&id);
    }
}

/// Where a trace leads.
enum Trail {
    None,
    /// To this session.
    Of(SessionId),
    /// To several.
    Shared,
}

/// The one session that a trace belongs to: it was noted so, or the trace is a turn.
fn by_trace(tx: &mut dyn Transaction, claims: &Claims) -> Result<Trail, LedgerError> {
    let Some(trace) = &claims.trace else {
        return Ok(Trail::None);
    };
    let mut found = tx.sessions_of_trace(trace, 2)?;
    if found.is_empty() {
        found.extend(tx.session_of_turn(trace.turn())?);
    }
    Ok(match found.as_slice() {
        [] => Trail::None,
        [id] => Trail::Of(*id),
        _ => Trail::Shared,
    })
}

/// A session of an agent that nobody named is known by the name that it was opened with, even if sessions of other agents
/// have that name, too.
fn opened_before(
    tx: &mut dyn Transaction,
    claims: &Claims,
    native: NativeId,
    below: Option<SessionIdentity>,
) -> Result<Whose, LedgerError> {
    let known = match &claims.agent {
        Some(_) => None,
        None => tx.session_by_alias(&AgentName::unnamed(), &native)?,
    };
    Ok(match known {
        Some(id) => Whose::known(id, By::Name),
        None => Whose::New { native, below },
    })
}

fn only(sessions: &[SessionId]) -> Option<SessionId> {
    match sessions {
        [session] => Some(*session),
        _ => None,
    }
}

/// The id under which a sender may open a session.
fn opened_by(claims: &Claims) -> Option<NativeId> {
    let first = claims.natives.first()?;
    claims.origin.may_open().then(|| first.clone())
}

/// Whether telemetry is of an agent that is known to be another one than that of a session.
fn differs(record: &SessionRecord, claims: &Claims) -> bool {
    let is_agent = claims.origin == Origin::Agent;
    let other = |agent: &AgentName| record.agent.as_ref().is_some_and(|own| own != agent);
    is_agent && claims.agent.as_ref().is_some_and(other)
}
