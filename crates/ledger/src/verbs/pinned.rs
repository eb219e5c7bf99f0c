//! What holds on to a session, and where what is stored of it lies.

use siglum_domain::SessionId;

use super::usage::change_usages;
use crate::LedgerError;
use crate::columns::{Col, Value};
use crate::database::Database;
use crate::sql::{Sql, sql};

type Result<T> = std::result::Result<T, LedgerError>;

/// The second value of a query about a session.
#[derive(Clone, Copy)]
enum With {
    Nothing,
    /// Whoever attached its own links.
    By,
    /// This ledger.
    Home,
}

/// What pins a session: a word, and a query that finds it.
const PINS: &[(&str, With, Sql<'_>)] = &[
    (
        "replica",
        With::Home,
        sql!("SELECT 1 FROM sessions WHERE [tenant = $1 AND] id = ?1 AND home <> ?2"),
    ),
    (
        "checkpoint",
        With::Nothing,
        sql!("SELECT 1 FROM pins WHERE [tenant = $1 AND] session = ?1 LIMIT 1"),
    ),
    (
        "commit",
        With::Nothing,
        sql!(
            "SELECT 1 FROM commits WHERE [tenant = $1 AND] session = ?1 \
             UNION ALL SELECT 1 FROM head_moves WHERE [tenant = $1 AND] session = ?1 \
             UNION ALL SELECT 1 FROM authorships WHERE [tenant = $1 AND] session = ?1 LIMIT 1"
        ),
    ),
    (
        "intent",
        With::Nothing,
        sql!(
            "SELECT 1 FROM processes WHERE [tenant = $1 AND] session = ?1 \
             AND EXISTS (SELECT 1 FROM intents WHERE [tenant = $1 AND] state = 'open') LIMIT 1"
        ),
    ),
    (
        "edit",
        With::Nothing,
        sql!("SELECT 1 FROM edits WHERE [tenant = $1 AND] session = ?1 LIMIT 1"),
    ),
    (
        "statement",
        With::By,
        sql!("SELECT 1 FROM statements WHERE [tenant = $1 AND] session = ?1 AND by <> ?2 LIMIT 1"),
    ),
    (
        "archived",
        With::Nothing,
        sql!(
            "SELECT 1 FROM sessions WHERE [tenant = $1 AND] id = ?1 \
             AND (archived_at IS NOT NULL OR quarantined IS NOT NULL)"
        ),
    ),
    (
        "fork",
        With::Nothing,
        sql!(
            "SELECT 1 FROM sessions WHERE [tenant = $1 AND] parent = ?1 UNION ALL SELECT 1 FROM contexts c, contexts o \
             WHERE [c.tenant = $1 AND o.tenant = $1 AND] c.session = ?1 AND o.parent = c.key LIMIT 1"
        ),
    ),
    (
        "route",
        With::Nothing,
        sql!(
            "SELECT 1 FROM contexts c, routes r WHERE [c.tenant = $1 AND r.tenant = $1 AND] c.session = ?1 \
             AND r.key = c.route AND r.current = c.key LIMIT 1"
        ),
    ),
    (
        "open",
        With::Nothing,
        sql!(
            "SELECT 1 FROM open_turns WHERE [tenant = $1 AND] session = ?1 \
             UNION ALL SELECT 1 FROM sessions WHERE [tenant = $1 AND] id = ?1 AND head > sealed LIMIT 1"
        ),
    ),
    (
        "transcript",
        With::Nothing,
        sql!(
            "SELECT 1 FROM transcripts WHERE [tenant = $1 AND] session = ?1 AND wanted[| = 1] LIMIT 1"
        ),
    ),
    (
        "pipeline",
        With::Nothing,
        sql!("SELECT 1 FROM pipeline_events WHERE [tenant = $1 AND] session = ?1 LIMIT 1"),
    ),
    (
        "projection",
        With::Nothing,
        sql!(
            "[SELECT 1 FROM projections p JOIN deliveries v ON v.tenant = $1 AND v.projection = p.name AND v.session = ?1 \
             WHERE p.tenant = $1 AND v.due > v.taken \
             UNION ALL SELECT 1 FROM destinations p JOIN documents v ON v.tenant = $1 AND v.projection = p.projection \
             AND v.kind = 'session' AND v.document = replace(?1::uuid::text, '-', '') WHERE p.tenant = $1 AND v.due > v.sent\
             |SELECT 1 FROM deliveries WHERE projection IN (SELECT name FROM projections) AND session = ?1 AND due > taken \
             UNION ALL SELECT 1 FROM documents WHERE projection IN (SELECT projection FROM destinations) \
             AND kind = 'session' AND document = lower(hex(?1)) AND due > sent] \
             UNION ALL SELECT 1 FROM statements s, destinations d WHERE [s.tenant = $1 AND d.tenant = $1 AND] \
             s.session = ?1 AND s.sequence > d.stated LIMIT 1"
        ),
    ),
    (
        "telemetry",
        With::Nothing,
        sql!(
            "SELECT 1 FROM forwards WHERE [tenant = $1 AND] session = ?1 \
             UNION ALL SELECT 1 FROM telemetry_inbox WHERE [tenant = $1 AND] session = ?1 LIMIT 1"
        ),
    ),
];

const OF_SESSION: Sql<'_> = sql!("[tenant = $1 AND] session = ?1");
const OF_CONTEXTS: Sql<'_> = sql!(
    "[tenant = $1 AND] context IN (SELECT key FROM contexts WHERE [tenant = $1 AND] session = ?1)"
);

