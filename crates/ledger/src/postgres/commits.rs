//! What is done about commits and checkpoints in PostgreSQL's own way.

use std::collections::BTreeMap;

use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId};

use super::columns::{Col, clean, count, get, int, limit};
use super::listing::Conditions;
use super::tx::{Tx, Value};
use crate::columns::Row;
use crate::record::*;
use crate::verbs::commits::{CHECKPOINT, COMMIT, OwnCommits, checkpoint_row, commit_row};
use crate::{CheckpointFilter, CommitFilter, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

impl OwnCommits for Tx<'_> {
    fn list_commits(&mut self, filter: &CommitFilter) -> Result<Vec<CommitRecord>> {
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
            "{COMMIT} WHERE {} ORDER BY c.at DESC, c.\"commit\" DESC, c.repository DESC LIMIT ${}",
            of.texts.join(" AND "),
            of.values.len() + 2
        );
        of.values.push(&most);
        self.rows(&sql, &of.values, |row| commit_row(&Row::Postgres(row)))
    }

    fn list_checkpoints(&mut self, filter: &CheckpointFilter) -> Result<Vec<CheckpointRecord>> {
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
        let sql = format!(
            "{CHECKPOINT} WHERE {} ORDER BY k.at DESC, k.id DESC LIMIT ${}",
            of.texts.join(" AND "),
            of.values.len() + 2
        );
        of.values.push(&most);
        let mut records = self.rows(&sql, &of.values, |row| checkpoint_row(&Row::Postgres(row)))?;
        self.add_pins(&mut records)?;
        Ok(records)
    }

    fn add_authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        files: &[(String, String)],
        lines: &BTreeMap<SessionId, u64>,
    ) -> Result<()> {
        let sql = "INSERT INTO authors (tenant, repository, \"commit\", path, spans) \
             SELECT $1::text, $2::uuid, $3::text, file.path, file.spans FROM unnest($4::text[], $5::text[]) AS file (path, spans)";
        let named = commit.as_str();
        let (paths, spans): (Vec<String>, Vec<&str>) = files
            .iter()
            .map(|(path, spans)| (clean(path), spans.as_str()))
            .unzip();
        self.run(sql, &[&Col(repository), &named, &paths, &spans])?;
        let sql = "INSERT INTO authorships (tenant, repository, \"commit\", session, lines) \
             SELECT $1::text, $2::uuid, $3::text, part.session, part.lines FROM unnest($4::uuid[], $5::bigint[]) AS part (session, lines)";
        let (sessions, lines): (Vec<uuid::Uuid>, Vec<i64>) =
            lines.iter().map(|(s, n)| (s.uuid(), int(*n))).unzip();
        self.run(sql, &[&Col(repository), &named, &sessions, &lines])?;
        Ok(())
    }

    fn pin(&mut self, id: CheckpointId, pins: &[(SessionId, u64)]) -> Result<()> {
        let sql = "INSERT INTO pins (tenant, checkpoint, session, sequence) \
             SELECT $1::text, $2::uuid, pin.session, pin.sequence FROM unnest($3::uuid[], $4::bigint[]) AS pin (session, sequence) \
             ON CONFLICT DO NOTHING";
        let (sessions, sequences): (Vec<uuid::Uuid>, Vec<i64>) =
            pins.iter().map(|(s, n)| (s.uuid(), int(*n))).unzip();
        self.run(sql, &[&Col(id), &sessions, &sequences]).map(drop)
    }

    fn add_pins(&mut self, records: &mut [CheckpointRecord]) -> Result<()> {
        let ids: Vec<uuid::Uuid> = records.iter().map(|r| r.id.uuid()).collect();
        let sql = "SELECT checkpoint, session, sequence FROM pins WHERE tenant = $1 AND checkpoint = ANY($2) ORDER BY session";
        let mut pins: BTreeMap<CheckpointId, Vec<(SessionId, u64)>> = BTreeMap::new();
        self.each(sql, &[&ids], |row| {
            let of = pins.entry(get(row, 0)?).or_default();
            of.push((get(row, 1)?, count(row, 2)?));
            Ok(())
        })?;
        for record in records {
            record.pins = pins.remove(&record.id).unwrap_or_default();
        }
        Ok(())
    }
}
