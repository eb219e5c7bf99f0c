//! Looking through everything, and erasing, in PostgreSQL.

use std::collections::BTreeSet;

use siglum_domain::observation::Fact;
use siglum_domain::{SessionId, Timestamp};

use super::blobs::FREE_BLOBS;
use super::columns::{Col, count, get, int, raw};
use super::queue::segment_row;
use super::tx::Tx;
use crate::record::*;
use crate::row::{from_json, pack, unpack};
use crate::stored::fact_objects;
use crate::stored::pack_lines;
use crate::telemetry::{KeptTelemetry, TelemetryStore};
use crate::{Forgetting, LedgerError, TextColumn};

type Result<T> = std::result::Result<T, LedgerError>;

/// Where other ledgers are to be told of a replaced text, and the kind of document that it is a part of.
const SHARED: [(&str, &str); 6] = [
    ("aliases", "session"),
    ("authors", "commit"),
    ("commits", "commit"),
    ("repositories", "repository"),
    ("sessions", "session"),
    ("worktrees", "repository"),
];

impl Tx<'_> {
    /// The addresses in the sightings of files, and in the edits folded from them, of sessions that are `= ANY` of these or
    /// `<> ALL` of them.
    fn objects(&mut self, which: &str, sessions: &[SessionId]) -> Result<Vec<String>> {
        let ids: Vec<Col<SessionId>> = sessions.iter().map(|session| Col(*session)).collect();
        let mut found = BTreeSet::new();
        let seen = format!(
            "SELECT payload FROM observations WHERE tenant = $1 AND kind = 'file_seen' AND payload IS NOT NULL AND session {which} ($2)"
        );
        self.each(&seen, &[&ids], |row| {
            let fact: Fact = from_json("fact", &unpack(raw(row, 0)?)?)?;
            found.extend(fact_objects(&fact).map(str::to_owned));
            Ok(())
        })?;
        let folded = format!(
            "SELECT before_object FROM edits WHERE tenant = $1 AND before_object IS NOT NULL AND session {which} ($2) \
             UNION SELECT after_object FROM edits WHERE tenant = $1 AND after_object IS NOT NULL AND session {which} ($2) \
             UNION SELECT detail::json #>> '{{write,base,object}}' FROM edits WHERE tenant = $1 \
             AND detail::json #>> '{{write,base,object}}' IS NOT NULL AND session {which} ($2) \
             UNION SELECT detail::json #>> '{{write,written,object}}' FROM edits WHERE tenant = $1 \
             AND detail::json #>> '{{write,written,object}}' IS NOT NULL AND session {which} ($2) \
             UNION SELECT detail::json #>> '{{write,added,object}}' FROM edits WHERE tenant = $1 \
             AND detail::json #>> '{{write,added,object}}' IS NOT NULL AND session {which} ($2)"
        );
        self.each(&folded, &[&ids], |row| {
            found.insert(raw(row, 0)?);
            Ok(())
        })?;
        Ok(found.into_iter().collect())
    }

    /// Runs statements that speak of a session and of nothing else.
    fn run_all(&mut self, statements: &[&str], session: SessionId) -> Result<()> {
        for sql in statements {
            self.run(sql, &[&Col(session)])?;
        }
        Ok(())
    }
}

