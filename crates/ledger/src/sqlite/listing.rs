//! Sessions as they are listed.

use rusqlite::{OptionalExtension, Row};
use siglum_domain::observation::Tokens;
use siglum_domain::{RepositoryId, Timestamp};

use super::columns::{Col, count, get, opt};
use super::open::Tx;
use crate::LedgerError;
use crate::record::*;
use crate::row::from_word;
use crate::stored::{forgotten, unreadable_session};

type Result<T> = std::result::Result<T, LedgerError>;

pub(super) const SESSION: &str = "s.id, s.agent, s.conversation_id, s.home, s.mode, s.origin, s.parent, s.parent_relation, \
     s.created_at, s.last_at, s.ended_at, s.cwd, s.repository, s.worktree, s.head, s.sealed, s.forgotten_at, s.forgotten_whole, s.parent_at, s.archived_at, s.quarantined";

/// How many columns [`SESSION`] has.
const SESSION_COLUMNS: usize = 21;

pub(super) fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let enumerated = |at: usize| row.get::<_, String>(at);
    let relation: Option<String> = row.get(7)?;
    let parent = opt(row, 6)?.zip(relation.and_then(|r| from_word("relation", &r).ok()));
    Ok(SessionRecord {
        id: get(row, 0)?,
        agent: get(row, 1)?,
        conversation: get(row, 2)?,
        home: get(row, 3)?,
        mode: if enumerated(4)? == "driven" {
            Mode::Driven
        } else {
            Mode::Observed
        },
        origin: from_word("origin", &enumerated(5)?).unwrap_or(SessionOrigin::Live),
        parent,
        created_at: get(row, 8)?,
        last_at: get(row, 9)?,
        ended_at: opt(row, 10)?,
        cwd: row.get(11)?,
        repository: opt(row, 12)?,
        worktree: row.get(13)?,
        head: count(row, 14)?,
        sealed: count(row, 15)?,
        forgotten: forgotten(opt(row, 16)?, row.get(17)?),
        parent_at: row
            .get::<_, Option<i64>>(18)?
            .and_then(|n| u64::try_from(n).ok()),
        archived_at: opt(row, 19)?,
        quarantined: row.get(20)?,
    })
}

/// A session whose record may be damaged: then it has its id and what else can be read, and is quarantined.
pub(super) fn readable_session(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    session_row(row).or_else(|error| salvaged(row, &error))
}

fn salvaged(row: &Row<'_>, error: &rusqlite::Error) -> rusqlite::Result<SessionRecord> {
    let none = unreadable_session(get(row, 0)?, error);
    let is_driven = row.get::<_, String>(4).is_ok_and(|mode| mode == "driven");
    Ok(SessionRecord {
        agent: get(row, 1).unwrap_or(none.agent),
        conversation: get(row, 2).unwrap_or(none.conversation),
        home: get(row, 3).unwrap_or(none.home),
        mode: if is_driven { Mode::Driven } else { none.mode },
        created_at: get(row, 8).unwrap_or_default(),
        last_at: get(row, 9).unwrap_or_default(),
        ended_at: opt(row, 10).unwrap_or_default(),
        cwd: row.get(11).unwrap_or_default(),
        repository: opt(row, 12).unwrap_or_default(),
        worktree: row.get(13).unwrap_or_default(),
        head: count(row, 14).unwrap_or_default(),
        sealed: count(row, 15).unwrap_or_default(),
        forgotten: forgotten(
            opt(row, 16).unwrap_or_default(),
            row.get(17).unwrap_or_default(),
        ),
        archived_at: opt(row, 19).unwrap_or_default(),
        ..none
    })
}

