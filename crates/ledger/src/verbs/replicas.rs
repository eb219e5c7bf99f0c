//! What destinations lack, and replicas.

use siglum_domain::observation::Source;
use siglum_domain::{LedgerId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId};

use super::commits::{COMMIT, commit_row};
use super::places::{fold_hour, works_at_its_commits};
use super::scope::DOCUMENT_IN_SCOPE;
use super::sessions::{REPLICA, insert_session};
use super::statements::{INSERT_STATEMENT, STATEMENTS, fold_links, insert, statement_row};
use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::record::*;
use crate::replicas::{
    Destination, DueDocument, ReplicaRepository, ReplicaRow, ReplicaTurn, RewriteRecord,
};
use crate::row::{from_word, pack};
use crate::sql::sql;
use crate::stored::{Subjects, read_identity, stored_roots};
use crate::{LedgerError, Replicas};

type Result<T> = std::result::Result<T, LedgerError>;

const ROW: &str = "sequence, turn, id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload";

const REPOSITORY: &str = "SELECT e.repository, e.home, e.host, e.common_dir, r.roots, r.remote \
     FROM replica_repositories e JOIN repositories r ON [r.tenant = $1 AND] r.id = e.repository";

fn replica_repository(row: &Row<'_>) -> Result<ReplicaRepository> {
    let roots: String = row.get(4)?;
    Ok(ReplicaRepository {
        id: row.get(0)?,
        home: row.get(1)?,
        host: row.get(2)?,
        common_dir: row.get(3)?,
        identity: read_identity(&roots, row.get(5)?, None),
    })
}

/// A row, and its payload as it is stored.
fn replica_row(row: &Row<'_>) -> Result<(ReplicaRow, Option<Vec<u8>>)> {
    let source: Source = from_word("source", &row.get::<String>(3)?)?;
    let salt: Vec<u8> = row.get(10)?;
    let replica = ReplicaRow {
        sequence: row.count(0)?,
        turn: row.get(1)?,
        id: row.get(2)?,
        source,
        key: row.get(4)?,
        event: row.get(5)?,
        subagent: row.get(6)?,
        kind: row.get(7)?,
        at: row.get(8)?,
        recorded_at: row.get(9)?,
        salt: salt.try_into().ok(),
        digest: row.get(11)?,
        fact: None,
    };
    Ok((replica, row.get(12)?))
}

/// A turn of a session, from its id, its name, when it was opened, and its prompt.
pub(crate) fn turn_row(row: &Row<'_>) -> Result<ReplicaTurn> {
    let prompt: Option<i64> = row.get(3)?;
    Ok(ReplicaTurn {
        id: row.get(0)?,
        native: row.get(1)?,
        opened_at: row.get(2)?,
        prompt: prompt.and_then(|n| u64::try_from(n).ok()),
    })
}

fn insert_row(db: &mut impl Database, session: SessionId, row: &ReplicaRow) -> Result<()> {
    let sql = sql!(
        "INSERT INTO observations ([tenant,] id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, \
         salt, digest, payload[|, sum]) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14\
         [|, row_sum(?1, ?2, ?3, ?7, ?8, ?9, ?10, ?11)])"
    );
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
    db.run(sql, &of).map(drop)
}

/// What a store does about replicas in its own way.
pub(crate) trait OwnReplicas: Database {
    /// See [`Replicas::turns_named`].
    fn find_turns(&mut self, session: SessionId, turns: &[TurnId]) -> Result<Vec<ReplicaTurn>>;

    /// Adds the names of a replica, in their order.
    fn name_replica(&mut self, session: SessionId, natives: &[NativeId]) -> Result<()>;
}

impl<D: OwnReplicas> Replicas for D {
    fn destination(&mut self, name: &str) -> Result<Option<Destination>> {
        let sql = sql!(
            "SELECT stated, tries, reason, retry_at FROM destinations WHERE [tenant = $1 AND] projection = ?1"
        );
        self.row(sql, &[&name], |row| {
            Ok(Destination {
                stated: row.count(0)?,
                tries: u32::try_from(row.count(1)?).unwrap_or(u32::MAX),
                reason: row.get(2)?,
                retry_at: row.get(3)?,
            })
        })
    }

