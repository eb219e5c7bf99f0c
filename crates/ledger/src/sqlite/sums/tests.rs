use std::collections::BTreeSet;

use siglum_domain::LedgerId;

use super::*;
use crate::conformance::fill;
use crate::sqlite::Open;
use crate::{SqliteLedger, read};

/// Tables that need no sum: folds of what has one, a chain or digests of its own, and what only says how far something
/// is or what is to be done.
const WITHOUT: &[&str] = &[
    // Chained, or with digests.
    "audit",
    "audit_end",
    "open_turns",
    "pending",
    "receipts",
    // Folds of the log, of statements and of git.
    "authorships",
    "edits",
    "head_moves",
    "pipeline_sessions",
    "pipelines",
    "running_calls",
    "session_repositories",
    "summaries",
    "traced_sessions",
    "usages",
    // How far something is, and queues.
    "context_gaps",
    "context_runs",
    "cursors",
    "declines",
    "deliveries",
    "destinations",
    "documents",
    "erasures",
    "forwards",
    "leases",
    "meta",
    "outbox",
    "parked",
    "replica_aliases",
    "replica_repositories",
    "replica_stamps",
    "requests",
    "routes",
    "tallies",
    "telemetry_counts",
    "telemetry_inbox",
    "tick_totals",
    "transcripts",
    "unassigned",
];

/// Columns that change with each look, or are verified in another way.
const LEFT_OUT: &[(&str, &[&str])] = &[
    ("worktrees", &["swept_head"]),
    ("repositories", &["roots", "remote", "clone_of"]),
    (
        "sessions",
        &[
            "last_at",
            "unseen",
            "head",
            "sealed",
            "folded",
            "quarantined",
        ],
    ),
    // Receipts seal these.
    (
        "observations",
        &[
            "position", "source", "key", "event", "salt", "digest", "payload",
        ],
    ),
    ("tokens", &["last_used_at"]),
    (
        "contexts",
        &["prepared", "seen_at", "ended_at", "next", "anchors"],
    ),
    (
        "heartbeats",
        &[
            "changed_at",
            "anchor",
            "paused_at",
            "removed_at",
            "next_due",
            "alive_at",
        ],
    ),
    (
        "ticks",
        &[
            "context",
            "delivered_at",
            "ended_at",
            "held_until",
            "missed",
            "nano_usd",
            "outcome",
            "owed",
            "reason",
            "retry_at",
            "session",
            "target",
            "tokens",
            "tries",
        ],
    ),
];

fn open(dir: &tempfile::TempDir) -> SqliteLedger {
    let how = Open::Command {
        id: LedgerId::from_uuid(uuid::Uuid::from_u128(1)),
        key: [7; 32],
    };
    SqliteLedger::open(&dir.path().join("ledger.db"), how).unwrap()
}

#[test]
fn every_column_of_every_table_has_a_sum_or_a_reason_for_none() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(&dir));
    let db = Connection::open(dir.path().join("ledger.db")).unwrap();
    let words = |sql: &str, of: &str| -> BTreeSet<String> {
        let mut query = db.prepare(sql).unwrap();
        let rows = query.query_map([of], |row| row.get(0)).unwrap();
        rows.collect::<Result<_>>().unwrap()
    };
    let tables = words(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> ?1",
        "",
    );
    let summed = SUMMED.iter().map(|(table, _)| (*table).to_owned());
    let known: BTreeSet<String> = summed
        .chain(WITHOUT.iter().map(|t| (*t).to_owned()))
        .collect();
    assert_eq!(tables, known);
    for (table, columns) in SUMMED {
        let left_out = LEFT_OUT.iter().find(|(t, _)| t == table);
        let known: BTreeSet<String> = columns
            .iter()
            .chain(left_out.map_or(&[][..], |(_, columns)| columns))
            .chain(&["sum"])
            .map(|c| (*c).to_owned())
            .collect();
        let sql = "SELECT name FROM pragma_table_info(?1)";
        assert_eq!(words(sql, table), known, "{table}");
    }
}

