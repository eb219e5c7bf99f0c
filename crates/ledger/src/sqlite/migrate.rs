//! Migrations: numbered files, each applied once, in one transaction. A shipped one never changes.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use siglum_domain::LedgerId;

use super::columns::Col;
use super::{bound, sums, usage};
use crate::LedgerError;
use crate::schema::SchemaVersions;

const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_spine.sql"),
    include_str!("../../migrations/sqlite/0002_gateway.sql"),
    include_str!("../../migrations/sqlite/0003_usage.sql"),
    include_str!("../../migrations/sqlite/0004_telemetry.sql"),
    include_str!("../../migrations/sqlite/0005_telemetry_tokens.sql"),
    include_str!("../../migrations/sqlite/0006_contexts.sql"),
    include_str!("../../migrations/sqlite/0007_heartbeats.sql"),
    include_str!("../../migrations/sqlite/0008_runs.sql"),
    include_str!("../../migrations/sqlite/0009_edit_detail.sql"),
    include_str!("../../migrations/sqlite/0010_names_and_runs.sql"),
    include_str!("../../migrations/sqlite/0011_session_repositories.sql"),
    include_str!("../../migrations/sqlite/0012_scope.sql"),
    include_str!("../../migrations/sqlite/0013_registrations.sql"),
    include_str!("../../migrations/sqlite/0014_tries.sql"),
    include_str!("../../migrations/sqlite/0015_sums.sql"),
    include_str!("../../migrations/sqlite/0016_unfinished.sql"),
    include_str!("../../migrations/sqlite/0017_tallies.sql"),
    include_str!("../../migrations/sqlite/0018_identity.sql"),
    include_str!("../../migrations/sqlite/0019_usage_quarters.sql"),
    include_str!("../../migrations/sqlite/0020_shared_identity.sql"),
    include_str!("../../migrations/sqlite/0021_lists.sql"),
    include_str!("../../migrations/sqlite/0022_active_runs.sql"),
    include_str!("../../migrations/sqlite/0023_attestations.sql"),
    include_str!("../../migrations/sqlite/0024_lookups.sql"),
    include_str!("../../migrations/sqlite/0025_large_stores.sql"),
    include_str!("../../migrations/sqlite/0026_blobs.sql"),
    include_str!("../../migrations/sqlite/0027_search.sql"),
    include_str!("../../migrations/sqlite/0028_usage_sums.sql"),
    include_str!("../../migrations/sqlite/0029_unfolded.sql"),
];

/// The first schema with sums of usage.
const WITH_USAGE_QUARTERS: u32 = 19;

/// The schema that this program writes.
#[expect(clippy::cast_possible_truncation, reason = "there are few migrations")]
pub const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// What the store says of itself.
pub(super) struct Meta {
    pub(super) id: LedgerId,
    pub(super) key: [u8; 32],
}

fn number(db: &Connection, key: &str) -> rusqlite::Result<Option<u32>> {
    db.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| {
        row.get(0)
    })
    .optional()
}

/// Prepared once, since every transaction asks for it.
fn schema_version(db: &Connection) -> rusqlite::Result<u32> {
    let mut query = db.prepare_cached("PRAGMA user_version")?;
    query.query_row([], |row| row.get(0))
}

/// Refuses a store that this program may not read or write, or that is older than it.
pub(super) fn admit(db: &Connection) -> Result<(), LedgerError> {
    let mut found = SchemaVersions {
        schema: schema_version(db)?,
        ..SchemaVersions::default()
    };
    // An empty file has no table to ask.
    if found.schema >= SCHEMA {
        found.min_reader = number(db, "min_reader")?;
        found.min_writer = number(db, "min_writer")?;
    }
    found.admit(SCHEMA)
}

/// The same within a transaction: a newer program may have migrated the store since it was opened, and what is written
/// by the rules of before would be damage to it.
pub(super) fn still_admitted(db: &Connection) -> Result<(), LedgerError> {
    match schema_version(db)? == SCHEMA {
        true => Ok(()),
        false => admit(db),
    }
}

