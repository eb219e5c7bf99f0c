//! Intents, commits, checkpoints and authors in SQLite.

use rusqlite::{Row, params};
use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::intake::Scene;
use siglum_domain::provenance::Origin;
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use crate::lookup::{checkpoints_of_each, commits_of_each, short_forms};
use crate::record::*;
use crate::row::{facts_json, from_json, from_word, json, stored_files, word};
use crate::stored::{CommitRow, IntentRow, committer, intent_state};
use crate::{CheckpointFilter, CommitFilter, Commits, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

const INTENT: &str = "repository, at, scene, state, \"commit\"";

fn intent_row(row: &Row<'_>) -> rusqlite::Result<IntentRow> {
    Ok(IntentRow {
        repository: get(row, 0)?,
        at: get(row, 1)?,
        scene: row.get(2)?,
        state: row.get(3)?,
        commit: opt(row, 4)?,
    })
}

const COMMIT: &str = "c.repository, c.\"commit\", c.checkpoint, c.intent, c.judgement, c.facts, c.patch, c.at, c.seen_by";

fn commit_row(row: &Row<'_>) -> rusqlite::Result<CommitRow> {
    Ok(CommitRow {
        repository: get(row, 0)?,
        commit: get(row, 1)?,
        checkpoint: opt(row, 2)?,
        intent: opt(row, 3)?,
        judgement: row.get(4)?,
        facts: row.get(5)?,
        patch: row.get(6)?,
        at: get(row, 7)?,
        seen_by: row.get(8)?,
    })
}

/// A condition for the rows of a commit, by its repository and name.
const OF_COMMIT: &str = "repository = ?1 AND \"commit\" = ?2";

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
    values: &mut Vec<Box<dyn rusqlite::ToSql>>,
) -> String {
    for repository in repositories {
        values.push(Box::new(Col(*repository)));
    }
    let ids = vec!["?"; repositories.len()].join(", ");
    format!("{table}.repository IN ({ids})")
}

