//! One suite for every store: what each verb of [`Ledger`](crate::Ledger) must do.
//!
//! A store passes when [`run`] finds nothing. The suite knows a store by its traits alone, so what
//! belongs to one kind of store (its locks, its schema, its files) is tested beside that store. The
//! suite itself is tested with stores that each have one fault.

mod access;
mod audit;
mod check;
mod checkpoints;
mod claims;
mod commits;
mod contexts;
mod deliveries;
mod driven;
mod dropping;
mod entries;
mod folds;
mod forgetting;
mod heartbeats;
mod integrity;
mod leases;
mod lists;
mod pipelines;
mod places;
mod projections;
mod queue;
mod receipts;
mod replicas;
mod requests;
mod restoring;
mod runs;
mod sample;
mod scopes;
#[cfg(feature = "postgres")]
mod server;
mod sessions;
mod statements;
mod survey;
mod tamper;
mod telemetry;
mod transactions;
mod turns;
mod usage;
mod waits;

#[cfg(test)]
mod broken;
#[cfg(test)]
mod tests;

/// Writes at least one row through every verb that writes.
#[cfg(test)]
pub(crate) fn fill(ledger: Box<dyn crate::Ledger + Send>) {
    survey::fill(&mut check::Desk(ledger)).expect("because the suite fills every store so");
}

pub use check::{Check, Failure, Shelf, checks, run};
#[cfg(feature = "postgres")]
pub use server::Server;
pub use tamper::tamper;
