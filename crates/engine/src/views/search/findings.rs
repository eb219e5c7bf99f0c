//! What is searched for, and what is found.

use siglum_domain::link::Link;
use siglum_domain::search::{Excerpt, PieceKind, SearchQuery, excerpt};
use siglum_domain::{RepositoryId, SessionId, Timestamp};
use siglum_ledger::SessionFilter;

use crate::views::overview::Listed;

/// How many digits of a commit's id are shown.
const SHORT: usize = 10;

/// What is searched for, and where.
#[derive(Debug, Clone)]
pub struct Query {
    pub query: SearchQuery,
    /// Of which sessions; times are those of turns. `limit` says how many are looked through where there is no index.
    pub sessions: SessionFilter,
    /// In which repositories commits are looked at; in all, if there are none.
    pub commits_in: Vec<RepositoryId>,
    /// How many sessions are found at most.
    pub most: usize,
    /// Only sessions behind this one, in the order in which they are found.
    pub after: Option<SessionId>,
}

/// A text in which something stands that is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// What the text is.
    pub place: PieceKind,
    /// The part of it around the first place, with all places in that.
    pub excerpt: Excerpt,
    /// The number of the turn in the session, from 1; absent outside of all turns, and where it is not known.
    pub turn: Option<u64>,
    /// When it was said, or made.
    pub at: Option<Timestamp>,
}

impl Hit {
    /// A link that is attached to the session.
    pub(super) fn of_link(link: &Link) -> Self {
        Self {
            place: PieceKind::Link,
            excerpt: excerpt(&link.to_string(), &[]),
            turn: None,
            at: None,
        }
    }
}

/// A session in which something was found.
#[derive(Debug, Clone)]
pub struct SearchResult {
    pub session: Listed,
    /// The best first.
    pub hits: Vec<Hit>,
}

/// How the index was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexUse {
    /// Whether it was asked; else the newest sessions were looked through.
    pub is_used: bool,
    /// Sessions that it lacks in their newest state.
    pub waiting: u64,
}

/// What was found: from the index the best first, else the newest.
#[derive(Debug, Clone)]
pub struct Findings {
    pub found: Vec<SearchResult>,
    /// How many sessions were looked at.
    pub looked_at: usize,
    /// What a search goes on behind, where there is more: the session that was looked at last.
    pub last: Option<SessionId>,
    /// Whether there are sessions that were not looked at.
    pub more: bool,
    pub index: IndexUse,
}

/// The excerpt of a text. Of a commit's id, its first digits are shown, as people read commits.
pub(super) fn shown(kind: PieceKind, text: &str, places: &[std::ops::Range<usize>]) -> Excerpt {
    let id = text.split(' ').next().unwrap_or_default();
    if kind != PieceKind::Commit || id.len() <= SHORT || !id.is_ascii() {
        return excerpt(text, places);
    }
    let line = format!("{}{}", &id[..SHORT], &text[id.len()..]);
    let cut = id.len() - SHORT;
    let moved = |at: usize| match at >= id.len() {
        true => at - cut,
        false => at.min(SHORT),
    };
    let places: Vec<_> = places
        .iter()
        .map(|place| moved(place.start)..moved(place.end))
        .filter(|place| !place.is_empty())
        .collect();
    excerpt(&line, &places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_shown_by_its_first_digits_and_its_subject() {
        let text = "0123456789abcdef0123456789abcdef01234567 Mend the parser";
        let shown = |wanted: &str| {
            let at = text.find(wanted).expect("because it is there");
            let place = at..at + wanted.len();
            let Excerpt { text, ranges } = shown(PieceKind::Commit, text, &[place]);
            (text, ranges)
        };
        let line = "0123456789 Mend the parser";
        assert_eq!(shown("parser"), (line.to_owned(), vec![(20, 26)]));
        assert_eq!(shown("abcdef"), (line.to_owned(), Vec::new()));
        assert_eq!(shown("89ab"), (line.to_owned(), vec![(8, 10)]));
    }
}
