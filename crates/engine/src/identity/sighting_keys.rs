//! How sightings around a call are named.

use siglum_domain::intake::Place;
use siglum_domain::observation::Side;
use siglum_ledger::stored_name;

/// The key of the sighting on the other side of a call.
#[must_use]
pub(crate) fn before_key(what: &str, event: &str) -> String {
    side_key(what, event, Side::Before)
}

/// The key of what was seen of a file on one side of a call, which may change several files. A path has no secrets there.
#[must_use]
pub fn file_key(event: &str, path: &str, side: Side) -> String {
    side_key("file", &format!("{event}:{}", stored_name(path)), side)
}

/// The path of a file as keys have it: one of another checkout than the session's is absolute.
#[must_use]
pub fn keyed_path(path: &str, place: Option<&Place>) -> String {
    match place {
        Some(place) => format!("{}/{path}", place.worktree),
        None => path.to_owned(),
    }
}

/// The key of what was seen of `what` (`file`, `head`) on one side of a call.
#[must_use]
pub fn side_key(what: &str, event: &str, side: Side) -> String {
    match side {
        Side::Before => format!("{what}-before:{event}"),
        Side::After => format!("{what}-after:{event}"),
    }
}