    fn put_destination(&mut self, name: &str, d: &Destination) -> Result<()> {
        let sql = sql!(
            "UPDATE destinations SET stated = ?2, tries = ?3, reason = ?4, retry_at = ?5 \
             WHERE [tenant = $1 AND] projection = ?1"
        );
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
        let sql = sql!("SELECT kind, document, due FROM documents [|INDEXED BY documents_due] WHERE [tenant = $1 AND] \
             projection = ?1 AND due > sent AND " DOCUMENT_IN_SCOPE " ORDER BY kind, document LIMIT ?2");
        self.rows(sql, &[&name, &int(limit as u64)], |row| {
            Ok(DueDocument {
                kind: row.get(0)?,
                document: row.get(1)?,
                due: row.count(2)?,
            })
        })
    }

    fn documents_due(&mut self, name: &str) -> Result<u64> {
        let sql = sql!("SELECT count(*) FROM documents [|INDEXED BY documents_due] WHERE [tenant = $1 AND] \
             projection = ?1 AND due > sent AND " DOCUMENT_IN_SCOPE);
        self.one(sql, &[&name], |row| row.count(0))
    }

    fn document_sent(&mut self, name: &str, d: &DueDocument) -> Result<()> {
        let sql = sql!(
            "UPDATE documents SET sent = [greatest|max](sent, [least|min](?4, due)) \
             WHERE [tenant = $1 AND] projection = ?1 AND kind = ?2 AND document = ?3"
        );
        self.run(sql, &[&name, &d.kind, &d.document, &int(d.due)])
            .map(drop)
    }

