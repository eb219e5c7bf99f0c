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
        // By itself, since SQLite writes each index anew whose columns are set at all, and few sessions are unseen.
        let seen = "UPDATE sessions SET unseen = 0 WHERE id = ?1 AND unseen AND last_at < ?2";
        self.run(seen, &[&Col(session), &Col(at)])?;
        let sql = "UPDATE sessions SET last_at = max(last_at, ?2), created_at = min(created_at, ?2), \
             repository = coalesce(repository, ?3), worktree = coalesce(worktree, ?4), cwd = coalesce(cwd, ?5) WHERE id = ?1";
        let (repository, worktree) = place.unzip();
        self.run(
            sql,
            &[
                &Col(session),
                &Col(at),
                &repository.map(Col),
                &worktree,
                &cwd,
            ],
        )?;
        self.sum("sessions", "id = ?1", &[&Col(session)])?;
        works_in(self, session, repository)?;
        fold_hour(self, session)
    }
}
