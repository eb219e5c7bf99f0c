//! What people type of an id, as an index can look for it, and lists of some repositories.

use std::collections::BTreeSet;

use siglum_domain::id::{SHORT_DIGITS, is_tail};
use siglum_domain::{RepositoryId, SessionId, Timestamp};

use crate::record::{CheckpointRecord, CommitRecord, SessionFilter, SessionListing};
use crate::{CheckpointFilter, CommitFilter, LedgerError};

/// The rows whose id ends with `?1`, by its [`short_forms`], which are `?2`.
pub(crate) const BY_TAIL: &str = "[right(replace(id::text, '-', ''), 8) = ANY(?2) \
     AND strpos(right(replace(id::text, '-', ''), greatest(8, length(?1))), ?1) > 0\
     |lower(substr(hex(id), -8)) IN (SELECT value FROM json_each(?2)) \
     AND instr(lower(substr(hex(id), -max(8, length(?1)))), ?1) > 0]";

/// An hour, in nanoseconds. So exactly the sessions of a repository are in the order of their last activity: a row for each
/// turn of theirs would have to be moved otherwise.
pub(crate) const HOUR: i64 = 3_600_000_000_000;

/// The hour of a time, as stores number them.
pub(crate) const fn hour_of(at: Timestamp) -> i64 {
    at.nanos() / HOUR
}

/// How many times more sessions are looked at where some had too few that are meant.
const WIDER: usize = 16;

/// Which sessions of some repositories are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Those that were active last in these hours, or between them.
    pub(crate) hours: (i64, i64),
    /// Those from this one on, by id.
    pub(crate) from: Option<SessionId>,
}

impl Window {
    /// All that a filter may mean.
    pub(crate) fn of_filter(filter: &SessionFilter) -> Self {
        Self {
            hours: (
                filter.since.map_or(i64::MIN, hour_of),
                filter.until.map_or(i64::MAX, hour_of),
            ),
            from: None,
        }
    }
}

/// Whether a filter picks few sessions, wherever they work.
pub(crate) fn picks_few(filter: &SessionFilter) -> bool {
    filter.id.is_some()
        || filter.conversation.is_some()
        || filter.parent.is_some()
        || (filter.open && filter.seen)
        || !filter.links.is_empty()
}

/// A page of the sessions of some repositories. `narrow` gives the window that has so many sessions, the first ones in the
/// order of the page, or nothing where all have no more; `list` gives the page of a window. A window is made wider until
/// its page is full: other conditions may leave few of its sessions.
pub(crate) fn page_of_repositories<S>(
    store: &mut S,
    filter: &SessionFilter,
    narrow: impl Fn(&mut S, usize) -> Result<Option<Window>, LedgerError>,
    list: impl Fn(&mut S, Window) -> Result<Vec<SessionListing>, LedgerError>,
) -> Result<Vec<SessionListing>, LedgerError> {
    let mut sessions = filter.limit;
    while sessions > 0 {
        let Some(window) = narrow(store, sessions)? else {
            break;
        };
        let page = list(store, window)?;
        if page.len() == filter.limit {
            return Ok(page);
        }
        sessions = sessions.saturating_mul(WIDER);
    }
    list(store, Window::of_filter(filter))
}

/// The commits of several repositories, each asked for by itself; nothing where a filter is better asked as a whole.
pub(crate) fn commits_of_each(
    filter: &CommitFilter,
    mut ask: impl FnMut(&CommitFilter) -> Result<Vec<CommitRecord>, LedgerError>,
) -> Option<Result<Vec<CommitRecord>, LedgerError>> {
    if filter.repositories.len() < 2 || filter.prefix.is_some() {
        return None;
    }
    let of_one = |repository| {
        ask(&CommitFilter {
            repositories: vec![repository],
            ..filter.clone()
        })
    };
    let key = |c: &CommitRecord| (c.at, c.commit.clone(), c.repository);
    Some(greatest_of_each(
        &filter.repositories,
        filter.limit,
        of_one,
        key,
    ))
}

