//! Heartbeats and their ticks.

use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::{SessionId, Timestamp};

use super::pinned::{OwnPins, remove_session};
use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::sql::{Sql, sql};
use crate::{HeartbeatRecord, Heartbeats, LedgerError, TickRecord, TickTotal};

type Result<T> = std::result::Result<T, LedgerError>;

const HEARTBEAT: &str = "name, definition, origin, by, created_at, changed_at, anchor, paused_at, removed_at, next_due, alive_at";
const TICK: &str = "heartbeat, due, cause, fired_at, by, held_until, outcome, reason, ended_at, missed, session, context, tokens, nano_usd, target, owed, tries, retry_at, delivered_at";

fn heartbeat_row(row: &Row<'_>) -> Result<HeartbeatRecord> {
    Ok(HeartbeatRecord {
        name: row.get(0)?,
        definition: row.get(1)?,
        origin: row.get(2)?,
        by: row.get(3)?,
        created_at: row.get(4)?,
        changed_at: row.get(5)?,
        anchor: row.get(6)?,
        paused_at: row.get(7)?,
        removed_at: row.get(8)?,
        next_due: row.get(9)?,
        alive_at: row.get(10)?,
    })
}

fn tick_row(row: &Row<'_>) -> Result<TickRecord> {
    Ok(TickRecord {
        heartbeat: row.get(0)?,
        due: row.get(1)?,
        cause: row.parsed(2)?,
        fired_at: row.get(3)?,
        by: row.get(4)?,
        held_until: row.get(5)?,
        outcome: row.parsed(6)?,
        reason: row.get(7)?,
        ended_at: row.get(8)?,
        missed: row.count(9)?,
        session: row.get(10)?,
        context: row.get(11)?,
        tokens: row.count(12)?,
        nano_usd: row.count(13)?,
        target: row.get(14)?,
        owed: row.get(15)?,
        tries: row.count(16)?,
        retry_at: row.get(17)?,
        delivered_at: row.get(18)?,
    })
}

