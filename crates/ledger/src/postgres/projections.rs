//! What is done about projections in PostgreSQL's own way.

use siglum_domain::Timestamp;

use super::columns::{Col, int};
use super::tx::Tx;
use crate::columns::Value;
use crate::database::Database;
use crate::sql::sql;
use crate::verbs::projections::{DELIVERY, OwnProjections, delivery_row};
use crate::verbs::scope::DELIVERY_IN_SCOPE;
use crate::{DESTINATION, Delivery, LedgerError, Projection};

type Result<T> = std::result::Result<T, LedgerError>;

impl OwnProjections for Tx<'_> {
    fn claim_deliveries(
        &mut self,
        name: &str,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        let sql = sql!("WITH free AS (SELECT " DELIVERY " FROM deliveries WHERE tenant = $1 AND projection = ?1 AND due > taken \
             AND parked_at IS NULL AND retry_at <= ?2 AND " DELIVERY_IN_SCOPE " ORDER BY retry_at, session LIMIT ?4 \
             FOR UPDATE SKIP LOCKED), mine AS (UPDATE deliveries SET retry_at = ?3 FROM free \
             WHERE deliveries.tenant = $1 AND deliveries.projection = ?1 AND deliveries.session = free.session) \
             SELECT " DELIVERY " FROM free ORDER BY retry_at, session");
        let of: [Value<'_>; 4] = [&name, &Col(at), &Col(until), &int(limit as u64)];
        let mut claimed = Database::rows(self, sql, &of, delivery_row)?;
        claimed.iter_mut().for_each(|d| d.retry_at = until);
        Ok(claimed)
    }

    fn projection_added(&mut self, p: &Projection) -> Result<()> {
        match p.kind == DESTINATION {
            true => self.add_destination(&p.name),
            false => Ok(()),
        }
    }

    fn projection_dropped(&mut self, name: &str) -> Result<()> {
        self.drop_destination(name)
    }
}
