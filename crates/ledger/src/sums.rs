//! A sum for each row that nothing can make anew, kept beside it: by triggers in PostgreSQL, and in SQLite by what writes
//! the row, since each process that opens a file would read all of its triggers first.
//!
//! Receipts seal logs, and the audit is a chain. The other rows that answers rest on, and the columns of a log's entry
//! that no receipt covers, have a sum of their columns beside them, so that [`crate::Integrity::unlike`] can tell those that
//! went bad. It finds damage, and not somebody who changes a row on purpose and sums it anew.
//!
//! A row that is gone has no sum. So each of these tables has a tally: how many rows it has, and what their sums add up to,
//! kept in the transaction that writes them. [`crate::Integrity::miscounts`] tells tables that do not agree with theirs.
//! Both begin with what is there when a store is migrated that does not have them yet, and only then: an upgrade must not
//! take what went bad before it for good.

/// The tables whose rows have a sum, and the columns in it. What is left out changes with each look at a row, or is
/// verified in another way: how far a log goes and is sealed, how far something was read, when it was used last.
///
/// A migration that adds a column to a table with sums, or changes one, sums the table's rows itself.
pub(crate) const SUMMED: &[(&str, &[&str])] = &[
    ("repositories", &["id", "common_dir", "first_at"]),
    ("worktrees", &["repository", "path"]),
    (
        "sessions",
        &[
            "id",
            "agent",
            "conversation_id",
            "home",
            "mode",
            "origin",
            "parent",
            "parent_relation",
            "parent_at",
            "created_at",
            "ended_at",
            "cwd",
            "repository",
            "worktree",
            "forgotten_at",
            "forgotten_whole",
            "archived_at",
        ],
    ),
    (
        "aliases",
        &["agent", "native", "session", "first_at", "by_caller"],
    ),
    (
        "processes",
        &[
            "process", "session", "identity", "first_at", "bound_at", "carried",
        ],
    ),
    ("turns", &["id", "session", "native", "opened_at", "prompt"]),
    (
        "observations",
        &[
            "id",
            "session",
            "sequence",
            "turn",
            "subagent",
            "kind",
            "at",
            "recorded_at",
        ],
    ),
    (
        "intents",
        &[
            "checkpoint",
            "repository",
            "worktree",
            "git",
            "at",
            "scene",
            "state",
            "commit",
        ],
    ),
    ("checkpoints", &["id", "kind", "repository", "commit", "at"]),
    ("pins", &["checkpoint", "session", "sequence"]),
    (
        "commits",
        &[
            "repository",
            "commit",
            "checkpoint",
            "intent",
            "session",
            "committer",
            "verdict",
            "judgement",
            "facts",
            "patch",
            "at",
            "seen_by",
        ],
    ),
    ("authors", &["repository", "commit", "path", "spans"]),
    ("rewrites", &["repository", "old", "new", "command", "at"]),
    (
        "statements",
        &[
            "ledger",
            "sequence",
            "at",
            "by",
            "source",
            "kind",
            "body",
            "session",
            "repository",
            "commit",
        ],
    ),
    ("links", &["field", "value", "session"]),
    // Of a session that was forgotten, the log makes none of them anew.
    (
        "usages",
        &[
            "session",
            "event",
            "request",
            "turn",
            "at",
            "model",
            "subagent",
            "branch",
            "source",
            "input",
            "output",
            "cache_read",
            "cache_write",
            "left_out",
        ],
    ),
    (
        "tokens",
        &[
            "id",
            "digest",
            "session",
            "name",
            "by",
            "created_at",
            "expires_at",
            "revoked_at",
            "replaced_by",
            "scope",
        ],
    ),
    ("segments", &["stream", "first", "past", "bytes", "data"]),
    ("projections", &["name", "kind", "target", "at", "scope"]),
    (
        "pipeline_events",
        &[
            "pipeline", "number", "at", "by", "source", "session", "kind", "body", "text", "key",
            "content",
        ],
    ),
    (
        "contexts",
        &[
            "key",
            "route",
            "session",
            "parent",
            "parent_at",
            "cause",
            "inherit",
            "by",
            "created_at",
        ],
    ),
    (
        "context_turns",
        &[
            "context",
            "key",
            "turn",
            "log_first",
            "log_last",
            "first",
            "last",
            "kind",
            "keep",
            "recovers",
            "digest",
            "at",
        ],
    ),
    ("route_moves", &["route", "at", "to", "from", "by", "cause"]),
    (
        "heartbeats",
        &["name", "definition", "origin", "by", "created_at"],
    ),
    ("ticks", &["heartbeat", "due", "cause", "fired_at", "by"]),
    (
        "runs",
        &[
            "turn",
            "session",
            "key",
            "native",
            "route",
            "context",
            "by",
            "started_at",
            "ended_at",
            "status",
            "error",
            "committed",
        ],
    ),
    (
        "interactions",
        &[
            "id",
            "session",
            "turn",
            "kind",
            "title",
            "call",
            "options",
            "raised_at",
            "settled_at",
            "how",
            "option",
            "by",
        ],
    ),
    ("registrations", &["ledger", "token", "at"]),
    ("erasures", &["session", "restored"]),
];

/// The table of the logs, which is larger than all others together.
pub(crate) const LOG: &str = "observations";

/// Whether a table has a tally. A session says how long its log is, and receipts are chained up to there: hooks write many
/// entries, and need not count them again.
pub(crate) fn is_tallied(table: &str) -> bool {
    table != LOG && SUMMED.iter().any(|(summed, _)| *summed == table)
}

/// The tables that have a tally.
pub(crate) fn tallied() -> impl Iterator<Item = &'static str> {
    let tables = SUMMED.iter().map(|(table, _)| *table);
    tables.filter(|table| is_tallied(table))
}

/// Columns as SQL has them, each behind `before`.
pub(crate) fn list(columns: &[&str], before: &str) -> String {
    let quoted = columns.iter().map(|column| format!("{before}\"{column}\""));
    quoted.collect::<Vec<_>>().join(", ")
}

/// A row whose columns are not what was stored, or not what the rows come to that they were made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unlike {
    pub table: &'static str,
    /// Which row: its key, column by column.
    pub row: String,
}

/// A table whose rows are not those that its tally knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Miscount {
    pub table: &'static str,
    /// How many rows were stored.
    pub stored: u64,
    /// How many there are. With as many as were stored, others stand in their place.
    pub found: u64,
}
