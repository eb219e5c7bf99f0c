//! Requests that were done, in SQLite.

use rusqlite::{OptionalExtension, params};
use siglum_domain::Timestamp;

use super::columns::{Col, get, int};
use super::open::Tx;
use crate::{LedgerError, RequestRecord, Requests};

type Result<T> = std::result::Result<T, LedgerError>;

impl Requests for Tx<'_> {
    fn request(&mut self, key: &str) -> Result<Option<RequestRecord>> {
        let sql = "SELECT key, content, outcome, at FROM requests WHERE key = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        let record = query.query_row([key], |row| {
            Ok(RequestRecord {
                key: row.get(0)?,
                content: row.get(1)?,
                outcome: row.get(2)?,
                at: get(row, 3)?,
            })
        });
        Ok(record.optional()?)
    }

    fn put_request(&mut self, r: &RequestRecord) -> Result<bool> {
        let sql = "INSERT INTO requests (key, content, outcome, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
        let values = params![r.key, r.content, r.outcome, Col(r.at)];
        Ok(self.db.prepare_cached(sql)?.execute(values)? == 1)
    }

    fn drop_requests(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        let sql = "DELETE FROM requests WHERE key IN (SELECT key FROM requests WHERE at < ?1 ORDER BY at LIMIT ?2)";
        let of = (Col(before), int(limit as u64));
        Ok(self.db.prepare_cached(sql)?.execute(of)? as u64)
    }
}
