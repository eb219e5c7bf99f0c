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
