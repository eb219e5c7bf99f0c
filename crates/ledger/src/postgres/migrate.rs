//! Migrations: numbered files, each applied once, in one transaction. A shipped one never changes.

use std::time::{Duration, Instant};

use postgres::error::SqlState;
use siglum_domain::{LedgerId, Tenant};

use super::columns::{Col, get, raw};
use super::connection::{Link, Own};
use super::error::refused;
use super::sums;
use crate::LedgerError;
use crate::schema::SchemaVersions;

const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001_spine.sql"),
    include_str!("../../migrations/postgres/0002_gateway.sql"),
    include_str!("../../migrations/postgres/0003_usage.sql"),
    include_str!("../../migrations/postgres/0004_telemetry.sql"),
    include_str!("../../migrations/postgres/0005_telemetry_tokens.sql"),
    include_str!("../../migrations/postgres/0006_contexts.sql"),
    include_str!("../../migrations/postgres/0007_heartbeats.sql"),
    include_str!("../../migrations/postgres/0008_runs.sql"),
    include_str!("../../migrations/postgres/0009_edit_detail.sql"),
    include_str!("../../migrations/postgres/0010_names_and_runs.sql"),
    include_str!("../../migrations/postgres/0011_session_repositories.sql"),
    include_str!("../../migrations/postgres/0012_scope.sql"),
    include_str!("../../migrations/postgres/0013_registrations.sql"),
    include_str!("../../migrations/postgres/0014_tries.sql"),
    include_str!("../../migrations/postgres/0015_sums.sql"),
    include_str!("../../migrations/postgres/0016_unfinished.sql"),
    include_str!("../../migrations/postgres/0017_tallies.sql"),
    include_str!("../../migrations/postgres/0018_identity.sql"),
    include_str!("../../migrations/postgres/0019_usage_quarters.sql"),
    include_str!("../../migrations/postgres/0020_shared_identity.sql"),
    include_str!("../../migrations/postgres/0021_lists.sql"),
    include_str!("../../migrations/postgres/0022_active_runs.sql"),
    include_str!("../../migrations/postgres/0023_attestations.sql"),
    include_str!("../../migrations/postgres/0024_lookups.sql"),
    include_str!("../../migrations/postgres/0025_large_stores.sql"),
    include_str!("../../migrations/postgres/0026_blobs.sql"),
    include_str!("../../migrations/postgres/0027_search.sql"),
    include_str!("../../migrations/postgres/0028_usage_sums.sql"),
    include_str!("../../migrations/postgres/0029_unfolded.sql"),
];

/// The schema that this program writes.
#[expect(clippy::cast_possible_truncation, reason = "there are few migrations")]
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// All migrations in one text, to tell versions apart.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn migrations() -> String {
    MIGRATIONS.concat() + &sums::install()
}

/// What the store says of itself. Its row `schema` is also what those who migrate at once wait for.
const META: &str =
    "CREATE TABLE IF NOT EXISTS meta (key text COLLATE \"C\" PRIMARY KEY, value bigint NOT NULL)";

/// How long to wait for somebody else who migrates, and for those who work on the tables.
const WAIT: Duration = Duration::from_secs(120);

/// How long to wait at once for those who work on a table: everybody else waits behind it. The server looks for deadlocks
/// after a second, and would end somebody's work.
const TABLE_WAIT: Duration = Duration::from_millis(800);

/// How often a new store is begun while others do the same.
const TRIES: u32 = 20;

/// The tables from which something is erased.
const ERASED: [&str; 11] = [
    "observations",
    "segments",
    "edits",
    "summaries",
    "usages",
    "usage_quarters",
    "declines",
    "parked",
    "pipeline_events",
    "run_events",
    "search_parts",
];

/// Makes the index of words anew: a vacuum leaves each word in it that was ever there. What is left of one that was
/// interrupted goes first.
const WORDS_ANEW: [&str; 2] = [
    "DROP INDEX CONCURRENTLY IF EXISTS search_parts_by_word_ccnew",
    "REINDEX INDEX CONCURRENTLY search_parts_by_word",
];

type Result<T> = std::result::Result<T, LedgerError>;

fn schema_versions(link: &mut Link) -> Result<SchemaVersions> {
    let rows = match link.client.query("SELECT key, value FROM meta", &[]) {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Vec::new(),
        rows => rows.map_err(refused)?,
    };
    let mut found = SchemaVersions::default();
    for row in &rows {
        let number = u32::try_from(raw::<i64>(row, 1)?).unwrap_or(u32::MAX);
        match raw::<&str>(row, 0)? {
            "schema" => found.schema = number,
            "min_reader" => found.min_reader = Some(number),
            "min_writer" => found.min_writer = Some(number),
            _ => {}
        }
    }
    Ok(found)
}

/// Refuses a store that this program may not read or write, or that is older than it.
pub(super) fn admit(link: &mut Link) -> Result<()> {
    schema_versions(link)?.admit(SCHEMA)
}

/// Brings a store to the schema of this program.
pub(super) fn migrate(link: &mut Link) -> Result<()> {
    if schema_versions(link)?.schema >= SCHEMA {
        return Ok(());
    }
    begin_store(link)?;
    for (number, sql) in (1u32..).zip(MIGRATIONS) {
        match number {
            SCHEMA => apply(link, number, &format!("{sql}; {}", sums::install()))?,
            _ => apply(link, number, sql)?,
        }
    }
    Ok(())
}

