//! The ledger in one SQLite file.
//!
//! A hook opens nothing it does not need: it never migrates, never checkpoints, and waits at most
//! as long as [`Open`] says.

mod audit;
mod backup;
mod bound;
mod columns;
mod commits;
#[cfg(any(test, feature = "testing"))]
mod cost;
mod database;
mod forgetting;
mod integrity;
mod listing;
mod log;
mod migrate;
mod open;
mod own_log;
mod pinned;
mod projections;
mod replicas;
mod scrub;
mod search;
mod sessions;
mod sums;
mod usage;

pub use bound::NearestBound;
#[cfg(any(test, feature = "testing"))]
pub use cost::Cost;
pub use migrate::SCHEMA;
pub use open::{Open, SqliteLedger};
pub use own_log::LogRest;
#[cfg(any(test, feature = "testing"))]
pub(crate) use sums::{miscounts, unlike};
pub use sums::{sum_all, sums_on};
