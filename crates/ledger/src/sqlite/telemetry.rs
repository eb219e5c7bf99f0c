//! Telemetry from outside, in SQLite.

use rusqlite::{Row, params};
use siglum_domain::trace::{SpanId, TraceId};
use siglum_domain::{AgentName, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use crate::{Depth, ForwardRecord, LedgerError, Telemetry, TelemetryBatch, UnassignedRecord};

type Result<T> = std::result::Result<T, LedgerError>;

const BATCH: &str = "sequence, at, signal, session, records, forwarded, payload";
const UNASSIGNED: &str =
    "sequence, at, signal, trace, span, agent, name, session, records, reason, forwarded, payload";
const FORWARD: &str = "sequence, destination, at, signal, session, records, payload";
const DEPTH: &str = "SELECT count(*), coalesce(sum(records), 0), coalesce(sum(bytes), 0) FROM";

fn batch_row(row: &Row<'_>) -> rusqlite::Result<TelemetryBatch> {
    Ok(TelemetryBatch {
        sequence: count(row, 0)?,
        at: get(row, 1)?,
        signal: row.get(2)?,
        session: opt(row, 3)?,
        records: count(row, 4)?,
        forwarded: row.get(5)?,
        payload: row.get(6)?,
    })
}

fn unassigned_row(row: &Row<'_>) -> rusqlite::Result<UnassignedRecord> {
    let trace: Option<Vec<u8>> = row.get(3)?;
    let span: Option<Vec<u8>> = row.get(4)?;
    Ok(UnassignedRecord {
        sequence: count(row, 0)?,
        at: get(row, 1)?,
        signal: row.get(2)?,
        trace: trace.and_then(|bytes| TraceId::from_bytes(&bytes)),
        span: span.and_then(|bytes| SpanId::from_bytes(&bytes)),
        agent: opt(row, 5)?,
        name: row.get(6)?,
        session: opt(row, 7)?,
        records: count(row, 8)?,
        reason: row.get(9)?,
        forwarded: row.get(10)?,
        payload: row.get(11)?,
    })
}

fn forward_row(row: &Row<'_>) -> rusqlite::Result<ForwardRecord> {
    Ok(ForwardRecord {
        sequence: count(row, 0)?,
        destination: row.get(1)?,
        at: get(row, 2)?,
        signal: row.get(3)?,
        session: opt(row, 4)?,
        records: count(row, 5)?,
        payload: row.get(6)?,
    })
}

fn depth_row(row: &Row<'_>) -> rusqlite::Result<Depth> {
    Ok(Depth {
        rows: count(row, 0)?,
        records: count(row, 1)?,
        bytes: count(row, 2)?,
    })
}

impl Tx<'_> {
    fn listed<T>(
        &self,
        sql: &str,
        of: impl rusqlite::Params,
        record: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map(of, record)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn depth(&self, of: &str, values: impl rusqlite::Params) -> Result<Depth> {
        let mut query = self.db.prepare_cached(&format!("{DEPTH} {of}"))?;
        Ok(query.query_row(values, depth_row)?)
    }

    /// Inserts a row and gives its place.
    fn placed(&self, sql: &str, values: impl rusqlite::Params) -> Result<u64> {
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row(values, |row| count(row, 0))?)
    }

    /// Deletes rows and gives how many records were in them.
    fn dropped(&self, sql: &str, values: impl rusqlite::Params) -> Result<u64> {
        let records = self.listed(sql, values, |row| count(row, 0))?;
        Ok(records.iter().sum())
    }
}

