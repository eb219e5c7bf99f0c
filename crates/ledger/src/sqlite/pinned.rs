//! What holds on to a session, and where what is stored of it lies, in SQLite.

use siglum_domain::SessionId;

use super::columns::Col;
use super::open::Tx;
use crate::LedgerError;
use crate::columns::Value;
use crate::database::Database;
use crate::verbs::heartbeats::SessionRemoval;
use crate::verbs::usage::change_usages;

/// What pins a session: a word, and a query that finds it. Its values are the session, whoever attached its own links,
/// and this ledger.
const PINS: &[(&str, &str)] = &[
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
        "SELECT 1 FROM deliveries WHERE projection IN (SELECT name FROM projections) AND session = ?1 AND due > taken \
         UNION ALL SELECT 1 FROM documents WHERE projection IN (SELECT projection FROM destinations) AND kind = 'session' AND document = lower(hex(?1)) AND due > sent UNION ALL SELECT 1 FROM statements s, destinations d WHERE s.session = ?1 AND s.sequence > d.stated LIMIT 1",
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

/// What goes with a session: tables, each with a condition on its rows, in an order that leaves nothing behind that belongs to nothing.
const STRIPPED: &[(&str, &str)] = &[
    (
        "context_turns",
        "context IN (SELECT key FROM contexts WHERE session = ?1)",
    ),
    (
        "context_gaps",
        "context IN (SELECT key FROM contexts WHERE session = ?1)",
    ),
    (
        "context_runs",
        "context IN (SELECT key FROM contexts WHERE session = ?1)",
    ),
    ("contexts", "session = ?1"),
    ("runs", "session = ?1"),
    ("interactions", "session = ?1"),
    ("active_runs", "session = ?1"),
    ("run_events", "session = ?1"),
    (
        "segments",
        "stream IN (SELECT stream FROM transcripts WHERE session = ?1)",
    ),
    (
        "documents",
        "projection IN (SELECT projection FROM destinations) AND kind = 'session' AND document = lower(hex(?1))",
    ),
    ("transcripts", "session = ?1"),
    ("summaries", "session = ?1"),
    ("usages", "session = ?1"),
    ("usage_quarters", "session = ?1"),
    ("erasures", "session = ?1"),
    ("running_calls", "session = ?1"),
    ("receipts", "session = ?1"),
    ("pending", "session = ?1"),
    ("leases", "session = ?1"),
    ("processes", "session = ?1"),
    ("aliases", "session = ?1"),
    ("replica_aliases", "session = ?1"),
    ("tokens", "session = ?1"),
    ("turns", "session = ?1"),
    ("observations", "session = ?1"),
    (
        "deliveries",
        "projection IN (SELECT name FROM projections) AND session = ?1",
    ),
    ("links", "session = ?1"),
    ("session_links", "session = ?1"),
    ("verified", "session = ?1"),
    ("statements", "session = ?1"),
    ("pipeline_sessions", "session = ?1"),
    ("session_repositories", "session = ?1"),
    ("traced_sessions", "session = ?1"),
    ("unassigned", "session = ?1"),
    ("sessions", "id = ?1"),
];

impl SessionRemoval for Tx<'_> {
    fn remove_session(
        &mut self,
        session: SessionId,
        by: &str,
    ) -> Result<Option<String>, LedgerError> {
        let id = Col(session);
        if !self.exists("SELECT 1 FROM sessions WHERE id = ?1", &[&id])? {
            return Ok(Some("unknown".to_owned()));
        }
        let home = Col(self.ledger);
        let given: [Value<'_>; 3] = [&id, &by, &home];
        for (word, sql) in PINS {
            let needed = self.db.prepare_cached(sql)?.parameter_count();
            if self.exists(*sql, &given[..needed])? {
                return Ok(Some((*word).to_owned()));
            }
        }
        self.erase_securely()?;
        change_usages(self, session, |tx| {
            for (table, rows) in STRIPPED {
                tx.delete(table, (*rows).into(), &[&id])?;
            }
            Ok(())
        })?;
        Ok(None)
    }
}
