//! The way to the database, in SQLite. Triggers note which documents and sessions changed.

use std::collections::BTreeSet;

use rusqlite::{Connection, params_from_iter};
use siglum_domain::link::Link;
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{LedgerId, RepositoryId, SessionId, Timestamp};

use super::bound;
use crate::columns::{Col, Row, Value};
use crate::database::Database;
use crate::sql::{Sql, sql};
use crate::stored::Subjects;
use crate::verbs::statements::{INSERT_STATEMENT, insert};
use crate::{LedgerError, Read, Transaction};

type Result<T> = std::result::Result<T, LedgerError>;

/// The verbs, on one open transaction.
pub(super) struct Tx<'a> {
    pub(super) db: &'a Connection,
    pub(super) ledger: LedgerId,
    /// The last process that was bound, and is not listed yet as one that is.
    pub(super) bound: Option<ProcessIdentity>,
}

impl Tx<'_> {
    /// Within the transaction. A disk that is full, and the like, end it as a whole; what would be done after that
    /// would be stored at once.
    fn within(&self, statement: &str) -> Result<()> {
        if self.db.is_autocommit() {
            return Err(LedgerError::Storage(
                "the transaction was taken back".into(),
            ));
        }
        self.db.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}

impl Transaction for Tx<'_> {
    fn nested(&mut self, work: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>) -> Result<()> {
        self.within("SAVEPOINT nested")?;
        let done = work(self);
        match done {
            Ok(()) => self.within("RELEASE nested"),
            Err(error) => {
                // Where that cannot be done, the end of the transaction says so.
                let back = self.within("ROLLBACK TO nested");
                let _ = back.and_then(|()| self.within("RELEASE nested"));
                Err(error)
            }
        }
    }
}

impl Database for Tx<'_> {
    fn ledger(&self) -> LedgerId {
        self.ledger
    }

    fn run<'s>(&mut self, sql: impl Into<Sql<'s>>, values: &[Value<'_>]) -> Result<u64> {
        let mut statement = self.db.prepare_cached(sql.into().sqlite)?;
        Ok(statement.execute(params_from_iter(values))? as u64)
    }

    fn each<'s>(
        &mut self,
        sql: impl Into<Sql<'s>>,
        values: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut query = self.db.prepare_cached(sql.into().sqlite)?;
        let mut rows = query.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            take(&Row::Sqlite(row))?;
        }
        Ok(())
    }

    fn row<'s, T>(
        &mut self,
        sql: impl Into<Sql<'s>>,
        values: &[Value<'_>],
        record: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut query = self.db.prepare_cached(sql.into().sqlite)?;
        let mut rows = query.query(params_from_iter(values))?;
        let row = rows.next()?;
        row.map(|row| record(&Row::Sqlite(row))).transpose()
    }

    /// Nobody else writes before the transaction ends.
    fn lock<'s>(&mut self, _: impl Into<Sql<'s>>, _: &[Value<'_>]) -> Result<()> {
        Ok(())
    }

    fn sum(&mut self, table: &'static str, rows: &str, values: &[Value<'_>]) -> Result<()> {
        self.sum_rows(table, rows, values)
    }

    fn count_new(&mut self, table: &'static str, row: &str, values: &[Value<'_>]) -> Result<()> {
        self.count_row(table, row, values)
    }

    fn uncount(&mut self, table: &'static str, rows: &str, values: &[Value<'_>]) -> Result<()> {
        self.uncount_rows(table, rows, values)
    }

    fn delete(&mut self, table: &'static str, rows: Sql<'_>, values: &[Value<'_>]) -> Result<u64> {
        bound::forget_rows(self.db, table)?;
        self.uncount_rows(table, rows.sqlite, values)?;
        let sql = format!("DELETE FROM {table} WHERE {}", rows.sqlite);
        self.run(&sql, values)
    }

    fn vanished(&mut self, what: &str) -> LedgerError {
        LedgerError::Damaged(format!("a {what} vanished"))
    }

    fn erase_securely(&mut self) -> Result<()> {
        // Bytes of rows that go are overwritten at once, not only when their page is used again.
        Ok(self.db.pragma_update(None, "secure_delete", true)?)
    }

    /// No note is like another one: who has scrubbed takes back the one that was there before, and none that came meanwhile.
    fn note_scrub(&mut self) -> Result<()> {
        let sql = "INSERT INTO meta (key, value) VALUES ('scrub', random()) \
             ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        self.run(sql, &[]).map(drop)
    }

    fn fetched(&self, payloads: Vec<Option<Vec<u8>>>) -> Result<Vec<Option<Read<Vec<u8>>>>> {
        Ok(payloads.into_iter().map(|p| p.map(Ok)).collect())
    }

    fn insert_next(
        &mut self,
        (at, by): (Timestamp, &str),
        statements: &[(&str, Subjects<'_>)],
    ) -> Result<u64> {
        let ledger = self.ledger;
        let next = "SELECT coalesce(max(sequence), 0) + 1 FROM statements WHERE ledger = ?1";
        let first = self.one(next, &[&Col(ledger)], |row| row.count(0))?;
        for (sequence, (source, of)) in (first..).zip(statements) {
            let key = (ledger, sequence);
            insert(self, sql!(INSERT_STATEMENT), key, (at, by, *source), of)?;
        }
        Ok(first)
    }

    fn insert_links(&mut self, session: SessionId, links: &[&Link]) -> Result<()> {
        let sql = "INSERT INTO links (field, value, session, sum) VALUES (?1, ?2, ?3, row_sum(?1, ?2, ?3)) \
             ON CONFLICT DO NOTHING";
        for link in links {
            let (field, value) = (link.field(), link.value());
            let key: [Value<'_>; 3] = [&field, &value, &Col(session)];
            if self.run(sql, &key)? > 0 {
                self.count_row("links", "field = ?1 AND value = ?2 AND session = ?3", &key)?;
            }
        }
        Ok(())
    }

    fn insert_links_ever(
        &mut self,
        session: SessionId,
        ever: &BTreeSet<(String, String, bool)>,
    ) -> Result<()> {
        let sql = "INSERT INTO session_links (session, field, value, whole) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (session, field, value) DO UPDATE SET whole = session_links.whole AND excluded.whole";
        for (field, value, is_whole) in ever {
            self.run(sql, &[&Col(session), field, value, is_whole])?;
        }
        Ok(())
    }

    fn put_place(
        &mut self,
        session: SessionId,
        repository: RepositoryId,
        works: bool,
    ) -> Result<u64> {
        let sql = "INSERT INTO session_repositories (repository, session, hour, works) \
             VALUES (?1, ?2, coalesce((SELECT last_at / 3600000000000 FROM sessions WHERE id = ?2), 0), ?3) \
             ON CONFLICT (repository, session) DO UPDATE SET works = 1 WHERE NOT works AND excluded.works";
        self.run(sql, &[&Col(repository), &Col(session), &works])
    }
}
