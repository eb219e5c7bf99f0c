//! What is in the scope of a projection, as conditions. They say what [`siglum_domain::scope::Scope::has_session`] says.

/// The digits of an id.
macro_rules! digits {
    ($id:literal) => {
        concat!("[replace(", $id, "::text, '-', '')|lower(hex(", $id, "))]")
    };
}

/// Whether a repository, of which `hex` are the digits, is in the scope of the projection `sp`.
macro_rules! repository_in {
    ($hex:expr) => {
        concat!(
            "'rep_' || ",
            $hex,
            " IN (SELECT [se.value FROM json_array_elements_text(sp.scope::json -> 'repositories') se\
             |value FROM json_each(sp.scope, '$.repositories')])"
        )
    };
}

/// Whether a session is in the scope of the projection `sp`.
macro_rules! session_in {
    ($session:expr) => {
        concat!(
            "EXISTS (SELECT 1 FROM sessions ss WHERE [ss.tenant = $1 AND] ss.id = ",
            $session,
            " AND ss.created_at >= coalesce([(sp.scope::json ->> 'since')::bigint|sp.scope ->> '$.since'], ss.created_at) \
             AND NOT EXISTS (SELECT 1 FROM commits sx WHERE [sx.tenant = $1 AND] sx.session = ss.id AND NOT (",
            repository_in!(digits!("sx.repository")),
            ")) AND CASE WHEN EXISTS (SELECT 1 FROM session_repositories sr WHERE [sr.tenant = $1 AND] sr.session = ss.id \
             AND sr.works) THEN NOT EXISTS (SELECT 1 FROM session_repositories sr WHERE [sr.tenant = $1 AND] \
             sr.session = ss.id AND sr.works AND NOT (",
            repository_in!(digits!("sr.repository")),
            ")) ELSE [coalesce((sp.scope::json ->> 'no_repository')::boolean, false)|sp.scope ->> '$.no_repository'] END)"
        )
    };
}

/// Whether something is in the scope of a projection.
macro_rules! in_scope {
    ($name:literal, $is_inside:expr) => {
        concat!(
            "EXISTS (SELECT 1 FROM projections sp WHERE [sp.tenant = $1 AND] sp.name = ",
            $name,
            " AND sp.scope IS NOT NULL \
             AND ([coalesce((sp.scope::json ->> 'everything')::boolean, false)|sp.scope ->> '$.everything'] OR ",
            $is_inside,
            "))"
        )
    };
}

/// Whether a session is in the scope of a projection.
macro_rules! session_in_scope {
    ($name:literal, $session:literal) => {
        in_scope!($name, session_in!($session))
    };
}

/// Whether the row of `deliveries` that is looked at is in the scope of its projection.
pub(crate) const DELIVERY_IN_SCOPE: &str =
    session_in_scope!("deliveries.projection", "deliveries.session");

/// The same of a row that is called `d`.
pub(super) const D_IN_SCOPE: &str = session_in_scope!("d.projection", "d.session");

/// Whether the row of `forwards` that is called `w` is in the scope of its destination.
pub(super) const FORWARD_IN_SCOPE: &str = session_in_scope!("w.destination", "w.session");

/// Whether the session `?2` is in the scope of the projection `?1`.
pub(super) const IN_SCOPE: &str = session_in_scope!("?1[::text]", "?2[::uuid]");

/// The id in a row of `documents`.
macro_rules! document_id {
    () => {
        "[documents.document::uuid|unhex(documents.document)]"
    };
}

/// The digits of the repository of a commit in a row of `documents`.
macro_rules! commits_repository {
    () => {
        "substr(documents.document, 1, 32)"
    };
}

/// Whether the row of `documents` that is looked at is in the scope of its projection. What a destination has and what
/// is forgotten since then is told in any case, so that it goes there, too.
pub(super) const DOCUMENT_IN_SCOPE: &str = in_scope!(
    "documents.projection",
    concat!(
        "CASE documents.kind WHEN 'repository' THEN ",
        repository_in!("documents.document"),
        " WHEN 'session' THEN (",
        session_in!(document_id!()),
        " OR documents.sent > 0 AND EXISTS (SELECT 1 FROM sessions sf WHERE [sf.tenant = $1 AND] sf.id = ",
        document_id!(),
        " AND sf.forgotten_at IS NOT NULL)) WHEN 'commit' THEN (",
        repository_in!(commits_repository!()),
        " AND NOT EXISTS (SELECT 1 FROM commits sc WHERE [sc.tenant = $1 AND] sc.repository = [",
        commits_repository!(),
        "::uuid|unhex(",
        commits_repository!(),
        ")] AND sc.\"commit\" = substr(documents.document, 34) AND sc.session IS NOT NULL AND NOT ",
        session_in!("sc.session"),
        ")) WHEN 'checkpoint' THEN CASE WHEN EXISTS (SELECT 1 FROM checkpoints sk WHERE [sk.tenant = $1 AND] sk.id = ",
        document_id!(),
        ") THEN EXISTS (SELECT 1 FROM checkpoints sk WHERE [sk.tenant = $1 AND] sk.id = ",
        document_id!(),
        " AND (sk.repository IS NULL OR ",
        repository_in!(digits!("sk.repository")),
        ") AND (EXISTS (SELECT 1 FROM pins sn WHERE [sn.tenant = $1 AND] sn.checkpoint = sk.id AND ",
        session_in!("sn.session"),
        ") OR sk.repository IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM pins sn WHERE [sn.tenant = $1 AND] sn.checkpoint = sk.id))) \
         ELSE documents.sent > 0 END [ELSE false] END"
    )
);
