//! Repositories, sessions, their names, processes, turns and statements in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::intake::{AgentVariable, Place};
use siglum_domain::link::Link;
use siglum_domain::observation::Tokens;
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{AgentName, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use crate::record::*;
use crate::row::{from_word, json, word};
use crate::stored::{BindingRow, StatementRow, Subjects, forgotten, unreadable_session};
use crate::{LedgerError, Sessions};

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

fn statement_row(row: &Row<'_>) -> rusqlite::Result<StatementRow> {
    Ok(StatementRow {
        ledger: get(row, 0)?,
        sequence: count(row, 1)?,
        at: get(row, 2)?,
        by: row.get(3)?,
        source: row.get(4)?,
        body: row.get(5)?,
    })
}

impl Tx<'_> {
    fn statements(&mut self, sql: &str, of: impl rusqlite::Params) -> Result<Vec<StatementRecord>> {
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query
            .query_map(of, statement_row)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        rows.into_iter().map(StatementRow::record).collect()
    }

    /// Attaches a link or detaches it, as the last statement of it says: last by time, as they are listed.
    fn fold_link(&mut self, session: SessionId, link: &Link) -> Result<()> {
        let says = |record: StatementRecord| match record.statement {
            Statement::LinkAttached { link: l, .. } if l == *link => Some(true),
            Statement::LinkDetached { link: l, .. } if l == *link => Some(false),
            _ => None,
        };
        let stated = self.statements_of_session(session)?;
        let sql = match stated.into_iter().rev().find_map(says) {
            Some(true) => "INSERT OR IGNORE INTO links (field, value, session) VALUES (?1, ?2, ?3)",
            _ => "DELETE FROM links WHERE field = ?1 AND value = ?2 AND session = ?3",
        };
        self.db
            .execute(sql, (link.field(), link.value(), Col(session)))?;
        Ok(())
    }

    fn repository_rows(
        &mut self,
        filter: &str,
        of: impl rusqlite::Params,
    ) -> Result<Vec<RepositoryRecord>> {
        let mut query = self
            .db
            .prepare_cached(&format!("SELECT id, common_dir FROM repositories {filter}"))?;
        let rows = query
            .query_map(of, |row| Ok((get(row, 0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<Vec<(RepositoryId, String)>>>()?;
        let mut trees = self.db.prepare_cached(
            "SELECT path, swept_head FROM worktrees WHERE repository = ?1 ORDER BY path",
        )?;
        let mut records = Vec::with_capacity(rows.len());
        for (id, common_dir) in rows {
            let worktrees = trees
                .query_map([Col(id)], |row| Ok((row.get(0)?, opt(row, 1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            records.push(RepositoryRecord {
                id,
                common_dir,
                worktrees,
            });
        }
        Ok(records)
    }
}

fn binding_row(row: &Row<'_>) -> rusqlite::Result<BindingRow> {
    Ok(BindingRow {
        session: get(row, 0)?,
        identity: row.get(1)?,
        bound_at: get(row, 2)?,
        carried: row.get(3)?,
    })
}

fn bindings(rows: Vec<BindingRow>) -> Result<Vec<Binding>> {
    rows.into_iter().map(BindingRow::record).collect()
}

impl Sessions for Tx<'_> {
    fn repository(&mut self, common_dir: &str) -> Result<Option<RepositoryRecord>> {
        Ok(self
            .repository_rows("WHERE common_dir = ?1", [common_dir])?
            .pop())
    }

    fn repositories(&mut self) -> Result<Vec<RepositoryRecord>> {
        self.repository_rows("ORDER BY common_dir", [])
    }

    fn note_place(
        &mut self,
        place: &Place,
        fresh: RepositoryId,
        at: Timestamp,
    ) -> Result<RepositoryId> {
        let known = "SELECT r.id, w.path IS NOT NULL FROM repositories r \
             LEFT JOIN worktrees w ON w.repository = r.id AND w.path = ?2 WHERE r.common_dir = ?1";
        let mut query = self.db.prepare_cached(known)?;
        let found = query
            .query_row([&place.common_dir, &place.worktree], |row| {
                Ok((get(row, 0)?, row.get(1)?))
            })
            .optional()?;
        let id = match found {
            Some((id, true)) => return Ok(id),
            Some((id, false)) => id,
            None => {
                let sql = "INSERT INTO repositories (id, common_dir, first_at) VALUES (?1, ?2, ?3)";
                self.db
                    .execute(sql, (Col(fresh), &place.common_dir, Col(at)))?;
                fresh
            }
        };
        self.db.execute(
            "INSERT INTO worktrees (repository, path) VALUES (?1, ?2)",
            (Col(id), &place.worktree),
        )?;
        Ok(id)
    }

    fn set_swept(&mut self, repository: RepositoryId, worktree: &str, head: &Oid) -> Result<()> {
        let sql = "UPDATE worktrees SET swept_head = ?3 WHERE repository = ?1 AND path = ?2";
        self.db
            .execute(sql, (Col(repository), worktree, head.as_str()))?;
        Ok(())
    }

    fn session(&mut self, id: SessionId) -> Result<Option<SessionRecord>> {
        let mut query = self
            .db
            .prepare_cached(&format!("SELECT {SESSION} FROM sessions s WHERE s.id = ?1"))?;
        Ok(query.query_row([Col(id)], readable_session).optional()?)
    }

    fn session_by_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
    ) -> Result<Option<SessionId>> {
        let mut query = self
            .db
            .prepare_cached("SELECT session FROM aliases WHERE agent = ?1 AND native = ?2")?;
        Ok(query
            .query_row([agent.as_str(), native.as_str()], |row| get(row, 0))
            .optional()?)
    }

    fn sessions_by_native(&mut self, native: &NativeId) -> Result<Vec<(AgentName, SessionId)>> {
        let sql = "SELECT agent, session FROM aliases WHERE native = ?1 ORDER BY agent";
        let mut query = self.db.prepare(sql)?;
        Ok(query
            .query_map([native.as_str()], |row| Ok((get(row, 0)?, get(row, 1)?)))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn sessions_by_tail(&mut self, tail: &str) -> Result<Vec<SessionId>> {
        let sql = "SELECT id FROM sessions WHERE instr(lower(substr(hex(id), -max(8, length(?1)))), ?1) > 0 ORDER BY last_at DESC LIMIT 16";
        let mut query = self.db.prepare(sql)?;
        Ok(query
            .query_map([tail], |row| get(row, 0))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn sessions(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        // Each condition is written out, so that each combination can use its index.
        let mut conditions = vec!["1 = 1"];
        let mut values: Vec<Box<dyn rusqlite::ToSql>> = Vec::new();
        let mut when = |condition: &'static str, value: Option<Box<dyn rusqlite::ToSql>>| {
            if let Some(value) = value {
                conditions.push(condition);
                values.push(value);
            }
        };
        when(
            "s.repository = ?",
            filter.repository.map(|r| Box::new(Col(r)) as _),
        );
        when(
            "s.agent = ?",
            filter.agent.as_ref().map(|a| Box::new(a.to_string()) as _),
        );
        when(
            "s.last_at >= ?",
            filter.since.map(|t| Box::new(Col(t)) as _),
        );
        when(
            "s.created_at < ?",
            filter.until.map(|t| Box::new(Col(t)) as _),
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
        if let Some(link) = &filter.link {
            conditions.push("s.id IN (SELECT session FROM links WHERE field = ? AND value = ?)");
            values.push(Box::new(link.field()));
            values.push(Box::new(link.value()));
        }
        let limit = if filter.limit == 0 {
            -1
        } else {
            i64::try_from(filter.limit).unwrap_or(i64::MAX)
        };
        let index = if filter.open && filter.seen {
            "INDEXED BY sessions_open"
        } else {
            ""
        };
        let sql = format!(
            "SELECT {SESSION}, m.state, m.title, m.models, m.turns, m.tool_calls, m.subagents, m.input, m.output, m.cache_read, m.cache_write, \
             (SELECT count(*) FROM commits c WHERE c.session = s.id) \
             FROM sessions s {index} LEFT JOIN summaries m ON m.session = s.id WHERE {} ORDER BY s.last_at DESC, s.id LIMIT {limit}",
            conditions.join(" AND ")
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
            .query_map(rusqlite::params_from_iter(values), listing)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn create_session(&mut self, r: &SessionRecord) -> Result<()> {
        let sql = "INSERT INTO sessions (id, agent, conversation_id, home, mode, origin, parent, parent_relation, created_at, \
             last_at, ended_at, cwd, repository, worktree, parent_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
        self.db.prepare_cached(sql)?.execute(params![
            Col(r.id),
            r.agent.as_str(),
            r.conversation.as_str(),
            Col(r.home),
            word(&r.mode),
            word(&r.origin),
            r.parent.map(|(p, _)| Col(p)),
            r.parent.map(|(_, relation)| word(&relation)),
            Col(r.created_at),
            Col(r.last_at),
            r.ended_at.map(Col),
            r.cwd,
            r.repository.map(Col),
            r.worktree,
            r.parent_at.map(int),
        ])?;
        Ok(())
    }

    fn add_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO aliases (agent, native, session, first_at) VALUES (?1, ?2, ?3, ?4)";
        self.db.prepare_cached(sql)?.execute((
            agent.as_str(),
            native.as_str(),
            Col(session),
            Col(at),
        ))?;
        Ok(())
    }

    fn aliases(&mut self, session: SessionId) -> Result<Vec<NativeId>> {
        let mut query = self.db.prepare_cached(
            "SELECT native FROM aliases WHERE session = ?1 ORDER BY first_at, native",
        )?;
        Ok(query
            .query_map([Col(session)], |row| get(row, 0))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn touch(
        &mut self,
        session: SessionId,
        at: Timestamp,
        place: Option<(RepositoryId, &str)>,
        cwd: Option<&str>,
    ) -> Result<()> {
        // By itself, since SQLite writes each index anew whose columns are set at all, and few sessions are unseen.
        let seen = "UPDATE sessions SET unseen = 0 WHERE id = ?1 AND unseen AND last_at < ?2";
        self.db
            .prepare_cached(seen)?
            .execute((Col(session), Col(at)))?;
        let sql = "UPDATE sessions SET last_at = max(last_at, ?2), created_at = min(created_at, ?2), \
             repository = coalesce(repository, ?3), worktree = coalesce(worktree, ?4), cwd = coalesce(cwd, ?5) WHERE id = ?1";
        let (repository, worktree) = place.unzip();
        self.db.prepare_cached(sql)?.execute((
            Col(session),
            Col(at),
            repository.map(Col),
            worktree,
            cwd,
        ))?;
        Ok(())
    }

    fn set_agent(&mut self, session: SessionId, agent: &AgentName) -> Result<()> {
        self.db
            .prepare_cached("UPDATE sessions SET agent = ?2 WHERE id = ?1")?
            .execute((Col(session), agent.as_str()))?;
        Ok(())
    }

    fn set_ended(&mut self, session: SessionId, at: Option<Timestamp>) -> Result<()> {
        self.db
            .prepare_cached("UPDATE sessions SET ended_at = ?2 WHERE id = ?1")?
            .execute((Col(session), at.map(Col)))?;
        Ok(())
    }

    fn set_unseen(&mut self, session: SessionId) -> Result<()> {
        self.db
            .prepare_cached("UPDATE sessions SET unseen = 1 WHERE id = ?1")?
            .execute([Col(session)])?;
        Ok(())
    }

    fn set_parent(
        &mut self,
        session: SessionId,
        parent: SessionId,
        relation: Relation,
    ) -> Result<()> {
        let sql = "UPDATE sessions SET parent = ?2, parent_relation = ?3 WHERE id = ?1 AND parent IS NULL AND id <> ?2";
        self.db
            .prepare_cached(sql)?
            .execute((Col(session), Col(parent), word(&relation)))?;
        Ok(())
    }

    fn put_summary(&mut self, session: SessionId, m: &Summary, folded: u64) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO summaries (session, state, title, models, turns, tool_calls, subagents, input, output, cache_read, cache_write) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        let t = m.tokens;
        self.db.prepare_cached(sql)?.execute(params![
            Col(session),
            m.state,
            m.title,
            m.models.join(" "),
            int(m.turns),
            int(m.tool_calls),
            int(m.subagents),
            int(t.input),
            int(t.output),
            int(t.cache_read),
            int(t.cache_write),
        ])?;
        self.db
            .prepare_cached("UPDATE sessions SET folded = ?2 WHERE id = ?1")?
            .execute((Col(session), int(folded)))?;
        Ok(())
    }

    fn refold(&mut self, session: Option<SessionId>) -> Result<()> {
        self.db
            .prepare_cached("UPDATE sessions SET folded = 0 WHERE ?1 IS NULL OR id = ?1")?
            .execute([session.map(Col)])?;
        Ok(())
    }

    fn unfolded(&mut self, limit: usize) -> Result<Vec<SessionId>> {
        let mut query = self.db.prepare_cached(
            "SELECT id FROM sessions INDEXED BY sessions_unfolded WHERE head > folded ORDER BY last_at LIMIT ?1",
        )?;
        Ok(query
            .query_map([int(limit as u64)], |row| get(row, 0))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn bind(
        &mut self,
        session: SessionId,
        process: &ProcessIdentity,
        carried: Option<&[AgentVariable]>,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO processes (process, session, identity, first_at, bound_at, carried) VALUES (?1, ?2, ?3, ?4, ?4, ?5) \
             ON CONFLICT (process, session) DO UPDATE SET bound_at = max(bound_at, excluded.bound_at), \
             carried = coalesce(carried, excluded.carried)";
        self.db.prepare_cached(sql)?.execute((
            process.key(),
            Col(session),
            json(process),
            Col(at),
            carried.map(json),
        ))?;
        Ok(())
    }

    fn bound_to(&mut self, process: &str) -> Result<Vec<Binding>> {
        let mut query = self.db.prepare_cached(
            "SELECT session, identity, bound_at, carried FROM processes WHERE process = ?1 ORDER BY session",
        )?;
        bindings(
            query
                .query_map([process], binding_row)?
                .collect::<rusqlite::Result<_>>()?,
        )
    }

    fn bindings(&mut self, session: SessionId) -> Result<Vec<Binding>> {
        let mut query = self.db.prepare_cached("SELECT session, identity, bound_at, carried FROM processes WHERE session = ?1 ORDER BY bound_at DESC, process")?;
        bindings(
            query
                .query_map([Col(session)], binding_row)?
                .collect::<rusqlite::Result<_>>()?,
        )
    }

    fn turn(
        &mut self,
        session: SessionId,
        native: &str,
        fresh: TurnId,
        at: Timestamp,
    ) -> Result<TurnId> {
        let sql = "INSERT INTO turns (id, session, native, opened_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (session, native) DO UPDATE SET opened_at = min(opened_at, excluded.opened_at) RETURNING id";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(
            query.query_row((Col(fresh), Col(session), native, Col(at)), |row| {
                get(row, 0)
            })?,
        )
    }

    fn last_turn(&mut self, session: SessionId) -> Result<Option<TurnRecord>> {
        let sql = "SELECT id, session, native, opened_at FROM turns WHERE session = ?1 ORDER BY opened_at DESC, id DESC LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        let turn = |row: &Row<'_>| {
            Ok(TurnRecord {
                id: get(row, 0)?,
                session: get(row, 1)?,
                native: row.get(2)?,
                opened_at: get(row, 3)?,
            })
        };
        Ok(query.query_row([Col(session)], turn).optional()?)
    }

    fn note_prompt(&mut self, turn: TurnId, sequence: u64) -> Result<()> {
        let sql = "UPDATE turns SET prompt = ?2 WHERE id = ?1 AND prompt IS NULL";
        self.db
            .prepare_cached(sql)?
            .execute((Col(turn), int(sequence)))?;
        Ok(())
    }

    fn first_asked(&mut self, session: SessionId) -> Result<Option<(TurnId, u64)>> {
        let sql = "SELECT id, prompt FROM turns WHERE session = ?1 AND prompt IS NOT NULL ORDER BY opened_at, id LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        let asked = |row: &Row<'_>| Ok((get(row, 0)?, count(row, 1)?));
        Ok(query.query_row([Col(session)], asked).optional()?)
    }

    fn last_asked(
        &mut self,
        session: SessionId,
        until: Timestamp,
    ) -> Result<Option<(TurnId, u64)>> {
        let sql = "SELECT id, prompt FROM turns WHERE session = ?1 AND prompt IS NOT NULL AND opened_at <= ?2 ORDER BY opened_at DESC, id DESC LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        let asked = |row: &Row<'_>| Ok((get(row, 0)?, count(row, 1)?));
        Ok(query
            .query_row((Col(session), Col(until)), asked)
            .optional()?)
    }

    fn state(
        &mut self,
        at: Timestamp,
        by: &str,
        source: &str,
        statement: &Statement,
    ) -> Result<u64> {
        let next = "SELECT coalesce(max(sequence), 0) + 1 FROM statements WHERE ledger = ?1";
        let sequence: i64 = self
            .db
            .query_row(next, [Col(self.ledger)], |row| row.get(0))?;
        let of = Subjects::of(statement)?;
        let sql = "INSERT INTO statements (ledger, sequence, at, by, source, kind, body, session, repository, \"commit\") \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        self.db.execute(
            sql,
            params![
                Col(self.ledger),
                sequence,
                Col(at),
                by,
                source,
                of.kind,
                of.body,
                of.session.map(Col),
                of.repository.map(Col),
                of.commit.map(Oid::as_str),
            ],
        )?;
        if let Statement::LinkAttached { session, link }
        | Statement::LinkDetached { session, link } = statement
        {
            self.fold_link(*session, link)?;
        }
        Ok(u64::try_from(sequence).unwrap_or(0))
    }

    fn statements_of_session(&mut self, session: SessionId) -> Result<Vec<StatementRecord>> {
        let sql = "SELECT ledger, sequence, at, by, source, body FROM statements WHERE session = ?1 ORDER BY at, ledger, sequence";
        self.statements(sql, [Col(session)])
    }

    fn statements_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<StatementRecord>> {
        let sql = "SELECT ledger, sequence, at, by, source, body FROM statements WHERE repository = ?1 AND \"commit\" = ?2 ORDER BY at, ledger, sequence";
        self.statements(sql, (Col(repository), commit.as_str()))
    }
}
