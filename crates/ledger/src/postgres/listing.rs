//! Sessions as they are listed, and their summaries.

use postgres::Row;
use siglum_domain::SessionId;
use siglum_domain::observation::Tokens;

use super::columns::{Col, count, get, int, limit, opt, raw};
use super::tx::{Tx, Value};
use crate::LedgerError;
use crate::lookup::{Window, page_of_repositories, picks_few};
use crate::record::*;
use crate::row::from_word;
use crate::stored::{forgotten, unreadable_session};

type Result<T> = std::result::Result<T, LedgerError>;

pub(super) const SESSION: &str = "s.id, s.agent, s.conversation_id, s.home, s.mode, s.origin, s.parent, s.parent_relation, \
     s.created_at, s.last_at, s.ended_at, s.cwd, s.repository, s.worktree, s.head, s.sealed, s.forgotten_at, s.forgotten_whole, \
     s.parent_at, s.archived_at, s.quarantined";

/// How many columns [`SESSION`] has.
const SESSION_COLUMNS: usize = 21;

pub(super) fn session_row(row: &Row) -> Result<SessionRecord> {
    let relation: Option<&str> = raw(row, 7)?;
    let relation = relation.and_then(|r| from_word("relation", r).ok());
    Ok(SessionRecord {
        id: get(row, 0)?,
        agent: get(row, 1)?,
        conversation: get(row, 2)?,
        home: get(row, 3)?,
        mode: from_word("mode", raw(row, 4)?)?,
        origin: from_word("origin", raw(row, 5)?)?,
        parent: opt(row, 6)?.zip(relation),
        created_at: get(row, 8)?,
        last_at: get(row, 9)?,
        ended_at: opt(row, 10)?,
        cwd: raw(row, 11)?,
        repository: opt(row, 12)?,
        worktree: raw(row, 13)?,
        head: count(row, 14)?,
        sealed: count(row, 15)?,
        forgotten: forgotten(opt(row, 16)?, raw(row, 17)?),
        parent_at: raw::<Option<i64>>(row, 18)?.and_then(|n| u64::try_from(n).ok()),
        archived_at: opt(row, 19)?,
        quarantined: raw(row, 20)?,
    })
}

/// A session whose record may be damaged: then it has its id and what else can be read, and is quarantined.
pub(super) fn readable_session(row: &Row) -> Result<SessionRecord> {
    session_row(row).or_else(|error| salvaged(row, &error))
}

fn salvaged(row: &Row, error: &LedgerError) -> Result<SessionRecord> {
    let none = unreadable_session(get(row, 0)?, error);
    let is_driven = raw::<String>(row, 4).is_ok_and(|mode| mode == "driven");
    Ok(SessionRecord {
        agent: get(row, 1).unwrap_or(none.agent),
        conversation: get(row, 2).unwrap_or(none.conversation),
        home: get(row, 3).unwrap_or(none.home),
        mode: if is_driven { Mode::Driven } else { none.mode },
        created_at: get(row, 8).unwrap_or_default(),
        last_at: get(row, 9).unwrap_or_default(),
        ended_at: opt(row, 10).unwrap_or_default(),
        cwd: raw(row, 11).unwrap_or_default(),
        repository: opt(row, 12).unwrap_or_default(),
        worktree: raw(row, 13).unwrap_or_default(),
        head: count(row, 14).unwrap_or_default(),
        sealed: count(row, 15).unwrap_or_default(),
        forgotten: forgotten(
            opt(row, 16).unwrap_or_default(),
            raw(row, 17).unwrap_or_default(),
        ),
        archived_at: opt(row, 19).unwrap_or_default(),
        ..none
    })
}

