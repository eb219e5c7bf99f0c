//! Projections and what is due at them, in SQLite.

use rusqlite::{Row, params};
use siglum_domain::receipt::Receipt;
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt};
use super::log::{RECEIPT, receipt_row};
use super::open::Tx;
use super::scope;
use crate::row::{from_json, json};
use crate::{Delivery, Lag, LedgerError, Projection, Projections, Reach};

type Result<T> = std::result::Result<T, LedgerError>;

const DELIVERY: &str =
    "projection, session, taken, due, since, retry_at, tries, reason, parked_at, left_out";

fn delivery_row(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        projection: row.get(0)?,
        session: get(row, 1)?,
        taken: count(row, 2)?,
        due: count(row, 3)?,
        since: get(row, 4)?,
        retry_at: get(row, 5)?,
        tries: u32::try_from(count(row, 6)?).unwrap_or(u32::MAX),
        reason: row.get(7)?,
        parked_at: opt(row, 8)?,
        left_out: count(row, 9)?,
    })
}

/// The receipt that is spoken of. A sink that has more than there are was fed by somebody else, and lacks the next.
const FOUND: &str = "min(?3, due)";

/// No failure counts any more.
const CLEARED: &str = "tries = 0, reason = NULL, parked_at = NULL";

/// When the first receipt behind those that the sink has was sealed.
fn since(taken: &str) -> String {
    format!(
        "coalesce((SELECT r.at FROM receipts r WHERE r.session = deliveries.session AND r.number = {taken} + 1), since)"
    )
}