impl Forgetting for Tx<'_> {
    fn holdings(&mut self, session: SessionId) -> Result<Option<Holdings>> {
        let sql = "SELECT (SELECT count(payload) FROM observations WHERE tenant = $1 AND session = s.id), \
             (SELECT coalesce(sum(g.bytes), 0)::bigint FROM segments g JOIN transcripts t ON t.tenant = $1 AND t.stream = g.stream \
              WHERE g.tenant = $1 AND t.session = s.id) FROM sessions s WHERE s.tenant = $1 AND s.id = $2";
        self.row(sql, &[&Col(session)], |row| {
            Ok(Holdings {
                payloads: count(row, 0)?,
                transcript_bytes: count(row, 1)?,
            })
        })
    }

    fn forget_session(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        // First the session: whoever is about to append to it is waited for, and whoever comes later knows.
        let sql = "UPDATE sessions SET forgotten_at = $3, forgotten_whole = true, folded = 0 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &Col(at)])?;
        self.unindex(session)?;
        let statements = [
            "UPDATE observations SET payload = NULL, salt = '' WHERE tenant = $1 AND session = $2",
            FREE_BLOBS,
            "DELETE FROM segments WHERE tenant = $1 AND stream IN (SELECT stream FROM transcripts WHERE tenant = $1 AND session = $2)",
            "DELETE FROM summaries WHERE tenant = $1 AND session = $2",
            "DELETE FROM erasures WHERE tenant = $1 AND session = $2",
            "UPDATE edits SET before_object = NULL, after_object = NULL, detail = NULL WHERE tenant = $1 AND session = $2",
            "UPDATE pipeline_events SET text = NULL WHERE tenant = $1 AND session = $2",
            "UPDATE runs SET error = NULL WHERE tenant = $1 AND session = $2",
            "UPDATE interactions SET title = '', options = '[]' WHERE tenant = $1 AND session = $2",
            "DELETE FROM run_events WHERE tenant = $1 AND session = $2",
            "UPDATE ticks SET owed = NULL WHERE tenant = $1 AND session = $2",
            "DELETE FROM telemetry_inbox WHERE tenant = $1 AND session = $2",
            "DELETE FROM unassigned WHERE tenant = $1 AND session = $2",
            "DELETE FROM forwards WHERE tenant = $1 AND session = $2",
        ];
        self.run_all(&statements, session)?;
        self.change_usages(session, |tx| {
            let sql = "UPDATE usages SET request = NULL, subagent = NULL, branch = NULL WHERE tenant = $1 AND session = $2";
            tx.run(sql, &[&Col(session)])?;
            Ok(())
        })?;
        self.session_changed(session)
    }

    fn forget_parts(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        let sql = "UPDATE sessions SET forgotten_at = greatest(forgotten_at, $3), folded = 0 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &Col(at)])?;
        self.unindex(session)?;
        self.run_all(
            &[
                "DELETE FROM summaries WHERE tenant = $1 AND session = $2",
                "DELETE FROM erasures WHERE tenant = $1 AND session = $2",
                "DELETE FROM run_events WHERE tenant = $1 AND session = $2",
            ],
            session,
        )?;
        self.change_usages(session, |tx| {
            let sql = "DELETE FROM usages WHERE tenant = $1 AND session = $2 AND NOT \
                 (SELECT forgotten_whole FROM sessions WHERE tenant = $1 AND id = $2)";
            tx.run(sql, &[&Col(session)])?;
            Ok(())
        })?;
        self.session_changed(session)
    }

    fn payloads(&mut self, after: u64, limit: usize) -> Result<Vec<Payload>> {
        let sql = "SELECT position, session, sequence, kind, payload FROM observations \
             WHERE tenant = $1 AND position > $2 AND payload IS NOT NULL ORDER BY position LIMIT $3";
        let found = self.rows(sql, &[&int(after), &int(limit as u64)], |row| {
            let payload = Payload {
                position: count(row, 0)?,
                session: get(row, 1)?,
                sequence: count(row, 2)?,
                kind: raw(row, 3)?,
                fact: String::new(),
            };
            Ok((payload, raw::<Option<Vec<u8>>>(row, 4)?))
        })?;
        let (mut payloads, packed): (Vec<Payload>, Vec<_>) = found.into_iter().unzip();
        for (payload, fact) in payloads.iter_mut().zip(self.unpacked(packed)?) {
            payload.fact = fact.unwrap_or_default();
        }
        Ok(payloads)
    }

    fn put_payload(&mut self, position: u64, fact: Option<&str>) -> Result<()> {
        let sql = "UPDATE observations SET payload = $3, salt = '' WHERE tenant = $1 AND position = $2 RETURNING session, sequence";
        let changed = self.row(sql, &[&int(position), &fact.map(pack)], |row| {
            Ok((get::<SessionId>(row, 0)?, count(row, 1)?))
        })?;
        let Some((session, sequence)) = changed else {
            return Ok(());
        };
        self.free_blob(session, sequence)?;
        self.session_changed(session)
    }

    fn segments(&mut self, stream: &str, first: u64, limit: usize) -> Result<Vec<Segment>> {
        let sql = "SELECT stream, first, past, data FROM segments \
             WHERE tenant = $1 AND (stream, first) > ($2, $3) ORDER BY stream, first LIMIT $4";
        self.rows(
            sql,
            &[&stream, &int(first), &int(limit as u64)],
            segment_row,
        )
    }

    fn put_lines(&mut self, s: &Segment) -> Result<()> {
        if s.lines.is_empty() {
            let sql = "DELETE FROM segments WHERE tenant = $1 AND stream = $2 AND first = $3";
            self.run(sql, &[&s.stream, &int(s.first)])?;
            return Ok(());
        }
        let (data, bytes) = pack_lines(&s.lines);
        let sql = "UPDATE segments SET bytes = $4, data = $5 WHERE tenant = $1 AND stream = $2 AND first = $3";
        self.run(sql, &[&s.stream, &int(s.first), &int(bytes as u64), &data])?;
        Ok(())
    }

    fn objects_of(&mut self, session: SessionId) -> Result<Vec<String>> {
        self.objects("= ANY", &[session])
    }

    fn objects_of_others(&mut self, sessions: &[SessionId]) -> Result<Vec<String>> {
        self.objects("<> ALL", sessions)
    }

    fn drop_object(&mut self, address: &str) -> Result<()> {
        let sql = "UPDATE edits SET lines = '', \
             before_object = nullif(before_object, $2), after_object = nullif(after_object, $2), \
             detail = CASE WHEN strpos(detail, $2) > 0 THEN NULL ELSE detail END \
             WHERE tenant = $1 AND (before_object = $2 OR after_object = $2 OR strpos(detail, $2) > 0)";
        self.run(sql, &[&address])?;
        Ok(())
    }

    fn texts(&mut self, at: TextColumn, after: &str, limit: usize) -> Result<Vec<String>> {
        let TextColumn { table, column } = at;
        let sql = format!(
            "SELECT DISTINCT \"{column}\" COLLATE \"C\" AS text FROM {table} \
             WHERE tenant = $1 AND \"{column}\" COLLATE \"C\" > $2 ORDER BY text LIMIT $3"
        );
        self.rows(&sql, &[&after, &int(limit as u64)], |row| raw(row, 0))
    }

    fn replace_text(&mut self, at: TextColumn, old: &str, new: Option<&str>) -> Result<()> {
        let TextColumn { table, column } = at;
        self.unindex_holders(at, old)?;
        let sql = match new {
            Some(_) => format!(
                "UPDATE {table} SET \"{column}\" = $3 WHERE tenant = $1 AND \"{column}\" = $2"
            ),
            // The digest of what was said stays, and no salt to guess it with.
            None => format!(
                "UPDATE {table} SET \"{column}\" = $3, salt = NULL WHERE tenant = $1 AND \"{column}\" = $2"
            ),
        };
        self.run(&sql, &[&old, &new])?;
        if let Some((_, kind)) = SHARED.iter().find(|(shared, _)| *shared == table) {
            let sql = "UPDATE documents SET due = due + 1 WHERE tenant = $1 AND kind = $2";
            self.run(sql, &[kind])?;
        }
        Ok(())
    }

    fn text_columns(&mut self) -> Result<Vec<(String, String)>> {
        let sql = "SELECT table_name::text COLLATE \"C\" AS t, column_name::text COLLATE \"C\" AS c FROM information_schema.columns \
             WHERE table_schema = current_schema() AND data_type = 'text' AND column_name <> 'tenant' AND $1::text IS NOT NULL \
             ORDER BY t, c";
        self.rows(sql, &[], |row| Ok((raw(row, 0)?, raw(row, 1)?)))
    }

    fn kept_telemetry(
        &mut self,
        store: TelemetryStore,
        after: u64,
        limit: usize,
    ) -> Result<Vec<KeptTelemetry>> {
        let sql = format!(
            "SELECT sequence, signal, payload FROM {} WHERE tenant = $1 AND sequence > $2 ORDER BY sequence LIMIT $3",
            store.table()
        );
        self.rows(&sql, &[&int(after), &int(limit as u64)], |row| {
            Ok(KeptTelemetry {
                sequence: count(row, 0)?,
                signal: raw(row, 1)?,
                payload: raw(row, 2)?,
            })
        })
    }

    fn drop_telemetry(&mut self, store: TelemetryStore, sequence: u64) -> Result<()> {
        let sql = format!(
            "DELETE FROM {} WHERE tenant = $1 AND sequence = $2",
            store.table()
        );
        self.run(&sql, &[&int(sequence)])?;
        Ok(())
    }
}
