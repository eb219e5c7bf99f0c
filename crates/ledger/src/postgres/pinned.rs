//! What holds on to a session, and where what is stored of it lies, in PostgreSQL.

use siglum_domain::SessionId;

use super::blobs::FREE_BLOBS;
use super::columns::Col;
use super::tx::{Tx, Value};
use crate::LedgerError;
use crate::verbs::heartbeats::SessionRemoval;
use crate::verbs::usage::change_usages;

/// What pins a session: a word, and a query that finds it. Its values are the session, whoever attached its own links,
/// and this ledger.
const PINS: &[(&str, &str)] = &[
    (
        "replica",
        "SELECT 1 FROM sessions WHERE tenant = $1 AND id = $2 AND $3::text IS NOT NULL AND home <> $4",
    ),
    (
        "checkpoint",
        "SELECT 1 FROM pins WHERE tenant = $1 AND session = $2 LIMIT 1",
    ),
    (
        "commit",
        "SELECT 1 FROM commits WHERE tenant = $1 AND session = $2 UNION ALL SELECT 1 FROM head_moves WHERE tenant = $1 AND session = $2 UNION ALL SELECT 1 FROM authorships WHERE tenant = $1 AND session = $2 LIMIT 1",
    ),
    (
        "intent",
        "SELECT 1 FROM processes WHERE tenant = $1 AND session = $2 AND EXISTS (SELECT 1 FROM intents WHERE tenant = $1 AND state = 'open') LIMIT 1",
    ),
    (
        "edit",
        "SELECT 1 FROM edits WHERE tenant = $1 AND session = $2 LIMIT 1",
    ),
    (
        "statement",
        "SELECT 1 FROM statements WHERE tenant = $1 AND session = $2 AND by <> $3 LIMIT 1",
    ),
    (
        "archived",
        "SELECT 1 FROM sessions WHERE tenant = $1 AND id = $2 AND (archived_at IS NOT NULL OR quarantined IS NOT NULL)",
    ),
    (
        "fork",
        "SELECT 1 FROM sessions WHERE tenant = $1 AND parent = $2 UNION ALL \
         SELECT 1 FROM contexts c, contexts o WHERE c.tenant = $1 AND o.tenant = $1 AND c.session = $2 \
         AND o.parent = c.key LIMIT 1",
    ),
    (
        "route",
        "SELECT 1 FROM contexts c, routes r WHERE c.tenant = $1 AND r.tenant = $1 AND c.session = $2 \
         AND r.key = c.route AND r.current = c.key LIMIT 1",
    ),
    (
        "open",
        "SELECT 1 FROM open_turns WHERE tenant = $1 AND session = $2 UNION ALL SELECT 1 FROM sessions WHERE tenant = $1 AND id = $2 AND head > sealed LIMIT 1",
    ),
    (
        "transcript",
        "SELECT 1 FROM transcripts WHERE tenant = $1 AND session = $2 AND wanted LIMIT 1",
    ),
    (
        "pipeline",
        "SELECT 1 FROM pipeline_events WHERE tenant = $1 AND session = $2 LIMIT 1",
    ),
    (
        "projection",
        "SELECT 1 FROM projections p JOIN deliveries v ON v.tenant = $1 AND v.projection = p.name AND v.session = $2 \
         WHERE p.tenant = $1 AND v.due > v.taken \
         UNION ALL SELECT 1 FROM destinations p JOIN documents v ON v.tenant = $1 AND v.projection = p.projection \
         AND v.kind = 'session' AND v.document = replace($2::uuid::text, '-', '') WHERE p.tenant = $1 AND v.due > v.sent \
         UNION ALL SELECT 1 FROM statements s, destinations d WHERE s.tenant = $1 AND d.tenant = $1 AND s.session = $2 AND s.sequence > d.stated LIMIT 1",
    ),
    (
        "telemetry",
        "SELECT 1 FROM forwards WHERE tenant = $1 AND session = $2 UNION ALL SELECT 1 FROM telemetry_inbox WHERE tenant = $1 AND session = $2 LIMIT 1",
    ),
];

