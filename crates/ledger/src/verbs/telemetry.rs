//! Telemetry from outside.

use siglum_domain::trace::{SpanId, TraceId};
use siglum_domain::{AgentName, SessionId, Timestamp, TurnId};

use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::sql::{Sql, sql};
use crate::{Depth, ForwardRecord, LedgerError, Telemetry, TelemetryBatch, UnassignedRecord};

type Result<T> = std::result::Result<T, LedgerError>;

const BATCH: &str = "sequence, at, signal, session, records, forwarded, payload";
const UNASSIGNED: &str =
    "sequence, at, signal, trace, span, agent, name, session, records, reason, forwarded, payload";
const FORWARD: &str = "sequence, destination, at, signal, session, records, payload";
const DEPTH: &str =
    "SELECT count(*), coalesce(sum(records), 0)[::bigint], coalesce(sum(bytes), 0)[::bigint] FROM";

fn batch_row(row: &Row<'_>) -> Result<TelemetryBatch> {
    Ok(TelemetryBatch {
        sequence: row.count(0)?,
        at: row.get(1)?,
        signal: row.get(2)?,
        session: row.get(3)?,
        records: row.count(4)?,
        forwarded: row.get(5)?,
        payload: row.get(6)?,
    })
}

fn unassigned_row(row: &Row<'_>) -> Result<UnassignedRecord> {
    let trace: Option<Vec<u8>> = row.get(3)?;
    let span: Option<Vec<u8>> = row.get(4)?;
    Ok(UnassignedRecord {
        sequence: row.count(0)?,
        at: row.get(1)?,
        signal: row.get(2)?,
        trace: trace.and_then(|bytes| TraceId::from_bytes(&bytes)),
        span: span.and_then(|bytes| SpanId::from_bytes(&bytes)),
        agent: row.get(5)?,
        name: row.get(6)?,
        session: row.get(7)?,
        records: row.count(8)?,
        reason: row.get(9)?,
        forwarded: row.get(10)?,
        payload: row.get(11)?,
    })
}

fn forward_row(row: &Row<'_>) -> Result<ForwardRecord> {
    Ok(ForwardRecord {
        sequence: row.count(0)?,
        destination: row.get(1)?,
        at: row.get(2)?,
        signal: row.get(3)?,
        session: row.get(4)?,
        records: row.count(5)?,
        payload: row.get(6)?,
    })
}

fn depth_row(row: &Row<'_>) -> Result<Depth> {
    Ok(Depth {
        rows: row.count(0)?,
        records: row.count(1)?,
        bytes: row.count(2)?,
    })
}

/// Deletes rows and gives how many records were in them.
fn drop_records(db: &mut impl Database, sql: Sql<'_>, of: &[Value<'_>]) -> Result<u64> {
    let records = db.rows(sql, of, |row| row.count(0))?;
    Ok(records.iter().sum())
}

