//! Repositories in SQLite: their places, and what tells clones from others.

use rusqlite::{OptionalExtension, Row};
use siglum_domain::intake::Place;
use siglum_domain::{RepositoryId, Timestamp};

use super::columns::{Col, get, opt};
use super::open::Tx;
use crate::LedgerError;
use crate::record::*;
use crate::stored::{read_identity, stored_roots};

type Result<T> = std::result::Result<T, LedgerError>;

/// A repository without its checkouts.
fn repository_row(row: &Row<'_>) -> rusqlite::Result<RepositoryRecord> {
    let roots: String = row.get(2)?;
    Ok(RepositoryRecord {
        id: get(row, 0)?,
        common_dir: row.get(1)?,
        worktrees: Vec::new(),
        identity: read_identity(&roots, row.get(3)?, opt(row, 4)?),
    })
}

impl Tx<'_> {
    pub(super) fn repository_rows(
        &mut self,
        filter: &str,
        of: impl rusqlite::Params,
    ) -> Result<Vec<RepositoryRecord>> {
        let mut query = self.db.prepare_cached(&format!(
            "SELECT id, common_dir, roots, remote, clone_of FROM repositories {filter}"
        ))?;
        let mut records = query
            .query_map(of, repository_row)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let mut trees = self.db.prepare_cached(
            "SELECT path, swept_head FROM worktrees WHERE repository = ?1 ORDER BY path",
        )?;
        for record in &mut records {
            record.worktrees = trees
                .query_map([Col(record.id)], |row| Ok((row.get(0)?, opt(row, 1)?)))?
                .collect::<rusqlite::Result<_>>()?;
        }
        Ok(records)
    }

    pub(super) fn noted_place(
        &mut self,
        place: &Place,
        fresh: RepositoryId,
        at: Timestamp,
    ) -> Result<RepositoryId> {
        let known = "SELECT r.id, w.path IS NOT NULL FROM repositories r \
             LEFT JOIN worktrees w ON w.repository = r.id AND w.path = ?2 WHERE r.common_dir = ?1";
        let mut query = self.db.prepare_cached(known)?;
        let found = query
            .query_row([&place.common_dir, &place.worktree], |row| {
                Ok((get(row, 0)?, row.get(1)?))
            })
            .optional()?;
        let id = match found {
            Some((id, true)) => return Ok(id),
            Some((id, false)) => id,
            None => {
                let sql = "INSERT INTO repositories (id, common_dir, first_at) VALUES (?1, ?2, ?3)";
                self.db
                    .execute(sql, (Col(fresh), &place.common_dir, Col(at)))?;
                self.sum("repositories", "id = ?1", [Col(fresh)])?;
                fresh
            }
        };
        self.db.execute(
            "INSERT INTO worktrees (repository, path) VALUES (?1, ?2)",
            (Col(id), &place.worktree),
        )?;
        let key = (Col(id), &place.worktree);
        self.sum("worktrees", "repository = ?1 AND path = ?2", key)?;
        Ok(id)
    }

    pub(super) fn store_identity(
        &mut self,
        repository: RepositoryId,
        identity: &RepositoryIdentity,
    ) -> Result<()> {
        let sql = "UPDATE repositories SET roots = ?2, remote = ?3, clone_of = ?4 WHERE id = ?1";
        let (roots, clone_of) = (stored_roots(identity), identity.clone_of.map(Col));
        self.db
            .execute(sql, (Col(repository), roots, &identity.remote, clone_of))?;
        Ok(())
    }

    pub(super) fn store_move(
        &mut self,
        repository: RepositoryId,
        common_dir: &str,
        renamed: &[(String, String)],
    ) -> Result<()> {
        let sql = "UPDATE repositories SET common_dir = ?2 WHERE id = ?1";
        self.db.execute(sql, (Col(repository), common_dir))?;
        self.sum("repositories", "id = ?1", [Col(repository)])?;
        for (from, to) in renamed {
            let sql =
                "UPDATE OR IGNORE worktrees SET path = ?3 WHERE repository = ?1 AND path = ?2";
            self.db.execute(sql, (Col(repository), from, to))?;
            let row = "repository = ?1 AND path = ?2";
            self.sum("worktrees", row, (Col(repository), to))?;
        }
        Ok(())
    }
}