/// Brings a store to the schema of this program. A new store gets its id and its key; where there are none to give it,
/// nothing is begun.
pub(super) fn migrate(
    db: &mut Connection,
    new: Option<(LedgerId, &[u8; 32])>,
) -> Result<(), LedgerError> {
    if schema_version(db)? >= SCHEMA {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = schema_version(&tx)?;
    if from == 0 && new.is_none() {
        return Err(LedgerError::Lost("is empty".to_owned()));
    }
    for (number, sql) in (1u32..).zip(MIGRATIONS).filter(|(n, _)| *n > from) {
        tx.execute_batch(sql)?;
        tx.pragma_update(None, "user_version", number)?;
    }
    if from < WITH_USAGE_QUARTERS {
        usage::sum_up_all(&tx)?;
    }
    sums::begin(&tx, from)?;
    if let (0, Some((id, key))) = (from, new) {
        // What stands beside it is of one that was there before.
        bound::forget_rows(&tx, bound::TABLE)?;
        let put = "INSERT INTO meta (key, value) VALUES (?1, ?2)";
        tx.execute(put, ("ledger", Col(id)))?;
        tx.execute(put, ("key", &key[..]))?;
    }
    let put = "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    tx.execute(put, ("min_reader", SCHEMA))?;
    tx.execute(put, ("min_writer", SCHEMA))?;
    tx.commit()?;
    Ok(())
}

/// Makes an empty store of a schema, without sums.
pub(super) fn play(db: &Connection, schema: u32) -> rusqlite::Result<()> {
    let numbered = (1u32..).zip(MIGRATIONS);
    for (_, sql) in numbered.filter(|(n, _)| *n <= schema) {
        db.execute_batch(sql)?;
    }
    Ok(())
}

/// What a file holds that no ledger of its schema does, in words: a trigger or a view of somebody else's would act when it
/// is written to.
pub(super) fn strangers(db: &Connection) -> Result<Vec<String>, LedgerError> {
    let schema = schema_version(db)?;
    let own = Connection::open_in_memory()?;
    play(&own, schema)?;
    let is_current = schema == SCHEMA;
    if is_current {
        sums::sums_on(&own)?;
        sums::begin(&own, 0)?;
    }
    let mut known = things(&own)?;
    let mut strangers = Vec::new();
    for ((kind, name), sql) in things(db)? {
        // Sums are no part of a migration.
        let sql = match is_current {
            true => sql,
            false => sql.replace(sums::COLUMN, ""),
        };
        if known.remove(&(kind.clone(), name.clone())) != Some(sql) {
            strangers.push(format!(
                "it holds the {kind} `{name}`, which is none of ours"
            ));
        }
    }
    Ok(strangers)
}

/// What a file is made of, with the SQL that made it.
fn things(db: &Connection) -> rusqlite::Result<BTreeMap<(String, String), String>> {
    let sql = "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut query = db.prepare(sql)?;
    let rows = query.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    rows.collect()
}

/// The ledger that a file holds, whatever its schema is; nothing, where it holds none.
pub(super) fn found_id(db: &Connection) -> Result<Option<LedgerId>, LedgerError> {
    if schema_version(db)? == 0 {
        return Ok(None);
    }
    let get = "SELECT value FROM meta WHERE key = 'ledger'";
    let id = db.query_row(get, [], |row| row.get::<_, Col<LedgerId>>(0));
    Ok(Some(id?.0))
}

/// Reads what the store says of itself.
pub(super) fn meta(db: &Connection) -> Result<Meta, LedgerError> {
    let get = "SELECT value FROM meta WHERE key = ?1";
    let id = db
        .query_row(get, ["ledger"], |row| row.get::<_, Col<LedgerId>>(0))?
        .0;
    let key: Vec<u8> = db.query_row(get, ["key"], |row| row.get(0))?;
    let key = key
        .try_into()
        .map_err(|_| LedgerError::Damaged("the key has not 32 bytes".to_owned()))?;
    Ok(Meta { id, key })
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
        assert_eq!(hashes[..1], ["6f8324b1a745dd85"]);
    }

    #[test]
    fn pipelines_of_links_that_were_there_before_are_known() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(MIGRATIONS[0]).unwrap();
        let put = "INSERT INTO statements (ledger, sequence, at, by, source, kind, body, session) \
             VALUES (x'01', ?1, ?2, 'Ann', 'cli', ?3, ?4, x'02')";
        let of = |link: &str| format!("{{\"statement\":\"x\",\"session\":\"x\",\"link\":{link}}}");
        for (n, at, kind, body) in [
            (1, 5, "link_attached", of("{\"pipeline_id\":\"p\"}")),
            (2, 3, "link_attached", of("{\"pipeline_id\":\"p\"}")),
            (3, 9, "link_detached", of("{\"pipeline_id\":\"q\"}")),
            (4, 1, "link_attached", of("{\"phase\":\"p\"}")),
            (5, 1, "ended", "{}".to_owned()),
        ] {
            db.execute(put, (n, at, kind, body)).unwrap();
        }
        db.execute_batch(MIGRATIONS[1]).unwrap();
        let found = |sql: &str| -> String { db.query_row(sql, [], |row| row.get(0)).unwrap() };
        let all = "SELECT group_concat(id || first_at || last_at || events) FROM pipelines";
        assert_eq!(found(all), "p350");
        let all = "SELECT group_concat(pipeline || hex(session)) FROM pipeline_sessions";
        assert_eq!(found(all), "p02");
    }
    #[test]
    fn sessions_that_were_there_before_are_folded_again_for_their_usage() {
        let db = Connection::open_in_memory().unwrap();
        MIGRATIONS[..2]
            .iter()
            .for_each(|sql| db.execute_batch(sql).unwrap());
        let put = "INSERT INTO sessions (id, agent, conversation_id, home, mode, origin, created_at, last_at, head, folded) \
             VALUES (x'01', 'codex', 'c', x'02', 'observed', 'live', 1, 1, 7, 7)";
        db.execute(put, []).unwrap();
        db.execute_batch(MIGRATIONS[2]).unwrap();
        let unfolded = "SELECT count(*) FROM sessions WHERE head > folded";
        assert_eq!(db.query_row(unfolded, [], |row| row.get(0)), Ok(1));
    }

    #[test]
    fn usage_that_was_there_before_is_summed_up() {
        let db = Connection::open_in_memory().unwrap();
        let (before, later) = MIGRATIONS.split_at(18);
        before.iter().for_each(|sql| db.execute_batch(sql).unwrap());
        let quarter = crate::QUARTER;
        db.execute_batch(&format!(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO usages (session, event, at, source, input, output, cache_read, cache_write, left_out) VALUES
                 (zeroblob(16), 'a', {quarter}, 'hook', 1, 2, 3, 4, NULL),
                 (zeroblob(16), 'b', {quarter} + 9, 'hook', 10, 20, 30, 40, '[[1,1,1,1,1],[0,0,0,0,0]]'),
                 (zeroblob(16), 'c', -1, 'hook', {most}, {most}, 0, 0, NULL),
                 (zeroblob(16), 'd', -2, 'hook', {most}, {most}, 0, 0, NULL),
                 (x'01', 'a', {quarter}, 'hook', 1, 2, 3, 4, NULL);",
            most = i64::MAX,
        ))
        .unwrap();
        later.iter().for_each(|sql| db.execute_batch(sql).unwrap());
        usage::sum_up_all(&db).unwrap();
        let all = "SELECT group_concat(start || ' ' || messages || ' ' || input || ' ' || output || ' ' || last_at, '; ') \
             FROM usage_quarters ORDER BY start";
        let sums: String = db.query_row(all, [], |row| row.get(0)).unwrap();
        let most = i64::MAX;
        let first = format!("{} 2 {most} {most} -1", -quarter);
        assert_eq!(sums, format!("{first}; {quarter} 2 11 22 {}", quarter + 9));
    }

    #[test]
    fn where_sessions_worked_before_is_known() {
        let db = Connection::open_in_memory().unwrap();
        let (before, last) = (&MIGRATIONS[..10], MIGRATIONS[10]);
        before.iter().for_each(|sql| db.execute_batch(sql).unwrap());
        db.execute_batch(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO sessions (id, agent, conversation_id, home, mode, origin, created_at, last_at, repository)
                 VALUES (x'01', 'codex', 'c', x'02', 'observed', 'live', 1, 1, x'0a');
             INSERT INTO edits (session, event, repository, worktree, path, began, at)
                 VALUES (x'01', 'e', x'0b', '/w', 'f', 1, 1), (x'01', 'f', x'0b', '/w', 'f', 2, 2);",
        )
        .unwrap();
        let repository = siglum_domain::RepositoryId::from_uuid(uuid::Uuid::from_u128(12));
        let body = format!("{{\"repositories\":[\"{repository}\"]}}");
        let put = "INSERT INTO statements (ledger, sequence, at, by, source, kind, body, session) \
             VALUES (x'01', 1, 1, 'Ann', 'api', 'works_in', ?1, x'01')";
        db.execute(put, [body]).unwrap();
        db.execute_batch(last).unwrap();
        let all =
            "SELECT group_concat(hex(repository) || hex(session), ' ') FROM session_repositories";
        let found: String = db.query_row(all, [], |row| row.get(0)).unwrap();
        assert_eq!(found, format!("{:032X}01 0A01 0B01", 12));
    }
    #[test]
    fn links_and_last_activity_that_were_there_before_are_known() {
        let db = Connection::open_in_memory().unwrap();
        let (before, last) = (&MIGRATIONS[..24], MIGRATIONS[24]);
        before.iter().for_each(|sql| db.execute_batch(sql).unwrap());
        let at = 3 * crate::lookup::HOUR + 5;
        db.execute_batch(&format!(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO sessions (id, agent, conversation_id, home, mode, origin, created_at, last_at, repository)
                 VALUES (x'01', 'codex', 'c', x'02', 'observed', 'live', 1, {at}, x'0a');
             INSERT INTO session_repositories (repository, session) VALUES (x'0a', x'01');
             INSERT INTO commits (repository, \"commit\", session, committer, verdict, judgement, at, seen_by)
                 VALUES (x'0a', 'c', x'01', 'session', 'likely', '', 1, 'hook'), (x'0b', 'd', x'01', 'session', 'likely', '', 1, 'hook');"
        ))
        .unwrap();
        let put = "INSERT INTO statements (ledger, sequence, at, by, source, kind, body, session) \
             VALUES (x'01', ?1, ?2, 'Ann', 'cli', ?3, ?4, x'01')";
        for (n, at, kind, link) in [
            (1, 5, "link_attached", "{\"issue_number\":7}"),
            (2, 6, "link_attached", "{\"issue_number\":8}"),
            (
                3,
                7,
                "link_attached",
                "{\"label\":{\"key\":\"k\",\"value\":\"v\"}}",
            ),
            (4, 8, "link_attached", "{\"agent_role\":\"r\"}"),
            (5, 9, "link_detached", "{\"agent_role\":\"r\"}"),
            (6, 9, "link_detached", "{\"pr_number\":1}"),
        ] {
            let body = format!("{{\"statement\":\"{kind}\",\"session\":\"x\",\"link\":{link}}}");
            db.execute(put, (n, at, kind, body)).unwrap();
        }
        db.execute_batch(last).unwrap();
        let found = |sql: &str| -> String { db.query_row(sql, [], |row| row.get(0)).unwrap() };
        let all = "SELECT group_concat(hex(repository) || ' ' || hour || ' ' || works, '; ') FROM \
             (SELECT * FROM session_repositories ORDER BY repository)";
        assert_eq!(found(all), "0A 3 1; 0B 3 0");
        let all = "SELECT group_concat(field || ' ' || value || ' ' || whole, '; ') FROM \
             (SELECT * FROM session_links ORDER BY field, value)";
        let links = "agent_role r 0; issue_number 7 1; issue_number 8 0; label k=v 1";
        assert_eq!(found(all), links);
    }
}