/// The same for checkpoints. Those of one session are few, and are found by it.
pub(crate) fn checkpoints_of_each(
    filter: &CheckpointFilter,
    mut ask: impl FnMut(&CheckpointFilter) -> Result<Vec<CheckpointRecord>, LedgerError>,
) -> Option<Result<Vec<CheckpointRecord>, LedgerError>> {
    let is_pinned = filter.session.is_some() || !filter.links.is_empty();
    if filter.repositories.len() < 2 || is_pinned {
        return None;
    }
    let of_one = |repository| {
        ask(&CheckpointFilter {
            repositories: vec![repository],
            ..filter.clone()
        })
    };
    let key = |k: &CheckpointRecord| (k.at, k.id);
    Some(greatest_of_each(
        &filter.repositories,
        filter.limit,
        of_one,
        key,
    ))
}

/// The greatest of what several repositories have, `limit` of them or all with 0: each is asked by itself, since an index
/// has the rows of one repository in order, and those of several in none.
fn greatest_of_each<T, K: Ord>(
    repositories: &[RepositoryId],
    limit: usize,
    mut ask: impl FnMut(RepositoryId) -> Result<Vec<T>, LedgerError>,
    key: impl Fn(&T) -> K,
) -> Result<Vec<T>, LedgerError> {
    let each: BTreeSet<RepositoryId> = repositories.iter().copied().collect();
    let mut all = Vec::new();
    for repository in each {
        all.extend(ask(repository)?);
    }
    all.sort_by_cached_key(|row| std::cmp::Reverse(key(row)));
    if limit > 0 {
        all.truncate(limit);
    }
    Ok(all)
}

/// The last eight digits of every id that has `tail` within them, or ends in a longer one. None for what is no tail.
pub(crate) fn short_forms(tail: &str) -> Vec<String> {
    if !is_tail(tail) {
        return Vec::new();
    }
    if tail.len() >= SHORT_DIGITS {
        return vec![tail[tail.len() - SHORT_DIGITS..].to_owned()];
    }
    // One or two digits are missing, before it or behind it.
    let missing = SHORT_DIGITS - tail.len();
    let digits = (0..1_u32 << (4 * missing)).map(|n| format!("{n:0missing$x}"));
    let around = |digits: String| {
        (0..=missing).map(move |at| format!("{}{tail}{}", &digits[..at], &digits[at..]))
    };
    digits.flat_map(around).collect()
}

/// What comes behind all native ids that begin with `start`: no text of theirs has this character.
pub(crate) fn behind_start(start: &str) -> String {
    format!("{start}{}", char::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_has_every_end_that_holds_it() {
        assert_eq!(short_forms("abcde"), [""; 0]);
        assert_eq!(short_forms("notdigit"), [""; 0]);
        assert_eq!(short_forms("1234abcd"), ["1234abcd"]);
        assert_eq!(short_forms("99991234abcd"), ["1234abcd"]);
        let seven = short_forms("234abcd");
        assert_eq!(seven.len(), 32);
        assert!(seven.contains(&"1234abcd".to_owned()));
        assert!(seven.contains(&"234abcd0".to_owned()));
        let six = short_forms("34abcd");
        assert_eq!(six.len(), 3 * 256);
        for end in ["1234abcd", "034abcdf", "34abcd00"] {
            assert!(six.contains(&end.to_owned()), "{end}");
        }
        assert!(
            six.iter()
                .all(|end| end.len() == 8 && end.contains("34abcd"))
        );
    }

    #[test]
    fn lists_of_several_repositories_are_in_one_order() {
        let id = |n: u128| RepositoryId::from_uuid(uuid::Uuid::from_u128(n));
        let of = |repository: RepositoryId| match repository == id(1) {
            true => Ok(vec![9, 5, 1]),
            false => Ok(vec![8, 6]),
        };
        let listed = |limit| greatest_of_each(&[id(2), id(1), id(2)], limit, of, |n| *n).unwrap();
        assert_eq!(listed(3), [9, 8, 6]);
        assert_eq!(listed(0), [9, 8, 6, 5, 1]);
    }

    #[test]
    fn what_begins_so_comes_before_the_end_of_it() {
        let behind = behind_start("5d0c");
        for native in ["5d0c", "5d0c-1", "5d0cé", "5d0c\u{fffd}x"] {
            assert!(native < behind.as_str(), "{native}");
        }
        assert!("5d0d" > behind.as_str());
    }
}
