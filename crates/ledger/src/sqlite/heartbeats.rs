//! Heartbeats and their ticks, in SQLite.

use rusqlite::{OptionalExtension, Row, ToSql, params};
use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt, parsed};
use super::open::Tx;
use super::pinned::{PINS, STRIPPED};
use crate::{HeartbeatRecord, Heartbeats, LedgerError, TickRecord, TickTotal};

type Result<T> = std::result::Result<T, LedgerError>;

const HEARTBEAT: &str = "name, definition, origin, by, created_at, changed_at, anchor, paused_at, removed_at, next_due, alive_at";
const TICK: &str = "heartbeat, due, cause, fired_at, by, held_until, outcome, reason, ended_at, missed, session, context, tokens, nano_usd, target, owed, tries, retry_at, delivered_at";

fn heartbeat_row(row: &Row<'_>) -> rusqlite::Result<HeartbeatRecord> {
    Ok(HeartbeatRecord {
        name: get(row, 0)?,
        definition: row.get(1)?,
        origin: row.get(2)?,
        by: row.get(3)?,
        created_at: get(row, 4)?,
        changed_at: get(row, 5)?,
        anchor: get(row, 6)?,
        paused_at: opt(row, 7)?,
        removed_at: opt(row, 8)?,
        next_due: opt(row, 9)?,
        alive_at: opt(row, 10)?,
    })
}

fn tick_row(row: &Row<'_>) -> rusqlite::Result<TickRecord> {
    Ok(TickRecord {
        heartbeat: get(row, 0)?,
        due: get(row, 1)?,
        cause: parsed(row, 2)?,
        fired_at: get(row, 3)?,
        by: row.get(4)?,
        held_until: get(row, 5)?,
        outcome: parsed(row, 6)?,
        reason: row.get(7)?,
        ended_at: opt(row, 8)?,
        missed: count(row, 9)?,
        session: opt(row, 10)?,
        context: opt(row, 11)?,
        tokens: count(row, 12)?,
        nano_usd: count(row, 13)?,
        target: row.get(14)?,
        owed: row.get(15)?,
        tries: count(row, 16)?,
        retry_at: opt(row, 17)?,
        delivered_at: opt(row, 18)?,
    })
}

