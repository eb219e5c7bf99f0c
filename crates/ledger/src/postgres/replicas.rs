//! What destinations lack, and replicas, in PostgreSQL.

use postgres::Row;
use siglum_domain::observation::Source;
use siglum_domain::{LedgerId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId};

use super::columns::{Col, clean, count, get, int, opt, raw};
use super::scope;
use super::tx::{Tx, Value};
use crate::record::*;
use crate::replicas::{
    Destination, DueDocument, ReplicaRepository, ReplicaRow, ReplicaTurn, RewriteRecord,
};
use crate::row::{from_word, pack};
use crate::stored::{Subjects, read_identity, stored_roots};
use crate::{LedgerError, Replicas};

type Result<T> = std::result::Result<T, LedgerError>;

const ROW: &str = "sequence, turn, id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload";

const REPOSITORY: &str = "SELECT e.repository, e.home, e.host, e.common_dir, r.roots, r.remote \
     FROM replica_repositories e JOIN repositories r ON r.tenant = $1 AND r.id = e.repository WHERE e.tenant = $1";

fn replica_repository(row: &Row) -> Result<ReplicaRepository> {
    let roots: String = raw(row, 4)?;
    Ok(ReplicaRepository {
        id: get(row, 0)?,
        home: get(row, 1)?,
        host: raw(row, 2)?,
        common_dir: raw(row, 3)?,
        identity: read_identity(&roots, raw(row, 5)?, None),
    })
}

/// A row, and its payload as it is stored.
fn replica_row(row: &Row) -> Result<(ReplicaRow, Option<Vec<u8>>)> {
    let source: Source = from_word("source", raw(row, 3)?)?;
    let salt: &[u8] = raw(row, 10)?;
    let replica = ReplicaRow {
        sequence: count(row, 0)?,
        turn: opt(row, 1)?,
        id: get(row, 2)?,
        source,
        key: raw(row, 4)?,
        event: raw(row, 5)?,
        subagent: raw(row, 6)?,
        kind: raw(row, 7)?,
        at: get(row, 8)?,
        recorded_at: get(row, 9)?,
        salt: salt.try_into().ok(),
        digest: raw(row, 11)?,
        fact: None,
    };
    Ok((replica, raw(row, 12)?))
}

/// What a destination lacks once a document changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// Nobody looked yet in this transaction.
    Unknown,
    /// There is no destination, and none is added before this transaction ends.
    Nobody,
    /// There are some.
    Somebody,
}

