//! What is done about sessions in SQLite's own way.

use siglum_domain::process::ProcessIdentity;
use siglum_domain::{AgentName, NativeId, RepositoryId, SessionId, Timestamp};

use super::bound;
use super::columns::Col;
use super::database::Tx;
use crate::LedgerError;
use crate::columns::Value;
use crate::database::Database;
use crate::record::{SessionFilter, SessionListing};
use crate::verbs::places::{fold_hour, works_in};
use crate::verbs::sessions::OwnSessions;

type Result<T> = std::result::Result<T, LedgerError>;

impl OwnSessions for Tx<'_> {
    fn name_added(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        _: SessionId,
        _: u64,
    ) -> Result<()> {
        let key: [Value<'_>; 2] = [&agent.as_str(), &native.as_str()];
        self.sum("aliases", "agent = ?1 AND native = ?2", &key)
    }

    fn note_bound(&mut self, process: &ProcessIdentity) -> Result<()> {
        if bound::is_listed(self.db, process) {
            return Ok(());
        }
        self.bound = Some(process.clone());
        bound::announce(self.db, process)
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
        // SQLite writes each index anew whose columns are set at all, and runs each trigger on one of them. Most entries of a
        // log move the last activity alone, so all else is set where it changes.
        let later = "UPDATE sessions SET last_at = ?2 \
             WHERE id = ?1 AND last_at < ?2 AND created_at <= ?2 AND NOT unseen";
        let mut changed = 0;
        if self.run(later, &[&Col(session), &Col(at)])? == 0 {
            let other = "UPDATE sessions SET unseen = unseen AND last_at >= ?2, last_at = max(last_at, ?2), \
                 created_at = min(created_at, ?2) WHERE id = ?1 AND (last_at < ?2 OR created_at > ?2)";
            changed = self.run(other, &[&Col(session), &Col(at)])?;
        }
        let (repository, worktree) = place.unzip();
        if repository.is_some() || cwd.is_some() {
            let sql = "UPDATE sessions SET repository = coalesce(repository, ?2), worktree = coalesce(worktree, ?3), \
                 cwd = coalesce(cwd, ?4) WHERE id = ?1 AND (?2 IS NOT NULL AND repository IS NULL \
                 OR ?3 IS NOT NULL AND worktree IS NULL OR ?4 IS NOT NULL AND cwd IS NULL)";
            let of: [Value<'_>; 4] = [&Col(session), &repository.map(Col), &worktree, &cwd];
            changed += self.run(sql, &of)?;
        }
        if changed > 0 {
            self.sum("sessions", "id = ?1", &[&Col(session)])?;
        }
        works_in(self, session, repository)?;
        fold_hour(self, session)
    }
}
