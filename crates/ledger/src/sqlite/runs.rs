//! Runs in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::{InteractionId, NativeId, Redacted, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
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

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRecord> {
    let status: Option<String> = row.get(9)?;
    let error: Option<String> = row.get(10)?;
    let committed = row.get(11)?;
    let end = opt(row, 8)?.map(|at| RunEnd {
        at,
        status: status.unwrap_or_default(),
        error: error.map(Redacted::from_stored),
        committed,
    });
    Ok(RunRecord {
        turn: get(row, 0)?,
        session: get(row, 1)?,
        key: row.get(2)?,
        native: opt(row, 3)?,
        route: opt(row, 4)?,
        context: opt(row, 5)?,
        by: row.get(6)?,
        started_at: get(row, 7)?,
        end,
    })
}

/// An interaction whose options are still JSON.
fn interaction_row(row: &Row<'_>) -> rusqlite::Result<Result<InteractionRecord>> {
    let options: String = row.get(6)?;
    let (how, option, by) = (row.get(9)?, row.get(10)?, row.get(11)?);
    let settled = opt(row, 8)?.map(|at| Settlement {
        at,
        how: Option::unwrap_or_default(how),
        option,
        by: Option::unwrap_or_default(by),
    });
    let (id, session, turn) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
    let (kind, title, call) = (row.get(3)?, row.get(4)?, row.get(5)?);
    let raised_at = get(row, 7)?;
    Ok(
        from_json("options of an interaction", &options).map(|options| InteractionRecord {
            id,
            session,
            turn,
            kind,
            title: Redacted::from_stored(title),
            call,
            options,
            raised_at,
            settled,
        }),
    )
}

fn active_row(row: &Row<'_>) -> rusqlite::Result<ActiveRun> {
    Ok(ActiveRun {
        session: get(row, 0)?,
        driver: row.get(1)?,
        key: row.get(2)?,
        by: row.get(3)?,
        since: get(row, 4)?,
        turn: opt(row, 5)?,
        cancelled_by: row.get(6)?,
    })
}

fn events_row(row: &Row<'_>) -> rusqlite::Result<RunEvents> {
    Ok(RunEvents {
        turn: get(row, 0)?,
        first: count(row, 1)?,
        last: count(row, 2)?,
        session: get(row, 3)?,
        at: get(row, 4)?,
        events: row.get(5)?,
    })
}

