//! One batch, settled: each record with its session, or kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use siglum_domain::claims::{Claims, Origin};
use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::Observation;
use siglum_domain::trace::TraceId;
use siglum_domain::{AgentName, NativeId, SessionId, Timestamp};
use siglum_ledger::{
    LedgerError, Mode, Relation, SessionOrigin, SessionRecord, TelemetryBatch, Transaction,
    UnassignedRecord,
};
use siglum_telemetry::inward::{self, TelemetryRecord};
use siglum_telemetry::wire::{Batch, Stamp};

use super::forward::{self, Collector};
use super::parcel::{self, Parcel};
use crate::Here;
use crate::identity::{self, Resolver, Whose};
use crate::record::session;
use crate::record::unassigned::{Reason, take_up};

/// How far a sender's clock may be ahead of ours, in milliseconds.
const AHEAD_MS: i64 = 5 * 60 * 1000;
/// Characters of a name in a listing.
const NAME_MOST: usize = 200;

/// What joining came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub batches: u64,
    /// Records that have a session now.
    pub joined: u64,
    /// Records that have none.
    pub unassigned: u64,
    /// Records that named two sessions.
    pub conflicts: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.batches += other.batches;
        self.joined += other.joined;
        self.unassigned += other.unassigned;
        self.conflicts += other.conflicts;
    }
}

pub(super) struct Settling<'a> {
    here: &'a Here<'a>,
    home: siglum_domain::LedgerId,
    row: &'a TelemetryBatch,
    batch: Batch,
    parsed: Vec<TelemetryRecord>,
    resolver: Resolver,
    tally: Tally,
}

/// Settles a batch and lets go of it.
pub(super) fn settle(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    home: siglum_domain::LedgerId,
    row: &TelemetryBatch,
) -> Result<Tally, LedgerError> {
    tx.drop_batch(row.sequence)?;
    let batch = match parcel::open(&row.signal, &row.payload) {
        Ok(batch) => batch,
        Err(why) => {
            tracing::warn!("a stored batch cannot be read: {why}");
            return keep_whole(tx, row, Reason::Damaged);
        }
    };
    let parsed = inward::hear(&batch);
    let mut settling = Settling {
        here,
        home,
        row,
        batch,
        parsed,
        resolver: Resolver::new(home, row.session),
        tally: Tally::default(),
    };
    settling.run(tx)?;
    Ok(settling.tally)
}

/// Keeps a batch of which nothing can be told.
pub(super) fn keep_whole(
    tx: &mut dyn Transaction,
    row: &TelemetryBatch,
    reason: Reason,
) -> Result<Tally, LedgerError> {
    tx.put_unassigned(&UnassignedRecord {
        sequence: 0,
        at: row.at,
        signal: row.signal.clone(),
        trace: None,
        span: None,
        agent: None,
        name: String::new(),
        session: row.session,
        records: row.records,
        reason: reason.as_str().to_owned(),
        forwarded: row.forwarded,
        payload: row.payload.clone(),
    })?;
    Ok(Tally {
        batches: 1,
        unassigned: row.records,
        ..Tally::default()
    })
}

