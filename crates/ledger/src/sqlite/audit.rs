//! The audit in SQLite.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, params, params_from_iter};
use siglum_domain::Redacted;
use siglum_domain::audit::{Body, Entry, GENESIS, Header};

use super::columns::{Col, count, get, int, opt};
use super::integrity::stored;
use super::open::Tx;
use crate::stored::outcome;
use crate::{Audit, AuditFilter, LedgerError, Stored};

type Result<T> = std::result::Result<T, LedgerError>;

const ENTRY: &str = "number, at, actor, action, outcome, reason, field, session, pipeline, body, salt, \
     body_digest, previous, digest";

fn entry_row(row: &Row<'_>) -> Result<Entry> {
    let word: String = row.get(4)?;
    let text: Option<String> = row.get(9)?;
    let salt: Option<[u8; 32]> = row.get(10)?;
    let body = text.zip(salt).map(|(text, salt)| Body {
        salt,
        text: Redacted::from_stored(text),
    });
    Ok(Entry {
        number: count(row, 0)?,
        header: Header {
            at: get(row, 1)?,
            actor: row.get(2)?,
            action: row.get::<_, String>(3)?.into(),
            outcome: outcome(&word, row.get(5)?, row.get(6)?)?,
            session: opt(row, 7)?,
            pipeline: row.get(8)?,
        },
        body,
        body_digest: row.get(11)?,
        previous: row.get(12)?,
        digest: row.get(13)?,
    })
}

/// The conditions of a filter, and their values.
fn conditions(filter: &AuditFilter) -> (String, Vec<Value>) {
    let (mut sql, mut values) = ("true".to_owned(), Vec::new());
    let text = |text: &Option<String>| text.clone().map(Value::Text);
    let session = filter.session.map(|s| s.uuid().as_bytes().to_vec());
    let of: [(&str, Option<Value>); 8] = [
        ("session = ?", session.map(Value::Blob)),
        ("action = ?", text(&filter.action)),
        // The first two conditions are those that an index answers: no sign comes between a blank and `!`.
        (
            "actor >= ? AND actor < ? || '!' AND (actor = ? OR substr(actor, 1, length(?) + 1) = ? || ' ')",
            text(&filter.actor),
        ),
        ("pipeline = ?", text(&filter.pipeline)),
        ("at >= ?", filter.since.map(|t| Value::Integer(t.nanos()))),
        ("at < ?", filter.until.map(|t| Value::Integer(t.nanos()))),
        ("outcome = ?", text(&filter.outcome)),
        ("number < ?", filter.before.map(|n| Value::Integer(int(n)))),
    ];
    for (condition, value) in of {
        if let Some(value) = value {
            values.push(value);
            let place = format!("?{}", values.len());
            sql = format!("{sql} AND {}", condition.replace('?', &place));
        }
    }
    (sql, values)
}

impl Audit for Tx<'_> {
    fn append_audit(&mut self, header: &Header, body: &Body) -> Result<Entry> {
        let (number, previous) = self.audit_end()?.unwrap_or_else(|| (0, GENESIS.to_owned()));
        let entry = Entry::seal(
            self.ledger,
            (number + 1, &previous),
            header.clone(),
            body.clone(),
        );
        let (reason, field) = entry.header.outcome.refusal();
        let sql = format!(
            "INSERT INTO audit ({ENTRY}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
        );
        self.db.prepare_cached(&sql)?.execute(params![
            int(entry.number),
            Col(entry.header.at),
            entry.header.actor,
            entry.header.action.as_str(),
            entry.header.outcome.as_str(),
            reason,
            field,
            entry.header.session.map(Col),
            entry.header.pipeline,
            body.text.as_str(),
            &body.salt[..],
            entry.body_digest,
            entry.previous,
            entry.digest,
        ])?;
        let end = "INSERT INTO audit_end (one, number, digest) VALUES (1, ?1, ?2) \
             ON CONFLICT (one) DO UPDATE SET number = excluded.number, digest = excluded.digest";
        self.db
            .prepare_cached(end)?
            .execute((int(entry.number), &entry.digest))?;
        Ok(entry)
    }

    fn audit(&mut self, filter: &AuditFilter) -> Result<Vec<Entry>> {
        let (conditions, mut values) = conditions(filter);
        let limit = if filter.limit == 0 {
            -1
        } else {
            int(filter.limit as u64)
        };
        values.push(Value::Integer(limit));
        let sql = format!(
            "SELECT {ENTRY} FROM audit WHERE {conditions} ORDER BY number DESC LIMIT ?{}",
            values.len()
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.push(entry_row(row)?);
        }
        Ok(entries)
    }

    fn audit_after(&mut self, number: u64, limit: usize) -> Result<Vec<Stored<Entry>>> {
        let sql = format!("SELECT {ENTRY} FROM audit WHERE number > ?1 ORDER BY number LIMIT ?2");
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((int(number), int(limit as u64)), |row| {
            stored(row, 0, entry_row)
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn audit_end(&mut self) -> Result<Option<(u64, String)>> {
        let sql = "SELECT number, digest FROM audit_end";
        let mut query = self.db.prepare_cached(sql)?;
        let end = |row: &Row<'_>| Ok((count(row, 0)?, row.get(1)?));
        Ok(query.query_row([], end).optional()?)
    }
}