fn summary_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Summary> {
    let Some(state) = row.get::<_, Option<String>>(at)? else {
        return Ok(Summary::default());
    };
    Ok(Summary {
        state,
        title: row.get(at + 1)?,
        models: row
            .get::<_, String>(at + 2)?
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

/// With fewer sessions, all of a repository are looked at.
const FEW: i64 = 1000;
/// Among so many of the newest sessions of all, those of a repository are looked for first.
const NEWEST: i64 = 500;

/// The condition that a session works in one of so many repositories, whose ids are given twice. With many sessions there,
/// it is asked of each session on the way: the newest are found without a look at all of a repository.
fn works_in_one_of(repositories: usize, has_few: bool) -> String {
    let ids = vec!["?"; repositories].join(", ");
    if has_few {
        return format!(
            "s.id IN (SELECT session FROM session_repositories WHERE repository IN ({ids}) \
             UNION SELECT session FROM commits WHERE repository IN ({ids}) AND session IS NOT NULL)"
        );
    }
    format!(
        "(EXISTS (SELECT 1 FROM session_repositories r WHERE r.repository IN ({ids}) AND r.session = s.id) \
         OR EXISTS (SELECT 1 FROM commits c WHERE c.repository IN ({ids}) AND c.session = s.id))"
    )
}

impl Tx<'_> {
    /// Whether few sessions work in some repositories. Without any, the question is about all sessions.
    fn has_few(&self, repositories: &[RepositoryId]) -> Result<bool> {
        if repositories.is_empty() {
            return Ok(false);
        }
        let ids = vec!["?"; repositories.len()].join(", ");
        for of in [
            format!("session_repositories WHERE repository IN ({ids})"),
            format!("commits WHERE repository IN ({ids}) AND session IS NOT NULL"),
        ] {
            let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {of} LIMIT {FEW})");
            let values = rusqlite::params_from_iter(repositories.iter().map(|id| Col(*id)));
            let mut query = self.db.prepare_cached(&sql)?;
            if query.query_row(values, |row| row.get::<_, i64>(0))? == FEW {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn listing(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        if let Some(found) = self.among_newest(filter)? {
            return Ok(found);
        }
        let has_few = filter.id.is_none() && self.has_few(&filter.repositories)?;
        self.listing_of(filter, has_few)
    }

    /// The newest sessions of some repositories, where they are among the newest of all: then neither all of a repository
    /// nor all sessions are looked at.
    fn among_newest(&mut self, filter: &SessionFilter) -> Result<Option<Vec<SessionListing>>> {
        let is_page = filter.limit > 0 && filter.order == Order::LastActive;
        let picks_few = filter.id.is_some()
            || filter.conversation.is_some()
            || filter.parent.is_some()
            || filter.open
            || !filter.links.is_empty();
        if !is_page || picks_few || filter.repositories.is_empty() {
            return Ok(None);
        }
        let floor = {
            let sql = "SELECT last_at FROM sessions ORDER BY last_at DESC LIMIT 1 OFFSET ?1";
            let mut query = self.db.prepare_cached(sql)?;
            let floor = query.query_row([NEWEST], |row| get::<Timestamp>(row, 0));
            floor.optional()?
        };
        let Some(floor) = floor else {
            return self.listing_of(filter, false).map(Some);
        };
        let newest = SessionFilter {
            since: Some(filter.since.map_or(floor, |since| since.max(floor))),
            ..filter.clone()
        };
        let found = self.listing_of(&newest, false)?;
        let is_all =
            found.len() == filter.limit || filter.since.is_some_and(|since| since >= floor);
        Ok(is_all.then_some(found))
    }

    fn listing_of(&mut self, filter: &SessionFilter, has_few: bool) -> Result<Vec<SessionListing>> {
        // Each condition is written out, so that each combination can use its index.
        let works_there = works_in_one_of(filter.repositories.len(), has_few);
        let mut conditions = vec!["1 = 1"];
        let mut values: Vec<Box<dyn rusqlite::ToSql>> = Vec::new();
        let mut when = |condition: &'static str, value: Option<Box<dyn rusqlite::ToSql>>| {
            if let Some(value) = value {
                conditions.push(condition);
                values.push(value);
            }
        };
        when("s.id = ?", filter.id.map(|id| Box::new(Col(id)) as _));
        when(
            "s.agent = ?",
            filter.agent.as_ref().map(|a| Box::new(a.to_string()) as _),
        );
        when(
            "s.conversation_id = ?",
            filter
                .conversation
                .as_ref()
                .map(|name| Box::new(name.to_string()) as _),
        );
        when(
            "s.last_at >= ?",
            filter.since.map(|t| Box::new(Col(t)) as _),
        );
        when("s.last_at < ?", filter.until.map(|t| Box::new(Col(t)) as _));
        when(
            "s.created_at < ?",
            filter.created_before.map(|t| Box::new(Col(t)) as _),
        );
        when(
            "s.ended_at IS NULL AND 1 = ?",
            filter.open.then(|| Box::new(1) as _),
        );
        when(
            "s.unseen = 0 AND 1 = ?",
            filter.seen.then(|| Box::new(1) as _),
        );
        when("s.parent = ?", filter.parent.map(|p| Box::new(Col(p)) as _));
        if !filter.repositories.is_empty() {
            conditions.push(&works_there);
            for _ in 0..2 {
                let ids = filter.repositories.iter();
                values.extend(ids.map(|id| Box::new(Col(*id)) as Box<dyn rusqlite::ToSql>));
            }
        }
        for link in &filter.links {
            conditions.push("s.id IN (SELECT session FROM links WHERE field = ? AND value = ?)");
            values.push(Box::new(link.field()));
            values.push(Box::new(link.value()));
        }
        if let Order::Created { after: Some(after) } = filter.order {
            conditions.push("s.id < ?");
            values.push(Box::new(Col(after)));
        }
        let order = match filter.order {
            Order::LastActive => "s.last_at DESC, s.id",
            Order::Created { .. } => "s.id DESC",
        };
        let limit = match filter.limit {
            0 => -1,
            most => i64::try_from(most).unwrap_or(i64::MAX),
        };
        let picks_few = has_few
            || filter.id.is_some()
            || filter.conversation.is_some()
            || filter.parent.is_some()
            || !filter.links.is_empty();
        let index = match filter.order {
            _ if filter.open && filter.seen => "INDEXED BY sessions_open",
            // Else all sessions are read and sorted, however few are wanted.
            Order::LastActive if filter.limit > 0 && !picks_few => "INDEXED BY sessions_by_last",
            _ => "",
        };
        let of = format!(
            "{} ORDER BY {order} LIMIT {limit}",
            conditions.join(" AND ")
        );
        self.listings(index, &of, rusqlite::params_from_iter(values))
    }

    /// The sessions that a condition picks, in its order, with their summaries.
    pub(super) fn listings(
        &mut self,
        index: &str,
        of: &str,
        values: impl rusqlite::Params,
    ) -> Result<Vec<SessionListing>> {
        let sql = format!(
            "SELECT {SESSION}, m.state, m.title, m.models, m.turns, m.tool_calls, m.subagents, m.input, m.output, m.cache_read, m.cache_write, \
             (SELECT count(*) FROM commits c WHERE c.session = s.id) \
             FROM sessions s {index} LEFT JOIN summaries m ON m.session = s.id WHERE {of}"
        );
        let mut query = self.db.prepare(&sql)?;
        let listing = |row: &Row<'_>| {
            Ok(SessionListing {
                record: readable_session(row)?,
                summary: summary_row(row, SESSION_COLUMNS).unwrap_or_default(),
                commits: count(row, SESSION_COLUMNS + 10)?,
            })
        };
        Ok(query
            .query_map(values, listing)?
            .collect::<rusqlite::Result<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    use siglum_domain::intake::Place;
    use siglum_domain::{AgentName, ConversationId, LedgerId, SessionId};
    use uuid::Uuid;

    use super::*;
    use crate::sqlite::{Open, SqliteLedger};
    use crate::{Durability, Ledger, read, write};

    fn session(n: u128, home: LedgerId, repository: u128) -> SessionRecord {
        let at = Timestamp::from_nanos(i64::try_from(n).unwrap());
        SessionRecord {
            repository: Some(RepositoryId::from_uuid(Uuid::from_u128(repository))),
            ..SessionRecord::new(
                SessionId::from_uuid(Uuid::from_u128(n)),
                AgentName::new("codex").unwrap(),
                ConversationId::new(format!("c{n}")).unwrap(),
                home,
                Mode::Observed,
                SessionOrigin::Live,
                at,
            )
        }
    }

    /// The newest sessions of some repositories.
    fn newest(ledger: &mut SqliteLedger, repositories: &[u128]) -> Vec<u128> {
        let id = |n: &u128| RepositoryId::from_uuid(Uuid::from_u128(*n));
        let filter = SessionFilter {
            repositories: repositories.iter().map(id).collect(),
            limit: 3,
            ..SessionFilter::default()
        };
        let listed = read(ledger, |tx| tx.sessions(&filter)).unwrap();
        listed
            .iter()
            .map(|l| l.record.id.uuid().as_u128())
            .collect()
    }

    #[test]
    fn few_sessions_of_a_repository_are_listed_as_many_are() {
        let dir = tempfile::tempdir().unwrap();
        let new = Open::Command {
            id: LedgerId::from_uuid(Uuid::from_u128(1)),
            key: [1; 32],
        };
        let mut ledger = SqliteLedger::open(&dir.path().join("ledger.db"), new).unwrap();
        let home = ledger.id();
        let many = u128::try_from(FEW).unwrap();
        write(&mut ledger, Durability::Process, |tx| {
            let place = |n: u128| Place {
                common_dir: format!("/r/{n}"),
                worktree: format!("/r/{n}"),
            };
            let at = Timestamp::from_nanos(1);
            for n in 1..=2 {
                let id = RepositoryId::from_uuid(Uuid::from_u128(n));
                tx.note_place(&place(n), id, at)?;
            }
            for n in 1..=many {
                tx.create_session(&session(n, home, 1))?;
            }
            (many + 1..=many + 2).try_for_each(|n| tx.create_session(&session(n, home, 2)))
        })
        .unwrap();
        assert_eq!(newest(&mut ledger, &[1]), [many, many - 1, many - 2]);
        assert_eq!(newest(&mut ledger, &[2]), [many + 2, many + 1]);
        assert_eq!(newest(&mut ledger, &[1, 2]), [many + 2, many + 1, many]);
    }
}
