//! The log, its receipts and its quick folds.

use siglum_domain::fold::Entry;
use siglum_domain::observation::{FileVersion, Source};
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp, TurnId};

use super::listing::{SESSION, readable_session};
use super::places::works_in;
use crate::columns::{Col, Limit, Row, Value, int};
use crate::database::Database;
use crate::record::*;
use crate::row::{from_word, header, json, stored_name, word};
use crate::sql::sql;
use crate::stored::{EntryRow, edit_detail, hash_bytes, hashes};
use crate::{Appended, LedgerError, Log, NewEntry};

type Result<T> = std::result::Result<T, LedgerError>;

pub(crate) const ENTRY: &str =
    "id, sequence, turn, recorded_at, source, key, event, at, subagent, payload";

pub(crate) fn entry_row(row: &Row<'_>) -> Result<EntryRow> {
    let mut observation = EntryRow::observation(row.get(5)?, row.get(6)?, row.get(7)?);
    observation.subagent = row.get(8)?;
    Ok(EntryRow {
        entry: Entry {
            id: row.get(0)?,
            sequence: row.count(1)?,
            turn: row.get(2)?,
            recorded_at: row.get(3)?,
            observation,
        },
        source: row.get(4)?,
        payload: row.get(9)?,
    })
}

const EDIT: &str = "session, event, turn, repository, worktree, path, began, at, \
     before, before_object, before_bytes, after, after_object, after_bytes, lines, detail";

fn edit_row(row: &Row<'_>) -> Result<EditRecord> {
    let version = |blob: usize| -> Result<Option<FileVersion>> {
        let Some(oid) = row.get::<Option<Oid>>(blob)? else {
            return Ok(None);
        };
        Ok(Some(FileVersion {
            blob: oid,
            object: row.get(blob + 1)?,
            bytes: row.count(blob + 2)?,
        }))
    };
    Ok(EditRecord {
        session: row.get(0)?,
        event: row.get(1)?,
        turn: row.get(2)?,
        repository: row.get(3)?,
        worktree: row.get(4)?,
        path: row.get(5)?,
        began: row.get(6)?,
        at: row.get(7)?,
        before: version(8)?,
        after: version(11)?,
        lines: row.get::<Option<Vec<u8>>>(14)?.as_deref().map(hashes),
        detail: edit_detail(row.get::<Option<String>>(15)?.as_deref()),
    })
}

pub(super) const RECEIPT: &str = "session, number, first, last, turns, previous, digest, at";

pub(super) fn receipt_row(row: &Row<'_>) -> Result<Receipt> {
    let turns: String = row.get(4)?;
    Ok(Receipt {
        session: row.get(0)?,
        number: row.count(1)?,
        first: row.count(2)?,
        last: row.count(3)?,
        turns: turns.split(' ').filter_map(|t| t.parse().ok()).collect(),
        previous: row.get(5)?,
        digest: row.get(6)?,
        at: row.get(7)?,
    })
}

fn call_row(row: &Row<'_>) -> Result<RunningCall> {
    Ok(RunningCall {
        session: row.get(0)?,
        event: row.get(1)?,
        started: row.get(2)?,
    })
}

fn move_row(row: &Row<'_>) -> Result<HeadMove> {
    Ok(HeadMove {
        repository: row.get(0)?,
        commit: row.get(1)?,
        session: row.get(2)?,
        event: row.get(3)?,
        mention: from_word("said", &row.get::<String>(4)?)?,
        at: row.get(5)?,
    })
}

fn sealed_row(row: &Row<'_>) -> Result<(SealedEntry, Option<TurnId>)> {
    let (source, key, event): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
    let sealed = SealedEntry {
        sequence: row.count(0)?,
        header: header(&source, &key, &event),
        payload: row.get(4)?,
    };
    Ok((sealed, row.get(5)?))
}

/// The entries of some rows, without those that were forgotten.
fn entry_records(db: &impl Database, mut rows: Vec<EntryRow>) -> Result<Vec<Entry>> {
    let packed = rows.iter_mut().map(|row| row.payload.take()).collect();
    for (row, payload) in rows.iter_mut().zip(db.fetched(packed)?) {
        row.payload = payload.transpose().map_err(LedgerError::Damaged)?;
    }
    EntryRow::records(rows)
}

/// What a store does about logs in its own way.
pub(crate) trait OwnLog: Database {
    /// See [`Log::append`].
    fn append_entry(&mut self, new: &NewEntry<'_>) -> Result<Appended>;

    /// Stores a receipt if it follows the last one and its key is new, and makes it due at every projection.
    fn store_receipt(&mut self, receipt: &Receipt, key: Option<(&str, &str)>) -> Result<bool>;
}

impl<D: OwnLog> Log for D {
    fn append(&mut self, new: &NewEntry<'_>) -> Result<Appended> {
        self.append_entry(new)
    }

