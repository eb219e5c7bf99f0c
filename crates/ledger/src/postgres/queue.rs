//! Declines, transcripts, the outbox and its cursors in PostgreSQL.

use postgres::Row;
use siglum_domain::Timestamp;
use siglum_domain::intake::Decline;

use super::columns::{Col, count, get, int, raw};
use super::tx::{Tx, Value};
use crate::record::*;
use crate::stored::{pack_lines, unpack_lines};
use crate::{LedgerError, Queue};

type Result<T> = std::result::Result<T, LedgerError>;

const TRANSCRIPT: &str = "t.stream, t.agent, t.session, \
     (SELECT a.native FROM aliases a WHERE a.tenant = $1 AND a.session = t.session AND a.agent = t.agent ORDER BY a.by_caller, a.first_at LIMIT 1), \
     t.path, t.subagent, t.file, t.read_to, t.tail, t.turn, t.own";

fn transcript_row(row: &Row) -> Result<TranscriptRecord> {
    Ok(TranscriptRecord {
        stream: raw(row, 0)?,
        agent: get(row, 1)?,
        session: get(row, 2)?,
        native: get(row, 3)?,
        path: raw(row, 4)?,
        subagent: raw(row, 5)?,
        file: raw(row, 6)?,
        read_to: count(row, 7)?,
        tail: raw(row, 8)?,
        turn: raw(row, 9)?,
        own: raw(row, 10)?,
    })
}

/// A segment from its stream, its bounds and its lines.
pub(super) fn segment_row(row: &Row) -> Result<Segment> {
    Ok(Segment {
        stream: raw(row, 0)?,
        first: count(row, 1)?,
        past: count(row, 2)?,
        lines: unpack_lines(raw(row, 3)?)?,
    })
}

impl Tx<'_> {
    fn transcripts(&mut self, rest: &str, of: &[Value<'_>]) -> Result<Vec<TranscriptRecord>> {
        let sql = format!("SELECT {TRANSCRIPT} FROM transcripts t WHERE t.tenant = $1 AND {rest}");
        self.rows(&sql, of, transcript_row)
    }
}