impl Runs for Tx<'_> {
    fn put_run(&mut self, r: &RunRecord) -> Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO runs ({RUN}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        );
        let end = r.end.as_ref();
        self.uncount("runs", "turn = ?1", [Col(r.turn)])?;
        self.db.prepare_cached(&sql)?.execute(params![
            Col(r.turn),
            Col(r.session),
            r.key,
            r.native.as_ref().map(NativeId::as_str),
            r.route.as_ref().map(|key| key.as_str()),
            r.context.as_ref().map(|key| key.as_str()),
            r.by,
            Col(r.started_at),
            end.map(|end| Col(end.at)),
            end.map(|end| &end.status),
            end.and_then(|end| end.error.as_ref().map(Redacted::as_str)),
            end.is_none_or(|end| end.committed),
        ])?;
        self.sum("runs", "turn = ?1", [Col(r.turn)])
    }

    fn run_of_turn(&mut self, turn: TurnId) -> Result<Option<RunRecord>> {
        let sql = format!("SELECT {RUN} FROM runs WHERE turn = ?1");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([Col(turn)], run_row).optional()?)
    }

    fn runs_of(&mut self, session: SessionId, limit: usize) -> Result<Vec<RunRecord>> {
        let sql = format!(
            "SELECT {RUN} FROM runs WHERE session = ?1 ORDER BY started_at DESC, turn DESC LIMIT ?2"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((Col(session), most(limit)), run_row)?;
        rows.map(|row| Ok(row?)).collect()
    }

    fn put_interaction(&mut self, r: &InteractionRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO interactions ({INTERACTION}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        );
        let settled = r.settled.as_ref();
        self.db.prepare_cached(&sql)?.execute(params![
            Col(r.id),
            Col(r.session),
            Col(r.turn),
            r.kind,
            r.title.as_str(),
            r.call,
            json(&r.options),
            Col(r.raised_at),
            settled.map(|settled| Col(settled.at)),
            settled.map(|settled| &settled.how),
            settled.and_then(|settled| settled.option.as_ref()),
            settled.map(|settled| &settled.by),
        ])?;
        self.sum("interactions", "id = ?1", [Col(r.id)])
    }

    fn interaction(&mut self, id: InteractionId) -> Result<Option<InteractionRecord>> {
        let sql = format!("SELECT {INTERACTION} FROM interactions WHERE id = ?1");
        let mut query = self.db.prepare_cached(&sql)?;
        query
            .query_row([Col(id)], interaction_row)
            .optional()?
            .transpose()
    }

    fn interactions_of(
        &mut self,
        session: SessionId,
        limit: usize,
    ) -> Result<Vec<InteractionRecord>> {
        let sql = format!(
            "SELECT {INTERACTION} FROM interactions WHERE session = ?1 ORDER BY raised_at DESC, id DESC LIMIT ?2"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((Col(session), most(limit)), interaction_row)?;
        rows.map(|row| row.map_err(LedgerError::from)?).collect()
    }

    fn settle_interaction(&mut self, id: InteractionId, settled: &Settlement) -> Result<bool> {
        let sql = "UPDATE interactions SET settled_at = ?2, how = ?3, option = ?4, by = ?5 \
             WHERE id = ?1 AND settled_at IS NULL";
        let values = params![
            Col(id),
            Col(settled.at),
            settled.how,
            settled.option,
            settled.by
        ];
        let is_settled = self.db.prepare_cached(sql)?.execute(values)? == 1;
        self.sum("interactions", "id = ?1", [Col(id)])?;
        Ok(is_settled)
    }

    fn put_active_run(&mut self, r: &ActiveRun) -> Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO active_runs ({ACTIVE}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        );
        self.db.prepare_cached(&sql)?.execute(params![
            Col(r.session),
            r.driver,
            r.key,
            r.by,
            Col(r.since),
            r.turn.map(Col),
            r.cancelled_by,
        ])?;
        Ok(())
    }

    fn active_run(&mut self, session: SessionId) -> Result<Option<ActiveRun>> {
        let sql = format!("SELECT {ACTIVE} FROM active_runs WHERE session = ?1");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([Col(session)], active_row).optional()?)
    }

    fn begin_active_run(&mut self, session: SessionId, driver: &str, turn: TurnId) -> Result<()> {
        let sql = "UPDATE active_runs SET turn = ?3 WHERE session = ?1 AND driver = ?2";
        let values = params![Col(session), driver, Col(turn)];
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn cancel_active_run(&mut self, session: SessionId, driver: &str, by: &str) -> Result<bool> {
        let sql = "UPDATE active_runs SET cancelled_by = coalesce(cancelled_by, ?3) WHERE session = ?1 AND driver = ?2";
        let values = params![Col(session), driver, by];
        Ok(self.db.prepare_cached(sql)?.execute(values)? == 1)
    }

    fn put_run_events(&mut self, e: &RunEvents) -> Result<()> {
        let sql =
            format!("INSERT OR REPLACE INTO run_events ({EVENTS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
        self.db.prepare_cached(&sql)?.execute(params![
            Col(e.turn),
            int(e.first),
            int(e.last),
            Col(e.session),
            Col(e.at),
            e.events,
        ])?;
        Ok(())
    }

    fn run_events(&mut self, turn: TurnId, after: u64, limit: usize) -> Result<Vec<RunEvents>> {
        let sql = format!(
            "SELECT {EVENTS} FROM run_events WHERE turn = ?1 AND last > ?2 ORDER BY first LIMIT ?3"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((Col(turn), int(after), most(limit)), events_row)?;
        rows.map(|row| Ok(row?)).collect()
    }

    fn cut_run_events(&mut self, turn: TurnId, last: u64) -> Result<()> {
        let sql = "DELETE FROM run_events WHERE turn = ?1 AND first > 1 AND last <= ?2";
        let values = (Col(turn), int(last));
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn drop_run_events(&mut self, turn: TurnId) -> Result<()> {
        let sql = "DELETE FROM run_events WHERE turn = ?1";
        self.db.prepare_cached(sql)?.execute([Col(turn)])?;
        Ok(())
    }

    fn drop_old_run_events(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        let sql = "DELETE FROM run_events WHERE (turn, first) IN \
             (SELECT turn, first FROM run_events WHERE at < ?1 ORDER BY at LIMIT ?2)";
        let of = (Col(before), int(limit as u64));
        Ok(self.db.prepare_cached(sql)?.execute(of)? as u64)
    }
}

/// A limit as SQLite takes it; 0 means none.
fn most(limit: usize) -> i64 {
    match limit {
        0 => -1,
        limit => i64::try_from(limit).unwrap_or(i64::MAX),
    }
}
