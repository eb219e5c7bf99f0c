//! What is done about projections in SQLite's own way.

use siglum_domain::Timestamp;

use super::columns::{Col, int};
use super::database::Tx;
use crate::columns::Value;
use crate::database::Database;
use crate::sql::sql;
use crate::verbs::projections::{DELIVERY, OwnProjections, delivery_row};
use crate::verbs::scope::DELIVERY_IN_SCOPE;
use crate::{Delivery, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

impl OwnProjections for Tx<'_> {
    fn claim_deliveries(
        &mut self,
        name: &str,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        let due = sql!("SELECT " DELIVERY " FROM deliveries INDEXED BY deliveries_due WHERE projection = ?1 \
             AND due > taken AND parked_at IS NULL AND retry_at <= ?2 AND " DELIVERY_IN_SCOPE
             " ORDER BY retry_at, session LIMIT ?3");
        let of: [Value<'_>; 3] = [&name, &Col(at), &int(limit as u64)];
        let mut due = self.rows(due, &of, delivery_row)?;
        let mine = "UPDATE deliveries SET retry_at = ?3 WHERE projection = ?1 AND session = ?2";
        for delivery in &mut due {
            self.run(mine, &[&name, &Col(delivery.session), &Col(until)])?;
            delivery.retry_at = until;
        }
        Ok(due)
    }
}