impl<D: Database> Telemetry for D {
    fn put_batch(&mut self, b: &TelemetryBatch) -> Result<u64> {
        let sql = sql!(
            "INSERT INTO telemetry_inbox ([tenant,] at, signal, session, records, forwarded, bytes, payload) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING sequence"
        );
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
            |row| row.count(0),
        )
    }

    fn batches(&mut self, limit: usize) -> Result<Vec<TelemetryBatch>> {
        // What another gateway looks at is its own.
        let sql = sql!("SELECT " BATCH " FROM telemetry_inbox [WHERE tenant = $1] ORDER BY sequence LIMIT ?1 \
             [FOR UPDATE SKIP LOCKED]");
        self.rows(sql, &[&int(limit as u64)], batch_row)
    }

    fn drop_batch(&mut self, sequence: u64) -> Result<()> {
        let sql = sql!("DELETE FROM telemetry_inbox WHERE [tenant = $1 AND] sequence = ?1");
        self.run(sql, &[&int(sequence)]).map(drop)
    }

    fn inbox(&mut self) -> Result<Depth> {
        let sql = sql!(DEPTH " telemetry_inbox [WHERE tenant = $1]");
        self.one(sql, &[], depth_row)
    }

    fn note_trace(&mut self, trace: &TraceId, session: SessionId, at: Timestamp) -> Result<()> {
        let sql = sql!(
            "INSERT INTO traced_sessions ([tenant,] trace, session, at) VALUES ([$1,] ?1, ?2, ?3) \
             ON CONFLICT DO NOTHING"
        );
        self.run(sql, &[&&trace.bytes()[..], &Col(session), &Col(at)])
            .map(drop)
    }

    fn sessions_of_trace(&mut self, trace: &TraceId, limit: usize) -> Result<Vec<SessionId>> {
        let sql =
            sql!("SELECT session FROM traced_sessions WHERE [tenant = $1 AND] trace = ?1 LIMIT ?2");
        self.rows(sql, &[&&trace.bytes()[..], &int(limit as u64)], |row| {
            row.get(0)
        })
    }

    fn sessions_of_call(&mut self, event: &str, limit: usize) -> Result<Vec<SessionId>> {
        let sql = sql!(
            "SELECT DISTINCT session FROM observations \
             WHERE [tenant = $1 AND] event = ?1 AND kind IN ('tool_started', 'tool_ended', 'subagent_started') LIMIT ?2"
        );
        self.rows(sql, &[&event, &int(limit as u64)], |row| row.get(0))
    }

    fn session_of_turn(&mut self, turn: TurnId) -> Result<Option<SessionId>> {
        let sql = sql!(
            "SELECT session FROM turns WHERE [tenant = $1 AND] id = ?1 \
             UNION ALL SELECT session FROM open_turns WHERE [tenant = $1 AND] id = ?1 LIMIT 1"
        );
        self.row(sql, &[&Col(turn)], |row| row.get(0))
    }

    fn put_unassigned(&mut self, r: &UnassignedRecord) -> Result<u64> {
        let sql = sql!(
            "INSERT INTO unassigned ([tenant,] at, signal, trace, span, agent, name, session, records, reason, forwarded, bytes, payload) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) RETURNING sequence"
        );
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
            |row| row.count(0),
        )
    }

    fn unassigned(&mut self, before: Option<u64>, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = sql!("SELECT " UNASSIGNED " FROM unassigned WHERE [tenant = $1 AND] sequence < ?1 ORDER BY sequence DESC LIMIT ?2");
        let before = before.map_or(i64::MAX, int);
        self.rows(sql, &[&before, &int(limit as u64)], unassigned_row)
    }

    fn unassigned_of(&mut self, trace: &TraceId, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = sql!("SELECT " UNASSIGNED " FROM unassigned WHERE [tenant = $1 AND] trace = ?1 ORDER BY sequence LIMIT ?2 [FOR UPDATE]");
        self.rows(
            sql,
            &[&&trace.bytes()[..], &int(limit as u64)],
            unassigned_row,
        )
    }

    fn unforwarded(&mut self, until: Timestamp, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let sql = sql!("SELECT " UNASSIGNED " FROM unassigned WHERE [tenant = $1 AND] [NOT forwarded|forwarded = 0] AND at <= ?1 \
             ORDER BY at, sequence LIMIT ?2 [FOR UPDATE]");
        self.rows(sql, &[&Col(until), &int(limit as u64)], unassigned_row)
    }

    fn set_forwarded(&mut self, sequence: u64) -> Result<()> {
        let sql =
            sql!("UPDATE unassigned SET forwarded = true WHERE [tenant = $1 AND] sequence = ?1");
        self.run(sql, &[&int(sequence)]).map(drop)
    }

    fn drop_unassigned(&mut self, sequence: u64) -> Result<()> {
        let sql = sql!("DELETE FROM unassigned WHERE [tenant = $1 AND] sequence = ?1");
        self.run(sql, &[&int(sequence)]).map(drop)
    }

    fn trim_unassigned(&mut self, keep: usize) -> Result<u64> {
        let sql = sql!(
            "DELETE FROM unassigned WHERE [tenant = $1 AND] sequence <= \
             (SELECT sequence FROM unassigned [WHERE tenant = $1] ORDER BY sequence DESC LIMIT 1 OFFSET ?1) RETURNING records"
        );
        drop_records(self, sql, &[&int(keep as u64)])
    }

    fn unassigned_depth(&mut self) -> Result<Depth> {
        let sql = sql!(DEPTH " unassigned [WHERE tenant = $1]");
        self.one(sql, &[], depth_row)
    }

    fn put_forward(&mut self, f: &ForwardRecord) -> Result<u64> {
        let sql = sql!(
            "INSERT INTO forwards ([tenant,] destination, at, signal, session, records, bytes, payload) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING sequence"
        );
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
            |row| row.count(0),
        )
    }

    fn forwards(&mut self, destination: &str, limit: usize) -> Result<Vec<ForwardRecord>> {
        let sql = sql!("SELECT " FORWARD " FROM forwards WHERE [tenant = $1 AND] destination = ?1 ORDER BY sequence LIMIT ?2");
        self.rows(sql, &[&destination, &int(limit as u64)], forward_row)
    }

    fn drop_forward(&mut self, sequence: u64) -> Result<()> {
        let sql = sql!("DELETE FROM forwards WHERE [tenant = $1 AND] sequence = ?1");
        self.run(sql, &[&int(sequence)]).map(drop)
    }

    fn drop_forwards(&mut self, destination: &str) -> Result<u64> {
        let sql =
            sql!("DELETE FROM forwards WHERE [tenant = $1 AND] destination = ?1 RETURNING records");
        drop_records(self, sql, &[&destination])
    }

    fn forward_depth(&mut self, destination: &str) -> Result<Depth> {
        let sql = sql!(DEPTH " forwards WHERE [tenant = $1 AND] destination = ?1");
        self.one(sql, &[&destination], depth_row)
    }

    fn add_count(&mut self, name: &str, by: u64) -> Result<()> {
        let sql = sql!(
            "INSERT INTO telemetry_counts ([tenant,] name, value) VALUES ([$1,] ?1, ?2) \
             ON CONFLICT ([tenant,] name) DO UPDATE SET value = telemetry_counts.value + excluded.value"
        );
        self.run(sql, &[&name, &int(by)]).map(drop)
    }

    fn counts(&mut self) -> Result<Vec<(String, u64)>> {
        let sql =
            sql!("SELECT name, value FROM telemetry_counts [WHERE tenant = $1] ORDER BY name");
        self.rows(sql, &[], |row| Ok((row.get(0)?, row.count(1)?)))
    }
}
