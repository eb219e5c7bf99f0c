//! Projections and what is due at them, in PostgreSQL.

use postgres::Row;
use siglum_domain::receipt::Receipt;
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt, raw};
use super::scope;
use super::tx::{Tx, Value};
use crate::row::{from_json, json};
use crate::{DESTINATION, Delivery, Lag, LedgerError, Projection, Projections, Reach};

type Result<T> = std::result::Result<T, LedgerError>;

const DELIVERY: &str =
    "projection, session, taken, due, since, retry_at, tries, reason, parked_at, left_out";

fn delivery_row(row: &Row) -> Result<Delivery> {
    Ok(Delivery {
        projection: raw(row, 0)?,
        session: get(row, 1)?,
        taken: count(row, 2)?,
        due: count(row, 3)?,
        since: get(row, 4)?,
        retry_at: get(row, 5)?,
        tries: u32::try_from(count(row, 6)?).unwrap_or(u32::MAX),
        reason: raw(row, 7)?,
        parked_at: opt(row, 8)?,
        left_out: count(row, 9)?,
    })
}

/// The receipt that is spoken of. A sink that has more than there are was fed by somebody else, and lacks the next.
const FOUND: &str = "least($4::bigint, due)";

/// No failure counts any more.
const CLEARED: &str = "tries = 0, reason = NULL, parked_at = NULL";

/// When the first receipt behind those that the sink has was sealed.
fn since(taken: &str) -> String {
    format!(
        "coalesce((SELECT r.at FROM receipts r WHERE r.tenant = $1 AND r.session = deliveries.session AND r.number = {taken} + 1), since)"
    )
}

/// The condition for a session that is `$3`, or for all: each written out, so that each can use its index.
fn which_session(session: Option<SessionId>) -> &'static str {
    match session {
        Some(_) => "session = $3",
        None => "$3::uuid IS NULL",
    }
}

impl Tx<'_> {
    /// A receipt is due at every projection.
    pub(super) fn make_due(
        &mut self,
        session: SessionId,
        number: u64,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO deliveries (tenant, projection, session, taken, due, since, retry_at) \
             SELECT $1::text, name, $2::uuid, 0, $3::bigint, $4::bigint, $4::bigint FROM projections WHERE tenant = $1 \
             ON CONFLICT (tenant, projection, session) DO UPDATE SET due = excluded.due, \
             retry_at = CASE WHEN deliveries.due = deliveries.taken THEN excluded.retry_at ELSE deliveries.retry_at END, \
             since = CASE WHEN deliveries.due = deliveries.taken THEN excluded.since ELSE deliveries.since END";
        self.run(sql, &[&Col(session), &int(number), &Col(at)])?;
        Ok(())
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
            "UPDATE deliveries SET taken = {FOUND}, since = {}, retry_at = $5, {CLEARED} \
             WHERE tenant = $1 AND projection = $2 AND session = $3 AND {only}",
            since(FOUND)
        );
        self.run(&sql, &[&name, &Col(session), &int(taken), &Col(retry_at)])?;
        Ok(())
    }
}

