//! Runs: their turns, what agents asked people in them, and what others see of them meanwhile.

use siglum_domain::{InteractionId, NativeId, Redacted, SessionId, Timestamp, TurnId};

use crate::columns::{Col, Limit, Row, int};
use crate::database::Database;
use crate::row::{from_json, json};
use crate::sql::sql;
use crate::{
    ActiveRun, InteractionRecord, LedgerError, RunEnd, RunEvents, RunRecord, Runs, Settlement,
};

type Result<T> = std::result::Result<T, LedgerError>;

const RUN: &str = "turn, session, key, native, route, context, by, started_at, ended_at, status, error, committed";
const INTERACTION: &str =
    "id, session, turn, kind, title, call, options, raised_at, settled_at, how, option, by";
const ACTIVE: &str = "session, driver, key, by, since, turn, cancelled_by";
const EVENTS: &str = "turn, first, last, session, at, events";

fn run_row(row: &Row<'_>) -> Result<RunRecord> {
    let end = match row.get(8)? {
        Some(at) => Some(RunEnd {
            at,
            status: row.get::<Option<String>>(9)?.unwrap_or_default(),
            error: row.get::<Option<String>>(10)?.map(Redacted::from_stored),
            committed: row.get(11)?,
        }),
        None => None,
    };
    Ok(RunRecord {
        turn: row.get(0)?,
        session: row.get(1)?,
        key: row.get(2)?,
        native: row.get(3)?,
        route: row.get(4)?,
        context: row.get(5)?,
        by: row.get(6)?,
        started_at: row.get(7)?,
        end,
    })
}

fn interaction_row(row: &Row<'_>) -> Result<InteractionRecord> {
    let settled = match row.get(8)? {
        Some(at) => Some(Settlement {
            at,
            how: row.get::<Option<String>>(9)?.unwrap_or_default(),
            option: row.get(10)?,
            by: row.get::<Option<String>>(11)?.unwrap_or_default(),
        }),
        None => None,
    };
    Ok(InteractionRecord {
        id: row.get(0)?,
        session: row.get(1)?,
        turn: row.get(2)?,
        kind: row.get(3)?,
        title: Redacted::from_stored(row.get::<String>(4)?),
        call: row.get(5)?,
        options: from_json("options of an interaction", &row.get::<String>(6)?)?,
        raised_at: row.get(7)?,
        settled,
    })
}

fn active_row(row: &Row<'_>) -> Result<ActiveRun> {
    Ok(ActiveRun {
        session: row.get(0)?,
        driver: row.get(1)?,
        key: row.get(2)?,
        by: row.get(3)?,
        since: row.get(4)?,
        turn: row.get(5)?,
        cancelled_by: row.get(6)?,
    })
}

fn events_row(row: &Row<'_>) -> Result<RunEvents> {
    Ok(RunEvents {
        turn: row.get(0)?,
        first: row.count(1)?,
        last: row.count(2)?,
        session: row.get(3)?,
        at: row.get(4)?,
        events: row.get(5)?,
    })
}