impl Tx<'_> {
    fn intents(&mut self, rest: &str, of: impl rusqlite::Params) -> Result<Vec<IntentRecord>> {
        let mut query = self
            .db
            .prepare_cached(&format!("SELECT {INTENT} FROM intents WHERE {rest}"))?;
        let rows = query
            .query_map(of, intent_row)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        rows.into_iter().map(IntentRow::record).collect()
    }

    pub(super) fn commit_rows(
        &mut self,
        rest: &str,
        of: impl rusqlite::Params,
    ) -> Result<Vec<CommitRecord>> {
        let mut query = self
            .db
            .prepare_cached(&format!("SELECT {COMMIT} FROM commits c {rest}"))?;
        let rows = query
            .query_map(of, commit_row)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        rows.into_iter().map(CommitRow::record).collect()
    }

    fn sum_commit(&self, repository: RepositoryId, commit: &Oid) -> Result<()> {
        self.sum("commits", OF_COMMIT, (Col(repository), commit.as_str()))
    }

    fn checkpoint_rows(
        &mut self,
        rest: &str,
        of: impl rusqlite::Params,
    ) -> Result<Vec<CheckpointRecord>> {
        let sql = format!(
            "SELECT k.id, k.kind, k.repository, k.\"commit\", k.at FROM checkpoints k {rest}"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let row = |row: &Row<'_>| {
            Ok((
                get::<CheckpointId>(row, 0)?,
                row.get::<_, String>(1)?,
                opt(row, 2)?,
                opt(row, 3)?,
                get(row, 4)?,
            ))
        };
        let rows = query
            .query_map(of, row)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let mut pins = self.db.prepare_cached(
            "SELECT session, sequence FROM pins WHERE checkpoint = ?1 ORDER BY session",
        )?;
        let mut records = Vec::with_capacity(rows.len());
        for (id, kind, repository, commit, at) in rows {
            let pins = pins
                .query_map([Col(id)], |row| Ok((get(row, 0)?, count(row, 1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            records.push(CheckpointRecord {
                id,
                kind: from_word("checkpoint kind", &kind)?,
                repository,
                commit,
                at,
                pins,
            });
        }
        Ok(records)
    }
}

impl Commits for Tx<'_> {
    fn put_intent(&mut self, repository: RepositoryId, at: Timestamp, scene: &Scene) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO intents (checkpoint, repository, worktree, git, at, scene, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open')";
        let git = scene.chain.git_process().map(|(_, git)| git.identity.key());
        self.db.prepare_cached(sql)?.execute((
            Col(scene.checkpoint),
            Col(repository),
            &scene.place.worktree,
            git,
            Col(at),
            json(scene),
        ))?;
        self.sum("intents", "checkpoint = ?1", [Col(scene.checkpoint)])
    }

    fn intent(&mut self, checkpoint: CheckpointId) -> Result<Option<IntentRecord>> {
        Ok(self.intents("checkpoint = ?1", [Col(checkpoint)])?.pop())
    }

    fn intents_of_git(&mut self, process: &str) -> Result<Vec<IntentRecord>> {
        self.intents("git = ?1 ORDER BY at DESC", [process])
    }

    fn open_intents(&mut self, repository: Option<RepositoryId>) -> Result<Vec<IntentRecord>> {
        match repository {
            Some(repository) => self.intents(
                "state = 'open' AND repository = ?1 ORDER BY at",
                [Col(repository)],
            ),
            None => self.intents("state = 'open' ORDER BY at", []),
        }
    }

    fn close_intent(&mut self, checkpoint: CheckpointId, state: &IntentState) -> Result<()> {
        let (word, commit) = intent_state(state);
        self.db
            .prepare_cached("UPDATE intents SET state = ?2, \"commit\" = ?3 WHERE checkpoint = ?1")?
            .execute((Col(checkpoint), word, commit))?;
        self.sum("intents", "checkpoint = ?1", [Col(checkpoint)])
    }

    fn put_commit(&mut self, r: &CommitRecord) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO commits (repository, \"commit\", checkpoint, intent, session, committer, verdict, judgement, facts, patch, at, seen_by) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let (kind, session) = committer(&r.judgement);
        self.change_committer(r.repository, &r.commit, |tx| {
            let key = (Col(r.repository), r.commit.as_str());
            tx.uncount("commits", OF_COMMIT, key)?;
            tx.db.prepare_cached(sql)?.execute(params![
                Col(r.repository),
                r.commit.as_str(),
                r.checkpoint.map(Col),
                r.intent.map(Col),
                session.map(Col),
                kind,
                word(&r.judgement.verdict),
                json(&r.judgement),
                r.facts.as_ref().map(facts_json),
                r.patch,
                Col(r.at),
                word(&r.seen_by),
            ])?;
            tx.sum_commit(r.repository, &r.commit)
        })
    }

    fn commit(&mut self, repository: RepositoryId, commit: &Oid) -> Result<Option<CommitRecord>> {
        Ok(self
            .commit_rows(
                "WHERE c.repository = ?1 AND c.\"commit\" = ?2",
                (Col(repository), commit.as_str()),
            )?
            .pop())
    }

    fn commits_of_checkpoint(&mut self, checkpoint: CheckpointId) -> Result<Vec<CommitRecord>> {
        self.commit_rows(
            "WHERE c.checkpoint = ?1 ORDER BY c.at DESC",
            [Col(checkpoint)],
        )
    }

    fn commits_of_session(
        &mut self,
        session: SessionId,
        limit: usize,
    ) -> Result<Vec<CommitRecord>> {
        self.commit_rows(
            "WHERE c.session = ?1 ORDER BY c.at DESC LIMIT ?2",
            (Col(session), int(limit as u64)),
        )
    }

    fn commits(&mut self, filter: &CommitFilter) -> Result<Vec<CommitRecord>> {
        if let Some(found) = commits_of_each(filter, |one| self.commits(one)) {
            return found;
        }
        // Left to itself the planner sorts all rows that an index has in their order.
        let index = match (&filter.prefix, filter.repositories.len()) {
            (Some(_), _) => "commits_by_oid",
            (None, 1) => "commits_by_time",
            (None, _) => "commits_by_at",
        };
        let mut conditions = vec!["1 = 1".to_owned()];
        let mut values: Vec<Box<dyn rusqlite::ToSql>> = Vec::new();
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
        let rest = format!(
            "INDEXED BY {index} WHERE {} ORDER BY c.at DESC, c.\"commit\" DESC, c.repository DESC LIMIT {}",
            conditions.join(" AND "),
            most(filter.limit)
        );
        self.commit_rows(&rest, rusqlite::params_from_iter(values))
    }

    fn commits_by_patch(
        &mut self,
        repository: RepositoryId,
        patch: &str,
    ) -> Result<Vec<CommitRecord>> {
        // Left to itself the planner reads all commits of the repository by the primary key.
        self.commit_rows(
            "INDEXED BY commits_by_patch WHERE c.repository = ?1 AND c.patch = ?2 ORDER BY c.at",
            (Col(repository), patch),
        )
    }

    fn unfinished(&mut self, repository: RepositoryId, limit: usize) -> Result<Vec<Oid>> {
        let sql = "SELECT \"commit\" FROM commits INDEXED BY commits_unfinished \
             WHERE repository = ?1 AND patch IS NULL ORDER BY at LIMIT ?2";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query
            .query_map((Col(repository), int(limit as u64)), |row| get(row, 0))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn put_facts(&mut self, repository: RepositoryId, facts: &CommitFacts) -> Result<()> {
        let sql = "UPDATE commits SET facts = ?3 WHERE repository = ?1 AND \"commit\" = ?2";
        // Git knows when it was made.
        self.change_committer(repository, &facts.commit, |tx| {
            let of = (Col(repository), facts.commit.as_str(), facts_json(facts));
            tx.db.prepare_cached(sql)?.execute(of)?;
            tx.sum_commit(repository, &facts.commit)
        })
    }

    fn finish(&mut self, repository: RepositoryId, commit: &Oid, patch: &str) -> Result<()> {
        let sql = "UPDATE commits SET patch = ?3 WHERE repository = ?1 AND \"commit\" = ?2 AND facts IS NOT NULL";
        let of = (Col(repository), commit.as_str(), patch);
        self.db.prepare_cached(sql)?.execute(of)?;
        self.sum_commit(repository, commit)
    }

    fn rejudge(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        judgement: &Judgement,
    ) -> Result<()> {
        let sql = "UPDATE commits SET session = ?3, committer = ?4, verdict = ?5, judgement = ?6 WHERE repository = ?1 AND \"commit\" = ?2";
        let (kind, session) = committer(judgement);
        self.change_committer(repository, commit, |tx| {
            tx.db.prepare_cached(sql)?.execute((
                Col(repository),
                commit.as_str(),
                session.map(Col),
                kind,
                word(&judgement.verdict),
                json(judgement),
            ))?;
            tx.sum_commit(repository, commit)
        })
    }

    fn put_rewrite(
        &mut self,
        repository: RepositoryId,
        old: &Oid,
        new: &Oid,
        command: &str,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO rewrites (repository, old, new, command, at) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.db.prepare_cached(sql)?.execute((
            Col(repository),
            old.as_str(),
            new.as_str(),
            command,
            Col(at),
        ))?;
        let key = (Col(repository), old.as_str(), new.as_str());
        let row = "repository = ?1 AND old = ?2 AND new = ?3";
        self.sum("rewrites", row, key)
    }

    fn rewritten_from(&mut self, repository: RepositoryId, new: &Oid) -> Result<Vec<Oid>> {
        let mut query = self.db.prepare_cached(
            "SELECT old FROM rewrites WHERE repository = ?1 AND new = ?2 ORDER BY at, old",
        )?;
        Ok(query
            .query_map((Col(repository), new.as_str()), |row| get(row, 0))?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn put_authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        files: &[FileAuthors],
    ) -> Result<()> {
        let key = (Col(repository), commit.as_str());
        self.delete("authors", OF_COMMIT, (&key.0, key.1))?;
        self.delete("authorships", OF_COMMIT, (&key.0, key.1))?;
        let mut put = self.db.prepare_cached(
            "INSERT INTO authors (repository, \"commit\", path, spans) VALUES (?1, ?2, ?3, ?4)",
        )?;
        // A row without a path says that the authors were looked for.
        put.execute((&key.0, key.1, "", "[]"))?;
        let mut lines = std::collections::BTreeMap::<SessionId, u64>::new();
        for file in stored_files(files) {
            put.execute((&key.0, key.1, &file.path, json(&file.spans)))?;
        }
        for file in files {
            for span in &file.spans {
                if let Origin::Session(session) = span.origin {
                    *lines.entry(session).or_default() += u64::from(span.lines());
                }
            }
        }
        let mut put = self.db.prepare_cached("INSERT INTO authorships (session, repository, \"commit\", lines) VALUES (?1, ?2, ?3, ?4)")?;
        for (session, lines) in lines {
            put.execute((Col(session), &key.0, key.1, int(lines)))?;
        }
        self.sum("authors", OF_COMMIT, key)
    }

    fn authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Option<Vec<FileAuthors>>> {
        let sql = "SELECT path, spans FROM authors WHERE repository = ?1 AND \"commit\" = ?2 ORDER BY path";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map((Col(repository), commit.as_str()), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let rows = rows.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
        if rows.is_empty() {
            return Ok(None);
        }
        let file = |(path, spans): (String, String)| {
            Ok(FileAuthors {
                path,
                spans: from_json("authors", &spans)?,
            })
        };
        rows.into_iter()
            .filter(|(path, _)| !path.is_empty())
            .map(file)
            .collect::<Result<_>>()
            .map(Some)
    }

    fn authored(&mut self, session: SessionId) -> Result<Vec<(RepositoryId, Oid, u64)>> {
        let sql = "SELECT a.repository, a.\"commit\", a.lines FROM authorships a JOIN commits c ON c.repository = a.repository \
             AND c.\"commit\" = a.\"commit\" WHERE a.session = ?1 ORDER BY c.at DESC";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query
            .query_map([Col(session)], |row| {
                Ok((get(row, 0)?, get(row, 1)?, count(row, 2)?))
            })?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn put_checkpoint(&mut self, r: &CheckpointRecord) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO checkpoints (id, kind, repository, \"commit\", at) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.db.prepare_cached(sql)?.execute((
            Col(r.id),
            word(&r.kind),
            r.repository.map(Col),
            r.commit.as_ref().map(Oid::as_str),
            Col(r.at),
        ))?;
        let mut pin = self.db.prepare_cached(
            "INSERT OR IGNORE INTO pins (checkpoint, session, sequence) VALUES (?1, ?2, ?3)",
        )?;
        for (session, sequence) in &r.pins {
            pin.execute((Col(r.id), Col(*session), int(*sequence)))?;
        }
        self.sum("checkpoints", "id = ?1", [Col(r.id)])?;
        self.sum("pins", "checkpoint = ?1", [Col(r.id)])
    }

    fn withdraw_checkpoint(&mut self, id: CheckpointId) -> Result<()> {
        self.delete("pins", "checkpoint = ?1", [Col(id)])?;
        self.delete("checkpoints", "id = ?1", [Col(id)])?;
        Ok(())
    }

    fn checkpoint(&mut self, id: CheckpointId) -> Result<Option<CheckpointRecord>> {
        Ok(self.checkpoint_rows("WHERE k.id = ?1", [Col(id)])?.pop())
    }

    fn checkpoints_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<CheckpointRecord>> {
        self.checkpoint_rows(
            "WHERE k.\"commit\" = ?2 AND k.repository = ?1 ORDER BY k.at, k.id",
            (Col(repository), commit.as_str()),
        )
    }

    fn checkpoints(&mut self, filter: &CheckpointFilter) -> Result<Vec<CheckpointRecord>> {
        if let Some(found) = checkpoints_of_each(filter, |one| self.checkpoints(one)) {
            return found;
        }
        let mut values: Vec<Box<dyn rusqlite::ToSql>> = Vec::new();
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
        let rest = format!(
            "WHERE {} ORDER BY k.at DESC, k.id DESC LIMIT {}",
            conditions.join(" AND "),
            most(filter.limit)
        );
        self.checkpoint_rows(&rest, rusqlite::params_from_iter(values))
    }

    fn checkpoints_by_tail(&mut self, tail: &str) -> Result<Vec<CheckpointId>> {
        let sql = "SELECT id FROM checkpoints WHERE lower(substr(hex(id), -8)) IN (SELECT value FROM json_each(?2)) \
             AND instr(lower(substr(hex(id), -max(8, length(?1)))), ?1) > 0 ORDER BY at DESC LIMIT 16";
        let mut query = self.db.prepare(sql)?;
        Ok(query
            .query_map((tail, json(&short_forms(tail))), |row| get(row, 0))?
            .collect::<rusqlite::Result<_>>()?)
    }
}
