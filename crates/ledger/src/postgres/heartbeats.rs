//! Heartbeats and their ticks, in PostgreSQL.

use postgres::Row;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt, parsed, raw};
use super::pinned::{PINS, STRIPPED};
use super::tx::{Tx, Value};
use crate::{HeartbeatRecord, Heartbeats, LedgerError, TickRecord, TickTotal};

type Result<T> = std::result::Result<T, LedgerError>;

const HEARTBEAT: &str = "name, definition, origin, by, created_at, changed_at, anchor, paused_at, removed_at, next_due, alive_at";
const TICK: &str = "heartbeat, due, cause, fired_at, by, held_until, outcome, reason, ended_at, missed, session, context, tokens, nano_usd, target, owed, tries, retry_at, delivered_at";

fn heartbeat_row(row: &Row) -> Result<HeartbeatRecord> {
    Ok(HeartbeatRecord {
        name: get(row, 0)?,
        definition: raw(row, 1)?,
        origin: raw(row, 2)?,
        by: raw(row, 3)?,
        created_at: get(row, 4)?,
        changed_at: get(row, 5)?,
        anchor: get(row, 6)?,
        paused_at: opt(row, 7)?,
        removed_at: opt(row, 8)?,
        next_due: opt(row, 9)?,
        alive_at: opt(row, 10)?,
    })
}

fn tick_row(row: &Row) -> Result<TickRecord> {
    Ok(TickRecord {
        heartbeat: get(row, 0)?,
        due: get(row, 1)?,
        cause: parsed(row, 2)?,
        fired_at: get(row, 3)?,
        by: raw(row, 4)?,
        held_until: get(row, 5)?,
        outcome: parsed(row, 6)?,
        reason: raw(row, 7)?,
        ended_at: opt(row, 8)?,
        missed: count(row, 9)?,
        session: opt(row, 10)?,
        context: opt(row, 11)?,
        tokens: count(row, 12)?,
        nano_usd: count(row, 13)?,
        target: raw(row, 14)?,
        owed: raw(row, 15)?,
        tries: count(row, 16)?,
        retry_at: opt(row, 17)?,
        delivered_at: opt(row, 18)?,
    })
}

