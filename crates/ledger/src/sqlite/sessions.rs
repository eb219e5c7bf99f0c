//! Repositories, sessions, their names, processes, turns and statements in SQLite.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::intake::{AgentVariable, Place};
use siglum_domain::link::Link;
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{
    AgentName, ConversationId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId,
};

use super::columns::{Col, count, get, int};
use super::listing::{SESSION, readable_session};
use super::open::Tx;
use crate::links::links_ever;
use crate::lookup::{behind_start, short_forms};
use crate::record::*;
use crate::row::{json, word};
use crate::stored::{BindingRow, StatementRow, Subjects};
use crate::{LedgerError, Sessions};

type Result<T> = std::result::Result<T, LedgerError>;

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
    pub(super) fn statements(
        &mut self,
        sql: &str,
        of: impl rusqlite::Params,
    ) -> Result<Vec<StatementRecord>> {
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query
            .query_map(of, statement_row)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        rows.into_iter().map(StatementRow::record).collect()
    }

    /// Attaches a link or detaches it, as the last statement of it says: last by time, as they are listed.
    pub(super) fn fold_link(&mut self, session: SessionId, link: &Link) -> Result<()> {
        let says = |record: StatementRecord| match record.statement {
            Statement::LinkAttached { link: l, .. } if l == *link => Some(true),
            Statement::LinkDetached { link: l, .. } if l == *link => Some(false),
            _ => None,
        };
        let stated = self.statements_of_session(session)?;
        self.fold_links_ever(session, &stated)?;
        let value = link.value();
        let key = (link.field(), &value, Col(session));
        let row = "field = ?1 AND value = ?2 AND session = ?3";
        if stated.into_iter().rev().find_map(says) != Some(true) {
            self.delete("links", row, key)?;
            return Ok(());
        }
        let sql = "INSERT OR IGNORE INTO links (field, value, session) VALUES (?1, ?2, ?3)";
        self.db.execute(sql, key)?;
        self.sum("links", row, key)
    }

    /// Which links a session ever had, by all that is stated of it.
    pub(super) fn fold_links_ever(
        &self,
        session: SessionId,
        stated: &[StatementRecord],
    ) -> Result<()> {
        let ever = links_ever(stated).into_iter();
        let ever = ever.map(|(link, is_whole)| (link.field().to_owned(), link.value(), is_whole));
        let ever: BTreeSet<(String, String, bool)> = ever.collect();
        let sql = "SELECT field, value, whole FROM session_links WHERE session = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        let row = |row: &Row<'_>| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, bool>(2)?,
            ))
        };
        let known = query.query_map([Col(session)], row)?;
        if known
            .collect::<rusqlite::Result<BTreeSet<_>>>()
            .is_ok_and(|known| known == ever)
        {
            return Ok(());
        }
        let sql = "DELETE FROM session_links WHERE session = ?1";
        self.db.prepare_cached(sql)?.execute([Col(session)])?;
        let sql =
            "INSERT INTO session_links (session, field, value, whole) VALUES (?1, ?2, ?3, ?4)";
        let mut put = self.db.prepare_cached(sql)?;
        for (field, value, is_whole) in ever {
            put.execute((Col(session), field, value, is_whole))?;
        }
        Ok(())
    }

    fn sum_alias(&self, agent: &AgentName, native: &NativeId) -> Result<()> {
        let key = (agent.as_str(), native.as_str());
        self.sum("aliases", "agent = ?1 AND native = ?2", key)
    }

    /// Adds a session; `otherwise` says what is done where it is there.
    pub(super) fn insert_session(&mut self, r: &SessionRecord, otherwise: &str) -> Result<()> {
        let sql = format!(
            "INSERT INTO sessions (id, agent, conversation_id, home, mode, origin, parent, parent_relation, created_at, \
             last_at, ended_at, cwd, repository, worktree, parent_at, archived_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) {otherwise}"
        );
        self.db.prepare_cached(&sql)?.execute(params![
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
            r.archived_at.map(Col),
        ])?;
        self.sum("sessions", "id = ?1", [Col(r.id)])?;
        self.works_in(r.id, r.repository)
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

fn turn_row(row: &Row<'_>) -> rusqlite::Result<TurnRecord> {
    Ok(TurnRecord {
        id: get(row, 0)?,
        session: get(row, 1)?,
        native: row.get(2)?,
        opened_at: get(row, 3)?,
    })
}

impl Sessions for Tx<'_> {
    fn repository(&mut self, common_dir: &str) -> Result<Option<RepositoryRecord>> {
        Ok(self
            .repository_rows("WHERE common_dir = ?1", [common_dir])?
            .pop())
    }

    fn repositories(&mut self) -> Result<Vec<RepositoryRecord>> {
        let here =
            "WHERE id NOT IN (SELECT repository FROM replica_repositories) ORDER BY common_dir";
        self.repository_rows(here, [])
    }

    fn note_place(
        &mut self,
        place: &Place,
        fresh: RepositoryId,
        at: Timestamp,
    ) -> Result<RepositoryId> {
        self.noted_place(place, fresh, at)
    }

    fn set_identity(
        &mut self,
        repository: RepositoryId,
        identity: &RepositoryIdentity,
    ) -> Result<()> {
        self.store_identity(repository, identity)
    }

    fn move_repository(
        &mut self,
        repository: RepositoryId,
        common_dir: &str,
        renamed: &[(String, String)],
    ) -> Result<()> {
        self.store_move(repository, common_dir, renamed)
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
        let sql = "SELECT agent, session FROM aliases WHERE native = ?1 UNION ALL SELECT s.agent, s.id FROM replica_aliases a \
             JOIN sessions s ON s.id = a.session WHERE a.native = ?1 ORDER BY 1, 2";
        let mut query = self.db.prepare(sql)?;
        Ok(query
            .query_map([native.as_str()], |row| Ok((get(row, 0)?, get(row, 1)?)))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn sessions_by_native_start(&mut self, start: &str) -> Result<Vec<(AgentName, SessionId)>> {
        let sql = "SELECT agent, session FROM aliases WHERE native >= ?1 AND native < ?2 UNION \
             SELECT s.agent, s.id FROM replica_aliases a JOIN sessions s ON s.id = a.session \
             WHERE a.native >= ?1 AND a.native < ?2 ORDER BY 1, 2 LIMIT 16";
        let mut query = self.db.prepare(sql)?;
        Ok(query
            .query_map((start, behind_start(start)), |row| {
                Ok((get(row, 0)?, get(row, 1)?))
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn sessions_by_link_start(
        &mut self,
        field: &str,
        start: &str,
    ) -> Result<Vec<(String, SessionId)>> {
        let sql = "SELECT value, session FROM links WHERE field = ?1 AND value >= ?2 AND value < ?3 \
             ORDER BY value, session LIMIT 16";
        let mut query = self.db.prepare(sql)?;
        Ok(query
            .query_map((field, start, behind_start(start)), |row| {
                Ok((row.get(0)?, get(row, 1)?))
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn sessions_by_tail(&mut self, tail: &str) -> Result<Vec<SessionId>> {
        let sql = "SELECT id FROM sessions WHERE lower(substr(hex(id), -8)) IN (SELECT value FROM json_each(?2)) \
             AND instr(lower(substr(hex(id), -max(8, length(?1)))), ?1) > 0 ORDER BY last_at DESC LIMIT 16";
        let mut query = self.db.prepare(sql)?;
        Ok(query
            .query_map((tail, json(&short_forms(tail))), |row| get(row, 0))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn sessions(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        self.listing(filter)
    }

    fn create_session(&mut self, r: &SessionRecord) -> Result<()> {
        self.insert_session(r, "")
    }

    fn add_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO aliases (agent, native, session, first_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (agent, native) DO UPDATE SET by_caller = 0, first_at = excluded.first_at \
             WHERE by_caller AND session = excluded.session";
        self.db.prepare_cached(sql)?.execute((
            agent.as_str(),
            native.as_str(),
            Col(session),
            Col(at),
        ))?;
        self.sum_alias(agent, native)
    }

    fn add_caller_name(
        &mut self,
        agent: &AgentName,
        name: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO aliases (agent, native, session, first_at, by_caller) VALUES (?1, ?2, ?3, ?4, 1)";
        self.db.prepare_cached(sql)?.execute((
            agent.as_str(),
            name.as_str(),
            Col(session),
            Col(at),
        ))?;
        self.sum_alias(agent, name)
    }

    fn aliases(&mut self, session: SessionId) -> Result<Vec<NativeId>> {
        let mut query = self.db.prepare_cached(
            "SELECT native, first_at FROM aliases WHERE session = ?1 AND NOT by_caller \
             UNION ALL SELECT native, place FROM replica_aliases WHERE session = ?1 AND place >= 0 ORDER BY 2, 1",
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
        self.sum("sessions", "id = ?1", [Col(session)])?;
        self.works_in(session, repository)?;
        self.fold_hour(session)
    }

    fn set_agent(&mut self, session: SessionId, agent: &AgentName) -> Result<()> {
        self.db
            .prepare_cached("UPDATE sessions SET agent = ?2 WHERE id = ?1")?
            .execute((Col(session), agent.as_str()))?;
        self.sum("sessions", "id = ?1", [Col(session)])
    }

    fn set_conversation(
        &mut self,
        session: SessionId,
        conversation: &ConversationId,
    ) -> Result<()> {
        self.db
            .prepare_cached("UPDATE sessions SET conversation_id = ?2 WHERE id = ?1")?
            .execute((Col(session), conversation.as_str()))?;
        self.sum("sessions", "id = ?1", [Col(session)])
    }

    fn set_ended(&mut self, session: SessionId, at: Option<Timestamp>) -> Result<()> {
        self.db
            .prepare_cached("UPDATE sessions SET ended_at = ?2 WHERE id = ?1")?
            .execute((Col(session), at.map(Col)))?;
        self.sum("sessions", "id = ?1", [Col(session)])
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
        self.sum("sessions", "id = ?1", [Col(session)])
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
        self.refold_around(session)
    }

    fn refold(&mut self, session: Option<SessionId>) -> Result<()> {
        let all = "UPDATE sessions SET folded = 0";
        match session {
            Some(id) => {
                let sql = format!("{all} WHERE id = ?1");
                self.db.prepare_cached(&sql)?.execute([Col(id)])?
            }
            None => self.db.prepare_cached(all)?.execute([])?,
        };
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
        let key = (process.key(), Col(session));
        self.sum("processes", "process = ?1 AND session = ?2", key)
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
        // What is of a turn that is known, and no older than it, writes nothing.
        let known = "SELECT id FROM turns WHERE session = ?1 AND native = ?2 AND opened_at <= ?3";
        let known = self
            .db
            .prepare_cached(known)?
            .query_row((Col(session), native, Col(at)), |row| get(row, 0))
            .optional()?;
        if let Some(id) = known {
            return Ok(id);
        }
        let sql = "INSERT INTO turns (id, session, native, opened_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (session, native) DO UPDATE SET opened_at = min(opened_at, excluded.opened_at) RETURNING id";
        let mut query = self.db.prepare_cached(sql)?;
        let values = (Col(fresh), Col(session), native, Col(at));
        let id = query.query_row(values, |row| get(row, 0))?;
        self.sum("turns", "id = ?1", [Col(id)])?;
        Ok(id)
    }

    fn last_turn(&mut self, session: SessionId) -> Result<Option<TurnRecord>> {
        let sql = "SELECT id, session, native, opened_at FROM turns WHERE session = ?1 ORDER BY opened_at DESC, id DESC LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row([Col(session)], turn_row).optional()?)
    }

    fn turns_of(&mut self, session: SessionId) -> Result<Vec<TurnRecord>> {
        let sql = "SELECT id, session, native, opened_at FROM turns WHERE session = ?1 ORDER BY opened_at, id";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map([Col(session)], turn_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn note_prompt(&mut self, turn: TurnId, sequence: u64) -> Result<()> {
        let sql = "UPDATE turns SET prompt = ?2 WHERE id = ?1 AND prompt IS NULL";
        self.db
            .prepare_cached(sql)?
            .execute((Col(turn), int(sequence)))?;
        self.sum("turns", "id = ?1", [Col(turn)])
    }

    fn first_prompt(&mut self, session: SessionId) -> Result<Option<(TurnId, u64)>> {
        let sql = "SELECT id, prompt FROM turns WHERE session = ?1 AND prompt IS NOT NULL ORDER BY opened_at, id LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        let prompted = |row: &Row<'_>| Ok((get(row, 0)?, count(row, 1)?));
        Ok(query.query_row([Col(session)], prompted).optional()?)
    }

    fn last_prompt(
        &mut self,
        session: SessionId,
        until: Timestamp,
    ) -> Result<Option<(TurnId, u64)>> {
        let sql = "SELECT id, prompt FROM turns WHERE session = ?1 AND prompt IS NOT NULL AND opened_at <= ?2 ORDER BY opened_at DESC, id DESC LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        let prompted = |row: &Row<'_>| Ok((get(row, 0)?, count(row, 1)?));
        Ok(query
            .query_row((Col(session), Col(until)), prompted)
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
        let of = Subjects::from_statement(statement)?;
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
        let key = (Col(self.ledger), sequence);
        self.sum("statements", "ledger = ?1 AND sequence = ?2", key)?;
        if let Statement::LinkAttached { session, link }
        | Statement::LinkDetached { session, link } = statement
        {
            self.fold_link(*session, link)?;
        }
        if let Statement::LinkAttached { session, link } = statement {
            self.note_pipeline(*session, link, at)?;
        }
        if let Statement::WorksIn {
            session,
            repositories,
        } = statement
        {
            self.works_in(*session, repositories.iter().copied())?;
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

    fn statements_of_commit_anywhere(&mut self, commit: &Oid) -> Result<Vec<StatementRecord>> {
        let sql = "SELECT ledger, sequence, at, by, source, body FROM statements WHERE \"commit\" = ?1 ORDER BY at, ledger, sequence";
        self.statements(sql, [commit.as_str()])
    }
}
