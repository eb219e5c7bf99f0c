//! Declines, transcripts, the outbox and its cursors.

use siglum_domain::Timestamp;
use siglum_domain::intake::Decline;

use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::record::*;
use crate::sql::sql;
use crate::stored::{pack_lines, unpack_lines};
use crate::{LedgerError, Queue};

type Result<T> = std::result::Result<T, LedgerError>;

/// Transcripts. What else is asked stands behind it.
const TRANSCRIPT: &str = "SELECT t.stream, t.agent, t.session, \
     (SELECT a.native FROM aliases a WHERE [a.tenant = $1 AND] a.session = t.session AND a.agent = t.agent \
     ORDER BY a.by_caller, a.first_at LIMIT 1), t.path, t.subagent, t.file, t.read_to, t.tail, t.turn, t.own \
     FROM transcripts t WHERE [t.tenant = $1 AND]";

fn transcript_row(row: &Row<'_>) -> Result<TranscriptRecord> {
    Ok(TranscriptRecord {
        stream: row.get(0)?,
        agent: row.get(1)?,
        session: row.get(2)?,
        native: row.get(3)?,
        path: row.get(4)?,
        subagent: row.get(5)?,
        file: row.get(6)?,
        read_to: row.count(7)?,
        tail: row.get(8)?,
        turn: row.get(9)?,
        own: row.get(10)?,
    })
}

/// A segment from its stream, its bounds and its lines.
pub(super) fn segment_row(row: &Row<'_>) -> Result<Segment> {
    Ok(Segment {
        stream: row.get(0)?,
        first: row.count(1)?,
        past: row.count(2)?,
        lines: unpack_lines(&row.get::<Vec<u8>>(3)?)?,
    })
}

impl<D: Database> Queue for D {
    fn decline(&mut self, key: &str, at: Timestamp, d: &Decline) -> Result<()> {
        let sql = sql!(
            "INSERT INTO declines ([tenant,] key, at, edge, reason, detail, common_dir) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT ([tenant,] key) DO NOTHING"
        );
        let common_dir = d.place.as_ref().map(|p| &p.common_dir);
        self.run(
            sql,
            &[&key, &Col(at), &d.edge, &d.reason, &d.detail, &common_dir],
        )?;
        Ok(())
    }

    fn declines(&mut self, since: Timestamp, limit: usize) -> Result<Vec<DeclineRecord>> {
        let sql = sql!(
            "SELECT at, edge, reason, detail FROM declines \
             WHERE [tenant = $1 AND] at >= ?1 ORDER BY at DESC, position DESC LIMIT ?2"
        );
        self.rows(sql, &[&Col(since), &int(limit as u64)], |row| {
            Ok(DeclineRecord {
                at: row.get(0)?,
                edge: row.get(1)?,
                reason: row.get(2)?,
                detail: row.get(3)?,
            })
        })
    }

    fn want_transcript(&mut self, r: &TranscriptRecord) -> Result<()> {
        let sql = sql!(
            "INSERT INTO transcripts ([tenant,] stream, agent, session, path, subagent) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT ([tenant,] stream) DO UPDATE SET wanted = true, path = excluded.path"
        );
        let agent = r.agent.as_str();
        self.run(
            sql,
            &[&r.stream, &agent, &Col(r.session), &r.path, &r.subagent],
        )?;
        Ok(())
    }

    fn wanted_transcripts(&mut self, limit: usize) -> Result<Vec<TranscriptRecord>> {
        let sql = sql!(TRANSCRIPT " t.wanted[| = 1] ORDER BY t.stream LIMIT ?1");
        self.rows(sql, &[&int(limit as u64)], transcript_row)
    }

    fn transcript(&mut self, stream: &str) -> Result<Option<TranscriptRecord>> {
        let sql = sql!(TRANSCRIPT " t.stream = ?1");
        self.row(sql, &[&stream], transcript_row)
    }

    fn transcript_read(&mut self, r: &TranscriptRecord, wanted: bool) -> Result<()> {
        let sql = sql!(
            "UPDATE transcripts SET file = ?2, read_to = ?3, tail = ?4, turn = ?5, own = ?6, wanted = ?7 \
             WHERE [tenant = $1 AND] stream = ?1"
        );
        let read_to = int(r.read_to);
        self.run(
            sql,
            &[
                &r.stream, &r.file, &read_to, &r.tail, &r.turn, &r.own, &wanted,
            ],
        )?;
        Ok(())
    }

