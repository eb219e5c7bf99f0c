//! The index beside a ledger in SQLite: a file of its own, with the words in FTS5.
//!
//! Words are cut in Rust (`siglum_domain::search`), and FTS5 takes them as they are. It holds words alone, without the
//! texts: whoever takes a part out of it hands it the same words that were put in, made from the text that is stored
//! beside it. FTS5 then notes that they are gone, and leaves them out when it next writes that part of its index anew.
//! Where something was erased, all of it is written anew at once ([`IndexFile::purge`]), and SQLite overwrites what becomes
//! free. FTS5's own `secure-delete` would do that for each word by itself: with some thousand turns, to replace one takes
//! it a hundred times longer.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{
    Connection, OpenFlags, OptionalExtension as _, Row, ToSql, Transaction, TransactionBehavior,
    params_from_iter,
};
use siglum_domain::search::{self, IndexTerm, TurnText};
use siglum_domain::{LedgerId, SessionId, Timestamp, TurnId};
use uuid::Uuid;

use super::index::{
    IndexMatch, IndexQuery, IndexUpdate, IndexedPart, PartChanges, PartKey, PartMark, index_word,
    mark_of, text_of, text_stored,
};
use crate::LedgerError;

type Result<T> = std::result::Result<T, LedgerError>;

/// The version of the file: of its tables, and of what words are.
const FORM: u32 = 1_000 + search::VERSION;
/// How long others are waited for.
const WAIT: Duration = Duration::from_secs(10);
/// How many ids behind the one of its time are tried for a part, before it is put behind all others.
const TRIED: i64 = 256;