    fn entries(&mut self, session: SessionId, after: u64, most: usize) -> Result<Vec<Entry>> {
        let sql = sql!("SELECT " ENTRY " FROM observations WHERE [tenant = $1 AND] session = ?1 AND sequence > ?2 \
             ORDER BY sequence LIMIT ?3");
        let of: [Value<'_>; 3] = [&Col(session), &int(after), &Limit(most)];
        let rows = self.rows(sql, &of, entry_row)?;
        entry_records(self, rows)
    }

    fn entries_of_turn(
        &mut self,
        session: SessionId,
        turn: TurnId,
        until: u64,
    ) -> Result<Vec<Entry>> {
        let sql = sql!("SELECT " ENTRY " FROM observations WHERE [tenant = $1 AND] session = ?1 AND turn = ?2 AND sequence <= ?3 ORDER BY sequence");
        let of: [Value<'_>; 3] = [&Col(session), &Col(turn), &int(until)];
        let rows = self.rows(sql, &of, entry_row)?;
        entry_records(self, rows)
    }

    fn entries_of_kind(
        &mut self,
        session: SessionId,
        kind: &str,
        until: u64,
    ) -> Result<Vec<Entry>> {
        let sql = sql!("SELECT " ENTRY " FROM observations WHERE [tenant = $1 AND] session = ?1 AND kind = ?2 AND sequence <= ?3 ORDER BY sequence");
        let of: [Value<'_>; 3] = [&Col(session), &kind, &int(until)];
        let rows = self.rows(sql, &of, entry_row)?;
        entry_records(self, rows)
    }

    fn last_of_kind(&mut self, session: SessionId, kind: &str, until: u64) -> Result<Option<u64>> {
        let sql = sql!(
            "SELECT sequence FROM observations WHERE [tenant = $1 AND] session = ?1 AND kind = ?2 AND sequence <= ?3 \
             AND subagent IS NULL AND payload IS NOT NULL ORDER BY sequence DESC LIMIT 1"
        );
        let of: [Value<'_>; 3] = [&Col(session), &kind, &int(until)];
        self.row(sql, &of, |row| row.count(0))
    }

    fn entry(&mut self, session: SessionId, source: Source, key: &str) -> Result<Option<Entry>> {
        let sql = sql!("SELECT " ENTRY " FROM observations WHERE [tenant = $1 AND] session = ?1 AND source = ?2 AND key = ?3");
        let of: [Value<'_>; 3] = [&Col(session), &source.as_str(), &key];
        let row = self.row(sql, &of, entry_row)?;
        Ok(entry_records(self, row.into_iter().collect())?.pop())
    }

    fn sighted(
        &mut self,
        session: SessionId,
        source: Source,
        key: &str,
    ) -> Result<Option<Sighted>> {
        let sql = sql!(
            "SELECT event, at FROM observations WHERE [tenant = $1 AND] session = ?1 AND source = ?2 AND key = ?3"
        );
        self.row(sql, &[&Col(session), &source.as_str(), &key], |row| {
            Ok(Sighted {
                event: row.get(0)?,
                at: row.get(1)?,
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
        let sql = sql!(
            "INSERT INTO running_calls ([tenant,] session, event, worktree, started) VALUES ([$1,] ?1, ?2, ?3, ?4) \
             ON CONFLICT ([tenant,] session, event) DO UPDATE SET worktree = excluded.worktree, started = excluded.started"
        );
        self.run(sql, &[&Col(session), &event, &worktree, &Col(at)])?;
        Ok(())
    }

    fn end_call(&mut self, session: SessionId, event: &str) -> Result<()> {
        let sql =
            sql!("DELETE FROM running_calls WHERE [tenant = $1 AND] session = ?1 AND event = ?2");
        self.run(sql, &[&Col(session), &event])?;
        Ok(())
    }

    fn end_calls(&mut self, session: SessionId) -> Result<()> {
        let sql = sql!("DELETE FROM running_calls WHERE [tenant = $1 AND] session = ?1");
        self.run(sql, &[&Col(session)])?;
        Ok(())
    }

    fn running_calls(&mut self, worktree: &str, since: Timestamp) -> Result<Vec<RunningCall>> {
        let sql = sql!(
            "SELECT session, event, started FROM running_calls \
             WHERE [tenant = $1 AND] worktree = ?1 AND started >= ?2 ORDER BY session, event"
        );
        self.rows(sql, &[&worktree, &Col(since)], call_row)
    }

    fn put_move(&mut self, m: &HeadMove) -> Result<()> {
        let sql = sql!(
            "INSERT INTO head_moves ([tenant,] repository, \"commit\", session, event, said, at) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT ([tenant,] repository, \"commit\", session, event) DO UPDATE SET said = excluded.said, at = excluded.at"
        );
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
        let sql = sql!(
            "SELECT repository, \"commit\", session, event, said, at FROM head_moves \
             WHERE [tenant = $1 AND] repository = ?1 AND \"commit\" = ?2 ORDER BY session, event"
        );
        self.rows(sql, &[&Col(repository), &commit.as_str()], move_row)
    }

    fn put_edit(&mut self, e: &EditRecord) -> Result<()> {
        let sql = sql!("INSERT INTO edits ([tenant,] " EDIT ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) \
             ON CONFLICT ([tenant,] session, event, path) DO UPDATE SET turn = excluded.turn, repository = excluded.repository, \
             worktree = excluded.worktree, began = excluded.began, at = excluded.at, before = excluded.before, \
             before_object = excluded.before_object, before_bytes = excluded.before_bytes, after = excluded.after, \
             after_object = excluded.after_object, after_bytes = excluded.after_bytes, lines = excluded.lines, detail = excluded.detail");
        let blob = |v: &Option<FileVersion>| v.as_ref().map(|v| v.blob.to_string());
        let object = |v: &Option<FileVersion>| v.as_ref().and_then(|v| v.object.clone());
        let bytes = |v: &Option<FileVersion>| v.as_ref().map(|v| int(v.bytes));
        self.run(
            sql,
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
        works_in(self, e.session, [e.repository])
    }

    fn edits(
        &mut self,
        repository: RepositoryId,
        path: &str,
        until: Timestamp,
    ) -> Result<Vec<EditRecord>> {
        let sql = sql!("SELECT " EDIT " FROM edits WHERE [tenant = $1 AND] repository = ?1 AND path = ?2 AND began <= ?3 \
             ORDER BY at, session, event");
        self.rows(
            sql,
            &[&Col(repository), &stored_name(path), &Col(until)],
            edit_row,
        )
    }

    fn last_edit(&mut self, repository: RepositoryId, path: &str) -> Result<Option<EditRecord>> {
        let sql = sql!("SELECT " EDIT " FROM edits WHERE [tenant = $1 AND] repository = ?1 AND path = ?2 ORDER BY at DESC LIMIT 1");
        self.row(sql, &[&Col(repository), &stored_name(path)], edit_row)
    }

    fn edits_leaving(&mut self, blob: &Oid) -> Result<Vec<EditRecord>> {
        let sql = sql!("SELECT " EDIT " FROM edits WHERE [tenant = $1 AND] after = ?1 ORDER BY at, session, event");
        self.rows(sql, &[&blob.as_str()], edit_row)
    }

    fn unhashed_edits(&mut self, limit: usize) -> Result<Vec<EditRecord>> {
        let sql = sql!("SELECT " EDIT " FROM edits WHERE [tenant = $1 AND] lines IS NULL LIMIT ?1");
        self.rows(sql, &[&int(limit as u64)], edit_row)
    }

    fn unsealed(&mut self, limit: usize) -> Result<Vec<SessionRecord>> {
        let sql = sql!("SELECT " SESSION " FROM sessions s [|INDEXED BY sessions_unsealed] WHERE \
             [s.tenant = $1 AND s.unsealed|s.head > s.sealed AND s.mode = 'observed'] AND s.quarantined IS NULL ORDER BY s.last_at LIMIT ?1");
        self.rows(sql, &[&int(limit as u64)], readable_session)
    }

    fn to_seal(
        &mut self,
        session: SessionId,
        first: u64,
        last: u64,
    ) -> Result<Vec<(SealedEntry, Option<TurnId>)>> {
        let sql = sql!(
            "SELECT sequence, source, key, event, digest, turn FROM observations \
             WHERE [tenant = $1 AND] session = ?1 AND sequence BETWEEN ?2 AND ?3 ORDER BY sequence"
        );
        self.rows(sql, &[&Col(session), &int(first), &int(last)], sealed_row)
    }

    fn put_receipt(&mut self, receipt: &Receipt) -> Result<bool> {
        self.store_receipt(receipt, None)
    }

    fn receipts(&mut self, session: SessionId) -> Result<Vec<Receipt>> {
        let sql = sql!("SELECT " RECEIPT " FROM receipts WHERE [tenant = $1 AND] session = ?1 ORDER BY number");
        self.rows(sql, &[&Col(session)], receipt_row)
    }
}
