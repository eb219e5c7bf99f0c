//! Repositories, sessions, their names, processes, turns and statements.

use siglum_domain::intake::{AgentVariable, Place};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{
    AgentName, ConversationId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId,
};

use super::listing::{SESSION, readable_session};
use super::places::{fold_hour, works_in};
use super::repositories::{REPOSITORY, repositories};
use super::statements::{
    STATEMENTS, fold_links_ever, state_all, statement_row, statements_of_session,
};
use crate::columns::{Col, Row, Texts, Value, int};
use crate::database::Database;
use crate::lookup::{BY_TAIL, behind_start, short_forms};
use crate::record::*;
use crate::row::{json, word};
use crate::sql::{Sql, sql};
use crate::stored::BindingRow;
use crate::{LedgerError, Sessions};

type Result<T> = std::result::Result<T, LedgerError>;

/// What a store does about sessions in its own way.
pub(crate) trait OwnSessions: Database {
    /// Nothing has a name that was looked for.
    fn note_absent(&mut self, _: &AgentName, _: &NativeId) {}

    /// A name of a session was added, or `added` is 0 and it was there.
    fn name_added(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        session: SessionId,
        added: u64,
    ) -> Result<()>;

    /// A session is about to be bound to a process.
    fn note_bound(&mut self, _: &ProcessIdentity) -> Result<()> {
        Ok(())
    }

    /// See [`Sessions::sessions`].
    fn list_sessions(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>>;

    /// See [`Sessions::touch`].
    fn touch_session(
        &mut self,
        session: SessionId,
        at: Timestamp,
        place: Option<(RepositoryId, &str)>,
        cwd: Option<&str>,
    ) -> Result<()>;
}

/// A session that is new.
const INSERT_SESSION: &str = "INSERT INTO sessions ([tenant,] id, agent, conversation_id, home, mode, origin, parent, parent_relation, \
     created_at, last_at, ended_at, cwd, repository, worktree, parent_at, archived_at) \
     VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

/// One that came from another ledger, and may have come before.
pub(super) const REPLICA: Sql<'_> = sql!(INSERT_SESSION " ON CONFLICT ([tenant,] id) DO UPDATE SET agent = excluded.agent, \
     parent = excluded.parent, parent_relation = excluded.parent_relation, created_at = excluded.created_at, \
     last_at = excluded.last_at, ended_at = excluded.ended_at, cwd = excluded.cwd, repository = excluded.repository, \
     worktree = excluded.worktree, parent_at = excluded.parent_at, archived_at = excluded.archived_at, \
     unseen = false, folded = 0");

/// Adds a session by a statement.
pub(super) fn insert_session(
    db: &mut impl Database,
    sql: Sql<'_>,
    r: &SessionRecord,
) -> Result<()> {
    db.run(
        sql,
        &[
            &Col(r.id),
            &r.agent_word(),
            &r.conversation.as_str(),
            &Col(r.home),
            &word(&r.mode),
            &word(&r.origin),
            &r.parent.map(|(p, _)| Col(p)),
            &r.parent.map(|(_, relation)| word(&relation)),
            &Col(r.created_at),
            &Col(r.last_at),
            &r.ended_at.map(Col),
            &r.cwd,
            &r.repository.map(Col),
            &r.worktree,
            &r.parent_at.map(int),
            &r.archived_at.map(Col),
        ],
    )?;
    db.sum("sessions", "id = ?1", &[&Col(r.id)])?;
    works_in(db, r.id, r.repository)
}

/// A column of a session was written that its sum covers, and that destinations are told of.
fn session_written(db: &mut impl Database, session: SessionId) -> Result<()> {
    db.sum("sessions", "id = ?1", &[&Col(session)])?;
    db.session_changed(session)
}

/// Makes the links that a session ever had anew, and the hour of its last activity, with all else that it amounts to.
fn refold_around(db: &mut impl Database, session: SessionId) -> Result<()> {
    match statements_of_session(db, session) {
        // What was folded of them stays.
        Err(LedgerError::Damaged(_)) => {}
        stated => fold_links_ever(db, session, &stated?)?,
    }
    fold_hour(db, session)
}

fn binding_row(row: &Row<'_>) -> Result<Binding> {
    let binding = BindingRow {
        session: row.get(0)?,
        identity: row.get(1)?,
        bound_at: row.get(2)?,
        carried: row.get(3)?,
    };
    binding.record()
}

fn prompted_turn_row(row: &Row<'_>) -> Result<(TurnId, u64)> {
    Ok((row.get(0)?, row.count(1)?))
}

fn turn_row(row: &Row<'_>) -> Result<TurnRecord> {
    Ok(TurnRecord {
        id: row.get(0)?,
        session: row.get(1)?,
        native: row.get(2)?,
        opened_at: row.get(3)?,
    })
}

impl<D: OwnSessions> Sessions for D {
    fn repository(&mut self, common_dir: &str) -> Result<Option<RepositoryRecord>> {
        let sql = sql!(REPOSITORY " WHERE [r.tenant = $1 AND] r.common_dir = ?1 ORDER BY r.common_dir, w.path");
        Ok(repositories(self, sql, &[&common_dir])?.into_iter().next())
    }

