//! Whether what is stored fits together: quick questions about the sessions that were heard of last.

use siglum_domain::SessionId;

use super::columns::{count, get};
use super::tx::Tx;
use crate::LedgerError;

/// How many sessions are looked at, and how many problems are told.
const SESSIONS: i64 = 1000;
const PROBLEMS: i64 = 20;

/// What does not fit together, in words.
pub(super) fn problems(tx: &mut Tx<'_>) -> Result<Vec<String>, LedgerError> {
    let sql = "SELECT id, head, sealed, written, receipted FROM \
         (SELECT s.id, s.head, s.sealed, \
          coalesce((SELECT max(o.sequence) FROM observations o WHERE o.tenant = $1 AND o.session = s.id), 0) AS written, \
          coalesce((SELECT r.last FROM receipts r WHERE r.tenant = $1 AND r.session = s.id ORDER BY r.number DESC LIMIT 1), 0) AS receipted \
          FROM sessions s WHERE s.tenant = $1 ORDER BY s.last_at DESC LIMIT $2) AS heard \
         WHERE head <> written OR sealed <> receipted OR sealed > head LIMIT $3";
    tx.rows(sql, &[&SESSIONS, &PROBLEMS], |row| {
        let (id, head, sealed) = (get::<SessionId>(row, 0)?, count(row, 1)?, count(row, 2)?);
        let (written, receipted) = (count(row, 3)?, count(row, 4)?);
        Ok(format!(
            "{id} says that it has {head} entries and receipts up to {sealed}; \
             there are {written} entries and receipts up to {receipted}"
        ))
    })
}