fn write_tick(db: &mut impl Database, sql: Sql<'_>, t: &TickRecord) -> Result<u64> {
    let of: [Value<'_>; 19] = [
        &t.heartbeat.as_str(),
        &Col(t.due),
        &t.cause.as_str(),
        &Col(t.fired_at),
        &t.by,
        &Col(t.held_until),
        &t.outcome.as_str(),
        &t.reason,
        &t.ended_at.map(Col),
        &int(t.missed),
        &t.session.map(Col),
        &t.context.as_ref().map(|key| key.as_str()),
        &int(t.tokens),
        &int(t.nano_usd),
        &t.target,
        &t.owed,
        &int(t.tries),
        &t.retry_at.map(Col),
        &t.delivered_at.map(Col),
    ];
    let written = db.run(sql, &of)?;
    let key: [Value<'_>; 2] = [&t.heartbeat.as_str(), &Col(t.due)];
    db.sum("ticks", "heartbeat = ?1 AND due = ?2", &key)?;
    Ok(written)
}

impl<D: OwnPins> Heartbeats for D {
    fn put_heartbeat(&mut self, r: &HeartbeatRecord) -> Result<()> {
        let sql = sql!("INSERT INTO heartbeats ([tenant,] " HEARTBEAT ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
             ON CONFLICT ([tenant,] name) DO UPDATE SET definition = excluded.definition, origin = excluded.origin, \
             by = excluded.by, created_at = excluded.created_at, changed_at = excluded.changed_at, \
             anchor = excluded.anchor, paused_at = excluded.paused_at, removed_at = excluded.removed_at, \
             next_due = excluded.next_due, alive_at = excluded.alive_at");
        let of: [Value<'_>; 11] = [
            &r.name.as_str(),
            &r.definition,
            &r.origin,
            &r.by,
            &Col(r.created_at),
            &Col(r.changed_at),
            &Col(r.anchor),
            &r.paused_at.map(Col),
            &r.removed_at.map(Col),
            &r.next_due.map(Col),
            &r.alive_at.map(Col),
        ];
        self.run(sql, &of)?;
        self.sum("heartbeats", "name = ?1", &[&r.name.as_str()])
    }

    fn heartbeat(&mut self, name: &HeartbeatName) -> Result<Option<HeartbeatRecord>> {
        let sql = sql!("SELECT " HEARTBEAT " FROM heartbeats WHERE [tenant = $1 AND] name = ?1 [FOR UPDATE]");
        self.row(sql, &[&name.as_str()], heartbeat_row)
    }

    fn heartbeats(&mut self) -> Result<Vec<HeartbeatRecord>> {
        let sql = sql!("SELECT " HEARTBEAT " FROM heartbeats [WHERE tenant = $1] ORDER BY name");
        self.rows(sql, &[], heartbeat_row)
    }

    fn due_heartbeats(&mut self, at: Timestamp, limit: usize) -> Result<Vec<HeartbeatRecord>> {
        // What others look at is theirs.
        let sql = sql!("SELECT " HEARTBEAT " FROM heartbeats WHERE [tenant = $1 AND] next_due <= ?1 \
             ORDER BY next_due, name LIMIT ?2 [FOR UPDATE SKIP LOCKED]");
        self.rows(sql, &[&Col(at), &int(limit as u64)], heartbeat_row)
    }

    fn drop_heartbeat(&mut self, name: &HeartbeatName) -> Result<()> {
        let rows = sql!("[tenant = $1 AND] name = ?1");
        self.delete("heartbeats", rows, &[&name.as_str()])?;
        let rows = sql!("[tenant = $1 AND] heartbeat = ?1");
        self.delete("tick_totals", rows, &[&name.as_str()])?;
        Ok(())
    }

    fn put_tick(&mut self, tick: &TickRecord) -> Result<bool> {
        let sql = sql!("INSERT INTO ticks ([tenant,] " TICK ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) ON CONFLICT DO NOTHING");
        Ok(write_tick(self, sql, tick)? == 1)
    }

    fn set_tick(&mut self, tick: &TickRecord) -> Result<()> {
        let sql = sql!(
            "UPDATE ticks SET cause = ?3, fired_at = ?4, by = ?5, held_until = ?6, outcome = ?7, reason = ?8, ended_at = ?9, missed = ?10, session = ?11, context = ?12, tokens = ?13, nano_usd = ?14, target = ?15, owed = ?16, tries = ?17, retry_at = ?18, delivered_at = ?19 WHERE [tenant = $1 AND] heartbeat = ?1 AND due = ?2"
        );
        write_tick(self, sql, tick).map(drop)
    }

    fn tick(&mut self, name: &HeartbeatName, due: Timestamp) -> Result<Option<TickRecord>> {
        let sql = sql!("SELECT " TICK " FROM ticks WHERE [tenant = $1 AND] heartbeat = ?1 AND due = ?2 [FOR UPDATE]");
        self.row(sql, &[&name.as_str(), &Col(due)], tick_row)
    }

    fn ticks(
        &mut self,
        name: &HeartbeatName,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickRecord>> {
        let sql = sql!("SELECT " TICK " FROM ticks WHERE [tenant = $1 AND] heartbeat = ?1 \
             AND (?2[::bigint] IS NULL OR due < ?2) ORDER BY due DESC LIMIT ?3");
        let of: [Value<'_>; 3] = [&name.as_str(), &before.map(Col), &int(limit as u64)];
        self.rows(sql, &of, tick_row)
    }

    fn running_tick(&mut self, name: &HeartbeatName) -> Result<Option<TickRecord>> {
        let sql = sql!("SELECT " TICK " FROM ticks WHERE [tenant = $1 AND] outcome = 'running' AND heartbeat = ?1 \
             ORDER BY due LIMIT 1");
        self.row(sql, &[&name.as_str()], tick_row)
    }

    fn lost_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>> {
        let sql = sql!("SELECT " TICK " FROM ticks WHERE [tenant = $1 AND] outcome = 'running' AND held_until <= ?1 \
             ORDER BY held_until, heartbeat, due LIMIT ?2 [FOR UPDATE SKIP LOCKED]");
        self.rows(sql, &[&Col(at), &int(limit as u64)], tick_row)
    }

    fn owed_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>> {
        let sql = sql!("SELECT " TICK " FROM ticks WHERE [tenant = $1 AND] outcome = 'owed' AND retry_at <= ?1 \
             ORDER BY retry_at, heartbeat, due LIMIT ?2 [FOR UPDATE SKIP LOCKED]");
        self.rows(sql, &[&Col(at), &int(limit as u64)], tick_row)
    }

    fn old_ticks(
        &mut self,
        name: &HeartbeatName,
        after: Option<Timestamp>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TickRecord>> {
        let sql = sql!("SELECT " TICK " FROM ticks WHERE [tenant = $1 AND] heartbeat = ?1 AND due < ?2 \
             AND outcome NOT IN ('running', 'owed') \
             AND due < (SELECT max(n.due) FROM ticks n WHERE [n.tenant = $1 AND] n.heartbeat = ?1) \
             AND (?4[::bigint] IS NULL OR due > ?4) ORDER BY due LIMIT ?3 [FOR UPDATE SKIP LOCKED]");
        let of: [Value<'_>; 4] = [
            &name.as_str(),
            &Col(before),
            &int(limit as u64),
            &after.map(Col),
        ];
        self.rows(sql, &of, tick_row)
    }

    fn drop_tick(&mut self, name: &HeartbeatName, due: Timestamp) -> Result<()> {
        let rows = sql!("[tenant = $1 AND] heartbeat = ?1 AND due = ?2");
        self.delete("ticks", rows, &[&name.as_str(), &Col(due)])?;
        Ok(())
    }

    fn add_tick_total(&mut self, name: &HeartbeatName, t: &TickTotal) -> Result<()> {
        let sql = sql!(
            "INSERT INTO tick_totals ([tenant,] heartbeat, outcome, reason, ticks, tokens, nano_usd) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT ([tenant,] heartbeat, outcome, reason) DO UPDATE SET \
             ticks = tick_totals.ticks + excluded.ticks, tokens = tick_totals.tokens + excluded.tokens, \
             nano_usd = tick_totals.nano_usd + excluded.nano_usd"
        );
        let (ticks, tokens, nano_usd) = (int(t.ticks), int(t.tokens), int(t.nano_usd));
        let of: [Value<'_>; 6] = [
            &name.as_str(),
            &t.outcome.as_str(),
            &t.reason,
            &ticks,
            &tokens,
            &nano_usd,
        ];
        self.run(sql, &of).map(drop)
    }

    fn tick_totals(&mut self, name: &HeartbeatName) -> Result<Vec<TickTotal>> {
        let sql = sql!(
            "SELECT outcome, reason, ticks, tokens, nano_usd FROM tick_totals \
             WHERE [tenant = $1 AND] heartbeat = ?1 ORDER BY outcome, reason"
        );
        self.rows(sql, &[&name.as_str()], |row| {
            Ok(TickTotal {
                outcome: row.parsed(0)?,
                reason: row.get(1)?,
                ticks: row.count(2)?,
                tokens: row.count(3)?,
                nano_usd: row.count(4)?,
            })
        })
    }

    fn drop_session(&mut self, session: SessionId, by: &str) -> Result<Option<String>> {
        remove_session(self, session, by)
    }
}
