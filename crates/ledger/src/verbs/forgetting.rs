//! Looking through everything, and erasing.

use siglum_domain::{SessionId, Timestamp};

use super::projections::restart_directories;
use super::queue::segment_row;
use super::usage::change_usages;
use crate::columns::{Col, Value, int};
use crate::database::Database;
use crate::record::*;
use crate::row::pack;
use crate::sql::{Sql, sql};
use crate::stored::pack_lines;
use crate::telemetry::{KeptTelemetry, TelemetryStore};
use crate::{Forgetting, LedgerError, TextColumn};

type Result<T> = std::result::Result<T, LedgerError>;

const OF_SESSION: Sql<'_> = sql!("[tenant = $1 AND] session = ?1");

/// What a store does about erasing in its own way.
pub(crate) trait OwnForgetting: Database {
    /// The addresses in the sightings of files, and in the edits folded from them, of some sessions.
    fn objects_of_these(&mut self, sessions: &[SessionId]) -> Result<Vec<String>>;

    /// The same of all other sessions.
    fn objects_beside_these(&mut self, sessions: &[SessionId]) -> Result<Vec<String>>;

    /// See [`Forgetting::replace_text`].
    fn replace_column(&mut self, at: TextColumn, old: &str, new: Option<&str>) -> Result<()>;

    /// Something of a session is erased: it goes from the index of texts, and what is left of it comes back later.
    fn unindex(&mut self, _: SessionId) -> Result<()> {
        Ok(())
    }

    /// The payloads of a session went before in this transaction: what is stored of them elsewhere goes, too.
    fn free_blobs(&mut self, _: SessionId) -> Result<()> {
        Ok(())
    }
}

impl<D: OwnForgetting> Forgetting for D {
    fn holdings(&mut self, session: SessionId) -> Result<Option<Holdings>> {
        let sql = sql!(
            "SELECT (SELECT count(payload) FROM observations WHERE [tenant = $1 AND] session = s.id), \
             (SELECT coalesce(sum(g.bytes), 0)[::bigint] FROM segments g \
             JOIN transcripts t ON [t.tenant = $1 AND] t.stream = g.stream \
             WHERE [g.tenant = $1 AND] t.session = s.id) FROM sessions s WHERE [s.tenant = $1 AND] s.id = ?1"
        );
        self.row(sql, &[&Col(session)], |row| {
            Ok(Holdings {
                payloads: row.count(0)?,
                transcript_bytes: row.count(1)?,
            })
        })
    }

    fn forget_session(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        self.erase_securely()?;
        // First the session: whoever is about to append to it is waited for, and whoever comes later knows.
        let sql = sql!(
            "UPDATE sessions SET forgotten_at = ?2, forgotten_whole = true, folded = 0 WHERE [tenant = $1 AND] id = ?1"
        );
        self.run(sql, &[&Col(session), &Col(at)])?;
        self.unindex(session)?;
        let payloads = sql!(
            "UPDATE observations SET payload = NULL, salt = [''|x''] WHERE [tenant = $1 AND] session = ?1"
        );
        self.run(payloads, &[&Col(session)])?;
        self.free_blobs(session)?;
        let segments = sql!(
            "[tenant = $1 AND] stream IN (SELECT stream FROM transcripts WHERE [tenant = $1 AND] session = ?1)"
        );
        self.delete("segments", segments, &[&Col(session)])?;
        self.delete("erasures", OF_SESSION, &[&Col(session)])?;
        for sql in [
            sql!("DELETE FROM summaries WHERE [tenant = $1 AND] session = ?1"),
            sql!(
                "UPDATE edits SET before_object = NULL, after_object = NULL, detail = NULL WHERE [tenant = $1 AND] session = ?1"
            ),
            sql!("UPDATE pipeline_events SET text = NULL WHERE [tenant = $1 AND] session = ?1"),
            sql!("UPDATE runs SET error = NULL WHERE [tenant = $1 AND] session = ?1"),
            sql!("DELETE FROM run_events WHERE [tenant = $1 AND] session = ?1"),
            sql!("UPDATE ticks SET owed = NULL WHERE [tenant = $1 AND] session = ?1"),
            sql!("DELETE FROM telemetry_inbox WHERE [tenant = $1 AND] session = ?1"),
            sql!("DELETE FROM unassigned WHERE [tenant = $1 AND] session = ?1"),
            sql!("DELETE FROM forwards WHERE [tenant = $1 AND] session = ?1"),
        ] {
            self.run(sql, &[&Col(session)])?;
        }
        let asked = sql!(
            "UPDATE interactions SET title = '', options = ?2 WHERE [tenant = $1 AND] session = ?1"
        );
        self.run(asked, &[&Col(session), &"[]"])?;
        change_usages(self, session, |db| {
            let sql = sql!(
                "UPDATE usages SET request = NULL, subagent = NULL, branch = NULL WHERE [tenant = $1 AND] session = ?1"
            );
            db.run(sql, &[&Col(session)]).map(drop)
        })?;
        for table in ["pipeline_events", "runs", "interactions", "usages"] {
            self.sum(table, "session = ?1", &[&Col(session)])?;
        }
        self.sum("sessions", "id = ?1", &[&Col(session)])?;
        restart_directories(self, session, at)?;
        self.session_changed(session)
    }

