//! What messages cost, in PostgreSQL.

use postgres::Row;
use siglum_domain::SessionId;
use siglum_domain::fold::Usage;
use siglum_domain::observation::Tokens;

use super::columns::{Col, count, get, int, limit, opt, raw};
use super::tx::{Tx, Value};
use crate::row::{from_json, word};
use crate::usage::{pack_left_out, unpack_left_out};
use crate::{LedgerError, UsageFilter, UsageRecord, Usages};

type Result<T> = std::result::Result<T, LedgerError>;

const USAGE: &str = "session, event, request, turn, at, model, subagent, branch, source, input, output, \
     cache_read, cache_write, left_out";

fn usage_row(row: &Row) -> Result<UsageRecord> {
    let (repeated, retold) = unpack_left_out(raw::<Option<&str>>(row, 13)?)?;
    Ok(UsageRecord {
        session: get(row, 0)?,
        usage: Usage {
            event: raw(row, 1)?,
            request: raw(row, 2)?,
            turn: opt(row, 3)?,
            at: get(row, 4)?,
            model: raw(row, 5)?,
            subagent: raw(row, 6)?,
            branch: raw(row, 7)?,
            source: from_json("source", &format!("\"{}\"", raw::<&str>(row, 8)?))?,
            tokens: Tokens {
                input: count(row, 9)?,
                output: count(row, 10)?,
                cache_read: count(row, 11)?,
                cache_write: count(row, 12)?,
            },
            repeated,
            retold,
        },
        copied: raw(row, 14)?,
    })
}

impl Usages for Tx<'_> {
    fn put_usages(&mut self, session: SessionId, usages: &[Usage]) -> Result<()> {
        let sql = "DELETE FROM usages WHERE tenant = $1 AND session = $2 AND (at <= \
             (SELECT forgotten_at FROM sessions WHERE tenant = $1 AND id = $2 AND forgotten_whole)) IS NOT TRUE";
        self.run(sql, &[&Col(session)])?;
        let sql = format!(
            "INSERT INTO usages (tenant, {USAGE}) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING"
        );
        for u in usages {
            self.run(
                &sql,
                &[
                    &Col(session),
                    &u.event,
                    &u.request,
                    &u.turn.map(Col),
                    &Col(u.at),
                    &u.model,
                    &u.subagent,
                    &u.branch,
                    &word(&u.source),
                    &int(u.tokens.input),
                    &int(u.tokens.output),
                    &int(u.tokens.cache_read),
                    &int(u.tokens.cache_write),
                    &pack_left_out(u),
                ],
            )?;
        }
        Ok(())
    }

    fn drop_usages(&mut self, session: SessionId) -> Result<()> {
        let sql = "DELETE FROM usages WHERE tenant = $1 AND session = $2";
        self.run(sql, &[&Col(session)])?;
        Ok(())
    }

    fn usages(&mut self, filter: &UsageFilter) -> Result<Vec<UsageRecord>> {
        let (session, since, until) = (
            filter.session.map(Col),
            filter.since.map(Col),
            filter.until.map(Col),
        );
        let behind = filter.after.as_ref().map(|(session, _)| Col(*session));
        let event = filter.after.as_ref().map(|(_, event)| event);
        let most = limit(filter.limit);
        let of: [(&str, Value<'_>, bool); 5] = [
            ("u.session = $", &session, session.is_some()),
            ("u.at >= $", &since, since.is_some()),
            ("u.at < $", &until, until.is_some()),
            ("(u.session, u.event) > ($, ", &behind, behind.is_some()),
            ("$)", &event, event.is_some()),
        ];
        let of_usage = USAGE.replace(", ", ", u.");
        let mut sql = format!(
            "SELECT u.{of_usage}, EXISTS (SELECT 1 FROM usages o WHERE o.tenant = $1 \
              AND o.event = u.event AND o.at = u.at AND o.session < u.session) \
             FROM usages u WHERE u.tenant = $1"
        );
        let mut values = Vec::new();
        for (condition, value, _) in of.into_iter().filter(|(.., is_meant)| *is_meant) {
            values.push(value);
            let place = format!("${}", values.len() + 1);
            let and = if condition == "$)" { "" } else { " AND " };
            sql = format!("{sql}{and}{}", condition.replace('$', &place));
        }
        values.push(&most);
        let sql = format!(
            "{sql} ORDER BY u.session, u.event LIMIT ${}",
            values.len() + 1
        );
        self.rows(&sql, &values, usage_row)
    }
}
