//! Contexts and their routes, in PostgreSQL.

use postgres::Row;
use siglum_domain::context::{ContextKey, RouteKey};
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt, raw};
use super::tx::Tx;
use crate::contexts::{kind_columns, kind_of, stored};
use crate::{
    ContextGap, ContextRecord, ContextRun, ContextTurn, Contexts, LastRun, LedgerError, RouteMove,
    RouteRecord,
};

type Result<T> = std::result::Result<T, LedgerError>;

const ROUTE: &str = "key, current, agent, created_at, seen_at, runs, last_context, last_session, last_outcome, last_at";
const CONTEXT: &str = "key, route, session, prepared, parent, parent_at, cause, inherit, by, created_at, seen_at, ended_at, next, anchors";
const TURN: &str =
    "context, key, turn, log_first, log_last, first, last, kind, keep, recovers, digest, at";
const GAP: &str = "context, first, last, reason, since, filled_at, accepted_at, accepted_by";
const RUN: &str = "client, run, context, content, made, at";

fn maybe(row: &Row, at: usize) -> Result<Option<u64>> {
    let value: Option<i64> = raw(row, at)?;
    Ok(value.map(|n| u64::try_from(n).unwrap_or(0)))
}

fn route_row(row: &Row) -> Result<RouteRecord> {
    let last = match (opt(row, 6)?, opt(row, 7)?, opt(row, 9)?) {
        (Some(context), Some(session), Some(at)) => Some(LastRun {
            context,
            session,
            outcome: raw(row, 8)?,
            at,
        }),
        _ => None,
    };
    Ok(RouteRecord {
        key: get(row, 0)?,
        current: opt(row, 1)?,
        agent: get(row, 2)?,
        created_at: get(row, 3)?,
        seen_at: get(row, 4)?,
        runs: count(row, 5)?,
        last,
    })
}

fn context_row(row: &Row) -> Result<ContextRecord> {
    Ok(ContextRecord {
        key: get(row, 0)?,
        route: get(row, 1)?,
        session: get(row, 2)?,
        prepared: raw(row, 3)?,
        parent: opt(row, 4)?.zip(maybe(row, 5)?),
        cause: stored("cause", raw(row, 6)?)?,
        inherit: stored("inherit", raw(row, 7)?)?,
        by: raw(row, 8)?,
        created_at: get(row, 9)?,
        seen_at: get(row, 10)?,
        ended_at: opt(row, 11)?,
        next: maybe(row, 12)?,
        anchors: raw(row, 13)?,
    })
}

fn turn_row(row: &Row) -> Result<ContextTurn> {
    Ok(ContextTurn {
        context: get(row, 0)?,
        key: raw(row, 1)?,
        turn: get(row, 2)?,
        log: (count(row, 3)?, count(row, 4)?),
        positions: maybe(row, 5)?.zip(maybe(row, 6)?),
        kind: kind_of(raw(row, 7)?, raw(row, 8)?)?,
        recovers: raw(row, 9)?,
        digest: raw(row, 10)?,
        at: get(row, 11)?,
    })
}

fn gap_row(row: &Row) -> Result<ContextGap> {
    Ok(ContextGap {
        context: get(row, 0)?,
        first: count(row, 1)?,
        last: count(row, 2)?,
        reason: raw(row, 3)?,
        since: get(row, 4)?,
        filled_at: opt(row, 5)?,
        accepted: opt(row, 6)?.zip(raw(row, 7)?),
    })
}

fn run_row(row: &Row) -> Result<ContextRun> {
    Ok(ContextRun {
        client: raw(row, 0)?,
        run: raw(row, 1)?,
        context: get(row, 2)?,
        content: raw(row, 3)?,
        made: raw(row, 4)?,
        at: get(row, 5)?,
    })
}

fn move_row(row: &Row) -> Result<RouteMove> {
    Ok(RouteMove {
        route: get(row, 0)?,
        at: get(row, 1)?,
        by: raw(row, 2)?,
        from: opt(row, 3)?,
        to: get(row, 4)?,
        cause: stored("cause", raw(row, 5)?)?,
    })
}

impl Tx<'_> {
    fn route_in(&mut self, conflict: &str, r: &RouteRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO routes (tenant, {ROUTE}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
             ON CONFLICT (tenant, key) DO {conflict}"
        );
        let last = r.last.as_ref();
        self.run(
            &sql,
            &[
                &r.key.as_str(),
                &r.current.as_ref().map(ContextKey::as_str),
                &r.agent.as_str(),
                &Col(r.created_at),
                &Col(r.seen_at),
                &int(r.runs),
                &last.map(|l| l.context.as_str()),
                &last.map(|l| Col(l.session)),
                &last.and_then(|l| l.outcome.as_deref()),
                &last.map(|l| Col(l.at)),
            ],
        )?;
        Ok(())
    }
}

