//! Contexts and their routes.

use siglum_domain::context::{ContextKey, RouteKey};
use siglum_domain::{SessionId, Timestamp};

use crate::columns::{Col, Row, Value, int};
use crate::contexts::{kind_columns, kind_of, stored};
use crate::database::Database;
use crate::sql::{Sql, sql};
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

fn route_row(row: &Row<'_>) -> Result<RouteRecord> {
    let last = match (row.get(6)?, row.get(7)?, row.get(9)?) {
        (Some(context), Some(session), Some(at)) => Some(LastRun {
            context,
            session,
            outcome: row.get(8)?,
            at,
        }),
        _ => None,
    };
    Ok(RouteRecord {
        key: row.get(0)?,
        current: row.get(1)?,
        agent: row.get(2)?,
        created_at: row.get(3)?,
        seen_at: row.get(4)?,
        runs: row.count(5)?,
        last,
    })
}

fn context_row(row: &Row<'_>) -> Result<ContextRecord> {
    Ok(ContextRecord {
        key: row.get(0)?,
        route: row.get(1)?,
        session: row.get(2)?,
        prepared: row.get(3)?,
        parent: row.get::<Option<_>>(4)?.zip(row.maybe_count(5)?),
        cause: stored("cause", &row.get::<String>(6)?)?,
        inherit: stored("inherit", &row.get::<String>(7)?)?,
        by: row.get(8)?,
        created_at: row.get(9)?,
        seen_at: row.get(10)?,
        ended_at: row.get(11)?,
        next: row.maybe_count(12)?,
        anchors: row.get(13)?,
    })
}

fn turn_row(row: &Row<'_>) -> Result<ContextTurn> {
    Ok(ContextTurn {
        context: row.get(0)?,
        key: row.get(1)?,
        turn: row.get(2)?,
        log: (row.count(3)?, row.count(4)?),
        positions: row.maybe_count(5)?.zip(row.maybe_count(6)?),
        kind: kind_of(&row.get::<String>(7)?, row.get(8)?)?,
        recovers: row.get(9)?,
        digest: row.get(10)?,
        at: row.get(11)?,
    })
}

fn gap_row(row: &Row<'_>) -> Result<ContextGap> {
    Ok(ContextGap {
        context: row.get(0)?,
        first: row.count(1)?,
        last: row.count(2)?,
        reason: row.get(3)?,
        since: row.get(4)?,
        filled_at: row.get(5)?,
        accepted: row.get::<Option<_>>(6)?.zip(row.get(7)?),
    })
}

fn run_row(row: &Row<'_>) -> Result<ContextRun> {
    Ok(ContextRun {
        client: row.get(0)?,
        run: row.get(1)?,
        context: row.get(2)?,
        content: row.get(3)?,
        made: row.get(4)?,
        at: row.get(5)?,
    })
}

fn move_row(row: &Row<'_>) -> Result<RouteMove> {
    Ok(RouteMove {
        route: row.get(0)?,
        at: row.get(1)?,
        by: row.get(2)?,
        from: row.get(3)?,
        to: row.get(4)?,
        cause: stored("cause", &row.get::<String>(5)?)?,
    })
}

/// A route on its way to its row.
const NEW_ROUTE: Sql<'_> = sql!("INSERT INTO routes ([tenant,] " ROUTE ") \
     VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT ([tenant,] key) DO NOTHING");
const REPLACED_ROUTE: Sql<'_> = sql!("INSERT INTO routes ([tenant,] " ROUTE ") \
     VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT ([tenant,] key) DO \
     UPDATE SET current = excluded.current, agent = excluded.agent, created_at = excluded.created_at, \
     seen_at = excluded.seen_at, runs = excluded.runs, last_context = excluded.last_context, \
     last_session = excluded.last_session, last_outcome = excluded.last_outcome, last_at = excluded.last_at");

