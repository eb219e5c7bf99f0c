//! What is in the scope of a projection, as conditions. They say what [`siglum_domain::scope::Scope::has_session`] says.

use rusqlite::{OptionalExtension, Row};
use siglum_domain::SessionId;

use super::columns::{Col, count, int};
use super::open::Tx;
use crate::{LedgerError, Reach};

type Result<T> = std::result::Result<T, LedgerError>;

/// Whether a repository, of which `hex` are the digits, is in the scope of the projection `sp`.
fn repository(hex: &str) -> String {
    format!("'rep_' || {hex} IN (SELECT value FROM json_each(sp.scope, '$.repositories'))")
}

/// Whether a session is in the scope of the projection `sp`.
fn session_of(session: &str) -> String {
    let is_outside = format!("NOT ({})", repository("lower(hex(sr.repository))"));
    let commits_outside = format!("NOT ({})", repository("lower(hex(sx.repository))"));
    format!(
        "EXISTS (SELECT 1 FROM sessions ss WHERE ss.id = {session} \
         AND ss.created_at >= coalesce(sp.scope ->> '$.since', ss.created_at) \
         AND NOT EXISTS (SELECT 1 FROM commits sx WHERE sx.session = ss.id AND {commits_outside}) \
         AND CASE WHEN EXISTS (SELECT 1 FROM session_repositories sr WHERE sr.session = ss.id AND sr.works) \
         THEN NOT EXISTS (SELECT 1 FROM session_repositories sr WHERE sr.session = ss.id AND sr.works AND {is_outside}) \
         ELSE sp.scope ->> '$.no_repository' END)"
    )
}

fn of_projection(name: &str, is_inside: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM projections sp WHERE sp.name = {name} AND sp.scope IS NOT NULL \
         AND (sp.scope ->> '$.everything' OR {is_inside}))"
    )
}

/// Whether a session is in the scope of a projection.
pub(super) fn session(name: &str, session: &str) -> String {
    of_projection(name, &session_of(session))
}

/// Whether the row of `documents` that is looked at is in the scope of its projection. What a destination has and what
/// is forgotten since then is told in any case, so that it goes there, too.
pub(super) fn document() -> String {
    let id = "unhex(documents.document)";
    let commits_repository = "substr(documents.document, 1, 32)";
    let is_session = format!(
        "({} OR documents.sent > 0 AND EXISTS (SELECT 1 FROM sessions sf WHERE sf.id = {id} AND sf.forgotten_at IS NOT NULL))",
        session_of(id)
    );
    let is_commit = format!(
        "({} AND NOT EXISTS (SELECT 1 FROM commits sc WHERE sc.repository = unhex({commits_repository}) \
         AND sc.\"commit\" = substr(documents.document, 34) AND sc.session IS NOT NULL AND NOT {}))",
        repository(commits_repository),
        session_of("sc.session")
    );
    let is_checkpoint = format!(
        "CASE WHEN EXISTS (SELECT 1 FROM checkpoints sk WHERE sk.id = {id}) \
         THEN EXISTS (SELECT 1 FROM checkpoints sk WHERE sk.id = {id} AND (sk.repository IS NULL OR {}) \
         AND (EXISTS (SELECT 1 FROM pins sn WHERE sn.checkpoint = sk.id AND {}) \
         OR sk.repository IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pins sn WHERE sn.checkpoint = sk.id))) \
         ELSE documents.sent > 0 END",
        repository("lower(hex(sk.repository))"),
        session_of("sn.session")
    );
    let is_inside = format!(
        "CASE documents.kind WHEN 'repository' THEN {} WHEN 'session' THEN {is_session} \
         WHEN 'commit' THEN {is_commit} WHEN 'checkpoint' THEN {is_checkpoint} END",
        repository("documents.document")
    );
    of_projection("documents.projection", &is_inside)
}

impl Tx<'_> {
    pub(super) fn session_in_scope(&mut self, name: &str, id: SessionId) -> Result<bool> {
        let sql = format!("SELECT {}", session("?1", "?2"));
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row((name, Col(id)), |row| row.get(0))?)
    }

    pub(super) fn reach_of(&mut self, name: &str) -> Result<Reach> {
        let sql = format!(
            "SELECT count(*) FILTER (WHERE {is_in}), count(*) FILTER (WHERE NOT {is_in}) FROM deliveries WHERE projection = ?1",
            is_in = session("deliveries.projection", "deliveries.session")
        );
        let reach = |row: &Row<'_>| {
            Ok(Reach {
                sessions: count(row, 0)?,
                outside: count(row, 1)?,
            })
        };
        Ok(self.db.prepare_cached(&sql)?.query_row([name], reach)?)
    }

    /// A session works somewhere that was not known: what was stated of it may be in scope now, and is looked at again.
    pub(super) fn state_again(&mut self, session: SessionId) -> Result<()> {
        let first = "SELECT min(sequence) FROM statements WHERE session = ?1 AND ledger = ?2";
        let mut query = self.db.prepare_cached(first)?;
        let first: Option<i64> = query
            .query_row((Col(session), Col(self.ledger)), |row| row.get(0))
            .optional()?
            .flatten();
        let Some(first) = first.and_then(|n| u64::try_from(n).ok()) else {
            return Ok(());
        };
        let sql = "UPDATE destinations SET stated = ?1 WHERE stated > ?1";
        let before = int(first.saturating_sub(1));
        self.db.prepare_cached(sql)?.execute([before])?;
        Ok(())
    }
}
