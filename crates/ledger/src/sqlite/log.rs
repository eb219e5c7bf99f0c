//! The log, its receipts and its quick folds in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::fold::Entry;
use siglum_domain::observation::{FileVersion, Observation, Source};
use siglum_domain::receipt::{GENESIS, Receipt, SealedEntry, payload_digest};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp, TurnId};

use super::columns::{Col, count, from_json, from_word, get, int, json, opt, word};
use super::open::Tx;
use super::sessions::session_row;
use crate::record::*;
use crate::{Appended, LedgerError, Log, NewEntry};

type Result<T> = std::result::Result<T, LedgerError>;

/// Payloads above this size are compressed; below, zstd's frame costs more than it saves.
const COMPRESS_ABOVE: usize = 1024;

/// Packs a payload: `{…` is JSON, anything else a zstd frame.
pub(super) fn pack(payload: &str) -> Vec<u8> {
    if payload.len() <= COMPRESS_ABOVE {
        return payload.as_bytes().to_vec();
    }
    zstd::bulk::compress(payload.as_bytes(), 3)
        .expect("because compressing into memory cannot fail")
}

pub(super) fn unpack(stored: &[u8]) -> Result<String> {
    let bytes = if stored.first() == Some(&b'{') {
        stored.to_vec()
    } else {
        zstd::stream::decode_all(stored)
            .map_err(|e| LedgerError::Damaged(format!("payload: {e}")))?
    };
    String::from_utf8(bytes).map_err(|e| LedgerError::Damaged(format!("payload: {e}")))
}

const ENTRY: &str = "id, sequence, turn, recorded_at, source, key, event, at, subagent, payload";

/// An entry whose payload is still packed.
struct Packed {
    entry: Entry,
    source: String,
    payload: Option<Vec<u8>>,
}

fn entry_row(row: &Row<'_>) -> rusqlite::Result<Packed> {
    let observation = Observation {
        source: Source::Siglum,
        key: row.get(5)?,
        event: row.get(6)?,
        at: get(row, 7)?,
        turn: None,
        subagent: row.get(8)?,
        fact: siglum_domain::observation::Fact::Other {
            name: String::new(),
        },
    };
    let entry = Entry {
        id: get(row, 0)?,
        sequence: count(row, 1)?,
        turn: opt(row, 2)?,
        recorded_at: get(row, 3)?,
        observation,
    };
    Ok(Packed {
        entry,
        source: row.get(4)?,
        payload: row.get(9)?,
    })
}

fn unpacked(rows: Vec<Packed>) -> Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(rows.len());
    for mut row in rows {
        let Some(payload) = row.payload else { continue };
        row.entry.observation.source = from_word("source", &row.source)?;
        row.entry.observation.fact = from_json("fact", &unpack(&payload)?)?;
        entries.push(row.entry);
    }
    Ok(entries)
}

const EDIT: &str = "session, event, turn, repository, worktree, path, began, at, \
     before, before_object, before_bytes, after, after_object, after_bytes, lines";

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
    let hashes = |b: Vec<u8>| {
        b.chunks_exact(8)
            .map(|c| u64::from_le_bytes(c.try_into().expect("because chunks have 8 bytes")))
            .collect()
    };
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
        lines: lines.map(hashes),
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