const TABLES: &str = "
DROP TABLE IF EXISTS terms;
DROP TABLE IF EXISTS parts;
DROP TABLE IF EXISTS about;
DROP TABLE IF EXISTS erasures;
CREATE TABLE about (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE parts (
    id      INTEGER PRIMARY KEY,
    session BLOB NOT NULL,
    turn    BLOB NOT NULL,
    part    INTEGER NOT NULL,
    number  INTEGER NOT NULL,
    began   INTEGER NOT NULL,
    mark    BLOB NOT NULL,
    text    BLOB NOT NULL
);
CREATE TABLE erasures (
    session BLOB PRIMARY KEY,
    at      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX parts_by_session ON parts (session, turn, part);
CREATE VIRTUAL TABLE terms USING fts5(words, content='', columnsize=0, detail=none, tokenize=\"ascii tokenchars '_-'\");
";

/// The file, open.
pub(crate) struct IndexFile {
    db: Connection,
}

/// A part as it is stored.
struct StoredPart {
    id: i64,
    number: i64,
    began: i64,
}

impl IndexFile {
    /// Where the index of a ledger is: in a home `search.db`.
    pub(crate) fn path_beside(ledger: &Path) -> PathBuf {
        let name = ledger.file_name().unwrap_or_default().to_string_lossy();
        match name.as_ref() {
            "ledger.db" => ledger.with_file_name("search.db"),
            other => ledger.with_file_name(format!("{other}.search")),
        }
    }

    /// Opens the index of a ledger; nothing where there is none, or one of another version or ledger.
    pub(crate) fn open(path: &Path, ledger: LedgerId) -> Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(meta) if meta.len() > 0 => {}
            _ => return Ok(None),
        }
        let file = match Self::connect(path) {
            // Whoever makes another one has just removed it.
            Err(_) if !path.exists() => return Ok(None),
            file => file?,
        };
        let form: u32 = file
            .db
            .pragma_query_value(None, "user_version", |row| row.get(0))?;
        if form != FORM {
            return Ok(None);
        }
        let own: Option<Vec<u8>> = file.about("ledger")?;
        Ok(own
            .is_some_and(|own| own == ledger.uuid().as_bytes())
            .then_some(file))
    }

    /// Makes an empty one, for its owner alone. What was there goes.
    pub(crate) fn create(path: &Path, ledger: LedgerId) -> Result<Self> {
        let unwritable = |error| LedgerError::Unwritable(Box::new(error));
        // A worker and `rebuild` may make one at once, and each removes what was there: one after the other. Where a
        // directory cannot be locked, the later one fails.
        let place = path.parent().unwrap_or(Path::new("."));
        let place = File::open(place).map_err(unwritable)?;
        let _ = place.lock();
        Self::remove(path)?;
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)
            .map_err(unwritable)?;
        let mut file = Self::connect(path)?;
        file.db.pragma_update(None, "journal_mode", "WAL")?;
        let tx = file
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute_batch(TABLES)?;
        let id = ledger.uuid().as_bytes().to_vec();
        tx.execute("INSERT INTO about (key, value) VALUES ('ledger', ?1)", [id])?;
        tx.pragma_update(None, "user_version", FORM)?;
        tx.commit()?;
        Ok(file)
    }

    /// Deletes the file with its log.
    pub(crate) fn remove(path: &Path) -> Result<()> {
        for ending in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            match fs::remove_file(&name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(LedgerError::Unwritable(Box::new(error)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn connect(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags)?;
        db.busy_timeout(WAIT)?;
        db.pragma_update(None, "secure_delete", true)?;
        // Whoever fills it takes a session off the queue of the ledger, which must not be stored sooner.
        db.pragma_update(None, "synchronous", "FULL")?;
        Ok(Self { db })
    }

    fn about(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT value FROM about WHERE key = ?1";
        Ok(self.db.query_row(sql, [key], |row| row.get(0)).optional()?)
    }

    /// Whether all sessions were in it once, or wait for it.
    pub(crate) fn is_ready(&self) -> Result<bool> {
        Ok(self.about("ready")?.is_some())
    }

    /// Says that all sessions wait for it.
    pub(crate) fn set_ready(&self) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO about (key, value) VALUES ('ready', x'01')";
        self.db.execute(sql, [])?;
        Ok(())
    }

    /// What it has of a session.
    pub(crate) fn parts(&self, session: SessionId) -> Result<Vec<PartMark>> {
        let stored = stored_parts(&self.db, session)?;
        let marks = stored.into_iter();
        Ok(marks
            .map(|(key, (_, mark))| PartMark { key, mark })
            .collect())
    }

    /// Puts sessions into it, each where it still `stands` as it was read: that is asked once nobody else can write here.
    /// Gives which were put.
    pub(crate) fn update(
        &mut self,
        updates: &[IndexUpdate<'_>],
        stands: &mut dyn FnMut(&IndexUpdate<'_>) -> Result<bool>,
    ) -> Result<Vec<bool>> {
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut put = Vec::with_capacity(updates.len());
        let mut all = Vec::new();
        for update in updates {
            let changes = match stands(update)? {
                true => PartChanges::new(update, stored_parts(&tx, update.waiting.session)?),
                false => None,
            };
            put.push(changes.is_some());
            all.extend(changes.map(|changes| (update.waiting.session, changes)));
        }
        write(&tx, &all)?;
        tx.commit()?;
        Ok(put)
    }

    /// Takes sessions out of it.
    pub(crate) fn take_out(&mut self, sessions: &[SessionId]) -> Result<()> {
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut all = Vec::new();
        for session in sessions {
            let stored = stored_parts(&tx, *session)?;
            let gone = stored.into_values().map(|(part, _)| part).collect();
            let changes = PartChanges {
                gone,
                replaced: Vec::new(),
                kept: Vec::new(),
                added: Vec::new(),
            };
            all.push((*session, changes));
        }
        write(&tx, &all)?;
        tx.commit()?;
        Ok(())
    }

    /// Writes the words anew, so that none remains of what was taken out, and empties the log. It is noted of which
    /// erasures in the ledger nothing remains after that.
    pub(crate) fn purge(&self, erasures: &[(SessionId, Timestamp)]) -> Result<()> {
        self.db
            .execute("INSERT INTO terms (terms) VALUES ('optimize')", [])?;
        self.note_erasures(erasures)?;
        self.cut_off()
    }

    /// Notes that nothing is in it of what was erased in the ledger by then.
    pub(crate) fn note_erasures(&self, erasures: &[(SessionId, Timestamp)]) -> Result<()> {
        let tx = self.db.unchecked_transaction()?;
        let sql = "INSERT OR REPLACE INTO erasures (session, at) VALUES (?1, ?2)";
        for (session, at) in erasures {
            let session = session.uuid().as_bytes().to_vec();
            tx.prepare_cached(sql)?.execute((session, at.nanos()))?;
        }
        Ok(tx.commit()?)
    }

    /// Whether something may remain of what was last erased of a session at that time.
    pub(crate) fn lacks_purge(&self, session: SessionId, erased: Timestamp) -> Result<bool> {
        let sql = "SELECT 1 FROM erasures WHERE session = ?1 AND at = ?2";
        let session = session.uuid().as_bytes().to_vec();
        let mut select = self.db.prepare_cached(sql)?;
        Ok(!select.exists((session, erased.nanos()))?)
    }

    /// Brings its log into the file and empties it, so that not even old bytes of the log hold what was taken out.
    fn cut_off(&self) -> Result<()> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = self.db.query_row(sql, [], |row| row.get(0))?;
        match busy {
            0 => Ok(()),
            _ => Err(LedgerError::Busy),
        }
    }

    /// Parts that fit, the newest first.
    pub(crate) fn find(&self, query: &IndexQuery) -> Result<Vec<IndexMatch>> {
        let words = expression(&query.all_of);
        let first = query.since.map_or(0, id_at);
        let from = query.since.map_or(i64::MIN, Timestamp::nanos);
        let past = query.until.map_or(i64::MAX, Timestamp::nanos);
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
        let (tables, id) = match &words {
            Some(_) => (
                "terms CROSS JOIN parts p ON p.id = terms.rowid",
                "terms.rowid",
            ),
            None => ("parts p", "p.id"),
        };
        let mut sql = format!(
            "SELECT p.id, p.session, p.turn, p.number, p.began FROM {tables} \
             WHERE {id} >= ?1 AND p.began >= ?2 AND p.began < ?3"
        );
        let mut values: Vec<Box<dyn ToSql>> = vec![
            Box::new(first),
            Box::new(from),
            Box::new(past),
            Box::new(limit),
        ];
        if let Some(words) = words {
            values.push(Box::new(words));
            sql += &format!(" AND terms MATCH ?{}", values.len());
        }
        if let Some(sessions) = &query.sessions {
            let mut places = Vec::with_capacity(sessions.len());
            for session in sessions {
                values.push(Box::new(session.uuid().as_bytes().to_vec()));
                places.push(format!("?{}", values.len()));
            }
            sql += &format!(" AND p.session IN ({})", places.join(", "));
        }
        sql += &format!(" ORDER BY {id} DESC LIMIT ?4");
        let mut select = self.db.prepare(&sql)?;
        let rows = select.query_map(params_from_iter(values), match_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The texts of parts, of those that are still there.
    pub(crate) fn texts(&self, ids: &[i64]) -> Result<Vec<(i64, TurnText)>> {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(stored) = stored_text(&self.db, *id)? {
                found.push((*id, text_of(&stored)?));
            }
        }
        Ok(found)
    }

    /// What is wrong with it, in words.
    pub(crate) fn check(&self) -> Result<Vec<String>> {
        let mut rows = self.db.prepare("PRAGMA quick_check(5)")?;
        let lines = rows
            .query_map([], |row| row.get::<_, String>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let mut wrong: Vec<String> = lines.into_iter().filter(|line| line != "ok").collect();
        let words = "INSERT INTO terms (terms) VALUES ('integrity-check')";
        match self.db.execute(words, []).map_err(LedgerError::from) {
            Ok(_) => {}
            Err(LedgerError::Damaged(what)) => wrong.push(what),
            Err(error) => return Err(error),
        }
        Ok(wrong)
    }
}

fn uuid_at(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Uuid>> {
    let bytes: Vec<u8> = row.get(at)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let wrong = |e| {
        let ty = rusqlite::types::Type::Blob;
        rusqlite::Error::FromSqlConversionFailure(at, ty, Box::new(e))
    };
    Uuid::from_slice(&bytes).map(Some).map_err(wrong)
}

fn count_at(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|n| u64::try_from(n).unwrap_or(0))
}

fn match_row(row: &Row<'_>) -> rusqlite::Result<IndexMatch> {
    Ok(IndexMatch {
        id: row.get(0)?,
        session: SessionId::from_uuid(uuid_at(row, 1)?.unwrap_or_default()),
        turn: uuid_at(row, 2)?.map(TurnId::from_uuid),
        number: count_at(row, 3)?,
        began: Timestamp::from_nanos(row.get(4)?),
    })
}

/// What is stored of a session.
fn stored_parts(
    db: &Connection,
    session: SessionId,
) -> Result<BTreeMap<PartKey, (StoredPart, [u8; 32])>> {
    let sql = "SELECT turn, part, id, number, began, mark FROM parts WHERE session = ?1";
    let mut select = db.prepare_cached(sql)?;
    let rows = select.query_map([session.uuid().as_bytes().to_vec()], |row| {
        let key: PartKey = (uuid_at(row, 0)?.map(TurnId::from_uuid), count_at(row, 1)?);
        let part = StoredPart {
            id: row.get(2)?,
            number: row.get(3)?,
            began: row.get(4)?,
        };
        Ok((key, part, row.get::<_, Vec<u8>>(5)?))
    })?;
    let mut parts = BTreeMap::new();
    for row in rows {
        let (key, part, mark) = row?;
        parts.insert(key, (part, mark_of(&mark)?));
    }
    Ok(parts)
}

fn stored_text(db: &Connection, id: i64) -> Result<Option<Vec<u8>>> {
    let mut select = db.prepare_cached("SELECT text FROM parts WHERE id = ?1")?;
    Ok(select.query_row([id], |row| row.get(0)).optional()?)
}

/// Writes changes of sessions. FTS5 takes ids in their order best, so all that go come first, and then all that come.
fn write(tx: &Transaction<'_>, all: &[(SessionId, PartChanges<'_, StoredPart>)]) -> Result<()> {
    let gone = all.iter().flat_map(|(_, changes)| &changes.gone);
    let mut gone: Vec<(i64, bool)> = gone.map(|part| (part.id, true)).collect();
    let replaced = all.iter().flat_map(|(_, changes)| &changes.replaced);
    gone.extend(replaced.map(|(part, ..)| (part.id, false)));
    gone.sort_unstable();
    for (id, is_dropped) in gone {
        let text = stored_text(tx, id)?.unwrap_or_default();
        let sql = "INSERT INTO terms (terms, rowid, words) VALUES ('delete', ?1, ?2)";
        tx.prepare_cached(sql)?
            .execute((id, joined_words(&text_of(&text)?)))?;
        if is_dropped {
            let sql = "DELETE FROM parts WHERE id = ?1";
            tx.prepare_cached(sql)?.execute([id])?;
        }
    }
    let mut come: Vec<(i64, &TurnText)> = Vec::new();
    for (session, changes) in all {
        for (stored, part) in &changes.kept {
            let is_same = (stored.number, stored.began) == (number(part), part.began.nanos());
            if !is_same {
                let sql = "UPDATE parts SET number = ?2, began = ?3 WHERE id = ?1";
                let values = (stored.id, number(part), part.began.nanos());
                tx.prepare_cached(sql)?.execute(values)?;
            }
        }
        for (stored, part, text) in &changes.replaced {
            let sql =
                "UPDATE parts SET number = ?2, began = ?3, mark = ?4, text = ?5 WHERE id = ?1";
            let (mark, packed) = (&part.mark[..], text_stored(text));
            let values = (stored.id, number(part), part.began.nanos(), mark, packed);
            tx.prepare_cached(sql)?.execute(values)?;
            come.push((stored.id, *text));
        }
        for (part, text) in &changes.added {
            come.push((add(tx, *session, part, text)?, *text));
        }
    }
    come.sort_unstable_by_key(|(id, _)| *id);
    for (id, text) in come {
        let sql = "INSERT INTO terms (rowid, words) VALUES (?1, ?2)";
        tx.prepare_cached(sql)?.execute((id, joined_words(text)))?;
    }
    Ok(())
}

/// Stores a part, and gives the id that it got.
fn add(
    tx: &Transaction<'_>,
    session: SessionId,
    part: &IndexedPart,
    text: &TurnText,
) -> Result<i64> {
    let (turn, nth) = part.key;
    let id = free_id(tx, id_at(part.began))?;
    let sql = "INSERT INTO parts (id, session, turn, part, number, began, mark, text) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    tx.prepare_cached(sql)?.execute((
        id,
        session.uuid().as_bytes().to_vec(),
        turn.map(|turn| turn.uuid().as_bytes().to_vec())
            .unwrap_or_default(),
        i64::try_from(nth).unwrap_or(i64::MAX),
        number(part),
        part.began.nanos(),
        &part.mark[..],
        text_stored(text),
    ))?;
    Ok(id)
}

fn number(part: &IndexedPart) -> i64 {
    i64::try_from(part.number).unwrap_or(i64::MAX)
}

/// The least id that a part of this time may have: ids are near the second at which a turn began, so that the newest parts
/// are found first, and near each other, so that FTS5 keeps them in few bytes.
fn id_at(at: Timestamp) -> i64 {
    at.seconds().max(1)
}

/// An id that is free, from one on.
fn free_id(tx: &Transaction<'_>, from: i64) -> Result<i64> {
    let mut taken = tx.prepare_cached("SELECT 1 FROM parts WHERE id = ?1")?;
    for id in from..from.saturating_add(TRIED) {
        if !taken.exists([id])? {
            return Ok(id);
        }
    }
    let last = "SELECT coalesce(max(id), 0) + 1 FROM parts";
    let behind: i64 = tx.prepare_cached(last)?.query_row([], |row| row.get(0))?;
    Ok(behind)
}

/// The words of a text as FTS5 takes them.
fn joined_words(text: &TurnText) -> String {
    text.words().join(" ")
}

/// What is asked for in the language of FTS5; nothing where nothing is. Each word is a string, in which nothing is syntax.
fn expression(all_of: &[Vec<IndexTerm>]) -> Option<String> {
    let term = |term: &IndexTerm| match term {
        IndexTerm::Whole(word) => quoted(word),
        IndexTerm::Prefix(start) => format!("{}*", quoted(start)),
    };
    let one_of = |terms: &Vec<IndexTerm>| {
        let terms: Vec<String> = terms.iter().map(term).collect();
        format!("({})", terms.join(" OR "))
    };
    let all = all_of.iter().filter(|terms| !terms.is_empty());
    let all: Vec<String> = all.map(one_of).collect();
    (!all.is_empty()).then(|| all.join(" AND "))
}

fn quoted(word: &str) -> String {
    format!("\"{}\"", index_word(word))
}

#[cfg(test)]
mod tests;
