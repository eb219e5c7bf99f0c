//! The ledger in PostgreSQL, for one tenant of a store that several share.
//!
//! One ledger is one connection; a connection may serve the ledgers of several tenants, one after the other. It is made
//! anew before a transaction where it was lost, and never in the middle of one. Nothing but the sums of rows, the
//! tallies of tables, the right to feed a projection and the index of texts relies on what PostgreSQL alone has (triggers,
//! advisory locks, text search, notifications), so that distributed databases that speak its protocol can hold a ledger, too, when these are made in
//! another way; where there are notifications, they are a hint.

mod audit;
mod begun;
mod blob_store;
mod blobs;
mod check;
mod columns;
mod commits;
mod connection;
mod database;
mod error;
mod forgetting;
mod hints;
mod hold;
mod integrity;
mod listing;
mod log;
mod migrate;
mod open;
mod pinned;
mod projections;
mod replicas;
mod search;
mod sessions;
mod settings;
mod shared_connection;
mod shared_ledger;
mod sums;
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
