//! What telemetry of a known session teaches: more of its names, its traces, and the threads of its sub-agents.

use siglum_domain::claims::{Claims, Origin};
use siglum_domain::observation::event;
use siglum_domain::{NativeId, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Relation, Transaction};

use super::open::{Name, add_name};
use super::resolve::Resolver;

impl Resolver {
    /// Notes what claims of a session teach: names, the trace, and the thread that was started for a sub-agent. A name that
    /// is known stays with its session.
    pub(crate) fn learn(
        &mut self,
        tx: &mut dyn Transaction,
        id: SessionId,
        claims: &Claims,
        started: Option<&NativeId>,
        at: Timestamp,
    ) -> Result<(), LedgerError> {
        for native in &claims.natives {
            if self.by_native(tx, claims, native)?.is_some() {
                continue;
            }
            let Some(record) = self.session(tx, id)? else {
                continue;
            };
            let agent = claims.agent.clone().unwrap_or_else(|| record.agent_key());
            add_name(tx, id, &agent, Name::Native(native), at)?;
            let key = (claims.agent.clone(), native.clone());
            self.named.insert(key, id);
        }
        if let Some(thread) = started {
            self.learn_thread(tx, id, claims, thread, at)?;
        }
        match &claims.trace {
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
                add_name(tx, id, agent, Name::Native(thread), at)?;
                let key = (claims.agent.clone(), thread.clone());
                self.named.insert(key, id);
                self.threads.insert(thread.clone(), Some(id));
            }
        }
        Ok(())
    }

    /// The thread of a sub-agent of a session that claims are of, if they are.
    pub(crate) fn thread(
        &mut self,
        tx: &mut dyn Transaction,
        id: SessionId,
        claims: &Claims,
    ) -> Result<Option<NativeId>, LedgerError> {
        let Some(native) = claims.natives.first() else {
            return Ok(None);
        };
        if claims.origin != Origin::Agent {
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
}
