//! What messages cost, in SQLite: what is asked with filters.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use siglum_domain::fold::Usage;
use siglum_domain::{LedgerId, SessionId, Timestamp};
use uuid::Uuid;

use super::columns::{Col, get, int};
use super::database::Tx;
use crate::columns::Row;
use crate::database::Database;
use crate::usage::quarter_start;
use crate::verbs::usage::{
    COMMITS, QUARTERS, USAGES, change_usages, commit_row, drop_usages, link_row, quarter_row,
    replace_usages, sum_up, usage_row,
};
use crate::{
    LedgerError, QuarterFilter, QuarterRecord, SessionCommit, SessionLink, UsageFilter,
    UsageRecord, Usages, UsingSessions,
};

type Result<T> = std::result::Result<T, LedgerError>;

fn id_value(id: uuid::Uuid) -> Value {
    Value::Blob(id.as_bytes().to_vec())
}

/// The conditions of a filter of quarters, with their values.
fn quarter_conditions(filter: &QuarterFilter) -> (String, Vec<Value>) {
    let (mut conditions, mut values) = ("true".to_owned(), Vec::new());
    let mut add = |condition: &str, value: Option<Value>| {
        if let Some(value) = value {
            values.push(value);
            conditions += &condition.replace('?', &format!("?{}", values.len()));
        }
    };
    let time = |at: Timestamp| Value::Integer(at.nanos());
    let since = filter.since.map(|since| time(quarter_start(since)));
    add(" AND q.start >= ?", since);
    add(" AND q.start < ?", filter.until.map(time));
    add(" AND q.model = ?", filter.model.clone().map(Value::Text));
    let agent = filter.agent.as_ref().map(ToString::to_string);
    add(" AND s.agent = ?", agent.map(Value::Text));
    let repositories: Vec<_> = filter.repositories.iter().map(|id| id.uuid()).collect();
    let sessions: Vec<_> = filter.sessions.iter().map(|id| id.uuid()).collect();
    for (column, ids) in [("s.repository", repositories), ("q.session", sessions)] {
        if !ids.is_empty() {
            let places = vec!["?"; ids.len()].join(", ");
            conditions += &format!(" AND {column} IN ({places})");
            values.extend(ids.into_iter().map(id_value));
        }
    }
    (conditions, values)
}

/// The sessions that are meant, as the table `u`, with its values; nothing where it is all of them.
fn using_sessions(of: UsingSessions<'_>, values: &mut Vec<Value>) -> Option<String> {
    if !of.sessions.is_empty() {
        let places = vec!["(?)"; of.sessions.len()].join(", ");
        values.extend(of.sessions.iter().map(|id| id_value(id.uuid())));
        return Some(format!(
            "(SELECT DISTINCT column1 AS session FROM (VALUES {places})) u"
        ));
    }
    let (start, end) = of.starts()?;
    values.extend([Value::Integer(start), Value::Integer(end)]);
    let used = "(SELECT DISTINCT session FROM usage_quarters WHERE start >= ? AND start < ?) u";
    Some(used.to_owned())
}

/// The conditions of a filter, with their values.
fn conditions(filter: &UsageFilter) -> (String, Vec<Value>) {
    let id = |session: SessionId| id_value(session.uuid());
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

/// Sums the usage of all sessions up: of a ledger that was written by a program without these sums.
pub(super) fn sum_up_all(db: &Connection) -> Result<()> {
    let whole = "SELECT DISTINCT session FROM usages WHERE typeof(session) = 'blob' AND length(session) = 16";
    let mut query = db.prepare(whole)?;
    let sessions = query.query_map([], |row| get(row, 0))?;
    let sessions: Vec<SessionId> = sessions.collect::<rusqlite::Result<_>>()?;
    // Whose ledger it is has nothing to do with it.
    let ledger = LedgerId::from_uuid(Uuid::nil());
    let mut tx = Tx {
        db,
        ledger,
        bound: None,
    };
    for session in sessions {
        match sum_up(&mut tx, session) {
            // A ledger can be opened whatever is damaged in it. The next fold replaces what was.
            Err(LedgerError::Damaged(_)) => {
                let sql = "UPDATE sessions SET folded = 0 WHERE id = ?1";
                tx.run(sql, &[&Col(session)])?;
            }
            done => done?,
        }
    }
    Ok(())
}

impl Tx<'_> {
    /// The rows of a query that was put together.
    fn put_together<T>(
        &self,
        sql: &str,
        values: Vec<Value>,
        mut take: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut query = self.db.prepare(sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(take(&Row::Sqlite(row))?);
        }
        Ok(records)
    }
}

