//! The verbs' way to the database, within one open transaction.

use std::collections::HashSet;

use postgres::Row;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use siglum_domain::LedgerId;

use super::blob_store::BlobSettings;
use super::columns::Clean;
use super::connection::Link;
use super::error::{self, Fault};
use crate::{LedgerError, Transaction};

type Result<T> = std::result::Result<T, LedgerError>;

/// A value on its way to the database. The tenant comes before all of them, as `$1`.
pub(super) type Value<'a> = &'a (dyn ToSql + Sync);

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
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

/// The verbs, on one open transaction.
pub(super) struct Tx<'a> {
    pub(super) link: &'a mut Link,
    pub(super) tenant: &'a str,
    pub(super) ledger: LedgerId,
    pub(super) access: Access,
    /// Where large payloads are, if anywhere but here.
    pub(super) blobs: Option<&'a BlobSettings>,
    /// What went wrong first. The database does nothing more in such a transaction, whatever its user makes of it.
    pub(super) fault: Option<Fault>,
    /// Names of sessions that this transaction looked for and did not find.
    pub(super) absent: HashSet<(String, String)>,
    /// Whether anybody wants to be told of changes.
    pub(super) watch: Watch,
    /// The number and the digest of the last entry of the audit, where this transaction wrote it: nobody else writes one.
    pub(super) audit_end: Option<(u64, String)>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(
        link: &'a mut Link,
        tenant: &'a str,
        ledger: LedgerId,
        access: Access,
        blobs: Option<&'a BlobSettings>,
    ) -> Self {
        Self {
            link,
            tenant,
            ledger,
            access,
            blobs,
            fault: None,
            absent: HashSet::new(),
            watch: Watch::Unknown,
            audit_end: None,
        }
    }

    /// Runs a statement and gives the number of rows that it wrote.
    pub(super) fn run(&mut self, sql: &str, of: &[Value<'_>]) -> Result<u64> {
        self.link.check_wanted()?;
        let done = self.link.prepare(sql).and_then(|statement| {
            let values = with_tenant(&self.tenant, of);
            let params: Vec<Value<'_>> = values.iter().map(|v| v as _).collect();
            self.link.client.execute(&statement, &params)
        });
        self.noted(done)
    }

    /// Hands each row of a query to `take`, one after the other: there may be more than fit into memory.
    pub(super) fn each(
        &mut self,
        sql: &str,
        of: &[Value<'_>],
        mut take: impl FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        self.link.check_wanted()?;
        let mut stopped = None;
        let done = self.link.prepare(sql).and_then(|statement| {
            let values = with_tenant(&self.tenant, of);
            let mut rows = self.link.client.query_raw(&statement, &values)?;
            while let Some(row) = rows.next()? {
                if let Err(error) = take(&row) {
                    stopped = Some(error);
                    break;
                }
            }
            Ok(())
        });
        self.noted(done)?;
        stopped.map_or(Ok(()), Err)
    }

    /// The rows of a query as records.
    pub(super) fn rows<T>(
        &mut self,
        sql: &str,
        of: &[Value<'_>],
        record: impl Fn(&Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut records = Vec::new();
        self.each(sql, of, |row| {
            records.push(record(row)?);
            Ok(())
        })?;
        Ok(records)
    }

    /// The only row of a query, if there is one.
    pub(super) fn row<T>(
        &mut self,
        sql: &str,
        of: &[Value<'_>],
        record: impl Fn(&Row) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.rows(sql, of, record)?.into_iter().next())
    }

    /// The row that a query always has.
    pub(super) fn one<T>(
        &mut self,
        sql: &str,
        of: &[Value<'_>],
        record: impl Fn(&Row) -> Result<T>,
    ) -> Result<T> {
        self.row(sql, of, record)?
            .ok_or_else(|| LedgerError::Storage("a row that was to be written is missing".into()))
    }

    /// Lets the whole transaction run again: another one wrote what this one had found missing.
    pub(super) fn conflict(&mut self) -> LedgerError {
        self.fault.get_or_insert(Fault::Conflict);
        LedgerError::Busy
    }

    fn batch(&mut self, statements: &str) -> Result<()> {
        let done = self.link.client.batch_execute(statements);
        self.noted(done)
    }

    fn noted<T>(&mut self, done: std::result::Result<T, postgres::Error>) -> Result<T> {
        done.map_err(|error| {
            self.fault.get_or_insert(error::fault(&error));
            error::refused(error)
        })
    }
}

impl Transaction for Tx<'_> {
    fn nested(&mut self, work: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>) -> Result<()> {
        self.batch("SAVEPOINT nested")?;
        match work(self) {
            Ok(()) => self.batch("RELEASE SAVEPOINT nested"),
            Err(error) => {
                self.audit_end = None;
                // What met another transaction, or lost its connection, ends the whole.
                if self.fault == Some(Fault::Other) {
                    self.fault = None;
                }
                if self.fault.is_none() {
                    self.batch("ROLLBACK TO SAVEPOINT nested; RELEASE SAVEPOINT nested")?;
                }
                Err(error)
            }
        }
    }
}

fn with_tenant<'v>(tenant: &'v &str, of: &[Value<'v>]) -> Vec<Clean<'v>> {
    std::iter::once(Clean(tenant))
        .chain(of.iter().map(|value| Clean(*value)))
        .collect()
}
