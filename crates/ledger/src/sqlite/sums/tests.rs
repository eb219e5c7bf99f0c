use std::collections::BTreeSet;

use siglum_domain::LedgerId;

use super::*;
use crate::SqliteLedger;
use crate::sqlite::Open;

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
    "session_links",
    "session_repositories",
    "summaries",
    "traced_sessions",
    "usage_quarters",
    // How far something is, and queues.
    "active_runs",
    "context_gaps",
    "context_runs",
    "cursors",
    "declines",
    "deliveries",
    "destinations",
    "documents",
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
    "run_events",
    "tallies",
    "telemetry_counts",
    "telemetry_inbox",
    "tick_totals",
    "transcripts",
    "unassigned",
    "verified",
    "unindexed",
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

/// A migration that adds a column to a table with sums has to sum its rows: nothing else does.
#[test]
fn the_summed_columns_of_a_table_are_as_old_as_its_sums() {
    let db = Connection::open_in_memory().unwrap();
    super::super::migrate::play(&db, WITH_TALLIES).unwrap();
    for (table, columns) in SUMMED {
        let sql = "SELECT name FROM pragma_table_info(?1)";
        let mut query = db.prepare(sql).unwrap();
        let rows = query.query_map([table], |row| row.get(0)).unwrap();
        let then: BTreeSet<String> = rows.collect::<Result<_>>().unwrap();
        assert!(
            then.is_empty() || columns.iter().all(|c| then.contains(*c)),
            "{table}"
        );
    }
}