impl Usages for Tx<'_> {
    fn put_usages(&mut self, session: SessionId, usages: &[Usage]) -> Result<()> {
        change_usages(self, session, |tx| replace_usages(tx, session, usages))
    }

    fn drop_usages(&mut self, session: SessionId) -> Result<()> {
        change_usages(self, session, |tx| drop_usages(tx, session))
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
            "{} WHERE {conditions} ORDER BY session, event LIMIT ?{}",
            USAGES.sqlite,
            values.len()
        );
        self.put_together(&sql, values, usage_row)
    }

    fn usage_quarters(
        &mut self,
        filter: &QuarterFilter,
        take: &mut dyn FnMut(QuarterRecord),
    ) -> Result<()> {
        let (conditions, values) = quarter_conditions(filter);
        // Quarters first: those of a time are few, and those of a repository may be all.
        let sql =
            format!("{QUARTERS} CROSS JOIN sessions s ON s.id = q.session WHERE {conditions}");
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            take(quarter_row(&Row::Sqlite(row))?);
        }
        Ok(())
    }

    fn session_links(
        &mut self,
        field: &str,
        value: Option<&str>,
        of: UsingSessions<'_>,
        limit: usize,
    ) -> Result<Vec<SessionLink>> {
        let mut values = Vec::new();
        let links = match using_sessions(of, &mut values) {
            Some(using) => format!("{using} CROSS JOIN session_links l ON l.session = u.session"),
            None => "session_links l INDEXED BY session_links_by_value".to_owned(),
        };
        values.push(Value::Text(field.to_owned()));
        let mut of_value = "";
        if let Some(value) = value {
            of_value = " AND l.value = ?";
            values.push(Value::Text(value.to_owned()));
        }
        values.push(Value::Integer(match limit {
            0 => -1,
            most => int(most as u64),
        }));
        let sql = format!(
            "SELECT l.session, l.value, l.whole FROM {links} WHERE l.field = ?{of_value} ORDER BY l.session, l.value LIMIT ?"
        );
        self.put_together(&sql, values, link_row)
    }

    fn session_commits(&mut self, of: UsingSessions<'_>) -> Result<Vec<SessionCommit>> {
        let mut values = Vec::new();
        let commits = match using_sessions(of, &mut values) {
            Some(using) => format!("{using} CROSS JOIN commits c ON c.session = u.session"),
            None => "commits c".to_owned(),
        };
        let sql = format!(
            "{} FROM {commits} WHERE c.session IS NOT NULL ORDER BY c.session, c.repository, c.\"commit\"",
            COMMITS.sqlite
        );
        self.put_together(&sql, values, commit_row)
    }

    fn titles(&mut self, sessions: &[SessionId]) -> Result<Vec<(SessionId, String)>> {
        let sql = "SELECT title FROM summaries WHERE session = ?1 AND title IS NOT NULL";
        let mut titles = Vec::new();
        for session in sessions.iter().copied().collect::<BTreeSet<_>>() {
            let title = self.row(sql, &[&Col(session)], |row| row.get(0))?;
            titles.extend(title.map(|title| (session, title)));
        }
        Ok(titles)
    }
}
