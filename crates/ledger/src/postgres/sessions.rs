//! Repositories, sessions, their names, processes and turns in PostgreSQL.

use postgres::Row;
use siglum_domain::intake::{AgentVariable, Place};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{
    AgentName, ConversationId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId,
};

use super::columns::{Col, count, get, int, opt, raw};
use super::tx::{Tx, Value};
use crate::lookup::{behind_start, short_forms};
use crate::record::*;
use crate::row::{json, word};
use crate::stored::{BindingRow, read_identity, stored_roots};
use crate::{LedgerError, Sessions};

type Result<T> = std::result::Result<T, LedgerError>;

fn binding_row(row: &Row) -> Result<Binding> {
    let binding = BindingRow {
        session: get(row, 0)?,
        identity: raw(row, 1)?,
        bound_at: get(row, 2)?,
        carried: raw(row, 3)?,
    };
    binding.record()
}

fn prompted_turn_row(row: &Row) -> Result<(TurnId, u64)> {
    Ok((get(row, 0)?, count(row, 1)?))
}

impl Tx<'_> {
    /// Adds a name of a session.
    fn put_name(
        &mut self,
        sql: &str,
        agent: &AgentName,
        native: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()> {
        let names = (agent.to_string(), native.to_string());
        let added = self.run(sql, &[&names.0, &names.1, &Col(session), &Col(at)])?;
        // Two programs that see an agent's session first at the same time would both create it.
        if added == 0
            && self.absent.contains(&names)
            && self.session_by_alias(agent, native)? != Some(session)
        {
            return Err(self.conflict());
        }
        self.absent.remove(&names);
        match added {
            0 => Ok(()),
            _ => self.session_changed(session),
        }
    }

    /// Each row is a repository with one of its checkouts, or with none.
    fn repository_rows(
        &mut self,
        condition: &str,
        of: &[Value<'_>],
    ) -> Result<Vec<RepositoryRecord>> {
        let sql = format!(
            "SELECT r.id, r.common_dir, w.path, w.swept_head, r.roots, r.remote, r.clone_of FROM repositories r \
             LEFT JOIN worktrees w ON w.tenant = $1 AND w.repository = r.id \
             WHERE r.tenant = $1 {condition} ORDER BY r.common_dir, w.path"
        );
        let mut records: Vec<RepositoryRecord> = Vec::new();
        self.each(&sql, of, |row| {
            let id = get(row, 0)?;
            if records.last().is_none_or(|r| r.id != id) {
                let roots: String = raw(row, 4)?;
                records.push(RepositoryRecord {
                    id,
                    common_dir: raw(row, 1)?,
                    worktrees: Vec::new(),
                    identity: read_identity(&roots, raw(row, 5)?, opt(row, 6)?),
                });
            }
            let tree: Option<String> = raw(row, 2)?;
            if let (Some(record), Some(path)) = (records.last_mut(), tree) {
                record.worktrees.push((path, opt(row, 3)?));
            }
            Ok(())
        })?;
        Ok(records)
    }

    /// Adds a session; `otherwise` says what is done where it is there.
    pub(super) fn insert_session(&mut self, r: &SessionRecord, otherwise: &str) -> Result<()> {
        let sql = format!(
            "INSERT INTO sessions (tenant, id, agent, conversation_id, home, mode, origin, parent, parent_relation, \
             created_at, last_at, ended_at, cwd, repository, worktree, parent_at, archived_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) {otherwise}"
        );
        self.run(
            &sql,
            &[
                &Col(r.id),
                &r.agent.as_str(),
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
        self.works_in(r.id, r.repository)
    }
}

fn turn_row(row: &Row) -> Result<TurnRecord> {
    Ok(TurnRecord {
        id: get(row, 0)?,
        session: get(row, 1)?,
        native: raw(row, 2)?,
        opened_at: get(row, 3)?,
    })
}

impl Sessions for Tx<'_> {
    fn repository(&mut self, common_dir: &str) -> Result<Option<RepositoryRecord>> {
        let found = self.repository_rows("AND r.common_dir = $2", &[&common_dir])?;
        Ok(found.into_iter().next())
    }

    fn repositories(&mut self) -> Result<Vec<RepositoryRecord>> {
        let here = "AND NOT EXISTS (SELECT 1 FROM replica_repositories e WHERE e.tenant = $1 AND e.repository = r.id)";
        self.repository_rows(here, &[])
    }

    fn note_place(
        &mut self,
        place: &Place,
        fresh: RepositoryId,
        at: Timestamp,
    ) -> Result<RepositoryId> {
        let known = "SELECT r.id, w.path IS NOT NULL FROM repositories r \
             LEFT JOIN worktrees w ON w.tenant = $1 AND w.repository = r.id AND w.path = $3 \
             WHERE r.tenant = $1 AND r.common_dir = $2";
        let found = self.row(known, &[&place.common_dir, &place.worktree], |row| {
            Ok((get(row, 0)?, raw(row, 1)?))
        })?;
        let id = match found {
            Some((id, true)) => return Ok(id),
            Some((id, false)) => id,
            None => {
                // To write what is there lets a row be returned that somebody else has made meanwhile.
                let sql = "INSERT INTO repositories (tenant, id, common_dir, first_at) VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (tenant, common_dir) DO UPDATE SET first_at = repositories.first_at RETURNING id";
                let of: [Value<'_>; 3] = [&Col(fresh), &place.common_dir, &Col(at)];
                let id: RepositoryId = self.one(sql, &of, |row| get(row, 0))?;
                self.changed("repository", &id.uuid().simple().to_string())?;
                id
            }
        };
        let sql = "INSERT INTO worktrees (tenant, repository, path) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        self.run(sql, &[&Col(id), &place.worktree])?;
        Ok(id)
    }

    fn set_identity(
        &mut self,
        repository: RepositoryId,
        identity: &RepositoryIdentity,
    ) -> Result<()> {
        let sql = "UPDATE repositories SET roots = $3, remote = $4, clone_of = $5 WHERE tenant = $1 AND id = $2 \
             AND (roots IS DISTINCT FROM $3 OR remote IS DISTINCT FROM $4 OR clone_of IS DISTINCT FROM $5)";
        let (roots, clone_of) = (stored_roots(identity), identity.clone_of.map(Col));
        let changed = self.run(
            sql,
            &[&Col(repository), &roots, &identity.remote, &clone_of],
        )?;
        match changed {
            0 => Ok(()),
            _ => self.changed("repository", &repository.uuid().simple().to_string()),
        }
    }

    fn move_repository(
        &mut self,
        repository: RepositoryId,
        common_dir: &str,
        renamed: &[(String, String)],
    ) -> Result<()> {
        let sql = "UPDATE repositories SET common_dir = $3 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(repository), &common_dir])?;
        self.changed("repository", &repository.uuid().simple().to_string())?;
        for (from, to) in renamed {
            let sql = "UPDATE worktrees SET path = $4 WHERE tenant = $1 AND repository = $2 AND path = $3 AND NOT EXISTS \
                 (SELECT 1 FROM worktrees w WHERE w.tenant = $1 AND w.repository = $2 AND w.path = $4)";
            self.run(sql, &[&Col(repository), from, to])?;
        }
        Ok(())
    }

    fn set_swept(&mut self, repository: RepositoryId, worktree: &str, head: &Oid) -> Result<()> {
        let sql = "UPDATE worktrees SET swept_head = $4 WHERE tenant = $1 AND repository = $2 AND path = $3";
        self.run(sql, &[&Col(repository), &worktree, &head.as_str()])?;
        Ok(())
    }

    fn session(&mut self, id: SessionId) -> Result<Option<SessionRecord>> {
        self.session_record(id)
    }

    fn session_by_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
    ) -> Result<Option<SessionId>> {
        let sql = "SELECT session FROM aliases WHERE tenant = $1 AND agent = $2 AND native = $3";
        let names = [agent.as_str(), native.as_str()];
        let found = self.row(sql, &[&names[0], &names[1]], |row| get(row, 0))?;
        if found.is_none() {
            self.absent
                .insert((names[0].to_owned(), names[1].to_owned()));
        }
        Ok(found)
    }

    fn sessions_by_native(&mut self, native: &NativeId) -> Result<Vec<(AgentName, SessionId)>> {
        let sql = "SELECT agent, session FROM aliases WHERE tenant = $1 AND native = $2 \
             UNION ALL SELECT s.agent, s.id FROM replica_aliases a JOIN sessions s ON s.tenant = $1 AND s.id = a.session \
             WHERE a.tenant = $1 AND a.native = $2 ORDER BY 1, 2";
        self.rows(sql, &[&native.as_str()], |row| {
            Ok((get(row, 0)?, get(row, 1)?))
        })
    }

    fn sessions_by_native_start(&mut self, start: &str) -> Result<Vec<(AgentName, SessionId)>> {
        let sql = "SELECT agent, session FROM aliases WHERE tenant = $1 AND native >= $2 AND native < $3 UNION \
             SELECT s.agent, s.id FROM replica_aliases a JOIN sessions s ON s.tenant = $1 AND s.id = a.session \
             WHERE a.tenant = $1 AND a.native >= $2 AND a.native < $3 ORDER BY 1, 2 LIMIT 16";
        self.rows(sql, &[&start, &behind_start(start)], |row| {
            Ok((get(row, 0)?, get(row, 1)?))
        })
    }

    fn sessions_by_link_start(
        &mut self,
        field: &str,
        start: &str,
    ) -> Result<Vec<(String, SessionId)>> {
        let sql = "SELECT value, session FROM links WHERE tenant = $1 AND field = $2 AND value >= $3 AND value < $4 \
             ORDER BY value, session LIMIT 16";
        self.rows(sql, &[&field, &start, &behind_start(start)], |row| {
            Ok((raw(row, 0)?, get(row, 1)?))
        })
    }

    fn sessions_by_tail(&mut self, tail: &str) -> Result<Vec<SessionId>> {
        let sql = "SELECT id FROM sessions WHERE tenant = $1 \
             AND right(replace(id::text, '-', ''), 8) = ANY($3) \
             AND strpos(right(replace(id::text, '-', ''), greatest(8, length($2))), $2) > 0 \
             ORDER BY last_at DESC LIMIT 16";
        self.rows(sql, &[&tail, &short_forms(tail)], |row| get(row, 0))
    }

    fn sessions(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        self.listing(filter)
    }

    fn create_session(&mut self, r: &SessionRecord) -> Result<()> {
        self.insert_session(r, "")?;
        self.session_changed(r.id)
    }

    fn add_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO aliases (tenant, agent, native, session, first_at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, agent, native) DO UPDATE SET by_caller = false, first_at = excluded.first_at \
             WHERE aliases.by_caller AND aliases.session = excluded.session";
        self.put_name(sql, agent, native, session, at)
    }

    fn add_caller_name(
        &mut self,
        agent: &AgentName,
        name: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO aliases (tenant, agent, native, session, first_at, by_caller) \
             VALUES ($1, $2, $3, $4, $5, true) ON CONFLICT (tenant, agent, native) DO NOTHING";
        self.put_name(sql, agent, name, session, at)
    }

    fn aliases(&mut self, session: SessionId) -> Result<Vec<NativeId>> {
        let sql = "SELECT native, first_at FROM aliases WHERE tenant = $1 AND session = $2 AND NOT by_caller \
             UNION ALL SELECT native, place FROM replica_aliases WHERE tenant = $1 AND session = $2 AND place >= 0 \
             ORDER BY 2, 1";
        self.rows(sql, &[&Col(session)], |row| get(row, 0))
    }

    fn touch(
        &mut self,
        session: SessionId,
        at: Timestamp,
        place: Option<(RepositoryId, &str)>,
        cwd: Option<&str>,
    ) -> Result<()> {
        let sql = "WITH before AS (SELECT repository, worktree, cwd, last_at FROM sessions WHERE tenant = $1 AND id = $2) \
             UPDATE sessions s SET unseen = s.unseen AND $3 <= s.last_at, last_at = greatest(s.last_at, $3), \
             created_at = least(s.created_at, $3), repository = coalesce(s.repository, $4), \
             worktree = coalesce(s.worktree, $5), cwd = coalesce(s.cwd, $6) FROM before b \
             WHERE s.tenant = $1 AND s.id = $2 RETURNING s.repository IS DISTINCT FROM b.repository \
             OR s.worktree IS DISTINCT FROM b.worktree OR s.cwd IS DISTINCT FROM b.cwd, \
             s.last_at / 3600000000000 <> b.last_at / 3600000000000";
        let (repository, worktree) = place.unzip();
        let of: [Value<'_>; 5] = [
            &Col(session),
            &Col(at),
            &repository.map(Col),
            &worktree,
            &cwd,
        ];
        let changed: Option<(bool, bool)> =
            self.row(sql, &of, |row| Ok((raw(row, 0)?, raw(row, 1)?)))?;
        let (is_moved, is_another_hour) = changed.unwrap_or_default();
        self.works_in(session, repository)?;
        if is_another_hour {
            self.fold_hour(session)?;
        }
        match is_moved {
            true => self.session_changed(session),
            false => Ok(()),
        }
    }

    fn set_agent(&mut self, session: SessionId, agent: &AgentName) -> Result<()> {
        let sql = "UPDATE sessions SET agent = $3 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &agent.as_str()])?;
        self.session_changed(session)
    }

    fn set_conversation(
        &mut self,
        session: SessionId,
        conversation: &ConversationId,
    ) -> Result<()> {
        let sql = "UPDATE sessions SET conversation_id = $3 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &conversation.as_str()])?;
        self.session_changed(session)
    }

    fn set_ended(&mut self, session: SessionId, at: Option<Timestamp>) -> Result<()> {
        let sql = "UPDATE sessions SET ended_at = $3 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &at.map(Col)])?;
        self.session_changed(session)
    }

    fn set_unseen(&mut self, session: SessionId) -> Result<()> {
        let sql = "UPDATE sessions SET unseen = true WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session)])?;
        Ok(())
    }

    fn set_parent(
        &mut self,
        session: SessionId,
        parent: SessionId,
        relation: Relation,
    ) -> Result<()> {
        let sql = "UPDATE sessions SET parent = $3, parent_relation = $4 \
             WHERE tenant = $1 AND id = $2 AND parent IS NULL AND id <> $3";
        match self.run(sql, &[&Col(session), &Col(parent), &word(&relation)])? {
            0 => Ok(()),
            _ => self.session_changed(session),
        }
    }

    fn put_summary(&mut self, session: SessionId, m: &Summary, folded: u64) -> Result<()> {
        self.store_summary(session, m)?;
        let sql = "UPDATE sessions SET folded = $3 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &int(folded)])?;
        self.refold_around(session)?;
        self.index_later(session)
    }

    fn refold(&mut self, session: Option<SessionId>) -> Result<()> {
        let all = "UPDATE sessions SET folded = 0 WHERE tenant = $1";
        match session {
            Some(id) => self.run(&format!("{all} AND id = $2"), &[&Col(id)])?,
            None => self.run(all, &[])?,
        };
        Ok(())
    }

    fn unfolded(&mut self, most: usize) -> Result<Vec<SessionId>> {
        let sql =
            "SELECT id FROM sessions WHERE tenant = $1 AND head > folded ORDER BY last_at LIMIT $2";
        self.rows(sql, &[&int(most as u64)], |row| get(row, 0))
    }

    fn bind(
        &mut self,
        session: SessionId,
        process: &ProcessIdentity,
        carried: Option<&[AgentVariable]>,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO processes (tenant, process, session, identity, first_at, bound_at, carried) \
             VALUES ($1, $2, $3, $4, $5, $5, $6) ON CONFLICT (tenant, process, session) DO UPDATE SET \
             bound_at = greatest(processes.bound_at, excluded.bound_at), \
             carried = coalesce(processes.carried, excluded.carried)";
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
        Ok(())
    }

    fn bound_to(&mut self, process: &str) -> Result<Vec<Binding>> {
        let sql = "SELECT session, identity, bound_at, carried FROM processes \
             WHERE tenant = $1 AND process = $2 ORDER BY session";
        self.rows(sql, &[&process], binding_row)
    }

    fn bindings(&mut self, session: SessionId) -> Result<Vec<Binding>> {
        let sql = "SELECT session, identity, bound_at, carried FROM processes \
             WHERE tenant = $1 AND session = $2 ORDER BY bound_at DESC, process";
        self.rows(sql, &[&Col(session)], binding_row)
    }

    fn turn(
        &mut self,
        session: SessionId,
        native: &str,
        fresh: TurnId,
        at: Timestamp,
    ) -> Result<TurnId> {
        let sql = "INSERT INTO turns (tenant, id, session, native, opened_at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, session, native) DO UPDATE SET opened_at = least(turns.opened_at, excluded.opened_at) \
             RETURNING id";
        let of: [Value<'_>; 4] = [&Col(fresh), &Col(session), &native, &Col(at)];
        self.one(sql, &of, |row| get(row, 0))
    }

    fn last_turn(&mut self, session: SessionId) -> Result<Option<TurnRecord>> {
        let sql = "SELECT id, session, native, opened_at FROM turns WHERE tenant = $1 AND session = $2 \
             ORDER BY opened_at DESC, id DESC LIMIT 1";
        self.row(sql, &[&Col(session)], turn_row)
    }

    fn turns_of(&mut self, session: SessionId) -> Result<Vec<TurnRecord>> {
        let sql = "SELECT id, session, native, opened_at FROM turns WHERE tenant = $1 AND session = $2 \
             ORDER BY opened_at, id";
        self.rows(sql, &[&Col(session)], turn_row)
    }

    fn note_prompt(&mut self, turn: TurnId, sequence: u64) -> Result<()> {
        let sql = "UPDATE turns SET prompt = $3 WHERE tenant = $1 AND id = $2 AND prompt IS NULL";
        self.run(sql, &[&Col(turn), &int(sequence)])?;
        Ok(())
    }

    fn first_prompt(&mut self, session: SessionId) -> Result<Option<(TurnId, u64)>> {
        let sql = "SELECT id, prompt FROM turns WHERE tenant = $1 AND session = $2 AND prompt IS NOT NULL \
             ORDER BY opened_at, id LIMIT 1";
        self.row(sql, &[&Col(session)], prompted_turn_row)
    }

    fn last_prompt(
        &mut self,
        session: SessionId,
        until: Timestamp,
    ) -> Result<Option<(TurnId, u64)>> {
        let sql = "SELECT id, prompt FROM turns WHERE tenant = $1 AND session = $2 AND prompt IS NOT NULL \
             AND opened_at <= $3 ORDER BY opened_at DESC, id DESC LIMIT 1";
        self.row(sql, &[&Col(session), &Col(until)], prompted_turn_row)
    }

    fn state(
        &mut self,
        at: Timestamp,
        by: &str,
        source: &str,
        statement: &Statement,
    ) -> Result<u64> {
        self.store_statement((at, by, source), statement)
    }

    fn statements_of_session(&mut self, session: SessionId) -> Result<Vec<StatementRecord>> {
        self.statement_rows("session = $2", &[&Col(session)])
    }

    fn statements_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<StatementRecord>> {
        let of = "repository = $2 AND \"commit\" = $3";
        self.statement_rows(of, &[&Col(repository), &commit.as_str()])
    }

    fn statements_of_commit_anywhere(&mut self, commit: &Oid) -> Result<Vec<StatementRecord>> {
        self.statement_rows("\"commit\" = $2", &[&commit.as_str()])
    }
}
