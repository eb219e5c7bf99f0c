//! The log, its receipts and its quick folds in SQLite.

use rusqlite::{Connection, OptionalExtension, Row, params};
use siglum_domain::fold::Entry;
use siglum_domain::observation::{FileVersion, Source};
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, get, int, opt};
use super::listing::{SESSION, readable_session};
use super::open::Tx;
use crate::record::*;
use crate::row::{LogRow, from_word, header, json, stored_name, word};
use crate::stored::{EntryRow, edit_detail, hash_bytes, hashes};
use crate::{Appended, LedgerError, Log, NewEntry};

type Result<T> = std::result::Result<T, LedgerError>;

pub(super) const ENTRY: &str =
    "id, sequence, turn, recorded_at, source, key, event, at, subagent, payload";

pub(super) fn entry_row(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    let mut observation = EntryRow::observation(row.get(5)?, row.get(6)?, get(row, 7)?);
    observation.subagent = row.get(8)?;
    Ok(EntryRow {
        entry: Entry {
            id: get(row, 0)?,
            sequence: count(row, 1)?,
            turn: opt(row, 2)?,
            recorded_at: get(row, 3)?,
            observation,
        },
        source: row.get(4)?,
        payload: row.get(9)?,
    })
}

const EDIT: &str = "session, event, turn, repository, worktree, path, began, at, \
     before, before_object, before_bytes, after, after_object, after_bytes, lines, detail";

fn edit_row(row: &Row<'_>) -> rusqlite::Result<EditRecord> {
    let version = |blob: usize| -> rusqlite::Result<Option<FileVersion>> {
        let Some(oid) = opt::<Oid>(row, blob)? else {
            return Ok(None);
        };
        Ok(Some(FileVersion {
            blob: oid,
            object: row.get(blob + 1)?,
            bytes: count(row, blob + 2)?,
        }))
    };
    let lines: Option<Vec<u8>> = row.get(14)?;
    Ok(EditRecord {
        session: get(row, 0)?,
        event: row.get(1)?,
        turn: opt(row, 2)?,
        repository: get(row, 3)?,
        worktree: row.get(4)?,
        path: row.get(5)?,
        began: get(row, 6)?,
        at: get(row, 7)?,
        before: version(8)?,
        after: version(11)?,
        lines: lines.as_deref().map(hashes),
        detail: edit_detail(row.get::<_, Option<String>>(15)?.as_deref()),
    })
}

impl Tx<'_> {
    fn edit_rows(&mut self, rest: &str, of: impl rusqlite::Params) -> Result<Vec<EditRecord>> {
        let mut query = self
            .db
            .prepare_cached(&format!("SELECT {EDIT} FROM edits {rest}"))?;
        Ok(query
            .query_map(of, edit_row)?
            .collect::<rusqlite::Result<_>>()?)
    }
}

pub(super) const RECEIPT: &str = "session, number, first, last, turns, previous, digest, at";

pub(super) fn receipt_row(row: &Row<'_>) -> rusqlite::Result<Receipt> {
    let turns: String = row.get(4)?;
    Ok(Receipt {
        session: get(row, 0)?,
        number: count(row, 1)?,
        first: count(row, 2)?,
        last: count(row, 3)?,
        turns: turns.split(' ').filter_map(|t| t.parse().ok()).collect(),
        previous: row.get(5)?,
        digest: row.get(6)?,
        at: get(row, 7)?,
    })
}

/// Inserts an entry at its place of the log, unless it is there; of one that was forgotten before it came, the
/// header only.
pub(super) fn insert(
    db: &Connection,
    session: SessionId,
    sequence: i64,
    turn: Option<TurnId>,
    row: &LogRow,
    is_forgotten: bool,
) -> Result<bool> {
    let sql = "INSERT INTO observations (id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload, sum) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, row_sum(?1, ?2, ?3, ?7, ?8, ?9, ?10, ?11)) ON CONFLICT (session, source, key) DO NOTHING";
    let added = db.prepare_cached(sql)?.execute(params![
        Col(row.id),
        Col(session),
        sequence,
        row.source.as_str(),
        row.key,
        row.event,
        turn.map(Col),
        row.subagent,
        row.kind,
        Col(row.at),
        Col(row.recorded_at),
        if is_forgotten { &[] } else { &row.salt[..] },
        row.digest,
        (!is_forgotten).then_some(&row.payload),
    ])?;
    Ok(added > 0)
}

