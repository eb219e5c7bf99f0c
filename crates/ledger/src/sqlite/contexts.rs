//! Contexts and their routes, in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::context::{ContextKey, RouteKey};
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
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

fn maybe(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<u64>> {
    let value: Option<i64> = row.get(at)?;
    Ok(value.map(|n| u64::try_from(n).unwrap_or(0)))
}

fn route_row(row: &Row<'_>) -> Result<RouteRecord> {
    let last = match (opt(row, 6)?, opt(row, 7)?, opt(row, 9)?) {
        (Some(context), Some(session), Some(at)) => Some(LastRun {
            context,
            session,
            outcome: row.get(8)?,
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

fn context_row(row: &Row<'_>) -> Result<ContextRecord> {
    let (cause, inherit): (String, String) = (row.get(6)?, row.get(7)?);
    Ok(ContextRecord {
        key: get(row, 0)?,
        route: get(row, 1)?,
        session: get(row, 2)?,
        prepared: row.get(3)?,
        parent: opt(row, 4)?.zip(maybe(row, 5)?),
        cause: stored("cause", &cause)?,
        inherit: stored("inherit", &inherit)?,
        by: row.get(8)?,
        created_at: get(row, 9)?,
        seen_at: get(row, 10)?,
        ended_at: opt(row, 11)?,
        next: maybe(row, 12)?,
        anchors: row.get(13)?,
    })
}

fn turn_row(row: &Row<'_>) -> Result<ContextTurn> {
    let word: String = row.get(7)?;
    Ok(ContextTurn {
        context: get(row, 0)?,
        key: row.get(1)?,
        turn: get(row, 2)?,
        log: (count(row, 3)?, count(row, 4)?),
        positions: maybe(row, 5)?.zip(maybe(row, 6)?),
        kind: kind_of(&word, row.get(8)?)?,
        recovers: row.get(9)?,
        digest: row.get(10)?,
        at: get(row, 11)?,
    })
}

fn gap_row(row: &Row<'_>) -> Result<ContextGap> {
    Ok(ContextGap {
        context: get(row, 0)?,
        first: count(row, 1)?,
        last: count(row, 2)?,
        reason: row.get(3)?,
        since: get(row, 4)?,
        filled_at: opt(row, 5)?,
        accepted: opt(row, 6)?.zip(row.get(7)?),
    })
}

fn run_row(row: &Row<'_>) -> Result<ContextRun> {
    Ok(ContextRun {
        client: row.get(0)?,
        run: row.get(1)?,
        context: get(row, 2)?,
        content: row.get(3)?,
        made: row.get(4)?,
        at: get(row, 5)?,
    })
}

fn move_row(row: &Row<'_>) -> Result<RouteMove> {
    let cause: String = row.get(5)?;
    Ok(RouteMove {
        route: get(row, 0)?,
        at: get(row, 1)?,
        by: row.get(2)?,
        from: opt(row, 3)?,
        to: get(row, 4)?,
        cause: stored("cause", &cause)?,
    })
}

impl Tx<'_> {
    fn all<T>(
        &self,
        sql: &str,
        of: impl rusqlite::Params,
        record: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut query = self.db.prepare_cached(sql)?;
        let mut rows = query.query(of)?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(record(row)?);
        }
        Ok(records)
    }

    fn at_most_one<T>(
        &self,
        sql: &str,
        of: impl rusqlite::Params,
        record: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut query = self.db.prepare_cached(sql)?;
        let found = query.query_row(of, |row| Ok(record(row))).optional()?;
        found.transpose()
    }

    fn route_in(&self, verb: &str, r: &RouteRecord) -> Result<()> {
        let sql = format!(
            "{verb} INTO routes ({ROUTE}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        );
        let last = r.last.as_ref();
        self.db.prepare_cached(&sql)?.execute(params![
            r.key.as_str(),
            r.current.as_ref().map(ContextKey::as_str),
            r.agent.as_str(),
            Col(r.created_at),
            Col(r.seen_at),
            int(r.runs),
            last.map(|l| l.context.as_str()),
            last.map(|l| Col(l.session)),
            last.and_then(|l| l.outcome.as_deref()),
            last.map(|l| Col(l.at)),
        ])?;
        Ok(())
    }
}

impl Contexts for Tx<'_> {
    fn claim_route(&mut self, fresh: &RouteRecord) -> Result<RouteRecord> {
        self.route_in("INSERT OR IGNORE", fresh)?;
        let found = self.route(&fresh.key)?;
        found.ok_or_else(|| LedgerError::Damaged("a route vanished".to_owned()))
    }

    fn route(&mut self, key: &RouteKey) -> Result<Option<RouteRecord>> {
        let sql = format!("SELECT {ROUTE} FROM routes WHERE key = ?1");
        self.at_most_one(&sql, [key.as_str()], route_row)
    }

    fn routes(&mut self, after: Option<&RouteKey>, limit: usize) -> Result<Vec<RouteRecord>> {
        let sql = format!("SELECT {ROUTE} FROM routes WHERE key > ?1 ORDER BY key LIMIT ?2");
        let after = after.map_or("", RouteKey::as_str);
        self.all(&sql, (after, int(limit as u64)), route_row)
    }

    fn put_route(&mut self, route: &RouteRecord) -> Result<()> {
        self.route_in("REPLACE", route)
    }

    fn drop_route(&mut self, key: &RouteKey) -> Result<()> {
        let sql = "DELETE FROM routes WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM contexts WHERE route = ?1)";
        if self.db.prepare_cached(sql)?.execute([key.as_str()])? > 0 {
            self.delete("route_moves", "route = ?1", [key.as_str()])?;
        }
        Ok(())
    }

    fn context(&mut self, key: &ContextKey) -> Result<Option<ContextRecord>> {
        let sql = format!("SELECT {CONTEXT} FROM contexts WHERE key = ?1");
        self.at_most_one(&sql, [key.as_str()], context_row)
    }

    fn context_of_session(&mut self, session: SessionId) -> Result<Option<ContextRecord>> {
        let sql = format!("SELECT {CONTEXT} FROM contexts WHERE session = ?1");
        self.at_most_one(&sql, [Col(session)], context_row)
    }

    fn put_context(&mut self, c: &ContextRecord) -> Result<()> {
        let row = "key = ?1 OR session = ?2";
        self.uncount("contexts", row, (c.key.as_str(), Col(c.session)))?;
        let sql = format!(
            "REPLACE INTO contexts ({CONTEXT}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        );
        self.db.prepare_cached(&sql)?.execute(params![
            c.key.as_str(),
            c.route.as_str(),
            Col(c.session),
            c.prepared,
            c.parent.as_ref().map(|(key, _)| key.as_str()),
            c.parent.as_ref().map(|(_, at)| int(*at)),
            c.cause.as_str(),
            c.inherit.to_string(),
            c.by,
            Col(c.created_at),
            Col(c.seen_at),
            c.ended_at.map(Col),
            c.next.map(int),
            c.anchors,
        ])?;
        self.sum("contexts", "key = ?1", [c.key.as_str()])
    }

    fn contexts_of_route(
        &mut self,
        route: &RouteKey,
        before: Option<&ContextRecord>,
        limit: usize,
    ) -> Result<Vec<ContextRecord>> {
        let sql = format!(
            "SELECT {CONTEXT} FROM contexts WHERE route = ?1 AND (?2 IS NULL OR (created_at, key) < (?2, ?3)) \
             ORDER BY created_at DESC, key DESC LIMIT ?4"
        );
        let of = params![
            route.as_str(),
            before.map(|c| Col(c.created_at)),
            before.map(|c| c.key.as_str()),
            int(limit as u64),
        ];
        self.all(&sql, of, context_row)
    }

    fn contexts_from(&mut self, parent: &ContextKey, limit: usize) -> Result<Vec<ContextRecord>> {
        let sql = format!(
            "SELECT {CONTEXT} FROM contexts WHERE parent = ?1 ORDER BY created_at, key LIMIT ?2"
        );
        self.all(&sql, (parent.as_str(), int(limit as u64)), context_row)
    }

    fn drop_context(&mut self, key: &ContextKey) -> Result<()> {
        for table in ["context_turns", "context_gaps", "context_runs"] {
            self.delete(table, "context = ?1", [key.as_str()])?;
        }
        self.delete("contexts", "key = ?1", [key.as_str()])?;
        Ok(())
    }

    fn put_context_turn(&mut self, t: &ContextTurn) -> Result<()> {
        let (row, key) = ("context = ?1 AND key = ?2", (t.context.as_str(), &t.key));
        self.uncount("context_turns", row, key)?;
        let sql = format!(
            "REPLACE INTO context_turns ({TURN}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        );
        let (kind, keep) = kind_columns(t.kind);
        self.db.prepare_cached(&sql)?.execute(params![
            t.context.as_str(),
            t.key,
            Col(t.turn),
            int(t.log.0),
            int(t.log.1),
            t.positions.map(|(first, _)| int(first)),
            t.positions.map(|(_, last)| int(last)),
            kind,
            keep,
            t.recovers,
            t.digest,
            Col(t.at),
        ])?;
        self.sum("context_turns", row, key)
    }

    fn context_turn(&mut self, context: &ContextKey, key: &str) -> Result<Option<ContextTurn>> {
        let sql = format!("SELECT {TURN} FROM context_turns WHERE context = ?1 AND key = ?2");
        self.at_most_one(&sql, (context.as_str(), key), turn_row)
    }

    fn context_turns(&mut self, context: &ContextKey, after: u64) -> Result<Vec<ContextTurn>> {
        let sql = format!(
            "SELECT {TURN} FROM context_turns WHERE context = ?1 AND log_last > ?2 ORDER BY log_last"
        );
        self.all(&sql, (context.as_str(), int(after)), turn_row)
    }

    fn put_context_gap(&mut self, g: &ContextGap) -> Result<()> {
        let sql =
            format!("REPLACE INTO context_gaps ({GAP}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
        self.db.prepare_cached(&sql)?.execute(params![
            g.context.as_str(),
            int(g.first),
            int(g.last),
            g.reason,
            Col(g.since),
            g.filled_at.map(Col),
            g.accepted.as_ref().map(|(at, _)| Col(*at)),
            g.accepted.as_ref().map(|(_, by)| by),
        ])?;
        Ok(())
    }

    fn context_gaps(&mut self, context: &ContextKey) -> Result<Vec<ContextGap>> {
        let sql = format!("SELECT {GAP} FROM context_gaps WHERE context = ?1 ORDER BY first");
        self.all(&sql, [context.as_str()], gap_row)
    }

    fn put_context_run(&mut self, r: &ContextRun) -> Result<()> {
        let sql =
            format!("INSERT OR IGNORE INTO context_runs ({RUN}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
        let of = params![
            r.client,
            r.run,
            r.context.as_str(),
            r.content,
            r.made,
            Col(r.at)
        ];
        self.db.prepare_cached(&sql)?.execute(of)?;
        Ok(())
    }

    fn context_run(&mut self, client: &str, run: &str) -> Result<Option<ContextRun>> {
        let sql = format!("SELECT {RUN} FROM context_runs WHERE client = ?1 AND run = ?2");
        self.at_most_one(&sql, (client, run), run_row)
    }

    fn trim_context_runs(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        let sql = "DELETE FROM context_runs WHERE (client, run) IN \
             (SELECT client, run FROM context_runs WHERE at < ?1 ORDER BY at LIMIT ?2)";
        let mut trim = self.db.prepare_cached(sql)?;
        Ok(trim.execute((Col(before), int(limit as u64)))? as u64)
    }

    fn put_route_move(&mut self, m: &RouteMove) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO route_moves (route, at, by, \"from\", \"to\", cause) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.db.prepare_cached(sql)?.execute(params![
            m.route.as_str(),
            Col(m.at),
            m.by,
            m.from.as_ref().map(ContextKey::as_str),
            m.to.as_str(),
            m.cause.as_str(),
        ])?;
        let key = (m.route.as_str(), Col(m.at));
        self.sum("route_moves", "route = ?1 AND at = ?2", key)
    }

    fn route_moves(&mut self, route: &RouteKey, limit: usize) -> Result<Vec<RouteMove>> {
        let sql = "SELECT route, at, by, \"from\", \"to\", cause FROM route_moves WHERE route = ?1 \
             ORDER BY at DESC, \"to\" DESC LIMIT ?2";
        self.all(sql, (route.as_str(), int(limit as u64)), move_row)
    }
}
