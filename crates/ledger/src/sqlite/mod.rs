//! The ledger in one SQLite file.
//!
//! A hook opens nothing it does not need: it never migrates, never checkpoints, and waits at most
//! as long as [`Open`] says.

mod access;
mod audit;
mod backup;
mod columns;
mod commits;
mod contexts;
#[cfg(any(test, feature = "testing"))]
mod cost;
mod forgetting;
mod heartbeats;
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
mod repositories;
mod requests;
mod retention;
mod runs;
mod scope;
mod search;
mod session_repositories;
mod sessions;
mod sums;
mod telemetry;
mod turns;
mod usage;

#[cfg(any(test, feature = "testing"))]
pub use cost::Cost;
pub use migrate::SCHEMA;
pub use open::{Open, SqliteLedger};
#[cfg(any(test, feature = "testing"))]
pub(crate) use sums::{miscounts, unlike};
pub use sums::{sum_all, sums_on};