impl<D: Database> Runs for D {
    fn put_run(&mut self, r: &RunRecord) -> Result<()> {
        let sql = sql!("INSERT INTO runs ([tenant,] " RUN ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
             ON CONFLICT ([tenant,] turn) DO UPDATE SET session = excluded.session, key = excluded.key, \
             native = excluded.native, route = excluded.route, context = excluded.context, by = excluded.by, \
             started_at = excluded.started_at, ended_at = excluded.ended_at, status = excluded.status, \
             error = excluded.error, committed = excluded.committed");
        let end = r.end.as_ref();
        self.run(
            sql,
            &[
                &Col(r.turn),
                &Col(r.session),
                &r.key,
                &r.native.as_ref().map(NativeId::as_str),
                &r.route.as_ref().map(|key| key.as_str()),
                &r.context.as_ref().map(|key| key.as_str()),
                &r.by,
                &Col(r.started_at),
                &end.map(|end| Col(end.at)),
                &end.map(|end| &end.status),
                &end.and_then(|end| end.error.as_ref().map(Redacted::as_str)),
                &end.is_none_or(|end| end.committed),
            ],
        )?;
        self.sum("runs", "turn = ?1", &[&Col(r.turn)])
    }

    fn run_of_turn(&mut self, turn: TurnId) -> Result<Option<RunRecord>> {
        let sql = sql!("SELECT " RUN " FROM runs WHERE [tenant = $1 AND] turn = ?1");
        self.row(sql, &[&Col(turn)], run_row)
    }

    fn runs_of(&mut self, session: SessionId, limit: usize) -> Result<Vec<RunRecord>> {
        let sql = sql!("SELECT " RUN " FROM runs WHERE [tenant = $1 AND] session = ?1 \
             ORDER BY started_at DESC, turn DESC LIMIT ?2");
        self.rows(sql, &[&Col(session), &Limit(limit)], run_row)
    }

    fn put_interaction(&mut self, r: &InteractionRecord) -> Result<()> {
        let sql = sql!("INSERT INTO interactions ([tenant,] " INTERACTION ") \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
        let settled = r.settled.as_ref();
        self.run(
            sql,
            &[
                &Col(r.id),
                &Col(r.session),
                &Col(r.turn),
                &r.kind,
                &r.title.as_str(),
                &r.call,
                &json(&r.options),
                &Col(r.raised_at),
                &settled.map(|settled| Col(settled.at)),
                &settled.map(|settled| &settled.how),
                &settled.and_then(|settled| settled.option.as_ref()),
                &settled.map(|settled| &settled.by),
            ],
        )?;
        self.sum("interactions", "id = ?1", &[&Col(r.id)])
    }

    fn interaction(&mut self, id: InteractionId) -> Result<Option<InteractionRecord>> {
        let sql = sql!("SELECT " INTERACTION " FROM interactions WHERE [tenant = $1 AND] id = ?1");
        self.row(sql, &[&Col(id)], interaction_row)
    }

    fn interactions_of(
        &mut self,
        session: SessionId,
        limit: usize,
    ) -> Result<Vec<InteractionRecord>> {
        let sql = sql!("SELECT " INTERACTION " FROM interactions WHERE [tenant = $1 AND] session = ?1 \
             ORDER BY raised_at DESC, id DESC LIMIT ?2");
        self.rows(sql, &[&Col(session), &Limit(limit)], interaction_row)
    }

    fn settle_interaction(&mut self, id: InteractionId, settled: &Settlement) -> Result<bool> {
        let sql = sql!(
            "UPDATE interactions SET settled_at = ?2, how = ?3, option = ?4, by = ?5 \
             WHERE [tenant = $1 AND] id = ?1 AND settled_at IS NULL"
        );
        let settled = self.run(
            sql,
            &[
                &Col(id),
                &Col(settled.at),
                &settled.how,
                &settled.option,
                &settled.by,
            ],
        )?;
        self.sum("interactions", "id = ?1", &[&Col(id)])?;
        Ok(settled == 1)
    }

    fn put_active_run(&mut self, r: &ActiveRun) -> Result<()> {
        let sql = sql!("INSERT INTO active_runs ([tenant,] " ACTIVE ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT ([tenant,] session) DO UPDATE SET driver = excluded.driver, key = excluded.key, by = excluded.by, \
             since = excluded.since, turn = excluded.turn, cancelled_by = excluded.cancelled_by");
        self.run(
            sql,
            &[
                &Col(r.session),
                &r.driver,
                &r.key,
                &r.by,
                &Col(r.since),
                &r.turn.map(Col),
                &r.cancelled_by,
            ],
        )?;
        Ok(())
    }

    fn active_run(&mut self, session: SessionId) -> Result<Option<ActiveRun>> {
        let sql = sql!("SELECT " ACTIVE " FROM active_runs WHERE [tenant = $1 AND] session = ?1");
        self.row(sql, &[&Col(session)], active_row)
    }

    fn begin_active_run(&mut self, session: SessionId, driver: &str, turn: TurnId) -> Result<()> {
        let sql = sql!(
            "UPDATE active_runs SET turn = ?3 WHERE [tenant = $1 AND] session = ?1 AND driver = ?2"
        );
        self.run(sql, &[&Col(session), &driver, &Col(turn)])?;
        Ok(())
    }

    fn cancel_active_run(&mut self, session: SessionId, driver: &str, by: &str) -> Result<bool> {
        let sql = sql!(
            "UPDATE active_runs SET cancelled_by = coalesce(cancelled_by, ?3) \
             WHERE [tenant = $1 AND] session = ?1 AND driver = ?2"
        );
        Ok(self.run(sql, &[&Col(session), &driver, &by])? == 1)
    }

    fn put_run_events(&mut self, e: &RunEvents) -> Result<()> {
        let sql = sql!("INSERT INTO run_events ([tenant,] " EVENTS ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT ([tenant,] turn, first) DO UPDATE SET last = excluded.last, session = excluded.session, \
             at = excluded.at, events = excluded.events");
        self.run(
            sql,
            &[
                &Col(e.turn),
                &int(e.first),
                &int(e.last),
                &Col(e.session),
                &Col(e.at),
                &e.events,
            ],
        )?;
        Ok(())
    }

    fn run_events(&mut self, turn: TurnId, after: u64, limit: usize) -> Result<Vec<RunEvents>> {
        let sql = sql!("SELECT " EVENTS " FROM run_events WHERE [tenant = $1 AND] turn = ?1 AND last > ?2 ORDER BY first LIMIT ?3");
        self.rows(sql, &[&Col(turn), &int(after), &Limit(limit)], events_row)
    }

    fn cut_run_events(&mut self, turn: TurnId, last: u64) -> Result<()> {
        let sql = sql!(
            "DELETE FROM run_events WHERE [tenant = $1 AND] turn = ?1 AND first > 1 AND last <= ?2"
        );
        self.run(sql, &[&Col(turn), &int(last)])?;
        Ok(())
    }

    fn drop_run_events(&mut self, turn: TurnId) -> Result<()> {
        let sql = sql!("DELETE FROM run_events WHERE [tenant = $1 AND] turn = ?1");
        self.run(sql, &[&Col(turn)])?;
        Ok(())
    }

    fn drop_old_run_events(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        // By their places: joined by its key, the whole table may be read for a slice of it.
        let sql = sql!(
            "DELETE FROM run_events WHERE [tenant = $1 AND ctid = ANY(ARRAY( \
             SELECT o.ctid FROM run_events o WHERE o.tenant = $1 AND o.at < ?1 ORDER BY o.at LIMIT ?2))\
             |(turn, first) IN (SELECT turn, first FROM run_events WHERE at < ?1 ORDER BY at LIMIT ?2)]"
        );
        self.run(sql, &[&Col(before), &int(limit as u64)])
    }
}