    fn restart_documents(&mut self, name: &str) -> Result<()> {
        for sql in [
            sql!("UPDATE documents SET sent = 0 WHERE [tenant = $1 AND] projection = ?1"),
            sql!(
                "UPDATE destinations SET stated = 0, tries = 0, reason = NULL, retry_at = 0 WHERE [tenant = $1 AND] projection = ?1"
            ),
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
        let sql = sql!(
            "UPDATE deliveries SET retry_at = ?4 WHERE [tenant = $1 AND] projection = ?1 AND session = ?2 AND retry_at = ?3"
        );
        self.run(sql, &[&name, &Col(session), &Col(until), &Col(at)])
            .map(drop)
    }

    fn statements_of_ledger(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StatementRecord>> {
        let sql = sql!(STATEMENTS " ledger = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3");
        let of: [Value<'_>; 3] = [&Col(ledger), &int(after), &int(limit as u64)];
        self.rows(sql, &of, statement_row)
    }

    fn last_stated(&mut self, ledger: LedgerId) -> Result<u64> {
        let sql = sql!(
            "SELECT coalesce(max(sequence), 0) FROM statements WHERE [tenant = $1 AND] ledger = ?1"
        );
        self.one(sql, &[&Col(ledger)], |row| row.count(0))
    }

    fn log_rows(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ReplicaRow>> {
        let sql = sql!("SELECT " ROW " FROM observations WHERE [tenant = $1 AND] session = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3");
        let of: [Value<'_>; 3] = [&Col(session), &int(after), &int(limit as u64)];
        let found = self.rows(sql, &of, replica_row)?;
        let (mut rows, packed): (Vec<ReplicaRow>, Vec<_>) = found.into_iter().unzip();
        for (row, fact) in rows.iter_mut().zip(self.unpacked(packed)?) {
            row.fact = fact;
        }
        Ok(rows)
    }

    fn turns_named(&mut self, session: SessionId, turns: &[TurnId]) -> Result<Vec<ReplicaTurn>> {
        self.find_turns(session, turns)
    }

    fn rewrites_to(&mut self, repository: RepositoryId, new: &Oid) -> Result<Vec<RewriteRecord>> {
        let sql = sql!(
            "SELECT old, command, at FROM rewrites WHERE [tenant = $1 AND] repository = ?1 AND new = ?2 ORDER BY at, old"
        );
        self.rows(sql, &[&Col(repository), &new.as_str()], |row| {
            Ok(RewriteRecord {
                old: row.get(0)?,
                command: row.get(1)?,
                at: row.get(2)?,
            })
        })
    }

    fn stamp(&mut self, home: LedgerId, kind: &str, document: &str) -> Result<Option<Timestamp>> {
        let sql = sql!(
            "SELECT stamp FROM replica_stamps WHERE [tenant = $1 AND] home = ?1 AND kind = ?2 AND document = ?3"
        );
        self.row(sql, &[&Col(home), &kind, &document], |row| row.get(0))
    }

    fn put_stamp(
        &mut self,
        home: LedgerId,
        kind: &str,
        document: &str,
        stamp: Timestamp,
    ) -> Result<()> {
        let sql = sql!(
            "INSERT INTO replica_stamps ([tenant,] home, kind, document, stamp) VALUES ([$1,] ?1, ?2, ?3, ?4) \
             ON CONFLICT ([tenant,] home, kind, document) DO UPDATE SET stamp = excluded.stamp"
        );
        self.run(sql, &[&Col(home), &kind, &document, &Col(stamp)])
            .map(drop)
    }

    fn put_replica_repository(&mut self, r: &ReplicaRepository, at: Timestamp) -> Result<()> {
        let sql = sql!(
            "INSERT INTO repositories ([tenant,] id, common_dir, first_at, roots, remote) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT ([tenant,] id) DO UPDATE SET common_dir = excluded.common_dir, roots = excluded.roots, \
             remote = excluded.remote"
        );
        // Its place is nobody's here, and another one may be called the same: each has a name of its own among ours.
        let dir = format!("replica:{}", r.id.uuid().simple());
        let roots = stored_roots(&r.identity);
        let of: [Value<'_>; 5] = [&Col(r.id), &dir, &Col(at), &roots, &r.identity.remote];
        self.run(sql, &of)?;
        self.sum("repositories", "id = ?1", &[&Col(r.id)])?;
        let sql = sql!(
            "INSERT INTO replica_repositories ([tenant,] repository, home, host, common_dir) VALUES ([$1,] ?1, ?2, ?3, ?4) \
             ON CONFLICT ([tenant,] repository) DO UPDATE SET home = excluded.home, host = excluded.host, \
             common_dir = excluded.common_dir"
        );
        self.run(sql, &[&Col(r.id), &Col(r.home), &r.host, &r.common_dir])
            .map(drop)
    }

    fn replica_repository(&mut self, id: RepositoryId) -> Result<Option<ReplicaRepository>> {
        let sql = sql!(REPOSITORY " WHERE [e.tenant = $1 AND] e.repository = ?1");
        self.row(sql, &[&Col(id)], replica_repository)
    }

    fn replica_repositories(&mut self) -> Result<Vec<ReplicaRepository>> {
        let sql = sql!(REPOSITORY " [WHERE e.tenant = $1] ORDER BY e.repository");
        self.rows(sql, &[], replica_repository)
    }

    fn put_replica_session(&mut self, r: &SessionRecord, natives: &[NativeId]) -> Result<()> {
        insert_session(self, REPLICA, r)?;
        // Its commits may have come before it, and it may have been active again.
        works_at_its_commits(self, r.id)?;
        fold_hour(self, r.id)?;
        let gone = sql!("DELETE FROM replica_aliases WHERE [tenant = $1 AND] session = ?1");
        self.run(gone, &[&Col(r.id)])?;
        self.name_replica(r.id, natives)?;
        // It is found by the conversation, too, which is no native id: it has no place among them.
        let sql = sql!(
            "INSERT INTO replica_aliases ([tenant,] session, native, place) VALUES ([$1,] ?1, ?2, -1) ON CONFLICT DO NOTHING"
        );
        self.run(sql, &[&Col(r.id), &r.conversation.as_str()])
            .map(drop)
    }

    fn put_replica_rows(
        &mut self,
        session: SessionId,
        turns: &[ReplicaTurn],
        rows: &[ReplicaRow],
    ) -> Result<()> {
        let sql = sql!(
            "INSERT INTO turns ([tenant,] id, session, native, opened_at, prompt) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT ([tenant,] id) DO UPDATE SET prompt = coalesce(turns.prompt, excluded.prompt), \
             opened_at = [least|min](turns.opened_at, excluded.opened_at) WHERE turns.session = excluded.session"
        );
        for turn in turns {
            let of: [Value<'_>; 5] = [
                &Col(turn.id),
                &Col(session),
                &turn.native,
                &Col(turn.opened_at),
                &turn.prompt.map(int),
            ];
            self.run(sql, &of)?;
            self.sum("turns", "id = ?1", &[&Col(turn.id)])?;
        }
        for row in rows {
            insert_row(self, session, row)?;
        }
        let sql = sql!("UPDATE sessions SET head = head + ?2 WHERE [tenant = $1 AND] id = ?1");
        self.run(sql, &[&Col(session), &int(rows.len() as u64)])
            .map(drop)
    }

    fn replace_fact(
        &mut self,
        session: SessionId,
        sequence: u64,
        fact: Option<&str>,
    ) -> Result<()> {
        let sql = sql!(
            "UPDATE observations SET payload = ?3, salt = [''|x''] \
             WHERE [tenant = $1 AND] session = ?1 AND sequence = ?2 AND payload IS NOT NULL"
        );
        let values: [Value<'_>; 3] = [&Col(session), &int(sequence), &fact.map(pack)];
        match self.run(sql, &values)? {
            0 => Ok(()),
            _ => self.free_blob(session, sequence),
        }
    }

    fn erasure(&mut self, session: SessionId) -> Result<Option<u64>> {
        let sql = sql!("SELECT restored FROM erasures WHERE [tenant = $1 AND] session = ?1");
        self.row(sql, &[&Col(session)], |row| row.count(0))
    }

    fn put_erasure(&mut self, session: SessionId, restored: Option<u64>) -> Result<()> {
        let Some(restored) = restored else {
            let rows = sql!("[tenant = $1 AND] session = ?1");
            return self.delete("erasures", rows, &[&Col(session)]).map(drop);
        };
        let sql = sql!(
            "INSERT INTO erasures ([tenant,] session, restored) VALUES ([$1,] ?1, ?2) \
             ON CONFLICT ([tenant,] session) DO UPDATE SET restored = excluded.restored"
        );
        self.run(sql, &[&Col(session), &int(restored)])?;
        self.sum("erasures", "session = ?1", &[&Col(session)])
    }

    fn restore_rows(&mut self, session: SessionId, rows: &[ReplicaRow]) -> Result<()> {
        let sql = sql!(
            "UPDATE observations SET payload = ?3, salt = ?4, kind = ?5 \
             WHERE [tenant = $1 AND] session = ?1 AND sequence = ?2 AND salt = [''|x'']"
        );
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
            let key: [Value<'_>; 2] = [&Col(session), &int(row.sequence)];
            self.sum("observations", "session = ?1 AND sequence = ?2", &key)?;
        }
        let sql = sql!(
            "UPDATE sessions SET forgotten_at = NULL, forgotten_whole = false, folded = 0 WHERE [tenant = $1 AND] id = ?1"
        );
        self.run(sql, &[&Col(session)])?;
        self.sum("sessions", "id = ?1", &[&Col(session)])?;
        self.session_changed(session)
    }

    fn put_statement(&mut self, s: &StatementRecord) -> Result<bool> {
        let of = Subjects::from_statement(&s.statement)?;
        let sql = sql!(INSERT_STATEMENT " ON CONFLICT DO NOTHING");
        let stated = (s.at, s.by.as_str(), s.source.as_str());
        let added = insert(self, sql, (s.ledger, s.sequence), stated, &of)?;
        if added {
            fold_links(self, [&s.statement], &[])?;
            of.session
                .map_or(Ok(()), |session| self.index_later(session))?;
        }
        Ok(added)
    }

    fn drop_statement(&mut self, ledger: LedgerId, sequence: u64) -> Result<()> {
        let before = sequence.saturating_sub(1);
        let found = self.statements_of_ledger(ledger, before, 1)?;
        let rows = sql!("[tenant = $1 AND] ledger = ?1 AND sequence = ?2");
        self.delete("statements", rows, &[&Col(ledger), &int(sequence)])?;
        for record in found.iter().filter(|r| r.sequence == sequence) {
            fold_links(self, [&record.statement], &[])?;
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
        // Each is written out, so that each can use its index.
        let sql = match after {
            Some(_) => sql!(
                "SELECT d.session FROM deliveries d JOIN sessions s ON [s.tenant = $1 AND] s.id = d.session \
                 WHERE [d.tenant = $1 AND] d.projection = ?1 AND d.taken > 0 AND s.home = ?2 AND d.session > ?3 \
                 ORDER BY d.session LIMIT ?4"
            ),
            None => sql!(
                "SELECT d.session FROM deliveries d JOIN sessions s ON [s.tenant = $1 AND] s.id = d.session \
                 WHERE [d.tenant = $1 AND] d.projection = ?1 AND d.taken > 0 AND s.home = ?2 AND ?3[::uuid] IS NULL \
                 ORDER BY d.session LIMIT ?4"
            ),
        };
        let home = self.ledger();
        let values: [Value<'_>; 4] = [&name, &Col(home), &after.map(Col), &int(limit as u64)];
        self.rows(sql, &values, |row| row.get(0))
    }

    fn commits_named(&mut self, commit: &Oid) -> Result<Vec<CommitRecord>> {
        let sql = sql!(COMMIT " [|INDEXED BY commits_by_oid] WHERE [c.tenant = $1 AND] c.\"commit\" = ?1 \
             ORDER BY c.at, c.repository");
        self.rows(sql, &[&commit.as_str()], commit_row)
    }
}
