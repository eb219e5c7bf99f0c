//! What is done about sessions in PostgreSQL's own way.

use siglum_domain::{AgentName, NativeId, RepositoryId, SessionId, Timestamp};

use super::columns::{Col, raw};
use super::tx::{Tx, Value};
use crate::record::{SessionFilter, SessionListing};
use crate::verbs::places::{fold_hour, works_in};
use crate::verbs::sessions::OwnSessions;
use crate::{LedgerError, Sessions};

type Result<T> = std::result::Result<T, LedgerError>;

impl OwnSessions for Tx<'_> {
    fn note_absent(&mut self, agent: &AgentName, native: &NativeId) {
        self.absent.insert((agent.to_string(), native.to_string()));
    }

    fn name_added(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        session: SessionId,
        added: u64,
    ) -> Result<()> {
        let names = (agent.to_string(), native.to_string());
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

    fn list_sessions(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        self.listing(filter)
    }

    fn touch_session(
        &mut self,
        session: SessionId,
        at: Timestamp,
        place: Option<(RepositoryId, &str)>,
        cwd: Option<&str>,
    ) -> Result<()> {
        // What each look at a session changes has no sum, and so costs none; the rest seldom changes.
        let sql = "WITH before AS (SELECT last_at FROM sessions WHERE tenant = $1 AND id = $2) \
             UPDATE sessions s SET unseen = s.unseen AND $3 <= s.last_at, last_at = greatest(s.last_at, $3) FROM before b \
             WHERE s.tenant = $1 AND s.id = $2 RETURNING s.last_at / 3600000000000 <> b.last_at / 3600000000000, \
             s.created_at > $3, s.repository IS NULL AND $4::uuid IS NOT NULL \
             OR s.worktree IS NULL AND $5::text IS NOT NULL OR s.cwd IS NULL AND $6::text IS NOT NULL";
        let (repository, worktree) = place.unzip();
        let of: [Value<'_>; 5] = [
            &Col(session),
            &Col(at),
            &repository.map(Col),
            &worktree,
            &cwd,
        ];
        let looked: Option<(bool, bool, bool)> = self.row(sql, &of, |row| {
            Ok((raw(row, 0)?, raw(row, 1)?, raw(row, 2)?))
        })?;
        let (is_another_hour, is_older, is_moved) = looked.unwrap_or_default();
        if is_older || is_moved {
            let sql = "UPDATE sessions SET created_at = least(created_at, $3), repository = coalesce(repository, $4), \
                 worktree = coalesce(worktree, $5), cwd = coalesce(cwd, $6) WHERE tenant = $1 AND id = $2";
            self.run(sql, &of)?;
        }
        works_in(self, session, repository)?;
        if is_another_hour {
            fold_hour(self, session)?;
        }
        match is_moved {
            true => self.session_changed(session),
            false => Ok(()),
        }
    }
}
