//! The ledger in one SQLite file.
//!
//! A hook opens nothing it does not need: it never migrates, never checkpoints, and waits at most
//! as long as [`Open`] says.

mod columns;
mod commits;
mod forgetting;
mod log;
mod migrate;
mod open;
mod queue;
mod sessions;

pub use migrate::SCHEMA;
pub use open::{Open, SqliteLedger};
