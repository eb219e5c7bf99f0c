//! What messages cost: the messages of sessions, and their sums by quarters of an hour.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::Tokens;
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};

use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::row::{from_json, from_word, word};
use crate::sql::{Sql, sql};
use crate::usage::{
    commit_head, commit_time, pack_left_out, pack_quarter_left_out, quarter_past, quarters,
    unpack_left_out, unpack_quarter_left_out, unsplit,
};
use crate::{
    LedgerError, QuarterRecord, SessionCommit, SessionLink, UsageQuarter, UsageRecord, UsageSession,
};

type Result<T> = std::result::Result<T, LedgerError>;

const USAGE: &str = "session, event, request, turn, at, model, subagent, branch, source, input, output, \
     cache_read, cache_write, left_out";
const VALUES: &str = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14";

/// Messages with whether they are copies of those of another session. What else is asked stands behind it.
const MESSAGES: &str = "SELECT u.session, u.event, u.request, u.turn, u.at, u.model, u.subagent, u.branch, u.source, u.input, \
     u.output, u.cache_read, u.cache_write, u.left_out, EXISTS (SELECT 1 FROM usages o WHERE [o.tenant = $1 AND] \
     o.event = u.event AND o.at = u.at AND o.session < u.session) FROM usages u";
pub(crate) const USAGES: Sql<'_> = sql!(MESSAGES);

/// A message from its row of [`USAGES`].
pub(crate) fn usage_row(row: &Row<'_>) -> Result<UsageRecord> {
    let (source, left_out): (String, Option<String>) = (row.get(8)?, row.get(13)?);
    let (repeated, retold) = unpack_left_out(left_out.as_deref())?;
    Ok(UsageRecord {
        session: row.get(0)?,
        usage: Usage {
            event: row.get(1)?,
            request: row.get(2)?,
            turn: row.get(3)?,
            at: row.get(4)?,
            model: row.get(5)?,
            subagent: row.get(6)?,
            branch: row.get(7)?,
            source: from_json("source", &format!("\"{source}\""))?,
            tokens: Tokens {
                input: row.count(9)?,
                output: row.count(10)?,
                cache_read: row.count(11)?,
                cache_write: row.count(12)?,
            },
            repeated,
            retold,
        },
        copied: row.get(14)?,
    })
}

/// How many columns of a row of [`QUARTERS`] are of the quarter; those of its session follow.
const OF_QUARTER: usize = 14;

/// Quarters of an hour with the agents and the repositories of their sessions.
pub(crate) const QUARTERS: &str = "SELECT q.session, q.start, q.model, q.branch, q.messages, q.input, q.output, q.cache_read, \
     q.cache_write, q.left_out, q.prompt_least, q.prompt_most, q.last_at, q.past, s.agent, s.repository FROM usage_quarters q";

/// A quarter from its row of [`QUARTERS`].
pub(crate) fn quarter_row(row: &Row<'_>) -> Result<QuarterRecord> {
    let left_out: Option<String> = row.get(9)?;
    let [repeated, retold, copied] = unpack_quarter_left_out(left_out.as_deref())?;
    let (id, start): (SessionId, Timestamp) = (row.get(0)?, row.get(1)?);
    // A session whose record is damaged still has what it cost.
    let agent = row.agent(OF_QUARTER).unwrap_or_default();
    Ok(QuarterRecord {
        session: UsageSession {
            id,
            agent,
            repository: row.get(OF_QUARTER + 1).unwrap_or_default(),
        },
        quarter: UsageQuarter {
            start,
            // Sums from before they were split have none.
            past: row
                .get::<Option<_>>(13)?
                .unwrap_or_else(|| quarter_past(start)),
            model: row.get(2)?,
            branch: row.get(3)?,
            counted: Records {
                count: row.count(4)?,
                tokens: Tokens {
                    input: row.count(5)?,
                    output: row.count(6)?,
                    cache_read: row.count(7)?,
                    cache_write: row.count(8)?,
                },
            },
            repeated,
            retold,
            copied,
            prompts: (row.count(10)?, row.count(11)?),
            last_at: row.get(12)?,
        },
    })
}

pub(crate) fn link_row(row: &Row<'_>) -> Result<SessionLink> {
    Ok(SessionLink {
        session: row.get(0)?,
        value: row.get(1)?,
        is_whole: row.get(2)?,
    })
}

/// The columns of a commit of a session: behind the others whether git has it under another name, too.
const COMMIT: &str = "SELECT c.session, c.repository, c.\"commit\", c.at, c.seen_by, c.verdict, c.facts, \
     EXISTS (SELECT 1 FROM rewrites r WHERE [r.tenant = $1 AND] r.repository = c.repository AND r.new = c.\"commit\") \
     OR EXISTS (SELECT 1 FROM rewrites r WHERE [r.tenant = $1 AND] r.repository = c.repository AND r.old = c.\"commit\") \
     OR EXISTS (SELECT 1 FROM commits o WHERE [o.tenant = $1 AND] o.checkpoint = c.checkpoint \
     AND o.repository = c.repository AND o.\"commit\" <> c.\"commit\")";