impl Contexts for Tx<'_> {
    fn claim_route(&mut self, fresh: &RouteRecord) -> Result<RouteRecord> {
        self.route_in("NOTHING", fresh)?;
        match self.route(&fresh.key)? {
            Some(route) => Ok(route),
            // Somebody dropped it between the two.
            None => Err(self.conflict()),
        }
    }

    fn route(&mut self, key: &RouteKey) -> Result<Option<RouteRecord>> {
        let sql = format!("SELECT {ROUTE} FROM routes WHERE tenant = $1 AND key = $2");
        self.row(&self.locked(&sql), &[&key.as_str()], route_row)
    }

    fn routes(&mut self, after: Option<&RouteKey>, limit: usize) -> Result<Vec<RouteRecord>> {
        let sql = format!(
            "SELECT {ROUTE} FROM routes WHERE tenant = $1 AND key > $2 ORDER BY key LIMIT $3"
        );
        let after = after.map_or("", RouteKey::as_str);
        self.rows(&sql, &[&after, &int(limit as u64)], route_row)
    }

    fn put_route(&mut self, route: &RouteRecord) -> Result<()> {
        let replaced = "UPDATE SET current = excluded.current, agent = excluded.agent, created_at = excluded.created_at, \
             seen_at = excluded.seen_at, runs = excluded.runs, last_context = excluded.last_context, \
             last_session = excluded.last_session, last_outcome = excluded.last_outcome, last_at = excluded.last_at";
        self.route_in(replaced, route)
    }

    fn drop_route(&mut self, key: &RouteKey) -> Result<()> {
        let sql = "DELETE FROM routes WHERE tenant = $1 AND key = $2 \
             AND NOT EXISTS (SELECT 1 FROM contexts c WHERE c.tenant = $1 AND c.route = $2)";
        if self.run(sql, &[&key.as_str()])? > 0 {
            let sql = "DELETE FROM route_moves WHERE tenant = $1 AND route = $2";
            self.run(sql, &[&key.as_str()])?;
        }
        Ok(())
    }

    fn context(&mut self, key: &ContextKey) -> Result<Option<ContextRecord>> {
        let sql = format!("SELECT {CONTEXT} FROM contexts WHERE tenant = $1 AND key = $2");
        self.row(&self.locked(&sql), &[&key.as_str()], context_row)
    }

    fn context_of_session(&mut self, session: SessionId) -> Result<Option<ContextRecord>> {
        let sql = format!("SELECT {CONTEXT} FROM contexts WHERE tenant = $1 AND session = $2");
        self.row(&sql, &[&Col(session)], context_row)
    }

    fn put_context(&mut self, c: &ContextRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO contexts (tenant, {CONTEXT}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) \
             ON CONFLICT (tenant, key) DO UPDATE SET route = excluded.route, session = excluded.session, \
             prepared = excluded.prepared, parent = excluded.parent, parent_at = excluded.parent_at, cause = excluded.cause, \
             inherit = excluded.inherit, by = excluded.by, created_at = excluded.created_at, seen_at = excluded.seen_at, \
             ended_at = excluded.ended_at, next = excluded.next, anchors = excluded.anchors"
        );
        let parent = c.parent.as_ref();
        self.run(
            &sql,
            &[
                &c.key.as_str(),
                &c.route.as_str(),
                &Col(c.session),
                &c.prepared,
                &parent.map(|(key, _)| key.as_str()),
                &parent.map(|(_, at)| int(*at)),
                &c.cause.as_str(),
                &c.inherit.to_string(),
                &c.by,
                &Col(c.created_at),
                &Col(c.seen_at),
                &c.ended_at.map(Col),
                &c.next.map(int),
                &c.anchors,
            ],
        )?;
        Ok(())
    }

    fn contexts_of_route(
        &mut self,
        route: &RouteKey,
        before: Option<&ContextRecord>,
        limit: usize,
    ) -> Result<Vec<ContextRecord>> {
        let sql = format!(
            "SELECT {CONTEXT} FROM contexts WHERE tenant = $1 AND route = $2 \
             AND ($3::bigint IS NULL OR (created_at, key) < ($3::bigint, $4::text)) \
             ORDER BY created_at DESC, key DESC LIMIT $5"
        );
        let (at, key) = (
            before.map(|c| Col(c.created_at)),
            before.map(|c| c.key.as_str()),
        );
        let of: [super::tx::Value<'_>; 4] = [&route.as_str(), &at, &key, &int(limit as u64)];
        self.rows(&sql, &of, context_row)
    }

    fn contexts_from(&mut self, parent: &ContextKey, limit: usize) -> Result<Vec<ContextRecord>> {
        let sql = format!(
            "SELECT {CONTEXT} FROM contexts WHERE tenant = $1 AND parent = $2 ORDER BY created_at, key LIMIT $3"
        );
        self.rows(&sql, &[&parent.as_str(), &int(limit as u64)], context_row)
    }

    fn drop_context(&mut self, key: &ContextKey) -> Result<()> {
        for sql in [
            "DELETE FROM context_turns WHERE tenant = $1 AND context = $2",
            "DELETE FROM context_gaps WHERE tenant = $1 AND context = $2",
            "DELETE FROM context_runs WHERE tenant = $1 AND context = $2",
            "DELETE FROM contexts WHERE tenant = $1 AND key = $2",
        ] {
            self.run(sql, &[&key.as_str()])?;
        }
        Ok(())
    }

    fn put_context_turn(&mut self, t: &ContextTurn) -> Result<()> {
        let sql = format!(
            "INSERT INTO context_turns (tenant, {TURN}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
             ON CONFLICT (tenant, context, key) DO UPDATE SET turn = excluded.turn, log_first = excluded.log_first, \
             log_last = excluded.log_last, first = excluded.first, last = excluded.last, kind = excluded.kind, \
             keep = excluded.keep, recovers = excluded.recovers, digest = excluded.digest, at = excluded.at"
        );
        let (kind, keep) = kind_columns(t.kind);
        self.run(
            &sql,
            &[
                &t.context.as_str(),
                &t.key,
                &Col(t.turn),
                &int(t.log.0),
                &int(t.log.1),
                &t.positions.map(|(first, _)| int(first)),
                &t.positions.map(|(_, last)| int(last)),
                &kind,
                &keep,
                &t.recovers,
                &t.digest,
                &Col(t.at),
            ],
        )?;
        Ok(())
    }

    fn context_turn(&mut self, context: &ContextKey, key: &str) -> Result<Option<ContextTurn>> {
        let sql = format!(
            "SELECT {TURN} FROM context_turns WHERE tenant = $1 AND context = $2 AND key = $3"
        );
        self.row(&sql, &[&context.as_str(), &key], turn_row)
    }

    fn context_turns(&mut self, context: &ContextKey, after: u64) -> Result<Vec<ContextTurn>> {
        let sql = format!(
            "SELECT {TURN} FROM context_turns WHERE tenant = $1 AND context = $2 AND log_last > $3 ORDER BY log_last"
        );
        self.rows(&sql, &[&context.as_str(), &int(after)], turn_row)
    }

    fn put_context_gap(&mut self, g: &ContextGap) -> Result<()> {
        let sql = format!(
            "INSERT INTO context_gaps (tenant, {GAP}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
             ON CONFLICT (tenant, context, first) DO UPDATE SET last = excluded.last, reason = excluded.reason, \
             since = excluded.since, filled_at = excluded.filled_at, accepted_at = excluded.accepted_at, \
             accepted_by = excluded.accepted_by"
        );
        let accepted = g.accepted.as_ref();
        self.run(
            &sql,
            &[
                &g.context.as_str(),
                &int(g.first),
                &int(g.last),
                &g.reason,
                &Col(g.since),
                &g.filled_at.map(Col),
                &accepted.map(|(at, _)| Col(*at)),
                &accepted.map(|(_, by)| by),
            ],
        )?;
        Ok(())
    }

    fn context_gaps(&mut self, context: &ContextKey) -> Result<Vec<ContextGap>> {
        let sql = format!(
            "SELECT {GAP} FROM context_gaps WHERE tenant = $1 AND context = $2 ORDER BY first"
        );
        self.rows(&sql, &[&context.as_str()], gap_row)
    }

    fn put_context_run(&mut self, r: &ContextRun) -> Result<()> {
        let sql = format!(
            "INSERT INTO context_runs (tenant, {RUN}) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING"
        );
        let of: [super::tx::Value<'_>; 6] = [
            &r.client,
            &r.run,
            &r.context.as_str(),
            &r.content,
            &r.made,
            &Col(r.at),
        ];
        self.run(&sql, &of)?;
        Ok(())
    }

    fn context_run(&mut self, client: &str, run: &str) -> Result<Option<ContextRun>> {
        let sql = format!(
            "SELECT {RUN} FROM context_runs WHERE tenant = $1 AND client = $2 AND run = $3"
        );
        self.row(&sql, &[&client, &run], run_row)
    }

    fn trim_context_runs(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        let sql = "DELETE FROM context_runs WHERE tenant = $1 AND (client, run) IN \
             (SELECT client, run FROM context_runs WHERE tenant = $1 AND at < $2 ORDER BY at LIMIT $3)";
        self.run(sql, &[&Col(before), &int(limit as u64)])
    }

    fn put_route_move(&mut self, m: &RouteMove) -> Result<()> {
        let sql = "INSERT INTO route_moves (tenant, route, at, by, \"from\", \"to\", cause) \
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
        let of: [super::tx::Value<'_>; 6] = [
            &m.route.as_str(),
            &Col(m.at),
            &m.by,
            &m.from.as_ref().map(ContextKey::as_str),
            &m.to.as_str(),
            &m.cause.as_str(),
        ];
        self.run(sql, &of)?;
        Ok(())
    }

    fn route_moves(&mut self, route: &RouteKey, limit: usize) -> Result<Vec<RouteMove>> {
        let sql = "SELECT route, at, by, \"from\", \"to\", cause FROM route_moves WHERE tenant = $1 AND route = $2 \
             ORDER BY at DESC, \"to\" DESC LIMIT $3";
        self.rows(sql, &[&route.as_str(), &int(limit as u64)], move_row)
    }
}