/// Makes the row that those who migrate wait for. Of several who make a table at once, all but one are refused.
fn begin_store(link: &mut Link) -> Result<()> {
    let row = "INSERT INTO meta (key, value) VALUES ('schema', 0) ON CONFLICT (key) DO NOTHING";
    let mut tries = 0;
    loop {
        let done = link.client.batch_execute(META);
        let Err(error) = done.and_then(|()| link.client.batch_execute(row)) else {
            return Ok(());
        };
        tries += 1;
        if tries == TRIES || !is_raced(&error) {
            return Err(refused(error));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn has_code(error: &postgres::Error, codes: &[SqlState]) -> bool {
    error.code().is_some_and(|code| codes.contains(code))
}

fn is_raced(error: &postgres::Error) -> bool {
    has_code(
        error,
        &[
            SqlState::UNIQUE_VIOLATION,
            SqlState::DUPLICATE_TABLE,
            SqlState::DUPLICATE_OBJECT,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ],
    )
}

/// Applies one migration, unless somebody else has done so meanwhile. Where others work on the tables, it gives way to them
/// and tries again: it needs each table for itself, and they have several, in any order.
pub(super) fn apply(link: &mut Link, number: u32, sql: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        let Err(error) = apply_once(link, number, sql) else {
            return Ok(());
        };
        let _ = link.client.batch_execute("ROLLBACK");
        if !is_held_up(&error) || begun.elapsed() >= WAIT {
            return Err(refused(error));
        }
        std::thread::sleep(TABLE_WAIT);
    }
}

fn is_held_up(error: &postgres::Error) -> bool {
    has_code(
        error,
        &[
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ],
    )
}

fn apply_once(link: &mut Link, number: u32, sql: &str) -> std::result::Result<(), postgres::Error> {
    let opening = format!(
        "BEGIN; SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = 0",
        WAIT.as_millis()
    );
    link.client.batch_execute(&opening)?;
    apply_within(link, number, sql)?;
    link.client.batch_execute("COMMIT")
}

fn apply_within(
    link: &mut Link,
    number: u32,
    sql: &str,
) -> std::result::Result<(), postgres::Error> {
    let held = "SELECT value FROM meta WHERE key = 'schema' FOR UPDATE";
    let schema: i64 = link.client.query_one(held, &[])?.try_get(0)?;
    if schema >= i64::from(number) {
        return Ok(());
    }
    let wait = format!("SET LOCAL lock_timeout = {}", TABLE_WAIT.as_millis());
    link.client.batch_execute(&wait)?;
    link.client.batch_execute(sql)?;
    let put = "INSERT INTO meta (key, value) VALUES ('schema', $1), ('min_reader', $1), ('min_writer', $1) \
         ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    link.client.execute(put, &[&i64::from(number)])?;
    Ok(())
}

/// Gives a tenant its ledger, if it has none.
pub(super) fn settle(link: &mut Link, tenant: &Tenant, id: LedgerId, key: [u8; 32]) -> Result<Own> {
    if let Some(own) = own(link, tenant)? {
        return Ok(own);
    }
    let sql = "INSERT INTO tenants (tenant, ledger, key) VALUES ($1, $2, $3) ON CONFLICT (tenant) DO NOTHING";
    let put = link
        .client
        .execute(sql, &[&tenant.as_str(), &Col(id), &key.as_slice()]);
    put.map_err(refused)?;
    // Of several who do this at once, one was first.
    Ok(own(link, tenant)?.unwrap_or(Own { id, key }))
}

/// Reads what a tenant's ledger says of itself.
pub(super) fn own(link: &mut Link, tenant: &Tenant) -> Result<Option<Own>> {
    let sql = "SELECT ledger, key FROM tenants WHERE tenant = $1";
    let row = link.client.query_opt(sql, &[&tenant.as_str()]);
    let Some(row) = row.map_err(refused)? else {
        return Ok(None);
    };
    let key = raw::<&[u8]>(&row, 1)?
        .try_into()
        .map_err(|_| LedgerError::Damaged("the key has not 32 bytes".to_owned()))?;
    Ok(Some(Own {
        id: get(&row, 0)?,
        key,
    }))
}

/// Takes out the old versions of rows that were erased. A database that has no such thing, or does not let this role
/// do it, cleans up by itself.
pub(super) fn scrub(link: &mut Link, statement: Duration) -> Result<()> {
    let set = |limit: u128| format!("SET statement_timeout = {limit}");
    link.client.batch_execute(&set(0)).map_err(refused)?;
    let vacuums = ERASED.iter().map(|table| format!("VACUUM {table}"));
    let of_words = WORDS_ANEW.iter().map(|sql| (*sql).to_owned());
    for sql in vacuums.chain(of_words) {
        match link.client.batch_execute(&sql) {
            Err(error) if !is_not_for_us(&error) => return Err(refused(error)),
            _ => {}
        }
    }
    let limit = set(statement.as_millis());
    link.client.batch_execute(&limit).map_err(refused)
}

fn is_not_for_us(error: &postgres::Error) -> bool {
    has_code(
        error,
        &[
            SqlState::FEATURE_NOT_SUPPORTED,
            SqlState::SYNTAX_ERROR,
            SqlState::INSUFFICIENT_PRIVILEGE,
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shipped migration never changes: add a new file instead.
    #[test]
    fn shipped_migrations_are_frozen() {
        let hash = |sql: &&str| blake3::hash(sql.as_bytes()).to_hex()[..16].to_owned();
        let hashes: Vec<String> = MIGRATIONS.iter().map(hash).collect();
        // Those behind it are not released yet.
        assert_eq!(hashes[..1], ["2be76dd251136d9a"]);
    }
}