    fn forget_parts(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        self.erase_securely()?;
        let sql = sql!(
            "UPDATE sessions SET \
             forgotten_at = [greatest(forgotten_at, ?2)|max(coalesce(forgotten_at, ?2), ?2)], folded = 0 \
             WHERE [tenant = $1 AND] id = ?1"
        );
        self.run(sql, &[&Col(session), &Col(at)])?;
        self.unindex(session)?;
        self.delete("erasures", OF_SESSION, &[&Col(session)])?;
        for sql in [
            sql!("DELETE FROM summaries WHERE [tenant = $1 AND] session = ?1"),
            sql!("DELETE FROM run_events WHERE [tenant = $1 AND] session = ?1"),
        ] {
            self.run(sql, &[&Col(session)])?;
        }
        change_usages(self, session, |db| {
            let rows = sql!(
                "[tenant = $1 AND] session = ?1 AND NOT \
                 (SELECT forgotten_whole FROM sessions WHERE [tenant = $1 AND] id = ?1)"
            );
            db.delete("usages", rows, &[&Col(session)]).map(drop)
        })?;
        self.sum("sessions", "id = ?1", &[&Col(session)])?;
        restart_directories(self, session, at)?;
        self.session_changed(session)
    }

    fn payloads(&mut self, after: u64, limit: usize) -> Result<Vec<Payload>> {
        let sql = sql!(
            "SELECT position, session, sequence, kind, payload FROM observations \
             WHERE [tenant = $1 AND] position > ?1 AND payload IS NOT NULL ORDER BY position LIMIT ?2"
        );
        let found = self.rows(sql, &[&int(after), &int(limit as u64)], |row| {
            let payload = Payload {
                position: row.count(0)?,
                session: row.get(1)?,
                sequence: row.count(2)?,
                kind: row.get(3)?,
                fact: String::new(),
            };
            Ok((payload, row.get::<Option<Vec<u8>>>(4)?))
        })?;
        let (mut payloads, packed): (Vec<Payload>, Vec<_>) = found.into_iter().unzip();
        for (payload, fact) in payloads.iter_mut().zip(self.unpacked(packed)?) {
            payload.fact = fact.unwrap_or_default();
        }
        Ok(payloads)
    }

    fn put_payload(&mut self, position: u64, fact: Option<&str>) -> Result<()> {
        self.erase_securely()?;
        let sql = sql!(
            "UPDATE observations SET payload = ?2, salt = [''|x''] WHERE [tenant = $1 AND] position = ?1 \
             RETURNING session, sequence"
        );
        let changed: Option<(SessionId, u64)> =
            self.row(sql, &[&int(position), &fact.map(pack)], |row| {
                Ok((row.get(0)?, row.count(1)?))
            })?;
        let Some((session, sequence)) = changed else {
            return Ok(());
        };
        self.free_blob(session, sequence)?;
        self.session_changed(session)
    }

