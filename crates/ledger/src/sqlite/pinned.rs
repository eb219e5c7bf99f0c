//! What holds on to a session in SQLite alone.

use siglum_domain::SessionId;

use super::columns::Col;
use super::database::Tx;
use crate::LedgerError;
use crate::database::Database;
use crate::verbs::pinned::OwnPins;

impl OwnPins for Tx<'_> {
    /// The number of the next statement is the one behind the newest.
    fn other_pin(&mut self, session: SessionId) -> Result<Option<&'static str>, LedgerError> {
        let sql = "SELECT 1 FROM statements WHERE session = ?1 AND ledger = ?2 \
             AND sequence = (SELECT max(sequence) FROM statements WHERE ledger = ?2)";
        let is_newest = self.exists(sql, &[&Col(session), &Col(self.ledger)])?;
        Ok(is_newest.then_some("newest statement"))
    }
}