pub(crate) const COMMITS: Sql<'_> = sql!(COMMIT);

/// A commit from its row of [`COMMITS`].
pub(crate) fn commit_row(row: &Row<'_>) -> Result<SessionCommit> {
    let facts: Option<String> = row.get(6)?;
    Ok(SessionCommit {
        session: row.get(0)?,
        repository: row.get(1)?,
        commit: row.get(2)?,
        at: row.get(3)?,
        seen_by: from_word("seen by", &row.get::<String>(4)?)?,
        verdict: from_word("verdict", &row.get::<String>(5)?)?,
        facts: facts.as_deref().map(commit_head).transpose()?,
        is_rewritten: row.get(7)?,
    })
}

/// Makes a change to the usage of a session, and sums it up anew, with that of the sessions for which the change
/// makes a message a copy or no copy any more.
pub(crate) fn change_usages<D: Database>(
    db: &mut D,
    session: SessionId,
    change: impl FnOnce(&mut D) -> Result<()>,
) -> Result<()> {
    hold_usages(db)?;
    let before = messages(db, session)?;
    change(db)?;
    let after = messages(db, session)?;
    let mut stale = BTreeSet::from([session]);
    let sql = sql!(
        "SELECT session FROM usages WHERE [tenant = $1 AND] event = ?1 AND at = ?2 AND session > ?3"
    );
    for (event, at) in before.symmetric_difference(&after) {
        let of: [Value<'_>; 3] = [event, &Col(*at), &Col(session)];
        db.each(sql, &of, |row| {
            stale.insert(row.get(0)?);
            Ok(())
        })?;
    }
    stale
        .into_iter()
        .try_for_each(|session| sum_up(db, session))
}

/// One at a time: of two who store the same message at once, neither would see the other's.
fn hold_usages(db: &mut impl Database) -> Result<()> {
    let held = "SELECT tenant FROM tenants WHERE tenant = $1 FOR NO KEY UPDATE";
    db.lock(held, &[])
}

/// By what the messages of a session are known in others: their events and times.
fn messages(db: &mut impl Database, session: SessionId) -> Result<BTreeSet<(String, Timestamp)>> {
    let sql = sql!("SELECT event, at FROM usages WHERE [tenant = $1 AND] session = ?1");
    let messages = db.rows(sql, &[&Col(session)], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(messages.into_iter().collect())
}

/// What the messages of a session cost.
fn session_usages(db: &mut impl Database, session: SessionId) -> Result<Vec<UsageRecord>> {
    let of_session =
        sql!(MESSAGES " WHERE [u.tenant = $1 AND] u.session = ?1 ORDER BY u.session, u.event");
    db.rows(of_session, &[&Col(session)], usage_row)
}

/// The sessions whose sums are not what their messages come to, so many.
pub(super) fn unlike_sums(db: &mut impl Database, limit: usize) -> Result<Vec<SessionId>> {
    let using = sql!(
        "SELECT s.id FROM sessions s WHERE [s.tenant = $1|typeof(s.id) = 'blob' AND length(s.id) = 16] AND \
         (EXISTS (SELECT 1 FROM usages u WHERE [u.tenant = $1 AND] u.session = s.id) OR \
         EXISTS (SELECT 1 FROM usage_quarters q WHERE [q.tenant = $1 AND] q.session = s.id)) ORDER BY s.id"
    );
    let sessions: Vec<SessionId> = db.rows(using, &[], |row| row.get(0))?;
    let mut unlike = Vec::new();
    for session in sessions {
        if unlike.len() < limit && !is_summed_up(db, session)? {
            unlike.push(session);
        }
    }
    Ok(unlike)
}

/// Whether the sums of a session are what its messages come to. Where those are damaged, their own rows tell of it.
fn is_summed_up(db: &mut impl Database, session: SessionId) -> Result<bool> {
    let of_session = sql!(QUARTERS " JOIN sessions s ON [s.tenant = $1 AND] s.id = q.session \
         WHERE [q.tenant = $1 AND] q.session = ?1");
    let stored = db.rows(of_session, &[&Col(session)], |row| {
        Ok(quarter_row(row)?.quarter)
    });
    match (session_usages(db, session), stored) {
        (Err(LedgerError::Damaged(_)), _) => Ok(true),
        (_, Err(LedgerError::Damaged(_))) => Ok(false),
        (messages, stored) => Ok(unsplit(stored?) == unsplit(quarters(&messages?, &[]))),
    }
}

/// Sums the usage of a session up anew.
pub(crate) fn sum_up(db: &mut impl Database, session: SessionId) -> Result<()> {
    // First what may be damaged: the sums stay then.
    let messages = session_usages(db, session)?;
    let of_session =
        sql!("SELECT at, seen_by, facts FROM commits WHERE [tenant = $1 AND] session = ?1");
    let splits = commit_times(db, of_session, &[&Col(session)])?;
    let sql = sql!("DELETE FROM usage_quarters WHERE [tenant = $1 AND] session = ?1");
    db.run(sql, &[&Col(session)])?;
    let sql = sql!(
        "INSERT INTO usage_quarters ([tenant,] session, start, model, branch, messages, input, output, cache_read, \
         cache_write, left_out, prompt_least, prompt_most, last_at, past, number) \
         VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
    );
    for (number, q) in (0i64..).zip(quarters(&messages, &splits)) {
        let tokens = q.counted.tokens;
        db.run(
            sql,
            &[
                &Col(session),
                &Col(q.start),
                &q.model,
                &q.branch,
                &int(q.counted.count),
                &int(tokens.input),
                &int(tokens.output),
                &int(tokens.cache_read),
                &int(tokens.cache_write),
                &pack_quarter_left_out(&q),
                &int(q.prompts.0),
                &int(q.prompts.1),
                &Col(q.last_at),
                &Col(q.past),
                &number,
            ],
        )?;
    }
    Ok(())
}

/// When some commits were made, in order.
fn commit_times(db: &mut impl Database, sql: Sql<'_>, of: &[Value<'_>]) -> Result<Vec<Timestamp>> {
    let mut times = Vec::new();
    db.each(sql, of, |row| {
        let (seen_by, facts): (String, Option<String>) = (row.get(1)?, row.get(2)?);
        times.extend(commit_time(row.get(0)?, &seen_by, facts.as_deref()));
        Ok(())
    })?;
    times.sort_unstable();
    Ok(times)
}

/// Splits the sums of a session where it made a commit, if that was within a sum: what is used before it and behind it
/// is told apart. Sums that cannot be made anew, since something is damaged, stay as they are, and answer with their
/// messages.
pub(super) fn split_at_commit(
    db: &mut impl Database,
    session: SessionId,
    repository: RepositoryId,
    commit: &Oid,
) -> Result<()> {
    let of_commit = sql!(
        "SELECT at, seen_by, facts FROM commits WHERE [tenant = $1 AND] repository = ?1 AND \"commit\" = ?2"
    );
    let times = commit_times(db, of_commit, &[&Col(repository), &commit.as_str()])?;
    let within = sql!(
        "SELECT 1 FROM usage_quarters WHERE [tenant = $1 AND] session = ?1 AND start <= ?2 AND last_at > ?2 LIMIT 1"
    );
    for at in times {
        if db.exists(within, &[&Col(session), &Col(at)])? {
            hold_usages(db)?;
            return match sum_up(db, session) {
                Err(LedgerError::Damaged(_)) => Ok(()),
                done => done,
            };
        }
    }
    Ok(())
}

pub(crate) fn replace_usages(
    db: &mut impl Database,
    session: SessionId,
    usages: &[Usage],
) -> Result<()> {
    const STALE: &str = "[tenant = $1 AND] session = ?1 AND (at <= \
         (SELECT forgotten_at FROM sessions WHERE [tenant = $1 AND] id = ?1 AND forgotten_whole)) IS NOT TRUE";
    let known = match session_usages(db, session) {
        Ok(known) => known,
        // What cannot be read is made anew.
        Err(LedgerError::Damaged(_)) => {
            db.delete("usages", sql!(STALE), &[&Col(session)])?;
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    // A session has thousands of messages, and each fold adds a few: only what differs is written.
    let known = known.into_iter().map(|known| known.usage);
    let known: BTreeMap<String, Usage> = known.map(|usage| (usage.event.clone(), usage)).collect();
    let wanted: BTreeMap<&str, &Usage> = usages.iter().map(|u| (u.event.as_str(), u)).collect();
    for (event, usage) in &known {
        if wanted.get(event.as_str()) != Some(&usage) {
            db.delete(
                "usages",
                sql!(STALE " AND event = ?2"),
                &[&Col(session), event],
            )?;
        }
    }
    let sql = sql!("INSERT INTO usages ([tenant,] " USAGE "[|, sum]) \
         VALUES ([$1,] " VALUES "[|, row_sum(" VALUES ")]) ON CONFLICT DO NOTHING");
    for u in usages.iter().filter(|u| known.get(&u.event) != Some(u)) {
        let written = db.run(
            sql,
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
        if written > 0 {
            let row = "session = ?1 AND event = ?2";
            db.count_new("usages", row, &[&Col(session), &u.event])?;
        }
    }
    Ok(())
}

pub(crate) fn drop_usages(db: &mut impl Database, session: SessionId) -> Result<()> {
    let all = sql!("[tenant = $1 AND] session = ?1");
    db.delete("usages", all, &[&Col(session)]).map(drop)
}