fn summary_row(row: &Row, at: usize) -> Result<Summary> {
    let Some(state) = raw::<Option<String>>(row, at)? else {
        return Ok(Summary::default());
    };
    let models: &str = raw(row, at + 2)?;
    Ok(Summary {
        state,
        title: raw(row, at + 1)?,
        models: models
            .split(' ')
            .filter(|m| !m.is_empty())
            .map(str::to_owned)
            .collect(),
        turns: count(row, at + 3)?,
        tool_calls: count(row, at + 4)?,
        subagents: count(row, at + 5)?,
        tokens: Tokens {
            input: count(row, at + 6)?,
            output: count(row, at + 7)?,
            cache_read: count(row, at + 8)?,
            cache_write: count(row, at + 9)?,
        },
    })
}

/// Conditions, each written out with its own values, so that each combination can use its index.
pub(super) struct Conditions<'v> {
    pub(super) texts: Vec<String>,
    pub(super) values: Vec<Value<'v>>,
}

impl<'v> Conditions<'v> {
    /// The condition that rows of a table are the tenant's.
    pub(super) fn of_tenant(table: &str) -> Self {
        Self {
            texts: vec![format!("{table}.tenant = $1")],
            values: Vec::new(),
        }
    }

    /// Adds a condition; each `?` in it is the next of `values`.
    pub(super) fn add(&mut self, text: &str, values: &[Value<'v>]) {
        let mut parts = text.split('?');
        let mut written = parts.next().unwrap_or_default().to_owned();
        for (part, value) in parts.zip(values) {
            self.values.push(*value);
            // The tenant is `$1`.
            written.push_str(&format!("${}{part}", self.values.len() + 1));
        }
        self.texts.push(written);
    }

    pub(super) fn add_if(&mut self, text: &str, value: Option<Value<'v>>) {
        if let Some(value) = value {
            self.add(text, &[value]);
        }
    }
}

/// The condition that a session works in one of some repositories, and was active last within two hours: the sessions there
/// are looked up, before anything else.
const WORKED_THERE: &str = "s.id = ANY(ARRAY(SELECT r.session FROM session_repositories r WHERE r.tenant = $1 AND r.repository = ANY(?) \
     AND r.hour BETWEEN ? AND ?))";

/// The same where sessions by their ids are looked at, from one on.
const WORKED_THERE_FROM: &str = "s.id = ANY(ARRAY(SELECT r.session FROM session_repositories r WHERE r.tenant = $1 AND r.repository = ANY(?) \
     AND r.hour BETWEEN ? AND ? AND r.session >= ?))";

/// The condition that a session works in one of some repositories, asked of each session on the way. In other words the
/// server would look at all of the repository first.
const WORKS_THERE: &str = "coalesce((SELECT true FROM session_repositories r WHERE r.tenant = $1 AND r.repository = ANY(?) AND r.session = s.id LIMIT 1), false)";

impl Tx<'_> {
    pub(super) fn session_record(&mut self, id: SessionId) -> Result<Option<SessionRecord>> {
        let sql = format!("SELECT {SESSION} FROM sessions s WHERE s.tenant = $1 AND s.id = $2");
        self.row(&sql, &[&Col(id)], readable_session)
    }

    pub(super) fn listing(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        if filter.repositories.is_empty() || picks_few(filter) {
            return self.listing_of(filter, None);
        }
        page_of_repositories(
            self,
            filter,
            |tx: &mut Self, sessions| tx.window(filter, sessions),
            |tx: &mut Self, window| tx.listing_of(filter, Some(window)),
        )
    }

