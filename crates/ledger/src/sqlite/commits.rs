//! What is done about commits and checkpoints in SQLite's own way.

use std::collections::BTreeMap;

use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId};

use super::columns::{Col, int};
use super::database::Tx;
use crate::columns::{Parameter, Value};
use crate::database::Database;
use crate::record::*;
use crate::verbs::commits::{CHECKPOINT, COMMIT, OwnCommits, checkpoints, commit_row};
use crate::{CheckpointFilter, CommitFilter, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

/// A limit as SQL has it; 0 means none.
fn most(limit: usize) -> i64 {
    match limit {
        0 => -1,
        limit => int(limit as u64),
    }
}

/// The condition that a row of a table is of one of these repositories, whose ids are added to its values.
fn in_repositories(
    table: &str,
    repositories: &[RepositoryId],
    values: &mut Vec<Box<dyn Parameter>>,
) -> String {
    for repository in repositories {
        values.push(Box::new(Col(*repository)));
    }
    let ids = vec!["?"; repositories.len()].join(", ");
    format!("{table}.repository IN ({ids})")
}

fn borrowed(values: &[Box<dyn Parameter>]) -> Vec<Value<'_>> {
    values.iter().map(|value| &**value as Value<'_>).collect()
}

impl OwnCommits for Tx<'_> {
    fn list_commits(&mut self, filter: &CommitFilter) -> Result<Vec<CommitRecord>> {
        // Left to itself the planner sorts all rows that an index has in their order.
        let index = match (&filter.prefix, filter.repositories.len()) {
            (Some(_), _) => "commits_by_oid",
            (None, 1) => "commits_by_time",
            (None, _) => "commits_by_at",
        };
        let mut conditions = vec!["1 = 1".to_owned()];
        let mut values: Vec<Box<dyn Parameter>> = Vec::new();
        if !filter.repositories.is_empty() {
            conditions.push(in_repositories("c", &filter.repositories, &mut values));
        }
        if let Some(prefix) = &filter.prefix {
            // No digit comes after `g`.
            conditions.push("c.\"commit\" >= ? AND c.\"commit\" < ?".to_owned());
            values.push(Box::new(prefix.clone()));
            values.push(Box::new(format!("{prefix}g")));
        }
        if let Some((at, commit, repository)) = &filter.after {
            // The first condition is one that an index by time answers.
            let page = "c.at <= ? AND (c.at, c.\"commit\", c.repository) < (?, ?, ?)";
            conditions.push(page.to_owned());
            values.push(Box::new(Col(*at)));
            values.push(Box::new(Col(*at)));
            values.push(Box::new(commit.to_string()));
            values.push(Box::new(Col(*repository)));
        }
        let sql = format!(
            "{COMMIT} INDEXED BY {index} WHERE {} ORDER BY c.at DESC, c.\"commit\" DESC, c.repository DESC LIMIT {}",
            conditions.join(" AND "),
            most(filter.limit)
        );
        self.rows(&sql, &borrowed(&values), commit_row)
    }

    fn list_checkpoints(&mut self, filter: &CheckpointFilter) -> Result<Vec<CheckpointRecord>> {
        let mut values: Vec<Box<dyn Parameter>> = Vec::new();
        // All of these are about one session.
        let mut pinned = Vec::new();
        if let Some(session) = filter.session {
            pinned.push("p.session = ?");
            values.push(Box::new(Col(session)));
        }
        for link in &filter.links {
            pinned.push("p.session IN (SELECT session FROM links WHERE field = ? AND value = ?)");
            values.push(Box::new(link.field()));
            values.push(Box::new(link.value()));
        }
        let mut conditions = vec!["1 = 1".to_owned()];
        if !pinned.is_empty() {
            let pinned = pinned.join(" AND ");
            conditions.push(format!(
                "k.id IN (SELECT p.checkpoint FROM pins p WHERE {pinned})"
            ));
        }
        if !filter.repositories.is_empty() {
            conditions.push(in_repositories("k", &filter.repositories, &mut values));
        }
        if let Some(since) = filter.since {
            conditions.push("k.at >= ?".to_owned());
            values.push(Box::new(Col(since)));
        }
        if let Some(until) = filter.until {
            conditions.push("k.at < ?".to_owned());
            values.push(Box::new(Col(until)));
        }
        if let Some((at, id)) = filter.after {
            conditions.push("k.at <= ? AND (k.at, k.id) < (?, ?)".to_owned());
            values.push(Box::new(Col(at)));
            values.push(Box::new(Col(at)));
            values.push(Box::new(Col(id)));
        }
        let sql = format!(
            "{CHECKPOINT} WHERE {} ORDER BY k.at DESC, k.id DESC LIMIT {}",
            conditions.join(" AND "),
            most(filter.limit)
        );
        checkpoints(self, &sql, &borrowed(&values))
    }

    fn add_authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        files: &[(String, String)],
        lines: &BTreeMap<SessionId, u64>,
    ) -> Result<()> {
        let (repository, commit) = (Col(repository), commit.as_str());
        let sql =
            "INSERT INTO authors (repository, \"commit\", path, spans) VALUES (?1, ?2, ?3, ?4)";
        for (path, spans) in files {
            self.run(sql, &[&repository, &commit, path, spans])?;
        }
        let sql = "INSERT INTO authorships (session, repository, \"commit\", lines) VALUES (?1, ?2, ?3, ?4)";
        for (session, lines) in lines {
            self.run(sql, &[&Col(*session), &repository, &commit, &int(*lines)])?;
        }
        Ok(())
    }

    fn pin(&mut self, id: CheckpointId, pins: &[(SessionId, u64)]) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO pins (checkpoint, session, sequence) VALUES (?1, ?2, ?3)";
        for (session, sequence) in pins {
            self.run(sql, &[&Col(id), &Col(*session), &int(*sequence)])?;
        }
        Ok(())
    }

    fn add_pins(&mut self, records: &mut [CheckpointRecord]) -> Result<()> {
        let sql = "SELECT session, sequence FROM pins WHERE checkpoint = ?1 ORDER BY session";
        for record in records {
            record.pins = self.rows(sql, &[&Col(record.id)], |row| {
                Ok((row.get(0)?, row.count(1)?))
            })?;
        }
        Ok(())
    }
}
