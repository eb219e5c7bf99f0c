//! Requests that were done.

use siglum_domain::Timestamp;

use crate::columns::{Col, int};
use crate::database::Database;
use crate::sql::sql;
use crate::{LedgerError, RequestRecord, Requests};

type Result<T> = std::result::Result<T, LedgerError>;

impl<D: Database> Requests for D {
    fn request(&mut self, key: &str) -> Result<Option<RequestRecord>> {
        let sql =
            sql!("SELECT key, content, outcome, at FROM requests WHERE [tenant = $1 AND] key = ?1");
        self.row(sql, &[&key], |row| {
            Ok(RequestRecord {
                key: row.get(0)?,
                content: row.get(1)?,
                outcome: row.get(2)?,
                at: row.get(3)?,
            })
        })
    }

    fn put_request(&mut self, r: &RequestRecord) -> Result<bool> {
        let sql = sql!(
            "INSERT INTO requests ([tenant,] key, content, outcome, at) VALUES ([$1,] ?1, ?2, ?3, ?4) \
             ON CONFLICT DO NOTHING"
        );
        Ok(self.run(sql, &[&r.key, &r.content, &r.outcome, &Col(r.at)])? == 1)
    }

    fn drop_requests(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        let sql = sql!(
            "DELETE FROM requests WHERE [tenant = $1 AND key = ANY(ARRAY( \
             SELECT o.key FROM requests o WHERE o.tenant = $1 AND o.at < ?1 ORDER BY o.at LIMIT ?2))\
             |key IN (SELECT key FROM requests WHERE at < ?1 ORDER BY at LIMIT ?2)]"
        );
        self.run(sql, &[&Col(before), &int(limit as u64)])
    }
}
