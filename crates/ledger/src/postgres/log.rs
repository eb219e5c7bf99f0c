//! The log, its receipts and its quick folds in PostgreSQL.

use postgres::Row;
use siglum_domain::fold::Entry;
use siglum_domain::observation::{FileVersion, Source};
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int, limit, opt, raw};
use super::listing::{SESSION, readable_session};
use super::tx::{Tx, Value};
use crate::record::*;
use crate::row::{LogRow, from_word, header, json, stored_name, word};
use crate::stored::{EntryRow, edit_detail, hash_bytes, hashes};
use crate::{Appended, LedgerError, Log, NewEntry};

type Result<T> = std::result::Result<T, LedgerError>;

pub(super) const ENTRY: &str =
    "id, sequence, turn, recorded_at, source, key, event, at, subagent, payload";

pub(super) fn entry_row(row: &Row) -> Result<EntryRow> {
    let mut observation = EntryRow::observation(raw(row, 5)?, raw(row, 6)?, get(row, 7)?);
    observation.subagent = raw(row, 8)?;
    Ok(EntryRow {
        entry: Entry {
            id: get(row, 0)?,
            sequence: count(row, 1)?,
            turn: opt(row, 2)?,
            recorded_at: get(row, 3)?,
            observation,
        },
        source: raw(row, 4)?,
        payload: raw(row, 9)?,
    })
}

const EDIT: &str = "session, event, turn, repository, worktree, path, began, at, \
     before, before_object, before_bytes, after, after_object, after_bytes, lines, detail";

fn edit_row(row: &Row) -> Result<EditRecord> {
    let version = |blob: usize| -> Result<Option<FileVersion>> {
        let Some(oid) = opt::<Oid>(row, blob)? else {
            return Ok(None);
        };
        Ok(Some(FileVersion {
            blob: oid,
            object: raw(row, blob + 1)?,
            bytes: count(row, blob + 2)?,
        }))
    };
    Ok(EditRecord {
        session: get(row, 0)?,
        event: raw(row, 1)?,
        turn: opt(row, 2)?,
        repository: get(row, 3)?,
        worktree: raw(row, 4)?,
        path: raw(row, 5)?,
        began: get(row, 6)?,
        at: get(row, 7)?,
        before: version(8)?,
        after: version(11)?,
        lines: raw::<Option<&[u8]>>(row, 14)?.map(hashes),
        detail: edit_detail(raw::<Option<&str>>(row, 15)?),
    })
}

pub(super) const RECEIPT: &str = "session, number, first, last, turns, previous, digest, at";

pub(super) fn receipt_row(row: &Row) -> Result<Receipt> {
    let turns: &str = raw(row, 4)?;
    Ok(Receipt {
        session: get(row, 0)?,
        number: count(row, 1)?,
        first: count(row, 2)?,
        last: count(row, 3)?,
        turns: turns.split(' ').filter_map(|t| t.parse().ok()).collect(),
        previous: raw(row, 5)?,
        digest: raw(row, 6)?,
        at: get(row, 7)?,
    })
}

fn call_row(row: &Row) -> Result<RunningCall> {
    Ok(RunningCall {
        session: get(row, 0)?,
        event: raw(row, 1)?,
        started: get(row, 2)?,
    })
}

fn move_row(row: &Row) -> Result<HeadMove> {
    Ok(HeadMove {
        repository: get(row, 0)?,
        commit: get(row, 1)?,
        session: get(row, 2)?,
        event: raw(row, 3)?,
        mention: from_word("said", raw(row, 4)?)?,
        at: get(row, 5)?,
    })
}

fn sealed_row(row: &Row) -> Result<(SealedEntry, Option<TurnId>)> {
    let sealed = SealedEntry {
        sequence: count(row, 0)?,
        header: header(raw(row, 1)?, raw(row, 2)?, raw(row, 3)?),
        payload: raw(row, 4)?,
    };
    Ok((sealed, opt(row, 5)?))
}

