//! For tests, here and in the crates above: a server to test with, and a store's own tables.

#[cfg(feature = "postgres")]
mod planner;
#[cfg(feature = "postgres")]
mod server;

use rusqlite::Connection;

use crate::{Miscount, Unlike, sqlite, sums};

pub use crate::recording::{StoreKind, record_statements, recorded_statements};
#[cfg(feature = "postgres")]
pub use planner::Planner;
#[cfg(feature = "postgres")]
pub use server::Server;

/// The tables that do not grow with history: they have a row for each repository, projection or heartbeat, or for what goes
/// on now, or a bound.
pub const SMALL: &[&str] = &[
    "active_runs",
    "audit_end",
    "audit_ends",
    "counters",
    "cursors",
    "destinations",
    "heartbeats",
    "leases",
    "meta",
    "open_turns",
    "outbox",
    "parked",
    "pending",
    "projections",
    "registrations",
    "replica_repositories",
    "repositories",
    "running_calls",
    "tallies",
    "telemetry_counts",
    "telemetry_inbox",
    "tenants",
    "tick_totals",
    "unassigned",
    "unindexed",
    "worktrees",
];

/// The tables whose rows have a sum, and the columns in it.
pub const SUMMED: &[(&str, &[&str])] = sums::SUMMED;

/// The tables that have a tally.
pub fn tallied() -> impl Iterator<Item = &'static str> {
    sums::tallied()
}

/// What [`Integrity::unlike`](crate::Integrity::unlike) gives of a SQLite file, on any connection that has
/// [`sums_on`](sqlite::sums_on): in the middle of a transaction, too.
///
/// # Errors
/// Those of the store.
pub fn unlike(db: &Connection, most: i64) -> rusqlite::Result<Vec<Unlike>> {
    sqlite::unlike(db, most)
}

/// What [`Integrity::miscounts`](crate::Integrity::miscounts) gives of a SQLite file, on such a connection.
///
/// # Errors
/// Those of the store.
pub fn miscounts(db: &Connection) -> rusqlite::Result<Vec<Miscount>> {
    sqlite::miscounts(db)
}
