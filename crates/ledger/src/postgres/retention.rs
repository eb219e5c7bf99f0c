//! What is kept for a time only, in PostgreSQL.

use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, get, int};
use super::scope;
use super::tx::{Tx, Value};
use crate::{LedgerError, Retention, TelemetryStore};

type Result<T> = std::result::Result<T, LedgerError>;

/// Whether nothing holds the session `s` at $3, which has been silent since before $2.
fn is_free() -> String {
    let in_scope = scope::session("d.projection", "d.session");
    let is_forwarded = scope::session("w.destination", "w.session");
    format!(
        "s.tenant = $1 AND s.last_at < $2 AND (NOT s.forgotten_whole OR s.last_at > s.forgotten_at) AND s.head <= s.sealed \
         AND s.archived_at IS NULL AND s.quarantined IS NULL \
         AND NOT EXISTS (SELECT 1 FROM open_turns o WHERE o.tenant = $1 AND o.session = s.id) \
         AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.tenant = $1 AND l.session = s.id AND l.expires_at > $3) \
         AND NOT EXISTS (SELECT 1 FROM transcripts t WHERE t.tenant = $1 AND t.session = s.id AND t.wanted) \
         AND NOT EXISTS (SELECT 1 FROM pins n JOIN checkpoints k ON k.tenant = $1 AND k.id = n.checkpoint \
         WHERE n.tenant = $1 AND n.session = s.id AND k.kind = 'manual') \
         AND NOT EXISTS (SELECT 1 FROM projections p JOIN deliveries d ON d.tenant = $1 AND d.projection = p.name \
         AND d.session = s.id WHERE p.tenant = $1 AND d.due > d.taken AND d.parked_at IS NULL AND {in_scope}) \
         AND NOT EXISTS (SELECT 1 FROM forwards w WHERE w.tenant = $1 AND w.session = s.id AND {is_forwarded}) \
         AND NOT EXISTS (WITH RECURSIVE later(id, last_at) AS (SELECT f.id, f.last_at FROM sessions f \
         WHERE f.tenant = $1 AND f.parent = s.id AND f.parent_relation IN ('fork', 'rewind') \
         UNION SELECT f.id, f.last_at FROM later JOIN sessions f ON f.tenant = $1 AND f.parent = later.id \
         AND f.parent_relation IN ('fork', 'rewind')) SELECT 1 FROM later WHERE later.last_at >= $2) \
         AND NOT EXISTS (WITH RECURSIVE later(key, seen_at) AS (SELECT h.key, h.seen_at FROM contexts c \
         JOIN contexts h ON h.tenant = $1 AND h.parent = c.key WHERE c.tenant = $1 AND c.session = s.id \
         UNION SELECT h.key, h.seen_at FROM later JOIN contexts h ON h.tenant = $1 AND h.parent = later.key) \
         SELECT 1 FROM later WHERE later.seen_at >= $2)"
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
            Some(_) => "s.id = $4::uuid",
            None => "$4::uuid IS NULL",
        };
        let sql = format!(
            "SELECT s.id FROM sessions s WHERE {which_one} AND {} ORDER BY s.last_at, s.id LIMIT $5",
            is_free()
        );
        let sql = self.locked(&sql);
        let values: [Value<'_>; 4] = [&Col(before), &Col(now), &which.map(Col), &int(limit as u64)];
        self.rows(&sql, &values, |row| get(row, 0))
    }

    fn drop_old_telemetry(
        &mut self,
        store: TelemetryStore,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64> {
        let table = store.table();
        let sql = format!(
            "DELETE FROM {table} WHERE tenant = $1 AND sequence IN \
             (SELECT sequence FROM {table} WHERE tenant = $1 AND at < $2 ORDER BY sequence LIMIT $3)"
        );
        self.run(&sql, &[&Col(before), &int(limit as u64)])
    }

    fn drop_audit(&mut self, number: u64) -> Result<u64> {
        let sql = "DELETE FROM audit WHERE tenant = $1 AND number <= $2";
        self.run(sql, &[&int(number)])
    }
}
