//! What messages cost, in SQLite.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Params, Row, params, params_from_iter};
use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::Tokens;
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use crate::row::{from_json, from_word, word};
use crate::stored::unreadable_session;
use crate::usage::{
    commit_head, commit_time, pack_left_out, pack_quarter_left_out, quarter_past, quarter_start,
    quarters, unpack_left_out, unpack_quarter_left_out,
};
use crate::{
    LedgerError, QuarterFilter, QuarterRecord, SessionCommit, SessionLink, UsageFilter,
    UsageQuarter, UsageRecord, UsageSession, Usages, UsingSessions,
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
     left_out, prompt_least, prompt_most, last_at, past";

/// How many columns [`QUARTER_COLUMNS`] has.
const OF_QUARTER: usize = 14;

fn quarter_row(row: &Row<'_>) -> Result<QuarterRecord> {
    let left_out: Option<String> = row.get(9)?;
    let [repeated, retold, copied] = unpack_quarter_left_out(left_out.as_deref())?;
    let (id, start): (SessionId, Timestamp) = (get(row, 0)?, get(row, 1)?);
    // A session whose record is damaged still has what it cost.
    let agent = get(row, OF_QUARTER).unwrap_or_else(|error| unreadable_session(id, &error).agent);
    Ok(QuarterRecord {
        session: UsageSession {
            id,
            agent,
            repository: opt(row, OF_QUARTER + 1).unwrap_or_default(),
        },
        quarter: UsageQuarter {
            start,
            // Sums from before they were split have none.
            past: opt(row, 13)?.unwrap_or_else(|| quarter_past(start)),
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

/// When some commits were made, in order.
fn commit_times(db: &Connection, which: &str, of: impl Params) -> Result<Vec<Timestamp>> {
    let sql = format!("SELECT at, seen_by, facts FROM commits WHERE {which}");
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query(of)?;
    let mut times = Vec::new();
    while let Some(row) = rows.next()? {
        let (seen_by, facts): (String, Option<String>) = (row.get(1)?, row.get(2)?);
        times.extend(commit_time(get(row, 0)?, &seen_by, facts.as_deref()));
    }
    times.sort_unstable();
    Ok(times)
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
    // First what may be damaged: the sums stay then.
    let messages = read_usages(
        db,
        &UsageFilter {
            session: Some(session),
            ..UsageFilter::default()
        },
    )?;
    let splits = commit_times(db, "session = ?1", [Col(session)])?;
    let sql = "DELETE FROM usage_quarters WHERE session = ?1";
    db.prepare_cached(sql)?.execute([Col(session)])?;
    let sql = format!(
        "INSERT INTO usage_quarters ({QUARTER_COLUMNS}, number) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
    );
    let mut put = db.prepare_cached(&sql)?;
    for (number, q) in (0i64..).zip(quarters(&messages, &splits)) {
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
            Col(q.past),
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

    /// Splits the sums of a session where it made a commit, if that was within a sum: what is used before it and behind it
    /// is told apart. Sums that cannot be made anew, since something is damaged, stay as they are, and answer with their
    /// messages.
    pub(super) fn split_at_commit(
        &mut self,
        session: SessionId,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<()> {
        let of_commit = "repository = ?1 AND \"commit\" = ?2";
        let times = commit_times(self.db, of_commit, (Col(repository), commit.as_str()))?;
        let within =
            "SELECT 1 FROM usage_quarters WHERE session = ?1 AND start <= ?2 AND last_at > ?2";
        let mut within = self.db.prepare_cached(within)?;
        for at in times {
            if within.exists((Col(session), Col(at)))? {
                return match sum_up(self.db, session) {
                    Err(LedgerError::Damaged(_)) => Ok(()),
                    done => done,
                };
            }
        }
        Ok(())
    }

    /// By what the messages of a session are known in others: their events and times.
    fn messages_of(&self, session: SessionId) -> Result<BTreeSet<(String, Timestamp)>> {
        let sql = "SELECT event, at FROM usages WHERE session = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([Col(session)], |row| Ok((row.get(0)?, get(row, 1)?)))?;
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
        let mut query = self.db.prepare(&sql)?;
        let rows = query.query_map(params_from_iter(values), |row| {
            Ok(SessionLink {
                session: get(row, 0)?,
                value: row.get(1)?,
                is_whole: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn session_commits(&mut self, of: UsingSessions<'_>) -> Result<Vec<SessionCommit>> {
        let mut values = Vec::new();
        let commits = match using_sessions(of, &mut values) {
            Some(using) => format!("{using} CROSS JOIN commits c ON c.session = u.session"),
            None => "commits c".to_owned(),
        };
        let sql = format!(
            "SELECT c.session, c.repository, c.\"commit\", c.at, c.seen_by, c.verdict, c.facts, \
             EXISTS (SELECT 1 FROM rewrites r WHERE r.repository = c.repository AND r.new = c.\"commit\") \
             OR EXISTS (SELECT 1 FROM rewrites r WHERE r.repository = c.repository AND r.old = c.\"commit\") \
             OR EXISTS (SELECT 1 FROM commits o WHERE o.checkpoint = c.checkpoint AND o.repository = c.repository \
             AND o.\"commit\" <> c.\"commit\") \
             FROM {commits} WHERE c.session IS NOT NULL ORDER BY c.session, c.repository, c.\"commit\""
        );
        let mut query = self.db.prepare(&sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        let mut commits = Vec::new();
        while let Some(row) = rows.next()? {
            let facts: Option<String> = row.get(6)?;
            commits.push(SessionCommit {
                session: get(row, 0)?,
                repository: get(row, 1)?,
                commit: get(row, 2)?,
                at: get(row, 3)?,
                seen_by: from_word("seen by", &row.get::<_, String>(4)?)?,
                verdict: from_word("verdict", &row.get::<_, String>(5)?)?,
                facts: facts.as_deref().map(commit_head).transpose()?,
                is_rewritten: row.get(7)?,
            });
        }
        Ok(commits)
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
