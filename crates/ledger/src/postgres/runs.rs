//! Runs in PostgreSQL.

use postgres::Row;
use siglum_domain::{InteractionId, NativeId, Redacted, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int, limit as most, opt, raw};
use super::tx::Tx;
use crate::row::{from_json, json};
use crate::{
    ActiveRun, InteractionRecord, LedgerError, RunEnd, RunEvents, RunRecord, Runs, Settlement,
};

type Result<T> = std::result::Result<T, LedgerError>;

const RUN: &str = "turn, session, key, native, route, context, by, started_at, ended_at, status, error, committed";
const INTERACTION: &str =
    "id, session, turn, kind, title, call, options, raised_at, settled_at, how, option, by";
const ACTIVE: &str = "session, driver, key, by, since, turn, cancelled_by";
const EVENTS: &str = "turn, first, last, session, at, events";

fn run_row(row: &Row) -> Result<RunRecord> {
    let end = match opt(row, 8)? {
        Some(at) => Some(RunEnd {
            at,
            status: raw::<Option<String>>(row, 9)?.unwrap_or_default(),
            error: raw::<Option<String>>(row, 10)?.map(Redacted::from_stored),
            committed: raw(row, 11)?,
        }),
        None => None,
    };
    Ok(RunRecord {
        turn: get(row, 0)?,
        session: get(row, 1)?,
        key: raw(row, 2)?,
        native: opt(row, 3)?,
        route: opt(row, 4)?,
        context: opt(row, 5)?,
        by: raw(row, 6)?,
        started_at: get(row, 7)?,
        end,
    })
}

fn interaction_row(row: &Row) -> Result<InteractionRecord> {
    let settled = match opt(row, 8)? {
        Some(at) => Some(Settlement {
            at,
            how: raw::<Option<String>>(row, 9)?.unwrap_or_default(),
            option: raw(row, 10)?,
            by: raw::<Option<String>>(row, 11)?.unwrap_or_default(),
        }),
        None => None,
    };
    Ok(InteractionRecord {
        id: get(row, 0)?,
        session: get(row, 1)?,
        turn: get(row, 2)?,
        kind: raw(row, 3)?,
        title: Redacted::from_stored(raw::<String>(row, 4)?),
        call: raw(row, 5)?,
        options: from_json("options of an interaction", raw(row, 6)?)?,
        raised_at: get(row, 7)?,
        settled,
    })
}

fn active_row(row: &Row) -> Result<ActiveRun> {
    Ok(ActiveRun {
        session: get(row, 0)?,
        driver: raw(row, 1)?,
        key: raw(row, 2)?,
        by: raw(row, 3)?,
        since: get(row, 4)?,
        turn: opt(row, 5)?,
        cancelled_by: raw(row, 6)?,
    })
}

fn events_row(row: &Row) -> Result<RunEvents> {
    Ok(RunEvents {
        turn: get(row, 0)?,
        first: count(row, 1)?,
        last: count(row, 2)?,
        session: get(row, 3)?,
        at: get(row, 4)?,
        events: raw(row, 5)?,
    })
}