impl Queue for Tx<'_> {
    fn decline(&mut self, key: &str, at: Timestamp, d: &Decline) -> Result<()> {
        let sql = "INSERT INTO declines (tenant, key, at, edge, reason, detail, common_dir) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant, key) DO NOTHING";
        let common_dir = d.place.as_ref().map(|p| &p.common_dir);
        self.run(
            sql,
            &[&key, &Col(at), &d.edge, &d.reason, &d.detail, &common_dir],
        )?;
        Ok(())
    }

    fn declines(&mut self, since: Timestamp, limit: usize) -> Result<Vec<DeclineRecord>> {
        let sql = "SELECT at, edge, reason, detail FROM declines \
             WHERE tenant = $1 AND at >= $2 ORDER BY at DESC, position DESC LIMIT $3";
        self.rows(sql, &[&Col(since), &int(limit as u64)], |row| {
            Ok(DeclineRecord {
                at: get(row, 0)?,
                edge: raw(row, 1)?,
                reason: raw(row, 2)?,
                detail: raw(row, 3)?,
            })
        })
    }

    fn want_transcript(&mut self, r: &TranscriptRecord) -> Result<()> {
        let sql = "INSERT INTO transcripts (tenant, stream, agent, session, path, subagent) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (tenant, stream) DO UPDATE SET wanted = true, path = excluded.path";
        let agent = r.agent.as_str();
        self.run(
            sql,
            &[&r.stream, &agent, &Col(r.session), &r.path, &r.subagent],
        )?;
        Ok(())
    }

    fn wanted_transcripts(&mut self, limit: usize) -> Result<Vec<TranscriptRecord>> {
        let of = "t.wanted ORDER BY t.stream LIMIT $2";
        self.transcripts(of, &[&int(limit as u64)])
    }

    fn transcript(&mut self, stream: &str) -> Result<Option<TranscriptRecord>> {
        Ok(self.transcripts("t.stream = $2", &[&stream])?.pop())
    }

    fn transcript_read(&mut self, r: &TranscriptRecord, wanted: bool) -> Result<()> {
        let sql = "UPDATE transcripts SET file = $3, read_to = $4, tail = $5, turn = $6, own = $7, wanted = $8 \
             WHERE tenant = $1 AND stream = $2";
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
        let covered =
            "DELETE FROM segments WHERE tenant = $1 AND stream = $2 AND first < $4 AND past > $3";
        self.run(covered, &[&s.stream, &int(s.first), &int(s.past)])?;
        let sql = "INSERT INTO segments (tenant, stream, first, past, bytes, data) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (tenant, stream, first) DO UPDATE SET past = excluded.past, bytes = excluded.bytes, data = excluded.data";
        let (data, bytes) = pack_lines(&s.lines);
        let (first, past, bytes) = (int(s.first), int(s.past), int(bytes as u64));
        self.run(sql, &[&s.stream, &first, &past, &bytes, &data])?;
        Ok(())
    }

    fn segment(&mut self, stream: &str, offset: u64) -> Result<Option<Segment>> {
        let sql = "SELECT stream, first, past, data FROM segments \
             WHERE tenant = $1 AND stream = $2 AND first <= $3 ORDER BY first DESC LIMIT 1";
        let found = self.row(sql, &[&stream, &int(offset)], segment_row)?;
        Ok(found.filter(|s| s.past > offset))
    }

    fn push(&mut self, at: Timestamp, topic: &str, body: &str) -> Result<()> {
        let sql = "INSERT INTO outbox (tenant, at, topic, body) VALUES ($1, $2, $3, $4)";
        self.run(sql, &[&Col(at), &topic, &body])?;
        Ok(())
    }

    fn outbox_end(&mut self) -> Result<u64> {
        let sql = "SELECT coalesce(max(position), 0) FROM outbox WHERE tenant = $1";
        self.one(sql, &[], |row| count(row, 0))
    }

    fn cursor(&mut self, projection: &str) -> Result<u64> {
        let sql = "SELECT position FROM cursors WHERE tenant = $1 AND projection = $2";
        let found = self.row(sql, &[&projection], |row| count(row, 0))?;
        Ok(found.unwrap_or(0))
    }

    fn set_cursor(&mut self, projection: &str, position: u64) -> Result<()> {
        let sql = "INSERT INTO cursors (tenant, projection, position) VALUES ($1, $2, $3) \
             ON CONFLICT (tenant, projection) DO UPDATE SET position = excluded.position";
        self.run(sql, &[&projection, &int(position)])?;
        Ok(())
    }

    fn tried(&mut self, queue: &str, item: &str, at: Timestamp) -> Result<()> {
        let sql = "INSERT INTO parked (tenant, queue, item, at, reason, tries) VALUES ($1, $2, $3, $4, '', 1) \
             ON CONFLICT (tenant, queue, item) DO UPDATE SET tries = parked.tries + 1";
        self.run(sql, &[&queue, &item, &Col(at)])?;
        Ok(())
    }

    fn tries(&mut self, queue: &str, item: &str) -> Result<Option<u64>> {
        let sql = "SELECT tries FROM parked WHERE tenant = $1 AND queue = $2 AND item = $3";
        self.row(sql, &[&queue, &item], |row| count(row, 0))
    }

    fn park(&mut self, queue: &str, item: &str, at: Timestamp, reason: &str) -> Result<()> {
        let sql = "INSERT INTO parked (tenant, queue, item, at, reason) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, queue, item) DO UPDATE SET at = excluded.at, reason = excluded.reason";
        self.run(sql, &[&queue, &item, &Col(at), &reason])?;
        Ok(())
    }

    fn write_probe(&mut self) -> Result<()> {
        let sql = "INSERT INTO counters (tenant, name, value) VALUES ($1, 'probe', 1) \
             ON CONFLICT (tenant, name) DO UPDATE SET value = counters.value + 1";
        self.run(sql, &[])?;
        Ok(())
    }

    fn parked(&mut self) -> Result<Vec<(String, String, Timestamp, String)>> {
        let sql = "SELECT queue, item, at, reason FROM parked WHERE tenant = $1 AND reason <> '' ORDER BY at";
        self.rows(sql, &[], |row| {
            Ok((raw(row, 0)?, raw(row, 1)?, get(row, 2)?, raw(row, 3)?))
        })
    }

    fn unpark(&mut self, queue: &str, item: &str) -> Result<()> {
        let sql = "DELETE FROM parked WHERE tenant = $1 AND queue = $2 AND item = $3";
        self.run(sql, &[&queue, &item])?;
        Ok(())
    }
}
