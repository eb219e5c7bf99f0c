//! The index of a ledger in SQLite: the queue of sessions that wait is in the ledger, all else in the file beside it.

use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior};
use siglum_domain::search::TurnText;
use siglum_domain::{RepositoryId, SessionId, Timestamp};

use super::columns::{Col, count, get, int, opt};
use super::open::{SqliteLedger, patiently};
use crate::search::{
    IndexCheck, IndexFile, IndexMatch, IndexQuery, IndexStanding, IndexUpdate, PartMark,
    SearchIndex, WAITING_MOST, WaitingSession,
};
use crate::{Ledger as _, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

impl SqliteLedger {
    /// The file, if it can be used.
    fn index_file(&self) -> Result<Option<IndexFile>> {
        IndexFile::open(&IndexFile::path_beside(self.path()), self.id())
    }

    /// The file, if it can be asked.
    fn ready_index(&self) -> Result<IndexFile> {
        if let Some(file) = self.index_file()?
            && file.is_ready()?
        {
            return Ok(file);
        }
        let what = "the index is not there, or another version made it";
        Err(LedgerError::Damaged(what.to_owned()))
    }

    /// Changes the queue in a transaction of its own.
    fn change_queue<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let tx = self.begin(TransactionBehavior::Immediate)?;
        let changed = work(&tx)?;
        tx.commit()?;
        Ok(changed)
    }

    /// Takes all sessions out of the index that changed since it has them: what was erased of them is in it. The worker
    /// puts back what is left.
    pub(super) fn scrub_index(&mut self) -> Result<()> {
        let path = IndexFile::path_beside(self.path());
        let wait = self.wait();
        let waiting: Vec<(SessionId, Option<Timestamp>)> = {
            let sql = "SELECT u.session, s.forgotten_at FROM unindexed u LEFT JOIN sessions s ON s.id = u.session";
            let mut query = self.connection().prepare(sql)?;
            let rows = query.query_map([], |row| Ok((get(row, 0)?, opt(row, 1)?)))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let sessions: Vec<SessionId> = waiting.iter().map(|(session, _)| *session).collect();
        let erasures = waiting
            .iter()
            .filter_map(|(session, at)| Some((*session, (*at)?)));
        let erasures: Vec<(SessionId, Timestamp)> = erasures.collect();
        let cleared = match IndexFile::open(&path, self.id()) {
            Ok(Some(mut file)) => patiently(wait, || {
                file.take_out(&sessions)?;
                file.purge(&erasures)
            }),
            // Nobody can say what is in another one.
            Ok(None) => return IndexFile::remove(&path),
            Err(error) => Err(error),
        };
        match cleared {
            Err(LedgerError::Damaged(_)) => IndexFile::remove(&path),
            other => other,
        }
    }
}

/// An index that is larger is not gone through, in bytes: it would take longer than to make it again.
const CHECKED_MOST: u64 = 128 << 20;

/// The size of an index that is not gone through.
fn unchecked_bytes(path: &std::path::Path) -> Option<u64> {
    let bytes = std::fs::metadata(path).ok()?.len();
    (bytes > CHECKED_MOST).then_some(bytes)
}

/// Which change of a session waits, if one does.
fn change_of(db: &Connection, session: SessionId) -> Result<Option<i64>> {
    let mut query = db.prepare_cached("SELECT change FROM unindexed WHERE session = ?1")?;
    Ok(query
        .query_row([Col(session)], |row| row.get(0))
        .optional()?)
}

fn waiting_row(row: &Row<'_>) -> rusqlite::Result<WaitingSession> {
    Ok(WaitingSession {
        session: get(row, 0)?,
        change: row.get(1)?,
    })
}

impl SearchIndex for SqliteLedger {
    fn index_standing(&mut self) -> Result<IndexStanding> {
        let is_ready = match self.index_file()? {
            Some(file) => file.is_ready()?,
            None => false,
        };
        let sql = "SELECT count(*) FROM (SELECT 1 FROM unindexed LIMIT ?1)";
        let most = [int(WAITING_MOST as u64)];
        let waiting = self
            .connection()
            .query_row(sql, most, |row| count(row, 0))?;
        Ok(IndexStanding { is_ready, waiting })
    }

    fn begin_index(&mut self) -> Result<()> {
        let is_ready = match self.index_file() {
            Ok(Some(file)) => file.is_ready(),
            Ok(None) => Ok(false),
            Err(error) => Err(error),
        };
        match is_ready {
            Ok(true) => Ok(()),
            Ok(false) | Err(LedgerError::Damaged(_)) => self.restart_index().map(drop),
            Err(error) => Err(error),
        }
    }

    fn restart_index(&mut self) -> Result<u64> {
        let path = IndexFile::path_beside(self.path());
        // Of what was erased before it is begun, nothing comes into it: it is not written anew for each of these sessions.
        let erasures: Vec<(SessionId, Timestamp)> = {
            let sql = "SELECT id, forgotten_at FROM sessions WHERE forgotten_at IS NOT NULL";
            let mut query = self.connection().prepare(sql)?;
            let rows = query.query_map([], |row| Ok((get(row, 0)?, get(row, 1)?)))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let file = IndexFile::create(&path, self.id())?;
        file.note_erasures(&erasures)?;
        // After the file is there: whoever still writes to the one before takes no session off the queue that waits now.
        let all = "INSERT INTO unindexed (session, change) SELECT id, random() FROM sessions WHERE true \
             ON CONFLICT (session) DO UPDATE SET change = excluded.change";
        let waiting = self.change_queue(|db| db.execute(all, []))?;
        file.set_ready()?;
        Ok(waiting as u64)
    }

    fn waiting_sessions(&mut self, limit: usize) -> Result<Vec<WaitingSession>> {
        let sql = "SELECT session, change FROM unindexed ORDER BY session DESC LIMIT ?1";
        let mut query = self.connection().prepare_cached(sql)?;
        let rows = query.query_map([int(limit as u64)], waiting_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn session_repositories(&mut self, session: SessionId) -> Result<Vec<RepositoryId>> {
        let sql = "SELECT repository FROM session_repositories WHERE session = ?1 \
             UNION SELECT repository FROM commits WHERE session = ?1 ORDER BY 1";
        let mut query = self.connection().prepare_cached(sql)?;
        let rows = query.query_map([Col(session)], |row| get(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn indexed_parts(&mut self, session: SessionId) -> Result<Vec<PartMark>> {
        match self.index_file()? {
            Some(file) => file.parts(session),
            None => Ok(Vec::new()),
        }
    }

    fn update_index(&mut self, updates: &[IndexUpdate<'_>]) -> Result<usize> {
        let Some(mut file) = self.index_file()? else {
            return Ok(0);
        };
        let db = self.connection();
        let put = file.update(updates, &mut |update| {
            let now = change_of(db, update.waiting.session)?;
            Ok(now == Some(update.waiting.change))
        })?;
        let whole = updates
            .iter()
            .zip(&put)
            .filter(|(update, is_put)| **is_put && update.is_whole)
            .map(|(update, _)| update);
        let mut erasures = Vec::new();
        for update in whole.clone() {
            let session = update.waiting.session;
            if let Some(erased) = update.erased
                && file.lacks_purge(session, erased)?
            {
                erasures.push((session, erased));
            }
        }
        if !erasures.is_empty() {
            file.purge(&erasures)?;
        }
        drop(file);
        let done: Vec<WaitingSession> = whole.map(|update| update.waiting).collect();
        if !done.is_empty() {
            self.change_queue(|db| {
                let sql = "DELETE FROM unindexed WHERE session = ?1 AND change = ?2";
                let mut delete = db.prepare_cached(sql)?;
                for waiting in &done {
                    delete.execute((Col(waiting.session), waiting.change))?;
                }
                Ok(())
            })?;
        }
        Ok(put.into_iter().filter(|is_put| *is_put).count())
    }

    fn search_index(&mut self, query: &IndexQuery) -> Result<Vec<IndexMatch>> {
        self.ready_index()?.find(query)
    }

    fn indexed_texts(&mut self, ids: &[i64]) -> Result<Vec<(i64, TurnText)>> {
        self.ready_index()?.texts(ids)
    }

    fn check_index(&mut self) -> Result<IndexCheck> {
        let unchecked_bytes = unchecked_bytes(&IndexFile::path_beside(self.path()));
        match self.index_file() {
            Ok(Some(_)) if unchecked_bytes.is_some() => Ok(IndexCheck {
                unchecked_bytes,
                ..IndexCheck::default()
            }),
            Ok(Some(file)) => file.check().map(IndexCheck::from),
            Ok(None) => Ok(IndexCheck::default()),
            Err(LedgerError::Damaged(what)) => Ok(vec![what].into()),
            Err(error) => Err(error),
        }
    }
}
