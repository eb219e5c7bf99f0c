//! What a search finds.

use serde::Serialize;
use siglum_engine::views::search::{Hit, Place};
use utoipa::ToSchema;

use super::Session;

/// Where a word stands.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SearchPlace {
    /// In a prompt.
    Prompt,
    /// In a link.
    Link,
    /// In the id or the subject of a commit.
    Commit,
    /// In an id of the session, or in the name of its agent.
    Name,
    /// In the path of its working directory or checkout.
    Directory,
}

impl From<Place> for SearchPlace {
    fn from(place: Place) -> Self {
        match place {
            Place::Prompt => Self::Prompt,
            Place::Link => Self::Link,
            Place::Commit => Self::Commit,
            Place::Name => Self::Name,
            Place::Directory => Self::Directory,
        }
    }
}

/// A text in which at least one of the words stands.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct SearchHit {
    place: SearchPlace,
    /// The part of the text around the first word.
    text: String,
    /// Time of the prompt or the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    at: Option<String>,
}

impl From<&Hit> for SearchHit {
    fn from(hit: &Hit) -> Self {
        Self {
            place: hit.place.into(),
            text: hit.text.clone(),
            at: hit.at.map(|at| at.to_string()),
        }
    }
}

/// A session in which all words stand.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct SearchResult {
    /// The session.
    pub(crate) session: Session,
    /// Where the words stand.
    pub(crate) hits: Vec<SearchHit>,
}

/// A page of the sessions in which all words stand.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct SearchResultList {
    /// The sessions, newest first; there may be none, although there is a next page.
    pub(crate) items: Vec<SearchResult>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}
