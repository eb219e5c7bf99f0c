//! For tests, here and in the crates above: a server to test with, and a store's own tables.

#[cfg(feature = "postgres")]
mod server;

use rusqlite::Connection;

use crate::{Miscount, Unlike, sqlite, sums};

#[cfg(feature = "postgres")]
pub use server::Server;

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
