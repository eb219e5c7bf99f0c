//! Looking at every row, in PostgreSQL.

use postgres::Row;
use siglum_domain::fold::Entry;
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt, raw};
use super::sums;
use super::tx::{Tx, Value};
use crate::columns;
use crate::integrity::Read;
use crate::row::{header, unpack};
use crate::stored::{EntryRow, unpack_lines};
use crate::verbs::listing::{SESSION, session_row};
use crate::verbs::log::{ENTRY, RECEIPT, entry_row, receipt_row};
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
const AROUND_COMMITS: [(&str, &str); 6] = [
    (
        "intents",
        "SELECT 'commit ' || i.\"commit\", count(*) FROM intents i WHERE i.tenant = $1 AND i.state = 'landed' \
         AND NOT EXISTS (SELECT 1 FROM commits c WHERE c.tenant = $1 AND c.repository = i.repository \
         AND c.\"commit\" = i.\"commit\") GROUP BY i.\"commit\"",
    ),
    (
        "authors",
        "SELECT 'commit ' || a.\"commit\", count(*) FROM authors a WHERE a.tenant = $1 AND NOT EXISTS \
         (SELECT 1 FROM commits c WHERE c.tenant = $1 AND c.repository = a.repository AND c.\"commit\" = a.\"commit\") \
         GROUP BY a.\"commit\"",
    ),
    (
        "commits",
        "SELECT 'intent ' || replace(c.intent::text, '-', ''), count(*) FROM commits c WHERE c.tenant = $1 \
         AND c.intent IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM intents i WHERE i.tenant = $1 AND i.checkpoint = c.intent) GROUP BY c.intent",
    ),
    (
        "commits",
        "SELECT 'checkpoint ' || replace(c.checkpoint::text, '-', ''), count(*) FROM commits c WHERE c.tenant = $1 \
         AND c.intent IS NOT NULL AND c.checkpoint IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM checkpoints k WHERE k.tenant = $1 AND k.id = c.checkpoint) GROUP BY c.checkpoint",
    ),
    (
        "commits",
        "SELECT 'the authors of commit ' || c.\"commit\", count(*) FROM commits c WHERE c.tenant = $1 \
         AND c.intent IS NOT NULL AND c.patch IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM authors a WHERE a.tenant = $1 AND a.repository = c.repository AND a.\"commit\" = c.\"commit\" \
         AND a.path = '') GROUP BY c.\"commit\"",
    ),
    (
        "pins",
        "SELECT 'checkpoint ' || replace(p.checkpoint::text, '-', ''), count(*) FROM pins p WHERE p.tenant = $1 \
         AND NOT EXISTS (SELECT 1 FROM checkpoints k WHERE k.tenant = $1 AND k.id = p.checkpoint) GROUP BY p.checkpoint",
    ),
];

/// What is there of sessions, and how far they were verified.
const STATE: &str = "SELECT s.id, concat_ws(' ', s.head, s.sealed, s.folded, coalesce(s.sum::text, '-'), s.quarantined IS NOT NULL, \
     coalesce((SELECT max(r.number) FROM receipts r WHERE r.tenant = $1 AND r.session = s.id), 0), \
     (SELECT concat_ws(' ', count(*), coalesce(sum(t.read_to), 0)) FROM transcripts t WHERE t.tenant = $1 AND t.session = s.id), \
     (SELECT count(*) FROM edits e WHERE e.tenant = $1 AND e.session = s.id), \
     (SELECT count(*) FROM open_turns o WHERE o.tenant = $1 AND o.session = s.id), \
     (SELECT count(*) FROM pending p WHERE p.tenant = $1 AND p.session = s.id)), \
     v.state, v.forgotten_at, v.receipt, v.sequence, v.digest, v.at \
     FROM sessions s LEFT JOIN verified v ON v.tenant = $1 AND v.session = s.id WHERE s.tenant = $1";

fn state_row(row: &Row) -> Result<SessionState> {
    let verified = match raw::<Option<String>>(row, 2)? {
        Some(state) => Some(Verified {
            state,
            forgotten: opt(row, 3)?,
            receipt: count(row, 4)?,
            sequence: count(row, 5)?,
            digest: raw(row, 6)?,
            at: get(row, 7)?,
        }),
        None => None,
    };
    Ok(SessionState {
        session: get(row, 0)?,
        state: raw(row, 1)?,
        verified,
    })
}

/// What is wrong with a row, without the words that are the same for all of them.
fn error_message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// An entry before its payload is read.
struct PackedEntry {
    stored: StoredEntry,
    row: Read<EntryRow>,
    payload: Option<Vec<u8>>,
}

