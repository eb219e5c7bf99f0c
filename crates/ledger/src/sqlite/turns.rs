//! Driven turns in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::receipt::{GENESIS, Receipt};
use siglum_domain::{SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int};
use super::log::{RECEIPT, insert, receipt_row};
use super::open::Tx;
use crate::row::from_word;
use crate::{KeyedReceipt, Lease, LedgerError, LogRow, OpenTurn, Turns};

type Result<T> = std::result::Result<T, LedgerError>;

fn open_turn_row(row: &Row<'_>) -> rusqlite::Result<OpenTurn> {
    Ok(OpenTurn {
        session: get(row, 0)?,
        id: get(row, 1)?,
        key: row.get(2)?,
        epoch: count(row, 3)?,
        base: count(row, 4)?,
        opened_at: get(row, 5)?,
        held: row.get(6)?,
    })
}

const OPEN_TURN: &str = "session, id, key, epoch, base, opened_at, held";

/// A row whose source is still a word.
fn pending_row(row: &Row<'_>) -> rusqlite::Result<(LogRow, String)> {
    let source: String = row.get(1)?;
    let pending = LogRow {
        id: get(row, 0)?,
        source: siglum_domain::observation::Source::Api,
        key: row.get(2)?,
        event: row.get(3)?,
        subagent: row.get(4)?,
        kind: row.get(5)?,
        at: get(row, 6)?,
        recorded_at: get(row, 7)?,
        salt: row.get(8)?,
        digest: row.get(9)?,
        payload: row.get(10)?,
    };
    Ok((pending, source))
}

impl Tx<'_> {
    /// Stores a receipt if it follows the last one and its key is new, and makes it due at every projection.
    pub(super) fn store_receipt(&mut self, r: &Receipt, key: Option<(&str, &str)>) -> Result<bool> {
        let last = "SELECT number, digest, EXISTS (SELECT 1 FROM receipts WHERE session = ?1 AND key = ?2) \
             FROM receipts WHERE session = ?1 ORDER BY number DESC LIMIT 1";
        let (number, digest, is_known) = self
            .db
            .prepare_cached(last)?
            .query_row((Col(r.session), key.map(|(key, _)| key)), |row| {
                Ok((count(row, 0)?, row.get::<_, String>(1)?, row.get(2)?))
            })
            .optional()?
            .unwrap_or_else(|| (0, GENESIS.to_owned(), false));
        let follows = r.number == number + 1 && r.previous == digest && !is_known;
        if !follows || r.first == 0 || r.first > r.last {
            return Ok(false);
        }
        let next = "UPDATE sessions SET sealed = ?2 WHERE id = ?1 AND sealed = ?3 AND head >= ?2";
        let moved = self.db.prepare_cached(next)?.execute((
            Col(r.session),
            int(r.last),
            int(r.first - 1),
        ))?;
        if moved == 0 {
            return Ok(false);
        }
        let sql = format!(
            "INSERT INTO receipts ({RECEIPT}, key, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        );
        let turns: Vec<String> = r.turns.iter().map(ToString::to_string).collect();
        self.db.prepare_cached(&sql)?.execute(params![
            Col(r.session),
            int(r.number),
            int(r.first),
            int(r.last),
            turns.join(" "),
            r.previous,
            r.digest,
            Col(r.at),
            key.map(|(key, _)| key),
            key.map(|(_, content)| content),
        ])?;
        self.make_due(r.session, r.number, r.at)?;
        Ok(true)
    }
}

