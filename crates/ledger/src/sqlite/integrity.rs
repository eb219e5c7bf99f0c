//! Looking at every row, in SQLite.

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::fold::Entry;
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use super::sums;
use crate::columns;
use crate::integrity::Read;
use crate::row::{header, unpack};
use crate::stored::unpack_lines;
use crate::verbs::listing::{SESSION, session_row};
use crate::verbs::log::{ENTRY, RECEIPT, entry_row, receipt_row};
use crate::{
    Integrity, LedgerError, Miscount, SessionState, Stored, StoredEntry, StoredSegment,
    StoredSession, Stray, Unlike, Verified,
};

type Result<T> = std::result::Result<T, LedgerError>;

/// Where [`ENTRY`] ends in the rows of [`entry_and_digest`].
const BEHIND_ENTRY: usize = 10;
/// What has a session, beside its log.
const OF_SESSIONS: [&str; 15] = [
    "aliases",
    "processes",
    "turns",
    "observations",
    "summaries",
    "usages",
    "usage_quarters",
    "edits",
    "receipts",
    "open_turns",
    "pending",
    "deliveries",
    "leases",
    "transcripts",
    "pins",
];

/// What names a commit or its parts. Of a commit whose intent is here, nothing may be gone: others come from replicas, which
/// hold what is in their scope.
const AROUND_COMMITS: [(&str, &str); 6] = [
    (
        "intents",
        "SELECT 'commit ' || i.\"commit\", count(*) FROM intents i WHERE i.state = 'landed' AND NOT EXISTS \
         (SELECT 1 FROM commits c WHERE c.repository = i.repository AND c.\"commit\" = i.\"commit\") GROUP BY i.\"commit\"",
    ),
    (
        "authors",
        "SELECT 'commit ' || a.\"commit\", count(*) FROM authors a WHERE NOT EXISTS \
         (SELECT 1 FROM commits c WHERE c.repository = a.repository AND c.\"commit\" = a.\"commit\") GROUP BY a.\"commit\"",
    ),
    (
        "commits",
        "SELECT 'intent ' || lower(hex(c.intent)), count(*) FROM commits c WHERE c.intent IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM intents i WHERE i.checkpoint = c.intent) GROUP BY c.intent",
    ),
    (
        "commits",
        "SELECT 'checkpoint ' || lower(hex(c.checkpoint)), count(*) FROM commits c WHERE c.intent IS NOT NULL \
         AND c.checkpoint IS NOT NULL AND NOT EXISTS (SELECT 1 FROM checkpoints k WHERE k.id = c.checkpoint) GROUP BY c.checkpoint",
    ),
    (
        "commits",
        "SELECT 'the authors of commit ' || c.\"commit\", count(*) FROM commits c WHERE c.intent IS NOT NULL \
         AND c.patch IS NOT NULL AND NOT EXISTS (SELECT 1 FROM authors a WHERE a.repository = c.repository \
         AND a.\"commit\" = c.\"commit\" AND a.path = '') GROUP BY c.\"commit\"",
    ),
    (
        "pins",
        "SELECT 'checkpoint ' || lower(hex(p.checkpoint)), count(*) FROM pins p WHERE NOT EXISTS \
         (SELECT 1 FROM checkpoints k WHERE k.id = p.checkpoint) GROUP BY p.checkpoint",
    ),
];

/// What is there of sessions, and how far they were verified.
const STATE: &str = "SELECT s.id, s.head || ' ' || s.sealed || ' ' || s.folded || ' ' || coalesce(s.sum, '') || ' ' \
     || (s.quarantined IS NOT NULL) || ' ' || coalesce((SELECT max(r.number) FROM receipts r WHERE r.session = s.id), 0) || ' ' \
     || (SELECT count(*) || ' ' || total(t.read_to) FROM transcripts t WHERE t.session = s.id) || ' ' \
     || (SELECT count(*) FROM edits e WHERE e.session = s.id) || ' ' \
     || (SELECT count(*) FROM open_turns o WHERE o.session = s.id) || ' ' \
     || (SELECT count(*) FROM pending p WHERE p.session = s.id), \
     v.state, v.forgotten_at, v.receipt, v.sequence, v.digest, v.at \
     FROM sessions s LEFT JOIN verified v ON v.session = s.id WHERE typeof(s.id) = 'blob' AND length(s.id) = 16";

