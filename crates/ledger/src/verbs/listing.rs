//! Sessions as they are listed.

use siglum_domain::observation::Tokens;

use crate::LedgerError;
use crate::columns::Row;
use crate::record::*;
use crate::row::from_word;
use crate::sql::{Sql, sql};
use crate::stored::{forgotten, unreadable_session};

type Result<T> = std::result::Result<T, LedgerError>;

pub(super) const SESSION: &str = "s.id, s.agent, s.conversation_id, s.home, s.mode, s.origin, s.parent, s.parent_relation, \
     s.created_at, s.last_at, s.ended_at, s.cwd, s.repository, s.worktree, s.head, s.sealed, s.forgotten_at, s.forgotten_whole, \
     s.parent_at, s.archived_at, s.quarantined";

/// How many columns [`SESSION`] has.
const SESSION_COLUMNS: usize = 21;

/// The columns of a listing behind those of its session.
pub(super) const SUMMARY: &str = "m.state, m.title, m.models, m.turns, m.tool_calls, m.subagents, m.input, m.output, \
     m.cache_read, m.cache_write, (SELECT count(*) FROM commits c WHERE [c.tenant = $1 AND] c.session = s.id)";

/// The summaries of the sessions of a listing.
pub(super) const WITH_SUMMARIES: &str =
    "LEFT JOIN summaries m ON [m.tenant = $1 AND] m.session = s.id";

/// The parts of a listing, for a store that puts the rest together itself.
pub(crate) const LISTED: Sql<'_> = sql!("SELECT " SESSION ", " SUMMARY " FROM sessions s");
pub(crate) const SUMMARIES: Sql<'_> = sql!(WITH_SUMMARIES);

pub(super) fn session_row(row: &Row<'_>) -> Result<SessionRecord> {
    let relation: Option<String> = row.get(7)?;
    let relation = relation.and_then(|r| from_word("relation", &r).ok());
    Ok(SessionRecord {
        id: row.get(0)?,
        agent: row.agent(1)?,
        conversation: row.get(2)?,
        home: row.get(3)?,
        mode: match row.get::<String>(4)?.as_str() {
            "driven" => Mode::Driven,
            _ => Mode::Observed,
        },
        origin: from_word("origin", &row.get::<String>(5)?).unwrap_or(SessionOrigin::Live),
        parent: row.get::<Option<_>>(6)?.zip(relation),
        created_at: row.get(8)?,
        last_at: row.get(9)?,
        ended_at: row.get(10)?,
        cwd: row.get(11)?,
        repository: row.get(12)?,
        worktree: row.get(13)?,
        head: row.count(14)?,
        sealed: row.count(15)?,
        forgotten: forgotten(row.get(16)?, row.get(17)?),
        parent_at: row
            .get::<Option<i64>>(18)?
            .and_then(|n| u64::try_from(n).ok()),
        archived_at: row.get(19)?,
        quarantined: row.get(20)?,
    })
}

/// A session whose record may be damaged: then it has its id and what else can be read, and is quarantined.
pub(super) fn readable_session(row: &Row<'_>) -> Result<SessionRecord> {
    session_row(row).or_else(|error| salvaged(row, &error))
}

fn salvaged(row: &Row<'_>, error: &LedgerError) -> Result<SessionRecord> {
    let none = match error {
        LedgerError::Damaged(why) => unreadable_session(row.get(0)?, why),
        other => unreadable_session(row.get(0)?, other),
    };
    let is_driven = row.get::<String>(4).is_ok_and(|mode| mode == "driven");
    Ok(SessionRecord {
        agent: row.agent(1).unwrap_or(none.agent),
        conversation: row.get(2).unwrap_or(none.conversation),
        home: row.get(3).unwrap_or(none.home),
        mode: if is_driven { Mode::Driven } else { none.mode },
        created_at: row.get(8).unwrap_or_default(),
        last_at: row.get(9).unwrap_or_default(),
        ended_at: row.get(10).unwrap_or_default(),
        cwd: row.get(11).unwrap_or_default(),
        repository: row.get(12).unwrap_or_default(),
        worktree: row.get(13).unwrap_or_default(),
        head: row.count(14).unwrap_or_default(),
        sealed: row.count(15).unwrap_or_default(),
        forgotten: forgotten(
            row.get(16).unwrap_or_default(),
            row.get(17).unwrap_or_default(),
        ),
        archived_at: row.get(19).unwrap_or_default(),
        ..none
    })
}

fn summary_row(row: &Row<'_>, at: usize) -> Result<Summary> {
    let Some(state) = row.get::<Option<String>>(at)? else {
        return Ok(Summary::default());
    };
    let models: String = row.get(at + 2)?;
    Ok(Summary {
        state,
        title: row.get(at + 1)?,
        models: models
            .split(' ')
            .filter(|m| !m.is_empty())
            .map(str::to_owned)
            .collect(),
        turns: row.count(at + 3)?,
        tool_calls: row.count(at + 4)?,
        subagents: row.count(at + 5)?,
        tokens: Tokens {
            input: row.count(at + 6)?,
            output: row.count(at + 7)?,
            cache_read: row.count(at + 8)?,
            cache_write: row.count(at + 9)?,
        },
    })
}

/// A session from [`SESSION`] and [`SUMMARY`]. A summary that cannot be read is as one that was not made yet.
pub(crate) fn listing_row(row: &Row<'_>) -> Result<SessionListing> {
    Ok(SessionListing {
        record: readable_session(row)?,
        summary: summary_row(row, SESSION_COLUMNS).unwrap_or_default(),
        commits: row.count(SESSION_COLUMNS + 10)?,
    })
}
