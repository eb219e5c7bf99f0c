//! What messages cost, in PostgreSQL.

use std::collections::BTreeSet;

use postgres::Row;
use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::Tokens;
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};

use super::columns::{Col, count, get, int, limit, opt, raw};
use super::listing::Conditions;
use super::tx::{Tx, Value};
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

const QUARTER_COLUMNS: &str = "session, start, model, branch, messages, input, output, cache_read, cache_write, \
     left_out, prompt_least, prompt_most, last_at, past";

/// How many columns [`QUARTER_COLUMNS`] has.
const OF_QUARTER: usize = 14;

fn quarter_row(row: &Row) -> Result<QuarterRecord> {
    let [repeated, retold, copied] = unpack_quarter_left_out(raw::<Option<&str>>(row, 9)?)?;
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
            model: raw(row, 2)?,
            branch: raw(row, 3)?,
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

/// The condition that a session used something in quarters of an hour that begin within two times.
fn used_something(session: &str) -> String {
    format!(
        "{session} IN (SELECT q.session FROM usage_quarters q WHERE q.tenant = $1 AND q.start >= ? AND q.start < ?)"
    )
}

impl Tx<'_> {
    /// Makes a change to the usage of a session, and sums it up anew, with that of the sessions for which the change
    /// makes a message a copy or no copy any more.
    pub(super) fn change_usages(
        &mut self,
        session: SessionId,
        change: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.hold_usages()?;
        let before = self.messages_of(session)?;
        change(self)?;
        let after = self.messages_of(session)?;
        let mut stale = BTreeSet::from([session]);
        let sql = "SELECT session FROM usages WHERE tenant = $1 AND event = $2 AND at = $3 AND session > $4";
        for (event, at) in before.symmetric_difference(&after) {
            let copies: Vec<SessionId> =
                self.rows(sql, &[event, &Col(*at), &Col(session)], |row| get(row, 0))?;
            stale.extend(copies);
        }
        stale
            .into_iter()
            .try_for_each(|session| self.sum_usage_up(session))
    }

    /// One at a time: of two who store the same message at once, neither would see the other's.
    fn hold_usages(&mut self) -> Result<()> {
        let held = "SELECT tenant FROM tenants WHERE tenant = $1 FOR NO KEY UPDATE";
        self.row(held, &[], |_| Ok(())).map(drop)
    }

    /// Sums the usage of a session up anew.
    fn sum_usage_up(&mut self, session: SessionId) -> Result<()> {
        // First what may be damaged: the sums stay then.
        let messages = self.usages(&UsageFilter {
            session: Some(session),
            ..UsageFilter::default()
        })?;
        let splits = self.commit_times("session = $2", &[&Col(session)])?;
        let sql = "DELETE FROM usage_quarters WHERE tenant = $1 AND session = $2";
        self.run(sql, &[&Col(session)])?;
        let sql = format!(
            "INSERT INTO usage_quarters (tenant, {QUARTER_COLUMNS}, number) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
        );
        for (number, q) in (0i64..).zip(quarters(&messages, &splits)) {
            let tokens = q.counted.tokens;
            self.run(
                &sql,
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
    fn commit_times(&mut self, which: &str, of: &[Value<'_>]) -> Result<Vec<Timestamp>> {
        let sql = format!("SELECT at, seen_by, facts FROM commits WHERE tenant = $1 AND {which}");
        let times = self.rows(&sql, of, |row| {
            Ok(commit_time(get(row, 0)?, raw(row, 1)?, raw(row, 2)?))
        })?;
        let mut times: Vec<Timestamp> = times.into_iter().flatten().collect();
        times.sort_unstable();
        Ok(times)
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
        let of_commit = "repository = $2 AND \"commit\" = $3";
        let times = self.commit_times(of_commit, &[&Col(repository), &commit.as_str()])?;
        let within = "SELECT 1 FROM usage_quarters \
             WHERE tenant = $1 AND session = $2 AND start <= $3 AND last_at > $3 LIMIT 1";
        for at in times {
            if self
                .row(within, &[&Col(session), &Col(at)], |_| Ok(()))?
                .is_some()
            {
                self.hold_usages()?;
                return match self.sum_usage_up(session) {
                    Err(LedgerError::Damaged(_)) => Ok(()),
                    done => done,
                };
            }
        }
        Ok(())
    }

    /// By what the messages of a session are known in others: their events and times.
    fn messages_of(&mut self, session: SessionId) -> Result<BTreeSet<(String, Timestamp)>> {
        let sql = "SELECT event, at FROM usages WHERE tenant = $1 AND session = $2";
        let messages = self.rows(sql, &[&Col(session)], |row| {
            Ok((raw(row, 0)?, get(row, 1)?))
        })?;
        Ok(messages.into_iter().collect())
    }

    fn replace_usages(&mut self, session: SessionId, usages: &[Usage]) -> Result<()> {
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
}

impl Usages for Tx<'_> {
    fn put_usages(&mut self, session: SessionId, usages: &[Usage]) -> Result<()> {
        self.change_usages(session, |tx| tx.replace_usages(session, usages))
    }

    fn drop_usages(&mut self, session: SessionId) -> Result<()> {
        self.change_usages(session, |tx| {
            let sql = "DELETE FROM usages WHERE tenant = $1 AND session = $2";
            tx.run(sql, &[&Col(session)])?;
            Ok(())
        })
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

    fn usage_quarters(
        &mut self,
        filter: &QuarterFilter,
        take: &mut dyn FnMut(QuarterRecord),
    ) -> Result<()> {
        let sessions: Vec<_> = filter.sessions.iter().map(|id| Col(*id)).collect();
        let since = filter.since.map(|since| Col(quarter_start(since)));
        let until = filter.until.map(Col);
        let agent = filter.agent.as_ref().map(ToString::to_string);
        let repositories: Vec<_> = filter.repositories.iter().map(|id| Col(*id)).collect();
        let mut of = Conditions::of_tenant("q");
        if !sessions.is_empty() {
            of.add("q.session = ANY(?)", &[&sessions]);
        }
        of.add_if("q.start >= ?", since.as_ref().map(|v| v as _));
        of.add_if("q.start < ?", until.as_ref().map(|v| v as _));
        of.add_if("q.model = ?", filter.model.as_ref().map(|v| v as _));
        of.add_if("s.agent = ?", agent.as_ref().map(|v| v as _));
        if !repositories.is_empty() {
            of.add("s.repository = ANY(?)", &[&repositories]);
        }
        let sql = format!(
            "SELECT q.{}, s.agent, s.repository FROM usage_quarters q \
             JOIN sessions s ON s.tenant = $1 AND s.id = q.session WHERE {}",
            QUARTER_COLUMNS.replace(", ", ", q."),
            of.texts.join(" AND ")
        );
        self.each(&sql, &of.values, |row| {
            take(quarter_row(row)?);
            Ok(())
        })
    }

    fn session_links(
        &mut self,
        field: &str,
        value: Option<&str>,
        of: UsingSessions<'_>,
        most: usize,
    ) -> Result<Vec<SessionLink>> {
        let sessions: Vec<_> = of.sessions.iter().map(|id| Col(*id)).collect();
        let starts = of.starts();
        let most = limit(most);
        let mut meant = Conditions::of_tenant("l");
        meant.add("l.field = ?", &[&field]);
        meant.add_if("l.value = ?", value.as_ref().map(|v| v as _));
        if !sessions.is_empty() {
            meant.add("l.session = ANY(?)", &[&sessions]);
        } else if let Some((start, end)) = &starts {
            meant.add(&used_something("l.session"), &[start, end]);
        }
        let sql = format!(
            "SELECT l.session, l.value, l.whole FROM session_links l WHERE {} ORDER BY l.session, l.value LIMIT ${}",
            meant.texts.join(" AND "),
            meant.values.len() + 2
        );
        meant.values.push(&most);
        self.rows(&sql, &meant.values, |row| {
            Ok(SessionLink {
                session: get(row, 0)?,
                value: raw(row, 1)?,
                is_whole: raw(row, 2)?,
            })
        })
    }

    fn session_commits(&mut self, of: UsingSessions<'_>) -> Result<Vec<SessionCommit>> {
        let sessions: Vec<_> = of.sessions.iter().map(|id| Col(*id)).collect();
        let starts = of.starts();
        let mut meant = Conditions::of_tenant("c");
        if !sessions.is_empty() {
            meant.add("c.session = ANY(?)", &[&sessions]);
        } else if let Some((start, end)) = &starts {
            meant.add(&used_something("c.session"), &[start, end]);
        } else {
            meant.add("c.session IS NOT NULL", &[]);
        }
        let sql = format!(
            "SELECT c.session, c.repository, c.\"commit\", c.at, c.seen_by, c.verdict, c.facts, \
             EXISTS (SELECT 1 FROM rewrites r WHERE r.tenant = $1 AND r.repository = c.repository AND r.new = c.\"commit\") \
             OR EXISTS (SELECT 1 FROM rewrites r WHERE r.tenant = $1 AND r.repository = c.repository AND r.old = c.\"commit\") \
             OR EXISTS (SELECT 1 FROM commits o WHERE o.tenant = $1 AND o.checkpoint = c.checkpoint \
             AND o.repository = c.repository AND o.\"commit\" <> c.\"commit\") \
             FROM commits c WHERE {} ORDER BY c.session, c.repository, c.\"commit\"",
            meant.texts.join(" AND ")
        );
        self.rows(&sql, &meant.values, |row| {
            let facts: Option<&str> = raw(row, 6)?;
            Ok(SessionCommit {
                session: get(row, 0)?,
                repository: get(row, 1)?,
                commit: get(row, 2)?,
                at: get(row, 3)?,
                seen_by: from_word("seen by", raw(row, 4)?)?,
                verdict: from_word("verdict", raw(row, 5)?)?,
                facts: facts.map(commit_head).transpose()?,
                is_rewritten: raw(row, 7)?,
            })
        })
    }

    fn titles(&mut self, sessions: &[SessionId]) -> Result<Vec<(SessionId, String)>> {
        let ids: Vec<_> = sessions.iter().map(|id| Col(*id)).collect();
        let sql = "SELECT session, title FROM summaries \
             WHERE tenant = $1 AND session = ANY($2) AND title IS NOT NULL ORDER BY session";
        self.rows(sql, &[&ids], |row| Ok((get(row, 0)?, raw(row, 1)?)))
    }
}
