//! What is kept for a time only.

use siglum_domain::{SessionId, Timestamp};

use super::scope::{D_IN_SCOPE, FORWARD_IN_SCOPE};
use crate::columns::{Col, Value, int};
use crate::database::Database;
use crate::sql::sql;
use crate::{LedgerError, Retention, TelemetryStore};

type Result<T> = std::result::Result<T, LedgerError>;

/// Whether nothing holds the session `s` at `?2`, which has been silent since before `?1`: before what is in the scope of
/// projections.
const IS_FREE: &str = "[s.tenant = $1 AND] s.last_at < ?1 AND ([NOT s.forgotten_whole|s.forgotten_whole = 0] OR s.last_at > s.forgotten_at) \
     AND s.head <= s.sealed AND s.archived_at IS NULL AND s.quarantined IS NULL \
     AND NOT EXISTS (SELECT 1 FROM open_turns o WHERE [o.tenant = $1 AND] o.session = s.id) \
     AND NOT EXISTS (SELECT 1 FROM leases l WHERE [l.tenant = $1 AND] l.session = s.id AND l.expires_at > ?2) \
     AND NOT EXISTS (SELECT 1 FROM transcripts t WHERE [t.tenant = $1 AND] t.session = s.id AND t.wanted[| = 1]) \
     AND NOT EXISTS (SELECT 1 FROM pins n JOIN checkpoints k ON [k.tenant = $1 AND] k.id = n.checkpoint \
     WHERE [n.tenant = $1 AND] n.session = s.id AND k.kind = 'manual') ";

/// Nothing that is due anywhere. Projections are few: by `CROSS JOIN` they come first, and not all that is due anywhere.
const DUE: &str = "AND NOT EXISTS (SELECT 1 FROM projections p [|CROSS] JOIN deliveries d ON [d.tenant = $1 AND] \
     d.projection = p.name AND d.session = s.id WHERE [p.tenant = $1 AND] d.due > d.taken AND d.parked_at IS NULL AND ";

const FORWARDED: &str =
    ") AND NOT EXISTS (SELECT 1 FROM forwards w WHERE [w.tenant = $1 AND] w.session = s.id AND ";

/// And nothing that came of it later reads its log.
const LATER: &str = ") \
     AND NOT EXISTS (WITH RECURSIVE later(id, last_at) AS (SELECT f.id, f.last_at FROM sessions f \
     WHERE [f.tenant = $1 AND] f.parent = s.id AND f.parent_relation IN ('fork', 'rewind') \
     UNION SELECT f.id, f.last_at FROM later JOIN sessions f ON [f.tenant = $1 AND] f.parent = later.id \
     AND f.parent_relation IN ('fork', 'rewind')) SELECT 1 FROM later WHERE later.last_at >= ?1) \
     AND NOT EXISTS (WITH RECURSIVE later(key, seen_at) AS (SELECT h.key, h.seen_at FROM contexts c \
     JOIN contexts h ON [h.tenant = $1 AND] h.parent = c.key WHERE [c.tenant = $1 AND] c.session = s.id \
     UNION SELECT h.key, h.seen_at FROM later JOIN contexts h ON [h.tenant = $1 AND] h.parent = later.key) \
     SELECT 1 FROM later WHERE later.seen_at >= ?1) ORDER BY s.last_at, s.id LIMIT ?4 [FOR UPDATE]";

impl<D: Database> Retention for D {
    fn idle_sessions(
        &mut self,
        which: Option<SessionId>,
        before: Timestamp,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<SessionId>> {
        // Each is written out, so that each can use its index.
        let sql = match which {
            Some(_) => sql!("SELECT s.id FROM sessions s WHERE s.id = ?3[::uuid] AND "
                 IS_FREE DUE D_IN_SCOPE FORWARDED FORWARD_IN_SCOPE LATER),
            None => sql!("SELECT s.id FROM sessions s WHERE ?3[::uuid] IS NULL AND "
                 IS_FREE DUE D_IN_SCOPE FORWARDED FORWARD_IN_SCOPE LATER),
        };
        let of: [Value<'_>; 4] = [&Col(before), &Col(now), &which.map(Col), &int(limit as u64)];
        self.rows(sql, &of, |row| row.get(0))
    }

    fn drop_old_telemetry(
        &mut self,
        store: TelemetryStore,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64> {
        self.erase_securely()?;
        let sql = sql!(
            "DELETE FROM {table} WHERE [tenant = $1 AND] sequence IN \
             (SELECT sequence FROM {table} WHERE [tenant = $1 AND] at < ?1 ORDER BY sequence LIMIT ?2)"
        );
        let sql = sql.of_table(store.table());
        self.run(&sql, &[&Col(before), &int(limit as u64)])
    }

    fn drop_audit(&mut self, number: u64) -> Result<u64> {
        self.erase_securely()?;
        let sql = sql!("DELETE FROM audit WHERE [tenant = $1 AND] number <= ?1");
        self.run(sql, &[&int(number)])
    }

    fn owe_scrub(&mut self) -> Result<()> {
        self.note_scrub()
    }
}