impl Settling<'_> {
    fn run(&mut self, tx: &mut dyn Transaction) -> Result<(), LedgerError> {
        let (mut joined, mut kept) = (BTreeMap::new(), Vec::new());
        let mut traces = BTreeSet::new();
        let mut waiting: Vec<usize> = (0..self.parsed.len()).collect();
        // Who starts a thread says whose it is.
        waiting.sort_by_key(|at| self.parsed[*at].started.is_none());
        // What an earlier record lacked, a later one may have taught.
        for _ in 0..2 {
            for at in std::mem::take(&mut waiting) {
                match self.place(tx, at)? {
                    Ok(id) => {
                        joined.entry(id).or_insert_with(Vec::new).push(at);
                        traces.extend(self.parsed[at].claims.trace);
                    }
                    Err(Reason::NO_SESSION) => waiting.push(at),
                    Err(reason) => kept.push((at, reason)),
                }
            }
        }
        kept.extend(waiting.into_iter().map(|at| (at, Reason::NO_SESSION)));
        let collectors = forward::collectors(tx)?;
        for (id, records) in joined {
            match self.tell(tx, id, &records)? {
                true => {
                    self.forward(tx, &collectors, id, &records)?;
                    self.tally.joined += records.len() as u64;
                }
                false => kept.extend(records.into_iter().map(|at| (at, Reason::Failed))),
            }
        }
        self.keep(tx, &kept)?;
        for trace in &traces {
            take_up(tx, trace)?;
        }
        self.tally.batches = 1;
        self.tally.unassigned = kept.len() as u64;
        self.tally.conflicts = self.resolver.conflicts;
        Ok(())
    }

    /// The session of a record, which is made if its sender may open one.
    fn place(
        &mut self,
        tx: &mut dyn Transaction,
        at: usize,
    ) -> Result<Result<SessionId, Reason>, LedgerError> {
        let telemetry = &self.parsed[at];
        let when = self.sane(telemetry.at);
        let claims = &telemetry.claims;
        let id = match self.resolver.resolve(tx, claims)?.whose {
            Whose::Known(known, _) => known.session(),
            Whose::Nobody(unresolved) => return Ok(Err(Reason::Unresolved(unresolved))),
            Whose::New { native, below } => {
                let agent = AgentName::key(claims.agent.as_ref());
                let matter = AgentMatter::new(agent, native);
                let (home, ids, origin) = (self.home, self.here.ids, SessionOrigin::Live);
                let opened =
                    identity::open_observed(tx, home, ids, when, &matter, None, origin)?.session();
                if let Some(outer) = below {
                    tx.set_parent(opened, outer.session(), Relation::Nested)?;
                }
                opened
            }
        };
        let started = telemetry.started.as_ref();
        self.resolver.learn(tx, id, claims, started, when)?;
        if let Some(thread) = self.resolver.thread(tx, id, claims)? {
            self.parsed[at] = self.parsed[at].clone().below(&thread);
        }
        Ok(Ok(id))
    }

    /// Hands what records say was done to their session. `false` where that cannot be written.
    fn tell(
        &mut self,
        tx: &mut dyn Transaction,
        id: SessionId,
        records: &[usize],
    ) -> Result<bool, LedgerError> {
        self.resolver.forget(id);
        let Some(record) = self.resolver.session(tx, id)?.cloned() else {
            return Ok(false);
        };
        let observations = self.observations(&record, records);
        self.name_agent(tx, &record, records)?;
        // What happens in a driven session, its driver says.
        if observations.is_empty() || record.mode == Mode::Driven {
            return Ok(true);
        }
        let native = match tx.aliases(id)?.into_iter().next() {
            Some(native) => native,
            None => NativeId::new(id.to_string()).expect("because ids keep to the grammar"),
        };
        let matter = AgentMatter {
            observations,
            ..AgentMatter::new(record.agent_key(), native)
        };
        let (ids, at) = (self.here.ids, self.here.now());
        let written = tx.nested(&mut |tx| match identity::find(tx, &Claims::by_id(id))? {
            Some(known) => session::record_known(tx, ids, at, known, &matter),
            None => Ok(()),
        });
        match written {
            Ok(()) => Ok(true),
            Err(error) if !error.is_out_of_reach() => {
                tracing::warn!("telemetry of session {id} could not be written: {error}");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Has records of a session sent on to whoever wants what agents send.
    fn forward(
        &mut self,
        tx: &mut dyn Transaction,
        to: &[Collector],
        id: SessionId,
        records: &[usize],
    ) -> Result<(), LedgerError> {
        if to.is_empty() {
            return Ok(());
        }
        let Some(record) = self.resolver.session(tx, id)? else {
            return Ok(());
        };
        let stamp = Stamp {
            conversation: record.conversation.clone(),
            session: id,
        };
        let of: BTreeSet<_> = records.iter().map(|at| self.parsed[*at].record).collect();
        let part = self.batch.select(|record| of.contains(&record));
        forward::put(tx, to, self.row, &part, &stamp)
    }

    /// What the records say was done, by time. What was forgotten is not said again.
    fn observations(&self, record: &SessionRecord, records: &[usize]) -> Vec<Observation> {
        let forgotten = record.forgotten.as_ref().map(|f| f.at());
        let all = records.iter().flat_map(|at| &self.parsed[*at].observations);
        let mut observations: Vec<Observation> = all
            .map(|o| Observation {
                at: self.sane(o.at),
                ..o.clone()
            })
            .filter(|o| forgotten.is_none_or(|at| o.at > at))
            .collect();
        observations.sort_by_key(|o| o.at);
        observations
    }

    /// Says which agent runs a session that was made without a word about it.
    fn name_agent(
        &self,
        tx: &mut dyn Transaction,
        record: &SessionRecord,
        records: &[usize],
    ) -> Result<(), LedgerError> {
        if record.agent.is_some() {
            return Ok(());
        }
        let claims = records.iter().map(|at| &self.parsed[*at].claims);
        let mut agents = claims.filter(|c| c.origin == Origin::Agent);
        match agents.find_map(|c| c.agent.as_ref()) {
            Some(agent) => tx.set_agent(record.id, agent),
            None => Ok(()),
        }
    }

    /// A time that can be: not before time began, and not far ahead of us.
    fn sane(&self, at: Timestamp) -> Timestamp {
        match at.nanos() > 0 {
            true => at.min(self.row.at.plus_millis(AHEAD_MS)),
            false => self.row.at,
        }
    }

    /// Keeps what has no session, together what is of one trace and one agent for one reason.
    fn keep(&self, tx: &mut dyn Transaction, kept: &[(usize, Reason)]) -> Result<(), LedgerError> {
        let mut groups: BTreeMap<Group<'_>, BTreeSet<usize>> = BTreeMap::new();
        for (at, reason) in kept {
            let telemetry = &self.parsed[*at];
            let group = (telemetry.trace, telemetry.claims.agent.as_ref(), *reason);
            groups.entry(group).or_default().insert(*at);
        }
        for ((trace, agent, reason), records) in groups {
            let Some(first) = records.first().map(|at| &self.parsed[*at]) else {
                continue;
            };
            let of: BTreeSet<_> = records.iter().map(|at| self.parsed[*at].record).collect();
            let parcel = Parcel::from_batch(&self.batch.select(|record| of.contains(&record)));
            tx.put_unassigned(&UnassignedRecord {
                sequence: 0,
                at: self.row.at,
                signal: self.row.signal.clone(),
                trace,
                span: first.span,
                agent: agent.cloned(),
                name: first.name.chars().take(NAME_MOST).collect(),
                session: self.row.session,
                records: parcel.records,
                reason: reason.as_str().to_owned(),
                forwarded: self.row.forwarded,
                payload: parcel.payload,
            })?;
        }
        Ok(())
    }
}

/// What is kept together.
type Group<'a> = (Option<TraceId>, Option<&'a AgentName>, Reason);