    /// The page of a filter, of the sessions of its repositories that are in a window. Without one, all sessions that the
    /// filter picks are looked at, or all in the order of the page.
    fn listing_of(
        &mut self,
        filter: &SessionFilter,
        window: Option<Window>,
    ) -> Result<Vec<SessionListing>> {
        let id = filter.id.map(Col);
        let repositories: Vec<_> = filter.repositories.iter().map(|id| Col(*id)).collect();
        let (first, last) = window.unwrap_or_else(|| Window::of_filter(filter)).hours;
        let from = window.and_then(|window| window.from).map(Col);
        let agent = filter.agent.as_ref().map(ToString::to_string);
        let conversation = filter.conversation.as_ref().map(ToString::to_string);
        let (since, until) = (filter.since.map(Col), filter.until.map(Col));
        let created_before = filter.created_before.map(Col);
        let parent = filter.parent.map(Col);
        let links: Vec<_> = filter
            .links
            .iter()
            .map(|l| (l.field(), l.value()))
            .collect();
        let (order, after) = match filter.order {
            Order::LastActive => ("s.last_at DESC, s.id", None),
            Order::Created { after } => ("s.id DESC", after.map(Col)),
        };
        let most = limit(filter.limit);
        let mut of = Conditions::of_tenant("s");
        of.add_if("s.id = ?", id.as_ref().map(|v| v as _));
        match (repositories.is_empty(), window, &from) {
            (true, ..) => {}
            (false, None, _) => of.add(WORKS_THERE, &[&repositories]),
            (false, Some(_), None) => of.add(WORKED_THERE, &[&repositories, &first, &last]),
            (false, Some(_), Some(from)) => {
                of.add(WORKED_THERE_FROM, &[&repositories, &first, &last, from]);
            }
        }
        of.add_if("s.agent = ?", agent.as_ref().map(|v| v as _));
        of.add_if(
            "s.conversation_id = ?",
            conversation.as_ref().map(|v| v as _),
        );
        of.add_if("s.last_at >= ?", since.as_ref().map(|v| v as _));
        of.add_if("s.last_at < ?", until.as_ref().map(|v| v as _));
        of.add_if("s.created_at < ?", created_before.as_ref().map(|v| v as _));
        of.add_if("s.parent = ?", parent.as_ref().map(|v| v as _));
        if filter.open {
            of.add("s.ended_at IS NULL", &[]);
        }
        if filter.seen {
            of.add("NOT s.unseen", &[]);
        }
        of.add_if("s.id < ?", after.as_ref().map(|v| v as _));
        for (field, value) in &links {
            let linked = "s.id IN (SELECT l.session FROM links l WHERE l.tenant = $1 AND l.field = ? AND l.value = ?)";
            of.add(linked, &[field, value]);
        }
        let picked = format!(
            "{} ORDER BY {order} LIMIT ${}",
            of.texts.join(" AND "),
            of.values.len() + 2
        );
        of.values.push(&most);
        self.listings(&picked, &of.values)
    }

    /// The sessions that a condition picks, in its order, with their summaries.
    pub(super) fn listings(
        &mut self,
        of: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<SessionListing>> {
        let sql = format!(
            "SELECT {SESSION}, m.state, m.title, m.models, m.turns, m.tool_calls, m.subagents, m.input, m.output, m.cache_read, m.cache_write, \
             (SELECT count(*) FROM commits c WHERE c.tenant = $1 AND c.session = s.id) \
             FROM sessions s LEFT JOIN summaries m ON m.tenant = $1 AND m.session = s.id \
             WHERE {of}"
        );
        self.rows(&sql, values, |row| {
            Ok(SessionListing {
                record: readable_session(row)?,
                summary: summary_row(row, SESSION_COLUMNS)?,
                commits: count(row, SESSION_COLUMNS + 10)?,
            })
        })
    }

    pub(super) fn store_summary(&mut self, session: SessionId, m: &Summary) -> Result<()> {
        let sql = "INSERT INTO summaries (tenant, session, state, title, models, turns, tool_calls, subagents, input, output, cache_read, cache_write) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
             ON CONFLICT (tenant, session) DO UPDATE SET state = excluded.state, title = excluded.title, models = excluded.models, \
             turns = excluded.turns, tool_calls = excluded.tool_calls, subagents = excluded.subagents, input = excluded.input, \
             output = excluded.output, cache_read = excluded.cache_read, cache_write = excluded.cache_write";
        let t = m.tokens;
        self.run(
            sql,
            &[
                &Col(session),
                &m.state,
                &m.title,
                &m.models.join(" "),
                &int(m.turns),
                &int(m.tool_calls),
                &int(m.subagents),
                &int(t.input),
                &int(t.output),
                &int(t.cache_read),
                &int(t.cache_write),
            ],
        )?;
        Ok(())
    }
}
