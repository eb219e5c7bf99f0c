//! Rows of a SQLite file that somebody changes or deletes.

use std::path::PathBuf;

use rusqlite::Connection;
use siglum_ledger::sqlite::sums_on;
use siglum_ledger::testing::{SUMMED, miscounts, tallied, unlike};
use siglum_ledger::{Durability, Ledger, Miscount, read, write};

use super::fill;
use crate::sample::session_id;
use crate::usage::{full, usage};

fn path(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("ledger.db")
}

fn open(dir: &tempfile::TempDir) -> Box<dyn Ledger + Send> {
    super::open(&path(dir)).unwrap()
}

/// A store that every verb wrote to, and the file beside it.
fn filled(dir: &tempfile::TempDir) -> Connection {
    fill(open(dir));
    let used = [full("a", 1), usage("b", 2)];
    write(open(dir).as_mut(), Durability::Process, |tx| {
        tx.put_usages(session_id(1), &used)
    })
    .unwrap();
    let behind = Connection::open(path(dir)).unwrap();
    behind.pragma_update(None, "foreign_keys", false).unwrap();
    sums_on(&behind).unwrap();
    behind
}

fn rows(db: &Connection, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM {table}");
    let rows: i64 = db.query_row(&sql, [], |row| row.get(0)).unwrap();
    u64::try_from(rows).unwrap()
}

/// The columns of the primary key of a table.
fn key(db: &Connection, table: &str) -> Vec<String> {
    let sql = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
    let mut query = db.prepare(sql).unwrap();
    let names = query.query_map([table], |row| row.get(0)).unwrap();
    names.collect::<rusqlite::Result<_>>().unwrap()
}

/// Every summed column of every table that a small ledger fills.
#[test]
fn a_changed_column_is_reported_with_its_row_and_no_other_one_is() {
    let dir = tempfile::tempdir().unwrap();
    let behind = filled(&dir);
    let mut ledger = open(&dir);
    let mut stored_unlike = || read(ledger.as_mut(), |tx| tx.unlike(9)).unwrap();
    assert_eq!(stored_unlike(), []);
    let mut seen = 0;
    for (table, columns) in SUMMED {
        if rows(&behind, table) == 0 {
            continue;
        }
        let keys = key(&behind, table);
        for column in columns.iter().filter(|c| !keys.contains(&(**c).to_owned())) {
            behind.execute_batch("BEGIN").unwrap();
            let change = format!(
                "UPDATE OR IGNORE {table} SET \"{column}\" = CASE typeof(\"{column}\") \
                 WHEN 'integer' THEN \"{column}\" + 1 WHEN 'null' THEN x'00' ELSE CAST(\"{column}\" || '!' AS BLOB) END"
            );
            if behind.execute(&change, []).unwrap_or_default() > 0 {
                let found = unlike(&behind, 9).unwrap();
                assert!(!found.is_empty(), "{table}.{column}");
                assert!(found.iter().all(|u| u.table == *table), "{found:?}");
                seen += 1;
            }
            behind.execute_batch("ROLLBACK").unwrap();
        }
    }
    assert!(seen > 20, "{seen}");
    assert_eq!(stored_unlike(), []);
}

#[test]
fn a_row_that_is_gone_or_another_one_in_its_place_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let behind = filled(&dir);
    assert_eq!(miscounts(&behind).unwrap(), []);
    let mut seen = 0;
    for table in tallied() {
        let stored = rows(&behind, table);
        if stored == 0 {
            continue;
        }
        seen += 1;
        let keys = format!("\"{}\"", key(&behind, table).join("\", \""));
        let one = format!("({keys}) IN (SELECT {keys} FROM {table} LIMIT 1)");
        for (change, found) in [
            (format!("DELETE FROM {table} WHERE {one}"), stored - 1),
            (format!("DELETE FROM {table}"), 0),
            (
                format!("UPDATE {table} SET sum = sum + 1 WHERE {one}"),
                stored,
            ),
        ] {
            behind
                .execute_batch("BEGIN; DROP TRIGGER checkpoint_withdrawn")
                .unwrap();
            assert!(behind.execute(&change, []).unwrap() > 0, "{change}");
            let wanted = Miscount {
                table,
                stored,
                found,
            };
            assert_eq!(miscounts(&behind).unwrap(), [wanted], "{change}");
            behind.execute_batch("ROLLBACK").unwrap();
        }
    }
    assert!(seen > 15, "{seen}");
    behind.execute("DELETE FROM tallies", []).unwrap();
    assert_eq!(miscounts(&behind).unwrap().len(), seen);
}

