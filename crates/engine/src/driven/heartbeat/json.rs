//! Heartbeats and ticks as they are shown: one form for the command line and the API.

use serde::Serialize;
use siglum_domain::Timestamp;
use siglum_ledger::{TickRecord, TickTotal};

use super::{Form, Overview, tick_name};

/// A heartbeat, as it is.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HeartbeatJson {
    /// Its name.
    name: String,
    /// What was written down.
    definition: Form,
    /// Why it cannot be followed here, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Its route key.
    #[serde(skip_serializing_if = "Option::is_none")]
    route_key: Option<String>,
    /// Where its answers go.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// `config`, or `asked` for one that somebody added.
    origin: String,
    /// Who wrote it last.
    by: String,
    /// When it was first written.
    created_at: String,
    /// When it was changed last.
    changed_at: String,
    /// Since when it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_at: Option<String>,
    /// When it is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_due: Option<String>,
    /// When a tick last did what it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    alive_at: Option<String>,
    /// Its last tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<TickJson>,
    /// What all its ticks came to, also those that are not kept any more.
    totals: Vec<TotalJson>,
}

/// One tick.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TickJson {
    /// Stable id for receivers.
    id: String,
    /// When it was due.
    due: String,
    /// `schedule` or `asked`.
    cause: String,
    /// When somebody took it.
    fired_at: String,
    /// Who.
    by: String,
    /// What became of it.
    outcome: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// Missed due times that this tick covers.
    missed: u64,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Its context key.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_key: Option<String>,
    /// Tokens that it used.
    tokens: u64,
    /// What they cost, in billionths of a dollar.
    nano_usd: u64,
    /// Where its answer goes, or went.
    target: String,
    /// When it was delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivered_at: Option<String>,
}

/// How many ticks came to one end.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TotalJson {
    /// What became of them.
    outcome: String,
    /// Why, where there is a word for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// How many.
    ticks: u64,
    /// Tokens that they used.
    tokens: u64,
    /// What they cost, in billionths of a dollar.
    nano_usd: u64,
}

fn text(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

impl From<&Overview> for HeartbeatJson {
    fn from(o: &Overview) -> Self {
        let (record, known) = (&o.record, o.definition.as_ref().ok());
        Self {
            name: record.name.to_string(),
            definition: serde_json::from_str(&record.definition).unwrap_or_default(),
            problem: o.definition.as_ref().err().cloned(),
            route_key: known.map(|d| d.route.to_string()),
            target: known.map(|d| d.target.place()),
            origin: record.origin.clone(),
            by: record.by.clone(),
            created_at: record.created_at.to_string(),
            changed_at: record.changed_at.to_string(),
            paused_at: text(record.paused_at),
            next_due: text(record.next_due),
            alive_at: text(record.alive_at),
            last: o.last.as_ref().map(TickJson::from),
            totals: o.totals.iter().map(TotalJson::from).collect(),
        }
    }
}

impl From<&TickRecord> for TickJson {
    fn from(t: &TickRecord) -> Self {
        Self {
            id: tick_name(&t.heartbeat, t.due),
            due: t.due.to_string(),
            cause: t.cause.to_string(),
            fired_at: t.fired_at.to_string(),
            by: t.by.clone(),
            outcome: t.outcome.to_string(),
            reason: t.reason.clone(),
            ended_at: text(t.ended_at),
            missed: t.missed,
            session: t.session.map(|s| s.to_string()),
            context_key: t.context.as_ref().map(ToString::to_string),
            tokens: t.tokens,
            nano_usd: t.nano_usd,
            target: t.target.clone(),
            delivered_at: text(t.delivered_at),
        }
    }
}

impl From<&TickTotal> for TotalJson {
    fn from(t: &TickTotal) -> Self {
        Self {
            outcome: t.outcome.to_string(),
            reason: Some(t.reason.clone()).filter(|r| !r.is_empty()),
            ticks: t.ticks,
            tokens: t.tokens,
            nano_usd: t.nano_usd,
        }
    }
}
