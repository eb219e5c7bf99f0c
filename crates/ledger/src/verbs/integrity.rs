//! Looking at every row.

use siglum_domain::fold::Entry;
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};

use super::listing::{SESSION, session_row};
use super::log::{ENTRY, RECEIPT, entry_row, receipt_row};
use super::usage::unlike_sums;
use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::integrity::Read;
use crate::row::{header, unpack};
use crate::sql::{Sql, sql};
use crate::stored::{EntryRow, unpack_lines};
use crate::{
    Integrity, LedgerError, Miscount, SessionState, Stored, StoredEntry, StoredSegment,
    StoredSession, Stray, Unlike, Verified,
};

type Result<T> = std::result::Result<T, LedgerError>;

/// Where [`ENTRY`] ends in the rows of [`PackedEntry`].
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
const AROUND_COMMITS: [(&str, Sql<'_>); 6] = [
    (
        "intents",
        sql!(
            "SELECT 'commit ' || i.\"commit\", count(*) FROM intents i WHERE [i.tenant = $1 AND] i.state = 'landed' \
             AND NOT EXISTS (SELECT 1 FROM commits c WHERE [c.tenant = $1 AND] c.repository = i.repository \
             AND c.\"commit\" = i.\"commit\") GROUP BY i.\"commit\""
        ),
    ),
    (
        "authors",
        sql!(
            "SELECT 'commit ' || a.\"commit\", count(*) FROM authors a WHERE [a.tenant = $1 AND] NOT EXISTS \
             (SELECT 1 FROM commits c WHERE [c.tenant = $1 AND] c.repository = a.repository AND c.\"commit\" = a.\"commit\") \
             GROUP BY a.\"commit\""
        ),
    ),
    (
        "commits",
        sql!(
            "SELECT 'intent ' || [replace(c.intent::text, '-', '')|lower(hex(c.intent))], count(*) FROM commits c \
             WHERE [c.tenant = $1 AND] c.intent IS NOT NULL AND NOT EXISTS \
             (SELECT 1 FROM intents i WHERE [i.tenant = $1 AND] i.checkpoint = c.intent) GROUP BY c.intent"
        ),
    ),
    (
        "commits",
        sql!(
            "SELECT 'checkpoint ' || [replace(c.checkpoint::text, '-', '')|lower(hex(c.checkpoint))], count(*) \
             FROM commits c WHERE [c.tenant = $1 AND] c.intent IS NOT NULL AND c.checkpoint IS NOT NULL AND NOT EXISTS \
             (SELECT 1 FROM checkpoints k WHERE [k.tenant = $1 AND] k.id = c.checkpoint) GROUP BY c.checkpoint"
        ),
    ),
    (
        "commits",
        sql!(
            "SELECT 'the authors of commit ' || c.\"commit\", count(*) FROM commits c WHERE [c.tenant = $1 AND] \
             c.intent IS NOT NULL AND c.patch IS NOT NULL AND NOT EXISTS \
             (SELECT 1 FROM authors a WHERE [a.tenant = $1 AND] a.repository = c.repository AND a.\"commit\" = c.\"commit\" \
             AND a.path = '') GROUP BY c.\"commit\""
        ),
    ),
    (
        "pins",
        sql!(
            "SELECT 'checkpoint ' || [replace(p.checkpoint::text, '-', '')|lower(hex(p.checkpoint))], count(*) FROM pins p \
             WHERE [p.tenant = $1 AND] NOT EXISTS \
             (SELECT 1 FROM checkpoints k WHERE [k.tenant = $1 AND] k.id = p.checkpoint) GROUP BY p.checkpoint"
        ),
    ),
];

/// What belongs to something that a session has, or to a projection.
const AROUND_SESSIONS: [(&str, Sql<'_>); 3] = [
    (
        "segments",
        sql!(
            "SELECT 'transcript ' || g.stream, count(*) FROM segments g WHERE [g.tenant = $1 AND] NOT EXISTS \
             (SELECT 1 FROM transcripts t WHERE [t.tenant = $1 AND] t.stream = g.stream) GROUP BY g.stream"
        ),
    ),
    (
        "deliveries",
        sql!(
            "SELECT 'projection ' || d.projection, count(*) FROM deliveries d WHERE [d.tenant = $1 AND] NOT EXISTS \
             (SELECT 1 FROM projections p WHERE [p.tenant = $1 AND] p.name = d.projection) GROUP BY d.projection"
        ),
    ),
    (
        "pending",
        sql!(
            "SELECT 'the open turn of session ' || [replace(p.session::text, '-', '')|lower(hex(p.session))], count(*) \
             FROM pending p WHERE [p.tenant = $1 AND] NOT EXISTS \
             (SELECT 1 FROM open_turns o WHERE [o.tenant = $1 AND] o.session = p.session) GROUP BY p.session"
        ),
    ),
];

/// What is there of a session, and how far it was verified.
pub(crate) fn state_row(row: &Row<'_>) -> Result<SessionState> {
    let verified = match row.get::<Option<String>>(2)? {
        Some(state) => Some(Verified {
            state,
            forgotten: row.get(3)?,
            receipt: row.count(4)?,
            sequence: row.count(5)?,
            digest: row.get(6)?,
            at: row.get(7)?,
        }),
        None => None,
    };
    Ok(SessionState {
        session: row.get(0)?,
        state: row.get(1)?,
        verified,
    })
}

/// What is wrong with what a row has.
fn error_message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// What is wrong with a row, without the words that are the same for all of them.
pub(super) fn row_message(error: LedgerError) -> String {
    match error {
        LedgerError::Damaged(what) => what,
        other => other.to_string(),
    }
}

/// An entry before its payload is read.
struct PackedEntry {
    stored: StoredEntry,
    row: Read<EntryRow>,
    payload: Option<Vec<u8>>,
}

impl PackedEntry {
    fn from_row(row: &Row<'_>) -> Result<Self> {
        let (source, key, event): (String, String, String) =
            (row.get(4)?, row.get(5)?, row.get(6)?);
        let (at, recorded_at): (Timestamp, Timestamp) = (row.get(7)?, row.get(3)?);
        let stored = StoredEntry {
            sealed: SealedEntry {
                sequence: row.count(1)?,
                header: header(&source, &key, &event),
                payload: row.get(BEHIND_ENTRY + 1)?,
            },
            kind: row.get(BEHIND_ENTRY + 2)?,
            at: at.min(recorded_at),
            salt: row.get(BEHIND_ENTRY)?,
            payload: None,
            entry: None,
        };
        let mut entry = entry_row(row).map_err(row_message);
        let payload = match &mut entry {
            Ok(entry) => entry.payload.take(),
            Err(_) => row.get(9)?,
        };
        Ok(Self {
            stored,
            row: entry,
            payload,
        })
    }

    /// The entry with its payload, which was fetched where it is not in the database.
    fn with_payload(self, packed: Option<Read<Vec<u8>>>) -> StoredEntry {
        let Some(packed) = packed else {
            return self.stored;
        };
        let bytes = packed.as_ref().map_err(Clone::clone);
        let payload = bytes.and_then(|bytes| unpack(bytes).map_err(error_message));
        StoredEntry {
            payload: Some(payload),
            entry: Some(entry_with(self.row, packed)),
            ..self.stored
        }
    }
}

fn entry_with(row: Read<EntryRow>, packed: Read<Vec<u8>>) -> Read<Entry> {
    let row = EntryRow {
        payload: Some(packed?),
        ..row?
    };
    let entry = row.record().map_err(error_message)?;
    entry.ok_or_else(|| "it has no payload".to_owned())
}

fn stored_session(row: &Row<'_>) -> Result<StoredSession> {
    Ok(StoredSession {
        id: row.get(0)?,
        record: session_row(row).map_err(row_message),
    })
}

/// What a row has, with its number. A number that is none sorts behind all others: nothing is left out by going to the end.
pub(super) fn numbered<T>(row: &Row<'_>, number: usize, record: Read<T>) -> Stored<T> {
    let number = row.get::<i64>(number);
    Stored {
        number: number.map_or(i64::MAX as u64, |n| u64::try_from(n).unwrap_or(0)),
        row: record,
    }
}

fn segment(row: &Row<'_>) -> Result<StoredSegment> {
    let data = row.get::<Vec<u8>>(2).map_err(row_message);
    let lines = data.and_then(|data| unpack_lines(&data).map_err(error_message));
    Ok(StoredSegment {
        stream: row.lossy(0)?,
        first: row.count(1)?,
        lines: lines.map(|lines| lines.len() as u64),
    })
}

fn strays<'s>(db: &mut impl Database, what: &str, sql: impl Into<Sql<'s>>) -> Result<Vec<Stray>> {
    db.rows(sql, &[], |row| {
        Ok(Stray {
            what: what.to_owned(),
            of: row.lossy(0)?,
            rows: row.count(1)?,
        })
    })
}

/// What a store does about its rows in its own way.
pub(crate) trait OwnIntegrity: Database {
    /// See [`Integrity::unlike`].
    fn unlike_rows(&mut self, limit: usize) -> Result<Vec<Unlike>>;

    /// See [`Integrity::unlike_entries`].
    fn unlike_log(&mut self, session: SessionId, after: u64, limit: usize) -> Result<Vec<Unlike>>;

    /// See [`Integrity::session_states`].
    fn states(&mut self, after: Option<SessionId>, limit: usize) -> Result<Vec<SessionState>>;

    /// See [`Integrity::session_state`].
    fn state_of_session(&mut self, id: SessionId) -> Result<Option<SessionState>>;

    /// See [`Integrity::miscounts`].
    fn miscounted(&mut self) -> Result<Vec<Miscount>>;
}

impl<D: OwnIntegrity> Integrity for D {
    fn stored_sessions(
        &mut self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<StoredSession>> {
        // Each is written out: else every page would go through all those before it.
        let sql = match after {
            Some(_) => {
                sql!("SELECT " SESSION " FROM sessions s WHERE [s.tenant = $1|typeof(s.id) = 'blob' AND length(s.id) = 16] \
                 AND s.id > ?1 ORDER BY s.id LIMIT ?2")
            }
            None => {
                sql!("SELECT " SESSION " FROM sessions s WHERE [s.tenant = $1|typeof(s.id) = 'blob' AND length(s.id) = 16] \
                 AND ?1[::uuid] IS NULL ORDER BY s.id LIMIT ?2")
            }
        };
        let of: [Value<'_>; 2] = [&after.map(Col), &int(limit as u64)];
        self.rows(sql, &of, stored_session)
    }

    fn stored_session(&mut self, id: SessionId) -> Result<Option<StoredSession>> {
        let sql = sql!("SELECT " SESSION " FROM sessions s WHERE [s.tenant = $1 AND] s.id = ?1");
        self.row(sql, &[&Col(id)], stored_session)
    }

    fn stored_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Stored<StoredEntry>>> {
        let sql = sql!("SELECT " ENTRY ", salt, digest, kind FROM observations WHERE [tenant = $1 AND] session = ?1 \
             AND sequence > ?2 ORDER BY sequence LIMIT ?3");
        let of: [Value<'_>; 3] = [&Col(session), &int(after), &int(limit as u64)];
        let mut found = self.rows(sql, &of, |row| {
            let entry = PackedEntry::from_row(row).map_err(row_message);
            Ok(numbered(row, 1, entry))
        })?;
        let payload = |s: &mut Stored<PackedEntry>| s.row.as_mut().ok()?.payload.take();
        let packed = self.fetched(found.iter_mut().map(payload).collect())?;
        let with_payload = |(s, packed): (Stored<PackedEntry>, _)| Stored {
            number: s.number,
            row: s.row.map(|entry| entry.with_payload(packed)),
        };
        Ok(found.into_iter().zip(packed).map(with_payload).collect())
    }

    fn stored_receipts(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Stored<Receipt>>> {
        let sql = sql!("SELECT " RECEIPT " FROM receipts WHERE [tenant = $1 AND] session = ?1 AND number > ?2 \
             ORDER BY number LIMIT ?3");
        let of: [Value<'_>; 3] = [&Col(session), &int(after), &int(limit as u64)];
        self.rows(sql, &of, |row| {
            Ok(numbered(row, 1, receipt_row(row).map_err(row_message)))
        })
    }

    fn stored_segments(
        &mut self,
        session: SessionId,
        stream: &str,
        first: u64,
        limit: usize,
    ) -> Result<Vec<StoredSegment>> {
        let sql = sql!(
            "SELECT g.stream, g.first, g.data FROM transcripts t JOIN segments g ON [g.tenant = t.tenant AND] g.stream = t.stream \
             WHERE [t.tenant = $1 AND] t.session = ?1 AND (g.stream, g.first) > (?2[::text], ?3[::bigint]) \
             ORDER BY g.stream, g.first LIMIT ?4"
        );
        // Offsets begin at 0: before the first one of no stream.
        let first = if stream.is_empty() { -1 } else { int(first) };
        let of: [Value<'_>; 4] = [&Col(session), &stream, &first, &int(limit as u64)];
        self.rows(sql, &of, segment)
    }

    fn edit_objects(
        &mut self,
        session: SessionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>> {
        let sql = sql!(
            "[SELECT object FROM (SELECT before_object COLLATE \"C\" AS object FROM edits WHERE tenant = $1 AND session = ?1 \
             UNION SELECT after_object COLLATE \"C\" FROM edits WHERE tenant = $1 AND session = ?1) o \
             WHERE object > ?2 ORDER BY object LIMIT ?3\
             |SELECT before_object FROM edits WHERE session = ?1 AND before_object > ?2 \
             UNION SELECT after_object FROM edits WHERE session = ?1 AND after_object > ?2 ORDER BY 1 LIMIT ?3]"
        );
        let of: [Value<'_>; 3] = [&Col(session), &after, &int(limit as u64)];
        self.rows(sql, &of, |row| row.lossy(0))
    }

    fn blob_of(&mut self, object: &str) -> Result<Option<(RepositoryId, Oid)>> {
        let sql = sql!(
            "SELECT repository, after FROM edits WHERE [tenant = $1 AND] after_object = ?1 \
             UNION ALL SELECT repository, before FROM edits WHERE [tenant = $1 AND] before_object = ?1 LIMIT 1"
        );
        self.row(sql, &[&object], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn unlike(&mut self, limit: usize) -> Result<Vec<Unlike>> {
        let mut unlike = self.unlike_rows(limit)?;
        let sums = unlike_sums(self, limit)?.into_iter();
        unlike.extend(sums.map(|session| Unlike {
            table: "usage_quarters",
            row: format!("session {session}"),
        }));
        Ok(unlike)
    }

    fn unlike_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Unlike>> {
        self.unlike_log(session, after, limit)
    }

    fn session_states(
        &mut self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionState>> {
        self.states(after, limit)
    }

    fn session_state(&mut self, id: SessionId) -> Result<Option<SessionState>> {
        self.state_of_session(id)
    }

    fn put_verified(&mut self, session: SessionId, verified: Option<&Verified>) -> Result<()> {
        let Some(v) = verified else {
            let sql = sql!("DELETE FROM verified WHERE [tenant = $1 AND] session = ?1");
            return self.run(sql, &[&Col(session)]).map(drop);
        };
        let sql = sql!(
            "INSERT INTO verified ([tenant,] session, state, forgotten_at, receipt, sequence, digest, at) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT ([tenant,] session) DO UPDATE SET state = excluded.state, \
             forgotten_at = excluded.forgotten_at, receipt = excluded.receipt, sequence = excluded.sequence, \
             digest = excluded.digest, at = excluded.at"
        );
        let of: [Value<'_>; 7] = [
            &Col(session),
            &v.state,
            &v.forgotten.map(Col),
            &int(v.receipt),
            &int(v.sequence),
            &v.digest,
            &Col(v.at),
        ];
        self.run(sql, &of).map(drop)
    }

    fn miscounts(&mut self) -> Result<Vec<Miscount>> {
        self.miscounted()
    }

    fn strays(&mut self) -> Result<Vec<Stray>> {
        // Every id of PostgreSQL can be read.
        let nameless = sql!(
            "SELECT 'an id that cannot be read', count(*) FROM sessions WHERE [tenant = $1 AND false\
             |typeof(id) <> 'blob' OR length(id) <> 16] HAVING count(*) > 0"
        );
        let mut all = strays(self, "sessions", nameless)?;
        for table in OF_SESSIONS {
            let sql = sql!(
                "SELECT 'session ' || [replace(t.session::text, '-', '')|lower(hex(t.session))], count(*) FROM {table} t \
                 WHERE [t.tenant = $1 AND] NOT EXISTS \
                 (SELECT 1 FROM sessions s WHERE [s.tenant = $1 AND] s.id = t.session) GROUP BY t.session"
            );
            all.extend(strays(self, table, &sql.of_table(table))?);
        }
        for (what, sql) in AROUND_SESSIONS.into_iter().chain(AROUND_COMMITS) {
            all.extend(strays(self, what, sql)?);
        }
        all.sort();
        Ok(all)
    }

    fn greatest_epoch(&mut self) -> Result<u64> {
        let sql = sql!("SELECT coalesce(max(epoch), 0) FROM leases [WHERE tenant = $1]");
        self.one(sql, &[], |row| row.count(0))
    }

    fn fence_all(&mut self, floor: u64, at: Timestamp) -> Result<u64> {
        // A session without a lease gets one, too: the first one taken would have an epoch that was given out before.
        let sql = sql!(
            "INSERT INTO leases ([tenant,] session, epoch, holder, expires_at) \
             SELECT [$1::text,] s.id, ?1[::bigint] + 1, 'nobody', ?2[::bigint] FROM sessions s \
             WHERE [s.tenant = $1 AND] s.mode = 'driven' ON CONFLICT ([tenant,] session) DO UPDATE SET \
             epoch = [greatest(leases.epoch, ?1::bigint)|max(leases.epoch, ?1)] + 1, holder = 'nobody', \
             expires_at = excluded.expires_at"
        );
        self.run(sql, &[&int(floor), &Col(at)])
    }
}
