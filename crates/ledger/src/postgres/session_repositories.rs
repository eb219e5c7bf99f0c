//! Where sessions work, and when they were active last: a fold of the log, of statements and of whose commits are.

use siglum_domain::{Oid, RepositoryId, SessionId};

use super::columns::{Col, get, int, opt, raw};
use super::tx::{Tx, Value};
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
        let mut added = 0;
        for repository in repositories {
            added += self.put_place(session, repository, true)?;
        }
        match added {
            0 => Ok(()),
            _ => {
                self.index_later(session)?;
                self.state_again(session)
            }
        }
    }

    /// Notes where a session works, or only has commits. Gives how many rows that changed.
    fn put_place(
        &mut self,
        session: SessionId,
        repository: RepositoryId,
        works: bool,
    ) -> Result<u64> {
        let known = "SELECT works FROM session_repositories WHERE tenant = $1 AND repository = $2 AND session = $3";
        let known = self.row(known, &[&Col(repository), &Col(session)], |row| {
            raw::<bool>(row, 0)
        })?;
        if known.is_some_and(|works_there| works_there || !works) {
            return Ok(0);
        }
        // Nobody moves the session to another hour meanwhile.
        let hour = "SELECT last_at / 3600000000000 FROM sessions WHERE tenant = $1 AND id = $2 FOR NO KEY UPDATE";
        let hour = self.row(hour, &[&Col(session)], |row| raw::<i64>(row, 0))?;
        let sql = "INSERT INTO session_repositories (tenant, repository, session, hour, works) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, repository, session) DO UPDATE SET works = session_repositories.works OR excluded.works";
        let of: [Value<'_>; 4] = [
            &Col(repository),
            &Col(session),
            &hour.unwrap_or_default(),
            &works,
        ];
        self.run(sql, &of)
    }

    /// The hour of a session's last activity may be another one.
    pub(super) fn fold_hour(&mut self, session: SessionId) -> Result<()> {
        let sql = "UPDATE session_repositories r SET hour = s.last_at / 3600000000000 FROM sessions s \
             WHERE r.tenant = $1 AND r.session = $2 AND s.tenant = $1 AND s.id = $2 AND r.hour <> s.last_at / 3600000000000";
        self.run(sql, &[&Col(session)]).map(drop)
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
        let sql = "INSERT INTO session_repositories (tenant, repository, session, hour, works) \
             SELECT DISTINCT c.tenant, c.repository, s.id, s.last_at / 3600000000000, false FROM commits c \
             JOIN sessions s ON s.tenant = $1 AND s.id = c.session WHERE c.tenant = $1 AND c.session = $2 ON CONFLICT DO NOTHING";
        self.run(sql, &[&Col(session)]).map(drop)
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
        // First the place, which holds the session: whoever folds it does so before the usages, too.
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
            self.put_place(session, repository, false)?;
        }
        if let Some(session) = before {
            // First its lock: whoever adds another commit of the session meanwhile is seen then.
            let of: [Value<'_>; 2] = [&Col(repository), &Col(session)];
            let held = "SELECT works FROM session_repositories WHERE tenant = $1 AND repository = $2 AND session = $3 FOR UPDATE";
            self.row(held, &of, |_| Ok(()))?;
            let sql = "DELETE FROM session_repositories WHERE tenant = $1 AND repository = $2 AND session = $3 AND NOT works \
                 AND NOT EXISTS (SELECT 1 FROM commits c WHERE c.tenant = $1 AND c.repository = $2 AND c.session = $3)";
            self.run(sql, &of)?;
        }
        Ok(())
    }

    fn committing_session(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Option<SessionId>> {
        let sql =
            "SELECT session FROM commits WHERE tenant = $1 AND repository = $2 AND \"commit\" = $3";
        let of: [Value<'_>; 2] = [&Col(repository), &commit.as_str()];
        Ok(self.row(sql, &of, |row| opt(row, 0))?.flatten())
    }

    /// The window with at least so many sessions of the repositories of a filter, the first ones in its order; nothing
    /// where there are not so many.
    pub(super) fn window(
        &mut self,
        filter: &SessionFilter,
        sessions: usize,
    ) -> Result<Option<Window>> {
        let all = Window::of_filter(filter);
        let skipped = int(sessions as u64) - 1;
        let mut narrowest: Option<Window> = None;
        for repository in &filter.repositories {
            let repository = Col(*repository);
            let window = match filter.order {
                Order::LastActive => {
                    let sql = "SELECT hour FROM session_repositories WHERE tenant = $1 AND repository = $2 \
                         AND hour BETWEEN $3 AND $4 ORDER BY hour DESC LIMIT 1 OFFSET $5";
                    let (first, last) = all.hours;
                    let of: [Value<'_>; 4] = [&repository, &first, &last, &skipped];
                    let hour = self.row(sql, &of, |row| raw::<i64>(row, 0))?;
                    hour.map(|hour| Window {
                        hours: (hour, last),
                        ..all
                    })
                }
                Order::Created { after } => {
                    let before = match after {
                        Some(_) => "session < $3",
                        None => "$3::uuid IS NULL",
                    };
                    let sql = format!(
                        "SELECT session FROM session_repositories WHERE tenant = $1 AND repository = $2 AND {before} \
                         ORDER BY session DESC LIMIT 1 OFFSET $4"
                    );
                    let of: [Value<'_>; 3] = [&repository, &after.map(Col), &skipped];
                    let from = self.row(&sql, &of, |row| get(row, 0))?;
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