/// What goes with a session, in an order that leaves nothing behind that belongs to nothing.
const STRIPPED: &[&str] = &[
    "DELETE FROM context_turns WHERE tenant = $1 AND context IN (SELECT key FROM contexts WHERE tenant = $1 AND session = $2)",
    "DELETE FROM context_gaps WHERE tenant = $1 AND context IN (SELECT key FROM contexts WHERE tenant = $1 AND session = $2)",
    "DELETE FROM context_runs WHERE tenant = $1 AND context IN (SELECT key FROM contexts WHERE tenant = $1 AND session = $2)",
    "DELETE FROM contexts WHERE tenant = $1 AND session = $2",
    "DELETE FROM runs WHERE tenant = $1 AND session = $2",
    "DELETE FROM interactions WHERE tenant = $1 AND session = $2",
    "DELETE FROM active_runs WHERE tenant = $1 AND session = $2",
    "DELETE FROM run_events WHERE tenant = $1 AND session = $2",
    "DELETE FROM segments WHERE tenant = $1 AND stream IN (SELECT stream FROM transcripts WHERE tenant = $1 AND session = $2)",
    "DELETE FROM documents WHERE tenant = $1 AND projection IN (SELECT projection FROM destinations WHERE tenant = $1) AND kind = 'session' AND document = replace($2::uuid::text, '-', '')",
    "DELETE FROM transcripts WHERE tenant = $1 AND session = $2",
    "DELETE FROM summaries WHERE tenant = $1 AND session = $2",
    "DELETE FROM usages WHERE tenant = $1 AND session = $2",
    "DELETE FROM usage_quarters WHERE tenant = $1 AND session = $2",
    "DELETE FROM erasures WHERE tenant = $1 AND session = $2",
    "DELETE FROM running_calls WHERE tenant = $1 AND session = $2",
    "DELETE FROM receipts WHERE tenant = $1 AND session = $2",
    "DELETE FROM pending WHERE tenant = $1 AND session = $2",
    "DELETE FROM leases WHERE tenant = $1 AND session = $2",
    "DELETE FROM processes WHERE tenant = $1 AND session = $2",
    "DELETE FROM aliases WHERE tenant = $1 AND session = $2",
    "DELETE FROM replica_aliases WHERE tenant = $1 AND session = $2",
    "DELETE FROM tokens WHERE tenant = $1 AND session = $2",
    "DELETE FROM turns WHERE tenant = $1 AND session = $2",
    "DELETE FROM observations WHERE tenant = $1 AND session = $2",
    FREE_BLOBS,
    "DELETE FROM deliveries WHERE tenant = $1 AND projection IN (SELECT name FROM projections WHERE tenant = $1) AND session = $2",
    "DELETE FROM links WHERE tenant = $1 AND session = $2",
    "DELETE FROM session_links WHERE tenant = $1 AND session = $2",
    "DELETE FROM verified WHERE tenant = $1 AND session = $2",
    "DELETE FROM statements WHERE tenant = $1 AND session = $2",
    "DELETE FROM pipeline_sessions WHERE tenant = $1 AND session = $2",
    "DELETE FROM session_repositories WHERE tenant = $1 AND session = $2",
    "DELETE FROM traced_sessions WHERE tenant = $1 AND session = $2",
    "DELETE FROM unassigned WHERE tenant = $1 AND session = $2",
    "DELETE FROM search_parts WHERE tenant = $1 AND session = $2",
    "DELETE FROM unindexed WHERE tenant = $1 AND session = $2",
    "DELETE FROM sessions WHERE tenant = $1 AND id = $2",
];

impl SessionRemoval for Tx<'_> {
    fn remove_session(
        &mut self,
        session: SessionId,
        by: &str,
    ) -> Result<Option<String>, LedgerError> {
        let id = Col(session);
        // Whoever writes to it holds its row, and waits until it is gone, or comes before.
        let known = "SELECT 1 FROM sessions WHERE tenant = $1 AND id = $2 FOR UPDATE";
        if self.row(known, &[&id], |_| Ok(()))?.is_none() {
            return Ok(Some("unknown".to_owned()));
        }
        let home = Col(self.ledger);
        let given: [Value<'_>; 3] = [&id, &by, &home];
        for (word, sql) in PINS {
            let needed = if sql.contains("$4") {
                3
            } else {
                1 + usize::from(sql.contains("$3"))
            };
            if self.row(sql, &given[..needed], |_| Ok(()))?.is_some() {
                return Ok(Some((*word).to_owned()));
            }
        }
        change_usages(self, session, |tx| {
            for sql in STRIPPED {
                tx.run(sql, &[&id])?;
            }
            Ok(())
        })?;
        Ok(None)
    }
}
