//! Repositories: their places, and what tells clones from others.

use siglum_domain::intake::Place;
use siglum_domain::{RepositoryId, Timestamp};

use crate::LedgerError;
use crate::columns::{Col, Row, Value};
use crate::database::Database;
use crate::record::*;
use crate::sql::{Sql, sql};
use crate::stored::{read_identity, stored_roots};

type Result<T> = std::result::Result<T, LedgerError>;

/// Each row is a repository with one of its checkouts, or with none.
pub(super) const REPOSITORY: &str = "SELECT r.id, r.common_dir, w.path, w.swept_head, r.roots, r.remote, r.clone_of FROM repositories r \
     LEFT JOIN worktrees w ON [w.tenant = $1 AND] w.repository = r.id";

pub(super) fn repositories(
    db: &mut impl Database,
    sql: Sql<'_>,
    of: &[Value<'_>],
) -> Result<Vec<RepositoryRecord>> {
    let mut records: Vec<RepositoryRecord> = Vec::new();
    db.each(sql, of, |row| {
        let id: RepositoryId = row.get(0)?;
        if records.last().is_none_or(|r| r.id != id) {
            records.push(repository_row(row, id)?);
        }
        let tree: Option<String> = row.get(2)?;
        if let (Some(record), Some(path)) = (records.last_mut(), tree) {
            record.worktrees.push((path, row.get(3)?));
        }
        Ok(())
    })?;
    Ok(records)
}

/// A repository without its checkouts.
fn repository_row(row: &Row<'_>, id: RepositoryId) -> Result<RepositoryRecord> {
    let roots: String = row.get(4)?;
    Ok(RepositoryRecord {
        id,
        common_dir: row.get(1)?,
        worktrees: Vec::new(),
        identity: read_identity(&roots, row.get(5)?, row.get(6)?),
    })
}

pub(super) fn note_place(
    db: &mut impl Database,
    place: &Place,
    fresh: RepositoryId,
    at: Timestamp,
) -> Result<RepositoryId> {
    let known = sql!(
        "SELECT r.id, w.path IS NOT NULL FROM repositories r \
         LEFT JOIN worktrees w ON [w.tenant = $1 AND] w.repository = r.id AND w.path = ?2 \
         WHERE [r.tenant = $1 AND] r.common_dir = ?1"
    );
    let found = db.row(known, &[&place.common_dir, &place.worktree], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    let id = match found {
        Some((id, true)) => return Ok(id),
        Some((id, false)) => id,
        None => {
            // To write what is there lets a row be returned that somebody else has made meanwhile.
            let sql = sql!(
                "INSERT INTO repositories ([tenant,] id, common_dir, first_at) VALUES ([$1,] ?1, ?2, ?3) \
                 ON CONFLICT ([tenant,] common_dir) DO UPDATE SET first_at = repositories.first_at RETURNING id"
            );
            let of: [Value<'_>; 3] = [&Col(fresh), &place.common_dir, &Col(at)];
            let id: RepositoryId = db.one(sql, &of, |row| row.get(0))?;
            db.sum("repositories", "id = ?1", &[&Col(id)])?;
            db.repository_changed(id)?;
            id
        }
    };
    let sql = sql!(
        "INSERT INTO worktrees ([tenant,] repository, path) VALUES ([$1,] ?1, ?2) ON CONFLICT DO NOTHING"
    );
    let key: [Value<'_>; 2] = [&Col(id), &place.worktree];
    db.run(sql, &key)?;
    db.sum("worktrees", "repository = ?1 AND path = ?2", &key)?;
    Ok(id)
}

pub(super) fn set_identity(
    db: &mut impl Database,
    repository: RepositoryId,
    identity: &RepositoryIdentity,
) -> Result<()> {
    let sql = sql!(
        "UPDATE repositories SET roots = ?2, remote = ?3, clone_of = ?4 WHERE [tenant = $1 AND] id = ?1 \
         AND (roots IS DISTINCT FROM ?2 OR remote IS DISTINCT FROM ?3 OR clone_of IS DISTINCT FROM ?4)"
    );
    let (roots, clone_of) = (stored_roots(identity), identity.clone_of.map(Col));
    let of: [Value<'_>; 4] = [&Col(repository), &roots, &identity.remote, &clone_of];
    match db.run(sql, &of)? {
        0 => Ok(()),
        _ => db.repository_changed(repository),
    }
}

pub(super) fn move_repository(
    db: &mut impl Database,
    repository: RepositoryId,
    common_dir: &str,
    renamed: &[(String, String)],
) -> Result<()> {
    let sql = sql!("UPDATE repositories SET common_dir = ?2 WHERE [tenant = $1 AND] id = ?1");
    db.run(sql, &[&Col(repository), &common_dir])?;
    db.sum("repositories", "id = ?1", &[&Col(repository)])?;
    db.repository_changed(repository)?;
    for (from, to) in renamed {
        let sql = sql!(
            "UPDATE worktrees SET path = ?3 WHERE [tenant = $1 AND] repository = ?1 AND path = ?2 AND NOT EXISTS \
             (SELECT 1 FROM worktrees w WHERE [w.tenant = $1 AND] w.repository = ?1 AND w.path = ?3)"
        );
        db.run(sql, &[&Col(repository), from, to])?;
        let row = "repository = ?1 AND path = ?2";
        db.sum("worktrees", row, &[&Col(repository), to])?;
    }
    Ok(())
}
