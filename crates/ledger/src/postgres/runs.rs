//! Runs in PostgreSQL.

use postgres::Row;
use siglum_domain::{InteractionId, NativeId, Redacted, SessionId, TurnId};

use super::columns::{Col, get, limit as most, opt, raw};
use super::tx::Tx;
use crate::row::{from_json, json};
use crate::{InteractionRecord, LedgerError, RunEnd, RunRecord, Runs, Settlement};

type Result<T> = std::result::Result<T, LedgerError>;

const RUN: &str = "turn, session, key, native, route, context, by, started_at, ended_at, status, error, committed";
const INTERACTION: &str =
    "id, session, turn, kind, title, call, options, raised_at, settled_at, how, option, by";

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
}