impl Tx<'_> {
    fn edit_rows(&mut self, rest: &str, of: &[Value<'_>]) -> Result<Vec<EditRecord>> {
        let sql = format!("SELECT {EDIT} FROM edits WHERE tenant = $1 AND {rest}");
        self.rows(&sql, of, edit_row)
    }

    pub(super) fn receipt_rows(&mut self, rest: &str, of: &[Value<'_>]) -> Result<Vec<Receipt>> {
        let sql = format!("SELECT {RECEIPT} FROM receipts WHERE tenant = $1 AND {rest}");
        self.rows(&sql, of, receipt_row)
    }
}

/// One statement, since the log grows with every hook. The lock on the session lets those who append to the same log
/// wait for each other before they look which place is next, and whether the entry is there.
const APPEND: &str = "WITH log AS (SELECT head, forgotten_at FROM sessions WHERE tenant = $1 AND id = $3 FOR UPDATE), \
     put AS (INSERT INTO observations (tenant, id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload) \
     SELECT $1::text, $2::uuid, $3::uuid, head + 1, $4::text, $5::text, $6::text, $7::uuid, $8::text, $9::text, $10::bigint, $11::bigint, \
     CASE WHEN $10::bigint <= forgotten_at THEN ''::bytea ELSE $12::bytea END, $13::text, \
     CASE WHEN $10::bigint <= forgotten_at THEN NULL ELSE $14::bytea END FROM log \
     ON CONFLICT (tenant, session, source, key) DO NOTHING RETURNING sequence) \
     UPDATE sessions SET head = put.sequence FROM put WHERE tenant = $1 AND id = $3 RETURNING head";

impl Log for Tx<'_> {
    fn append(&mut self, new: &NewEntry<'_>) -> Result<Appended> {
        let row = LogRow::from_entry(new);
        let of: [Value<'_>; 13] = [
            &Col(row.id),
            &Col(new.session),
            &row.source.as_str(),
            &row.key,
            &row.event,
            &new.turn.map(Col),
            &row.subagent,
            &row.kind,
            &Col(row.at),
            &Col(row.recorded_at),
            &row.salt.as_slice(),
            &row.digest,
            &row.payload,
        ];
        if let Some(sequence) = self.row(APPEND, &of, |row| count(row, 0))? {
            return Ok(Appended::New(sequence));
        }
        match self.sighted(new.session, row.source, &row.key)? {
            Some(_) => Ok(Appended::Known),
            None => Err(LedgerError::Storage(
                format!("there is no session {}", new.session).into(),
            )),
        }
    }

    fn entries(&mut self, session: SessionId, after: u64, most: usize) -> Result<Vec<Entry>> {
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE tenant = $1 AND session = $2 AND sequence > $3 ORDER BY sequence LIMIT $4"
        );
        let of: [Value<'_>; 3] = [&Col(session), &int(after), &limit(most)];
        let rows = self.rows(&sql, &of, entry_row)?;
        self.entry_records(rows)
    }

    fn entries_of_turn(
        &mut self,
        session: SessionId,
        turn: TurnId,
        until: u64,
    ) -> Result<Vec<Entry>> {
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE tenant = $1 AND session = $2 AND turn = $3 AND sequence <= $4 ORDER BY sequence"
        );
        let of: [Value<'_>; 3] = [&Col(session), &Col(turn), &int(until)];
        let rows = self.rows(&sql, &of, entry_row)?;
        self.entry_records(rows)
    }

    fn entries_of_kind(
        &mut self,
        session: SessionId,
        kind: &str,
        until: u64,
    ) -> Result<Vec<Entry>> {
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE tenant = $1 AND session = $2 AND kind = $3 AND sequence <= $4 ORDER BY sequence"
        );
        let of: [Value<'_>; 3] = [&Col(session), &kind, &int(until)];
        let rows = self.rows(&sql, &of, entry_row)?;
        self.entry_records(rows)
    }

    fn last_of_kind(&mut self, session: SessionId, kind: &str, until: u64) -> Result<Option<u64>> {
        let sql = "SELECT sequence FROM observations WHERE tenant = $1 AND session = $2 AND kind = $3 AND sequence <= $4 \
             AND subagent IS NULL AND payload IS NOT NULL ORDER BY sequence DESC LIMIT 1";
        let of: [Value<'_>; 3] = [&Col(session), &kind, &int(until)];
        self.row(sql, &of, |row| count(row, 0))
    }

    fn entry(&mut self, session: SessionId, source: Source, key: &str) -> Result<Option<Entry>> {
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE tenant = $1 AND session = $2 AND source = $3 AND key = $4"
        );
        let of: [Value<'_>; 3] = [&Col(session), &source.as_str(), &key];
        let row = self.row(&sql, &of, entry_row)?;
        Ok(self.entry_records(row.into_iter().collect())?.pop())
    }

    fn sighted(
        &mut self,
        session: SessionId,
        source: Source,
        key: &str,
    ) -> Result<Option<Sighted>> {
        let sql = "SELECT event, at FROM observations WHERE tenant = $1 AND session = $2 AND source = $3 AND key = $4";
        self.row(sql, &[&Col(session), &source.as_str(), &key], |row| {
            Ok(Sighted {
                event: raw(row, 0)?,
                at: get(row, 1)?,
            })
        })
    }

    fn begin_call(
        &mut self,
        session: SessionId,
        event: &str,
        worktree: &str,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT INTO running_calls (tenant, session, event, worktree, started) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, session, event) DO UPDATE SET worktree = excluded.worktree, started = excluded.started";
        self.run(sql, &[&Col(session), &event, &worktree, &Col(at)])?;
        Ok(())
    }

    fn end_call(&mut self, session: SessionId, event: &str) -> Result<()> {
        let sql = "DELETE FROM running_calls WHERE tenant = $1 AND session = $2 AND event = $3";
        self.run(sql, &[&Col(session), &event])?;
        Ok(())
    }

    fn end_calls(&mut self, session: SessionId) -> Result<()> {
        let sql = "DELETE FROM running_calls WHERE tenant = $1 AND session = $2";
        self.run(sql, &[&Col(session)])?;
        Ok(())
    }

    fn running_calls(&mut self, worktree: &str, since: Timestamp) -> Result<Vec<RunningCall>> {
        let sql = "SELECT session, event, started FROM running_calls \
             WHERE tenant = $1 AND worktree = $2 AND started >= $3 ORDER BY session, event";
        self.rows(sql, &[&worktree, &Col(since)], call_row)
    }

    fn put_move(&mut self, m: &HeadMove) -> Result<()> {
        let sql = "INSERT INTO head_moves (tenant, repository, \"commit\", session, event, said, at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
             ON CONFLICT (tenant, repository, \"commit\", session, event) DO UPDATE SET said = excluded.said, at = excluded.at";
        let mention = word(&m.mention);
        self.run(
            sql,
            &[
                &Col(m.repository),
                &m.commit.as_str(),
                &Col(m.session),
                &m.event,
                &mention,
                &Col(m.at),
            ],
        )?;
        Ok(())
    }

    fn moves_to(&mut self, repository: RepositoryId, commit: &Oid) -> Result<Vec<HeadMove>> {
        let sql = "SELECT repository, \"commit\", session, event, said, at FROM head_moves \
             WHERE tenant = $1 AND repository = $2 AND \"commit\" = $3 ORDER BY session, event";
        self.rows(sql, &[&Col(repository), &commit.as_str()], move_row)
    }

    fn put_edit(&mut self, e: &EditRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO edits (tenant, {EDIT}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) \
             ON CONFLICT (tenant, session, event, path) DO UPDATE SET turn = excluded.turn, repository = excluded.repository, \
             worktree = excluded.worktree, began = excluded.began, at = excluded.at, before = excluded.before, \
             before_object = excluded.before_object, before_bytes = excluded.before_bytes, after = excluded.after, \
             after_object = excluded.after_object, after_bytes = excluded.after_bytes, lines = excluded.lines, detail = excluded.detail"
        );
        let blob = |v: &Option<FileVersion>| v.as_ref().map(|v| v.blob.to_string());
        let object = |v: &Option<FileVersion>| v.as_ref().and_then(|v| v.object.clone());
        let bytes = |v: &Option<FileVersion>| v.as_ref().map(|v| int(v.bytes));
        self.run(
            &sql,
            &[
                &Col(e.session),
                &e.event,
                &e.turn.map(Col),
                &Col(e.repository),
                &e.worktree,
                &stored_name(&e.path),
                &Col(e.began),
                &Col(e.at),
                &blob(&e.before),
                &object(&e.before),
                &bytes(&e.before),
                &blob(&e.after),
                &object(&e.after),
                &bytes(&e.after),
                &e.lines.as_deref().map(hash_bytes),
                &(e.detail != EditDetail::default()).then(|| json(&e.detail)),
            ],
        )?;
        self.works_in(e.session, [e.repository])
    }

    fn edits(
        &mut self,
        repository: RepositoryId,
        path: &str,
        until: Timestamp,
    ) -> Result<Vec<EditRecord>> {
        let of = "repository = $2 AND path = $3 AND began <= $4 ORDER BY at, session, event";
        self.edit_rows(of, &[&Col(repository), &stored_name(path), &Col(until)])
    }

    fn last_edit(&mut self, repository: RepositoryId, path: &str) -> Result<Option<EditRecord>> {
        let of = "repository = $2 AND path = $3 ORDER BY at DESC LIMIT 1";
        Ok(self
            .edit_rows(of, &[&Col(repository), &stored_name(path)])?
            .pop())
    }

    fn edits_leaving(&mut self, blob: &Oid) -> Result<Vec<EditRecord>> {
        self.edit_rows("after = $2 ORDER BY at, session, event", &[&blob.as_str()])
    }

    fn unhashed_edits(&mut self, most: usize) -> Result<Vec<EditRecord>> {
        self.edit_rows("lines IS NULL LIMIT $2", &[&int(most as u64)])
    }

    fn unsealed(&mut self, most: usize) -> Result<Vec<SessionRecord>> {
        let sql = format!(
            "SELECT {SESSION} FROM sessions s WHERE s.tenant = $1 AND s.head > s.sealed AND s.mode = 'observed' AND s.quarantined IS NULL \
             ORDER BY s.last_at LIMIT $2"
        );
        self.rows(&sql, &[&int(most as u64)], readable_session)
    }

    fn to_seal(
        &mut self,
        session: SessionId,
        first: u64,
        last: u64,
    ) -> Result<Vec<(SealedEntry, Option<TurnId>)>> {
        let sql = "SELECT sequence, source, key, event, digest, turn FROM observations \
             WHERE tenant = $1 AND session = $2 AND sequence BETWEEN $3 AND $4 ORDER BY sequence";
        self.rows(sql, &[&Col(session), &int(first), &int(last)], sealed_row)
    }

    fn put_receipt(&mut self, receipt: &Receipt) -> Result<bool> {
        self.store_receipt(receipt, None)
    }

    fn receipts(&mut self, session: SessionId) -> Result<Vec<Receipt>> {
        self.receipt_rows("session = $2 ORDER BY number", &[&Col(session)])
    }
}
