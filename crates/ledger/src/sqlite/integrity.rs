//! Looking at rows in SQLite's own way.

use siglum_domain::SessionId;

use super::columns::{Col, int};
use super::database::Tx;
use super::sums;
use crate::database::Database;
use crate::verbs::integrity::{OwnIntegrity, state_row};
use crate::{LedgerError, Miscount, SessionState, Unlike};

type Result<T> = std::result::Result<T, LedgerError>;

/// What is there of sessions, and how far they were verified.
const STATE: &str = "SELECT s.id, s.head || ' ' || s.sealed || ' ' || s.folded || ' ' || coalesce(s.sum, '') || ' ' \
     || (s.quarantined IS NOT NULL) || ' ' || coalesce((SELECT max(r.number) FROM receipts r WHERE r.session = s.id), 0) || ' ' \
     || (SELECT count(*) || ' ' || total(t.read_to) FROM transcripts t WHERE t.session = s.id) || ' ' \
     || (SELECT count(*) FROM edits e WHERE e.session = s.id) || ' ' \
     || (SELECT count(*) FROM open_turns o WHERE o.session = s.id) || ' ' \
     || (SELECT count(*) FROM pending p WHERE p.session = s.id), \
     v.state, v.forgotten_at, v.receipt, v.sequence, v.digest, v.at \
     FROM sessions s LEFT JOIN verified v ON v.session = s.id WHERE typeof(s.id) = 'blob' AND length(s.id) = 16";

impl OwnIntegrity for Tx<'_> {
    fn unlike_rows(&mut self, limit: usize) -> Result<Vec<Unlike>> {
        Ok(sums::unlike_beside_logs(self.db, int(limit as u64))?)
    }

    fn unlike_log(&mut self, session: SessionId, after: u64, limit: usize) -> Result<Vec<Unlike>> {
        let (after, limit) = (int(after), int(limit as u64));
        Ok(sums::unlike_entries(self.db, session, after, limit)?)
    }

    fn states(&mut self, after: Option<SessionId>, limit: usize) -> Result<Vec<SessionState>> {
        let behind = match after {
            Some(_) => "s.id > ?1",
            None => "?1 IS NULL",
        };
        let sql = format!("{STATE} AND {behind} ORDER BY s.id LIMIT ?2");
        self.rows(&sql, &[&after.map(Col), &int(limit as u64)], state_row)
    }

    fn state_of_session(&mut self, id: SessionId) -> Result<Option<SessionState>> {
        self.row(&format!("{STATE} AND s.id = ?1"), &[&Col(id)], state_row)
    }

    fn miscounted(&mut self) -> Result<Vec<Miscount>> {
        Ok(sums::miscounts(self.db)?)
    }
}
