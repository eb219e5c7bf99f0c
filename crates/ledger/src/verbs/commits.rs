//! Intents, commits, checkpoints and authors.

use std::collections::BTreeMap;

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::intake::Scene;
use siglum_domain::provenance::Origin;
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};

use super::places::change_committer;
use crate::columns::{Col, Row, Texts, Value, int};
use crate::database::Database;
use crate::lookup::{BY_TAIL, checkpoints_of_each, commits_of_each, short_forms};
use crate::record::*;
use crate::row::{facts_json, from_json, from_word, json, stored_files, word};
use crate::sql::{Sql, sql};
use crate::stored::{CommitRow, IntentRow, committer, intent_state};
use crate::{CheckpointFilter, CommitFilter, Commits, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

const INTENT: &str =
    "SELECT repository, at, scene, state, \"commit\" FROM intents WHERE [tenant = $1 AND]";

fn intent_row(row: &Row<'_>) -> Result<IntentRecord> {
    let intent = IntentRow {
        repository: row.get(0)?,
        at: row.get(1)?,
        scene: row.get(2)?,
        state: row.get(3)?,
        commit: row.get(4)?,
    };
    intent.record()
}

/// Commits. What else is asked stands behind it.
pub(crate) const COMMIT: &str = "SELECT c.repository, c.\"commit\", c.checkpoint, c.intent, c.judgement, c.facts, c.patch, c.at, c.seen_by \
     FROM commits c";

/// A commit from its row of [`COMMIT`].
pub(crate) fn commit_row(row: &Row<'_>) -> Result<CommitRecord> {
    let commit = CommitRow {
        repository: row.get(0)?,
        commit: row.get(1)?,
        checkpoint: row.get(2)?,
        intent: row.get(3)?,
        judgement: row.get(4)?,
        facts: row.get(5)?,
        patch: row.get(6)?,
        at: row.get(7)?,
        seen_by: row.get(8)?,
    };
    commit.record()
}

/// Checkpoints. What else is asked stands behind it.
pub(crate) const CHECKPOINT: &str =
    "SELECT k.id, k.kind, k.repository, k.\"commit\", k.at FROM checkpoints k";

pub(crate) fn checkpoint_row(row: &Row<'_>) -> Result<CheckpointRecord> {
    Ok(CheckpointRecord {
        id: row.get(0)?,
        kind: from_word("checkpoint kind", &row.get::<String>(1)?)?,
        repository: row.get(2)?,
        commit: row.get(3)?,
        at: row.get(4)?,
        pins: Vec::new(),
    })
}

/// Checkpoints of a statement that begins with [`CHECKPOINT`], with their pins.
pub(crate) fn checkpoints<'s>(
    db: &mut impl OwnCommits,
    sql: impl Into<Sql<'s>>,
    of: &[Value<'_>],
) -> Result<Vec<CheckpointRecord>> {
    let mut records = db.rows(sql, of, checkpoint_row)?;
    db.add_pins(&mut records)?;
    Ok(records)
}

/// A condition for the rows of a commit, by its repository and name.
const OF_COMMIT: &str = "repository = ?1 AND \"commit\" = ?2";

fn sum_commit(db: &mut impl Database, repository: RepositoryId, commit: &Oid) -> Result<()> {
    db.sum("commits", OF_COMMIT, &[&Col(repository), &commit.as_str()])
}

/// What a store does about commits in its own way.
pub(crate) trait OwnCommits: Database {
    /// The commits of a filter that is about one repository, or has one order for all of them.
    fn list_commits(&mut self, filter: &CommitFilter) -> Result<Vec<CommitRecord>>;

    /// The checkpoints of a filter that is about one repository, or has one order for all of them.
    fn list_checkpoints(&mut self, filter: &CheckpointFilter) -> Result<Vec<CheckpointRecord>>;

    /// Adds the authors of a commit: paths and spans, and how many lines are of which session.
    fn add_authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        files: &[(String, String)],
        lines: &BTreeMap<SessionId, u64>,
    ) -> Result<()>;

    /// Pins a checkpoint to places in logs, unless it is.
    fn pin(&mut self, id: CheckpointId, pins: &[(SessionId, u64)]) -> Result<()>;

    /// Adds their pins to checkpoints.
    fn add_pins(&mut self, records: &mut [CheckpointRecord]) -> Result<()>;
}

