//! What is kept for a time only, in SQLite.

use rusqlite::params;
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, get, int};
use super::open::Tx;
use super::scope;
use crate::{LedgerError, Retention, TelemetryStore};

type Result<T> = std::result::Result<T, LedgerError>;

/// Whether nothing holds the session `s` at ?2, which has been silent since before ?1.
fn is_free() -> String {
    let in_scope = scope::session("d.projection", "d.session");
    let is_forwarded = scope::session("w.destination", "w.session");
    // Projections are few: by `CROSS JOIN` they come first, and not all that is due anywhere.
    format!(
        "s.last_at < ?1 AND (s.forgotten_whole = 0 OR s.last_at > s.forgotten_at) AND s.head <= s.sealed \
         AND s.archived_at IS NULL AND s.quarantined IS NULL \
         AND NOT EXISTS (SELECT 1 FROM open_turns o WHERE o.session = s.id) \
         AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.session = s.id AND l.expires_at > ?2) \
         AND NOT EXISTS (SELECT 1 FROM transcripts t WHERE t.session = s.id AND t.wanted = 1) \
         AND NOT EXISTS (SELECT 1 FROM pins n JOIN checkpoints k ON k.id = n.checkpoint \
         WHERE n.session = s.id AND k.kind = 'manual') \
         AND NOT EXISTS (SELECT 1 FROM projections p CROSS JOIN deliveries d ON d.projection = p.name AND d.session = s.id \
         WHERE d.due > d.taken AND d.parked_at IS NULL AND {in_scope}) \
         AND NOT EXISTS (SELECT 1 FROM forwards w WHERE w.session = s.id AND {is_forwarded}) \
         AND NOT EXISTS (WITH RECURSIVE later(id, last_at) AS (SELECT f.id, f.last_at FROM sessions f \
         WHERE f.parent = s.id AND f.parent_relation IN ('fork', 'rewind') \
         UNION SELECT f.id, f.last_at FROM later JOIN sessions f ON f.parent = later.id \
         AND f.parent_relation IN ('fork', 'rewind')) SELECT 1 FROM later WHERE later.last_at >= ?1) \
         AND NOT EXISTS (WITH RECURSIVE later(key, seen_at) AS (SELECT h.key, h.seen_at FROM contexts c \
         JOIN contexts h ON h.parent = c.key WHERE c.session = s.id \
         UNION SELECT h.key, h.seen_at FROM later JOIN contexts h ON h.parent = later.key) \
         SELECT 1 FROM later WHERE later.seen_at >= ?1)"
    )
}

impl Retention for Tx<'_> {
    fn idle_sessions(
        &mut self,
        which: Option<SessionId>,
        before: Timestamp,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<SessionId>> {
        // Each is written out, so that each can use its index.
        let which_one = match which {
            Some(_) => "s.id = ?3",
            None => "?3 IS NULL",
        };
        let sql = format!(
            "SELECT s.id FROM sessions s WHERE {which_one} AND {} ORDER BY s.last_at, s.id LIMIT ?4",
            is_free()
        );
        let values = params![Col(before), Col(now), which.map(Col), int(limit as u64)];
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map(values, |row| get(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn drop_old_telemetry(
        &mut self,
        store: TelemetryStore,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64> {
        self.erase_securely()?;
        let table = store.table();
        let sql = format!(
            "DELETE FROM {table} WHERE sequence IN \
             (SELECT sequence FROM {table} WHERE at < ?1 ORDER BY sequence LIMIT ?2)"
        );
        let values = (Col(before), int(limit as u64));
        Ok(self.db.prepare_cached(&sql)?.execute(values)? as u64)
    }

    fn drop_audit(&mut self, number: u64) -> Result<u64> {
        self.erase_securely()?;
        let sql = "DELETE FROM audit WHERE number <= ?1";
        Ok(self.db.prepare_cached(sql)?.execute([int(number)])? as u64)
    }
}
