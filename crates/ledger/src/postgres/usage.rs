//! What messages cost, in PostgreSQL: what is asked with filters.

use siglum_domain::SessionId;
use siglum_domain::fold::Usage;

use super::columns::{Col, get, limit, raw};
use super::listing::Conditions;
use super::tx::{Tx, Value};
use crate::columns::Row;
use crate::usage::quarter_start;
use crate::verbs::usage::{
    COMMITS, QUARTERS, USAGES, change_usages, commit_row, drop_usages, link_row, quarter_row,
    replace_usages, usage_row,
};
use crate::{
    LedgerError, QuarterFilter, QuarterRecord, SessionCommit, SessionLink, UsageFilter,
    UsageRecord, Usages, UsingSessions,
};

type Result<T> = std::result::Result<T, LedgerError>;

/// The condition that a session used something in quarters of an hour that begin within two times.
fn used_something(session: &str) -> String {
    format!(
        "{session} IN (SELECT q.session FROM usage_quarters q WHERE q.tenant = $1 AND q.start >= ? AND q.start < ?)"
    )
}

impl Usages for Tx<'_> {
    fn put_usages(&mut self, session: SessionId, usages: &[Usage]) -> Result<()> {
        change_usages(self, session, |tx| replace_usages(tx, session, usages))
    }

    fn drop_usages(&mut self, session: SessionId) -> Result<()> {
        change_usages(self, session, |tx| drop_usages(tx, session))
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
        let mut sql = format!("{} WHERE u.tenant = $1", USAGES.postgres);
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
        self.rows(&sql, &values, |row| usage_row(&Row::Postgres(row)))
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
            "{QUARTERS} JOIN sessions s ON s.tenant = $1 AND s.id = q.session WHERE {}",
            of.texts.join(" AND ")
        );
        self.each(&sql, &of.values, |row| {
            take(quarter_row(&Row::Postgres(row))?);
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
        self.rows(&sql, &meant.values, |row| link_row(&Row::Postgres(row)))
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
            "{} FROM commits c WHERE {} ORDER BY c.session, c.repository, c.\"commit\"",
            COMMITS.postgres,
            meant.texts.join(" AND ")
        );
        self.rows(&sql, &meant.values, |row| commit_row(&Row::Postgres(row)))
    }

    fn titles(&mut self, sessions: &[SessionId]) -> Result<Vec<(SessionId, String)>> {
        let ids: Vec<_> = sessions.iter().map(|id| Col(*id)).collect();
        let sql = "SELECT session, title FROM summaries \
             WHERE tenant = $1 AND session = ANY($2) AND title IS NOT NULL ORDER BY session";
        self.rows(sql, &[&ids], |row| Ok((get(row, 0)?, raw(row, 1)?)))
    }
}
