//! Intents, commits, checkpoints and authors in PostgreSQL.

use std::collections::BTreeMap;

use postgres::Row;
use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::intake::Scene;
use siglum_domain::provenance::Origin;
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};

use super::columns::{Col, clean, count, get, int, limit, opt, raw};
use super::listing::Conditions;
use super::tx::{Tx, Value};
use crate::lookup::{checkpoints_of_each, commits_of_each, short_forms};
use crate::record::*;
use crate::row::{facts_json, from_json, from_word, json, stored_files, word};
use crate::stored::{CommitRow, IntentRow, committer, intent_state};
use crate::{CheckpointFilter, CommitFilter, Commits, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

fn intent_row(row: &Row) -> Result<IntentRecord> {
    let intent = IntentRow {
        repository: get(row, 0)?,
        at: get(row, 1)?,
        scene: raw(row, 2)?,
        state: raw(row, 3)?,
        commit: opt(row, 4)?,
    };
    intent.record()
}

const COMMIT: &str = "c.repository, c.\"commit\", c.checkpoint, c.intent, c.judgement, c.facts, c.patch, c.at, c.seen_by";

fn commit_row(row: &Row) -> Result<CommitRecord> {
    let commit = CommitRow {
        repository: get(row, 0)?,
        commit: get(row, 1)?,
        checkpoint: opt(row, 2)?,
        intent: opt(row, 3)?,
        judgement: raw(row, 4)?,
        facts: raw(row, 5)?,
        patch: raw(row, 6)?,
        at: get(row, 7)?,
        seen_by: raw(row, 8)?,
    };
    commit.record()
}

fn checkpoint_row(row: &Row) -> Result<CheckpointRecord> {
    Ok(CheckpointRecord {
        id: get(row, 0)?,
        kind: from_word("checkpoint kind", raw(row, 1)?)?,
        repository: opt(row, 2)?,
        commit: opt(row, 3)?,
        at: get(row, 4)?,
        pins: Vec::new(),
    })
}

impl Tx<'_> {
    fn intents(&mut self, rest: &str, of: &[Value<'_>]) -> Result<Vec<IntentRecord>> {
        let sql = format!(
            "SELECT repository, at, scene, state, \"commit\" FROM intents WHERE tenant = $1 AND {rest}"
        );
        self.rows(&sql, of, intent_row)
    }

    pub(super) fn commit_rows(
        &mut self,
        rest: &str,
        of: &[Value<'_>],
    ) -> Result<Vec<CommitRecord>> {
        let sql = format!("SELECT {COMMIT} FROM commits c WHERE c.tenant = $1 {rest}");
        self.rows(&sql, of, commit_row)
    }

    fn checkpoint_rows(&mut self, rest: &str, of: &[Value<'_>]) -> Result<Vec<CheckpointRecord>> {
        let sql = format!(
            "SELECT k.id, k.kind, k.repository, k.\"commit\", k.at FROM checkpoints k {rest}"
        );
        let mut records = self.rows(&sql, of, checkpoint_row)?;
        let ids: Vec<uuid::Uuid> = records.iter().map(|r| r.id.uuid()).collect();
        let sql = "SELECT checkpoint, session, sequence FROM pins WHERE tenant = $1 AND checkpoint = ANY($2) ORDER BY session";
        let mut pins: BTreeMap<CheckpointId, Vec<(SessionId, u64)>> = BTreeMap::new();
        self.each(sql, &[&ids], |row| {
            let of = pins.entry(get(row, 0)?).or_default();
            of.push((get(row, 1)?, count(row, 2)?));
            Ok(())
        })?;
        for record in &mut records {
            record.pins = pins.remove(&record.id).unwrap_or_default();
        }
        Ok(records)
    }
}

impl Commits for Tx<'_> {
    fn put_intent(&mut self, repository: RepositoryId, at: Timestamp, scene: &Scene) -> Result<()> {
        let sql = "INSERT INTO intents (tenant, checkpoint, repository, worktree, git, at, scene, state) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, 'open') ON CONFLICT DO NOTHING";
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
        Ok(())
    }

    fn intent(&mut self, checkpoint: CheckpointId) -> Result<Option<IntentRecord>> {
        Ok(self.intents("checkpoint = $2", &[&Col(checkpoint)])?.pop())
    }

    fn intents_of_git(&mut self, process: &str) -> Result<Vec<IntentRecord>> {
        self.intents("git = $2 ORDER BY at DESC", &[&process])
    }

    fn open_intents(&mut self, repository: Option<RepositoryId>) -> Result<Vec<IntentRecord>> {
        match repository {
            Some(repository) => self.intents(
                "state = 'open' AND repository = $2 ORDER BY at",
                &[&Col(repository)],
            ),
            None => self.intents("state = 'open' ORDER BY at", &[]),
        }
    }

    fn close_intent(&mut self, checkpoint: CheckpointId, state: &IntentState) -> Result<()> {
        let sql =
            "UPDATE intents SET state = $3, \"commit\" = $4 WHERE tenant = $1 AND checkpoint = $2";
        let (word, commit) = intent_state(state);
        self.run(sql, &[&Col(checkpoint), &word, &commit])?;
        Ok(())
    }

    fn put_commit(&mut self, r: &CommitRecord) -> Result<()> {
        let sql = "INSERT INTO commits (tenant, repository, \"commit\", checkpoint, intent, session, committer, verdict, judgement, facts, patch, at, seen_by) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
             ON CONFLICT (tenant, repository, \"commit\") DO UPDATE SET checkpoint = excluded.checkpoint, intent = excluded.intent, \
             session = excluded.session, committer = excluded.committer, verdict = excluded.verdict, judgement = excluded.judgement, \
             facts = excluded.facts, patch = excluded.patch, at = excluded.at, seen_by = excluded.seen_by";
        let (kind, session) = committer(&r.judgement);
        self.change_committer(r.repository, &r.commit, |tx| {
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
            tx.run(sql, &of).map(drop)
        })?;
        self.index_commit_later(r.repository, &r.commit)?;
        self.commit_changed(r.repository, &r.commit)
    }

    fn commit(&mut self, repository: RepositoryId, commit: &Oid) -> Result<Option<CommitRecord>> {
        let of = "AND c.repository = $2 AND c.\"commit\" = $3";
        let found = self.commit_rows(of, &[&Col(repository), &commit.as_str()]);
        Ok(found?.pop())
    }

    fn commits_of_checkpoint(&mut self, checkpoint: CheckpointId) -> Result<Vec<CommitRecord>> {
        self.commit_rows(
            "AND c.checkpoint = $2 ORDER BY c.at DESC",
            &[&Col(checkpoint)],
        )
    }

    fn commits_of_session(
        &mut self,
        session: SessionId,
        limit: usize,
    ) -> Result<Vec<CommitRecord>> {
        let of = "AND c.session = $2 ORDER BY c.at DESC LIMIT $3";
        self.commit_rows(of, &[&Col(session), &int(limit as u64)])
    }

    fn commits(&mut self, filter: &CommitFilter) -> Result<Vec<CommitRecord>> {
        if let Some(found) = commits_of_each(filter, |one| self.commits(one)) {
            return found;
        }
        let repositories: Vec<_> = filter.repositories.iter().map(|id| Col(*id)).collect();
        // No digit comes after `g`.
        let digits = filter.prefix.as_ref().map(|p| (p, format!("{p}g")));
        let after = filter.after.as_ref();
        let after = after.map(|(at, commit, id)| (Col(*at), commit.as_str(), Col(*id)));
        let most = limit(filter.limit);
        let mut of = Conditions::of_tenant("c");
        match &repositories[..] {
            [] => {}
            // One is looked for as such: then an index has its commits in order.
            [one] => of.add("c.repository = ?", &[one]),
            _ => of.add("c.repository = ANY(?)", &[&repositories]),
        }
        if let Some((first, past)) = &digits {
            of.add("c.\"commit\" >= ? AND c.\"commit\" < ?", &[first, past]);
        }
        if let Some((at, commit, repository)) = &after {
            // The first condition is one that an index by time answers.
            of.add(
                "c.at <= ? AND (c.at, c.\"commit\", c.repository) < (?, ?, ?)",
                &[at, at, commit, repository],
            );
        }
        let sql = format!(
            "SELECT {COMMIT} FROM commits c WHERE {} \
             ORDER BY c.at DESC, c.\"commit\" DESC, c.repository DESC LIMIT ${}",
            of.texts.join(" AND "),
            of.values.len() + 2
        );
        of.values.push(&most);
        self.rows(&sql, &of.values, commit_row)
    }

    fn commits_by_patch(
        &mut self,
        repository: RepositoryId,
        patch: &str,
    ) -> Result<Vec<CommitRecord>> {
        let of = "AND c.repository = $2 AND c.patch = $3 ORDER BY c.at";
        self.commit_rows(of, &[&Col(repository), &patch])
    }

    fn unfinished(&mut self, repository: RepositoryId, limit: usize) -> Result<Vec<Oid>> {
        let sql = "SELECT \"commit\" FROM commits \
             WHERE tenant = $1 AND repository = $2 AND patch IS NULL ORDER BY at LIMIT $3";
        self.rows(sql, &[&Col(repository), &int(limit as u64)], |row| {
            get(row, 0)
        })
    }

    fn put_facts(&mut self, repository: RepositoryId, facts: &CommitFacts) -> Result<()> {
        let sql = "UPDATE commits SET facts = $4 WHERE tenant = $1 AND repository = $2 AND \"commit\" = $3";
        // Git knows when it was made.
        self.change_committer(repository, &facts.commit, |tx| {
            let of: [Value<'_>; 3] = [&Col(repository), &facts.commit.as_str(), &facts_json(facts)];
            tx.run(sql, &of).map(drop)
        })?;
        self.index_commit_later(repository, &facts.commit)?;
        self.commit_changed(repository, &facts.commit)
    }

    fn finish(&mut self, repository: RepositoryId, commit: &Oid, patch: &str) -> Result<()> {
        let sql = "UPDATE commits SET patch = $4 \
             WHERE tenant = $1 AND repository = $2 AND \"commit\" = $3 AND facts IS NOT NULL";
        self.run(sql, &[&Col(repository), &commit.as_str(), &patch])?;
        self.commit_changed(repository, commit)
    }

    fn rejudge(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        judgement: &Judgement,
    ) -> Result<()> {
        let sql = "UPDATE commits SET session = $4, committer = $5, verdict = $6, judgement = $7 \
             WHERE tenant = $1 AND repository = $2 AND \"commit\" = $3";
        let (kind, session) = committer(judgement);
        // Of the session before, and of the one now.
        self.index_commit_later(repository, commit)?;
        self.change_committer(repository, commit, |tx| {
            let of: [Value<'_>; 6] = [
                &Col(repository),
                &commit.as_str(),
                &session.map(Col),
                &kind,
                &word(&judgement.verdict),
                &json(judgement),
            ];
            tx.run(sql, &of).map(drop)
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
        let sql = "INSERT INTO rewrites (tenant, repository, old, new, command, at) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT DO NOTHING";
        let of: [Value<'_>; 5] = [
            &Col(repository),
            &old.as_str(),
            &new.as_str(),
            &command,
            &Col(at),
        ];
        match self.run(sql, &of)? {
            0 => Ok(()),
            _ => self.commit_changed(repository, new),
        }
    }

    fn rewritten_from(&mut self, repository: RepositoryId, new: &Oid) -> Result<Vec<Oid>> {
        let sql = "SELECT old FROM rewrites WHERE tenant = $1 AND repository = $2 AND new = $3 ORDER BY at, old";
        self.rows(sql, &[&Col(repository), &new.as_str()], |row| get(row, 0))
    }

    fn put_authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        files: &[FileAuthors],
    ) -> Result<()> {
        for table in ["authors", "authorships"] {
            let sql = format!(
                "DELETE FROM {table} WHERE tenant = $1 AND repository = $2 AND \"commit\" = $3"
            );
            self.run(&sql, &[&Col(repository), &commit.as_str()])?;
        }
        // A row without a path says that the authors were looked for.
        let mut rows = (vec![String::new()], vec!["[]".to_owned()]);
        let mut lines = BTreeMap::<SessionId, i64>::new();
        for file in stored_files(files) {
            rows.0.push(clean(&file.path));
            rows.1.push(json(&file.spans));
        }
        for file in files {
            for span in &file.spans {
                if let Origin::Session(session) = span.origin {
                    *lines.entry(session).or_default() += i64::from(span.lines());
                }
            }
        }
        let sql = "INSERT INTO authors (tenant, repository, \"commit\", path, spans) \
             SELECT $1::text, $2::uuid, $3::text, file.path, file.spans FROM unnest($4::text[], $5::text[]) AS file (path, spans)";
        let named = commit.as_str();
        self.run(sql, &[&Col(repository), &named, &rows.0, &rows.1])?;
        let sql = "INSERT INTO authorships (tenant, repository, \"commit\", session, lines) \
             SELECT $1::text, $2::uuid, $3::text, part.session, part.lines FROM unnest($4::uuid[], $5::bigint[]) AS part (session, lines)";
        let (sessions, lines): (Vec<uuid::Uuid>, Vec<i64>) =
            lines.into_iter().map(|(s, n)| (s.uuid(), n)).unzip();
        self.run(sql, &[&Col(repository), &named, &sessions, &lines])?;
        self.commit_changed(repository, commit)
    }

    fn authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Option<Vec<FileAuthors>>> {
        let sql = "SELECT path, spans FROM authors WHERE tenant = $1 AND repository = $2 AND \"commit\" = $3 ORDER BY path";
        let files = self.rows(sql, &[&Col(repository), &commit.as_str()], |row| {
            Ok(FileAuthors {
                path: raw(row, 0)?,
                spans: from_json("authors", raw(row, 1)?)?,
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
        let sql = "SELECT a.repository, a.\"commit\", a.lines FROM authorships a \
             JOIN commits c ON c.tenant = $1 AND c.repository = a.repository AND c.\"commit\" = a.\"commit\" \
             WHERE a.tenant = $1 AND a.session = $2 ORDER BY c.at DESC";
        self.rows(sql, &[&Col(session)], |row| {
            Ok((get(row, 0)?, get(row, 1)?, count(row, 2)?))
        })
    }

    fn put_checkpoint(&mut self, r: &CheckpointRecord) -> Result<()> {
        let sql = "INSERT INTO checkpoints (tenant, id, kind, repository, \"commit\", at) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT DO NOTHING";
        let commit = r.commit.as_ref().map(Oid::as_str);
        let of: [Value<'_>; 5] = [
            &Col(r.id),
            &word(&r.kind),
            &r.repository.map(Col),
            &commit,
            &Col(r.at),
        ];
        self.run(sql, &of)?;
        let pin = "INSERT INTO pins (tenant, checkpoint, session, sequence) \
             SELECT $1::text, $2::uuid, pin.session, pin.sequence FROM unnest($3::uuid[], $4::bigint[]) AS pin (session, sequence) \
             ON CONFLICT DO NOTHING";
        let (sessions, sequences): (Vec<uuid::Uuid>, Vec<i64>) =
            r.pins.iter().map(|(s, n)| (s.uuid(), int(*n))).unzip();
        self.run(pin, &[&Col(r.id), &sessions, &sequences])?;
        self.checkpoint_changed(r.id)
    }

    fn withdraw_checkpoint(&mut self, id: CheckpointId) -> Result<()> {
        for sql in [
            "DELETE FROM pins WHERE tenant = $1 AND checkpoint = $2",
            "DELETE FROM checkpoints WHERE tenant = $1 AND id = $2",
        ] {
            self.run(sql, &[&Col(id)])?;
        }
        self.checkpoint_changed(id)
    }

    fn checkpoint(&mut self, id: CheckpointId) -> Result<Option<CheckpointRecord>> {
        let of = "WHERE k.tenant = $1 AND k.id = $2";
        Ok(self.checkpoint_rows(of, &[&Col(id)])?.pop())
    }

    fn checkpoints_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<CheckpointRecord>> {
        self.checkpoint_rows(
            "WHERE k.tenant = $1 AND k.\"commit\" = $3 AND k.repository = $2 ORDER BY k.at, k.id",
            &[&Col(repository), &commit.as_str()],
        )
    }

    fn checkpoints(&mut self, filter: &CheckpointFilter) -> Result<Vec<CheckpointRecord>> {
        if let Some(found) = checkpoints_of_each(filter, |one| self.checkpoints(one)) {
            return found;
        }
        let session = filter.session.map(Col);
        let links: Vec<_> = filter
            .links
            .iter()
            .map(|l| (l.field(), l.value()))
            .collect();
        let repositories: Vec<_> = filter.repositories.iter().map(|id| Col(*id)).collect();
        let (since, until) = (filter.since.map(Col), filter.until.map(Col));
        let after = filter.after.map(|(at, id)| (Col(at), Col(id)));
        let most = limit(filter.limit);
        let mut of = Conditions::of_tenant("k");
        // All of these are about one session.
        let mut pinned: Vec<Value<'_>> = Vec::new();
        let mut pins = "k.id IN (SELECT p.checkpoint FROM pins p WHERE p.tenant = $1".to_owned();
        if let Some(session) = &session {
            pins.push_str(" AND p.session = ?");
            pinned.push(session);
        }
        for (field, value) in &links {
            pins.push_str(
                " AND p.session IN (SELECT l.session FROM links l WHERE l.tenant = $1 AND l.field = ? AND l.value = ?)",
            );
            pinned.push(field);
            pinned.push(value);
        }
        if !pinned.is_empty() {
            of.add(&format!("{pins})"), &pinned);
        }
        match &repositories[..] {
            [] => {}
            [one] => of.add("k.repository = ?", &[one]),
            _ => of.add("k.repository = ANY(?)", &[&repositories]),
        }
        of.add_if("k.at >= ?", since.as_ref().map(|v| v as _));
        of.add_if("k.at < ?", until.as_ref().map(|v| v as _));
        if let Some((at, id)) = &after {
            of.add("k.at <= ? AND (k.at, k.id) < (?, ?)", &[at, at, id]);
        }
        let rest = format!(
            "WHERE {} ORDER BY k.at DESC, k.id DESC LIMIT ${}",
            of.texts.join(" AND "),
            of.values.len() + 2
        );
        of.values.push(&most);
        self.checkpoint_rows(&rest, &of.values)
    }

    fn checkpoints_by_tail(&mut self, tail: &str) -> Result<Vec<CheckpointId>> {
        let sql = "SELECT id FROM checkpoints WHERE tenant = $1 \
             AND right(replace(id::text, '-', ''), 8) = ANY($3) \
             AND strpos(right(replace(id::text, '-', ''), greatest(8, length($2))), $2) > 0 \
             ORDER BY at DESC LIMIT 16";
        self.rows(sql, &[&tail, &short_forms(tail)], |row| get(row, 0))
    }
}
