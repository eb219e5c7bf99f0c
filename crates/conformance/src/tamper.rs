//! Changing a store behind its back, for tests of those who must notice.

use std::path::Path;

use siglum_domain::SessionId;
use siglum_ledger::LedgerError;
use siglum_ledger::sqlite::sums_on;

/// Runs `sql` on the file of a ledger, with the id of a session as its one parameter. Gives the number of rows changed.
///
/// # Errors
/// Those of the file.
pub fn tamper(path: &Path, sql: &str, session: SessionId) -> Result<usize, LedgerError> {
    let db = rusqlite::Connection::open(path)?;
    sums_on(&db)?;
    db.pragma_update(None, "foreign_keys", false)?;
    let id = session.uuid().as_bytes().to_vec();
    Ok(db.execute(sql, [id])?)
}
