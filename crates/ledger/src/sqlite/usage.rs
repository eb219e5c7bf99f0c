//! What messages cost, in SQLite.

use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};
use siglum_domain::SessionId;
use siglum_domain::fold::Usage;
use siglum_domain::observation::Tokens;

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use crate::row::{from_json, word};
use crate::usage::{pack_left_out, unpack_left_out};
use crate::{LedgerError, UsageFilter, UsageRecord, Usages};

type Result<T> = std::result::Result<T, LedgerError>;

const USAGE: &str = "session, event, request, turn, at, model, subagent, branch, source, input, output, \
     cache_read, cache_write, left_out";

fn usage_row(row: &Row<'_>) -> Result<UsageRecord> {
    let (source, left_out): (String, Option<String>) = (row.get(8)?, row.get(13)?);
    let (repeated, retold) = unpack_left_out(left_out.as_deref())?;
    Ok(UsageRecord {
        session: get(row, 0)?,
        usage: Usage {
            event: row.get(1)?,
            request: row.get(2)?,
            turn: opt(row, 3)?,
            at: get(row, 4)?,
            model: row.get(5)?,
            subagent: row.get(6)?,
            branch: row.get(7)?,
            source: from_json("source", &format!("\"{source}\""))?,
            tokens: Tokens {
                input: count(row, 9)?,
                output: count(row, 10)?,
                cache_read: count(row, 11)?,
                cache_write: count(row, 12)?,
            },
            repeated,
            retold,
        },
        copied: row.get(14)?,
    })
}

/// The conditions of a filter, with their values.
fn conditions(filter: &UsageFilter) -> (String, Vec<Value>) {
    let id = |session: SessionId| Value::Blob(session.uuid().as_bytes().to_vec());
    let (mut conditions, mut values) = ("true".to_owned(), Vec::new());
    let mut add = |condition: &str, value: Value| {
        values.push(value);
        conditions += &condition.replace('?', &format!("?{}", values.len()));
    };
    if let Some(session) = filter.session {
        add(" AND session = ?", id(session));
    }
    if let Some(since) = filter.since {
        add(" AND at >= ?", Value::Integer(since.nanos()));
    }
    if let Some(until) = filter.until {
        add(" AND at < ?", Value::Integer(until.nanos()));
    }
    if let Some((session, event)) = &filter.after {
        add(" AND (session, event) > (?", id(*session));
        add(", ?)", Value::Text(event.clone()));
    }
    (conditions, values)
}

impl Usages for Tx<'_> {
    fn put_usages(&mut self, session: SessionId, usages: &[Usage]) -> Result<()> {
        let forgotten = "SELECT forgotten_at FROM sessions WHERE id = ?1 AND forgotten_whole";
        let sql =
            format!("DELETE FROM usages WHERE session = ?1 AND (at <= ({forgotten})) IS NOT TRUE");
        self.db.prepare_cached(&sql)?.execute([Col(session)])?;
        let sql = format!(
            "INSERT INTO usages ({USAGE}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
             ON CONFLICT DO NOTHING"
        );
        let mut put = self.db.prepare_cached(&sql)?;
        for u in usages {
            put.execute(params![
                Col(session),
                u.event,
                u.request,
                u.turn.map(Col),
                Col(u.at),
                u.model,
                u.subagent,
                u.branch,
                word(&u.source),
                int(u.tokens.input),
                int(u.tokens.output),
                int(u.tokens.cache_read),
                int(u.tokens.cache_write),
                pack_left_out(u),
            ])?;
        }
        Ok(())
    }

    fn drop_usages(&mut self, session: SessionId) -> Result<()> {
        let sql = "DELETE FROM usages WHERE session = ?1";
        self.db.prepare_cached(sql)?.execute([Col(session)])?;
        Ok(())
    }

    fn usages(&mut self, filter: &UsageFilter) -> Result<Vec<UsageRecord>> {
        let (conditions, mut values) = conditions(filter);
        let limit = if filter.limit == 0 {
            -1
        } else {
            int(filter.limit as u64)
        };
        values.push(Value::Integer(limit));
        let sql = format!(
            "SELECT {USAGE}, EXISTS (SELECT 1 FROM usages o \
              WHERE o.event = u.event AND o.at = u.at AND o.session < u.session) \
             FROM usages u WHERE {conditions} ORDER BY session, event LIMIT ?{}",
            values.len()
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(usage_row(row)?);
        }
        Ok(records)
    }
}
