//! What destinations lack, and replicas, in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::{LedgerId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use super::scope;
use crate::record::*;
use crate::replicas::{
    Destination, DueDocument, ReplicaRepository, ReplicaRow, ReplicaTurn, RewriteRecord,
};
use crate::row::{from_word, pack, unpack};
use crate::stored::{Subjects, read_identity, stored_roots};
use crate::{LedgerError, Replicas};

type Result<T> = std::result::Result<T, LedgerError>;

const ROW: &str = "sequence, turn, id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload";

const REPOSITORY: &str = "SELECT e.repository, e.home, e.host, e.common_dir, r.roots, r.remote \
     FROM replica_repositories e JOIN repositories r ON r.id = e.repository";

/// An entry whose source and payload are not read yet.
type Raw = (ReplicaRow, String, Option<Vec<u8>>);

fn raw_row(row: &Row<'_>) -> rusqlite::Result<Raw> {
    let salt: Vec<u8> = row.get(10)?;
    let entry = ReplicaRow {
        sequence: count(row, 0)?,
        turn: opt(row, 1)?,
        id: get(row, 2)?,
        source: siglum_domain::observation::Source::Siglum,
        key: row.get(4)?,
        event: row.get(5)?,
        subagent: row.get(6)?,
        kind: row.get(7)?,
        at: get(row, 8)?,
        recorded_at: get(row, 9)?,
        salt: salt.try_into().ok(),
        digest: row.get(11)?,
        fact: None,
    };
    Ok((entry, row.get(3)?, row.get(12)?))
}

fn whole_row((row, source, payload): Raw) -> Result<ReplicaRow> {
    Ok(ReplicaRow {
        source: from_word("source", &source)?,
        fact: payload.map(|p| unpack(&p)).transpose()?,
        ..row
    })
}

fn replica_repository(row: &Row<'_>) -> rusqlite::Result<ReplicaRepository> {
    let roots: String = row.get(4)?;
    Ok(ReplicaRepository {
        id: get(row, 0)?,
        home: get(row, 1)?,
        host: row.get(2)?,
        common_dir: row.get(3)?,
        identity: read_identity(&roots, row.get(5)?, None),
    })
}

impl Tx<'_> {
    fn put_replica_row(&mut self, session: SessionId, row: &ReplicaRow) -> Result<()> {
        let sql = "INSERT INTO observations (id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload, sum) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, row_sum(?1, ?2, ?3, ?7, ?8, ?9, ?10, ?11))";
        self.db.prepare_cached(sql)?.execute(params![
            Col(row.id),
            Col(session),
            int(row.sequence),
            row.source.as_str(),
            row.key,
            row.event,
            row.turn.map(Col),
            row.subagent,
            row.kind,
            Col(row.at),
            Col(row.recorded_at),
            row.salt.as_ref().map_or(&[][..], |s| &s[..]),
            row.digest,
            row.fact.as_deref().map(pack),
        ])?;
        Ok(())
    }
}

