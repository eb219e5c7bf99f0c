//! What is in the scope of a projection, as conditions. They say what [`siglum_domain::scope::Scope::has_session`] says.

use siglum_domain::SessionId;

use super::columns::{Col, count, int, raw};
use super::tx::Tx;
use crate::{LedgerError, Reach};

type Result<T> = std::result::Result<T, LedgerError>;

/// The digits of an id.
fn hex(id: &str) -> String {
    format!("replace({id}::text, '-', '')")
}

/// Whether a repository, of which `hex` are the digits, is in the scope of the projection `sp`.
fn repository(hex: &str) -> String {
    format!(
        "'rep_' || {hex} IN (SELECT se.value FROM json_array_elements_text(sp.scope::json -> 'repositories') se)"
    )
}

/// Whether a session is in the scope of the projection `sp`.
fn session_of(session: &str) -> String {
    let is_outside = format!("NOT ({})", repository(&hex("sr.repository")));
    let commits_outside = format!("NOT ({})", repository(&hex("sx.repository")));
    format!(
        "EXISTS (SELECT 1 FROM sessions ss WHERE ss.tenant = $1 AND ss.id = {session} \
         AND ss.created_at >= coalesce((sp.scope::json ->> 'since')::bigint, ss.created_at) \
         AND NOT EXISTS (SELECT 1 FROM commits sx WHERE sx.tenant = $1 AND sx.session = ss.id AND {commits_outside}) \
         AND CASE WHEN EXISTS (SELECT 1 FROM session_repositories sr WHERE sr.tenant = $1 AND sr.session = ss.id AND sr.works) \
         THEN NOT EXISTS (SELECT 1 FROM session_repositories sr WHERE sr.tenant = $1 AND sr.session = ss.id AND sr.works AND {is_outside}) \
         ELSE coalesce((sp.scope::json ->> 'no_repository')::boolean, false) END)"
    )
}

fn of_projection(name: &str, is_inside: &str) -> String {
    format!(
        "EXISTS (SELECT 1 FROM projections sp WHERE sp.tenant = $1 AND sp.name = {name} AND sp.scope IS NOT NULL \
         AND (coalesce((sp.scope::json ->> 'everything')::boolean, false) OR {is_inside}))"
    )
}

/// Whether a session is in the scope of a projection.
pub(super) fn session(name: &str, session: &str) -> String {
    of_projection(name, &session_of(session))
}

/// Whether the row of `documents` that is looked at is in the scope of its projection. What a destination has and what
/// is forgotten since then is told in any case, so that it goes there, too.
pub(super) fn document() -> String {
    let id = "documents.document::uuid";
    let commits_repository = "substr(documents.document, 1, 32)";
    let is_session = format!(
        "({} OR documents.sent > 0 AND EXISTS (SELECT 1 FROM sessions sf WHERE sf.tenant = $1 AND sf.id = {id} AND sf.forgotten_at IS NOT NULL))",
        session_of(id)
    );
    let is_commit = format!(
        "({} AND NOT EXISTS (SELECT 1 FROM commits sc WHERE sc.tenant = $1 AND sc.repository = {commits_repository}::uuid \
         AND sc.\"commit\" = substr(documents.document, 34) AND sc.session IS NOT NULL AND NOT {}))",
        repository(commits_repository),
        session_of("sc.session")
    );
    let is_checkpoint = format!(
        "CASE WHEN EXISTS (SELECT 1 FROM checkpoints sk WHERE sk.tenant = $1 AND sk.id = {id}) \
         THEN EXISTS (SELECT 1 FROM checkpoints sk WHERE sk.tenant = $1 AND sk.id = {id} AND (sk.repository IS NULL OR {}) \
         AND (EXISTS (SELECT 1 FROM pins sn WHERE sn.tenant = $1 AND sn.checkpoint = sk.id AND {}) \
         OR sk.repository IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pins sn WHERE sn.tenant = $1 AND sn.checkpoint = sk.id))) \
         ELSE documents.sent > 0 END",
        repository(&hex("sk.repository")),
        session_of("sn.session")
    );
    let is_inside = format!(
        "CASE documents.kind WHEN 'repository' THEN {} WHEN 'session' THEN {is_session} \
         WHEN 'commit' THEN {is_commit} WHEN 'checkpoint' THEN {is_checkpoint} ELSE false END",
        repository("documents.document")
    );
    of_projection("documents.projection", &is_inside)
}

impl Tx<'_> {
    pub(super) fn session_in_scope(&mut self, name: &str, id: SessionId) -> Result<bool> {
        let sql = format!("SELECT {}", session("$2::text", "$3::uuid"));
        self.one(&sql, &[&name, &Col(id)], |row| raw(row, 0))
    }

    pub(super) fn reach_of(&mut self, name: &str) -> Result<Reach> {
        let sql = format!(
            "SELECT count(*) FILTER (WHERE is_in), count(*) FILTER (WHERE NOT is_in) \
             FROM (SELECT {} AS is_in FROM deliveries WHERE tenant = $1 AND projection = $2) found",
            session("deliveries.projection", "deliveries.session")
        );
        self.one(&sql, &[&name], |row| {
            Ok(Reach {
                sessions: count(row, 0)?,
                outside: count(row, 1)?,
            })
        })
    }

    /// A session works somewhere that was not known: what was stated of it may be in scope now, and is looked at again.
    pub(super) fn state_again(&mut self, session: SessionId) -> Result<()> {
        let first = "SELECT coalesce(min(sequence), 0) FROM statements WHERE tenant = $1 AND session = $2 AND ledger = $3";
        let of = [&Col(session) as _, &Col(self.ledger) as _];
        let first: u64 = self.one(first, &of, |row| count(row, 0))?;
        if first == 0 {
            return Ok(());
        }
        let sql = "UPDATE destinations SET stated = $2 WHERE tenant = $1 AND stated > $2";
        self.run(sql, &[&int(first - 1)]).map(drop)
    }
}