impl<D: OwnCommits> Commits for D {
    fn put_intent(&mut self, repository: RepositoryId, at: Timestamp, scene: &Scene) -> Result<()> {
        let sql = sql!(
            "INSERT INTO intents ([tenant,] checkpoint, repository, worktree, git, at, scene, state) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, 'open') ON CONFLICT DO NOTHING"
        );
        let git = scene.chain.git_process().map(|(_, git)| git.identity.key());
        self.run(
            sql,
            &[
                &Col(scene.checkpoint),
                &Col(repository),
                &scene.place.worktree,
                &git,
                &Col(at),
                &json(scene),
            ],
        )?;
        self.sum("intents", "checkpoint = ?1", &[&Col(scene.checkpoint)])
    }

    fn intent(&mut self, checkpoint: CheckpointId) -> Result<Option<IntentRecord>> {
        let sql = sql!(INTENT " checkpoint = ?1");
        self.row(sql, &[&Col(checkpoint)], intent_row)
    }

    fn intents_of_git(&mut self, process: &str) -> Result<Vec<IntentRecord>> {
        let sql = sql!(INTENT " git = ?1 ORDER BY at DESC");
        self.rows(sql, &[&process], intent_row)
    }

    fn open_intents(&mut self, repository: Option<RepositoryId>) -> Result<Vec<IntentRecord>> {
        let Some(repository) = repository else {
            return self.rows(sql!(INTENT " state = 'open' ORDER BY at"), &[], intent_row);
        };
        let sql = sql!(INTENT " state = 'open' AND repository = ?1 ORDER BY at");
        self.rows(sql, &[&Col(repository)], intent_row)
    }

    fn close_intent(&mut self, checkpoint: CheckpointId, state: &IntentState) -> Result<()> {
        let sql = sql!(
            "UPDATE intents SET state = ?2, \"commit\" = ?3 WHERE [tenant = $1 AND] checkpoint = ?1"
        );
        let (word, commit) = intent_state(state);
        self.run(sql, &[&Col(checkpoint), &word, &commit])?;
        self.sum("intents", "checkpoint = ?1", &[&Col(checkpoint)])
    }

