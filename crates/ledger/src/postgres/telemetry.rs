//! Telemetry from outside, in PostgreSQL.

use postgres::Row;
use siglum_domain::trace::{SpanId, TraceId};
use siglum_domain::{AgentName, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int, opt, raw};
use super::tx::Tx;
use crate::{Depth, ForwardRecord, LedgerError, Telemetry, TelemetryBatch, UnassignedRecord};

type Result<T> = std::result::Result<T, LedgerError>;

const BATCH: &str = "sequence, at, signal, session, records, forwarded, payload";
const UNASSIGNED: &str =
    "sequence, at, signal, trace, span, agent, name, session, records, reason, forwarded, payload";
const FORWARD: &str = "sequence, destination, at, signal, session, records, payload";
const DEPTH: &str =
    "SELECT count(*), coalesce(sum(records), 0)::bigint, coalesce(sum(bytes), 0)::bigint FROM";

fn batch_row(row: &Row) -> Result<TelemetryBatch> {
    Ok(TelemetryBatch {
        sequence: count(row, 0)?,
        at: get(row, 1)?,
        signal: raw(row, 2)?,
        session: opt(row, 3)?,
        records: count(row, 4)?,
        forwarded: raw(row, 5)?,
        payload: raw(row, 6)?,
    })
}

fn unassigned_row(row: &Row) -> Result<UnassignedRecord> {
    let trace: Option<&[u8]> = raw(row, 3)?;
    let span: Option<&[u8]> = raw(row, 4)?;
    Ok(UnassignedRecord {
        sequence: count(row, 0)?,
        at: get(row, 1)?,
        signal: raw(row, 2)?,
        trace: trace.and_then(TraceId::from_bytes),
        span: span.and_then(SpanId::from_bytes),
        agent: opt(row, 5)?,
        name: raw(row, 6)?,
        session: opt(row, 7)?,
        records: count(row, 8)?,
        reason: raw(row, 9)?,
        forwarded: raw(row, 10)?,
        payload: raw(row, 11)?,
    })
}

fn forward_row(row: &Row) -> Result<ForwardRecord> {
    Ok(ForwardRecord {
        sequence: count(row, 0)?,
        destination: raw(row, 1)?,
        at: get(row, 2)?,
        signal: raw(row, 3)?,
        session: opt(row, 4)?,
        records: count(row, 5)?,
        payload: raw(row, 6)?,
    })
}

fn depth_row(row: &Row) -> Result<Depth> {
    Ok(Depth {
        rows: count(row, 0)?,
        records: count(row, 1)?,
        bytes: count(row, 2)?,
    })
}