impl Projections for Tx<'_> {
    fn put_projection(&mut self, p: &Projection) -> Result<()> {
        // Receipts that are being stored right now are waited for: see `PUT_RECEIPT`.
        let held = "SELECT tenant FROM tenants WHERE tenant = $1 FOR UPDATE";
        self.row(held, &[], |_| Ok(()))?;
        let scope = p.scope.as_ref().map(json);
        let again = "UPDATE destinations SET stated = 0 WHERE tenant = $1 AND projection = $2 AND EXISTS \
             (SELECT 1 FROM projections p WHERE p.tenant = $1 AND p.name = $2 AND p.scope IS DISTINCT FROM $3::text)";
        self.run(again, &[&p.name, &scope])?;
        let moved = "UPDATE projections SET kind = $3, target = $4, scope = $5 WHERE tenant = $1 AND name = $2";
        if self.run(moved, &[&p.name, &p.kind, &p.target, &scope])? > 0 {
            return Ok(());
        }
        let new = "INSERT INTO projections (tenant, name, kind, target, at, scope) VALUES ($1, $2, $3, $4, $5, $6)";
        self.run(new, &[&p.name, &p.kind, &p.target, &Col(p.at), &scope])?;
        let all = "INSERT INTO deliveries (tenant, projection, session, taken, due, since, retry_at) \
             SELECT $1::text, $2::text, f.session, 0, (SELECT max(l.number) FROM receipts l WHERE l.tenant = $1 AND l.session = f.session), \
             f.at, $3::bigint FROM receipts f WHERE f.tenant = $1 AND f.number = 1";
        self.run(all, &[&p.name, &Col(p.at)])?;
        match p.kind == DESTINATION {
            true => self.add_destination(&p.name),
            false => Ok(()),
        }
    }

    fn projections(&mut self) -> Result<Vec<Projection>> {
        let sql =
            "SELECT name, kind, target, at, scope FROM projections WHERE tenant = $1 ORDER BY name";
        self.rows(sql, &[], |row| {
            let scope: Option<&str> = raw(row, 4)?;
            Ok(Projection {
                name: raw(row, 0)?,
                kind: raw(row, 1)?,
                target: raw(row, 2)?,
                at: get(row, 3)?,
                scope: scope.map(|s| from_json("scope", s)).transpose()?,
            })
        })
    }

    fn in_scope(&mut self, name: &str, session: SessionId) -> Result<bool> {
        self.session_in_scope(name, session)
    }

    fn reach(&mut self, name: &str) -> Result<Reach> {
        self.reach_of(name)
    }

    fn drop_projection(&mut self, name: &str) -> Result<bool> {
        // First the projection: what is sealed while its cursors go is no longer due at it.
        let held = "SELECT tenant FROM tenants WHERE tenant = $1 FOR UPDATE";
        self.row(held, &[], |_| Ok(()))?;
        let sql = "DELETE FROM projections WHERE tenant = $1 AND name = $2";
        let gone = self.run(sql, &[&name])?;
        let sql = "DELETE FROM deliveries WHERE tenant = $1 AND projection = $2";
        self.run(sql, &[&name])?;
        self.drop_destination(name)?;
        Ok(gone > 0)
    }

    fn restart(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64> {
        let sql = format!(
            "UPDATE deliveries SET taken = 0, left_out = 0, since = {}, retry_at = $4, {CLEARED} \
             WHERE tenant = $1 AND projection = $2 AND {}",
            since("0"),
            which_session(session)
        );
        self.run(&sql, &[&name, &session.map(Col), &Col(at)])
    }

    fn claim(
        &mut self,
        name: &str,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        let sql = format!(
            "WITH free AS (SELECT {DELIVERY} FROM deliveries WHERE tenant = $1 AND projection = $2 AND due > taken \
             AND parked_at IS NULL AND retry_at <= $3 AND {} ORDER BY retry_at, session LIMIT $5 FOR UPDATE SKIP LOCKED), \
             mine AS (UPDATE deliveries SET retry_at = $4 FROM free \
             WHERE deliveries.tenant = $1 AND deliveries.projection = $2 AND deliveries.session = free.session) \
             SELECT {DELIVERY} FROM free ORDER BY retry_at, session",
            scope::session("deliveries.projection", "deliveries.session")
        );
        let of: [Value<'_>; 4] = [&name, &Col(at), &Col(until), &int(limit as u64)];
        let mut claimed = self.rows(&sql, &of, delivery_row)?;
        claimed.iter_mut().for_each(|d| d.retry_at = until);
        Ok(claimed)
    }

    fn next_try(&mut self, name: &str) -> Result<Option<Timestamp>> {
        let sql = format!(
            "SELECT min(retry_at) FROM deliveries WHERE tenant = $1 AND projection = $2 AND due > taken \
             AND parked_at IS NULL AND {}",
            scope::session("deliveries.projection", "deliveries.session")
        );
        self.one(&sql, &[&name], |row| opt(row, 0))
    }

    fn free_claims(&mut self, name: &str, at: Timestamp) -> Result<u64> {
        let sql = "UPDATE deliveries SET retry_at = $3 WHERE tenant = $1 AND projection = $2 AND due > taken \
             AND parked_at IS NULL AND retry_at > $3 AND tries = 0";
        self.run(sql, &[&name, &Col(at)])
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
            "UPDATE deliveries SET retry_at = $4, {CLEARED} \
             WHERE tenant = $1 AND projection = $2 AND {} AND due > taken",
            which_session(session)
        );
        self.run(&sql, &[&name, &session.map(Col), &Col(at)])
    }

    fn leave_out(
        &mut self,
        name: &str,
        session: SessionId,
        number: u64,
        at: Timestamp,
    ) -> Result<()> {
        let passed = format!("greatest(taken, {FOUND})");
        let sql = format!(
            "UPDATE deliveries SET taken = {passed}, left_out = greatest(left_out, {FOUND}), since = {}, retry_at = $5, \
             {CLEARED} WHERE tenant = $1 AND projection = $2 AND session = $3",
            since(&passed)
        );
        self.run(&sql, &[&name, &Col(session), &int(number), &Col(at)])?;
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
        let sql = "UPDATE deliveries SET tries = tries + 1, reason = $4, retry_at = $5, \
             parked_at = coalesce(parked_at, $6::bigint) \
             WHERE tenant = $1 AND projection = $2 AND session = $3 AND due > taken";
        let parked_at = parked_at.map(Col);
        self.run(
            sql,
            &[&name, &Col(session), &reason, &Col(retry_at), &parked_at],
        )?;
        Ok(())
    }

    fn delivery(&mut self, name: &str, session: SessionId) -> Result<Option<Delivery>> {
        let sql = format!(
            "SELECT {DELIVERY} FROM deliveries WHERE tenant = $1 AND projection = $2 AND session = $3"
        );
        self.row(&sql, &[&name, &Col(session)], delivery_row)
    }

    fn troubled(&mut self, name: Option<&str>, limit: usize) -> Result<Vec<Delivery>> {
        let sql = format!(
            "SELECT {DELIVERY} FROM deliveries WHERE tenant = $1 AND ($2::text IS NULL OR projection = $2) \
             AND tries > 0 AND {} ORDER BY projection, since, session LIMIT $3",
            scope::session("deliveries.projection", "deliveries.session")
        );
        self.rows(&sql, &[&name, &int(limit as u64)], delivery_row)
    }

    fn lag(&mut self, name: &str) -> Result<Lag> {
        let sql = format!(
            "SELECT coalesce(sum(due - taken), 0)::bigint, count(*), min(since), \
             count(*) FILTER (WHERE tries > 0 AND parked_at IS NULL), count(*) FILTER (WHERE parked_at IS NOT NULL) \
             FROM deliveries WHERE tenant = $1 AND projection = $2 AND due > taken AND {}",
            scope::session("deliveries.projection", "deliveries.session")
        );
        self.one(&sql, &[&name], |row| {
            Ok(Lag {
                receipts: count(row, 0)?,
                sessions: count(row, 1)?,
                since: opt(row, 2)?,
                failing: count(row, 3)?,
                parked: count(row, 4)?,
            })
        })
    }

    fn receipts_after(
        &mut self,
        session: SessionId,
        number: u64,
        limit: usize,
    ) -> Result<Vec<Receipt>> {
        let of = "session = $2 AND number > $3 ORDER BY number LIMIT $4";
        self.receipt_rows(of, &[&Col(session), &int(number), &int(limit as u64)])
    }
}