    fn put_commit(&mut self, r: &CommitRecord) -> Result<()> {
        let sql = sql!(
            "INSERT[| OR REPLACE] INTO commits ([tenant,] repository, \"commit\", checkpoint, intent, session, committer, verdict, judgement, facts, patch, at, seen_by) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
             [ON CONFLICT (tenant, repository, \"commit\") DO UPDATE SET checkpoint = excluded.checkpoint, intent = excluded.intent, \
             session = excluded.session, committer = excluded.committer, verdict = excluded.verdict, judgement = excluded.judgement, \
             facts = excluded.facts, patch = excluded.patch, at = excluded.at, seen_by = excluded.seen_by]"
        );
        let (kind, session) = committer(&r.judgement);
        change_committer(self, r.repository, &r.commit, |db| {
            let key: [Value<'_>; 2] = [&Col(r.repository), &r.commit.as_str()];
            db.uncount("commits", OF_COMMIT, &key)?;
            let of: [Value<'_>; 12] = [
                &Col(r.repository),
                &r.commit.as_str(),
                &r.checkpoint.map(Col),
                &r.intent.map(Col),
                &session.map(Col),
                &kind,
                &word(&r.judgement.verdict),
                &json(&r.judgement),
                &r.facts.as_ref().map(facts_json),
                &r.patch,
                &Col(r.at),
                &word(&r.seen_by),
            ];
            db.run(sql, &of)?;
            sum_commit(db, r.repository, &r.commit)
        })?;
        self.index_commit_later(r.repository, &r.commit)?;
        self.commit_changed(r.repository, &r.commit)
    }

    fn commit(&mut self, repository: RepositoryId, commit: &Oid) -> Result<Option<CommitRecord>> {
        let sql = sql!(COMMIT " WHERE [c.tenant = $1 AND] c.repository = ?1 AND c.\"commit\" = ?2");
        self.row(sql, &[&Col(repository), &commit.as_str()], commit_row)
    }

    fn commits_of_checkpoint(&mut self, checkpoint: CheckpointId) -> Result<Vec<CommitRecord>> {
        let sql = sql!(COMMIT " WHERE [c.tenant = $1 AND] c.checkpoint = ?1 ORDER BY c.at DESC");
        self.rows(sql, &[&Col(checkpoint)], commit_row)
    }

    fn commits_of_session(
        &mut self,
        session: SessionId,
        limit: usize,
    ) -> Result<Vec<CommitRecord>> {
        let sql =
            sql!(COMMIT " WHERE [c.tenant = $1 AND] c.session = ?1 ORDER BY c.at DESC LIMIT ?2");
        self.rows(sql, &[&Col(session), &int(limit as u64)], commit_row)
    }

    fn commits(&mut self, filter: &CommitFilter) -> Result<Vec<CommitRecord>> {
        match commits_of_each(filter, |one| self.list_commits(one)) {
            Some(found) => found,
            None => self.list_commits(filter),
        }
    }

    fn commits_by_patch(
        &mut self,
        repository: RepositoryId,
        patch: &str,
    ) -> Result<Vec<CommitRecord>> {
        // Left to itself SQLite reads all commits of the repository by the primary key.
        let sql = sql!(COMMIT " [|INDEXED BY commits_by_patch] WHERE [c.tenant = $1 AND] c.repository = ?1 \
             AND c.patch = ?2 ORDER BY c.at");
        self.rows(sql, &[&Col(repository), &patch], commit_row)
    }

    fn unfinished(&mut self, repository: RepositoryId, limit: usize) -> Result<Vec<Oid>> {
        let sql = sql!(
            "SELECT \"commit\" FROM commits [|INDEXED BY commits_unfinished] \
             WHERE [tenant = $1 AND] repository = ?1 AND patch IS NULL ORDER BY at LIMIT ?2"
        );
        self.rows(sql, &[&Col(repository), &int(limit as u64)], |row| {
            row.get(0)
        })
    }

    fn put_facts(&mut self, repository: RepositoryId, facts: &CommitFacts) -> Result<()> {
        let sql = sql!(
            "UPDATE commits SET facts = ?3 WHERE [tenant = $1 AND] repository = ?1 AND \"commit\" = ?2"
        );
        // Git knows when it was made.
        change_committer(self, repository, &facts.commit, |db| {
            let of: [Value<'_>; 3] = [&Col(repository), &facts.commit.as_str(), &facts_json(facts)];
            db.run(sql, &of)?;
            sum_commit(db, repository, &facts.commit)
        })?;
        self.index_commit_later(repository, &facts.commit)?;
        self.commit_changed(repository, &facts.commit)
    }

    fn finish(&mut self, repository: RepositoryId, commit: &Oid, patch: &str) -> Result<()> {
        let sql = sql!(
            "UPDATE commits SET patch = ?3 \
             WHERE [tenant = $1 AND] repository = ?1 AND \"commit\" = ?2 AND facts IS NOT NULL"
        );
        self.run(sql, &[&Col(repository), &commit.as_str(), &patch])?;
        sum_commit(self, repository, commit)?;
        self.commit_changed(repository, commit)
    }

    fn rejudge(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        judgement: &Judgement,
    ) -> Result<()> {
        let sql = sql!(
            "UPDATE commits SET session = ?3, committer = ?4, verdict = ?5, judgement = ?6 \
             WHERE [tenant = $1 AND] repository = ?1 AND \"commit\" = ?2"
        );
        let (kind, session) = committer(judgement);
        // Of the session before, and of the one now.
        self.index_commit_later(repository, commit)?;
        change_committer(self, repository, commit, |db| {
            let of: [Value<'_>; 6] = [
                &Col(repository),
                &commit.as_str(),
                &session.map(Col),
                &kind,
                &word(&judgement.verdict),
                &json(judgement),
            ];
            db.run(sql, &of)?;
            sum_commit(db, repository, commit)
        })?;
        self.index_commit_later(repository, commit)?;
        self.commit_changed(repository, commit)
    }

    fn put_rewrite(
        &mut self,
        repository: RepositoryId,
        old: &Oid,
        new: &Oid,
        command: &str,
        at: Timestamp,
    ) -> Result<()> {
        let sql = sql!(
            "INSERT INTO rewrites ([tenant,] repository, old, new, command, at) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO NOTHING"
        );
        let of: [Value<'_>; 5] = [
            &Col(repository),
            &old.as_str(),
            &new.as_str(),
            &command,
            &Col(at),
        ];
        let added = self.run(sql, &of)?;
        let key: [Value<'_>; 3] = [&Col(repository), &old.as_str(), &new.as_str()];
        let row = "repository = ?1 AND old = ?2 AND new = ?3";
        self.sum("rewrites", row, &key)?;
        match added {
            0 => Ok(()),
            _ => self.commit_changed(repository, new),
        }
    }

    fn rewritten_from(&mut self, repository: RepositoryId, new: &Oid) -> Result<Vec<Oid>> {
        let sql = sql!(
            "SELECT old FROM rewrites WHERE [tenant = $1 AND] repository = ?1 AND new = ?2 ORDER BY at, old"
        );
        self.rows(sql, &[&Col(repository), &new.as_str()], |row| row.get(0))
    }

    fn put_authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        files: &[FileAuthors],
    ) -> Result<()> {
        let key: [Value<'_>; 2] = [&Col(repository), &commit.as_str()];
        let rows = sql!("[tenant = $1 AND] " OF_COMMIT);
        self.delete("authors", rows, &key)?;
        self.delete("authorships", rows, &key)?;
        // A row without a path says that the authors were looked for.
        let mut texts = vec![(String::new(), "[]".to_owned())];
        let mut lines = BTreeMap::<SessionId, u64>::new();
        for file in stored_files(files) {
            let spans = json(&file.spans);
            texts.push((file.path, spans));
        }
        for file in files {
            for span in &file.spans {
                if let Origin::Session(session) = span.origin {
                    *lines.entry(session).or_default() += u64::from(span.lines());
                }
            }
        }
        self.add_authors(repository, commit, &texts, &lines)?;
        self.sum("authors", OF_COMMIT, &key)?;
        self.commit_changed(repository, commit)
    }

    fn authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Option<Vec<FileAuthors>>> {
        let sql = sql!(
            "SELECT path, spans FROM authors WHERE [tenant = $1 AND] repository = ?1 AND \"commit\" = ?2 ORDER BY path"
        );
        let files = self.rows(sql, &[&Col(repository), &commit.as_str()], |row| {
            Ok(FileAuthors {
                path: row.get(0)?,
                spans: from_json("authors", &row.get::<String>(1)?)?,
            })
        })?;
        if files.is_empty() {
            return Ok(None);
        }
        Ok(Some(
            files.into_iter().filter(|f| !f.path.is_empty()).collect(),
        ))
    }

    fn authored(&mut self, session: SessionId) -> Result<Vec<(RepositoryId, Oid, u64)>> {
        let sql = sql!(
            "SELECT a.repository, a.\"commit\", a.lines FROM authorships a \
             JOIN commits c ON [c.tenant = $1 AND] c.repository = a.repository AND c.\"commit\" = a.\"commit\" \
             WHERE [a.tenant = $1 AND] a.session = ?1 ORDER BY c.at DESC"
        );
        self.rows(sql, &[&Col(session)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.count(2)?))
        })
    }

    fn put_checkpoint(&mut self, r: &CheckpointRecord) -> Result<()> {
        let sql = sql!(
            "INSERT INTO checkpoints ([tenant,] id, kind, repository, \"commit\", at) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO NOTHING"
        );
        let commit = r.commit.as_ref().map(Oid::as_str);
        let of: [Value<'_>; 5] = [
            &Col(r.id),
            &word(&r.kind),
            &r.repository.map(Col),
            &commit,
            &Col(r.at),
        ];
        self.run(sql, &of)?;
        self.pin(r.id, &r.pins)?;
        self.sum("checkpoints", "id = ?1", &[&Col(r.id)])?;
        self.sum("pins", "checkpoint = ?1", &[&Col(r.id)])?;
        self.checkpoint_changed(r.id)
    }

    fn withdraw_checkpoint(&mut self, id: CheckpointId) -> Result<()> {
        let rows = sql!("[tenant = $1 AND] checkpoint = ?1");
        self.delete("pins", rows, &[&Col(id)])?;
        let rows = sql!("[tenant = $1 AND] id = ?1");
        self.delete("checkpoints", rows, &[&Col(id)])?;
        self.checkpoint_changed(id)
    }

    fn checkpoint(&mut self, id: CheckpointId) -> Result<Option<CheckpointRecord>> {
        let sql = sql!(CHECKPOINT " WHERE [k.tenant = $1 AND] k.id = ?1");
        Ok(checkpoints(self, sql, &[&Col(id)])?.pop())
    }

    fn checkpoints_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<CheckpointRecord>> {
        let sql = sql!(CHECKPOINT " WHERE [k.tenant = $1 AND] k.\"commit\" = ?2 AND k.repository = ?1 \
             ORDER BY k.at, k.id");
        checkpoints(self, sql, &[&Col(repository), &commit.as_str()])
    }

    fn checkpoints(&mut self, filter: &CheckpointFilter) -> Result<Vec<CheckpointRecord>> {
        match checkpoints_of_each(filter, |one| self.list_checkpoints(one)) {
            Some(found) => found,
            None => self.list_checkpoints(filter),
        }
    }

    fn checkpoints_by_tail(&mut self, tail: &str) -> Result<Vec<CheckpointId>> {
        let sql = sql!("SELECT id FROM checkpoints WHERE [tenant = $1 AND] " BY_TAIL " ORDER BY at DESC LIMIT 16");
        self.rows(sql, &[&tail, &Texts(short_forms(tail))], |row| row.get(0))
    }
}