    fn repositories(&mut self) -> Result<Vec<RepositoryRecord>> {
        let sql = sql!(REPOSITORY " WHERE [r.tenant = $1 AND] NOT EXISTS \
             (SELECT 1 FROM replica_repositories e WHERE [e.tenant = $1 AND] e.repository = r.id) \
             ORDER BY r.common_dir, w.path");
        repositories(self, sql, &[])
    }

    fn note_place(
        &mut self,
        place: &Place,
        fresh: RepositoryId,
        at: Timestamp,
    ) -> Result<RepositoryId> {
        super::repositories::note_place(self, place, fresh, at)
    }

    fn set_identity(
        &mut self,
        repository: RepositoryId,
        identity: &RepositoryIdentity,
    ) -> Result<()> {
        super::repositories::set_identity(self, repository, identity)
    }

    fn move_repository(
        &mut self,
        repository: RepositoryId,
        common_dir: &str,
        renamed: &[(String, String)],
    ) -> Result<()> {
        super::repositories::move_repository(self, repository, common_dir, renamed)
    }

    fn set_swept(&mut self, repository: RepositoryId, worktree: &str, head: &Oid) -> Result<()> {
        let sql = sql!(
            "UPDATE worktrees SET swept_head = ?3 WHERE [tenant = $1 AND] repository = ?1 AND path = ?2"
        );
        self.run(sql, &[&Col(repository), &worktree, &head.as_str()])?;
        Ok(())
    }

    fn session(&mut self, id: SessionId) -> Result<Option<SessionRecord>> {
        let sql = sql!("SELECT " SESSION " FROM sessions s WHERE [s.tenant = $1 AND] s.id = ?1");
        self.row(sql, &[&Col(id)], readable_session)
    }