impl Tx<'_> {
    fn heartbeat_rows(
        &self,
        behind: &str,
        of: impl rusqlite::Params,
    ) -> Result<Vec<HeartbeatRecord>> {
        let sql = format!("SELECT {HEARTBEAT} FROM heartbeats {behind}");
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map(of, heartbeat_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn tick_rows(&self, behind: &str, of: impl rusqlite::Params) -> Result<Vec<TickRecord>> {
        let sql = format!("SELECT {TICK} FROM ticks {behind}");
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map(of, tick_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn write_tick(&self, sql: &str, t: &TickRecord) -> Result<usize> {
        let values = params![
            t.heartbeat.as_str(),
            Col(t.due),
            t.cause.as_str(),
            Col(t.fired_at),
            t.by,
            Col(t.held_until),
            t.outcome.as_str(),
            t.reason,
            t.ended_at.map(Col),
            int(t.missed),
            t.session.map(Col),
            t.context.as_ref().map(|key| key.as_str()),
            int(t.tokens),
            int(t.nano_usd),
            t.target,
            t.owed,
            int(t.tries),
            t.retry_at.map(Col),
            t.delivered_at.map(Col),
        ];
        let written = self.db.prepare_cached(sql)?.execute(values)?;
        let key = (t.heartbeat.as_str(), Col(t.due));
        self.sum("ticks", "heartbeat = ?1 AND due = ?2", key)?;
        Ok(written)
    }
}

impl Heartbeats for Tx<'_> {
    fn put_heartbeat(&mut self, r: &HeartbeatRecord) -> Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO heartbeats ({HEARTBEAT}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        );
        let values = params![
            r.name.as_str(),
            r.definition,
            r.origin,
            r.by,
            Col(r.created_at),
            Col(r.changed_at),
            Col(r.anchor),
            r.paused_at.map(Col),
            r.removed_at.map(Col),
            r.next_due.map(Col),
            r.alive_at.map(Col),
        ];
        let (row, key) = ("name = ?1", [r.name.as_str()]);
        self.uncount("heartbeats", row, key)?;
        self.db.prepare_cached(&sql)?.execute(values)?;
        self.sum("heartbeats", row, key)
    }

    fn heartbeat(&mut self, name: &HeartbeatName) -> Result<Option<HeartbeatRecord>> {
        Ok(self
            .heartbeat_rows("WHERE name = ?1", [name.as_str()])?
            .pop())
    }

    fn heartbeats(&mut self) -> Result<Vec<HeartbeatRecord>> {
        self.heartbeat_rows("ORDER BY name", [])
    }

    fn due_heartbeats(&mut self, at: Timestamp, limit: usize) -> Result<Vec<HeartbeatRecord>> {
        let due = "WHERE next_due <= ?1 ORDER BY next_due, name LIMIT ?2";
        self.heartbeat_rows(due, (Col(at), int(limit as u64)))
    }

    fn drop_heartbeat(&mut self, name: &HeartbeatName) -> Result<()> {
        self.delete("heartbeats", "name = ?1", [name.as_str()])?;
        self.delete("tick_totals", "heartbeat = ?1", [name.as_str()])?;
        Ok(())
    }

    fn put_tick(&mut self, tick: &TickRecord) -> Result<bool> {
        let sql = format!(
            "INSERT INTO ticks ({TICK}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) ON CONFLICT DO NOTHING"
        );
        Ok(self.write_tick(&sql, tick)? == 1)
    }

    fn set_tick(&mut self, tick: &TickRecord) -> Result<()> {
        let sql = "UPDATE ticks SET cause = ?3, fired_at = ?4, by = ?5, held_until = ?6, outcome = ?7, reason = ?8, ended_at = ?9, missed = ?10, session = ?11, context = ?12, tokens = ?13, nano_usd = ?14, target = ?15, owed = ?16, tries = ?17, retry_at = ?18, delivered_at = ?19 WHERE heartbeat = ?1 AND due = ?2";
        self.write_tick(sql, tick).map(drop)
    }

    fn tick(&mut self, name: &HeartbeatName, due: Timestamp) -> Result<Option<TickRecord>> {
        let one = "WHERE heartbeat = ?1 AND due = ?2";
        Ok(self.tick_rows(one, (name.as_str(), Col(due)))?.pop())
    }

    fn ticks(
        &mut self,
        name: &HeartbeatName,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickRecord>> {
        let newest = "WHERE heartbeat = ?1 AND (?2 IS NULL OR due < ?2) ORDER BY due DESC LIMIT ?3";
        self.tick_rows(newest, (name.as_str(), before.map(Col), int(limit as u64)))
    }

    fn running_tick(&mut self, name: &HeartbeatName) -> Result<Option<TickRecord>> {
        let running = "WHERE outcome = 'running' AND heartbeat = ?1 ORDER BY due LIMIT 1";
        Ok(self.tick_rows(running, [name.as_str()])?.pop())
    }

    fn lost_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>> {
        let lost = "WHERE outcome = 'running' AND held_until <= ?1 ORDER BY held_until, heartbeat, due LIMIT ?2";
        self.tick_rows(lost, (Col(at), int(limit as u64)))
    }

    fn owed_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>> {
        let owed =
            "WHERE outcome = 'owed' AND retry_at <= ?1 ORDER BY retry_at, heartbeat, due LIMIT ?2";
        self.tick_rows(owed, (Col(at), int(limit as u64)))
    }

    fn old_ticks(
        &mut self,
        name: &HeartbeatName,
        after: Option<Timestamp>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TickRecord>> {
        let old = "WHERE heartbeat = ?1 AND due < ?2 AND outcome NOT IN ('running', 'owed') \
             AND due < (SELECT max(due) FROM ticks WHERE heartbeat = ?1) AND (?4 IS NULL OR due > ?4) ORDER BY due LIMIT ?3";
        self.tick_rows(
            old,
            (
                name.as_str(),
                Col(before),
                int(limit as u64),
                after.map(Col),
            ),
        )
    }

    fn drop_tick(&mut self, name: &HeartbeatName, due: Timestamp) -> Result<()> {
        let key = (name.as_str(), Col(due));
        self.delete("ticks", "heartbeat = ?1 AND due = ?2", key)?;
        Ok(())
    }

    fn add_tick_total(&mut self, name: &HeartbeatName, t: &TickTotal) -> Result<()> {
        let sql = "INSERT INTO tick_totals (heartbeat, outcome, reason, ticks, tokens, nano_usd) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (heartbeat, outcome, reason) DO UPDATE SET \
             ticks = ticks + excluded.ticks, tokens = tokens + excluded.tokens, nano_usd = nano_usd + excluded.nano_usd";
        let (ticks, tokens, nano_usd) = (int(t.ticks), int(t.tokens), int(t.nano_usd));
        let values = params![
            name.as_str(),
            t.outcome.as_str(),
            t.reason,
            ticks,
            tokens,
            nano_usd
        ];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn tick_totals(&mut self, name: &HeartbeatName) -> Result<Vec<TickTotal>> {
        let sql = "SELECT outcome, reason, ticks, tokens, nano_usd FROM tick_totals \
             WHERE heartbeat = ?1 ORDER BY outcome, reason";
        let total = |row: &Row<'_>| {
            Ok(TickTotal {
                outcome: parsed(row, 0)?,
                reason: row.get(1)?,
                ticks: count(row, 2)?,
                tokens: count(row, 3)?,
                nano_usd: count(row, 4)?,
            })
        };
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([name.as_str()], total)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn drop_session(&mut self, session: SessionId, by: &str) -> Result<Option<String>> {
        let id = Col(session);
        let known = "SELECT 1 FROM sessions WHERE id = ?1";
        let mut query = self.db.prepare_cached(known)?;
        if !query.exists([&id])? {
            return Ok(Some("unknown".to_owned()));
        }
        let home = Col(self.ledger);
        let given: [&dyn ToSql; 3] = [&id, &by, &home];
        for (word, sql) in PINS {
            let mut query = self.db.prepare_cached(sql)?;
            let needed = query.parameter_count();
            let pinned = query
                .query_row(&given[..needed], |row| row.get::<_, i64>(0))
                .optional()?;
            if pinned.is_some() {
                return Ok(Some((*word).to_owned()));
            }
        }
        self.erase_securely()?;
        self.change_usages(session, |tx| {
            for (table, rows) in STRIPPED {
                tx.delete(table, rows, [&id])?;
            }
            Ok(())
        })?;
        Ok(None)
    }
}