impl Log for Tx<'_> {
    fn append(&mut self, new: &NewEntry<'_>) -> Result<Appended> {
        let o = new.observation;
        let known = "SELECT 1 FROM observations WHERE session = ?1 AND source = ?2 AND key = ?3";
        let session = Col(new.session);
        if self
            .db
            .prepare_cached(known)?
            .exists((&session, o.source.as_str(), &o.key))?
        {
            return Ok(Appended::Known);
        }
        let next = "UPDATE sessions SET head = head + 1 WHERE id = ?1 RETURNING head, forgotten_at";
        let (sequence, forgotten): (i64, Option<i64>) = self
            .db
            .prepare_cached(next)?
            .query_row([&session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let is_forgotten = forgotten.is_some_and(|at| o.at.nanos() <= at);
        let row = LogRow::from_entry(new);
        insert(self.db, new.session, sequence, new.turn, &row, is_forgotten)?;
        Ok(Appended::New(u64::try_from(sequence).unwrap_or(0)))
    }

    fn entries(&mut self, session: SessionId, after: u64, limit: usize) -> Result<Vec<Entry>> {
        let limit = if limit == 0 {
            -1
        } else {
            i64::try_from(limit).unwrap_or(i64::MAX)
        };
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE session = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((Col(session), int(after), limit), entry_row)?;
        EntryRow::records(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn entries_of_turn(
        &mut self,
        session: SessionId,
        turn: TurnId,
        until: u64,
    ) -> Result<Vec<Entry>> {
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE session = ?1 AND turn = ?2 AND sequence <= ?3 ORDER BY sequence"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let of = (Col(session), Col(turn), int(until));
        let rows = query.query_map(of, entry_row)?;
        EntryRow::records(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn entries_of_kind(
        &mut self,
        session: SessionId,
        kind: &str,
        until: u64,
    ) -> Result<Vec<Entry>> {
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE session = ?1 AND kind = ?2 AND sequence <= ?3 ORDER BY sequence"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let of = (Col(session), kind, int(until));
        let rows = query.query_map(of, entry_row)?;
        EntryRow::records(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn last_of_kind(&mut self, session: SessionId, kind: &str, until: u64) -> Result<Option<u64>> {
        let sql = "SELECT sequence FROM observations WHERE session = ?1 AND kind = ?2 AND sequence <= ?3 \
             AND subagent IS NULL AND payload IS NOT NULL ORDER BY sequence DESC LIMIT 1";
        let mut query = self.db.prepare_cached(sql)?;
        let of = (Col(session), kind, int(until));
        Ok(query.query_row(of, |row| count(row, 0)).optional()?)
    }

    fn entry(&mut self, session: SessionId, source: Source, key: &str) -> Result<Option<Entry>> {
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE session = ?1 AND source = ?2 AND key = ?3"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let row = query
            .query_row((Col(session), source.as_str(), key), entry_row)
            .optional()?;
        Ok(row.map(EntryRow::record).transpose()?.flatten())
    }

    fn sighted(
        &mut self,
        session: SessionId,
        source: Source,
        key: &str,
    ) -> Result<Option<Sighted>> {
        let sql =
            "SELECT event, at FROM observations WHERE session = ?1 AND source = ?2 AND key = ?3";
        let sighted = |row: &Row<'_>| {
            Ok(Sighted {
                event: row.get(0)?,
                at: get(row, 1)?,
            })
        };
        Ok(self
            .db
            .prepare_cached(sql)?
            .query_row((Col(session), source.as_str(), key), sighted)
            .optional()?)
    }

    fn begin_call(
        &mut self,
        session: SessionId,
        event: &str,
        worktree: &str,
        at: Timestamp,
    ) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO running_calls (session, event, worktree, started) VALUES (?1, ?2, ?3, ?4)";
        self.db
            .prepare_cached(sql)?
            .execute((Col(session), event, worktree, Col(at)))?;
        Ok(())
    }

    fn end_call(&mut self, session: SessionId, event: &str) -> Result<()> {
        self.db
            .prepare_cached("DELETE FROM running_calls WHERE session = ?1 AND event = ?2")?
            .execute((Col(session), event))?;
        Ok(())
    }

    fn end_calls(&mut self, session: SessionId) -> Result<()> {
        self.db
            .prepare_cached("DELETE FROM running_calls WHERE session = ?1")?
            .execute([Col(session)])?;
        Ok(())
    }

    fn running_calls(&mut self, worktree: &str, since: Timestamp) -> Result<Vec<RunningCall>> {
        let sql = "SELECT session, event, started FROM running_calls WHERE worktree = ?1 AND started >= ?2 ORDER BY session, event";
        let mut query = self.db.prepare_cached(sql)?;
        let call = |row: &Row<'_>| {
            Ok(RunningCall {
                session: get(row, 0)?,
                event: row.get(1)?,
                started: get(row, 2)?,
            })
        };
        Ok(query
            .query_map((worktree, Col(since)), call)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn put_move(&mut self, m: &HeadMove) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO head_moves (repository, \"commit\", session, event, said, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.db.prepare_cached(sql)?.execute((
            Col(m.repository),
            m.commit.as_str(),
            Col(m.session),
            &m.event,
            word(&m.mention),
            Col(m.at),
        ))?;
        Ok(())
    }

    fn moves_to(&mut self, repository: RepositoryId, commit: &Oid) -> Result<Vec<HeadMove>> {
        let sql = "SELECT repository, \"commit\", session, event, said, at FROM head_moves WHERE repository = ?1 AND \"commit\" = ?2 ORDER BY session, event";
        let mut query = self.db.prepare_cached(sql)?;
        let moved = |row: &Row<'_>| {
            let moved = HeadMove {
                repository: get(row, 0)?,
                commit: get(row, 1)?,
                session: get(row, 2)?,
                event: row.get(3)?,
                mention: OutputMention::Nothing,
                at: get(row, 5)?,
            };
            Ok((moved, row.get::<_, String>(4)?))
        };
        let rows: Vec<_> = query
            .query_map((Col(repository), commit.as_str()), moved)?
            .collect::<rusqlite::Result<_>>()?;
        let whole = |(moved, mention): (HeadMove, String)| {
            let mention = from_word("said", &mention)?;
            Ok(HeadMove { mention, ..moved })
        };
        rows.into_iter().map(whole).collect()
    }

    fn put_edit(&mut self, e: &EditRecord) -> Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO edits ({EDIT}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
        );
        let blob = |v: &Option<FileVersion>| v.as_ref().map(|v| v.blob.to_string());
        let object = |v: &Option<FileVersion>| v.as_ref().and_then(|v| v.object.clone());
        let bytes = |v: &Option<FileVersion>| v.as_ref().map(|v| int(v.bytes));
        let lines = e.lines.as_deref().map(hash_bytes);
        self.db.prepare_cached(&sql)?.execute(params![
            Col(e.session),
            e.event,
            e.turn.map(Col),
            Col(e.repository),
            e.worktree,
            stored_name(&e.path),
            Col(e.began),
            Col(e.at),
            blob(&e.before),
            object(&e.before),
            bytes(&e.before),
            blob(&e.after),
            object(&e.after),
            bytes(&e.after),
            lines,
            (e.detail != EditDetail::default()).then(|| json(&e.detail)),
        ])?;
        self.works_in(e.session, [e.repository])
    }

    fn edits(
        &mut self,
        repository: RepositoryId,
        path: &str,
        until: Timestamp,
    ) -> Result<Vec<EditRecord>> {
        self.edit_rows(
            "WHERE repository = ?1 AND path = ?2 AND began <= ?3 ORDER BY at, session, event",
            (Col(repository), stored_name(path), Col(until)),
        )
    }

    fn last_edit(&mut self, repository: RepositoryId, path: &str) -> Result<Option<EditRecord>> {
        Ok(self
            .edit_rows(
                "WHERE repository = ?1 AND path = ?2 ORDER BY at DESC LIMIT 1",
                (Col(repository), stored_name(path)),
            )?
            .pop())
    }

    fn edits_leaving(&mut self, blob: &Oid) -> Result<Vec<EditRecord>> {
        self.edit_rows(
            "WHERE after = ?1 ORDER BY at, session, event",
            [blob.as_str()],
        )
    }

    fn unhashed_edits(&mut self, limit: usize) -> Result<Vec<EditRecord>> {
        self.edit_rows("WHERE lines IS NULL LIMIT ?1", [int(limit as u64)])
    }

    fn unsealed(&mut self, limit: usize) -> Result<Vec<SessionRecord>> {
        let sql = format!(
            "SELECT {SESSION} FROM sessions s INDEXED BY sessions_unsealed WHERE s.head > s.sealed AND s.mode = 'observed' AND s.quarantined IS NULL ORDER BY s.last_at LIMIT ?1"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query
            .query_map([int(limit as u64)], readable_session)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn to_seal(
        &mut self,
        session: SessionId,
        first: u64,
        last: u64,
    ) -> Result<Vec<(SealedEntry, Option<TurnId>)>> {
        let sql = "SELECT sequence, source, key, event, digest, turn FROM observations WHERE session = ?1 AND sequence BETWEEN ?2 AND ?3 ORDER BY sequence";
        let mut query = self.db.prepare_cached(sql)?;
        let entry = |row: &Row<'_>| {
            let (source, key, event): (String, String, String) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            let sealed = SealedEntry {
                sequence: count(row, 0)?,
                header: header(&source, &key, &event),
                payload: row.get(4)?,
            };
            Ok((sealed, opt(row, 5)?))
        };
        Ok(query
            .query_map((Col(session), int(first), int(last)), entry)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn put_receipt(&mut self, receipt: &Receipt) -> Result<bool> {
        self.store_receipt(receipt, None)
    }

    fn receipts(&mut self, session: SessionId) -> Result<Vec<Receipt>> {
        let sql = format!("SELECT {RECEIPT} FROM receipts WHERE session = ?1 ORDER BY number");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query
            .query_map([Col(session)], receipt_row)?
            .collect::<rusqlite::Result<_>>()?)
    }
}
