//! Sessions as they are listed, in PostgreSQL.

use super::columns::{Col, limit};
use super::tx::{Tx, Value};
use crate::LedgerError;
use crate::columns::Row;
use crate::lookup::{Window, page_of_repositories, picks_few};
use crate::record::*;
use crate::verbs::listing::{LISTED, SUMMARIES, listing_row};
use crate::verbs::places::window;

type Result<T> = std::result::Result<T, LedgerError>;

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
    pub(super) fn listing(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        if filter.repositories.is_empty() || picks_few(filter) {
            return self.listing_of(filter, None);
        }
        page_of_repositories(
            self,
            filter,
            |tx: &mut Self, sessions| window(tx, filter, sessions),
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
        let sql = format!(
            "{} {} WHERE {} ORDER BY {order} LIMIT ${}",
            LISTED.postgres,
            SUMMARIES.postgres,
            of.texts.join(" AND "),
            of.values.len() + 2
        );
        of.values.push(&most);
        self.rows(&sql, &of.values, |row| listing_row(&Row::Postgres(row)))
    }
}