impl Replicas for Tx<'_> {
    fn destination(&mut self, name: &str) -> Result<Option<Destination>> {
        let sql = "SELECT stated, tries, reason, retry_at FROM destinations WHERE projection = ?1";
        let destination = |row: &Row<'_>| {
            Ok(Destination {
                stated: count(row, 0)?,
                tries: u32::try_from(count(row, 1)?).unwrap_or(u32::MAX),
                reason: row.get(2)?,
                retry_at: get(row, 3)?,
            })
        };
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row([name], destination).optional()?)
    }

    fn put_destination(&mut self, name: &str, d: &Destination) -> Result<()> {
        let sql = "UPDATE destinations SET stated = ?2, tries = ?3, reason = ?4, retry_at = ?5 WHERE projection = ?1";
        self.db.prepare_cached(sql)?.execute((
            name,
            int(d.stated),
            d.tries,
            &d.reason,
            Col(d.retry_at),
        ))?;
        Ok(())
    }

    fn due_documents(&mut self, name: &str, limit: usize) -> Result<Vec<DueDocument>> {
        let sql = format!(
            "SELECT kind, document, due FROM documents INDEXED BY documents_due WHERE projection = ?1 AND due > sent \
             AND {} ORDER BY kind, document LIMIT ?2",
            scope::document()
        );
        let due = |row: &Row<'_>| {
            Ok(DueDocument {
                kind: row.get(0)?,
                document: row.get(1)?,
                due: count(row, 2)?,
            })
        };
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((name, int(limit as u64)), due)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn documents_due(&mut self, name: &str) -> Result<u64> {
        let sql = format!(
            "SELECT count(*) FROM documents INDEXED BY documents_due WHERE projection = ?1 AND due > sent AND {}",
            scope::document()
        );
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([name], |row| count(row, 0))?)
    }

    fn document_sent(&mut self, name: &str, d: &DueDocument) -> Result<()> {
        let sql = "UPDATE documents SET sent = max(sent, min(?4, due)) WHERE projection = ?1 AND kind = ?2 AND document = ?3";
        self.db
            .prepare_cached(sql)?
            .execute((name, &d.kind, &d.document, int(d.due)))?;
        Ok(())
    }

    fn restart_documents(&mut self, name: &str) -> Result<()> {
        for sql in [
            "UPDATE documents SET sent = 0 WHERE projection = ?1",
            "UPDATE destinations SET stated = 0, tries = 0, reason = NULL, retry_at = 0 WHERE projection = ?1",
        ] {
            self.db.prepare_cached(sql)?.execute([name])?;
        }
        Ok(())
    }

    fn release(
        &mut self,
        name: &str,
        session: SessionId,
        until: Timestamp,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "UPDATE deliveries SET retry_at = ?4 WHERE projection = ?1 AND session = ?2 AND retry_at = ?3";
        self.db
            .prepare_cached(sql)?
            .execute((name, Col(session), Col(until), Col(at)))?;
        Ok(())
    }

    fn statements_of_ledger(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StatementRecord>> {
        let sql = "SELECT ledger, sequence, at, by, source, body FROM statements WHERE ledger = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";
        self.statements(sql, (Col(ledger), int(after), int(limit as u64)))
    }

    fn last_stated(&mut self, ledger: LedgerId) -> Result<u64> {
        let sql = "SELECT coalesce(max(sequence), 0) FROM statements WHERE ledger = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row([Col(ledger)], |row| count(row, 0))?)
    }

    fn log_rows(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ReplicaRow>> {
        let sql = format!(
            "SELECT {ROW} FROM observations WHERE session = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query
            .query_map((Col(session), int(after), int(limit as u64)), raw_row)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        rows.into_iter().map(whole_row).collect()
    }

    fn turns_named(&mut self, session: SessionId, turns: &[TurnId]) -> Result<Vec<ReplicaTurn>> {
        let sql = "SELECT id, native, opened_at, prompt FROM turns WHERE id = ?1 AND session = ?2";
        let mut query = self.db.prepare_cached(sql)?;
        let turn = |row: &Row<'_>| {
            let prompt: Option<i64> = row.get(3)?;
            Ok(ReplicaTurn {
                id: get(row, 0)?,
                native: row.get(1)?,
                opened_at: get(row, 2)?,
                prompt: prompt.and_then(|n| u64::try_from(n).ok()),
            })
        };
        let mut found = Vec::with_capacity(turns.len());
        for id in turns {
            found.extend(query.query_row((Col(*id), Col(session)), turn).optional()?);
        }
        found.sort_by_key(|t| (t.opened_at, t.id));
        Ok(found)
    }

    fn rewrites_to(&mut self, repository: RepositoryId, new: &Oid) -> Result<Vec<RewriteRecord>> {
        let sql = "SELECT old, command, at FROM rewrites WHERE repository = ?1 AND new = ?2 ORDER BY at, old";
        let rewrite = |row: &Row<'_>| {
            Ok(RewriteRecord {
                old: get(row, 0)?,
                command: row.get(1)?,
                at: get(row, 2)?,
            })
        };
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map((Col(repository), new.as_str()), rewrite)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn stamp(&mut self, home: LedgerId, kind: &str, document: &str) -> Result<Option<Timestamp>> {
        let sql =
            "SELECT stamp FROM replica_stamps WHERE home = ?1 AND kind = ?2 AND document = ?3";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query
            .query_row((Col(home), kind, document), |row| get(row, 0))
            .optional()?)
    }

    fn put_stamp(
        &mut self,
        home: LedgerId,
        kind: &str,
        document: &str,
        stamp: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO replica_stamps (home, kind, document, stamp) VALUES (?1, ?2, ?3, ?4)";
        self.db
            .prepare_cached(sql)?
            .execute((Col(home), kind, document, Col(stamp)))?;
        Ok(())
    }

    fn put_replica_repository(&mut self, r: &ReplicaRepository, at: Timestamp) -> Result<()> {
        let sql = "INSERT INTO repositories (id, common_dir, first_at, roots, remote) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (id) DO UPDATE SET common_dir = excluded.common_dir, roots = excluded.roots, remote = excluded.remote";
        // Its place is nobody's here, and another one may be called the same: each has a name of its own among ours.
        let dir = format!("replica:{}", r.id.uuid().simple());
        let (roots, remote) = (stored_roots(&r.identity), &r.identity.remote);
        self.db
            .prepare_cached(sql)?
            .execute((Col(r.id), dir, Col(at), roots, remote))?;
        self.sum("repositories", "id = ?1", [Col(r.id)])?;
        let sql = "INSERT OR REPLACE INTO replica_repositories (repository, home, host, common_dir) VALUES (?1, ?2, ?3, ?4)";
        self.db
            .prepare_cached(sql)?
            .execute((Col(r.id), Col(r.home), &r.host, &r.common_dir))?;
        Ok(())
    }

    fn replica_repository(&mut self, id: RepositoryId) -> Result<Option<ReplicaRepository>> {
        let mut query = self
            .db
            .prepare_cached(&format!("{REPOSITORY} WHERE e.repository = ?1"))?;
        Ok(query.query_row([Col(id)], replica_repository).optional()?)
    }

    fn replica_repositories(&mut self) -> Result<Vec<ReplicaRepository>> {
        let mut query = self
            .db
            .prepare_cached(&format!("{REPOSITORY} ORDER BY e.repository"))?;
        Ok(query
            .query_map([], replica_repository)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn put_replica_session(&mut self, r: &SessionRecord, natives: &[NativeId]) -> Result<()> {
        self.insert_session(
            r,
            "ON CONFLICT (id) DO UPDATE SET agent = excluded.agent, parent = excluded.parent, \
             parent_relation = excluded.parent_relation, created_at = excluded.created_at, last_at = excluded.last_at, \
             ended_at = excluded.ended_at, cwd = excluded.cwd, repository = excluded.repository, \
             worktree = excluded.worktree, parent_at = excluded.parent_at, archived_at = excluded.archived_at, \
             unseen = 0, folded = 0",
        )?;
        // Its commits may have come before it, and it may have been active again.
        self.works_at_its_commits(r.id)?;
        self.fold_hour(r.id)?;
        self.db
            .prepare_cached("DELETE FROM replica_aliases WHERE session = ?1")?
            .execute([Col(r.id)])?;
        let mut put = self.db.prepare_cached(
            "INSERT OR IGNORE INTO replica_aliases (session, native, place) VALUES (?1, ?2, ?3)",
        )?;
        for (place, native) in natives.iter().enumerate() {
            put.execute((Col(r.id), native.as_str(), int(place as u64)))?;
        }
        // It is found by the conversation, too, which is no native id: it has no place among them.
        put.execute((Col(r.id), r.conversation.as_str(), -1))?;
        Ok(())
    }

    fn put_replica_rows(
        &mut self,
        session: SessionId,
        turns: &[ReplicaTurn],
        rows: &[ReplicaRow],
    ) -> Result<()> {
        let sql = "INSERT INTO turns (id, session, native, opened_at, prompt) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT (id) DO UPDATE SET prompt = coalesce(prompt, excluded.prompt), \
             opened_at = min(opened_at, excluded.opened_at) WHERE session = excluded.session";
        for turn in turns {
            self.db.prepare_cached(sql)?.execute((
                Col(turn.id),
                Col(session),
                &turn.native,
                Col(turn.opened_at),
                turn.prompt.map(int),
            ))?;
            self.sum("turns", "id = ?1", [Col(turn.id)])?;
        }
        for row in rows {
            self.put_replica_row(session, row)?;
        }
        self.db
            .prepare_cached("UPDATE sessions SET head = head + ?2 WHERE id = ?1")?
            .execute((Col(session), int(rows.len() as u64)))?;
        Ok(())
    }

    fn replace_fact(
        &mut self,
        session: SessionId,
        sequence: u64,
        fact: Option<&str>,
    ) -> Result<()> {
        let sql = "UPDATE observations SET payload = ?3, salt = x'' WHERE session = ?1 AND sequence = ?2 AND payload IS NOT NULL";
        self.db
            .prepare_cached(sql)?
            .execute((Col(session), int(sequence), fact.map(pack)))?;
        Ok(())
    }

    fn erasure(&mut self, session: SessionId) -> Result<Option<u64>> {
        let sql = "SELECT restored FROM erasures WHERE session = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query
            .query_row([Col(session)], |row| count(row, 0))
            .optional()?)
    }

    fn put_erasure(&mut self, session: SessionId, restored: Option<u64>) -> Result<()> {
        let Some(restored) = restored else {
            let sql = "DELETE FROM erasures WHERE session = ?1";
            self.db.prepare_cached(sql)?.execute([Col(session)])?;
            return Ok(());
        };
        let sql = "INSERT OR REPLACE INTO erasures (session, restored) VALUES (?1, ?2)";
        let values = (Col(session), int(restored));
        self.db.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn restore_rows(&mut self, session: SessionId, rows: &[ReplicaRow]) -> Result<()> {
        let sql = "UPDATE observations SET payload = ?3, salt = ?4, kind = ?5 \
             WHERE session = ?1 AND sequence = ?2 AND salt = x''";
        for row in rows {
            let Some(fact) = &row.fact else { continue };
            let salt = row.salt.as_ref().map_or(&[][..], |s| &s[..]);
            let values = (Col(session), int(row.sequence), pack(fact), salt, &row.kind);
            self.db.prepare_cached(sql)?.execute(values)?;
            let key = (Col(session), int(row.sequence));
            self.sum("observations", "session = ?1 AND sequence = ?2", key)?;
        }
        let sql = "UPDATE sessions SET forgotten_at = NULL, forgotten_whole = 0, folded = 0 WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute([Col(session)])?;
        self.sum("sessions", "id = ?1", [Col(session)])
    }

    fn put_statement(&mut self, s: &StatementRecord) -> Result<bool> {
        let of = Subjects::from_statement(&s.statement)?;
        let sql = "INSERT OR IGNORE INTO statements (ledger, sequence, at, by, source, kind, body, session, repository, \"commit\") \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let added = self.db.prepare_cached(sql)?.execute(params![
            Col(s.ledger),
            int(s.sequence),
            Col(s.at),
            s.by,
            s.source,
            of.kind,
            of.body,
            of.session.map(Col),
            of.repository.map(Col),
            of.commit.map(Oid::as_str),
        ])?;
        let key = (Col(s.ledger), int(s.sequence));
        self.sum("statements", "ledger = ?1 AND sequence = ?2", key)?;
        if let Statement::LinkAttached { session, link } | Statement::LinkDetached { session, link } =
            &s.statement
            && added > 0
        {
            self.fold_link(*session, link)?;
        }
        Ok(added > 0)
    }

    fn drop_statement(&mut self, ledger: LedgerId, sequence: u64) -> Result<()> {
        let before = sequence.saturating_sub(1);
        let found = self.statements_of_ledger(ledger, before, 1)?;
        let key = (Col(ledger), int(sequence));
        self.delete("statements", "ledger = ?1 AND sequence = ?2", key)?;
        for record in found.iter().filter(|r| r.sequence == sequence) {
            if let Statement::LinkAttached { session, link }
            | Statement::LinkDetached { session, link } = &record.statement
            {
                self.fold_link(*session, link)?;
            }
        }
        Ok(())
    }

    fn delivered(
        &mut self,
        name: &str,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>> {
        let behind = match after {
            Some(_) => "d.session > ?3",
            None => "?3 IS NULL",
        };
        let sql = format!(
            "SELECT d.session FROM deliveries d JOIN sessions s ON s.id = d.session \
             WHERE d.projection = ?1 AND d.taken > 0 AND s.home = ?2 AND {behind} \
             ORDER BY d.session LIMIT ?4"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let values = (name, Col(self.ledger), after.map(Col), int(limit as u64));
        let rows = query.query_map(values, |row| get(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn commits_named(&mut self, commit: &Oid) -> Result<Vec<CommitRecord>> {
        self.commit_rows(
            "INDEXED BY commits_by_oid WHERE c.\"commit\" = ?1 ORDER BY c.at, c.repository",
            [commit.as_str()],
        )
    }
}
