//! One record, understood.

use std::collections::HashMap;

use siglum_domain::claims::{Claims, Origin};
use siglum_domain::observation::{Fact, Observation};
use siglum_domain::trace::{SpanId, TraceId};
use siglum_domain::{NativeId, Timestamp};

use super::claims::claims;
use super::record::Record;
use super::teller::Teller;
use super::{agents, foreign};
use crate::wire::{Batch, RecordIndex};

/// What one record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryRecord {
    /// Which record of its batch.
    pub record: RecordIndex,
    /// When it happened (a span: when it began); the epoch where the record has no time.
    pub at: Timestamp,
    /// Its name, for listings.
    pub name: String,
    pub trace: Option<TraceId>,
    /// The span that it is, or that it was written in.
    pub span: Option<SpanId>,
    pub parent: Option<SpanId>,
    /// Who it says it is from.
    pub claims: Claims,
    /// The sub-agent that it is of.
    pub subagent: Option<String>,
    /// A thread that it says was started for a sub-agent: what names it as its session is of this one.
    pub started: Option<NativeId>,
    /// What it says was done.
    pub observations: Vec<Observation>,
}

impl TelemetryRecord {
    /// What was said in a thread that was started for a sub-agent, as the session above it has it: the work is the
    /// sub-agent's, in whatever turn of the session is open, and the thread's own turns are none of the session's.
    #[must_use]
    pub fn below(mut self, thread: &NativeId) -> Self {
        let own = thread.as_str();
        self.observations.retain(|observation| {
            let is_turn = matches!(
                observation.fact,
                Fact::Prompt { .. }
                    | Fact::Stopped { .. }
                    | Fact::SessionStarted { .. }
                    | Fact::SessionEnded { .. }
            );
            !is_turn
        });
        for observation in &mut self.observations {
            observation.turn = None;
            observation.subagent.get_or_insert_with(|| own.to_owned());
        }
        self.subagent.get_or_insert_with(|| own.to_owned());
        self
    }
}

/// Listens to every record of a batch, in order.
///
/// The batch is expected to be redacted; texts that a person wrote are redacted again.
#[must_use]
pub fn hear(batch: &Batch) -> Vec<TelemetryRecord> {
    let mut records = Vec::with_capacity(batch.records());
    batch.each(|view| records.push(one(&Record::from_view(view), view.index)));
    find_calls(&mut records);
    records
}

/// A sub-agent whose own record does not name the call that started it stands below the span of that call, which comes
/// with it: the call ends when the sub-agent does.
fn find_calls(records: &mut [TelemetryRecord]) {
    let is_nameless = |fact: &Fact| matches!(fact, Fact::SubagentStarted { call: None, .. });
    let nameless =
        |record: &TelemetryRecord| record.observations.iter().any(|o| is_nameless(&o.fact));
    if !records.iter().any(nameless) {
        return;
    }
    let calls: HashMap<_, _> = records
        .iter()
        .filter_map(|call| Some(((call.trace?, call.span?), call.claims.call.clone()?)))
        .collect();
    for below in records {
        let Some(above) = below.trace.zip(below.parent) else {
            continue;
        };
        for observation in &mut below.observations {
            if let Fact::SubagentStarted { call, .. } = &mut observation.fact
                && call.is_none()
            {
                *call = calls.get(&above).cloned();
            }
        }
    }
}

fn one(record: &Record<'_>, index: RecordIndex) -> TelemetryRecord {
    let agent = agents::recognise(record);
    let claims = claims(record, agent);
    let subagent = agent.and_then(|agent| (agent.subagent)(record));
    let started = agent.and_then(|agent| (agent.started)(record));
    let mut teller = Teller::from_record(record);
    teller.subagent.clone_from(&subagent);
    match agent {
        Some(agent) => (agent.listen)(record, &mut teller),
        None if claims.origin == Origin::Model => foreign::listen(record, &mut teller),
        None => {}
    }
    TelemetryRecord {
        record: index,
        at: record.start(),
        name: record.short_name(),
        trace: record.trace(),
        span: record.span(),
        parent: record.parent(),
        claims,
        subagent,
        started: started.and_then(|id| NativeId::new(id).ok()),
        observations: teller.finish(),
    }
}