fn state_row(row: &Row<'_>) -> rusqlite::Result<SessionState> {
    let verified = match row.get::<_, Option<String>>(2)? {
        Some(state) => Some(Verified {
            state,
            forgotten: opt(row, 3)?,
            receipt: count(row, 4)?,
            sequence: count(row, 5)?,
            digest: row.get(6)?,
            at: get(row, 7)?,
        }),
        None => None,
    };
    Ok(SessionState {
        session: get(row, 0)?,
        state: row.get(1)?,
        verified,
    })
}

/// What is wrong with a row, without the words that are the same for all of them.
fn error_message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The same where a row itself is not as it should be.
fn row_message(error: LedgerError) -> String {
    match error {
        LedgerError::Damaged(what) => what,
        other => other.to_string(),
    }
}

/// A column as text, whatever is in it.
fn lossy(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(at)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(n) => n.to_string(),
        ValueRef::Null => String::new(),
    })
}

fn entry_and_digest(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    let (source, key, event): (String, String, String) = (row.get(4)?, row.get(5)?, row.get(6)?);
    let packed: Option<Vec<u8>> = row.get(9)?;
    let payload = packed.map(|packed| unpack(&packed).map_err(error_message));
    let (at, recorded_at): (Timestamp, Timestamp) = (get(row, 7)?, get(row, 3)?);
    let entry = payload.is_some().then(|| entry_of(row));
    Ok(StoredEntry {
        sealed: SealedEntry {
            sequence: count(row, 1)?,
            header: header(&source, &key, &event),
            payload: row.get(BEHIND_ENTRY + 1)?,
        },
        kind: row.get(BEHIND_ENTRY + 2)?,
        at: at.min(recorded_at),
        salt: row.get(BEHIND_ENTRY)?,
        payload,
        entry,
    })
}

fn entry_of(row: &Row<'_>) -> Read<Entry> {
    let entry = entry_row(&columns::Row::Sqlite(row))
        .map_err(row_message)?
        .record()
        .map_err(error_message)?;
    entry.ok_or_else(|| "it has no payload".to_owned())
}

fn stored_session(row: &Row<'_>) -> rusqlite::Result<StoredSession> {
    Ok(StoredSession {
        id: get(row, 0)?,
        record: session_row(&columns::Row::Sqlite(row)).map_err(row_message),
    })
}

pub(super) fn stored<T, E: std::fmt::Display>(
    row: &Row<'_>,
    number: usize,
    of: impl Fn(&Row<'_>) -> std::result::Result<T, E>,
) -> rusqlite::Result<Stored<T>> {
    // A number that is none sorts behind all others: nothing is left out by going to the end.
    let number = row
        .get::<_, i64>(number)
        .map_or(i64::MAX as u64, |n| u64::try_from(n).unwrap_or(0));
    Ok(Stored {
        number,
        row: of(row).map_err(error_message),
    })
}

fn segment(row: &Row<'_>) -> rusqlite::Result<StoredSegment> {
    let lines = row
        .get::<_, Vec<u8>>(2)
        .map_err(error_message)
        .and_then(|data| unpack_lines(&data).map_err(error_message));
    Ok(StoredSegment {
        stream: lossy(row, 0)?,
        first: count(row, 1)?,
        lines: lines.map(|lines| lines.len() as u64),
    })
}

impl Tx<'_> {
    fn strays_of(&mut self, what: &str, sql: &str) -> Result<Vec<Stray>> {
        let mut query = self.db.prepare(sql)?;
        let stray = |row: &Row<'_>| {
            Ok(Stray {
                what: what.to_owned(),
                of: lossy(row, 0)?,
                rows: count(row, 1)?,
            })
        };
        Ok(query
            .query_map([], stray)?
            .collect::<rusqlite::Result<_>>()?)
    }
}

