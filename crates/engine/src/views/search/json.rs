//! What a search finds as it is sent: one form for the command line, for agents and for the API.

use serde::{Deserialize, Serialize};
use siglum_domain::search::PieceKind;
use siglum_domain::{SessionId, Timestamp};

use super::{Findings, Hit, IndexUse};
use crate::views::session::SessionJson;

#[cfg(feature = "schemas")]
words! {
    PlaceWords as "SearchPlace":
        "What a text is: a prompt, what the agent said, what a tool was called with or returned, the path of a file that a call named or changed, the id or subject of a commit, a link, an id of the session or the name of its agent, or the path of its working directory or checkout.",
        "prompt" | "answer" | "call" | "result" | "path" | "commit" | "link" | "name" | "directory";
}

/// Sessions in which all terms stand.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchListJson {
    /// The sessions, the best first. Without an index, the newest first; then there may be none, although there is a next
    /// page.
    pub items: Vec<SearchResultJson>,
    /// Whether there are more than were asked for, or looked through.
    pub more: bool,
    /// Pass it as `cursor` to get the next page of the API; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<SessionId>,
    /// How the search index was used.
    pub index: SearchIndexUse,
}

/// A session with a turn in which all terms stand.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchResultJson {
    pub session: SessionJson,
    /// Where the terms stand, the best first.
    pub hits: Vec<SearchHitJson>,
    /// The command of the agent that resumes the session; only from the machine that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// A text in which at least one of the terms stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchHitJson {
    #[cfg_attr(feature = "schemas", schemars(with = "PlaceWords"))]
    pub place: PieceKind,
    /// The part of the text around the first term.
    pub text: String,
    /// Where terms stand in `text`.
    pub ranges: Vec<SearchRange>,
    /// Number of the turn in the session, from 1; absent outside of all turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Time of the text or the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The command that shows the turn; only from the machine that has the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub show: Option<String>,
}

/// Where a term stands in a text: from and before which character.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchRange {
    /// The first character, from 0.
    pub start: usize,
    /// The character behind the last one.
    pub end: usize,
}

/// How the search index was used.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchIndexUse {
    /// Whether it was used; else only prompts, links, commits, names and paths of the newest sessions were searched.
    pub used: bool,
    /// Sessions that it lacks in their newest state.
    pub behind: u64,
}

impl SearchListJson {
    /// What is sent of findings. `sessions` are those that were found, in their order.
    #[must_use]
    pub fn new(findings: &Findings, sessions: Vec<SessionJson>) -> Self {
        let items = findings.found.iter().zip(sessions);
        let items = items.map(|(found, session)| SearchResultJson {
            session,
            hits: found.hits.iter().map(SearchHitJson::from).collect(),
            resume: None,
        });
        Self {
            items: items.collect(),
            more: findings.more,
            next: findings.last.filter(|_| findings.more),
            index: findings.index.into(),
        }
    }
}

impl From<&Hit> for SearchHitJson {
    fn from(hit: &Hit) -> Self {
        let ranges = hit.excerpt.ranges.iter();
        Self {
            place: hit.place,
            text: hit.excerpt.text.clone(),
            ranges: ranges
                .map(|(start, end)| SearchRange {
                    start: *start,
                    end: *end,
                })
                .collect(),
            turn: hit.turn,
            at: hit.at,
            show: None,
        }
    }
}

impl From<IndexUse> for SearchIndexUse {
    fn from(index: IndexUse) -> Self {
        Self {
            used: index.is_used,
            behind: index.waiting,
        }
    }
}
