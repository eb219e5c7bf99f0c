//! Where sessions work, and when they were active last: a fold of the log, of statements and of whose commits are.

use siglum_domain::{Oid, RepositoryId, SessionId};

use super::usage::split_at_commit;
use crate::LedgerError;
use crate::columns::{Col, Value, int};
use crate::database::Database;
use crate::lookup::Window;
use crate::record::{Order, SessionFilter};
use crate::sql::sql;

type Result<T> = std::result::Result<T, LedgerError>;

/// A session works in these repositories, beside those that are known.
pub(crate) fn works_in(
    db: &mut impl Database,
    session: SessionId,
    repositories: impl IntoIterator<Item = RepositoryId>,
) -> Result<()> {
    let mut added = 0;
    for repository in repositories {
        added += db.put_place(session, repository, true)?;
    }
    match added {
        0 => Ok(()),
        _ => {
            db.index_later(session)?;
            state_again(db, session)
        }
    }
}

/// A session works somewhere that was not known: what was stated of it may be in scope now, and is looked at again.
fn state_again(db: &mut impl Database, session: SessionId) -> Result<()> {
    let first = sql!(
        "SELECT coalesce(min(sequence), 0) FROM statements WHERE [tenant = $1 AND] session = ?1 AND ledger = ?2"
    );
    let ledger = db.ledger();
    let first = db.one(first, &[&Col(session), &Col(ledger)], |row| row.count(0))?;
    if first == 0 {
        return Ok(());
    }
    let sql = sql!("UPDATE destinations SET stated = ?1 WHERE [tenant = $1 AND] stated > ?1");
    db.run(sql, &[&int(first - 1)]).map(drop)
}

/// The hour of a session's last activity may be another one.
pub(crate) fn fold_hour(db: &mut impl Database, session: SessionId) -> Result<()> {
    let sql = sql!(
        "[UPDATE session_repositories r SET hour = s.last_at / 3600000000000 FROM sessions s WHERE r.tenant = $1 \
         AND r.session = ?1 AND s.tenant = $1 AND s.id = ?1 AND r.hour <> s.last_at / 3600000000000\
         |UPDATE session_repositories SET hour = (SELECT last_at / 3600000000000 FROM sessions WHERE id = ?1) \
         WHERE session = ?1 AND hour <> (SELECT last_at / 3600000000000 FROM sessions WHERE id = ?1)]"
    );
    db.run(sql, &[&Col(session)]).map(drop)
}

/// A session that is new here may have commits already.
pub(super) fn works_at_its_commits(db: &mut impl Database, session: SessionId) -> Result<()> {
    let sql = sql!(
        "INSERT INTO session_repositories ([tenant,] repository, session, hour, works) \
         SELECT DISTINCT [c.tenant,] c.repository, s.id, s.last_at / 3600000000000, false FROM commits c \
         JOIN sessions s ON [s.tenant = $1 AND] s.id = c.session WHERE [c.tenant = $1 AND] c.session = ?1 \
         ON CONFLICT DO NOTHING"
    );
    db.run(sql, &[&Col(session)]).map(drop)
}

/// Makes a change to whose a commit is. Its session is listed with the repository, also where it worked elsewhere.
pub(super) fn change_committer<D: Database>(
    db: &mut D,
    repository: RepositoryId,
    commit: &Oid,
    change: impl FnOnce(&mut D) -> Result<()>,
) -> Result<()> {
    let before = committing_session(db, repository, commit)?;
    change(db)?;
    let after = committing_session(db, repository, commit)?;
    // First the place, which holds the session: whoever folds it does so before the usages, too.
    if before != after {
        change_place(db, repository, before, after)?;
    }
    match after {
        Some(session) => split_at_commit(db, session, repository, commit),
        None => Ok(()),
    }
}

/// A commit in a repository became another session's.
fn change_place(
    db: &mut impl Database,
    repository: RepositoryId,
    before: Option<SessionId>,
    after: Option<SessionId>,
) -> Result<()> {
    if let Some(session) = after {
        db.put_place(session, repository, false)?;
    }
    if let Some(session) = before {
        // First its lock: whoever adds another commit of the session meanwhile is seen then.
        let of: [Value<'_>; 2] = [&Col(repository), &Col(session)];
        let held = "SELECT works FROM session_repositories WHERE tenant = $1 AND repository = $2 AND session = $3 FOR UPDATE";
        db.lock(held, &of)?;
        let sql = sql!(
            "DELETE FROM session_repositories WHERE [tenant = $1 AND] repository = ?1 AND session = ?2 AND NOT works \
             AND NOT EXISTS (SELECT 1 FROM commits c WHERE [c.tenant = $1 AND] c.repository = ?1 AND c.session = ?2)"
        );
        db.run(sql, &of)?;
    }
    Ok(())
}

fn committing_session(
    db: &mut impl Database,
    repository: RepositoryId,
    commit: &Oid,
) -> Result<Option<SessionId>> {
    let sql = sql!(
        "SELECT session FROM commits WHERE [tenant = $1 AND] repository = ?1 AND \"commit\" = ?2"
    );
    let of: [Value<'_>; 2] = [&Col(repository), &commit.as_str()];
    // What cannot be read is no session's.
    let session = db.row(sql, &of, |row| {
        Ok(row.get::<Option<SessionId>>(0).unwrap_or_default())
    })?;
    Ok(session.flatten())
}

/// The window with at least so many sessions of the repositories of a filter, the first ones in its order; nothing
/// where there are not so many.
pub(crate) fn window(
    db: &mut impl Database,
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
                let sql = sql!(
                    "SELECT hour FROM session_repositories WHERE [tenant = $1 AND] repository = ?1 \
                     AND hour BETWEEN ?2 AND ?3 ORDER BY hour DESC LIMIT 1 OFFSET ?4"
                );
                let (first, last) = all.hours;
                let of: [Value<'_>; 4] = [&repository, &first, &last, &skipped];
                let hour = db.row(sql, &of, |row| row.get::<i64>(0))?;
                hour.map(|hour| Window {
                    hours: (hour, last),
                    ..all
                })
            }
            Order::Created { after } => {
                let sql = match after {
                    Some(_) => sql!(
                        "SELECT session FROM session_repositories WHERE [tenant = $1 AND] repository = ?1 \
                         AND session < ?2 ORDER BY session DESC LIMIT 1 OFFSET ?3"
                    ),
                    None => sql!(
                        "SELECT session FROM session_repositories WHERE [tenant = $1 AND] repository = ?1 \
                         AND ?2[::uuid] IS NULL ORDER BY session DESC LIMIT 1 OFFSET ?3"
                    ),
                };
                let of: [Value<'_>; 3] = [&repository, &after.map(Col), &skipped];
                let from = db.row(sql, &of, |row| row.get(0))?;
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