impl Tx<'_> {
    /// A document changed, so that every destination lacks it. Whoever adds a destination waits for those that hold the
    /// tenant's row, and they for him: no change slips through between what he finds and what finds him.
    pub(super) fn changed(&mut self, kind: &str, document: &str) -> Result<()> {
        if self.watch == Watch::Unknown {
            let held = "SELECT tenant FROM tenants WHERE tenant = $1 FOR KEY SHARE";
            self.row(held, &[], |_| Ok(()))?;
            let any = "SELECT EXISTS (SELECT 1 FROM destinations WHERE tenant = $1)";
            self.watch = match self.one(any, &[], |row| raw(row, 0))? {
                true => Watch::Somebody,
                false => Watch::Nobody,
            };
        }
        if self.watch == Watch::Nobody {
            return Ok(());
        }
        let sql = "INSERT INTO documents (tenant, projection, kind, document, due) \
             SELECT $1::text, d.projection, $2::text, $3::text, 1 FROM destinations d WHERE d.tenant = $1 \
             ON CONFLICT (tenant, projection, kind, document) DO UPDATE SET due = documents.due + 1";
        self.run(sql, &[&kind, &document]).map(drop)
    }

    pub(super) fn session_changed(&mut self, session: SessionId) -> Result<()> {
        self.changed("session", &session.uuid().simple().to_string())
    }

    pub(super) fn checkpoint_changed(&mut self, id: siglum_domain::CheckpointId) -> Result<()> {
        self.changed("checkpoint", &id.uuid().simple().to_string())
    }

    pub(super) fn commit_changed(&mut self, repository: RepositoryId, commit: &Oid) -> Result<()> {
        self.changed(
            "commit",
            &format!("{}:{commit}", repository.uuid().simple()),
        )
    }

    /// Everything that there is is due at a new destination.
    pub(super) fn add_destination(&mut self, name: &str) -> Result<()> {
        self.watch = Watch::Somebody;
        self.run(
            "INSERT INTO destinations (tenant, projection) VALUES ($1, $2)",
            &[&name],
        )?;
        let hex = |id: &str| format!("replace({id}::text, '-', '')");
        let of = |kind: &str, document: &str, table: &str| {
            format!(
                "SELECT $1::text, $2::text, '{kind}', {document}, 1 FROM {table} WHERE tenant = $1"
            )
        };
        let all = [
            of("repository", &hex("id"), "repositories"),
            of("session", &hex("id"), "sessions"),
            of("checkpoint", &hex("id"), "checkpoints"),
            of(
                "commit",
                &format!("{} || ':' || \"commit\"", hex("repository")),
                "commits",
            ),
        ];
        for part in all {
            let sql =
                format!("INSERT INTO documents (tenant, projection, kind, document, due) {part}");
            self.run(&sql, &[&name])?;
        }
        Ok(())
    }

    pub(super) fn drop_destination(&mut self, name: &str) -> Result<()> {
        for table in ["destinations", "documents"] {
            let sql = format!("DELETE FROM {table} WHERE tenant = $1 AND projection = $2");
            self.run(&sql, &[&name])?;
        }
        Ok(())
    }

    fn put_replica_row(&mut self, session: SessionId, row: &ReplicaRow) -> Result<()> {
        let sql = "INSERT INTO observations (tenant, id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
        let salt = row.salt.as_ref().map_or(&[][..], |s| &s[..]);
        let of: [Value<'_>; 14] = [
            &Col(row.id),
            &Col(session),
            &int(row.sequence),
            &row.source.as_str(),
            &row.key,
            &row.event,
            &row.turn.map(Col),
            &row.subagent,
            &row.kind,
            &Col(row.at),
            &Col(row.recorded_at),
            &salt,
            &row.digest,
            &row.fact.as_deref().map(pack),
        ];
        self.run(sql, &of).map(drop)
    }
}