/// What goes with a session: tables, each with a condition on its rows, in an order that leaves nothing behind that belongs to nothing.
const STRIPPED: &[(&str, Sql<'_>)] = &[
    ("context_turns", OF_CONTEXTS),
    ("context_gaps", OF_CONTEXTS),
    ("context_runs", OF_CONTEXTS),
    ("contexts", OF_SESSION),
    ("runs", OF_SESSION),
    ("interactions", OF_SESSION),
    ("active_runs", OF_SESSION),
    ("run_events", OF_SESSION),
    (
        "segments",
        sql!(
            "[tenant = $1 AND] stream IN (SELECT stream FROM transcripts WHERE [tenant = $1 AND] session = ?1)"
        ),
    ),
    (
        "documents",
        sql!(
            "[tenant = $1 AND] projection IN (SELECT projection FROM destinations [WHERE tenant = $1]) \
             AND kind = 'session' AND document = [replace(?1::uuid::text, '-', '')|lower(hex(?1))]"
        ),
    ),
    ("transcripts", OF_SESSION),
    ("summaries", OF_SESSION),
    ("usages", OF_SESSION),
    ("usage_quarters", OF_SESSION),
    ("erasures", OF_SESSION),
    ("running_calls", OF_SESSION),
    ("receipts", OF_SESSION),
    ("pending", OF_SESSION),
    ("leases", OF_SESSION),
    ("processes", OF_SESSION),
    ("aliases", OF_SESSION),
    ("replica_aliases", OF_SESSION),
    ("tokens", OF_SESSION),
    ("turns", OF_SESSION),
    ("observations", OF_SESSION),
    (
        "deliveries",
        sql!(
            "[tenant = $1 AND] projection IN (SELECT name FROM projections [WHERE tenant = $1]) AND session = ?1"
        ),
    ),
    ("links", OF_SESSION),
    ("session_links", OF_SESSION),
    ("verified", OF_SESSION),
    ("statements", OF_SESSION),
    ("pipeline_sessions", OF_SESSION),
    ("session_repositories", OF_SESSION),
    ("traced_sessions", OF_SESSION),
    ("unassigned", OF_SESSION),
];

/// What a store does of this in its own way.
pub(crate) trait OwnPins: Database {
    /// What pins a session in this store alone.
    fn other_pin(&mut self, _: SessionId) -> Result<Option<&'static str>> {
        Ok(None)
    }

    /// Deletes what has a session in this store alone.
    fn strip_further(&mut self, _: SessionId) -> Result<()> {
        Ok(())
    }
}

/// Deletes a session that nothing pins, or tells what does.
pub(super) fn remove_session(
    db: &mut impl OwnPins,
    session: SessionId,
    by: &str,
) -> Result<Option<String>> {
    let id = Col(session);
    // Whoever writes to it holds its row, and waits until it is gone, or comes before.
    let known = sql!("SELECT 1 FROM sessions WHERE [tenant = $1 AND] id = ?1 [FOR UPDATE]");
    if !db.exists(known, &[&id])? {
        return Ok(Some("unknown".to_owned()));
    }
    let home = Col(db.ledger());
    for (word, with, sql) in PINS {
        let of: &[Value<'_>] = match with {
            With::Nothing => &[&id],
            With::By => &[&id, &by],
            With::Home => &[&id, &home],
        };
        if db.exists(*sql, of)? {
            return Ok(Some((*word).to_owned()));
        }
    }
    if let Some(word) = db.other_pin(session)? {
        return Ok(Some(word.to_owned()));
    }
    db.erase_securely()?;
    change_usages(db, session, |db| {
        for (table, rows) in STRIPPED {
            db.delete(table, *rows, &[&id])?;
        }
        db.strip_further(session)?;
        let session = sql!("[tenant = $1 AND] id = ?1");
        db.delete("sessions", session, &[&id]).map(drop)
    })?;
    Ok(None)
}
