//! Where sessions work, and when they were active last, in SQLite: a fold of the log, of statements and of whose commits are.

use rusqlite::OptionalExtension;
use siglum_domain::{Oid, RepositoryId, SessionId};

use super::columns::{Col, get, int, opt};
use super::open::Tx;
use crate::lookup::Window;
use crate::record::{Order, SessionFilter};
use crate::{LedgerError, Sessions};

type Result<T> = std::result::Result<T, LedgerError>;

impl Tx<'_> {
    /// A session works in these repositories, beside those that are known.
    pub(super) fn works_in(
        &mut self,
        session: SessionId,
        repositories: impl IntoIterator<Item = RepositoryId>,
    ) -> Result<()> {
        let sql = "INSERT INTO session_repositories (repository, session, hour, works) \
             VALUES (?1, ?2, coalesce((SELECT last_at / 3600000000000 FROM sessions WHERE id = ?2), 0), 1) \
             ON CONFLICT (repository, session) DO UPDATE SET works = 1 WHERE NOT works";
        let mut added = 0;
        let mut put = self.db.prepare_cached(sql)?;
        for repository in repositories {
            added += put.execute((Col(repository), Col(session)))?;
        }
        drop(put);
        match added {
            0 => Ok(()),
            _ => self.state_again(session),
        }
    }

    /// The hour of a session's last activity may be another one.
    pub(super) fn fold_hour(&mut self, session: SessionId) -> Result<()> {
        let sql = "UPDATE session_repositories SET hour = (SELECT last_at / 3600000000000 FROM sessions WHERE id = ?1) \
             WHERE session = ?1 AND hour <> (SELECT last_at / 3600000000000 FROM sessions WHERE id = ?1)";
        self.db.prepare_cached(sql)?.execute([Col(session)])?;
        Ok(())
    }

    /// Makes the links that a session ever had anew, and the hour of its last activity, with all else that it amounts to.
    pub(super) fn refold_around(&mut self, session: SessionId) -> Result<()> {
        match self.statements_of_session(session) {
            // What was folded of them stays.
            Err(LedgerError::Damaged(_)) => {}
            stated => self.fold_links_ever(session, &stated?)?,
        }
        self.fold_hour(session)
    }

    /// A session that is new here may have commits already.
    pub(super) fn works_at_its_commits(&mut self, session: SessionId) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO session_repositories (repository, session, hour, works) \
             SELECT DISTINCT c.repository, s.id, s.last_at / 3600000000000, 0 \
             FROM commits c JOIN sessions s ON s.id = c.session WHERE c.session = ?1";
        self.db.prepare_cached(sql)?.execute([Col(session)])?;
        Ok(())
    }

    /// Makes a change to whose a commit is. Its session is listed with the repository, also where it worked elsewhere.
    pub(super) fn change_committer(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        change: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let before = self.committing_session(repository, commit)?;
        change(self)?;
        let after = self.committing_session(repository, commit)?;
        if before != after {
            self.change_place(repository, before, after)?;
        }
        match after {
            Some(session) => self.split_at_commit(session, repository, commit),
            None => Ok(()),
        }
    }

    /// A commit in a repository became another session's.
    fn change_place(
        &mut self,
        repository: RepositoryId,
        before: Option<SessionId>,
        after: Option<SessionId>,
    ) -> Result<()> {
        if let Some(session) = after {
            let sql = "INSERT OR IGNORE INTO session_repositories (repository, session, hour, works) \
                 VALUES (?1, ?2, coalesce((SELECT last_at / 3600000000000 FROM sessions WHERE id = ?2), 0), 0)";
            let of = (Col(repository), Col(session));
            self.db.prepare_cached(sql)?.execute(of)?;
        }
        if let Some(session) = before {
            let sql = "DELETE FROM session_repositories WHERE repository = ?1 AND session = ?2 AND NOT works \
                 AND NOT EXISTS (SELECT 1 FROM commits WHERE repository = ?1 AND session = ?2)";
            let of = (Col(repository), Col(session));
            self.db.prepare_cached(sql)?.execute(of)?;
        }
        Ok(())
    }

    fn committing_session(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Option<SessionId>> {
        let sql = "SELECT session FROM commits WHERE repository = ?1 AND \"commit\" = ?2";
        let mut query = self.db.prepare_cached(sql)?;
        let of = (Col(repository), commit.as_str());
        // What cannot be read is no session's.
        let session = query.query_row(of, |row| Ok(opt(row, 0).unwrap_or_default()));
        Ok(session.optional()?.flatten())
    }

    /// The window with at least so many sessions of the repositories of a filter, the first ones in its order; nothing
    /// where there are not so many.
    pub(super) fn window(&self, filter: &SessionFilter, sessions: usize) -> Result<Option<Window>> {
        let all = Window::of_filter(filter);
        let skipped = int(sessions as u64) - 1;
        let mut narrowest: Option<Window> = None;
        for repository in &filter.repositories {
            let window = match filter.order {
                Order::LastActive => {
                    let sql = "SELECT hour FROM session_repositories WHERE repository = ?1 AND hour BETWEEN ?2 AND ?3 \
                         ORDER BY hour DESC LIMIT 1 OFFSET ?4";
                    let (first, last) = all.hours;
                    let of = (Col(*repository), first, last, skipped);
                    let mut query = self.db.prepare_cached(sql)?;
                    let hour = query.query_row(of, |row| row.get(0)).optional()?;
                    hour.map(|hour| Window {
                        hours: (hour, last),
                        ..all
                    })
                }
                Order::Created { after } => {
                    let before = match after {
                        Some(_) => "session < ?2",
                        None => "?2 IS NULL",
                    };
                    let sql = format!(
                        "SELECT session FROM session_repositories WHERE repository = ?1 AND {before} \
                         ORDER BY session DESC LIMIT 1 OFFSET ?3"
                    );
                    let of = (Col(*repository), after.map(Col), skipped);
                    let mut query = self.db.prepare_cached(&sql)?;
                    let from = query.query_row(of, |row| get(row, 0)).optional()?;
                    from.map(|from| Window {
                        from: Some(from),
                        ..all
                    })
                }
            };
            // One repository that has so many is enough.
            narrowest = narrowest
                .into_iter()
                .chain(window)
                .max_by_key(|window| (window.hours.0, window.from));
        }
        Ok(narrowest)
    }
}
