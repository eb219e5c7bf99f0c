//! What holds on to a session, and where what is stored of it lies, in SQLite.

/// What pins a session: a word, and a query that finds it. Its values are the session, whoever attached its own links,
/// and this ledger.
pub(super) const PINS: &[(&str, &str)] = &[
    (
        "replica",
        "SELECT 1 FROM sessions WHERE id = ?1 AND ?2 = ?2 AND home <> ?3",
    ),
    (
        "checkpoint",
        "SELECT 1 FROM pins WHERE session = ?1 LIMIT 1",
    ),
    (
        "commit",
        "SELECT 1 FROM commits WHERE session = ?1 UNION ALL SELECT 1 FROM head_moves WHERE session = ?1 UNION ALL SELECT 1 FROM authorships WHERE session = ?1 LIMIT 1",
    ),
    (
        "intent",
        "SELECT 1 FROM processes WHERE session = ?1 AND EXISTS (SELECT 1 FROM intents WHERE state = 'open') LIMIT 1",
    ),
    ("edit", "SELECT 1 FROM edits WHERE session = ?1 LIMIT 1"),
    (
        "statement",
        "SELECT 1 FROM statements WHERE session = ?1 AND by <> ?2 LIMIT 1",
    ),
    (
        "archived",
        "SELECT 1 FROM sessions WHERE id = ?1 AND (archived_at IS NOT NULL OR quarantined IS NOT NULL)",
    ),
    (
        "fork",
        "SELECT 1 FROM sessions WHERE parent = ?1 UNION ALL \
         SELECT 1 FROM contexts c, contexts o WHERE c.session = ?1 AND o.parent = c.key LIMIT 1",
    ),
    (
        "route",
        "SELECT 1 FROM contexts c, routes r WHERE c.session = ?1 AND r.key = c.route AND r.current = c.key LIMIT 1",
    ),
    (
        "open",
        "SELECT 1 FROM open_turns WHERE session = ?1 UNION ALL SELECT 1 FROM sessions WHERE id = ?1 AND head > sealed LIMIT 1",
    ),
    (
        "transcript",
        "SELECT 1 FROM transcripts WHERE session = ?1 AND wanted = 1 LIMIT 1",
    ),
    (
        "pipeline",
        "SELECT 1 FROM pipeline_events WHERE session = ?1 LIMIT 1",
    ),
    (
        "projection",
        "SELECT 1 FROM deliveries WHERE session = ?1 AND due > taken UNION ALL SELECT 1 FROM documents WHERE kind = 'session' AND document = lower(hex(?1)) AND due > sent UNION ALL SELECT 1 FROM statements s, destinations d WHERE s.session = ?1 AND s.sequence > d.stated LIMIT 1",
    ),
    (
        "telemetry",
        "SELECT 1 FROM forwards WHERE session = ?1 UNION ALL SELECT 1 FROM telemetry_inbox WHERE session = ?1 LIMIT 1",
    ),
    (
        "newest statement",
        "SELECT 1 FROM statements WHERE session = ?1 AND ledger = ?3 AND (?2 = ?2) AND sequence = (SELECT max(sequence) FROM statements WHERE ledger = ?3)",
    ),
];

/// What goes with a session, in an order that leaves nothing behind that belongs to nothing.
pub(super) const STRIPPED: &[&str] = &[
    "DELETE FROM context_turns WHERE context IN (SELECT key FROM contexts WHERE session = ?1)",
    "DELETE FROM context_gaps WHERE context IN (SELECT key FROM contexts WHERE session = ?1)",
    "DELETE FROM context_runs WHERE context IN (SELECT key FROM contexts WHERE session = ?1)",
    "DELETE FROM contexts WHERE session = ?1",
    "DELETE FROM runs WHERE session = ?1",
    "DELETE FROM interactions WHERE session = ?1",
    "DELETE FROM segments WHERE stream IN (SELECT stream FROM transcripts WHERE session = ?1)",
    "DELETE FROM documents WHERE kind = 'session' AND document = lower(hex(?1))",
    "DELETE FROM transcripts WHERE session = ?1",
    "DELETE FROM summaries WHERE session = ?1",
    "DELETE FROM usages WHERE session = ?1",
    "DELETE FROM erasures WHERE session = ?1",
    "DELETE FROM running_calls WHERE session = ?1",
    "DELETE FROM receipts WHERE session = ?1",
    "DELETE FROM pending WHERE session = ?1",
    "DELETE FROM leases WHERE session = ?1",
    "DELETE FROM processes WHERE session = ?1",
    "DELETE FROM aliases WHERE session = ?1",
    "DELETE FROM replica_aliases WHERE session = ?1",
    "DELETE FROM tokens WHERE session = ?1",
    "DELETE FROM turns WHERE session = ?1",
    "DELETE FROM observations WHERE session = ?1",
    "DELETE FROM deliveries WHERE session = ?1",
    "DELETE FROM links WHERE session = ?1",
    "DELETE FROM statements WHERE session = ?1",
    "DELETE FROM pipeline_sessions WHERE session = ?1",
    "DELETE FROM session_repositories WHERE session = ?1",
    "DELETE FROM traced_sessions WHERE session = ?1",
    "DELETE FROM unassigned WHERE session = ?1",
    "DELETE FROM sessions WHERE id = ?1",
];
