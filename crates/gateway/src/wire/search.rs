//! What a search finds.

use serde::Serialize;
use siglum_domain::search::PieceKind;
use siglum_engine::views::search::{Hit, IndexUse};
use siglum_engine::views::session::SessionJson;

#[cfg(test)]
use crate::shared_schemas::Session;

/// What the text of a hit is.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum SearchPlace {
    /// A prompt.
    Prompt,
    /// What the agent said.
    Answer,
    /// What a tool was called with.
    Call,
    /// What a tool returned.
    Result,
    /// The path of a file that a call named or changed.
    Path,
    /// A link.
    Link,
    /// The id or the subject of a commit.
    Commit,
    /// An id of the session, or the name of its agent.
    Name,
    /// The path of its working directory or checkout.
    Directory,
}

impl From<PieceKind> for SearchPlace {
    fn from(kind: PieceKind) -> Self {
        match kind {
            PieceKind::Prompt => Self::Prompt,
            PieceKind::Answer => Self::Answer,
            PieceKind::Call => Self::Call,
            PieceKind::Result => Self::Result,
            PieceKind::Path => Self::Path,
            PieceKind::Link => Self::Link,
            PieceKind::Commit => Self::Commit,
            PieceKind::Name => Self::Name,
            PieceKind::Directory => Self::Directory,
        }
    }
}

/// Where a term stands in a text: from and before which character.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SearchRange {
    /// The first character, from 0.
    start: usize,
    /// The character behind the last one.
    end: usize,
}

/// A text in which at least one of the terms stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SearchHit {
    place: SearchPlace,
    /// The part of the text around the first term.
    text: String,
    /// Where terms stand in `text`.
    ranges: Vec<SearchRange>,
    /// Number of the turn in the session, from 1; absent outside of all turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    /// Time of the text or the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(format = DateTime))]
    at: Option<String>,
}

impl From<&Hit> for SearchHit {
    fn from(hit: &Hit) -> Self {
        let ranges = hit.excerpt.ranges.iter();
        Self {
            place: hit.place.into(),
            text: hit.excerpt.text.clone(),
            ranges: ranges
                .map(|(start, end)| SearchRange {
                    start: *start,
                    end: *end,
                })
                .collect(),
            turn: hit.turn,
            at: hit.at.map(|at| at.to_string()),
        }
    }
}

/// How the search index was used.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SearchIndexUse {
    /// Whether it was used; else only prompts, links, commits, names and paths of the newest sessions were searched.
    used: bool,
    /// Sessions that it lacks in their newest state.
    behind: u64,
}

impl From<IndexUse> for SearchIndexUse {
    fn from(index: IndexUse) -> Self {
        Self {
            used: index.is_used,
            behind: index.waiting,
        }
    }
}

/// A session with a turn in which all terms stand.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SearchResult {
    /// The session.
    #[cfg_attr(test, schema(value_type = Session))]
    pub(crate) session: SessionJson,
    /// Where the terms stand, the best first.
    pub(crate) hits: Vec<SearchHit>,
}

/// A page of the sessions in which all terms stand.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SearchResultList {
    /// The sessions, the best first. Without an index, the newest first; then there may be none, although there is a next
    /// page.
    pub(crate) items: Vec<SearchResult>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    /// How the search index was used.
    pub(crate) index: SearchIndexUse,
}
