//! Declines, transcripts, the outbox and its cursors in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::Timestamp;
use siglum_domain::intake::Decline;

use super::columns::{Col, count, get, int};
use super::open::Tx;
use crate::record::*;
use crate::stored::{pack_lines, unpack_lines};
use crate::{LedgerError, Queue};

type Result<T> = std::result::Result<T, LedgerError>;

const TRANSCRIPT: &str = "t.stream, t.agent, t.session, \
     (SELECT a.native FROM aliases a WHERE a.session = t.session AND a.agent = t.agent ORDER BY a.by_caller, a.first_at LIMIT 1), \
     t.path, t.subagent, t.file, t.read_to, t.tail, t.turn, t.own";

fn transcript_row(row: &Row<'_>) -> rusqlite::Result<TranscriptRecord> {
    Ok(TranscriptRecord {
        stream: row.get(0)?,
        agent: get(row, 1)?,
        session: get(row, 2)?,
        native: get(row, 3)?,
        path: row.get(4)?,
        subagent: row.get(5)?,
        file: row.get(6)?,
        read_to: count(row, 7)?,
        tail: row.get(8)?,
        turn: row.get(9)?,
        own: row.get(10)?,
    })
}

impl Queue for Tx<'_> {
    fn decline(&mut self, key: &str, at: Timestamp, d: &Decline) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO declines (key, at, edge, reason, detail, common_dir) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let common_dir = d.place.as_ref().map(|p| &p.common_dir);
        self.db.prepare_cached(sql)?.execute((
            key,
            Col(at),
            &d.edge,
            &d.reason,
            &d.detail,
            common_dir,
        ))?;
        Ok(())
    }

    fn declines(&mut self, since: Timestamp, limit: usize) -> Result<Vec<DeclineRecord>> {
        let sql = "SELECT at, edge, reason, detail FROM declines WHERE at >= ?1 ORDER BY at DESC, position DESC LIMIT ?2";
        let mut query = self.db.prepare_cached(sql)?;
        let decline = |row: &Row<'_>| {
            Ok(DeclineRecord {
                at: get(row, 0)?,
                edge: row.get(1)?,
                reason: row.get(2)?,
                detail: row.get(3)?,
            })
        };
        Ok(query
            .query_map((Col(since), int(limit as u64)), decline)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn want_transcript(&mut self, r: &TranscriptRecord) -> Result<()> {
        let sql = "INSERT INTO transcripts (stream, agent, session, path, subagent) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (stream) DO UPDATE SET wanted = 1, path = excluded.path";
        self.db.prepare_cached(sql)?.execute((
            &r.stream,
            r.agent.as_str(),
            Col(r.session),
            &r.path,
            &r.subagent,
        ))?;
        Ok(())
    }

    fn wanted_transcripts(&mut self, limit: usize) -> Result<Vec<TranscriptRecord>> {
        let sql = format!(
            "SELECT {TRANSCRIPT} FROM transcripts t WHERE t.wanted = 1 ORDER BY t.stream LIMIT ?1"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query
            .query_map([int(limit as u64)], transcript_row)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn transcript(&mut self, stream: &str) -> Result<Option<TranscriptRecord>> {
        let mut query = self.db.prepare_cached(&format!(
            "SELECT {TRANSCRIPT} FROM transcripts t WHERE t.stream = ?1"
        ))?;
        Ok(query.query_row([stream], transcript_row).optional()?)
    }

    fn transcript_read(&mut self, r: &TranscriptRecord, wanted: bool) -> Result<()> {
        let sql = "UPDATE transcripts SET file = ?2, read_to = ?3, tail = ?4, turn = ?5, own = ?6, wanted = ?7 WHERE stream = ?1";
        let values = params![
            r.stream,
            r.file,
            int(r.read_to),
            r.tail,
            r.turn,
            r.own,
            wanted
        ];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn put_segment(&mut self, s: &Segment) -> Result<()> {
        let (data, bytes) = pack_lines(&s.lines);
        // A file that was written anew has its lines elsewhere: what it shares no byte with stays.
        let covered = "stream = ?1 AND (first < ?3 AND past > ?2 OR first = ?2)";
        let place = (&s.stream, int(s.first), int(s.past));
        self.delete("segments", covered, place)?;
        let sql =
            "INSERT INTO segments (stream, first, past, bytes, data) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.db.prepare_cached(sql)?.execute(params![
            s.stream,
            int(s.first),
            int(s.past),
            int(bytes as u64),
            data
        ])?;
        let key = (&s.stream, int(s.first));
        self.sum("segments", "stream = ?1 AND first = ?2", key)
    }

    fn segment(&mut self, stream: &str, offset: u64) -> Result<Option<Segment>> {
        let sql = "SELECT first, past, data FROM segments WHERE stream = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        let found = query
            .query_row((stream, int(offset)), |row| {
                Ok((count(row, 0)?, count(row, 1)?, row.get::<_, Vec<u8>>(2)?))
            })
            .optional()?;
        let Some((first, past, data)) = found.filter(|(_, past, _)| *past > offset) else {
            return Ok(None);
        };
        Ok(Some(Segment {
            stream: stream.to_owned(),
            first,
            past,
            lines: unpack_lines(&data)?,
        }))
    }

    fn push(&mut self, at: Timestamp, topic: &str, body: &str) -> Result<()> {
        self.db
            .prepare_cached("INSERT INTO outbox (at, topic, body) VALUES (?1, ?2, ?3)")?
            .execute((Col(at), topic, body))?;
        Ok(())
    }

    fn outbox_end(&mut self) -> Result<u64> {
        Ok(self
            .db
            .query_row("SELECT coalesce(max(position), 0) FROM outbox", [], |row| {
                count(row, 0)
            })?)
    }

    fn cursor(&mut self, projection: &str) -> Result<u64> {
        let mut query = self
            .db
            .prepare_cached("SELECT position FROM cursors WHERE projection = ?1")?;
        Ok(query
            .query_row([projection], |row| count(row, 0))
            .optional()?
            .unwrap_or(0))
    }

    fn set_cursor(&mut self, projection: &str, position: u64) -> Result<()> {
        let sql = "INSERT INTO cursors (projection, position) VALUES (?1, ?2) ON CONFLICT (projection) DO UPDATE SET position = excluded.position";
        self.db
            .prepare_cached(sql)?
            .execute((projection, int(position)))?;
        Ok(())
    }

    fn tried(&mut self, queue: &str, item: &str, at: Timestamp) -> Result<()> {
        let sql = "INSERT INTO parked (queue, item, at, reason, tries) VALUES (?1, ?2, ?3, '', 1) \
             ON CONFLICT (queue, item) DO UPDATE SET tries = tries + 1";
        self.db
            .prepare_cached(sql)?
            .execute((queue, item, Col(at)))?;
        Ok(())
    }

    fn tries(&mut self, queue: &str, item: &str) -> Result<Option<u64>> {
        let sql = "SELECT tries FROM parked WHERE queue = ?1 AND item = ?2";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query
            .query_row((queue, item), |row| count(row, 0))
            .optional()?)
    }

    fn park(&mut self, queue: &str, item: &str, at: Timestamp, reason: &str) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO parked (queue, item, at, reason) VALUES (?1, ?2, ?3, ?4)";
        self.db
            .prepare_cached(sql)?
            .execute((queue, item, Col(at), reason))?;
        Ok(())
    }

    fn write_probe(&mut self) -> Result<()> {
        let sql = "INSERT INTO meta (key, value) VALUES ('probe', zeroblob(65536)) \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        self.db.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    fn parked(&mut self) -> Result<Vec<(String, String, Timestamp, String)>> {
        let mut query = self.db.prepare_cached(
            "SELECT queue, item, at, reason FROM parked WHERE reason <> '' ORDER BY at",
        )?;
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, get(row, 2)?, row.get(3)?));
        Ok(query.query_map([], row)?.collect::<rusqlite::Result<_>>()?)
    }

    fn unpark(&mut self, queue: &str, item: &str) -> Result<()> {
        self.db
            .prepare_cached("DELETE FROM parked WHERE queue = ?1 AND item = ?2")?
            .execute((queue, item))?;
        Ok(())
    }
}
