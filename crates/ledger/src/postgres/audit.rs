//! What is done about the audit in PostgreSQL's own way.

use siglum_domain::audit::{Entry, GENESIS};

use super::columns::{Col, count, int, limit, raw};
use super::tx::{Tx, Value};
use crate::columns::Row;
use crate::verbs::audit::{ENTRY, OwnAudit, entry_row};
use crate::{AuditFilter, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

impl OwnAudit for Tx<'_> {
    fn next_entry(&mut self) -> Result<(u64, String)> {
        if let Some((number, digest)) = &self.audit_end {
            return Ok((number + 1, digest.clone()));
        }
        // Whoever gets a number holds it until the transaction ends: the next one waits, and no number is lost. It waits in a
        // queue: of those that wait for a row, each end of a transaction wakes all.
        let next = "INSERT INTO audit_ends (tenant, number, digest) SELECT $1::text, 1, $2::text FROM pg_advisory_xact_lock( \
             hashtextextended(current_schema()::text || ' ' || $1::text || ' next audit entry', 0)) ON CONFLICT (tenant) \
             DO UPDATE SET number = audit_ends.number + 1 RETURNING number, digest";
        self.one(next, &[&GENESIS], |row| Ok((count(row, 0)?, raw(row, 1)?)))
    }

    fn entry_added(&mut self, entry: &Entry) -> Result<()> {
        self.audit_end = Some((entry.number, entry.digest.clone()));
        Ok(())
    }

    fn list_audit(&mut self, filter: &AuditFilter) -> Result<Vec<Entry>> {
        let (session, since, until) = (
            filter.session.map(Col),
            filter.since.map(Col),
            filter.until.map(Col),
        );
        let (before, most) = (filter.before.map(int), limit(filter.limit));
        let of: [(&str, Value<'_>, bool); 8] = [
            ("session = $", &session, session.is_some()),
            ("action = $", &filter.action, filter.action.is_some()),
            // The first two conditions are those that an index answers: no sign comes between a blank and `!`.
            (
                "actor >= $ AND actor < $ || '!' AND (actor = $ OR left(actor, length($) + 1) = $ || ' ')",
                &filter.actor,
                filter.actor.is_some(),
            ),
            ("pipeline = $", &filter.pipeline, filter.pipeline.is_some()),
            ("at >= $", &since, since.is_some()),
            ("at < $", &until, until.is_some()),
            ("outcome = $", &filter.outcome, filter.outcome.is_some()),
            ("number < $", &before, before.is_some()),
        ];
        let (mut sql, mut values) = (
            format!("SELECT {ENTRY} FROM audit WHERE tenant = $1"),
            Vec::new(),
        );
        for (condition, value, _) in of.into_iter().filter(|(.., is_meant)| *is_meant) {
            values.push(value);
            let place = format!("${}", values.len() + 1);
            sql = format!("{sql} AND {}", condition.replace('$', &place));
        }
        values.push(&most);
        let sql = format!("{sql} ORDER BY number DESC LIMIT ${}", values.len() + 1);
        self.rows(&sql, &values, |row| entry_row(&Row::Postgres(row)))
    }
}