impl Tx<'_> {
    fn heartbeat_rows(&mut self, sql: &str, of: &[Value<'_>]) -> Result<Vec<HeartbeatRecord>> {
        self.rows(sql, of, heartbeat_row)
    }

    /// What others look at is theirs.
    fn unlocked(&self, sql: &str) -> String {
        let locked = self.locked(sql);
        match locked == sql {
            true => locked,
            false => format!("{locked} SKIP LOCKED"),
        }
    }

    fn tick_rows(&mut self, behind: &str, of: &[Value<'_>]) -> Result<Vec<TickRecord>> {
        self.rows(
            &format!("SELECT {TICK} FROM ticks WHERE tenant = $1 AND {behind}"),
            of,
            tick_row,
        )
    }

    fn write_tick(&mut self, sql: &str, t: &TickRecord) -> Result<u64> {
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
        self.run(sql, &of)
    }
}

impl Heartbeats for Tx<'_> {
    fn put_heartbeat(&mut self, r: &HeartbeatRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO heartbeats (tenant, {HEARTBEAT}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
             ON CONFLICT (tenant, name) DO UPDATE SET definition = excluded.definition, origin = excluded.origin, \
             by = excluded.by, created_at = excluded.created_at, changed_at = excluded.changed_at, \
             anchor = excluded.anchor, paused_at = excluded.paused_at, removed_at = excluded.removed_at, \
             next_due = excluded.next_due, alive_at = excluded.alive_at"
        );
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
        self.run(&sql, &of).map(drop)
    }

    fn heartbeat(&mut self, name: &HeartbeatName) -> Result<Option<HeartbeatRecord>> {
        let sql = format!("SELECT {HEARTBEAT} FROM heartbeats WHERE tenant = $1 AND name = $2");
        let sql = self.locked(&sql);
        Ok(self.heartbeat_rows(&sql, &[&name.as_str()])?.pop())
    }

    fn heartbeats(&mut self) -> Result<Vec<HeartbeatRecord>> {
        let sql = format!("SELECT {HEARTBEAT} FROM heartbeats WHERE tenant = $1 ORDER BY name");
        self.heartbeat_rows(&sql, &[])
    }

    fn due_heartbeats(&mut self, at: Timestamp, limit: usize) -> Result<Vec<HeartbeatRecord>> {
        let sql = format!(
            "SELECT {HEARTBEAT} FROM heartbeats WHERE tenant = $1 AND next_due <= $2 ORDER BY next_due, name LIMIT $3"
        );
        let sql = self.unlocked(&sql);
        self.heartbeat_rows(&sql, &[&Col(at), &int(limit as u64)])
    }

    fn drop_heartbeat(&mut self, name: &HeartbeatName) -> Result<()> {
        for sql in [
            "DELETE FROM heartbeats WHERE tenant = $1 AND name = $2",
            "DELETE FROM tick_totals WHERE tenant = $1 AND heartbeat = $2",
        ] {
            self.run(sql, &[&name.as_str()])?;
        }
        Ok(())
    }

    fn put_tick(&mut self, tick: &TickRecord) -> Result<bool> {
        let sql = format!(
            "INSERT INTO ticks (tenant, {TICK}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) ON CONFLICT DO NOTHING"
        );
        Ok(self.write_tick(&sql, tick)? == 1)
    }

    fn set_tick(&mut self, tick: &TickRecord) -> Result<()> {
        let sql = "UPDATE ticks SET cause = $4, fired_at = $5, by = $6, held_until = $7, outcome = $8, reason = $9, ended_at = $10, missed = $11, session = $12, context = $13, tokens = $14, nano_usd = $15, target = $16, owed = $17, tries = $18, retry_at = $19, delivered_at = $20 WHERE tenant = $1 AND heartbeat = $2 AND due = $3";
        self.write_tick(sql, tick).map(drop)
    }

    fn tick(&mut self, name: &HeartbeatName, due: Timestamp) -> Result<Option<TickRecord>> {
        let one = self.locked("heartbeat = $2 AND due = $3");
        Ok(self.tick_rows(&one, &[&name.as_str(), &Col(due)])?.pop())
    }

    fn ticks(
        &mut self,
        name: &HeartbeatName,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickRecord>> {
        let newest =
            "heartbeat = $2 AND ($3::bigint IS NULL OR due < $3) ORDER BY due DESC LIMIT $4";
        self.tick_rows(
            newest,
            &[&name.as_str(), &before.map(Col), &int(limit as u64)],
        )
    }

    fn running_tick(&mut self, name: &HeartbeatName) -> Result<Option<TickRecord>> {
        let running = "outcome = 'running' AND heartbeat = $2 ORDER BY due LIMIT 1";
        Ok(self.tick_rows(running, &[&name.as_str()])?.pop())
    }

    fn lost_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>> {
        let lost =
            "outcome = 'running' AND held_until <= $2 ORDER BY held_until, heartbeat, due LIMIT $3";
        let lost = self.unlocked(lost);
        self.tick_rows(&lost, &[&Col(at), &int(limit as u64)])
    }

    fn owed_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>> {
        let owed = "outcome = 'owed' AND retry_at <= $2 ORDER BY retry_at, heartbeat, due LIMIT $3";
        let owed = self.unlocked(owed);
        self.tick_rows(&owed, &[&Col(at), &int(limit as u64)])
    }

    fn old_ticks(
        &mut self,
        name: &HeartbeatName,
        after: Option<Timestamp>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TickRecord>> {
        let old = "heartbeat = $2 AND due < $3 AND outcome NOT IN ('running', 'owed') \
             AND due < (SELECT max(n.due) FROM ticks n WHERE n.tenant = $1 AND n.heartbeat = $2) AND ($5::bigint IS NULL OR due > $5) ORDER BY due LIMIT $4";
        let old = self.unlocked(old);
        self.tick_rows(
            &old,
            &[
                &name.as_str(),
                &Col(before),
                &int(limit as u64),
                &after.map(Col),
            ],
        )
    }

    fn drop_tick(&mut self, name: &HeartbeatName, due: Timestamp) -> Result<()> {
        let sql = "DELETE FROM ticks WHERE tenant = $1 AND heartbeat = $2 AND due = $3";
        self.run(sql, &[&name.as_str(), &Col(due)]).map(drop)
    }

    fn add_tick_total(&mut self, name: &HeartbeatName, t: &TickTotal) -> Result<()> {
        let sql = "INSERT INTO tick_totals (tenant, heartbeat, outcome, reason, ticks, tokens, nano_usd) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant, heartbeat, outcome, reason) DO UPDATE SET \
             ticks = tick_totals.ticks + excluded.ticks, tokens = tick_totals.tokens + excluded.tokens, \
             nano_usd = tick_totals.nano_usd + excluded.nano_usd";
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
        let sql = "SELECT outcome, reason, ticks, tokens, nano_usd FROM tick_totals \
             WHERE tenant = $1 AND heartbeat = $2 ORDER BY outcome, reason";
        self.rows(sql, &[&name.as_str()], |row| {
            Ok(TickTotal {
                outcome: parsed(row, 0)?,
                reason: raw(row, 1)?,
                ticks: count(row, 2)?,
                tokens: count(row, 3)?,
                nano_usd: count(row, 4)?,
            })
        })
    }

    fn drop_session(&mut self, session: SessionId, by: &str) -> Result<Option<String>> {
        let id = Col(session);
        // Whoever writes to it holds its row, and waits until it is gone, or comes before.
        let known = self.locked("SELECT 1 FROM sessions WHERE tenant = $1 AND id = $2");
        if self.row(&known, &[&id], |_| Ok(()))?.is_none() {
            return Ok(Some("unknown".to_owned()));
        }
        let home = Col(self.ledger);
        let given: [Value<'_>; 3] = [&id, &by, &home];
        for (word, sql) in PINS {
            let needed = if sql.contains("$4") {
                3
            } else {
                1 + usize::from(sql.contains("$3"))
            };
            if self.row(sql, &given[..needed], |_| Ok(()))?.is_some() {
                return Ok(Some((*word).to_owned()));
            }
        }
        self.change_usages(session, |tx| {
            for sql in STRIPPED {
                tx.run(sql, &[&id])?;
            }
            Ok(())
        })?;
        Ok(None)
    }
}
