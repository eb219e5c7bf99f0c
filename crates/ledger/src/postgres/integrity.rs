//! Looking at rows in PostgreSQL's own way.

use siglum_domain::SessionId;

use super::columns::{Col, count, int, raw};
use super::sums;
use super::tx::{Tx, Value};
use crate::columns::Row;
use crate::verbs::integrity::{OwnIntegrity, state_row};
use crate::{LedgerError, Miscount, SessionState, Unlike};

type Result<T> = std::result::Result<T, LedgerError>;

/// What is there of sessions, and how far they were verified.
const STATE: &str = "SELECT s.id, concat_ws(' ', s.head, s.sealed, s.folded, coalesce(s.sum::text, '-'), s.quarantined IS NOT NULL, \
     coalesce((SELECT max(r.number) FROM receipts r WHERE r.tenant = $1 AND r.session = s.id), 0), \
     (SELECT concat_ws(' ', count(*), coalesce(sum(t.read_to), 0)) FROM transcripts t WHERE t.tenant = $1 AND t.session = s.id), \
     (SELECT count(*) FROM edits e WHERE e.tenant = $1 AND e.session = s.id), \
     (SELECT count(*) FROM open_turns o WHERE o.tenant = $1 AND o.session = s.id), \
     (SELECT count(*) FROM pending p WHERE p.tenant = $1 AND p.session = s.id)), \
     v.state, v.forgotten_at, v.receipt, v.sequence, v.digest, v.at \
     FROM sessions s LEFT JOIN verified v ON v.tenant = $1 AND v.session = s.id WHERE s.tenant = $1";

impl OwnIntegrity for Tx<'_> {
    fn unlike_rows(&mut self, limit: usize) -> Result<Vec<Unlike>> {
        let mut found = Vec::new();
        for (table, sql) in sums::unlike() {
            found.extend(self.rows(&sql, &[&int(limit as u64)], |row| {
                let row = raw(row, 0)?;
                Ok(Unlike { table, row })
            })?);
        }
        Ok(found)
    }

    fn unlike_log(&mut self, session: SessionId, after: u64, limit: usize) -> Result<Vec<Unlike>> {
        let mut found = Vec::new();
        let of: [Value<'_>; 3] = [&int(limit as u64), &Col(session), &int(after)];
        for (table, sql) in sums::unlike_entries() {
            found.extend(self.rows(&sql, &of, |row| {
                let row = raw(row, 0)?;
                Ok(Unlike { table, row })
            })?);
        }
        Ok(found)
    }

    fn states(&mut self, after: Option<SessionId>, limit: usize) -> Result<Vec<SessionState>> {
        let behind = match after {
            Some(_) => "s.id > $2",
            None => "$2::uuid IS NULL",
        };
        let sql = format!("{STATE} AND {behind} ORDER BY s.id LIMIT $3");
        self.rows(&sql, &[&after.map(Col), &int(limit as u64)], |row| {
            state_row(&Row::Postgres(row))
        })
    }

    fn state_of_session(&mut self, id: SessionId) -> Result<Option<SessionState>> {
        let sql = format!("{STATE} AND s.id = $2");
        self.row(&sql, &[&Col(id)], |row| state_row(&Row::Postgres(row)))
    }

    fn miscounted(&mut self) -> Result<Vec<Miscount>> {
        let mut found = Vec::new();
        for (table, sql) in sums::miscounts() {
            found.extend(self.rows(&sql, &[], |row| {
                let (stored, found) = (count(row, 0)?, count(row, 1)?);
                Ok(Miscount {
                    table,
                    stored,
                    found,
                })
            })?);
        }
        Ok(found)
    }
}
