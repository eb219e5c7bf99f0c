//! What telemetry says of identity and of work.
//!
//! Every record yields its claims: which agent, which session by whose id ([`Claims`](siglum_domain::claims::Claims)).
//! Where the table of agents (module `agents`) names a record as the one of its kind, it also yields observations: what an
//! agent says in a log record and again in a span is taken from one of them, or named so that both are one event. Metrics
//! are sums and say nothing of single events.
//!
//! What this deliberately does not do: resolve claims, which needs the ledger; guess a session or a turn by time.

mod agents;
mod claims;
mod foreign;
mod lookup;
mod record;
mod telemetry_record;
mod teller;
mod tokens;
mod tools;

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;

pub use telemetry_record::{TelemetryRecord, hear};