impl Telemetry for Tx<'_> {
    fn put_batch(&mut self, b: &TelemetryBatch) -> Result<u64> {
        let sql = "INSERT INTO telemetry_inbox (tenant, at, signal, session, records, forwarded, bytes, payload) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING sequence";
        self.one(
            sql,
            &[
                &Col(b.at),
                &b.signal,
                &b.session.map(Col),
                &int(b.records),
                &b.forwarded,
                &int(b.payload.len() as u64),
                &b.payload,
            ],
            |row| count(row, 0),
        )
    }

    fn batches(&mut self, limit: usize) -> Result<Vec<TelemetryBatch>> {
        let sql = format!(
            "SELECT {BATCH} FROM telemetry_inbox WHERE tenant = $1 ORDER BY sequence LIMIT $2"
        );
        let locked = self.locked(&sql);
        // What another gateway looks at is its own.
        let sql = match locked == sql {
            true => sql,
            false => format!("{locked} SKIP LOCKED"),
        };
        self.rows(&sql, &[&int(limit as u64)], batch_row)
    }

    fn drop_batch(&mut self, sequence: u64) -> Result<()> {
        let sql = "DELETE FROM telemetry_inbox WHERE tenant = $1 AND sequence = $2";
        self.run(sql, &[&int(sequence)]).map(drop)
    }

    fn inbox(&mut self) -> Result<Depth> {
        let sql = format!("{DEPTH} telemetry_inbox WHERE tenant = $1");
        self.one(&sql, &[], depth_row)
    }

    fn note_trace(&mut self, trace: &TraceId, session: SessionId, at: Timestamp) -> Result<()> {
        let sql = "INSERT INTO traced_sessions (tenant, trace, session, at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT DO NOTHING";
        self.run(sql, &[&&trace.bytes()[..], &Col(session), &Col(at)])
            .map(drop)
    }

    fn sessions_of_trace(&mut self, trace: &TraceId, limit: usize) -> Result<Vec<SessionId>> {
        let sql = "SELECT session FROM traced_sessions WHERE tenant = $1 AND trace = $2 LIMIT $3";
        self.rows(sql, &[&&trace.bytes()[..], &int(limit as u64)], |row| {
            get(row, 0)
        })
    }

    fn sessions_of_call(&mut self, event: &str, limit: usize) -> Result<Vec<SessionId>> {
        let sql = "SELECT DISTINCT session FROM observations \
             WHERE tenant = $1 AND event = $2 AND kind IN ('tool_started', 'tool_ended', 'subagent_started') LIMIT $3";
        self.rows(sql, &[&event, &int(limit as u64)], |row| get(row, 0))
    }

    fn session_of_turn(&mut self, turn: TurnId) -> Result<Option<SessionId>> {
        let sql = "SELECT session FROM turns WHERE tenant = $1 AND id = $2 \
             UNION ALL SELECT session FROM open_turns WHERE tenant = $1 AND id = $2 LIMIT 1";
        self.row(sql, &[&Col(turn)], |row| get(row, 0))
    }

    fn put_unassigned(&mut self, r: &UnassignedRecord) -> Result<u64> {
        let sql = "INSERT INTO unassigned (tenant, at, signal, trace, span, agent, name, session, records, reason, forwarded, bytes, payload) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING sequence";
        self.one(
            sql,
            &[
                &Col(r.at),
                &r.signal,
                &r.trace.as_ref().map(|t| &t.bytes()[..]),
                &r.span.as_ref().map(|s| &s.bytes()[..]),
                &r.agent.as_ref().map(AgentName::as_str),
                &r.name,
                &r.session.map(Col),
                &int(r.records),
                &r.reason,
                &r.forwarded,
                &int(r.payload.len() as u64),
                &r.payload,
            ],
            |row| count(row, 0),
        )
    }

    fn unassigned(&mut self, before: Option<u64>, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = format!(
            "SELECT {UNASSIGNED} FROM unassigned WHERE tenant = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3"
        );
        let before = before.map_or(i64::MAX, int);
        self.rows(&sql, &[&before, &int(limit as u64)], unassigned_row)
    }

    fn unassigned_of(&mut self, trace: &TraceId, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = format!(
            "SELECT {UNASSIGNED} FROM unassigned WHERE tenant = $1 AND trace = $2 ORDER BY sequence LIMIT $3"
        );
        let sql = self.locked(&sql);
        self.rows(
            &sql,
            &[&&trace.bytes()[..], &int(limit as u64)],
            unassigned_row,
        )
    }

    fn unforwarded(&mut self, until: Timestamp, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = format!(
            "SELECT {UNASSIGNED} FROM unassigned WHERE tenant = $1 AND NOT forwarded AND at <= $2 \
             ORDER BY at, sequence LIMIT $3"
        );
        let sql = self.locked(&sql);
        self.rows(&sql, &[&Col(until), &int(limit as u64)], unassigned_row)
    }

    fn set_forwarded(&mut self, sequence: u64) -> Result<()> {
        let sql = "UPDATE unassigned SET forwarded = true WHERE tenant = $1 AND sequence = $2";
        self.run(sql, &[&int(sequence)]).map(drop)
    }

    fn drop_unassigned(&mut self, sequence: u64) -> Result<()> {
        let sql = "DELETE FROM unassigned WHERE tenant = $1 AND sequence = $2";
        self.run(sql, &[&int(sequence)]).map(drop)
    }

    fn trim_unassigned(&mut self, keep: usize) -> Result<u64> {
        let sql = "DELETE FROM unassigned WHERE tenant = $1 AND sequence <= \
             (SELECT sequence FROM unassigned WHERE tenant = $1 ORDER BY sequence DESC LIMIT 1 OFFSET $2) RETURNING records";
        let records = self.rows(sql, &[&int(keep as u64)], |row| count(row, 0))?;
        Ok(records.iter().sum())
    }

    fn unassigned_depth(&mut self) -> Result<Depth> {
        let sql = format!("{DEPTH} unassigned WHERE tenant = $1");
        self.one(&sql, &[], depth_row)
    }

    fn put_forward(&mut self, f: &ForwardRecord) -> Result<u64> {
        let sql = "INSERT INTO forwards (tenant, destination, at, signal, session, records, bytes, payload) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING sequence";
        self.one(
            sql,
            &[
                &f.destination,
                &Col(f.at),
                &f.signal,
                &f.session.map(Col),
                &int(f.records),
                &int(f.payload.len() as u64),
                &f.payload,
            ],
            |row| count(row, 0),
        )
    }

    fn forwards(&mut self, destination: &str, limit: usize) -> Result<Vec<ForwardRecord>> {
        let sql = format!(
            "SELECT {FORWARD} FROM forwards WHERE tenant = $1 AND destination = $2 ORDER BY sequence LIMIT $3"
        );
        self.rows(&sql, &[&destination, &int(limit as u64)], forward_row)
    }

    fn drop_forward(&mut self, sequence: u64) -> Result<()> {
        let sql = "DELETE FROM forwards WHERE tenant = $1 AND sequence = $2";
        self.run(sql, &[&int(sequence)]).map(drop)
    }

    fn drop_forwards(&mut self, destination: &str) -> Result<u64> {
        let sql = "DELETE FROM forwards WHERE tenant = $1 AND destination = $2 RETURNING records";
        let records = self.rows(sql, &[&destination], |row| count(row, 0))?;
        Ok(records.iter().sum())
    }

    fn forward_depth(&mut self, destination: &str) -> Result<Depth> {
        let sql = format!("{DEPTH} forwards WHERE tenant = $1 AND destination = $2");
        self.one(&sql, &[&destination], depth_row)
    }

    fn add_count(&mut self, name: &str, by: u64) -> Result<()> {
        let sql = "INSERT INTO telemetry_counts (tenant, name, value) VALUES ($1, $2, $3) \
             ON CONFLICT (tenant, name) DO UPDATE SET value = telemetry_counts.value + excluded.value";
        self.run(sql, &[&name, &int(by)]).map(drop)
    }

    fn counts(&mut self) -> Result<Vec<(String, u64)>> {
        let sql = "SELECT name, value FROM telemetry_counts WHERE tenant = $1 ORDER BY name";
        self.rows(sql, &[], |row| Ok((raw(row, 0)?, count(row, 1)?)))
    }
}
