//! Whose a record is.
//!
//! First match wins: the ledger's own id that was injected, an id of the sender's that is known, the tool call, the
//! trace. Whatever runs below an agent inherits what was injected into it and the trace that it is in. So neither makes
//! an agent the session of another one: with an id of its own it is a session of its own, below the other one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use siglum_domain::observation::event;
use siglum_domain::{AgentName, LedgerId, NativeId, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Relation, SessionOrigin, SessionRecord, Transaction};
use siglum_telemetry::inward::{Claims, Origin, Reach, TelemetryRecord};

use crate::identity::{self, SessionClaim, SessionIdentity};
use crate::record::unassigned::Reason;

/// Ids of tool calls that are shorter than this may be used by several sessions.
const CALL_LEAST: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Whose {
    /// This session's.
    Of(SessionId),
    /// That of a session that nobody knew, which its sender calls so, below another one perhaps.
    New(NativeId, Option<SessionId>),
    /// Nobody's that is known.
    Nobody(Reason),
}

/// Answers for the records of one batch.
pub(super) struct Resolver {
    home: LedgerId,
    /// The only session that the sender may speak for.
    own: Option<SessionId>,
    sessions: BTreeMap<SessionId, Option<SessionRecord>>,
    named: BTreeMap<(Option<AgentName>, NativeId), SessionId>,
    threads: BTreeMap<NativeId, Option<SessionId>>,
    /// Records that named two sessions.
    pub(super) conflicts: u64,
}

impl Resolver {
    pub(super) const fn new(home: LedgerId, own: Option<SessionId>) -> Self {
        Self {
            home,
            own,
            sessions: BTreeMap::new(),
            named: BTreeMap::new(),
            threads: BTreeMap::new(),
            conflicts: 0,
        }
    }

    pub(super) fn whose(
        &mut self,
        tx: &mut dyn Transaction,
        telemetry: &TelemetryRecord,
    ) -> Result<Whose, LedgerError> {
        let found = self.resolve_claims(tx, telemetry)?;
        let found = self.spoken_for(tx, &telemetry.claims, found)?;
        let Whose::Of(id) = found else {
            return Ok(found);
        };
        let home = self.home;
        Ok(match self.session(tx, id)? {
            None => Whose::Nobody(Reason::NoSession),
            Some(record) if record.home != home => Whose::Nobody(Reason::Replica),
            Some(record) if record.quarantined.is_some() => Whose::Nobody(Reason::Quarantined),
            Some(_) => found,
        })
    }

    /// What a record is found to be, whoever sent it.
    fn resolve_claims(
        &mut self,
        tx: &mut dyn Transaction,
        telemetry: &TelemetryRecord,
    ) -> Result<Whose, LedgerError> {
        let claims = &telemetry.claims;
        let named = self.named(tx, claims)?;
        if let Some(id) = claims.session
            && let Some(injected) = self.session(tx, id)?.cloned()
        {
            return self.injected(tx, claims, &injected, named.first().copied());
        }
        self.conflicts += u64::from(claims.conflict || named.len() > 1);
        if let Some(known) = named.first() {
            return Ok(Whose::Of(*known));
        }
        let own = opened_by(claims);
        if let Some(id) = self.by_call(tx, claims, own.is_some())? {
            return Ok(Whose::Of(id));
        }
        match (self.by_trace(tx, telemetry)?, own) {
            (Trail::Of(id), None) => Ok(Whose::Of(id)),
            (Trail::Of(id), Some(native)) => match self.is_unnamed(tx, claims, id)? {
                true => Ok(Whose::Of(id)),
                false => Ok(Whose::New(native, Some(id))),
            },
            (_, Some(native)) => Ok(Whose::New(native, None)),
            (Trail::Shared, None) => Ok(Whose::Nobody(Reason::SharedTrace)),
            (Trail::None, None) => Ok(Whose::Nobody(Reason::NoSession)),
        }
    }

