//! What is in a database of somebody who is at work, seen from outside.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::Fallible;

/// The one number that a query of a database gives.
pub(crate) fn rows(file: &Path, sql: &str) -> Fallible<usize> {
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    database.busy_timeout(Duration::from_secs(60))?;
    let count: i64 = database.query_row(sql, [], |row| row.get(0))?;
    Ok(usize::try_from(count)?)
}
