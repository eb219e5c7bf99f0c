//! A store's way to its database within one open transaction: what verbs that both stores share are written upon.

use std::collections::BTreeSet;

use siglum_domain::link::Link;
use siglum_domain::{CheckpointId, LedgerId, Oid, RepositoryId, SessionId, Timestamp};

use crate::columns::{Row, Value};
use crate::row::unpack;
use crate::sql::Sql;
use crate::stored::Subjects;
use crate::{LedgerError, Read};

type Result<T> = std::result::Result<T, LedgerError>;

/// The database of a store.
///
/// Verbs that speak to it are the same in both stores. What a store does its own way, it does where it implements them,
/// or in one of these methods: SQLite sums rows in code where PostgreSQL has triggers, and notes by triggers which
/// documents and sessions changed where PostgreSQL does it in code.
pub(crate) trait Database {
    /// The ledger that is worked in.
    fn ledger(&self) -> LedgerId;

    /// Runs a statement and gives the number of rows that it wrote.
    fn run<'s>(&mut self, sql: impl Into<Sql<'s>>, values: &[Value<'_>]) -> Result<u64>;

    /// Hands each row of a query to `take`, one after the other: there may be more than fit into memory.
    fn each<'s>(
        &mut self,
        sql: impl Into<Sql<'s>>,
        values: &[Value<'_>],
        take: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()>;

    /// The first row of a query as a record, if there is one.
    fn row<'s, T>(
        &mut self,
        sql: impl Into<Sql<'s>>,
        values: &[Value<'_>],
        record: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>>;

    /// The rows of a query as records.
    fn rows<'s, T>(
        &mut self,
        sql: impl Into<Sql<'s>>,
        values: &[Value<'_>],
        record: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut records = Vec::new();
        self.each(sql, values, |row| {
            records.push(record(row)?);
            Ok(())
        })?;
        Ok(records)
    }

    /// The row that a query always has.
    fn one<'s, T>(
        &mut self,
        sql: impl Into<Sql<'s>>,
        values: &[Value<'_>],
        record: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.row(sql, values, record)?
            .ok_or_else(|| LedgerError::Storage("a row that was to be written is missing".into()))
    }

    /// Whether a query has a row.
    fn exists<'s>(&mut self, sql: impl Into<Sql<'s>>, values: &[Value<'_>]) -> Result<bool> {
        Ok(self.row(sql, values, |_| Ok(()))?.is_some())
    }

    /// Keeps others from the rows of a query until the transaction ends, where others write at the same time.
    fn lock<'s>(&mut self, sql: impl Into<Sql<'s>>, values: &[Value<'_>]) -> Result<()>;

    /// Rows were written that have sums, those of a table that a condition picks.
    fn sum(&mut self, table: &'static str, rows: &str, values: &[Value<'_>]) -> Result<()>;

    /// A row was inserted together with its sum, the one of a table that a condition picks.
    fn count_new(&mut self, table: &'static str, row: &str, values: &[Value<'_>]) -> Result<()>;

    /// Rows that have sums are about to be replaced, those of a table that a condition picks.
    fn uncount(&mut self, table: &'static str, rows: &str, values: &[Value<'_>]) -> Result<()>;

    /// Deletes the rows of a table that a condition picks, and gives how many.
    fn delete(&mut self, table: &'static str, rows: Sql<'_>, values: &[Value<'_>]) -> Result<u64>;

    /// The error of what is missing that was there a moment ago. Where others write at the same time, the whole transaction
    /// runs again.
    fn vanished(&mut self, what: &str) -> LedgerError;

    /// Bytes of rows that go are not to stay in the store's files.
    fn erase_securely(&mut self) -> Result<()>;

    /// See [`Retention::owe_scrub`](crate::Retention::owe_scrub).
    fn note_scrub(&mut self) -> Result<()>;

    /// Payloads as they were packed: those that are elsewhere are fetched. What is wrong with one is told of it alone.
    fn fetched(&self, payloads: Vec<Option<Vec<u8>>>) -> Result<Vec<Option<Read<Vec<u8>>>>>;

    /// The same, unpacked: the first one that is damaged is an error.
    fn unpacked(&self, payloads: Vec<Option<Vec<u8>>>) -> Result<Vec<Option<String>>> {
        let unpacked = |payload: Option<Read<Vec<u8>>>| {
            let packed = payload.transpose().map_err(LedgerError::Damaged)?;
            packed.map(|packed| unpack(&packed)).transpose()
        };
        self.fetched(payloads)?.into_iter().map(unpacked).collect()
    }

    /// The payload of an entry went before in this transaction: what is stored of it elsewhere goes, too.
    fn free_blob(&mut self, _: SessionId, _: u64) -> Result<()> {
        Ok(())
    }

    /// Inserts the rows of statements, each with its source, under the numbers of this ledger that come next, and gives the
    /// first of these. Nobody else gets their numbers.
    fn insert_next(
        &mut self,
        stated: (Timestamp, &str),
        statements: &[(&str, Subjects<'_>)],
    ) -> Result<u64>;

    /// Inserts rows of links that are attached to a session, where they are not there.
    fn insert_links(&mut self, session: SessionId, links: &[&Link]) -> Result<()>;

    /// Inserts links that a session ever had, each as its field, its value, and whether it stood for the whole of it. Where
    /// one is there, it did where both say so.
    fn insert_links_ever(
        &mut self,
        session: SessionId,
        ever: &BTreeSet<(String, String, bool)>,
    ) -> Result<()>;

    /// Notes where a session works, or only has commits. Gives how many rows that changed.
    fn put_place(
        &mut self,
        session: SessionId,
        repository: RepositoryId,
        works: bool,
    ) -> Result<u64>;

    /// Destinations lack what is new of a repository.
    fn repository_changed(&mut self, _: RepositoryId) -> Result<()> {
        Ok(())
    }

    /// Destinations lack what is new of a session.
    fn session_changed(&mut self, _: SessionId) -> Result<()> {
        Ok(())
    }

    /// Destinations lack what is new of a commit.
    fn commit_changed(&mut self, _: RepositoryId, _: &Oid) -> Result<()> {
        Ok(())
    }

    /// Destinations lack what is new of a checkpoint.
    fn checkpoint_changed(&mut self, _: CheckpointId) -> Result<()> {
        Ok(())
    }

    /// The index of texts lacks what is new of a session.
    fn index_later(&mut self, _: SessionId) -> Result<()> {
        Ok(())
    }

    /// The index of texts lacks what is new of the session that made a commit, once git was asked about that.
    fn index_commit_later(&mut self, _: RepositoryId, _: &Oid) -> Result<()> {
        Ok(())
    }
}
