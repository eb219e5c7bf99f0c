//! Looking through everything, and erasing, in SQLite.

use rusqlite::{OptionalExtension, Row, params, params_from_iter};
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, count, get, int};
use super::open::Tx;
use crate::record::*;
use crate::row::{from_json, pack, unpack};
use crate::stored::fact_objects;
use crate::stored::{pack_lines, unpack_lines};
use crate::telemetry::{KeptTelemetry, TelemetryStore};
use crate::{Forgetting, LedgerError, TextColumn};

type Result<T> = std::result::Result<T, LedgerError>;

impl Tx<'_> {
    /// The addresses in the sightings of files, and in the edits folded from them, of sessions that are `IN` these or
    /// `NOT IN` them.
    fn objects(&mut self, which: &str, sessions: &[SessionId]) -> Result<Vec<String>> {
        let places: Vec<String> = (1..=sessions.len()).map(|n| format!("?{n}")).collect();
        let which = format!("{which} ({})", places.join(", "));
        let ids = || params_from_iter(sessions.iter().map(|session| Col(*session)));
        let sql = format!(
            "SELECT payload FROM observations WHERE kind = 'file_seen' AND payload IS NOT NULL AND session {which}"
        );
        let mut found = Vec::new();
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query(ids())?;
        while let Some(row) = rows.next()? {
            let payload = unpack(&row.get::<_, Vec<u8>>(0)?)?;
            found.extend(fact_objects(&from_json("fact", &payload)?).map(str::to_owned));
        }
        let sql = format!(
            "SELECT before_object FROM edits WHERE before_object IS NOT NULL AND session {which} \
             UNION SELECT after_object FROM edits WHERE after_object IS NOT NULL AND session {which} \
             UNION SELECT json_extract(detail, '$.write.base.object') FROM edits \
             WHERE json_extract(detail, '$.write.base.object') IS NOT NULL AND session {which} \
             UNION SELECT json_extract(detail, '$.write.written.object') FROM edits \
             WHERE json_extract(detail, '$.write.written.object') IS NOT NULL AND session {which} \
             UNION SELECT json_extract(detail, '$.write.added.object') FROM edits \
             WHERE json_extract(detail, '$.write.added.object') IS NOT NULL AND session {which}"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        for object in query.query_map(ids(), |row| row.get(0))? {
            found.push(object?);
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Bytes of rows that go are overwritten at once, not only when their page is used again.
    pub(super) fn erase_securely(&self) -> Result<()> {
        Ok(self.db.pragma_update(None, "secure_delete", true)?)
    }
}

fn payload_row(row: &Row<'_>) -> rusqlite::Result<(Payload, Vec<u8>)> {
    let payload = Payload {
        position: count(row, 0)?,
        session: get(row, 1)?,
        sequence: count(row, 2)?,
        kind: row.get(3)?,
        fact: String::new(),
    };
    Ok((payload, row.get(4)?))
}

impl Forgetting for Tx<'_> {
    fn holdings(&mut self, session: SessionId) -> Result<Option<Holdings>> {
        let sql = "SELECT (SELECT count(payload) FROM observations WHERE session = s.id), \
             (SELECT coalesce(sum(g.bytes), 0) FROM segments g JOIN transcripts t ON t.stream = g.stream \
              WHERE t.session = s.id) FROM sessions s WHERE s.id = ?1";
        let holdings = |row: &Row<'_>| {
            Ok(Holdings {
                payloads: count(row, 0)?,
                transcript_bytes: count(row, 1)?,
            })
        };
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row([Col(session)], holdings).optional()?)
    }

    fn forget_session(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        self.erase_securely()?;
        let id = Col(session);
        for sql in [
            "UPDATE observations SET payload = NULL, salt = x'' WHERE session = ?1",
            "DELETE FROM summaries WHERE session = ?1",
            "DELETE FROM erasures WHERE session = ?1",
            "UPDATE edits SET before_object = NULL, after_object = NULL, detail = NULL WHERE session = ?1",
            "UPDATE pipeline_events SET text = NULL WHERE session = ?1",
            "UPDATE runs SET error = NULL WHERE session = ?1",
            "UPDATE interactions SET title = '', options = '[]' WHERE session = ?1",
            "DELETE FROM run_events WHERE session = ?1",
            "UPDATE ticks SET owed = NULL WHERE session = ?1",
            "DELETE FROM telemetry_inbox WHERE session = ?1",
            "DELETE FROM unassigned WHERE session = ?1",
            "DELETE FROM forwards WHERE session = ?1",
        ] {
            self.db.prepare_cached(sql)?.execute([&id])?;
        }
        let sql =
            "UPDATE sessions SET forgotten_at = ?2, forgotten_whole = 1, folded = 0 WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute((&id, Col(at)))?;
        let segments = "stream IN (SELECT stream FROM transcripts WHERE session = ?1)";
        self.delete("segments", segments, [&id])?;
        self.change_usages(session, |tx| {
            let sql = "UPDATE usages SET request = NULL, subagent = NULL, branch = NULL WHERE session = ?1";
            tx.db.prepare_cached(sql)?.execute([&id])?;
            Ok(())
        })?;
        for table in ["pipeline_events", "runs", "interactions"] {
            self.sum(table, "session = ?1", [&id])?;
        }
        self.sum("sessions", "id = ?1", [&id])
    }

    fn forget_parts(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        self.erase_securely()?;
        let id = Col(session);
        for sql in [
            "DELETE FROM summaries WHERE session = ?1",
            "DELETE FROM erasures WHERE session = ?1",
            "DELETE FROM run_events WHERE session = ?1",
        ] {
            self.db.prepare_cached(sql)?.execute([&id])?;
        }
        self.change_usages(session, |tx| {
            let sql = "DELETE FROM usages WHERE session = ?1 AND NOT (SELECT forgotten_whole FROM sessions WHERE id = ?1)";
            tx.db.prepare_cached(sql)?.execute([&id])?;
            Ok(())
        })?;
        let sql = "UPDATE sessions SET forgotten_at = max(coalesce(forgotten_at, ?2), ?2), folded = 0 WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute((&id, Col(at)))?;
        self.sum("sessions", "id = ?1", [&id])
    }

    fn payloads(&mut self, after: u64, limit: usize) -> Result<Vec<Payload>> {
        let sql = "SELECT position, session, sequence, kind, payload FROM observations \
             WHERE position > ?1 AND payload IS NOT NULL ORDER BY position LIMIT ?2";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map((int(after), int(limit as u64)), payload_row)?;
        let mut payloads = Vec::new();
        for row in rows {
            let (mut payload, packed) = row?;
            payload.fact = unpack(&packed)?;
            payloads.push(payload);
        }
        Ok(payloads)
    }

    fn put_payload(&mut self, position: u64, fact: Option<&str>) -> Result<()> {
        self.erase_securely()?;
        let sql = "UPDATE observations SET payload = ?2, salt = x'' WHERE position = ?1";
        self.db
            .prepare_cached(sql)?
            .execute((int(position), fact.map(pack)))?;
        Ok(())
    }

    fn segments(&mut self, stream: &str, first: u64, limit: usize) -> Result<Vec<Segment>> {
        let sql = "SELECT stream, first, past, data FROM segments WHERE (stream, first) > (?1, ?2) \
             ORDER BY stream, first LIMIT ?3";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map((stream, int(first), int(limit as u64)), |row| {
            let segment = Segment {
                stream: row.get(0)?,
                first: count(row, 1)?,
                past: count(row, 2)?,
                lines: Vec::new(),
            };
            Ok((segment, row.get::<_, Vec<u8>>(3)?))
        })?;
        let mut segments = Vec::new();
        for row in rows {
            let (mut segment, data) = row?;
            segment.lines = unpack_lines(&data)?;
            segments.push(segment);
        }
        Ok(segments)
    }

    fn put_lines(&mut self, s: &Segment) -> Result<()> {
        self.erase_securely()?;
        let key = (&s.stream, int(s.first));
        if s.lines.is_empty() {
            self.delete("segments", "stream = ?1 AND first = ?2", key)?;
            return Ok(());
        }
        let (data, bytes) = pack_lines(&s.lines);
        let sql = "UPDATE segments SET bytes = ?3, data = ?4 WHERE stream = ?1 AND first = ?2";
        let bytes = int(bytes as u64);
        self.db
            .prepare_cached(sql)?
            .execute(params![s.stream, int(s.first), bytes, data])?;
        self.sum("segments", "stream = ?1 AND first = ?2", key)
    }

    fn objects_of(&mut self, session: SessionId) -> Result<Vec<String>> {
        self.objects("IN", &[session])
    }

    fn objects_of_others(&mut self, sessions: &[SessionId]) -> Result<Vec<String>> {
        self.objects("NOT IN", sessions)
    }

    fn drop_object(&mut self, address: &str) -> Result<()> {
        let sql = "UPDATE edits SET lines = x'', \
             before_object = nullif(before_object, ?1), after_object = nullif(after_object, ?1), \
             detail = CASE WHEN instr(detail, ?1) > 0 THEN NULL ELSE detail END \
             WHERE before_object = ?1 OR after_object = ?1 OR instr(detail, ?1) > 0";
        self.db.prepare_cached(sql)?.execute([address])?;
        Ok(())
    }

    fn texts(&mut self, at: TextColumn, after: &str, limit: usize) -> Result<Vec<String>> {
        let TextColumn { table, column } = at;
        let sql = format!(
            "SELECT DISTINCT \"{column}\" FROM {table} WHERE \"{column}\" > ?1 ORDER BY 1 LIMIT ?2"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((after, int(limit as u64)), |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn replace_text(&mut self, at: TextColumn, old: &str, new: Option<&str>) -> Result<()> {
        self.erase_securely()?;
        let TextColumn { table, column } = at;
        // The digest of what was said stays, and no salt to guess it with.
        let salt = match new {
            Some(_) => "",
            None => ", salt = NULL",
        };
        self.replace_all((table, column), salt, (old, new))
    }

    fn text_columns(&mut self) -> Result<Vec<(String, String)>> {
        let sql = "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = 'TEXT' ORDER BY 1, 2";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn kept_telemetry(
        &mut self,
        store: TelemetryStore,
        after: u64,
        limit: usize,
    ) -> Result<Vec<KeptTelemetry>> {
        let sql = format!(
            "SELECT sequence, signal, payload FROM {} WHERE sequence > ?1 ORDER BY sequence LIMIT ?2",
            store.table()
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((int(after), int(limit as u64)), |row| {
            Ok(KeptTelemetry {
                sequence: count(row, 0)?,
                signal: row.get(1)?,
                payload: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn drop_telemetry(&mut self, store: TelemetryStore, sequence: u64) -> Result<()> {
        self.erase_securely()?;
        let sql = format!("DELETE FROM {} WHERE sequence = ?1", store.table());
        self.db.prepare_cached(&sql)?.execute([int(sequence)])?;
        Ok(())
    }
}
