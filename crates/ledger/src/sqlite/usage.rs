//! What messages cost, in SQLite.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::Tokens;
use siglum_domain::{SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use crate::row::{from_json, word};
use crate::stored::unreadable_session;
use crate::usage::{
    pack_left_out, pack_quarter_left_out, quarter_start, quarters, unpack_left_out,
    unpack_quarter_left_out,
};
use crate::{
    LedgerError, QuarterFilter, QuarterRecord, UsageFilter, UsageQuarter, UsageRecord,
    UsageSession, Usages,
};

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

const QUARTER_COLUMNS: &str = "session, start, model, branch, messages, input, output, cache_read, cache_write, \
     left_out, prompt_least, prompt_most, last_at";

/// How many columns [`QUARTER_COLUMNS`] has.
const OF_QUARTER: usize = 13;

fn quarter_row(row: &Row<'_>) -> Result<QuarterRecord> {
    let left_out: Option<String> = row.get(9)?;
    let [repeated, retold, copied] = unpack_quarter_left_out(left_out.as_deref())?;
    let id: SessionId = get(row, 0)?;
    // A session whose record is damaged still has what it cost.
    let agent = get(row, OF_QUARTER).unwrap_or_else(|error| unreadable_session(id, &error).agent);
    Ok(QuarterRecord {
        session: UsageSession {
            id,
            agent,
            repository: opt(row, OF_QUARTER + 1).unwrap_or_default(),
        },
        quarter: UsageQuarter {
            start: get(row, 1)?,
            model: row.get(2)?,
            branch: row.get(3)?,
            counted: Records {
                count: count(row, 4)?,
                tokens: Tokens {
                    input: count(row, 5)?,
                    output: count(row, 6)?,
                    cache_read: count(row, 7)?,
                    cache_write: count(row, 8)?,
                },
            },
            repeated,
            retold,
            copied,
            prompts: (count(row, 10)?, count(row, 11)?),
            last_at: get(row, 12)?,
        },
    })
}

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
    let session = filter.session.map(|id| id_value(id.uuid()));
    add(" AND q.session = ?", session);
    let since = filter.since.map(|since| time(quarter_start(since)));
    add(" AND q.start >= ?", since);
    add(" AND q.start < ?", filter.until.map(time));
    add(" AND q.model = ?", filter.model.clone().map(Value::Text));
    let agent = filter.agent.as_ref().map(ToString::to_string);
    add(" AND s.agent = ?", agent.map(Value::Text));
    for (place, repository) in filter.repositories.iter().enumerate() {
        let before = match place {
            0 => " AND s.repository IN (?",
            _ => ", ?",
        };
        add(before, Some(id_value(repository.uuid())));
    }
    if !filter.repositories.is_empty() {
        conditions.push(')');
    }
    (conditions, values)
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

fn read_usages(db: &Connection, filter: &UsageFilter) -> Result<Vec<UsageRecord>> {
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
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query(params_from_iter(values))?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(usage_row(row)?);
    }
    Ok(records)
}

/// Sums the usage of a session up anew.
fn sum_up(db: &Connection, session: SessionId) -> Result<()> {
    let sql = "DELETE FROM usage_quarters WHERE session = ?1";
    db.prepare_cached(sql)?.execute([Col(session)])?;
    let messages = read_usages(
        db,
        &UsageFilter {
            session: Some(session),
            ..UsageFilter::default()
        },
    )?;
    let sql = format!(
        "INSERT INTO usage_quarters ({QUARTER_COLUMNS}, number) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)"
    );
    let mut put = db.prepare_cached(&sql)?;
    for (number, q) in (0i64..).zip(quarters(&messages)) {
        let tokens = q.counted.tokens;
        put.execute(params![
            Col(session),
            Col(q.start),
            q.model,
            q.branch,
            int(q.counted.count),
            int(tokens.input),
            int(tokens.output),
            int(tokens.cache_read),
            int(tokens.cache_write),
            pack_quarter_left_out(&q),
            int(q.prompts.0),
            int(q.prompts.1),
            Col(q.last_at),
            number,
        ])?;
    }
    Ok(())
}

