//! What is done about the audit in SQLite's own way.

use rusqlite::params_from_iter;
use rusqlite::types::Value;
use siglum_domain::audit::{Entry, GENESIS};

use super::columns::int;
use super::database::Tx;
use crate::columns::Row;
use crate::database::Database;
use crate::verbs::audit::{ENTRY, OwnAudit, entry_row};
use crate::{Audit, AuditFilter, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

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

impl OwnAudit for Tx<'_> {
    fn next_entry(&mut self) -> Result<(u64, String)> {
        let (number, previous) = self.audit_end()?.unwrap_or_else(|| (0, GENESIS.to_owned()));
        Ok((number + 1, previous))
    }

    fn entry_added(&mut self, entry: &Entry) -> Result<()> {
        let sql = "INSERT INTO audit_end (one, number, digest) VALUES (1, ?1, ?2) \
             ON CONFLICT (one) DO UPDATE SET number = excluded.number, digest = excluded.digest";
        self.run(sql, &[&int(entry.number), &entry.digest])?;
        Ok(())
    }

    fn list_audit(&mut self, filter: &AuditFilter) -> Result<Vec<Entry>> {
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
            entries.push(entry_row(&Row::Sqlite(row))?);
        }
        Ok(entries)
    }
}
