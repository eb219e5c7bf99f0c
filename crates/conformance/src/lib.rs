//! One suite for every store: what each verb of [`Ledger`](siglum_ledger::Ledger) must do.
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
mod destinations;
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
mod retention;
mod runs;
mod sample;
mod scopes;
mod search;
mod session_links;
mod sessions;
mod statements;
mod suite;
mod survey;
mod tamper;
mod telemetry;
mod tenant_shelf;
mod transactions;
mod turns;
mod usage;
mod usage_quarters;
mod waits;

#[cfg(test)]
mod broken;
#[cfg(test)]
mod tests;

pub use check::{Check, Failure, Shelf};
pub use siglum_ledger::testing::Server;
pub use suite::{checks, run};
pub use tamper::tamper;
pub use tenant_shelf::tenant_shelf;