/// Sums the usage of all sessions up: of a ledger that was written by a program without these sums.
pub(super) fn sum_up_all(db: &Connection) -> Result<()> {
    let whole = "SELECT DISTINCT session FROM usages WHERE typeof(session) = 'blob' AND length(session) = 16";
    let mut query = db.prepare(whole)?;
    let sessions = query.query_map([], |row| get(row, 0))?;
    let sessions: Vec<SessionId> = sessions.collect::<rusqlite::Result<_>>()?;
    for session in sessions {
        match sum_up(db, session) {
            // A ledger can be opened whatever is damaged in it. The next fold replaces what was.
            Err(LedgerError::Damaged(_)) => {
                let sql = "UPDATE sessions SET folded = 0 WHERE id = ?1";
                db.prepare_cached(sql)?.execute([Col(session)])?;
            }
            done => done?,
        }
    }
    Ok(())
}

impl Tx<'_> {
    /// Makes a change to the usage of a session, and sums it up anew, with that of the sessions for which the change
    /// makes a message a copy or no copy any more.
    pub(super) fn change_usages(
        &mut self,
        session: SessionId,
        change: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let before = self.messages_of(session)?;
        change(self)?;
        let after = self.messages_of(session)?;
        let mut stale = BTreeSet::from([session]);
        let sql = "SELECT session FROM usages WHERE event = ?1 AND at = ?2 AND session > ?3";
        let mut copies = self.db.prepare_cached(sql)?;
        for (event, at) in before.symmetric_difference(&after) {
            let of = (event, Col(*at), Col(session));
            for copy in copies.query_map(of, |row| get(row, 0))? {
                stale.insert(copy?);
            }
        }
        stale
            .into_iter()
            .try_for_each(|session| sum_up(self.db, session))
    }

    /// By what the messages of a session are known in others: their events and times.
    fn messages_of(&self, session: SessionId) -> Result<BTreeSet<(String, Timestamp)>> {
        let sql = "SELECT event, at FROM usages WHERE session = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([Col(session)], |row| Ok((row.get(0)?, get(row, 1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn session_ids(&self, sql: &str) -> Result<Vec<SessionId>> {
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([], |row| get(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn replace_usages(&mut self, session: SessionId, usages: &[Usage]) -> Result<()> {
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
}

impl Usages for Tx<'_> {
    fn put_usages(&mut self, session: SessionId, usages: &[Usage]) -> Result<()> {
        self.change_usages(session, |tx| tx.replace_usages(session, usages))
    }

    fn drop_usages(&mut self, session: SessionId) -> Result<()> {
        self.change_usages(session, |tx| {
            let sql = "DELETE FROM usages WHERE session = ?1";
            tx.db.prepare_cached(sql)?.execute([Col(session)])?;
            Ok(())
        })
    }

    fn usages(&mut self, filter: &UsageFilter) -> Result<Vec<UsageRecord>> {
        read_usages(self.db, filter)
    }

    fn usage_quarters(
        &mut self,
        filter: &QuarterFilter,
        take: &mut dyn FnMut(QuarterRecord),
    ) -> Result<()> {
        let (conditions, values) = quarter_conditions(filter);
        // Quarters first: those of a time are few, and those of a repository may be all.
        let sql = format!(
            "SELECT q.{}, s.agent, s.repository FROM usage_quarters q CROSS JOIN sessions s ON s.id = q.session \
             WHERE {conditions}",
            QUARTER_COLUMNS.replace(", ", ", q.")
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            take(quarter_row(row)?);
        }
        Ok(())
    }

    fn linked_sessions(&mut self) -> Result<Vec<SessionId>> {
        self.session_ids(
            "SELECT DISTINCT session FROM statements INDEXED BY statements_of_links \
             WHERE kind = 'link_attached' AND session IS NOT NULL ORDER BY session",
        )
    }

    fn committing_sessions(&mut self) -> Result<Vec<SessionId>> {
        self.session_ids(
            "SELECT DISTINCT session FROM commits WHERE session IS NOT NULL ORDER BY session",
        )
    }

    fn titles(&mut self, sessions: &[SessionId]) -> Result<Vec<(SessionId, String)>> {
        let sql = "SELECT title FROM summaries WHERE session = ?1 AND title IS NOT NULL";
        let mut query = self.db.prepare_cached(sql)?;
        let mut titles = Vec::new();
        for session in sessions.iter().copied().collect::<BTreeSet<_>>() {
            let title = query.query_row([Col(session)], |row| row.get(0));
            titles.extend(title.optional()?.map(|title| (session, title)));
        }
        Ok(titles)
    }
}
