//! The way to the database, in PostgreSQL. Triggers sum rows. What is called by `Self::` is what [`Tx`] has by itself.

use siglum_domain::{CheckpointId, LedgerId, Oid, RepositoryId, SessionId};

use super::columns::{Col, count, int, raw};
use super::tx::{Access, Tx, Value as DriverValue};
use crate::columns::{Row, Value};
use crate::database::Database;
use crate::sql::Sql;
use crate::{LedgerError, Read};

type Result<T> = std::result::Result<T, LedgerError>;

/// Values as the driver takes them.
fn driver_values<'v>(values: &[Value<'v>]) -> Vec<DriverValue<'v>> {
    values
        .iter()
        .map(|value| *value as DriverValue<'v>)
        .collect()
}

impl Tx<'_> {
    /// The text of a statement: without the locks at its end where the transaction only reads.
    fn text<'s>(&self, sql: impl Into<Sql<'s>>) -> &'s str {
        let text = sql.into().postgres;
        match self.access {
            Access::Write => text,
            Access::Read => text.find(" FOR UPDATE").map_or(text, |end| &text[..end]),
        }
    }
}

impl Database for Tx<'_> {
    fn ledger(&self) -> LedgerId {
        self.ledger
    }

    fn run<'s>(&mut self, sql: impl Into<Sql<'s>>, values: &[Value<'_>]) -> Result<u64> {
        let sql = self.text(sql);
        Self::run(self, sql, &driver_values(values))
    }

    fn each<'s>(
        &mut self,
        sql: impl Into<Sql<'s>>,
        values: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let sql = self.text(sql);
        Self::each(self, sql, &driver_values(values), |row| {
            take(&Row::Postgres(row))
        })
    }

    fn row<'s, T>(
        &mut self,
        sql: impl Into<Sql<'s>>,
        values: &[Value<'_>],
        record: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let sql = self.text(sql);
        Self::row(self, sql, &driver_values(values), |row| {
            record(&Row::Postgres(row))
        })
    }

    fn lock<'s>(&mut self, sql: impl Into<Sql<'s>>, values: &[Value<'_>]) -> Result<()> {
        self.exists(sql, values).map(drop)
    }

    fn sum(&mut self, _: &'static str, _: &str, _: &[Value<'_>]) -> Result<()> {
        Ok(())
    }

    fn count_new(&mut self, _: &'static str, _: &str, _: &[Value<'_>]) -> Result<()> {
        Ok(())
    }

    fn uncount(&mut self, _: &'static str, _: &str, _: &[Value<'_>]) -> Result<()> {
        Ok(())
    }

    fn delete(&mut self, table: &'static str, rows: Sql<'_>, values: &[Value<'_>]) -> Result<u64> {
        let sql = format!("DELETE FROM {table} WHERE {}", rows.postgres);
        Self::run(self, &sql, &driver_values(values))
    }

    fn vanished(&mut self, _: &str) -> LedgerError {
        self.conflict()
    }

    fn erase_securely(&mut self) -> Result<()> {
        Ok(())
    }

    fn fetched(&self, payloads: Vec<Option<Vec<u8>>>) -> Result<Vec<Option<Read<Vec<u8>>>>> {
        Self::fetched(self, payloads)
    }

    fn free_blob(&mut self, session: SessionId, sequence: u64) -> Result<()> {
        Self::free_blob(self, session, sequence)
    }

    fn next_statements(&mut self, many: u64) -> Result<u64> {
        let sql = "INSERT INTO counters (tenant, name, value) VALUES ($1, 'statement', $2) \
             ON CONFLICT (tenant, name) DO UPDATE SET value = counters.value + excluded.value \
             RETURNING value - $2::bigint + 1";
        Self::one(self, sql, &[&int(many)], |row| count(row, 0))
    }

    fn put_place(
        &mut self,
        session: SessionId,
        repository: RepositoryId,
        works: bool,
    ) -> Result<u64> {
        let known = "SELECT works FROM session_repositories WHERE tenant = $1 AND repository = $2 AND session = $3";
        let known = Self::row(self, known, &[&Col(repository), &Col(session)], |row| {
            raw::<bool>(row, 0)
        })?;
        if known.is_some_and(|works_there| works_there || !works) {
            return Ok(0);
        }
        // Nobody moves the session to another hour meanwhile.
        let hour = "SELECT last_at / 3600000000000 FROM sessions WHERE tenant = $1 AND id = $2 FOR NO KEY UPDATE";
        let hour = Self::row(self, hour, &[&Col(session)], |row| raw::<i64>(row, 0))?;
        let sql = "INSERT INTO session_repositories (tenant, repository, session, hour, works) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, repository, session) DO UPDATE SET works = session_repositories.works OR excluded.works";
        let of: [DriverValue<'_>; 4] = [
            &Col(repository),
            &Col(session),
            &hour.unwrap_or_default(),
            &works,
        ];
        Self::run(self, sql, &of)
    }

    fn repository_changed(&mut self, id: RepositoryId) -> Result<()> {
        self.changed("repository", &id.uuid().simple().to_string())
    }

    fn session_changed(&mut self, id: SessionId) -> Result<()> {
        Self::session_changed(self, id)
    }

    fn commit_changed(&mut self, repository: RepositoryId, commit: &Oid) -> Result<()> {
        Self::commit_changed(self, repository, commit)
    }

    fn checkpoint_changed(&mut self, id: CheckpointId) -> Result<()> {
        Self::checkpoint_changed(self, id)
    }

    fn index_later(&mut self, session: SessionId) -> Result<()> {
        Self::index_later(self, session)
    }

    fn index_commit_later(&mut self, repository: RepositoryId, commit: &Oid) -> Result<()> {
        Self::index_commit_later(self, repository, commit)
    }
}