fn receipt_row(row: &Row<'_>) -> rusqlite::Result<Receipt> {
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
        let payload = json(&o.fact);
        let digest = payload_digest(&new.salt, payload.as_bytes());
        let sql = "INSERT INTO observations (id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        self.db.prepare_cached(sql)?.execute(params![
            Col(new.id),
            session,
            sequence,
            o.source.as_str(),
            o.key,
            o.event,
            new.turn.map(Col),
            o.subagent,
            o.fact.kind(),
            Col(o.at),
            Col(new.recorded_at),
            if is_forgotten { &[] } else { &new.salt[..] },
            digest,
            (!is_forgotten).then(|| pack(&payload)),
        ])?;
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
        unpacked(
            query
                .query_map((Col(session), int(after), limit), entry_row)?
                .collect::<rusqlite::Result<_>>()?,
        )
    }

    fn entry(&mut self, session: SessionId, source: Source, key: &str) -> Result<Option<Entry>> {
        let sql = format!(
            "SELECT {ENTRY} FROM observations WHERE session = ?1 AND source = ?2 AND key = ?3"
        );
        let mut query = self.db.prepare_cached(&sql)?;
        let row = query
            .query_row((Col(session), source.as_str(), key), entry_row)
            .optional()?;
        Ok(unpacked(row.into_iter().collect())?.pop())
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
            word(&m.said),
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
                said: Said::Nothing,
                at: get(row, 5)?,
            };
            Ok((moved, row.get::<_, String>(4)?))
        };
        let rows: Vec<_> = query
            .query_map((Col(repository), commit.as_str()), moved)?
            .collect::<rusqlite::Result<_>>()?;
        let whole = |(moved, said): (HeadMove, String)| {
            let said = from_word("said", &said)?;
            Ok(HeadMove { said, ..moved })
        };
        rows.into_iter().map(whole).collect()
    }

    fn put_edit(&mut self, e: &EditRecord) -> Result<()> {
        let sql = format!(
            "INSERT OR REPLACE INTO edits ({EDIT}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
        );
        let blob = |v: &Option<FileVersion>| v.as_ref().map(|v| v.blob.to_string());
        let object = |v: &Option<FileVersion>| v.as_ref().and_then(|v| v.object.clone());
        let bytes = |v: &Option<FileVersion>| v.as_ref().map(|v| int(v.bytes));
        let lines = e
            .lines
            .as_ref()
            .map(|l| l.iter().flat_map(|h| h.to_le_bytes()).collect::<Vec<u8>>());
        self.db.prepare_cached(&sql)?.execute(params![
            Col(e.session),
            e.event,
            e.turn.map(Col),
            Col(e.repository),
            e.worktree,
            e.path,
            Col(e.began),
            Col(e.at),
            blob(&e.before),
            object(&e.before),
            bytes(&e.before),
            blob(&e.after),
            object(&e.after),
            bytes(&e.after),
            lines,
        ])?;
        Ok(())
    }

    fn edits(
        &mut self,
        repository: RepositoryId,
        path: &str,
        until: Timestamp,
    ) -> Result<Vec<EditRecord>> {
        self.edit_rows(
            "WHERE repository = ?1 AND path = ?2 AND began <= ?3 ORDER BY at, session, event",
            (Col(repository), path, Col(until)),
        )
    }

    fn last_edit(&mut self, repository: RepositoryId, path: &str) -> Result<Option<EditRecord>> {
        Ok(self
            .edit_rows(
                "WHERE repository = ?1 AND path = ?2 ORDER BY at DESC LIMIT 1",
                (Col(repository), path),
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
        let sql = "SELECT s.id, s.agent, s.conversation_id, s.home, s.mode, s.origin, s.parent, s.parent_relation, s.created_at, s.last_at, \
             s.ended_at, s.cwd, s.repository, s.worktree, s.head, s.sealed, s.forgotten_at, s.forgotten_whole FROM sessions s WHERE s.head > s.sealed ORDER BY s.last_at LIMIT ?1";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query
            .query_map([int(limit as u64)], session_row)?
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
                header: format!("{source}\n{key}\n{event}"),
                payload: row.get(4)?,
            };
            Ok((sealed, opt(row, 5)?))
        };
        Ok(query
            .query_map((Col(session), int(first), int(last)), entry)?
            .collect::<rusqlite::Result<_>>()?)
    }

    fn take_lease(
        &mut self,
        session: SessionId,
        holder: &str,
        at: Timestamp,
        until: Timestamp,
    ) -> Result<Option<u64>> {
        let sql = "INSERT INTO leases (session, epoch, holder, expires_at) VALUES (?1, 1, ?2, ?4) \
             ON CONFLICT (session) DO UPDATE SET epoch = epoch + (holder <> excluded.holder OR expires_at <= ?3), \
             holder = excluded.holder, expires_at = excluded.expires_at \
             WHERE holder = excluded.holder OR expires_at <= ?3 RETURNING epoch";
        let mut query = self.db.prepare_cached(sql)?;
        let values = (Col(session), holder, Col(at), Col(until));
        Ok(query.query_row(values, |row| count(row, 0)).optional()?)
    }

    fn release_lease(&mut self, session: SessionId, epoch: u64, at: Timestamp) -> Result<()> {
        let sql = "UPDATE leases SET expires_at = ?3 WHERE session = ?1 AND epoch = ?2";
        self.db
            .prepare_cached(sql)?
            .execute((Col(session), int(epoch), Col(at)))?;
        Ok(())
    }

    fn put_receipt(&mut self, r: &Receipt) -> Result<bool> {
        let last =
            "SELECT number, digest FROM receipts WHERE session = ?1 ORDER BY number DESC LIMIT 1";
        let (number, digest) = self
            .db
            .prepare_cached(last)?
            .query_row([Col(r.session)], |row| {
                Ok((count(row, 0)?, row.get::<_, String>(1)?))
            })
            .optional()?
            .unwrap_or_else(|| (0, GENESIS.to_owned()));
        let follows = r.number == number + 1 && r.previous == digest;
        if !follows || r.first == 0 || r.first > r.last {
            return Ok(false);
        }
        let next = "UPDATE sessions SET sealed = ?2 WHERE id = ?1 AND sealed = ?3 AND head >= ?2";
        let moved = self.db.prepare_cached(next)?.execute((
            Col(r.session),
            int(r.last),
            int(r.first - 1),
        ))?;
        if moved == 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO receipts (session, number, first, last, turns, previous, digest, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let turns = r
            .turns
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ");
        self.db.prepare_cached(sql)?.execute((
            Col(r.session),
            int(r.number),
            int(r.first),
            int(r.last),
            turns,
            &r.previous,
            &r.digest,
            Col(r.at),
        ))?;
        Ok(true)
    }

    fn receipts(&mut self, session: SessionId) -> Result<Vec<Receipt>> {
        let sql = "SELECT session, number, first, last, turns, previous, digest, at FROM receipts WHERE session = ?1 ORDER BY number";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query
            .query_map([Col(session)], receipt_row)?
            .collect::<rusqlite::Result<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_survive_packing() {
        for text in [
            "{}".to_owned(),
            format!("{{\"a\":\"{}\"}}", "x".repeat(5000)),
        ] {
            assert_eq!(unpack(&pack(&text)).unwrap(), text);
        }
        assert!(unpack(b"nonsense").is_err());
    }
}