    fn session_by_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
    ) -> Result<Option<SessionId>> {
        let sql =
            sql!("SELECT session FROM aliases WHERE [tenant = $1 AND] agent = ?1 AND native = ?2");
        let of: [Value<'_>; 2] = [&agent.as_str(), &native.as_str()];
        let session = self.row(sql, &of, |row| row.get(0))?;
        if session.is_none() {
            self.note_absent(agent, native);
        }
        Ok(session)
    }

    fn sessions_by_native(&mut self, native: &NativeId) -> Result<Vec<(AgentName, SessionId)>> {
        let sql = sql!(
            "SELECT agent, session FROM aliases WHERE [tenant = $1 AND] native = ?1 \
             UNION ALL SELECT s.agent, s.id FROM replica_aliases a JOIN sessions s ON [s.tenant = $1 AND] s.id = a.session \
             WHERE [a.tenant = $1 AND] a.native = ?1 ORDER BY 1, 2"
        );
        self.rows(sql, &[&native.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    fn sessions_by_native_start(&mut self, start: &str) -> Result<Vec<(AgentName, SessionId)>> {
        let sql = sql!(
            "SELECT agent, session FROM aliases WHERE [tenant = $1 AND] native >= ?1 AND native < ?2 UNION \
             SELECT s.agent, s.id FROM replica_aliases a JOIN sessions s ON [s.tenant = $1 AND] s.id = a.session \
             WHERE [a.tenant = $1 AND] a.native >= ?1 AND a.native < ?2 ORDER BY 1, 2 LIMIT 16"
        );
        self.rows(sql, &[&start, &behind_start(start)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    fn sessions_by_link_start(
        &mut self,
        field: &str,
        start: &str,
    ) -> Result<Vec<(String, SessionId)>> {
        let sql = sql!(
            "SELECT value, session FROM links WHERE [tenant = $1 AND] field = ?1 AND value >= ?2 AND value < ?3 \
             ORDER BY value, session LIMIT 16"
        );
        self.rows(sql, &[&field, &start, &behind_start(start)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    fn sessions_by_tail(&mut self, tail: &str) -> Result<Vec<SessionId>> {
        let sql = sql!("SELECT id FROM sessions WHERE [tenant = $1 AND] " BY_TAIL " ORDER BY last_at DESC LIMIT 16");
        self.rows(sql, &[&tail, &Texts(short_forms(tail))], |row| row.get(0))
    }

    fn sessions(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        self.list_sessions(filter)
    }

    fn create_session(&mut self, r: &SessionRecord) -> Result<()> {
        insert_session(self, sql!(INSERT_SESSION), r)?;
        self.session_changed(r.id)
    }

    fn add_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()> {
        let sql = sql!(
            "INSERT INTO aliases ([tenant,] agent, native, session, first_at) VALUES ([$1,] ?1, ?2, ?3, ?4) \
             ON CONFLICT ([tenant,] agent, native) DO UPDATE SET by_caller = false, first_at = excluded.first_at \
             WHERE aliases.by_caller AND aliases.session = excluded.session"
        );
        let of: [Value<'_>; 4] = [&agent.as_str(), &native.as_str(), &Col(session), &Col(at)];
        let added = self.run(sql, &of)?;
        self.name_added(agent, native, session, added)
    }

    fn add_caller_name(
        &mut self,
        agent: &AgentName,
        name: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()> {
        let sql = sql!(
            "INSERT INTO aliases ([tenant,] agent, native, session, first_at, by_caller) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, true) ON CONFLICT ([tenant,] agent, native) DO NOTHING"
        );
        let of: [Value<'_>; 4] = [&agent.as_str(), &name.as_str(), &Col(session), &Col(at)];
        let added = self.run(sql, &of)?;
        self.name_added(agent, name, session, added)
    }

    fn aliases(&mut self, session: SessionId) -> Result<Vec<NativeId>> {
        let sql = sql!(
            "SELECT native, first_at FROM aliases WHERE [tenant = $1 AND] session = ?1 AND NOT by_caller \
             UNION ALL SELECT native, place FROM replica_aliases WHERE [tenant = $1 AND] session = ?1 AND place >= 0 \
             ORDER BY 2, 1"
        );
        self.rows(sql, &[&Col(session)], |row| row.get(0))
    }

    fn touch(
        &mut self,
        session: SessionId,
        at: Timestamp,
        place: Option<(RepositoryId, &str)>,
        cwd: Option<&str>,
    ) -> Result<()> {
        self.touch_session(session, at, place, cwd)
    }

    fn set_agent(&mut self, session: SessionId, agent: &AgentName) -> Result<()> {
        let sql = sql!("UPDATE sessions SET agent = ?2 WHERE [tenant = $1 AND] id = ?1");
        self.run(sql, &[&Col(session), &agent.as_str()])?;
        session_written(self, session)
    }

    fn set_conversation(
        &mut self,
        session: SessionId,
        conversation: &ConversationId,
    ) -> Result<()> {
        let sql = sql!("UPDATE sessions SET conversation_id = ?2 WHERE [tenant = $1 AND] id = ?1");
        self.run(sql, &[&Col(session), &conversation.as_str()])?;
        session_written(self, session)
    }

    fn set_ended(&mut self, session: SessionId, at: Option<Timestamp>) -> Result<()> {
        let sql = sql!("UPDATE sessions SET ended_at = ?2 WHERE [tenant = $1 AND] id = ?1");
        self.run(sql, &[&Col(session), &at.map(Col)])?;
        session_written(self, session)
    }

    fn set_unseen(&mut self, session: SessionId) -> Result<()> {
        let sql = sql!("UPDATE sessions SET unseen = true WHERE [tenant = $1 AND] id = ?1");
        self.run(sql, &[&Col(session)])?;
        Ok(())
    }

    fn set_parent(
        &mut self,
        session: SessionId,
        parent: SessionId,
        relation: Relation,
    ) -> Result<()> {
        let sql = sql!(
            "UPDATE sessions SET parent = ?2, parent_relation = ?3 \
             WHERE [tenant = $1 AND] id = ?1 AND parent IS NULL AND id <> ?2"
        );
        match self.run(sql, &[&Col(session), &Col(parent), &word(&relation)])? {
            0 => Ok(()),
            _ => session_written(self, session),
        }
    }

    fn put_summary(&mut self, session: SessionId, m: &Summary, folded: u64) -> Result<()> {
        let sql = sql!(
            "INSERT INTO summaries ([tenant,] session, state, title, models, turns, tool_calls, subagents, input, output, \
             cache_read, cache_write) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
             ON CONFLICT ([tenant,] session) DO UPDATE SET state = excluded.state, title = excluded.title, \
             models = excluded.models, turns = excluded.turns, tool_calls = excluded.tool_calls, \
             subagents = excluded.subagents, input = excluded.input, output = excluded.output, \
             cache_read = excluded.cache_read, cache_write = excluded.cache_write"
        );
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
        let sql = sql!("UPDATE sessions SET folded = ?2 WHERE [tenant = $1 AND] id = ?1");
        self.run(sql, &[&Col(session), &int(folded)])?;
        refold_around(self, session)?;
        self.index_later(session)
    }

    fn refold(&mut self, session: Option<SessionId>) -> Result<()> {
        match session {
            Some(id) => {
                let sql = sql!("UPDATE sessions SET folded = 0 WHERE [tenant = $1 AND] id = ?1");
                self.run(sql, &[&Col(id)])?
            }
            None => self.run(
                sql!("UPDATE sessions SET folded = 0 [WHERE tenant = $1]"),
                &[],
            )?,
        };
        Ok(())
    }

    fn unfolded(&mut self, limit: usize) -> Result<Vec<SessionId>> {
        let sql = sql!(
            "SELECT id FROM sessions [|INDEXED BY sessions_unfolded] WHERE [tenant = $1 AND unfolded|head > folded] \
             ORDER BY last_at LIMIT ?1"
        );
        self.rows(sql, &[&int(limit as u64)], |row| row.get(0))
    }

    fn bind(
        &mut self,
        session: SessionId,
        process: &ProcessIdentity,
        carried: Option<&[AgentVariable]>,
        at: Timestamp,
    ) -> Result<()> {
        self.note_bound(process)?;
        let sql = sql!(
            "INSERT INTO processes ([tenant,] process, session, identity, first_at, bound_at, carried) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?4, ?5) ON CONFLICT ([tenant,] process, session) DO UPDATE SET \
             bound_at = [greatest|max](processes.bound_at, excluded.bound_at), \
             carried = coalesce(processes.carried, excluded.carried)"
        );
        self.run(
            sql,
            &[
                &process.key(),
                &Col(session),
                &json(process),
                &Col(at),
                &carried.map(json),
            ],
        )?;
        let row = "process = ?1 AND session = ?2";
        self.sum("processes", row, &[&process.key(), &Col(session)])
    }

    fn bound_to(&mut self, process: &str) -> Result<Vec<Binding>> {
        let sql = sql!(
            "SELECT session, identity, bound_at, carried FROM processes \
             WHERE [tenant = $1 AND] process = ?1 ORDER BY session"
        );
        self.rows(sql, &[&process], binding_row)
    }

    fn bindings(&mut self, session: SessionId) -> Result<Vec<Binding>> {
        let sql = sql!(
            "SELECT session, identity, bound_at, carried FROM processes \
             WHERE [tenant = $1 AND] session = ?1 ORDER BY bound_at DESC, process"
        );
        self.rows(sql, &[&Col(session)], binding_row)
    }

    fn turn(
        &mut self,
        session: SessionId,
        native: &str,
        fresh: TurnId,
        at: Timestamp,
    ) -> Result<TurnId> {
        // What is of a turn that is known, and no older than it, writes nothing.
        let known = sql!(
            "SELECT id FROM turns WHERE [tenant = $1 AND] session = ?1 AND native = ?2 AND opened_at <= ?3"
        );
        let known = self.row(known, &[&Col(session), &native, &Col(at)], |row| row.get(0))?;
        if let Some(id) = known {
            return Ok(id);
        }
        let sql = sql!(
            "INSERT INTO turns ([tenant,] id, session, native, opened_at) VALUES ([$1,] ?1, ?2, ?3, ?4) \
             ON CONFLICT ([tenant,] session, native) DO UPDATE SET opened_at = [least|min](turns.opened_at, excluded.opened_at) \
             RETURNING id"
        );
        let of: [Value<'_>; 4] = [&Col(fresh), &Col(session), &native, &Col(at)];
        let id: TurnId = self.one(sql, &of, |row| row.get(0))?;
        self.sum("turns", "id = ?1", &[&Col(id)])?;
        Ok(id)
    }

    fn begin_turn(&mut self, t: &TurnRecord, prompt: Option<u64>) -> Result<TurnId> {
        let sql = sql!(
            "INSERT INTO turns ([tenant,] id, session, native, opened_at, prompt[|, sum]) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5[|, row_sum(?1, ?2, ?3, ?4, ?5)]) ON CONFLICT DO NOTHING"
        );
        let of: [Value<'_>; 5] = [
            &Col(t.id),
            &Col(t.session),
            &t.native,
            &Col(t.opened_at),
            &prompt.map(int),
        ];
        if self.run(sql, &of)? > 0 {
            self.count_new("turns", "id = ?1", &[&Col(t.id)])?;
            return Ok(t.id);
        }
        let id = self.turn(t.session, &t.native, t.id, t.opened_at)?;
        if let Some(sequence) = prompt {
            self.note_prompt(id, sequence)?;
        }
        Ok(id)
    }

    fn last_turn(&mut self, session: SessionId) -> Result<Option<TurnRecord>> {
        let sql = sql!(
            "SELECT id, session, native, opened_at FROM turns WHERE [tenant = $1 AND] session = ?1 \
             ORDER BY opened_at DESC, id DESC LIMIT 1"
        );
        self.row(sql, &[&Col(session)], turn_row)
    }

    fn turns_of(&mut self, session: SessionId) -> Result<Vec<TurnRecord>> {
        let sql = sql!(
            "SELECT id, session, native, opened_at FROM turns WHERE [tenant = $1 AND] session = ?1 \
             ORDER BY opened_at, id"
        );
        self.rows(sql, &[&Col(session)], turn_row)
    }

    fn note_prompt(&mut self, turn: TurnId, sequence: u64) -> Result<()> {
        let sql =
            sql!("UPDATE turns SET prompt = ?2 WHERE [tenant = $1 AND] id = ?1 AND prompt IS NULL");
        self.run(sql, &[&Col(turn), &int(sequence)])?;
        self.sum("turns", "id = ?1", &[&Col(turn)])
    }

    fn first_prompt(&mut self, session: SessionId) -> Result<Option<(TurnId, u64)>> {
        let sql = sql!(
            "SELECT id, prompt FROM turns WHERE [tenant = $1 AND] session = ?1 AND prompt IS NOT NULL \
             ORDER BY opened_at, id LIMIT 1"
        );
        self.row(sql, &[&Col(session)], prompted_turn_row)
    }

    fn last_prompt(
        &mut self,
        session: SessionId,
        until: Timestamp,
    ) -> Result<Option<(TurnId, u64)>> {
        let sql = sql!(
            "SELECT id, prompt FROM turns WHERE [tenant = $1 AND] session = ?1 AND prompt IS NOT NULL \
             AND opened_at <= ?2 ORDER BY opened_at DESC, id DESC LIMIT 1"
        );
        self.row(sql, &[&Col(session), &Col(until)], prompted_turn_row)
    }

    fn state(
        &mut self,
        at: Timestamp,
        by: &str,
        source: &str,
        statement: &Statement,
    ) -> Result<u64> {
        state_all(self, (at, by), &[(source, statement)])
    }

    fn state_all(
        &mut self,
        at: Timestamp,
        by: &str,
        statements: &[(&str, &Statement)],
    ) -> Result<()> {
        match statements.is_empty() {
            true => Ok(()),
            false => state_all(self, (at, by), statements).map(drop),
        }
    }

    fn statements_of_session(&mut self, session: SessionId) -> Result<Vec<StatementRecord>> {
        statements_of_session(self, session)
    }

    fn statements_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<StatementRecord>> {
        let sql =
            sql!(STATEMENTS " repository = ?1 AND \"commit\" = ?2 ORDER BY at, ledger, sequence");
        self.rows(sql, &[&Col(repository), &commit.as_str()], statement_row)
    }

    fn statements_of_commit_anywhere(&mut self, commit: &Oid) -> Result<Vec<StatementRecord>> {
        let sql = sql!(STATEMENTS " \"commit\" = ?1 ORDER BY at, ledger, sequence");
        self.rows(sql, &[&commit.as_str()], statement_row)
    }
}