    fn segments(&mut self, stream: &str, first: u64, limit: usize) -> Result<Vec<Segment>> {
        let sql = sql!(
            "SELECT stream, first, past, data FROM segments \
             WHERE [tenant = $1 AND] (stream, first) > (?1, ?2) ORDER BY stream, first LIMIT ?3"
        );
        let of: [Value<'_>; 3] = [&stream, &int(first), &int(limit as u64)];
        self.rows(sql, &of, segment_row)
    }

    fn put_lines(&mut self, s: &Segment) -> Result<()> {
        self.erase_securely()?;
        let first = int(s.first);
        let key: [Value<'_>; 2] = [&s.stream, &first];
        if s.lines.is_empty() {
            let rows = sql!("[tenant = $1 AND] stream = ?1 AND first = ?2");
            return self.delete("segments", rows, &key).map(drop);
        }
        let (data, bytes) = pack_lines(&s.lines);
        let sql = sql!(
            "UPDATE segments SET bytes = ?3, data = ?4 WHERE [tenant = $1 AND] stream = ?1 AND first = ?2"
        );
        self.run(sql, &[&s.stream, &first, &int(bytes as u64), &data])?;
        self.sum("segments", "stream = ?1 AND first = ?2", &key)
    }

    fn objects_of(&mut self, session: SessionId) -> Result<Vec<String>> {
        self.objects_of_these(&[session])
    }

    fn objects_of_others(&mut self, sessions: &[SessionId]) -> Result<Vec<String>> {
        self.objects_beside_these(sessions)
    }

    fn drop_object(&mut self, address: &str) -> Result<()> {
        let sql = sql!(
            "UPDATE edits SET lines = [''|x''], \
             before_object = nullif(before_object, ?1), after_object = nullif(after_object, ?1), \
             detail = CASE WHEN [strpos|instr](detail, ?1) > 0 THEN NULL ELSE detail END WHERE [tenant = $1 AND] \
             (before_object = ?1 OR after_object = ?1 OR [strpos|instr](detail, ?1) > 0)"
        );
        self.run(sql, &[&address]).map(drop)
    }

    fn texts(&mut self, at: TextColumn, after: &str, limit: usize) -> Result<Vec<String>> {
        let sql = sql!(
            "SELECT DISTINCT \"{column}\" [COLLATE \"C\" AS text] FROM {table} \
             WHERE [tenant = $1 AND] \"{column}\" [COLLATE \"C\"] > ?1 ORDER BY [text|1] LIMIT ?2"
        );
        let sql = sql.of_column(at.table, at.column);
        self.rows(&sql, &[&after, &int(limit as u64)], |row| row.get(0))
    }

    fn replace_text(&mut self, at: TextColumn, old: &str, new: Option<&str>) -> Result<()> {
        self.erase_securely()?;
        self.replace_column(at, old, new)
    }

    fn text_columns(&mut self) -> Result<Vec<(String, String)>> {
        let sql = sql!(
            "[SELECT table_name::text COLLATE \"C\" AS t, column_name::text COLLATE \"C\" AS c FROM information_schema.columns \
             WHERE table_schema = current_schema() AND data_type = 'text' AND column_name <> 'tenant' AND $1::text IS NOT NULL \
             ORDER BY t, c\
             |SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = 'TEXT' ORDER BY 1, 2]"
        );
        self.rows(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    fn kept_telemetry(
        &mut self,
        store: TelemetryStore,
        after: u64,
        limit: usize,
    ) -> Result<Vec<KeptTelemetry>> {
        let sql = sql!(
            "SELECT sequence, signal, payload FROM {table} WHERE [tenant = $1 AND] sequence > ?1 ORDER BY sequence LIMIT ?2"
        );
        let sql = sql.of_table(store.table());
        self.rows(&sql, &[&int(after), &int(limit as u64)], |row| {
            Ok(KeptTelemetry {
                sequence: row.count(0)?,
                signal: row.get(1)?,
                payload: row.get(2)?,
            })
        })
    }

    fn drop_telemetry(&mut self, store: TelemetryStore, sequence: u64) -> Result<()> {
        self.erase_securely()?;
        let sql = sql!("DELETE FROM {table} WHERE [tenant = $1 AND] sequence = ?1");
        let sql = sql.of_table(store.table());
        self.run(&sql, &[&int(sequence)]).map(drop)
    }
}