impl Telemetry for Tx<'_> {
    fn put_batch(&mut self, b: &TelemetryBatch) -> Result<u64> {
        let sql = "INSERT INTO telemetry_inbox (at, signal, session, records, forwarded, bytes, payload) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING sequence";
        let values = params![
            Col(b.at),
            b.signal,
            b.session.map(Col),
            int(b.records),
            b.forwarded,
            int(b.payload.len() as u64),
            b.payload,
        ];
        self.placed(sql, values)
    }

    fn batches(&mut self, limit: usize) -> Result<Vec<TelemetryBatch>> {
        let sql = format!("SELECT {BATCH} FROM telemetry_inbox ORDER BY sequence LIMIT ?1");
        self.listed(&sql, [int(limit as u64)], batch_row)
    }

    fn drop_batch(&mut self, sequence: u64) -> Result<()> {
        let sql = "DELETE FROM telemetry_inbox WHERE sequence = ?1";
        self.db.prepare_cached(sql)?.execute([int(sequence)])?;
        Ok(())
    }

    fn inbox(&mut self) -> Result<Depth> {
        self.depth("telemetry_inbox", [])
    }

    fn note_trace(&mut self, trace: &TraceId, session: SessionId, at: Timestamp) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO traced_sessions (trace, session, at) VALUES (?1, ?2, ?3)";
        let values = params![&trace.bytes()[..], Col(session), Col(at)];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn sessions_of_trace(&mut self, trace: &TraceId, limit: usize) -> Result<Vec<SessionId>> {
        let sql = "SELECT session FROM traced_sessions WHERE trace = ?1 LIMIT ?2";
        let values = params![&trace.bytes()[..], int(limit as u64)];
        self.listed(sql, values, |row| get(row, 0))
    }

    fn sessions_of_call(&mut self, event: &str, limit: usize) -> Result<Vec<SessionId>> {
        let sql = "SELECT DISTINCT session FROM observations \
             WHERE event = ?1 AND kind IN ('tool_started', 'tool_ended', 'subagent_started') LIMIT ?2";
        self.listed(sql, (event, int(limit as u64)), |row| get(row, 0))
    }

    fn session_of_turn(&mut self, turn: TurnId) -> Result<Option<SessionId>> {
        let sql = "SELECT session FROM turns WHERE id = ?1 \
             UNION ALL SELECT session FROM open_turns WHERE id = ?1 LIMIT 1";
        let found = self.listed(sql, [Col(turn)], |row| get(row, 0))?;
        Ok(found.into_iter().next())
    }

    fn put_unassigned(&mut self, r: &UnassignedRecord) -> Result<u64> {
        let sql = "INSERT INTO unassigned (at, signal, trace, span, agent, name, session, records, reason, forwarded, bytes, payload) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) RETURNING sequence";
        let values = params![
            Col(r.at),
            r.signal,
            r.trace.as_ref().map(|t| &t.bytes()[..]),
            r.span.as_ref().map(|s| &s.bytes()[..]),
            r.agent.as_ref().map(AgentName::as_str),
            r.name,
            r.session.map(Col),
            int(r.records),
            r.reason,
            r.forwarded,
            int(r.payload.len() as u64),
            r.payload,
        ];
        self.placed(sql, values)
    }

    fn unassigned(&mut self, before: Option<u64>, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = format!(
            "SELECT {UNASSIGNED} FROM unassigned WHERE sequence < ?1 ORDER BY sequence DESC LIMIT ?2"
        );
        let before = before.map_or(i64::MAX, int);
        self.listed(&sql, (before, int(limit as u64)), unassigned_row)
    }

    fn unassigned_of(&mut self, trace: &TraceId, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = format!(
            "SELECT {UNASSIGNED} FROM unassigned WHERE trace = ?1 ORDER BY sequence LIMIT ?2"
        );
        let values = params![&trace.bytes()[..], int(limit as u64)];
        self.listed(&sql, values, unassigned_row)
    }

    fn unforwarded(&mut self, until: Timestamp, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = format!(
            "SELECT {UNASSIGNED} FROM unassigned WHERE forwarded = 0 AND at <= ?1 ORDER BY at, sequence LIMIT ?2"
        );
        self.listed(&sql, (Col(until), int(limit as u64)), unassigned_row)
    }

    fn set_forwarded(&mut self, sequence: u64) -> Result<()> {
        let sql = "UPDATE unassigned SET forwarded = 1 WHERE sequence = ?1";
        self.db.prepare_cached(sql)?.execute([int(sequence)])?;
        Ok(())
    }

    fn drop_unassigned(&mut self, sequence: u64) -> Result<()> {
        let sql = "DELETE FROM unassigned WHERE sequence = ?1";
        self.db.prepare_cached(sql)?.execute([int(sequence)])?;
        Ok(())
    }

    fn trim_unassigned(&mut self, keep: usize) -> Result<u64> {
        let sql = "DELETE FROM unassigned WHERE sequence <= \
             (SELECT sequence FROM unassigned ORDER BY sequence DESC LIMIT 1 OFFSET ?1) RETURNING records";
        self.dropped(sql, [int(keep as u64)])
    }

    fn unassigned_depth(&mut self) -> Result<Depth> {
        self.depth("unassigned", [])
    }

    fn put_forward(&mut self, f: &ForwardRecord) -> Result<u64> {
        let sql = "INSERT INTO forwards (destination, at, signal, session, records, bytes, payload) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING sequence";
        let values = params![
            f.destination,
            Col(f.at),
            f.signal,
            f.session.map(Col),
            int(f.records),
            int(f.payload.len() as u64),
            f.payload,
        ];
        self.placed(sql, values)
    }

    fn forwards(&mut self, destination: &str, limit: usize) -> Result<Vec<ForwardRecord>> {
        let sql = format!(
            "SELECT {FORWARD} FROM forwards WHERE destination = ?1 ORDER BY sequence LIMIT ?2"
        );
        self.listed(&sql, (destination, int(limit as u64)), forward_row)
    }

    fn drop_forward(&mut self, sequence: u64) -> Result<()> {
        let sql = "DELETE FROM forwards WHERE sequence = ?1";
        self.db.prepare_cached(sql)?.execute([int(sequence)])?;
        Ok(())
    }

    fn drop_forwards(&mut self, destination: &str) -> Result<u64> {
        let sql = "DELETE FROM forwards WHERE destination = ?1 RETURNING records";
        self.dropped(sql, [destination])
    }

    fn forward_depth(&mut self, destination: &str) -> Result<Depth> {
        self.depth("forwards WHERE destination = ?1", [destination])
    }

    fn add_count(&mut self, name: &str, by: u64) -> Result<()> {
        let sql = "INSERT INTO telemetry_counts (name, value) VALUES (?1, ?2) \
             ON CONFLICT (name) DO UPDATE SET value = value + excluded.value";
        self.db.prepare_cached(sql)?.execute((name, int(by)))?;
        Ok(())
    }

    fn counts(&mut self) -> Result<Vec<(String, u64)>> {
        let sql = "SELECT name, value FROM telemetry_counts ORDER BY name";
        self.listed(sql, [], |row| Ok((row.get(0)?, count(row, 1)?)))
    }
}