impl Replicas for Tx<'_> {
    fn destination(&mut self, name: &str) -> Result<Option<Destination>> {
        let sql = "SELECT stated, tries, reason, retry_at FROM destinations WHERE tenant = $1 AND projection = $2";
        self.row(sql, &[&name], |row| {
            Ok(Destination {
                stated: count(row, 0)?,
                tries: u32::try_from(count(row, 1)?).unwrap_or(u32::MAX),
                reason: raw(row, 2)?,
                retry_at: get(row, 3)?,
            })
        })
    }

    fn put_destination(&mut self, name: &str, d: &Destination) -> Result<()> {
        let sql = "UPDATE destinations SET stated = $3, tries = $4, reason = $5, retry_at = $6 \
             WHERE tenant = $1 AND projection = $2";
        let of: [Value<'_>; 5] = [
            &name,
            &int(d.stated),
            &i64::from(d.tries),
            &d.reason,
            &Col(d.retry_at),
        ];
        self.run(sql, &of).map(drop)
    }

    fn due_documents(&mut self, name: &str, limit: usize) -> Result<Vec<DueDocument>> {
        let sql = format!(
            "SELECT kind, document, due FROM documents WHERE tenant = $1 AND projection = $2 AND due > sent \
             AND {} ORDER BY kind, document LIMIT $3",
            scope::document()
        );
        self.rows(&sql, &[&name, &int(limit as u64)], |row| {
            Ok(DueDocument {
                kind: raw(row, 0)?,
                document: raw(row, 1)?,
                due: count(row, 2)?,
            })
        })
    }

    fn documents_due(&mut self, name: &str) -> Result<u64> {
        let sql = format!(
            "SELECT count(*) FROM documents WHERE tenant = $1 AND projection = $2 AND due > sent AND {}",
            scope::document()
        );
        self.one(&sql, &[&name], |row| count(row, 0))
    }

    fn document_sent(&mut self, name: &str, d: &DueDocument) -> Result<()> {
        let sql = "UPDATE documents SET sent = greatest(sent, least($5, due)) \
             WHERE tenant = $1 AND projection = $2 AND kind = $3 AND document = $4";
        self.run(sql, &[&name, &d.kind, &d.document, &int(d.due)])
            .map(drop)
    }

    fn restart_documents(&mut self, name: &str) -> Result<()> {
        for sql in [
            "UPDATE documents SET sent = 0 WHERE tenant = $1 AND projection = $2",
            "UPDATE destinations SET stated = 0, tries = 0, reason = NULL, retry_at = 0 WHERE tenant = $1 AND projection = $2",
        ] {
            self.run(sql, &[&name])?;
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
        let sql = "UPDATE deliveries SET retry_at = $5 WHERE tenant = $1 AND projection = $2 AND session = $3 AND retry_at = $4";
        self.run(sql, &[&name, &Col(session), &Col(until), &Col(at)])
            .map(drop)
    }

    fn statements_of_ledger(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StatementRecord>> {
        let sql = "SELECT ledger, sequence, at, by, source, body FROM statements \
             WHERE tenant = $1 AND ledger = $2 AND sequence > $3 ORDER BY sequence LIMIT $4";
        let of: [Value<'_>; 3] = [&Col(ledger), &int(after), &int(limit as u64)];
        self.rows(sql, &of, super::statements::statement_row)
    }

    fn last_stated(&mut self, ledger: LedgerId) -> Result<u64> {
        let sql =
            "SELECT coalesce(max(sequence), 0) FROM statements WHERE tenant = $1 AND ledger = $2";
        self.one(sql, &[&Col(ledger)], |row| count(row, 0))
    }

    fn log_rows(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ReplicaRow>> {
        let sql = format!(
            "SELECT {ROW} FROM observations WHERE tenant = $1 AND session = $2 AND sequence > $3 ORDER BY sequence LIMIT $4"
        );
        let of: [Value<'_>; 3] = [&Col(session), &int(after), &int(limit as u64)];
        let found = self.rows(&sql, &of, replica_row)?;
        let (mut rows, packed): (Vec<ReplicaRow>, Vec<_>) = found.into_iter().unzip();
        for (row, fact) in rows.iter_mut().zip(self.unpacked(packed)?) {
            row.fact = fact;
        }
        Ok(rows)
    }

    fn turns_named(&mut self, session: SessionId, turns: &[TurnId]) -> Result<Vec<ReplicaTurn>> {
        let sql = "SELECT id, native, opened_at, prompt FROM turns \
             WHERE tenant = $1 AND session = $2 AND id = ANY($3) ORDER BY opened_at, id";
        let turns: Vec<uuid::Uuid> = turns.iter().map(|t| t.uuid()).collect();
        self.rows(sql, &[&Col(session), &turns], |row| {
            let prompt: Option<i64> = raw(row, 3)?;
            Ok(ReplicaTurn {
                id: get(row, 0)?,
                native: raw(row, 1)?,
                opened_at: get(row, 2)?,
                prompt: prompt.and_then(|n| u64::try_from(n).ok()),
            })
        })
    }

    fn rewrites_to(&mut self, repository: RepositoryId, new: &Oid) -> Result<Vec<RewriteRecord>> {
        let sql = "SELECT old, command, at FROM rewrites WHERE tenant = $1 AND repository = $2 AND new = $3 ORDER BY at, old";
        self.rows(sql, &[&Col(repository), &new.as_str()], |row| {
            Ok(RewriteRecord {
                old: get(row, 0)?,
                command: raw(row, 1)?,
                at: get(row, 2)?,
            })
        })
    }

    fn stamp(&mut self, home: LedgerId, kind: &str, document: &str) -> Result<Option<Timestamp>> {
        let sql = "SELECT stamp FROM replica_stamps WHERE tenant = $1 AND home = $2 AND kind = $3 AND document = $4";
        self.row(sql, &[&Col(home), &kind, &document], |row| get(row, 0))
    }

    fn put_stamp(
        &mut self,
        home: LedgerId,
        kind: &str,
        document: &str,
        stamp: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO replica_stamps (tenant, home, kind, document, stamp) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, home, kind, document) DO UPDATE SET stamp = excluded.stamp";
        self.run(sql, &[&Col(home), &kind, &document, &Col(stamp)])
            .map(drop)
    }

    fn put_replica_repository(&mut self, r: &ReplicaRepository, at: Timestamp) -> Result<()> {
        let sql = "INSERT INTO repositories (tenant, id, common_dir, first_at, roots, remote) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (tenant, id) DO UPDATE SET common_dir = excluded.common_dir, roots = excluded.roots, \
             remote = excluded.remote";
        // Its place is nobody's here, and another one may be called the same: each has a name of its own among ours.
        let dir = format!("replica:{}", r.id.uuid().simple());
        let roots = stored_roots(&r.identity);
        self.run(
            sql,
            &[&Col(r.id), &dir, &Col(at), &roots, &r.identity.remote],
        )?;
        let sql = "INSERT INTO replica_repositories (tenant, repository, home, host, common_dir) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, repository) DO UPDATE SET home = excluded.home, host = excluded.host, \
             common_dir = excluded.common_dir";
        self.run(sql, &[&Col(r.id), &Col(r.home), &r.host, &r.common_dir])
            .map(drop)
    }

    fn replica_repository(&mut self, id: RepositoryId) -> Result<Option<ReplicaRepository>> {
        let sql = format!("{REPOSITORY} AND e.repository = $2");
        self.row(&sql, &[&Col(id)], replica_repository)
    }

    fn replica_repositories(&mut self) -> Result<Vec<ReplicaRepository>> {
        let sql = format!("{REPOSITORY} ORDER BY e.repository");
        self.rows(&sql, &[], replica_repository)
    }

    fn put_replica_session(&mut self, r: &SessionRecord, natives: &[NativeId]) -> Result<()> {
        self.insert_session(
            r,
            "ON CONFLICT (tenant, id) DO UPDATE SET agent = excluded.agent, parent = excluded.parent, \
             parent_relation = excluded.parent_relation, created_at = excluded.created_at, last_at = excluded.last_at, \
             ended_at = excluded.ended_at, cwd = excluded.cwd, repository = excluded.repository, \
             worktree = excluded.worktree, parent_at = excluded.parent_at, archived_at = excluded.archived_at, \
             unseen = false, folded = 0",
        )?;
        // Its commits may have come before it, and it may have been active again.
        self.works_at_its_commits(r.id)?;
        self.fold_hour(r.id)?;
        let gone = "DELETE FROM replica_aliases WHERE tenant = $1 AND session = $2";
        self.run(gone, &[&Col(r.id)])?;
        let names: Vec<String> = natives.iter().map(|n| clean(n.as_str())).collect();
        let sql = "INSERT INTO replica_aliases (tenant, session, native, place) \
             SELECT $1::text, $2::uuid, n.native, n.place FROM unnest($3::text[]) WITH ORDINALITY AS n (native, place) \
             ON CONFLICT DO NOTHING";
        self.run(sql, &[&Col(r.id), &names])?;
        // It is found by the conversation, too, which is no native id: it has no place among them.
        let sql = "INSERT INTO replica_aliases (tenant, session, native, place) VALUES ($1, $2, $3, -1) ON CONFLICT DO NOTHING";
        self.run(sql, &[&Col(r.id), &r.conversation.as_str()])
            .map(drop)
    }

    fn put_replica_rows(
        &mut self,
        session: SessionId,
        turns: &[ReplicaTurn],
        rows: &[ReplicaRow],
    ) -> Result<()> {
        let sql = "INSERT INTO turns (tenant, id, session, native, opened_at, prompt) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (tenant, id) DO UPDATE SET prompt = coalesce(turns.prompt, excluded.prompt), \
             opened_at = least(turns.opened_at, excluded.opened_at) WHERE turns.session = excluded.session";
        for turn in turns {
            let of: [Value<'_>; 5] = [
                &Col(turn.id),
                &Col(session),
                &turn.native,
                &Col(turn.opened_at),
                &turn.prompt.map(int),
            ];
            self.run(sql, &of)?;
        }
        for row in rows {
            self.put_replica_row(session, row)?;
        }
        let sql = "UPDATE sessions SET head = head + $3 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &int(rows.len() as u64)])
            .map(drop)
    }

    fn replace_fact(
        &mut self,
        session: SessionId,
        sequence: u64,
        fact: Option<&str>,
    ) -> Result<()> {
        let sql = "UPDATE observations SET payload = $4, salt = '' \
             WHERE tenant = $1 AND session = $2 AND sequence = $3 AND payload IS NOT NULL";
        let values: [Value<'_>; 3] = [&Col(session), &int(sequence), &fact.map(pack)];
        match self.run(sql, &values)? {
            0 => Ok(()),
            _ => self.free_blob(session, sequence),
        }
    }

    fn erasure(&mut self, session: SessionId) -> Result<Option<u64>> {
        let sql = "SELECT restored FROM erasures WHERE tenant = $1 AND session = $2";
        self.row(sql, &[&Col(session)], |row| count(row, 0))
    }

    fn put_erasure(&mut self, session: SessionId, restored: Option<u64>) -> Result<()> {
        let Some(restored) = restored else {
            let sql = "DELETE FROM erasures WHERE tenant = $1 AND session = $2";
            return self.run(sql, &[&Col(session)]).map(drop);
        };
        let sql = "INSERT INTO erasures (tenant, session, restored) VALUES ($1, $2, $3) \
             ON CONFLICT (tenant, session) DO UPDATE SET restored = excluded.restored";
        self.run(sql, &[&Col(session), &int(restored)]).map(drop)
    }

    fn restore_rows(&mut self, session: SessionId, rows: &[ReplicaRow]) -> Result<()> {
        let sql = "UPDATE observations SET payload = $4, salt = $5, kind = $6 \
             WHERE tenant = $1 AND session = $2 AND sequence = $3 AND salt = ''";
        for row in rows {
            let Some(fact) = &row.fact else { continue };
            let salt = row.salt.as_ref().map_or(&[][..], |s| &s[..]);
            let values: [Value<'_>; 5] = [
                &Col(session),
                &int(row.sequence),
                &pack(fact),
                &salt,
                &row.kind,
            ];
            if self.run(sql, &values)? > 0 {
                self.free_blob(session, row.sequence)?;
            }
        }
        let sql = "UPDATE sessions SET forgotten_at = NULL, forgotten_whole = false, folded = 0 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session)])?;
        self.session_changed(session)
    }

    fn put_statement(&mut self, s: &StatementRecord) -> Result<bool> {
        let of = Subjects::from_statement(&s.statement)?;
        let sql = "INSERT INTO statements (tenant, ledger, sequence, at, by, source, kind, body, session, repository, \"commit\") \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING";
        let values: [Value<'_>; 10] = [
            &Col(s.ledger),
            &int(s.sequence),
            &Col(s.at),
            &s.by,
            &s.source,
            &of.kind,
            &of.body,
            &of.session.map(Col),
            &of.repository.map(Col),
            &of.commit.map(Oid::as_str),
        ];
        let added = self.run(sql, &values)? > 0;
        if added {
            self.fold_link(&s.statement)?;
            of.session
                .map_or(Ok(()), |session| self.index_later(session))?;
        }
        Ok(added)
    }

    fn drop_statement(&mut self, ledger: LedgerId, sequence: u64) -> Result<()> {
        let before = sequence.saturating_sub(1);
        let found = self.statements_of_ledger(ledger, before, 1)?;
        let sql = "DELETE FROM statements WHERE tenant = $1 AND ledger = $2 AND sequence = $3";
        self.run(sql, &[&Col(ledger), &int(sequence)])?;
        for record in found.iter().filter(|r| r.sequence == sequence) {
            self.fold_link(&record.statement)?;
            let of = Subjects::from_statement(&record.statement)?;
            of.session
                .map_or(Ok(()), |session| self.index_later(session))?;
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
            Some(_) => "d.session > $4",
            None => "$4::uuid IS NULL",
        };
        let sql = format!(
            "SELECT d.session FROM deliveries d JOIN sessions s ON s.tenant = $1 AND s.id = d.session \
             WHERE d.tenant = $1 AND d.projection = $2 AND d.taken > 0 AND s.home = $3 AND {behind} \
             ORDER BY d.session LIMIT $5"
        );
        let values: [Value<'_>; 4] = [
            &name,
            &Col(self.ledger),
            &after.map(Col),
            &int(limit as u64),
        ];
        self.rows(&sql, &values, |row| get(row, 0))
    }

    fn commits_named(&mut self, commit: &Oid) -> Result<Vec<CommitRecord>> {
        self.commit_rows(
            "AND c.\"commit\" = $2 ORDER BY c.at, c.repository",
            &[&commit.as_str()],
        )
    }
}