impl Turns for Tx<'_> {
    fn clock(&mut self, local: Timestamp) -> Result<Timestamp> {
        Ok(local)
    }

    fn take_lease(
        &mut self,
        session: SessionId,
        holder: &str,
        at: Timestamp,
        until: Timestamp,
    ) -> Result<Option<u64>> {
        let sql = "INSERT INTO leases (session, epoch, holder, expires_at) VALUES (?1, 1, ?2, ?4) \
             ON CONFLICT (session) DO UPDATE SET epoch = epoch + (holder <> excluded.holder OR expires_at <= ?3), \
             holder = excluded.holder, expires_at = excluded.expires_at \
             WHERE holder = excluded.holder OR expires_at <= ?3 RETURNING epoch";
        let mut query = self.db.prepare_cached(sql)?;
        let values = (Col(session), holder, Col(at), Col(until));
        Ok(query.query_row(values, |row| count(row, 0)).optional()?)
    }

    fn release_lease(&mut self, session: SessionId, epoch: u64, at: Timestamp) -> Result<()> {
        let sql =
            "UPDATE leases SET expires_at = min(expires_at, ?3) WHERE session = ?1 AND epoch = ?2";
        self.db
            .prepare_cached(sql)?
            .execute((Col(session), int(epoch), Col(at)))?;
        Ok(())
    }

    fn lease(&mut self, session: SessionId) -> Result<Option<Lease>> {
        let sql = "SELECT epoch, holder, expires_at FROM leases WHERE session = ?1";
        let lease = |row: &Row<'_>| {
            Ok(Lease {
                epoch: count(row, 0)?,
                holder: row.get(1)?,
                expires_at: get(row, 2)?,
            })
        };
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row([Col(session)], lease).optional()?)
    }

    fn put_open_turn(&mut self, t: &OpenTurn) -> Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO open_turns ({OPEN_TURN}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        );
        self.db.prepare_cached(&sql)?.execute(params![
            Col(t.session),
            Col(t.id),
            t.key,
            int(t.epoch),
            int(t.base),
            Col(t.opened_at),
            t.held,
        ])?;
        Ok(())
    }

    fn open_turn(&mut self, session: SessionId) -> Result<Option<OpenTurn>> {
        let sql = format!("SELECT {OPEN_TURN} FROM open_turns WHERE session = ?1");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([Col(session)], open_turn_row).optional()?)
    }

    fn open_turns(&mut self, limit: usize) -> Result<Vec<OpenTurn>> {
        let sql =
            format!("SELECT {OPEN_TURN} FROM open_turns ORDER BY opened_at, session LIMIT ?1");
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map([int(limit as u64)], open_turn_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn drop_turn(&mut self, session: SessionId) -> Result<()> {
        for sql in [
            "DELETE FROM pending WHERE session = ?1",
            "DELETE FROM open_turns WHERE session = ?1",
        ] {
            self.db.prepare_cached(sql)?.execute([Col(session)])?;
        }
        Ok(())
    }

    fn add_pending(&mut self, session: SessionId, row: &LogRow) -> Result<bool> {
        let sql = "INSERT INTO pending (session, place, id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload) \
             VALUES (?1, (SELECT coalesce(max(place), 0) + 1 FROM pending WHERE session = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
             ON CONFLICT (session, source, key) DO NOTHING";
        let added = self.db.prepare_cached(sql)?.execute(params![
            Col(session),
            Col(row.id),
            row.source.as_str(),
            row.key,
            row.event,
            row.subagent,
            row.kind,
            Col(row.at),
            Col(row.recorded_at),
            &row.salt[..],
            row.digest,
            row.payload,
        ])?;
        Ok(added > 0)
    }

    fn pending(&mut self, session: SessionId) -> Result<Vec<LogRow>> {
        let sql = "SELECT id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload \
             FROM pending WHERE session = ?1 ORDER BY place";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query
            .query_map([Col(session)], pending_row)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let known = |(mut row, source): (LogRow, String)| {
            row.source = from_word("source", &source)?;
            Ok(row)
        };
        rows.into_iter().map(known).collect()
    }

    fn append_rows(
        &mut self,
        session: SessionId,
        turn: TurnId,
        rows: &[LogRow],
    ) -> Result<Option<String>> {
        let more =
            "UPDATE sessions SET head = head + ?2 WHERE id = ?1 RETURNING head, forgotten_at";
        let (head, forgotten): (i64, Option<i64>) = self
            .db
            .prepare_cached(more)?
            .query_row((Col(session), int(rows.len() as u64)), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let first = head - int(rows.len() as u64) + 1;
        for (sequence, row) in (first..).zip(rows) {
            let is_forgotten = forgotten.is_some_and(|at| row.at.nanos() <= at);
            if !insert(self.db, session, sequence, Some(turn), row, is_forgotten)? {
                return Ok(Some(row.key.clone()));
            }
        }
        Ok(None)
    }

    fn put_keyed_receipt(&mut self, receipt: &Receipt, key: &str, content: &str) -> Result<bool> {
        self.store_receipt(receipt, Some((key, content)))
    }

    fn keyed_receipt(&mut self, session: SessionId, key: &str) -> Result<Option<KeyedReceipt>> {
        let sql =
            format!("SELECT {RECEIPT}, content FROM receipts WHERE session = ?1 AND key = ?2");
        let keyed = |row: &Row<'_>| {
            Ok(KeyedReceipt {
                receipt: receipt_row(row)?,
                content: row.get(8)?,
            })
        };
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row((Col(session), key), keyed).optional()?)
    }

    fn last_receipt(&mut self, session: SessionId) -> Result<Option<Receipt>> {
        let sql = format!(
            "SELECT {RECEIPT} FROM receipts WHERE session = ?1 ORDER BY number DESC LIMIT 1"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([Col(session)], receipt_row).optional()?)
    }

    fn archive(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        let sql = "UPDATE sessions SET archived_at = coalesce(archived_at, ?2), \
             ended_at = coalesce(ended_at, ?2) WHERE id = ?1";
        self.db
            .prepare_cached(sql)?
            .execute((Col(session), Col(at)))?;
        self.sum("sessions", "id = ?1", [Col(session)])
    }

    fn quarantine(&mut self, session: SessionId, reason: Option<&str>) -> Result<()> {
        let sql = "UPDATE sessions SET quarantined = ?2 WHERE id = ?1";
        self.db
            .prepare_cached(sql)?
            .execute((Col(session), reason))?;
        Ok(())
    }

    fn quarantined_sessions(&mut self, limit: usize) -> Result<Vec<(SessionId, String)>> {
        let sql = "SELECT id, quarantined FROM sessions INDEXED BY sessions_quarantined \
             WHERE quarantined IS NOT NULL AND typeof(id) = 'blob' AND length(id) = 16 ORDER BY id LIMIT ?1";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([int(limit as u64)], |row| Ok((get(row, 0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
