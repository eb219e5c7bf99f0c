//! Requests that were done, in PostgreSQL.

use siglum_domain::Timestamp;

use super::columns::{Col, get, int, raw};
use super::tx::Tx;
use crate::{LedgerError, RequestRecord, Requests};

type Result<T> = std::result::Result<T, LedgerError>;

impl Requests for Tx<'_> {
    fn request(&mut self, key: &str) -> Result<Option<RequestRecord>> {
        let sql = "SELECT key, content, outcome, at FROM requests WHERE tenant = $1 AND key = $2";
        self.row(sql, &[&key], |row| {
            Ok(RequestRecord {
                key: raw(row, 0)?,
                content: raw(row, 1)?,
                outcome: raw(row, 2)?,
                at: get(row, 3)?,
            })
        })
    }

    fn put_request(&mut self, r: &RequestRecord) -> Result<bool> {
        let sql = "INSERT INTO requests (tenant, key, content, outcome, at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT DO NOTHING";
        Ok(self.run(sql, &[&r.key, &r.content, &r.outcome, &Col(r.at)])? == 1)
    }

    fn drop_requests(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        let sql = "DELETE FROM requests WHERE tenant = $1 AND key = ANY(ARRAY( \
             SELECT o.key FROM requests o WHERE o.tenant = $1 AND o.at < $2 ORDER BY o.at LIMIT $3))";
        self.run(sql, &[&Col(before), &int(limit as u64)])
    }
}