impl Tx<'_> {
    /// A receipt is due at every projection.
    pub(super) fn make_due(
        &mut self,
        session: SessionId,
        number: u64,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO deliveries (projection, session, taken, due, since, retry_at) \
             SELECT name, ?1, 0, ?2, ?3, ?3 FROM projections WHERE true \
             ON CONFLICT (projection, session) DO UPDATE SET due = excluded.due, \
             retry_at = CASE WHEN due = taken THEN excluded.retry_at ELSE retry_at END, \
             since = CASE WHEN due = taken THEN excluded.since ELSE since END";
        self.db
            .prepare_cached(sql)?
            .execute((Col(session), int(number), Col(at)))?;
        Ok(())
    }

    fn delivery_rows(&mut self, sql: &str, of: impl rusqlite::Params) -> Result<Vec<Delivery>> {
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map(of, delivery_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl Tx<'_> {
    /// Notes what a sink has, where `only` holds; nothing failed then.
    fn move_to(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
        only: &str,
    ) -> Result<()> {
        let sql = format!(
            "UPDATE deliveries SET taken = {FOUND}, since = {}, retry_at = ?4, {CLEARED} \
             WHERE projection = ?1 AND session = ?2 AND {only}",
            since(FOUND)
        );
        self.db
            .prepare_cached(&sql)?
            .execute((name, Col(session), int(taken), Col(retry_at)))?;
        Ok(())
    }
}

impl Projections for Tx<'_> {
    fn put_projection(&mut self, p: &Projection) -> Result<()> {
        let scope = p.scope.as_ref().map(json);
        let again = "UPDATE destinations SET stated = 0 WHERE projection = ?1 \
             AND (SELECT scope FROM projections WHERE name = ?1) IS NOT ?2";
        self.db.prepare_cached(again)?.execute((&p.name, &scope))?;
        let moved = "UPDATE projections SET kind = ?2, target = ?3, scope = ?4 WHERE name = ?1";
        let known = self
            .db
            .prepare_cached(moved)?
            .execute((&p.name, &p.kind, &p.target, &scope))?;
        if known > 0 {
            return self.sum("projections", "name = ?1", [&p.name]);
        }
        let new =
            "INSERT INTO projections (name, kind, target, at, scope) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.db
            .prepare_cached(new)?
            .execute((&p.name, &p.kind, &p.target, Col(p.at), &scope))?;
        self.sum("projections", "name = ?1", [&p.name])?;
        let all = "INSERT INTO deliveries (projection, session, taken, due, since, retry_at) \
             SELECT ?1, f.session, 0, (SELECT max(l.number) FROM receipts l WHERE l.session = f.session), f.at, ?2 \
             FROM receipts f WHERE f.number = 1";
        self.db.prepare_cached(all)?.execute((&p.name, Col(p.at)))?;
        Ok(())
    }

    fn projections(&mut self) -> Result<Vec<Projection>> {
        let projection = |row: &Row<'_>| {
            let projection = Projection {
                name: row.get(0)?,
                kind: row.get(1)?,
                target: row.get(2)?,
                at: get(row, 3)?,
                scope: None,
            };
            Ok((projection, row.get::<_, Option<String>>(4)?))
        };
        let mut query = self.db.prepare_cached(
            "SELECT name, kind, target, at, scope FROM projections ORDER BY name",
        )?;
        let rows = query
            .query_map([], projection)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        rows.into_iter()
            .map(|(projection, scope)| {
                let scope = scope.map(|s| from_json("scope", &s)).transpose()?;
                Ok(Projection {
                    scope,
                    ..projection
                })
            })
            .collect()
    }

    fn in_scope(&mut self, name: &str, session: SessionId) -> Result<bool> {
        self.session_in_scope(name, session)
    }

    fn reach(&mut self, name: &str) -> Result<Reach> {
        self.reach_of(name)
    }

    fn drop_projection(&mut self, name: &str) -> Result<bool> {
        self.delete("deliveries", "projection = ?1", [name])?;
        let gone = self.delete("projections", "name = ?1", [name])?;
        Ok(gone > 0)
    }

    fn restart(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64> {
        let sql = format!(
            "UPDATE deliveries SET taken = 0, left_out = 0, since = {}, retry_at = ?3, {CLEARED} \
             WHERE projection = ?1 AND (?2 IS NULL OR session = ?2)",
            since("0")
        );
        let count = self
            .db
            .prepare_cached(&sql)?
            .execute((name, session.map(Col), Col(at)))?;
        Ok(count as u64)
    }

    fn claim(
        &mut self,
        name: &str,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        let sql = format!(
            "SELECT {DELIVERY} FROM deliveries INDEXED BY deliveries_due WHERE projection = ?1 AND due > taken \
             AND parked_at IS NULL AND retry_at <= ?2 AND {} ORDER BY retry_at, session LIMIT ?3",
            scope::session("deliveries.projection", "deliveries.session")
        );
        let mut due = self.delivery_rows(&sql, (name, Col(at), int(limit as u64)))?;
        let mine = "UPDATE deliveries SET retry_at = ?3 WHERE projection = ?1 AND session = ?2";
        for delivery in &mut due {
            self.db
                .prepare_cached(mine)?
                .execute((name, Col(delivery.session), Col(until)))?;
            delivery.retry_at = until;
        }
        Ok(due)
    }

    fn next_try(&mut self, name: &str) -> Result<Option<Timestamp>> {
        let sql = format!(
            "SELECT min(retry_at) FROM deliveries INDEXED BY deliveries_due WHERE projection = ?1 \
             AND due > taken AND parked_at IS NULL AND {}",
            scope::session("deliveries.projection", "deliveries.session")
        );
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([name], |row| opt(row, 0))?)
    }

    fn free_claims(&mut self, name: &str, at: Timestamp) -> Result<u64> {
        let sql = "UPDATE deliveries SET retry_at = ?2 WHERE projection = ?1 AND due > taken AND parked_at IS NULL \
             AND retry_at > ?2 AND tries = 0";
        let count = self.db.prepare_cached(sql)?.execute((name, Col(at)))?;
        Ok(count as u64)
    }

    fn taken(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
    ) -> Result<()> {
        self.move_to(name, session, taken, retry_at, &format!("taken < {FOUND}"))
    }

    fn come_to(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
    ) -> Result<()> {
        self.move_to(name, session, taken, retry_at, "true")
    }

    fn retry(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64> {
        let sql = format!(
            "UPDATE deliveries SET retry_at = ?3, {CLEARED} \
             WHERE projection = ?1 AND (?2 IS NULL OR session = ?2) AND due > taken"
        );
        let count = self
            .db
            .prepare_cached(&sql)?
            .execute((name, session.map(Col), Col(at)))?;
        Ok(count as u64)
    }

    fn leave_out(
        &mut self,
        name: &str,
        session: SessionId,
        number: u64,
        at: Timestamp,
    ) -> Result<()> {
        let passed = format!("max(taken, {FOUND})");
        let sql = format!(
            "UPDATE deliveries SET taken = {passed}, left_out = max(left_out, {FOUND}), since = {}, retry_at = ?4, \
             {CLEARED} WHERE projection = ?1 AND session = ?2",
            since(&passed)
        );
        self.db
            .prepare_cached(&sql)?
            .execute((name, Col(session), int(number), Col(at)))?;
        Ok(())
    }

    fn failed(
        &mut self,
        name: &str,
        session: SessionId,
        reason: &str,
        retry_at: Timestamp,
        parked_at: Option<Timestamp>,
    ) -> Result<()> {
        let sql = "UPDATE deliveries SET tries = tries + 1, reason = ?3, retry_at = ?4, parked_at = coalesce(parked_at, ?5) \
             WHERE projection = ?1 AND session = ?2 AND due > taken";
        self.db.prepare_cached(sql)?.execute(params![
            name,
            Col(session),
            reason,
            Col(retry_at),
            parked_at.map(Col),
        ])?;
        Ok(())
    }

    fn delivery(&mut self, name: &str, session: SessionId) -> Result<Option<Delivery>> {
        let sql =
            format!("SELECT {DELIVERY} FROM deliveries WHERE projection = ?1 AND session = ?2");
        Ok(self.delivery_rows(&sql, (name, Col(session)))?.pop())
    }

    fn troubled(&mut self, name: Option<&str>, limit: usize) -> Result<Vec<Delivery>> {
        let sql = format!(
            "SELECT {DELIVERY} FROM deliveries WHERE (?1 IS NULL OR projection = ?1) \
             AND tries > 0 AND {} ORDER BY projection, since, session LIMIT ?2",
            scope::session("deliveries.projection", "deliveries.session")
        );
        self.delivery_rows(&sql, (name, int(limit as u64)))
    }

    fn lag(&mut self, name: &str) -> Result<Lag> {
        let sql = format!(
            "SELECT coalesce(sum(due - taken), 0), count(*), min(since), coalesce(sum(tries > 0 AND parked_at IS NULL), 0), \
             coalesce(sum(parked_at IS NOT NULL), 0) FROM deliveries WHERE projection = ?1 AND due > taken AND {}",
            scope::session("deliveries.projection", "deliveries.session")
        );
        let lag = |row: &Row<'_>| {
            Ok(Lag {
                receipts: count(row, 0)?,
                sessions: count(row, 1)?,
                since: opt(row, 2)?,
                failing: count(row, 3)?,
                parked: count(row, 4)?,
            })
        };
        Ok(self.db.prepare_cached(&sql)?.query_row([name], lag)?)
    }

    fn receipts_after(
        &mut self,
        session: SessionId,
        number: u64,
        limit: usize,
    ) -> Result<Vec<Receipt>> {
        let sql = format!(
            "SELECT {RECEIPT} FROM receipts WHERE session = ?1 AND number > ?2 ORDER BY number LIMIT ?3"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let values = (Col(session), int(number), int(limit as u64));
        Ok(query
            .query_map(values, receipt_row)?
            .collect::<rusqlite::Result<_>>()?)
    }
}