#[test]
fn the_tallies_of_an_older_store_begin_with_what_is_there_and_its_sums_stay() {
    let dir = tempfile::tempdir().unwrap();
    let behind = filled(&dir);
    behind
        .execute_batch(
            "DROP TRIGGER text_folded; DROP TRIGGER text_forgotten; DROP TRIGGER text_dropped; DROP TRIGGER text_named;
             DROP TRIGGER text_renamed; DROP TRIGGER text_renamed_elsewhere; DROP TRIGGER text_placed;
             DROP TRIGGER text_stated; DROP TRIGGER text_restated; DROP TRIGGER text_unstated;
             DROP TRIGGER text_committed; DROP TRIGGER text_recommitted; DROP TABLE unindexed;
             DELETE FROM links; UPDATE turns SET opened_at = opened_at + 1; DROP TABLE tallies; DROP TRIGGER repository_moved; DROP TRIGGER repository_identified;
             DROP TABLE usage_quarters; DROP INDEX statements_of_links;
             ALTER TABLE repositories RENAME COLUMN roots TO roots_before;
             ALTER TABLE repositories RENAME COLUMN remote TO remote_before;
             ALTER TABLE repositories RENAME COLUMN clone_of TO clone_of_before;
             DROP INDEX sessions_by_conversation; DROP INDEX commits_by_at; DROP TABLE active_runs; DROP TABLE run_events;
             DROP INDEX sessions_by_short_id; DROP INDEX checkpoints_by_short_id; DROP INDEX tokens_by_short_id;
             DROP INDEX aliases_by_native; DROP INDEX checkpoints_by_repository; DROP INDEX declines_by_at;
             DROP INDEX edits_unhashed; DROP INDEX authorships_by_commit; DROP INDEX contexts_by_session; DROP INDEX statements_of_commits; DROP INDEX session_repositories_by_hour;
             ALTER TABLE session_repositories RENAME COLUMN hour TO hour_before;
             ALTER TABLE session_repositories RENAME COLUMN works TO works_before;
             DROP TABLE session_links; DROP TABLE verified; DROP INDEX audit_by_at;
             DROP INDEX audit_by_actor; DROP INDEX sessions_quarantined; PRAGMA user_version = 16",
        )
        .unwrap();
    let mut ledger = open(&dir);
    let mut stored_miscounts = || read(ledger.as_mut(), |tx| tx.miscounts()).unwrap();
    assert_eq!(stored_miscounts(), []);
    // What went bad before the upgrade is not taken for good by it.
    let bad = unlike(&behind, 1).unwrap();
    assert_eq!(
        bad.iter().map(|u| u.table).collect::<Vec<_>>(),
        ["turns"],
        "{bad:?}"
    );
    let stored = rows(&behind, "statements");
    behind.execute("DELETE FROM statements", []).unwrap();
    let wanted = Miscount {
        table: "statements",
        stored,
        found: 0,
    };
    assert_eq!(stored_miscounts(), [wanted]);
}

/// The rows that are not what was stored, by their tables, and the tables with other rows than were stored.
fn wrong(dir: &tempfile::TempDir) -> (Vec<&'static str>, Vec<Miscount>) {
    let (unlike, miscounts) = read(open(dir).as_mut(), |tx| {
        Ok((tx.unlike(9)?, tx.miscounts()?))
    })
    .unwrap();
    (unlike.iter().map(|u| u.table).collect(), miscounts)
}

#[test]
fn sums_of_usage_that_are_not_what_messages_come_to_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let behind = filled(&dir);
    for change in [
        "UPDATE usage_quarters SET output = output + 9",
        "UPDATE usage_quarters SET model = 'other'",
        "DELETE FROM usage_quarters",
    ] {
        assert_eq!(wrong(&dir), (vec![], vec![]));
        assert!(behind.execute(change, []).unwrap() > 0, "{change}");
        assert_eq!(wrong(&dir), (vec!["usage_quarters"], vec![]), "{change}");
        // They are made anew with the next fold.
        write(open(&dir).as_mut(), Durability::Process, |tx| {
            tx.put_usages(session_id(1), &[full("a", 1), usage("b", 2)])
        })
        .unwrap();
    }
}

#[test]
fn the_usage_of_an_older_store_is_summed_and_counted_as_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let behind = filled(&dir);
    behind
        .execute_batch(
            "DELETE FROM tallies WHERE name = 'usages'; ALTER TABLE usages DROP COLUMN sum; PRAGMA user_version = 27",
        )
        .unwrap();
    assert_eq!(wrong(&dir), (vec![], vec![]));
    let both =
        "UPDATE usages SET output = output + 9; UPDATE usage_quarters SET output = output + 9";
    behind.execute_batch(both).unwrap();
    assert_eq!(wrong(&dir), (vec!["usages", "usages"], vec![]));
    behind
        .execute_batch("DELETE FROM usages; DELETE FROM usage_quarters")
        .unwrap();
    let gone = Miscount {
        table: "usages",
        stored: 2,
        found: 0,
    };
    assert_eq!(wrong(&dir), (vec![], vec![gone]));
}
