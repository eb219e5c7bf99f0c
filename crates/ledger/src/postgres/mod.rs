//! The ledger in PostgreSQL, for one tenant of a store that several share.
//!
//! One ledger is one connection; a connection may serve the ledgers of several tenants, one after the other. It is made
//! anew before a transaction where it was lost, and never in the middle of one. Nothing but the sums of rows, the
//! tallies of tables, the right to feed a projection and the index of texts relies on what PostgreSQL alone has (triggers,
//! advisory locks, text search, notifications), so that distributed databases that speak its protocol can hold a ledger, too, when these are made in
//! another way; where there are notifications, they are a hint.

mod access;
mod audit;
mod begun;
mod blob_store;
mod blobs;
mod check;
mod columns;
mod commits;
mod connection;
mod contexts;
mod error;
mod forgetting;
mod heartbeats;
mod hints;
mod hold;
mod integrity;
mod listing;
mod log;
mod migrate;
mod open;
mod pinned;
mod pipelines;
mod projections;
mod queue;
mod replicas;
mod requests;
mod retention;
mod runs;
mod scope;
mod search;
mod session_repositories;
mod sessions;
mod settings;
mod shared_connection;
mod shared_ledger;
mod statements;
mod sums;
mod telemetry;
mod tls;
mod turns;
mod tx;
mod usage;

pub use blob_store::{BlobError, BlobSettings, BlobStore};
pub(crate) use error::is_contradiction;
pub use hints::PostgresHints;
pub use migrate::SCHEMA;
#[cfg(any(test, feature = "testing"))]
pub(crate) use migrate::migrations;
pub use open::PostgresLedger;
pub use settings::PostgresSettings;
pub use shared_connection::{ConnectionLimit, PostgresConnection};
pub use shared_ledger::SharedLedger;

#[cfg(test)]
mod tests;
