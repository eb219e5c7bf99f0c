//! The audit in PostgreSQL.

use postgres::Row;
use siglum_domain::Redacted;
use siglum_domain::audit::{Body, Entry, GENESIS, Header};

use super::columns::{Col, count, get, int, limit, opt, raw};
use super::integrity::stored;
use super::tx::{Tx, Value};
use crate::stored::outcome;
use crate::{Audit, AuditFilter, LedgerError, Stored};

type Result<T> = std::result::Result<T, LedgerError>;

const ENTRY: &str = "number, at, actor, action, outcome, reason, field, session, pipeline, body, salt, \
     body_digest, previous, digest";

fn entry_row(row: &Row) -> Result<Entry> {
    let word: String = raw(row, 4)?;
    let text: Option<String> = raw(row, 9)?;
    let salt: Option<Vec<u8>> = raw(row, 10)?;
    let salt = salt.map(<[u8; 32]>::try_from).transpose();
    let salt = salt.map_err(|_| LedgerError::Damaged("a salt is not 32 bytes long".to_owned()))?;
    let body = text.zip(salt).map(|(text, salt)| Body {
        salt,
        text: Redacted::from_stored(text),
    });
    Ok(Entry {
        number: count(row, 0)?,
        header: Header {
            at: get(row, 1)?,
            actor: raw(row, 2)?,
            action: raw::<String>(row, 3)?.into(),
            outcome: outcome(&word, raw(row, 5)?, raw(row, 6)?)?,
            session: opt(row, 7)?,
            pipeline: raw(row, 8)?,
        },
        body,
        body_digest: raw(row, 11)?,
        previous: raw(row, 12)?,
        digest: raw(row, 13)?,
    })
}

impl Audit for Tx<'_> {
    fn append_audit(&mut self, header: &Header, body: &Body) -> Result<Entry> {
        // Whoever gets a number holds it until the transaction ends: the next one waits, and no number is lost.
        let next = "INSERT INTO audit_ends (tenant, number, digest) VALUES ($1, 1, $2) ON CONFLICT (tenant) \
             DO UPDATE SET number = audit_ends.number + 1 RETURNING number, digest";
        let (number, previous): (u64, String) =
            self.one(next, &[&GENESIS], |row| Ok((count(row, 0)?, raw(row, 1)?)))?;
        let entry = Entry::seal(
            self.ledger,
            (number, &previous),
            header.clone(),
            body.clone(),
        );
        let (reason, field) = entry.header.outcome.refusal();
        let sql = format!(
            "INSERT INTO audit (tenant, {ENTRY}) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
        );
        let h = &entry.header;
        self.run(
            &sql,
            &[
                &int(number),
                &Col(h.at),
                &h.actor,
                &h.action.as_str(),
                &h.outcome.as_str(),
                &reason,
                &field,
                &h.session.map(Col),
                &h.pipeline,
                &body.text.as_str(),
                &body.salt.as_slice(),
                &entry.body_digest,
                &entry.previous,
                &entry.digest,
            ],
        )?;
        let end = "UPDATE audit_ends SET digest = $2 WHERE tenant = $1";
        self.run(end, &[&entry.digest])?;
        Ok(entry)
    }

    fn audit(&mut self, filter: &AuditFilter) -> Result<Vec<Entry>> {
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
        self.rows(&sql, &values, entry_row)
    }

    fn audit_after(&mut self, number: u64, limit: usize) -> Result<Vec<Stored<Entry>>> {
        let sql = format!(
            "SELECT {ENTRY} FROM audit WHERE tenant = $1 AND number > $2 ORDER BY number LIMIT $3"
        );
        let values: [Value<'_>; 2] = [&int(number), &int(limit as u64)];
        self.rows(&sql, &values, |row| stored(row, 0, entry_row))
    }

    fn audit_end(&mut self) -> Result<Option<(u64, String)>> {
        let sql = "SELECT number, digest FROM audit_ends WHERE tenant = $1";
        self.row(sql, &[], |row| Ok((count(row, 0)?, raw(row, 1)?)))
    }
}