    /// A token of a session speaks for that session: what names no other one is its own.
    fn spoken_for(
        &mut self,
        tx: &mut dyn Transaction,
        claims: &Claims,
        found: Whose,
    ) -> Result<Whose, LedgerError> {
        let Some(own) = self.own else {
            return Ok(found);
        };
        Ok(match found {
            Whose::Of(id) if id == own => found,
            Whose::Nobody(Reason::NoSession | Reason::SharedTrace) => Whose::Of(own),
            Whose::New(_, below) if below.is_none_or(|id| id == own) => {
                let record = self.session(tx, own)?;
                match record.is_some_and(|record| !differs(record, claims)) {
                    true => Whose::Of(own),
                    false => Whose::Nobody(Reason::OtherSession),
                }
            }
            _ => Whose::Nobody(Reason::OtherSession),
        })
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
                    return Ok(Whose::Of(other));
                }
                self.conflicts += 1;
            }
            None => {
                if named.is_none()
                    && is_foreign
                    && let Some(native) = opened_by(claims)
                {
                    return Ok(Whose::New(native, Some(id)));
                }
                self.conflicts += u64::from(claims.conflict);
            }
        }
        Ok(Whose::Of(id))
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
    fn by_native(
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
            Some(agent) => identity::find(tx, SessionClaim::Alias(agent, native))?,
            None => None,
        };
        let is_agent = claims.origin == Origin::Agent;
        if known.is_none() && !is_agent {
            known = identity::find(tx, SessionClaim::Native(native))?;
        }
        let known = known.map(SessionIdentity::session);
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
        let event = event::subagent(native.as_str());
        let Some(found) = identity::find(tx, SessionClaim::Call(&event))? else {
            return Ok(None);
        };
        let record = self.session(tx, found.session())?;
        let is_foreign = record.is_none_or(|record| differs(record, claims));
        Ok((!is_foreign).then_some(found.session()))
    }

    /// The thread of a sub-agent of a session that a record is from, if it is.
    pub(super) fn thread(
        &mut self,
        tx: &mut dyn Transaction,
        id: SessionId,
        telemetry: &TelemetryRecord,
    ) -> Result<Option<NativeId>, LedgerError> {
        let Some(native) = telemetry.claims.natives.first() else {
            return Ok(None);
        };
        if telemetry.claims.origin != Origin::Agent {
            return Ok(None);
        }
        if let Some(of) = self.threads.get(native) {
            return Ok((*of == Some(id)).then(|| native.clone()));
        }
        let found = tx.sessions_of_call(&event::subagent(native.as_str()), 9)?;
        let of = found.contains(&id).then_some(id);
        self.threads.insert(native.clone(), of);
        Ok(of.map(|_| native.clone()))
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
        let event = event::tool(call);
        let Some(found) = identity::find(tx, SessionClaim::Call(&event))? else {
            return Ok(None);
        };
        let record = self.session(tx, found.session())?;
        let is_foreign = record.is_none_or(|record| differs(record, claims));
        let tells = !has_own || call.len() >= CALL_LEAST;
        Ok((tells && !is_foreign).then_some(found.session()))
    }

    /// The one session that a trace belongs to: it was noted so, or the trace is a turn.
    fn by_trace(
        &mut self,
        tx: &mut dyn Transaction,
        telemetry: &TelemetryRecord,
    ) -> Result<Trail, LedgerError> {
        let Some(trace) = telemetry.trace.as_ref().filter(|_| tells(telemetry)) else {
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

    /// Notes what a record of a session teaches: names, and the trace. A name that is known stays with its session.
    pub(super) fn learn(
        &mut self,
        tx: &mut dyn Transaction,
        id: SessionId,
        telemetry: &TelemetryRecord,
        at: Timestamp,
    ) -> Result<(), LedgerError> {
        let claims = &telemetry.claims;
        for native in &claims.natives {
            if self.by_native(tx, claims, native)?.is_some() {
                continue;
            }
            let Some(record) = self.session(tx, id)? else {
                continue;
            };
            let agent = claims.agent.clone().unwrap_or_else(|| record.agent_key());
            tx.add_alias(&agent, native, id, at)?;
            let key = (claims.agent.clone(), native.clone());
            self.named.insert(key, id);
        }
        if let Some(thread) = &claims.started {
            self.learn_thread(tx, id, claims, thread, at)?;
        }
        match telemetry.trace.as_ref().filter(|_| tells(telemetry)) {
            Some(trace) => tx.note_trace(trace, id, at),
            None => Ok(()),
        }
    }

    /// A thread was started for a sub-agent of a session. One that was heard before that is a session below it.
    fn learn_thread(
        &mut self,
        tx: &mut dyn Transaction,
        id: SessionId,
        claims: &Claims,
        thread: &NativeId,
        at: Timestamp,
    ) -> Result<(), LedgerError> {
        match self.by_native(tx, claims, thread)? {
            Some(known) if known == id => {}
            Some(other) => tx.set_parent(other, id, Relation::Nested)?,
            None => {
                let Some(agent) = &claims.agent else {
                    return Ok(());
                };
                tx.add_alias(agent, thread, id, at)?;
                let key = (claims.agent.clone(), thread.clone());
                self.named.insert(key, id);
                self.threads.insert(thread.clone(), Some(id));
            }
        }
        Ok(())
    }

    /// The record of a session, as it was when it was first asked for.
    pub(super) fn session(
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
    pub(super) fn forget(&mut self, id: SessionId) {
        self.sessions.remove(&id);
    }
}

/// Where a trace leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trail {
    None,
    /// To this session.
    Of(SessionId),
    /// To several.
    Shared,
}

/// Whether the trace of a record tells of its session.
pub(super) fn tells(telemetry: &TelemetryRecord) -> bool {
    telemetry.claims.reach == Reach::Session
}

/// The id under which the sender of a record may open a session.
fn opened_by(claims: &Claims) -> Option<NativeId> {
    let first = claims.natives.first()?;
    claims.origin.may_open().then(|| first.clone())
}

/// Whether a record is of an agent that is known to be another one than that of a session.
fn differs(record: &SessionRecord, claims: &Claims) -> bool {
    let is_agent = claims.origin == Origin::Agent;
    let other = |agent: &AgentName| record.agent.as_ref().is_some_and(|own| own != agent);
    is_agent && claims.agent.as_ref().is_some_and(other)
}