impl Integrity for Tx<'_> {
    fn stored_sessions(
        &mut self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<StoredSession>> {
        // Each is written out: else every page would go through all those before it.
        let behind = match after {
            Some(_) => "s.id > ?1",
            None => "?1 IS NULL",
        };
        let sql = format!(
            "SELECT {SESSION} FROM sessions s WHERE typeof(s.id) = 'blob' AND length(s.id) = 16 \
             AND {behind} ORDER BY s.id LIMIT ?2"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query
            .query_map((after.map(Col), int(limit as u64)), stored_session)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn stored_session(&mut self, id: SessionId) -> Result<Option<StoredSession>> {
        let sql = format!("SELECT {SESSION} FROM sessions s WHERE s.id = ?1");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([Col(id)], stored_session).optional()?)
    }

    fn stored_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Stored<StoredEntry>>> {
        let sql = format!(
            "SELECT {ENTRY}, salt, digest, kind FROM observations WHERE session = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let values = (Col(session), int(after), int(limit as u64));
        Ok(query
            .query_map(values, |row| stored(row, 1, entry_and_digest))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn stored_receipts(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Stored<Receipt>>> {
        let sql = format!(
            "SELECT {RECEIPT} FROM receipts WHERE session = ?1 AND number > ?2 ORDER BY number LIMIT ?3"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let values = (Col(session), int(after), int(limit as u64));
        Ok(query
            .query_map(values, |row| {
                stored(row, 1, |row| {
                    receipt_row(&columns::Row::Sqlite(row)).map_err(row_message)
                })
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn stored_segments(
        &mut self,
        session: SessionId,
        stream: &str,
        first: u64,
        limit: usize,
    ) -> Result<Vec<StoredSegment>> {
        let sql = "SELECT g.stream, g.first, g.data FROM transcripts t JOIN segments g ON g.stream = t.stream \
             WHERE t.session = ?1 AND (g.stream, g.first) > (?2, ?3) ORDER BY g.stream, g.first LIMIT ?4";
        let mut query = self.db.prepare_cached(sql)?;
        // Offsets begin at 0: before the first one of no stream.
        let first = if stream.is_empty() { -1 } else { int(first) };
        let values = (Col(session), stream, first, int(limit as u64));
        Ok(query
            .query_map(values, segment)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn edit_objects(
        &mut self,
        session: SessionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>> {
        let sql = "SELECT before_object FROM edits WHERE session = ?1 AND before_object > ?2 \
             UNION SELECT after_object FROM edits WHERE session = ?1 AND after_object > ?2 ORDER BY 1 LIMIT ?3";
        let mut query = self.db.prepare_cached(sql)?;
        let values = (Col(session), after, int(limit as u64));
        Ok(query
            .query_map(values, |row| lossy(row, 0))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn blob_of(&mut self, object: &str) -> Result<Option<(RepositoryId, Oid)>> {
        let sql = "SELECT repository, after FROM edits WHERE after_object = ?1 \
             UNION ALL SELECT repository, before FROM edits WHERE before_object = ?1 LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        let row = query.query_row([object], |row| Ok((get(row, 0)?, get(row, 1)?)));
        Ok(row.optional()?)
    }

    fn unlike(&mut self, limit: usize) -> Result<Vec<Unlike>> {
        Ok(sums::unlike_beside_logs(self.db, int(limit as u64))?)
    }

    fn unlike_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Unlike>> {
        let (after, limit) = (int(after), int(limit as u64));
        Ok(sums::unlike_entries(self.db, session, after, limit)?)
    }

    fn session_states(
        &mut self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionState>> {
        let behind = match after {
            Some(_) => "s.id > ?1",
            None => "?1 IS NULL",
        };
        let sql = format!("{STATE} AND {behind} ORDER BY s.id LIMIT ?2");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query
            .query_map((after.map(Col), int(limit as u64)), state_row)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn session_state(&mut self, id: SessionId) -> Result<Option<SessionState>> {
        let mut query = self.db.prepare_cached(&format!("{STATE} AND s.id = ?1"))?;
        Ok(query.query_row([Col(id)], state_row).optional()?)
    }

    fn put_verified(&mut self, session: SessionId, verified: Option<&Verified>) -> Result<()> {
        let Some(v) = verified else {
            let sql = "DELETE FROM verified WHERE session = ?1";
            self.db.prepare_cached(sql)?.execute([Col(session)])?;
            return Ok(());
        };
        let sql = "INSERT OR REPLACE INTO verified (session, state, forgotten_at, receipt, sequence, digest, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.db.prepare_cached(sql)?.execute(params![
            Col(session),
            v.state,
            v.forgotten.map(Col),
            int(v.receipt),
            int(v.sequence),
            v.digest,
            Col(v.at),
        ])?;
        Ok(())
    }

    fn miscounts(&mut self) -> Result<Vec<Miscount>> {
        Ok(sums::miscounts(self.db)?)
    }

    fn strays(&mut self) -> Result<Vec<Stray>> {
        let nameless = "SELECT 'an id that cannot be read', count(*) FROM sessions \
             WHERE typeof(id) <> 'blob' OR length(id) <> 16 HAVING count(*) > 0";
        let mut strays = self.strays_of("sessions", nameless)?;
        for table in OF_SESSIONS {
            let sql = format!(
                "SELECT 'session ' || lower(hex(t.session)), count(*) FROM {table} t \
                 WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = t.session) GROUP BY t.session"
            );
            strays.extend(self.strays_of(table, &sql)?);
        }
        let segments = "SELECT 'transcript ' || g.stream, count(*) FROM segments g \
             WHERE NOT EXISTS (SELECT 1 FROM transcripts t WHERE t.stream = g.stream) GROUP BY g.stream";
        strays.extend(self.strays_of("segments", segments)?);
        let deliveries = "SELECT 'projection ' || d.projection, count(*) FROM deliveries d \
             WHERE NOT EXISTS (SELECT 1 FROM projections p WHERE p.name = d.projection) GROUP BY d.projection";
        strays.extend(self.strays_of("deliveries", deliveries)?);
        let pending = "SELECT 'the open turn of session ' || lower(hex(p.session)), count(*) FROM pending p \
             WHERE NOT EXISTS (SELECT 1 FROM open_turns o WHERE o.session = p.session) GROUP BY p.session";
        strays.extend(self.strays_of("pending", pending)?);
        for (table, sql) in AROUND_COMMITS {
            strays.extend(self.strays_of(table, sql)?);
        }
        strays.sort();
        Ok(strays)
    }

    fn greatest_epoch(&mut self) -> Result<u64> {
        let mut query = self.db.prepare_cached("SELECT max(epoch) FROM leases")?;
        let epoch = query
            .query_row([], |row| row.get::<_, Option<i64>>(0))
            .optional()?;
        Ok(epoch
            .flatten()
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(0))
    }

    fn fence_all(&mut self, floor: u64, at: Timestamp) -> Result<u64> {
        // A session without a lease gets one, too: the first one taken would have an epoch that was given out before.
        let sql = "INSERT INTO leases (session, epoch, holder, expires_at) \
             SELECT s.id, ?1 + 1, 'nobody', ?2 FROM sessions s WHERE s.mode = 'driven' \
             ON CONFLICT (session) DO UPDATE SET epoch = max(epoch, ?1) + 1, holder = 'nobody', expires_at = ?2";
        let fenced = self
            .db
            .prepare_cached(sql)?
            .execute((int(floor), Col(at)))?;
        Ok(fenced as u64)
    }
}