impl Runs for Tx<'_> {
    fn put_run(&mut self, r: &RunRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO runs (tenant, {RUN}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
             ON CONFLICT (tenant, turn) DO UPDATE SET session = excluded.session, key = excluded.key, \
             native = excluded.native, route = excluded.route, context = excluded.context, by = excluded.by, \
             started_at = excluded.started_at, ended_at = excluded.ended_at, status = excluded.status, \
             error = excluded.error, committed = excluded.committed"
        );
        let end = r.end.as_ref();
        self.run(
            &sql,
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
        Ok(())
    }

    fn run_of_turn(&mut self, turn: TurnId) -> Result<Option<RunRecord>> {
        let sql = format!("SELECT {RUN} FROM runs WHERE tenant = $1 AND turn = $2");
        self.row(&sql, &[&Col(turn)], run_row)
    }

    fn runs_of(&mut self, session: SessionId, limit: usize) -> Result<Vec<RunRecord>> {
        let sql = format!(
            "SELECT {RUN} FROM runs WHERE tenant = $1 AND session = $2 \
             ORDER BY started_at DESC, turn DESC LIMIT $3"
        );
        self.rows(&sql, &[&Col(session), &most(limit)], run_row)
    }

    fn put_interaction(&mut self, r: &InteractionRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO interactions (tenant, {INTERACTION}) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        );
        let settled = r.settled.as_ref();
        self.run(
            &sql,
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
        Ok(())
    }

    fn interaction(&mut self, id: InteractionId) -> Result<Option<InteractionRecord>> {
        let sql = format!("SELECT {INTERACTION} FROM interactions WHERE tenant = $1 AND id = $2");
        self.row(&sql, &[&Col(id)], interaction_row)
    }

    fn interactions_of(
        &mut self,
        session: SessionId,
        limit: usize,
    ) -> Result<Vec<InteractionRecord>> {
        let sql = format!(
            "SELECT {INTERACTION} FROM interactions WHERE tenant = $1 AND session = $2 \
             ORDER BY raised_at DESC, id DESC LIMIT $3"
        );
        self.rows(&sql, &[&Col(session), &most(limit)], interaction_row)
    }

    fn settle_interaction(&mut self, id: InteractionId, settled: &Settlement) -> Result<bool> {
        let sql = "UPDATE interactions SET settled_at = $3, how = $4, option = $5, by = $6 \
             WHERE tenant = $1 AND id = $2 AND settled_at IS NULL";
        let values = self.run(
            sql,
            &[
                &Col(id),
                &Col(settled.at),
                &settled.how,
                &settled.option,
                &settled.by,
            ],
        )?;
        Ok(values == 1)
    }

    fn put_active_run(&mut self, r: &ActiveRun) -> Result<()> {
        let sql = format!(
            "INSERT INTO active_runs (tenant, {ACTIVE}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
             ON CONFLICT (tenant, session) DO UPDATE SET driver = excluded.driver, key = excluded.key, by = excluded.by, \
             since = excluded.since, turn = excluded.turn, cancelled_by = excluded.cancelled_by"
        );
        self.run(
            &sql,
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
        let sql = format!("SELECT {ACTIVE} FROM active_runs WHERE tenant = $1 AND session = $2");
        self.row(&sql, &[&Col(session)], active_row)
    }

    fn begin_active_run(&mut self, session: SessionId, driver: &str, turn: TurnId) -> Result<()> {
        let sql =
            "UPDATE active_runs SET turn = $4 WHERE tenant = $1 AND session = $2 AND driver = $3";
        self.run(sql, &[&Col(session), &driver, &Col(turn)])?;
        Ok(())
    }

    fn cancel_active_run(&mut self, session: SessionId, driver: &str, by: &str) -> Result<bool> {
        let sql = "UPDATE active_runs SET cancelled_by = coalesce(cancelled_by, $4) \
             WHERE tenant = $1 AND session = $2 AND driver = $3";
        Ok(self.run(sql, &[&Col(session), &driver, &by])? == 1)
    }

    fn put_run_events(&mut self, e: &RunEvents) -> Result<()> {
        let sql = format!(
            "INSERT INTO run_events (tenant, {EVENTS}) VALUES ($1, $2, $3, $4, $5, $6, $7) \
             ON CONFLICT (tenant, turn, first) DO UPDATE SET last = excluded.last, session = excluded.session, \
             at = excluded.at, events = excluded.events"
        );
        self.run(
            &sql,
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
        let sql = format!(
            "SELECT {EVENTS} FROM run_events WHERE tenant = $1 AND turn = $2 AND last > $3 ORDER BY first LIMIT $4"
        );
        self.rows(&sql, &[&Col(turn), &int(after), &most(limit)], events_row)
    }

    fn cut_run_events(&mut self, turn: TurnId, last: u64) -> Result<()> {
        let sql =
            "DELETE FROM run_events WHERE tenant = $1 AND turn = $2 AND first > 1 AND last <= $3";
        self.run(sql, &[&Col(turn), &int(last)])?;
        Ok(())
    }

    fn drop_run_events(&mut self, turn: TurnId) -> Result<()> {
        let sql = "DELETE FROM run_events WHERE tenant = $1 AND turn = $2";
        self.run(sql, &[&Col(turn)])?;
        Ok(())
    }

    fn drop_old_run_events(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        // By their places: joined by its key, the whole table may be read for a slice of it.
        let sql = "DELETE FROM run_events WHERE tenant = $1 AND ctid = ANY(ARRAY( \
             SELECT o.ctid FROM run_events o WHERE o.tenant = $1 AND o.at < $2 ORDER BY o.at LIMIT $3))";
        self.run(sql, &[&Col(before), &int(limit as u64)])
    }
}
