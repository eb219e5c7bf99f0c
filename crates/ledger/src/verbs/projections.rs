//! Projections and what is due at them.

use siglum_domain::receipt::Receipt;
use siglum_domain::{SessionId, Timestamp};

use super::log::{RECEIPT, receipt_row};
use super::scope::{DELIVERY_IN_SCOPE, IN_SCOPE};
use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::row::{from_json, json};
use crate::sql::sql;
use crate::{Delivery, Lag, LedgerError, Projection, Projections, Reach};

type Result<T> = std::result::Result<T, LedgerError>;

pub(crate) const DELIVERY: &str =
    "projection, session, taken, due, since, retry_at, tries, reason, parked_at, left_out";

pub(crate) fn delivery_row(row: &Row<'_>) -> Result<Delivery> {
    Ok(Delivery {
        projection: row.get(0)?,
        session: row.get(1)?,
        taken: row.count(2)?,
        due: row.count(3)?,
        since: row.get(4)?,
        retry_at: row.get(5)?,
        tries: u32::try_from(row.count(6)?).unwrap_or(u32::MAX),
        reason: row.get(7)?,
        parked_at: row.get(8)?,
        left_out: row.count(9)?,
    })
}

/// What a store does about projections in its own way.
pub(crate) trait OwnProjections: Database {
    /// See [`Projections::claim`].
    fn claim_deliveries(
        &mut self,
        name: &str,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>>;

    /// A projection was added.
    fn projection_added(&mut self, _: &Projection) -> Result<()> {
        Ok(())
    }

    /// A projection was dropped.
    fn projection_dropped(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
}

/// The receipt that is spoken of. A sink that has more than there are was fed by somebody else, and lacks the next.
const FOUND: &str = "[least(?3::bigint, due)|min(?3, due)]";

/// The receipts that a sink has, after one was left out.
const PASSED: &str = "[greatest(taken, least(?3::bigint, due))|max(taken, min(?3, due))]";

/// Who adds a projection or drops one, and who seals a receipt, wait for each other.
const TENANT: &str = "SELECT tenant FROM tenants WHERE tenant = $1 FOR UPDATE";

/// No failure counts any more.
const CLEARED: &str = "tries = 0, reason = NULL, parked_at = NULL";

/// When the first receipt behind those that the sink has was sealed: how many that are stands behind it, and then the end.
const SINCE: &str = "coalesce((SELECT r.at FROM receipts r WHERE [r.tenant = $1 AND] r.session = deliveries.session AND r.number = ";
const OR_SINCE: &str = " + 1), since)";

/// A receipt is due at every projection.
pub(crate) fn make_due(
    db: &mut impl Database,
    session: SessionId,
    number: u64,
    at: Timestamp,
) -> Result<()> {
    let sql = sql!(
        "INSERT INTO deliveries ([tenant,] projection, session, taken, due, since, retry_at) \
         SELECT [$1::text,] name, ?1[::uuid], 0, ?2[::bigint], ?3[::bigint], ?3[::bigint] FROM projections \
         WHERE [tenant = $1|true] ON CONFLICT ([tenant,] projection, session) DO UPDATE SET due = excluded.due, \
         retry_at = CASE WHEN deliveries.due = deliveries.taken THEN excluded.retry_at ELSE deliveries.retry_at END, \
         since = CASE WHEN deliveries.due = deliveries.taken THEN excluded.since ELSE deliveries.since END"
    );
    db.run(sql, &[&Col(session), &int(number), &Col(at)])?;
    Ok(())
}

/// Something of a session was erased. Directories have what was committed word by word: they begin it anew, from `at` on.
pub(super) fn restart_directories(
    db: &mut impl Database,
    session: SessionId,
    at: Timestamp,
) -> Result<()> {
    let sql = sql!("UPDATE deliveries SET taken = 0, left_out = 0, since = " SINCE "0" OR_SINCE ", retry_at = ?2, " CLEARED
         " WHERE [tenant = $1 AND] session = ?1 \
         AND projection IN (SELECT name FROM projections WHERE [tenant = $1 AND] kind = 'directory')");
    db.run(sql, &[&Col(session), &Col(at)]).map(drop)
}

impl<D: OwnProjections> Projections for D {
    fn put_projection(&mut self, p: &Projection) -> Result<()> {
        // Receipts that are being stored right now are waited for, and wait: each holds the tenant's row.
        self.lock(TENANT, &[])?;
        let scope = p.scope.as_ref().map(json);
        let again = sql!(
            "UPDATE destinations SET stated = 0 WHERE [tenant = $1 AND] projection = ?1 AND EXISTS \
             (SELECT 1 FROM projections p WHERE [p.tenant = $1 AND] p.name = ?1 AND p.scope IS DISTINCT FROM ?2[::text])"
        );
        self.run(again, &[&p.name, &scope])?;
        let moved = sql!(
            "UPDATE projections SET kind = ?2, target = ?3, scope = ?4 WHERE [tenant = $1 AND] name = ?1"
        );
        let of: [Value<'_>; 4] = [&p.name, &p.kind, &p.target, &scope];
        if self.run(moved, &of)? > 0 {
            return self.sum("projections", "name = ?1", &[&p.name]);
        }
        let new = sql!(
            "INSERT INTO projections ([tenant,] name, kind, target, at, scope) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5)"
        );
        let of: [Value<'_>; 5] = [&p.name, &p.kind, &p.target, &Col(p.at), &scope];
        self.run(new, &of)?;
        self.sum("projections", "name = ?1", &[&p.name])?;
        let all = sql!(
            "INSERT INTO deliveries ([tenant,] projection, session, taken, due, since, retry_at) \
             SELECT [$1::text,] ?1[::text], f.session, 0, \
             (SELECT max(l.number) FROM receipts l WHERE [l.tenant = $1 AND] l.session = f.session), f.at, ?2[::bigint] \
             FROM receipts f WHERE [f.tenant = $1 AND] f.number = 1"
        );
        self.run(all, &[&p.name, &Col(p.at)])?;
        self.projection_added(p)
    }

    fn projections(&mut self) -> Result<Vec<Projection>> {
        let sql = sql!(
            "SELECT name, kind, target, at, scope FROM projections [WHERE tenant = $1] ORDER BY name"
        );
        self.rows(sql, &[], |row| {
            let scope: Option<String> = row.get(4)?;
            Ok(Projection {
                name: row.get(0)?,
                kind: row.get(1)?,
                target: row.get(2)?,
                at: row.get(3)?,
                scope: scope.map(|s| from_json("scope", &s)).transpose()?,
            })
        })
    }

    fn in_scope(&mut self, name: &str, session: SessionId) -> Result<bool> {
        let sql = sql!("SELECT " IN_SCOPE);
        self.one(sql, &[&name, &Col(session)], |row| row.get(0))
    }

    fn reach(&mut self, name: &str) -> Result<Reach> {
        let sql = sql!("SELECT count(*) FILTER (WHERE is_in), count(*) FILTER (WHERE NOT is_in) FROM (SELECT "
             DELIVERY_IN_SCOPE " AS is_in FROM deliveries WHERE [tenant = $1 AND] projection = ?1) found");
        self.one(sql, &[&name], |row| {
            Ok(Reach {
                sessions: row.count(0)?,
                outside: row.count(1)?,
            })
        })
    }

    fn drop_projection(&mut self, name: &str) -> Result<bool> {
        // First the projection: what is sealed while its cursors go is no longer due at it.
        self.lock(TENANT, &[])?;
        let gone = self.delete("projections", sql!("[tenant = $1 AND] name = ?1"), &[&name])?;
        let rows = sql!("[tenant = $1 AND] projection = ?1");
        self.delete("deliveries", rows, &[&name])?;
        self.projection_dropped(name)?;
        Ok(gone > 0)
    }

    fn restart(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64> {
        // Each is written out, so that each can use its index.
        let sql = match session {
            Some(_) => {
                sql!("UPDATE deliveries SET taken = 0, left_out = 0, since = " SINCE "0" OR_SINCE ", retry_at = ?3, " CLEARED
                 " WHERE [tenant = $1 AND] projection = ?1 AND session = ?2")
            }
            None => {
                sql!("UPDATE deliveries SET taken = 0, left_out = 0, since = " SINCE "0" OR_SINCE ", retry_at = ?3, " CLEARED
                 " WHERE [tenant = $1 AND] projection = ?1 AND ?2[::uuid] IS NULL")
            }
        };
        self.run(sql, &[&name, &session.map(Col), &Col(at)])
    }

    fn claim(
        &mut self,
        name: &str,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        self.claim_deliveries(name, at, until, limit)
    }

    fn next_try(&mut self, name: &str) -> Result<Option<Timestamp>> {
        let sql = sql!("SELECT min(retry_at) FROM deliveries [|INDEXED BY deliveries_due] WHERE [tenant = $1 AND] projection = ?1 \
             AND due > taken AND parked_at IS NULL AND " DELIVERY_IN_SCOPE);
        self.one(sql, &[&name], |row| row.get(0))
    }

    fn free_claims(&mut self, name: &str, at: Timestamp) -> Result<u64> {
        let sql = sql!(
            "UPDATE deliveries SET retry_at = ?2 WHERE [tenant = $1 AND] projection = ?1 AND due > taken \
             AND parked_at IS NULL AND retry_at > ?2 AND tries = 0"
        );
        self.run(sql, &[&name, &Col(at)])
    }

    fn taken(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
    ) -> Result<()> {
        let sql = sql!("UPDATE deliveries SET taken = " FOUND ", since = " SINCE FOUND OR_SINCE ", retry_at = ?4, " CLEARED
             " WHERE [tenant = $1 AND] projection = ?1 AND session = ?2 AND taken < " FOUND);
        let of: [Value<'_>; 4] = [&name, &Col(session), &int(taken), &Col(retry_at)];
        self.run(sql, &of).map(drop)
    }

    fn come_to(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
    ) -> Result<()> {
        let sql = sql!("UPDATE deliveries SET taken = " FOUND ", since = " SINCE FOUND OR_SINCE ", retry_at = ?4, " CLEARED
             " WHERE [tenant = $1 AND] projection = ?1 AND session = ?2 AND true");
        let of: [Value<'_>; 4] = [&name, &Col(session), &int(taken), &Col(retry_at)];
        self.run(sql, &of).map(drop)
    }

    fn retry(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64> {
        let sql = match session {
            Some(_) => sql!("UPDATE deliveries SET retry_at = ?3, " CLEARED
                 " WHERE [tenant = $1 AND] projection = ?1 AND session = ?2 AND due > taken"),
            None => sql!("UPDATE deliveries SET retry_at = ?3, " CLEARED
                 " WHERE [tenant = $1 AND] projection = ?1 AND ?2[::uuid] IS NULL AND due > taken"),
        };
        self.run(sql, &[&name, &session.map(Col), &Col(at)])
    }

    fn leave_out(
        &mut self,
        name: &str,
        session: SessionId,
        number: u64,
        at: Timestamp,
    ) -> Result<()> {
        let sql = sql!("UPDATE deliveries SET taken = " PASSED ", \
             left_out = [greatest(left_out, least(?3::bigint, due))|max(left_out, min(?3, due))], \
             since = " SINCE PASSED OR_SINCE ", retry_at = ?4, " CLEARED
             " WHERE [tenant = $1 AND] projection = ?1 AND session = ?2");
        let of: [Value<'_>; 4] = [&name, &Col(session), &int(number), &Col(at)];
        self.run(sql, &of).map(drop)
    }

    fn failed(
        &mut self,
        name: &str,
        session: SessionId,
        reason: &str,
        retry_at: Timestamp,
        parked_at: Option<Timestamp>,
    ) -> Result<()> {
        let sql = sql!(
            "UPDATE deliveries SET tries = tries + 1, reason = ?3, retry_at = ?4, \
             parked_at = coalesce(parked_at, ?5[::bigint]) \
             WHERE [tenant = $1 AND] projection = ?1 AND session = ?2 AND due > taken"
        );
        let parked_at = parked_at.map(Col);
        self.run(
            sql,
            &[&name, &Col(session), &reason, &Col(retry_at), &parked_at],
        )?;
        Ok(())
    }

    fn delivery(&mut self, name: &str, session: SessionId) -> Result<Option<Delivery>> {
        let sql = sql!("SELECT " DELIVERY " FROM deliveries WHERE [tenant = $1 AND] projection = ?1 AND session = ?2");
        self.row(sql, &[&name, &Col(session)], delivery_row)
    }

    fn troubled(&mut self, name: Option<&str>, limit: usize) -> Result<Vec<Delivery>> {
        let sql = sql!("SELECT " DELIVERY " FROM deliveries WHERE [tenant = $1 AND] (?1[::text] IS NULL OR projection = ?1) \
             AND tries > 0 AND " DELIVERY_IN_SCOPE " ORDER BY projection, since, session LIMIT ?2");
        self.rows(sql, &[&name, &int(limit as u64)], delivery_row)
    }

    fn lag(&mut self, name: &str) -> Result<Lag> {
        let sql = sql!("SELECT coalesce(sum(due - taken), 0)[::bigint], count(*), min(since), \
             count(*) FILTER (WHERE tries > 0 AND parked_at IS NULL), count(*) FILTER (WHERE parked_at IS NOT NULL) \
             FROM deliveries WHERE [tenant = $1 AND] projection = ?1 AND due > taken AND " DELIVERY_IN_SCOPE);
        self.one(sql, &[&name], |row| {
            Ok(Lag {
                receipts: row.count(0)?,
                sessions: row.count(1)?,
                since: row.get(2)?,
                failing: row.count(3)?,
                parked: row.count(4)?,
            })
        })
    }

    fn receipts_after(
        &mut self,
        session: SessionId,
        number: u64,
        limit: usize,
    ) -> Result<Vec<Receipt>> {
        let sql = sql!("SELECT " RECEIPT " FROM receipts WHERE [tenant = $1 AND] session = ?1 AND number > ?2 \
             ORDER BY number LIMIT ?3");
        let of: [Value<'_>; 3] = [&Col(session), &int(number), &int(limit as u64)];
        self.rows(sql, &of, receipt_row)
    }
}