impl PackedEntry {
    fn from_row(row: &Row) -> Result<Self> {
        let (source, key, event): (String, String, String) =
            (raw(row, 4)?, raw(row, 5)?, raw(row, 6)?);
        let (at, recorded_at): (Timestamp, Timestamp) = (get(row, 7)?, get(row, 3)?);
        let stored = StoredEntry {
            sealed: SealedEntry {
                sequence: count(row, 1)?,
                header: header(&source, &key, &event),
                payload: raw(row, BEHIND_ENTRY + 1)?,
            },
            kind: raw(row, BEHIND_ENTRY + 2)?,
            at: at.min(recorded_at),
            salt: raw(row, BEHIND_ENTRY)?,
            payload: None,
            entry: None,
        };
        let mut entry = entry_row(&columns::Row::Postgres(row)).map_err(error_message);
        let payload = match &mut entry {
            Ok(entry) => entry.payload.take(),
            Err(_) => raw(row, 9)?,
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

fn stored_session(row: &Row) -> Result<StoredSession> {
    Ok(StoredSession {
        id: get(row, 0)?,
        record: session_row(&columns::Row::Postgres(row)).map_err(error_message),
    })
}

pub(super) fn stored<T>(
    row: &Row,
    number: usize,
    of: impl Fn(&Row) -> Result<T>,
) -> Result<Stored<T>> {
    Ok(Stored {
        number: count(row, number)?,
        row: of(row).map_err(error_message),
    })
}

fn segment(row: &Row) -> Result<StoredSegment> {
    let lines = raw::<Vec<u8>>(row, 2)
        .and_then(|data| unpack_lines(&data))
        .map_err(error_message);
    Ok(StoredSegment {
        stream: raw(row, 0)?,
        first: count(row, 1)?,
        lines: lines.map(|lines| lines.len() as u64),
    })
}

impl Tx<'_> {
    fn strays_of(&mut self, what: &str, sql: &str) -> Result<Vec<Stray>> {
        self.rows(sql, &[], |row| {
            Ok(Stray {
                what: what.to_owned(),
                of: raw(row, 0)?,
                rows: count(row, 1)?,
            })
        })
    }
}

impl Integrity for Tx<'_> {
    fn stored_sessions(
        &mut self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<StoredSession>> {
        // Each is written out: else a page might go through all those before it.
        let behind = match after {
            Some(_) => "s.id > $2",
            None => "$2::uuid IS NULL",
        };
        let sql = format!(
            "SELECT {SESSION} FROM sessions s WHERE s.tenant = $1 AND {behind} ORDER BY s.id LIMIT $3"
        );
        let of: [Value<'_>; 2] = [&after.map(Col), &int(limit as u64)];
        self.rows(&sql, &of, stored_session)
    }

    fn stored_session(&mut self, id: SessionId) -> Result<Option<StoredSession>> {
        let sql = format!("SELECT {SESSION} FROM sessions s WHERE s.tenant = $1 AND s.id = $2");
        self.row(&sql, &[&Col(id)], stored_session)
    }

    fn stored_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Stored<StoredEntry>>> {
        let sql = format!(
            "SELECT {ENTRY}, salt, digest, kind FROM observations WHERE tenant = $1 AND session = $2 AND sequence > $3 \
             ORDER BY sequence LIMIT $4"
        );
        let of: [Value<'_>; 3] = [&Col(session), &int(after), &int(limit as u64)];
        let mut found = self.rows(&sql, &of, |row| stored(row, 1, PackedEntry::from_row))?;
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
        let sql = format!(
            "SELECT {RECEIPT} FROM receipts WHERE tenant = $1 AND session = $2 AND number > $3 ORDER BY number LIMIT $4"
        );
        let of: [Value<'_>; 3] = [&Col(session), &int(after), &int(limit as u64)];
        self.rows(&sql, &of, |row| {
            stored(row, 1, |row| receipt_row(&columns::Row::Postgres(row)))
        })
    }

    fn stored_segments(
        &mut self,
        session: SessionId,
        stream: &str,
        first: u64,
        limit: usize,
    ) -> Result<Vec<StoredSegment>> {
        let sql = "SELECT g.stream, g.first, g.data FROM transcripts t \
             JOIN segments g ON g.tenant = t.tenant AND g.stream = t.stream \
             WHERE t.tenant = $1 AND t.session = $2 AND (g.stream, g.first) > ($3::text, $4::bigint) \
             ORDER BY g.stream, g.first LIMIT $5";
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
        let sql = "SELECT object FROM (\
             SELECT before_object COLLATE \"C\" AS object FROM edits WHERE tenant = $1 AND session = $2 \
             UNION SELECT after_object COLLATE \"C\" FROM edits WHERE tenant = $1 AND session = $2) o \
             WHERE object > $3 ORDER BY object LIMIT $4";
        let of: [Value<'_>; 3] = [&Col(session), &after, &int(limit as u64)];
        self.rows(sql, &of, |row| raw(row, 0))
    }

    fn blob_of(&mut self, object: &str) -> Result<Option<(RepositoryId, Oid)>> {
        let sql = "SELECT repository, after FROM edits WHERE tenant = $1 AND after_object = $2 \
             UNION ALL SELECT repository, before FROM edits WHERE tenant = $1 AND before_object = $2 LIMIT 1";
        self.row(sql, &[&object], |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    fn unlike(&mut self, limit: usize) -> Result<Vec<Unlike>> {
        let mut found = Vec::new();
        for (table, sql) in sums::unlike() {
            found.extend(self.rows(&sql, &[&int(limit as u64)], |row| {
                let row = raw(row, 0)?;
                Ok(Unlike { table, row })
            })?);
        }
        Ok(found)
    }

    fn unlike_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Unlike>> {
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

    fn session_states(
        &mut self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionState>> {
        let behind = match after {
            Some(_) => "s.id > $2",
            None => "$2::uuid IS NULL",
        };
        let sql = format!("{STATE} AND {behind} ORDER BY s.id LIMIT $3");
        self.rows(&sql, &[&after.map(Col), &int(limit as u64)], state_row)
    }

    fn session_state(&mut self, id: SessionId) -> Result<Option<SessionState>> {
        let sql = format!("{STATE} AND s.id = $2");
        self.row(&sql, &[&Col(id)], state_row)
    }

    fn put_verified(&mut self, session: SessionId, verified: Option<&Verified>) -> Result<()> {
        let Some(v) = verified else {
            let sql = "DELETE FROM verified WHERE tenant = $1 AND session = $2";
            return self.run(sql, &[&Col(session)]).map(drop);
        };
        let sql = "INSERT INTO verified (tenant, session, state, forgotten_at, receipt, sequence, digest, at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant, session) DO UPDATE SET state = excluded.state, \
             forgotten_at = excluded.forgotten_at, receipt = excluded.receipt, sequence = excluded.sequence, \
             digest = excluded.digest, at = excluded.at";
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

    fn strays(&mut self) -> Result<Vec<Stray>> {
        let mut strays = Vec::new();
        for table in OF_SESSIONS {
            let sql = format!(
                "SELECT 'session ' || replace(t.session::text, '-', ''), count(*) FROM {table} t WHERE t.tenant = $1 \
                 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = $1 AND s.id = t.session) GROUP BY t.session"
            );
            strays.extend(self.strays_of(table, &sql)?);
        }
        for (what, sql) in [
            (
                "segments",
                "SELECT 'transcript ' || g.stream, count(*) FROM segments g WHERE g.tenant = $1 AND NOT EXISTS \
                 (SELECT 1 FROM transcripts t WHERE t.tenant = $1 AND t.stream = g.stream) GROUP BY g.stream",
            ),
            (
                "deliveries",
                "SELECT 'projection ' || d.projection, count(*) FROM deliveries d WHERE d.tenant = $1 AND NOT EXISTS \
                 (SELECT 1 FROM projections p WHERE p.tenant = $1 AND p.name = d.projection) GROUP BY d.projection",
            ),
            (
                "pending",
                "SELECT 'the open turn of session ' || replace(p.session::text, '-', ''), count(*) FROM pending p \
                 WHERE p.tenant = $1 AND NOT EXISTS (SELECT 1 FROM open_turns o WHERE o.tenant = $1 \
                 AND o.session = p.session) GROUP BY p.session",
            ),
        ] {
            strays.extend(self.strays_of(what, sql)?);
        }
        for (table, sql) in AROUND_COMMITS {
            strays.extend(self.strays_of(table, sql)?);
        }
        strays.sort();
        Ok(strays)
    }

    fn greatest_epoch(&mut self) -> Result<u64> {
        let sql = "SELECT coalesce(max(epoch), 0) FROM leases WHERE tenant = $1";
        self.one(sql, &[], |row| count(row, 0))
    }

    fn fence_all(&mut self, floor: u64, at: Timestamp) -> Result<u64> {
        // A session without a lease gets one, too: the first one taken would have an epoch that was given out before.
        let sql = "INSERT INTO leases (tenant, session, epoch, holder, expires_at) \
             SELECT $1::text, s.id, $2::bigint + 1, 'nobody', $3::bigint FROM sessions s WHERE s.tenant = $1 AND s.mode = 'driven' \
             ON CONFLICT (tenant, session) DO UPDATE SET epoch = greatest(leases.epoch, $2::bigint) + 1, holder = 'nobody', \
             expires_at = excluded.expires_at";
        self.run(sql, &[&int(floor), &Col(at)])
    }
}