/// Every summed column of every table that a small ledger fills.
#[test]
fn a_changed_column_is_reported_with_its_row_and_no_other_one_is() {
    let dir = tempfile::tempdir().unwrap();
    fill(Box::new(open(&dir)));
    let mut ledger = open(&dir);
    let unlike = |ledger: &mut SqliteLedger| read(ledger, |tx| tx.unlike(9)).unwrap();
    assert_eq!(unlike(&mut ledger), []);
    let behind = Connection::open(dir.path().join("ledger.db")).unwrap();
    behind.pragma_update(None, "foreign_keys", false).unwrap();
    let mut seen = 0;
    for (table, columns) in SUMMED {
        let filled = format!("SELECT count(*) FROM {table}");
        let rows: i64 = behind.query_row(&filled, [], |row| row.get(0)).unwrap();
        if rows == 0 {
            continue;
        }
        let keys = key(&behind, table).unwrap();
        for column in columns.iter().filter(|c| !keys.contains(&(**c).to_owned())) {
            behind.execute_batch("BEGIN").unwrap();
            let change = format!(
                "UPDATE OR IGNORE {table} SET \"{column}\" = CASE typeof(\"{column}\") \
                 WHEN 'integer' THEN \"{column}\" + 1 WHEN 'null' THEN x'00' ELSE CAST(\"{column}\" || '!' AS BLOB) END"
            );
            if behind.execute(&change, []).unwrap_or_default() > 0 {
                sums_on(&behind).unwrap();
                let found = super::unlike(&behind, 9).unwrap();
                assert!(!found.is_empty(), "{table}.{column}");
                assert!(found.iter().all(|u| u.table == *table), "{found:?}");
                seen += 1;
            }
            behind.execute_batch("ROLLBACK").unwrap();
        }
    }
    assert!(seen > 20, "{seen}");
    assert_eq!(unlike(&mut ledger), []);
}

/// A store that every verb wrote to, and the file beside it.
fn filled(dir: &tempfile::TempDir) -> Connection {
    fill(Box::new(open(dir)));
    let behind = Connection::open(dir.path().join("ledger.db")).unwrap();
    behind.pragma_update(None, "foreign_keys", false).unwrap();
    sums_on(&behind).unwrap();
    behind
}

fn rows(db: &Connection, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM {table}");
    db.query_row(&sql, [], |row| count(row, 0)).unwrap()
}

#[test]
fn a_row_that_is_gone_or_another_one_in_its_place_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let behind = filled(&dir);
    assert_eq!(super::miscounts(&behind).unwrap(), []);
    let mut seen = 0;
    for table in tallied() {
        let stored = rows(&behind, table);
        if stored == 0 {
            continue;
        }
        seen += 1;
        let keys = format!("\"{}\"", key(&behind, table).unwrap().join("\", \""));
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
            assert_eq!(super::miscounts(&behind).unwrap(), [wanted], "{change}");
            behind.execute_batch("ROLLBACK").unwrap();
        }
    }
    assert!(seen > 15, "{seen}");
    behind.execute("DELETE FROM tallies", []).unwrap();
    assert_eq!(super::miscounts(&behind).unwrap().len(), seen);
}

#[test]
fn the_tallies_of_an_older_store_begin_with_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let behind = filled(&dir);
    behind
        .execute_batch(
            "DELETE FROM links; DROP TABLE tallies; DROP TRIGGER repository_moved;
             ALTER TABLE repositories RENAME COLUMN roots TO roots_before;
             ALTER TABLE repositories RENAME COLUMN remote TO remote_before;
             ALTER TABLE repositories RENAME COLUMN clone_of TO clone_of_before;
             PRAGMA user_version = 16",
        )
        .unwrap();
    let mut ledger = open(&dir);
    let miscounts = read(&mut ledger, |tx| tx.miscounts()).unwrap();
    assert_eq!(miscounts, []);
    let stored = rows(&behind, "statements");
    behind.execute("DELETE FROM statements", []).unwrap();
    let miscounts = read(&mut ledger, |tx| tx.miscounts()).unwrap();
    let wanted = Miscount {
        table: "statements",
        stored,
        found: 0,
    };
    assert_eq!(miscounts, [wanted]);
}