    fn put_segment(&mut self, s: &Segment) -> Result<()> {
        // A file that was written anew has its lines elsewhere: what it shares no byte with stays.
        let covered = sql!(
            "[tenant = $1 AND] stream = ?1 AND [first < ?3 AND past > ?2|(first < ?3 AND past > ?2 OR first = ?2)]"
        );
        let (first, past) = (int(s.first), int(s.past));
        self.delete("segments", covered, &[&s.stream, &first, &past])?;
        let sql = sql!(
            "INSERT INTO segments ([tenant,] stream, first, past, bytes, data) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT ([tenant,] stream, first) DO UPDATE SET past = excluded.past, bytes = excluded.bytes, \
             data = excluded.data"
        );
        let (data, bytes) = pack_lines(&s.lines);
        let of: [Value<'_>; 5] = [&s.stream, &first, &past, &int(bytes as u64), &data];
        self.run(sql, &of)?;
        self.sum(
            "segments",
            "stream = ?1 AND first = ?2",
            &[&s.stream, &first],
        )
    }

    fn segment(&mut self, stream: &str, offset: u64) -> Result<Option<Segment>> {
        let sql = sql!(
            "SELECT stream, first, past, data FROM segments \
             WHERE [tenant = $1 AND] stream = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1"
        );
        let found = self.row(sql, &[&stream, &int(offset)], |row| {
            // The lines of one that ends before it are not unpacked.
            match row.count(2)? > offset {
                true => segment_row(row).map(Some),
                false => Ok(None),
            }
        })?;
        Ok(found.flatten())
    }

    fn push(&mut self, at: Timestamp, topic: &str, body: &str) -> Result<()> {
        let sql = sql!("INSERT INTO outbox ([tenant,] at, topic, body) VALUES ([$1,] ?1, ?2, ?3)");
        self.run(sql, &[&Col(at), &topic, &body])?;
        Ok(())
    }

    fn outbox_end(&mut self) -> Result<u64> {
        let sql = sql!("SELECT coalesce(max(position), 0) FROM outbox [WHERE tenant = $1]");
        self.one(sql, &[], |row| row.count(0))
    }

    fn cursor(&mut self, projection: &str) -> Result<u64> {
        let sql = sql!("SELECT position FROM cursors WHERE [tenant = $1 AND] projection = ?1");
        let found = self.row(sql, &[&projection], |row| row.count(0))?;
        Ok(found.unwrap_or(0))
    }

    fn set_cursor(&mut self, projection: &str, position: u64) -> Result<()> {
        let sql = sql!(
            "INSERT INTO cursors ([tenant,] projection, position) VALUES ([$1,] ?1, ?2) \
             ON CONFLICT ([tenant,] projection) DO UPDATE SET position = excluded.position"
        );
        self.run(sql, &[&projection, &int(position)])?;
        Ok(())
    }

    fn tried(&mut self, queue: &str, item: &str, at: Timestamp) -> Result<()> {
        let sql = sql!(
            "INSERT INTO parked ([tenant,] queue, item, at, reason, tries) VALUES ([$1,] ?1, ?2, ?3, '', 1) \
             ON CONFLICT ([tenant,] queue, item) DO UPDATE SET tries = parked.tries + 1"
        );
        self.run(sql, &[&queue, &item, &Col(at)])?;
        Ok(())
    }

    fn tries(&mut self, queue: &str, item: &str) -> Result<Option<u64>> {
        let sql = sql!("SELECT tries FROM parked WHERE [tenant = $1 AND] queue = ?1 AND item = ?2");
        self.row(sql, &[&queue, &item], |row| row.count(0))
    }

    fn park(&mut self, queue: &str, item: &str, at: Timestamp, reason: &str) -> Result<()> {
        let sql = sql!(
            "INSERT[| OR REPLACE] INTO parked ([tenant,] queue, item, at, reason) VALUES ([$1,] ?1, ?2, ?3, ?4) \
             [ON CONFLICT (tenant, queue, item) DO UPDATE SET at = excluded.at, reason = excluded.reason]"
        );
        self.run(sql, &[&queue, &item, &Col(at), &reason])?;
        Ok(())
    }

    fn write_probe(&mut self) -> Result<()> {
        let sql = sql!(
            "[INSERT INTO counters (tenant, name, value) VALUES ($1, 'probe', 1) \
             ON CONFLICT (tenant, name) DO UPDATE SET value = counters.value + 1\
             |INSERT INTO meta (key, value) VALUES ('probe', zeroblob(65536)) \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value]"
        );
        self.run(sql, &[]).map(drop)
    }

    fn parked(&mut self) -> Result<Vec<(String, String, Timestamp, String)>> {
        let sql = sql!(
            "SELECT queue, item, at, reason FROM parked WHERE [tenant = $1 AND] reason <> '' ORDER BY at"
        );
        self.rows(sql, &[], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
    }

    fn unpark(&mut self, queue: &str, item: &str) -> Result<()> {
        let sql = sql!("DELETE FROM parked WHERE [tenant = $1 AND] queue = ?1 AND item = ?2");
        self.run(sql, &[&queue, &item])?;
        Ok(())
    }
}
