//! The way to the database, in PostgreSQL. Triggers sum rows. What is called by `Self::` is what [`Tx`] has by itself.

use std::collections::BTreeSet;

use siglum_domain::link::Link;
use siglum_domain::{CheckpointId, LedgerId, Oid, RepositoryId, SessionId, Timestamp};
use uuid::Uuid;

use super::columns::{Col, clean, count, raw};
use super::tx::{Access, Tx, Value as DriverValue};
use crate::columns::{Row, Value};
use crate::database::Database;
use crate::sql::Sql;
use crate::stored::Subjects;
use crate::{LedgerError, Read};

type Result<T> = std::result::Result<T, LedgerError>;

/// Values as the driver takes them.
fn driver_values<'v>(values: &[Value<'v>]) -> Vec<DriverValue<'v>> {
    values
        .iter()
        .map(|value| *value as DriverValue<'v>)
        .collect()
}

/// All statements of a transaction at once. Whoever gets numbers holds them until the transaction ends. For them one waits in
/// a queue: of those that wait for a row, each end of a transaction wakes all.
const INSERT_NEXT: &str = "WITH next AS (INSERT INTO counters (tenant, name, value) \
     SELECT $1::text, 'statement', cardinality($5::text[]) FROM pg_advisory_xact_lock( \
     hashtextextended(current_schema()::text || ' ' || $1::text || ' next statement', 0)) \
     ON CONFLICT (tenant, name) DO UPDATE SET value = counters.value + excluded.value \
     RETURNING value - cardinality($5::text[]) AS last), \
     stated AS (INSERT INTO statements (tenant, ledger, sequence, at, by, source, kind, body, session, repository, \"commit\") \
     SELECT $1::text, $2::uuid, next.last + new.place, $3::bigint, $4::text, new.source, new.kind, new.body, new.session, \
     new.repository, new.\"commit\" \
     FROM next, unnest($5::text[], $6::text[], $7::text[], $8::uuid[], $9::uuid[], $10::text[]) \
     WITH ORDINALITY AS new (source, kind, body, session, repository, \"commit\", place)) \
     SELECT last + 1 FROM next";

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

    /// The server clears away what went by itself.
    fn note_scrub(&mut self) -> Result<()> {
        Ok(())
    }

    fn fetched(&self, payloads: Vec<Option<Vec<u8>>>) -> Result<Vec<Option<Read<Vec<u8>>>>> {
        Self::fetched(self, payloads)
    }

    fn free_blob(&mut self, session: SessionId, sequence: u64) -> Result<()> {
        Self::free_blob(self, session, sequence)
    }

    fn insert_next(
        &mut self,
        (at, by): (Timestamp, &str),
        statements: &[(&str, Subjects<'_>)],
    ) -> Result<u64> {
        let all = || statements.iter().map(|(_, of)| of);
        let sources: Vec<String> = statements.iter().map(|(s, _)| clean(s)).collect();
        let kinds: Vec<String> = all().map(|of| clean(&of.kind)).collect();
        let bodies: Vec<String> = all().map(|of| clean(&of.body)).collect();
        let sessions: Vec<Option<Uuid>> = all().map(|of| of.session.map(SessionId::uuid)).collect();
        let repositories: Vec<Option<Uuid>> = all()
            .map(|of| of.repository.map(RepositoryId::uuid))
            .collect();
        let commits: Vec<Option<&str>> = all().map(|of| of.commit.map(Oid::as_str)).collect();
        let ledger = self.ledger;
        let of: [DriverValue<'_>; 9] = [
            &Col(ledger),
            &Col(at),
            &by,
            &sources,
            &kinds,
            &bodies,
            &sessions,
            &repositories,
            &commits,
        ];
        Self::one(self, INSERT_NEXT, &of, |row| count(row, 0))
    }

    fn insert_links(&mut self, session: SessionId, links: &[&Link]) -> Result<()> {
        let sql = "INSERT INTO links (tenant, field, value, session) \
             SELECT $1::text, new.field, new.value, $2::uuid FROM unnest($3::text[], $4::text[]) AS new (field, value) \
             ON CONFLICT DO NOTHING";
        let fields: Vec<&str> = links.iter().map(|link| link.field()).collect();
        let values: Vec<String> = links.iter().map(|link| clean(&link.value())).collect();
        Self::run(self, sql, &[&Col(session), &fields, &values]).map(drop)
    }

    fn insert_links_ever(
        &mut self,
        session: SessionId,
        ever: &BTreeSet<(String, String, bool)>,
    ) -> Result<()> {
        // A label can have the text of another one, and a row is written once by one statement.
        let sql = "INSERT INTO session_links (tenant, session, field, value, whole) \
             SELECT $1::text, $2::uuid, new.field, new.value, bool_and(new.whole) \
             FROM unnest($3::text[], $4::text[], $5::bool[]) AS new (field, value, whole) GROUP BY new.field, new.value \
             ON CONFLICT (tenant, session, field, value) DO UPDATE SET whole = session_links.whole AND excluded.whole";
        let fields: Vec<String> = ever.iter().map(|(field, ..)| clean(field)).collect();
        let values: Vec<String> = ever.iter().map(|(_, value, _)| clean(value)).collect();
        let whole: Vec<bool> = ever.iter().map(|(.., is_whole)| *is_whole).collect();
        Self::run(self, sql, &[&Col(session), &fields, &values, &whole]).map(drop)
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