fn write_route(db: &mut impl Database, sql: Sql<'_>, r: &RouteRecord) -> Result<()> {
    let last = r.last.as_ref();
    db.run(
        sql,
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

impl<D: Database> Contexts for D {
    fn claim_route(&mut self, fresh: &RouteRecord) -> Result<RouteRecord> {
        write_route(self, NEW_ROUTE, fresh)?;
        match self.route(&fresh.key)? {
            Some(route) => Ok(route),
            None => Err(self.vanished("route")),
        }
    }

    fn route(&mut self, key: &RouteKey) -> Result<Option<RouteRecord>> {
        let sql =
            sql!("SELECT " ROUTE " FROM routes WHERE [tenant = $1 AND] key = ?1 [FOR UPDATE]");
        self.row(sql, &[&key.as_str()], route_row)
    }

    fn routes(&mut self, after: Option<&RouteKey>, limit: usize) -> Result<Vec<RouteRecord>> {
        let sql = sql!("SELECT " ROUTE " FROM routes WHERE [tenant = $1 AND] key > ?1 ORDER BY key LIMIT ?2");
        let after = after.map_or("", RouteKey::as_str);
        self.rows(sql, &[&after, &int(limit as u64)], route_row)
    }

    fn put_route(&mut self, route: &RouteRecord) -> Result<()> {
        write_route(self, REPLACED_ROUTE, route)
    }

    fn drop_route(&mut self, key: &RouteKey) -> Result<()> {
        let sql = sql!(
            "DELETE FROM routes WHERE [tenant = $1 AND] key = ?1 \
             AND NOT EXISTS (SELECT 1 FROM contexts c WHERE [c.tenant = $1 AND] c.route = ?1)"
        );
        if self.run(sql, &[&key.as_str()])? > 0 {
            let rows = sql!("[tenant = $1 AND] route = ?1");
            self.delete("route_moves", rows, &[&key.as_str()])?;
        }
        Ok(())
    }

    fn context(&mut self, key: &ContextKey) -> Result<Option<ContextRecord>> {
        let sql =
            sql!("SELECT " CONTEXT " FROM contexts WHERE [tenant = $1 AND] key = ?1 [FOR UPDATE]");
        self.row(sql, &[&key.as_str()], context_row)
    }

    fn context_of_session(&mut self, session: SessionId) -> Result<Option<ContextRecord>> {
        let sql = sql!("SELECT " CONTEXT " FROM contexts WHERE [tenant = $1 AND] session = ?1");
        self.row(sql, &[&Col(session)], context_row)
    }

    fn put_context(&mut self, c: &ContextRecord) -> Result<()> {
        let sql = sql!("INSERT[| OR REPLACE] INTO contexts ([tenant,] " CONTEXT ") \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
             [ON CONFLICT (tenant, key) DO UPDATE SET route = excluded.route, session = excluded.session, \
             prepared = excluded.prepared, parent = excluded.parent, parent_at = excluded.parent_at, cause = excluded.cause, \
             inherit = excluded.inherit, by = excluded.by, created_at = excluded.created_at, seen_at = excluded.seen_at, \
             ended_at = excluded.ended_at, next = excluded.next, anchors = excluded.anchors]");
        let row = "key = ?1 OR session = ?2";
        self.uncount("contexts", row, &[&c.key.as_str(), &Col(c.session)])?;
        let parent = c.parent.as_ref();
        self.run(
            sql,
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
        self.sum("contexts", "key = ?1", &[&c.key.as_str()])
    }

    fn contexts_of_route(
        &mut self,
        route: &RouteKey,
        before: Option<&ContextRecord>,
        limit: usize,
    ) -> Result<Vec<ContextRecord>> {
        let sql = sql!("SELECT " CONTEXT " FROM contexts WHERE [tenant = $1 AND] route = ?1 \
             AND (?2[::bigint] IS NULL OR (created_at, key) < (?2[::bigint], ?3[::text])) \
             ORDER BY created_at DESC, key DESC LIMIT ?4");
        let (at, key) = (
            before.map(|c| Col(c.created_at)),
            before.map(|c| c.key.as_str()),
        );
        let of: [Value<'_>; 4] = [&route.as_str(), &at, &key, &int(limit as u64)];
        self.rows(sql, &of, context_row)
    }

    fn contexts_from(&mut self, parent: &ContextKey, limit: usize) -> Result<Vec<ContextRecord>> {
        let sql = sql!("SELECT " CONTEXT " FROM contexts WHERE [tenant = $1 AND] parent = ?1 ORDER BY created_at, key LIMIT ?2");
        self.rows(sql, &[&parent.as_str(), &int(limit as u64)], context_row)
    }

    fn drop_context(&mut self, key: &ContextKey) -> Result<()> {
        let of_context = sql!("[tenant = $1 AND] context = ?1");
        for table in ["context_turns", "context_gaps", "context_runs"] {
            self.delete(table, of_context, &[&key.as_str()])?;
        }
        let rows = sql!("[tenant = $1 AND] key = ?1");
        self.delete("contexts", rows, &[&key.as_str()])?;
        Ok(())
    }

    fn put_context_turn(&mut self, t: &ContextTurn) -> Result<()> {
        let sql = sql!("INSERT INTO context_turns ([tenant,] " TURN ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
             ON CONFLICT ([tenant,] context, key) DO UPDATE SET turn = excluded.turn, log_first = excluded.log_first, \
             log_last = excluded.log_last, first = excluded.first, last = excluded.last, kind = excluded.kind, \
             keep = excluded.keep, recovers = excluded.recovers, digest = excluded.digest, at = excluded.at");
        let (kind, keep) = kind_columns(t.kind);
        self.run(
            sql,
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
        let key: [Value<'_>; 2] = [&t.context.as_str(), &t.key];
        self.sum("context_turns", "context = ?1 AND key = ?2", &key)
    }

    fn context_turn(&mut self, context: &ContextKey, key: &str) -> Result<Option<ContextTurn>> {
        let sql = sql!("SELECT " TURN " FROM context_turns WHERE [tenant = $1 AND] context = ?1 AND key = ?2");
        self.row(sql, &[&context.as_str(), &key], turn_row)
    }

    fn context_turns(&mut self, context: &ContextKey, after: u64) -> Result<Vec<ContextTurn>> {
        let sql = sql!("SELECT " TURN " FROM context_turns WHERE [tenant = $1 AND] context = ?1 AND log_last > ?2 ORDER BY log_last");
        self.rows(sql, &[&context.as_str(), &int(after)], turn_row)
    }

    fn put_context_gap(&mut self, g: &ContextGap) -> Result<()> {
        let sql = sql!("INSERT INTO context_gaps ([tenant,] " GAP ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
             ON CONFLICT ([tenant,] context, first) DO UPDATE SET last = excluded.last, reason = excluded.reason, \
             since = excluded.since, filled_at = excluded.filled_at, accepted_at = excluded.accepted_at, \
             accepted_by = excluded.accepted_by");
        let accepted = g.accepted.as_ref();
        self.run(
            sql,
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
        let sql = sql!("SELECT " GAP " FROM context_gaps WHERE [tenant = $1 AND] context = ?1 ORDER BY first");
        self.rows(sql, &[&context.as_str()], gap_row)
    }

    fn put_context_run(&mut self, r: &ContextRun) -> Result<()> {
        let sql = sql!("INSERT INTO context_runs ([tenant,] " RUN ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING");
        let of: [Value<'_>; 6] = [
            &r.client,
            &r.run,
            &r.context.as_str(),
            &r.content,
            &r.made,
            &Col(r.at),
        ];
        self.run(sql, &of)?;
        Ok(())
    }

    fn context_run(&mut self, client: &str, run: &str) -> Result<Option<ContextRun>> {
        let sql = sql!("SELECT " RUN " FROM context_runs WHERE [tenant = $1 AND] client = ?1 AND run = ?2");
        self.row(sql, &[&client, &run], run_row)
    }

    fn trim_context_runs(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        let sql = sql!(
            "DELETE FROM context_runs WHERE [tenant = $1 AND] (client, run) IN \
             (SELECT client, run FROM context_runs WHERE [tenant = $1 AND] at < ?1 ORDER BY at LIMIT ?2)"
        );
        self.run(sql, &[&Col(before), &int(limit as u64)])
    }

    fn put_route_move(&mut self, m: &RouteMove) -> Result<()> {
        let sql = sql!(
            "INSERT INTO route_moves ([tenant,] route, at, by, \"from\", \"to\", cause) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING"
        );
        let of: [Value<'_>; 6] = [
            &m.route.as_str(),
            &Col(m.at),
            &m.by,
            &m.from.as_ref().map(ContextKey::as_str),
            &m.to.as_str(),
            &m.cause.as_str(),
        ];
        self.run(sql, &of)?;
        let key: [Value<'_>; 2] = [&m.route.as_str(), &Col(m.at)];
        self.sum("route_moves", "route = ?1 AND at = ?2", &key)
    }

    fn route_moves(&mut self, route: &RouteKey, limit: usize) -> Result<Vec<RouteMove>> {
        let sql = sql!(
            "SELECT route, at, by, \"from\", \"to\", cause FROM route_moves WHERE [tenant = $1 AND] route = ?1 \
             ORDER BY at DESC, \"to\" DESC LIMIT ?2"
        );
        self.rows(sql, &[&route.as_str(), &int(limit as u64)], move_row)
    }
}
