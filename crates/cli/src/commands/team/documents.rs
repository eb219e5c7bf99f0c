//! Documents of the gateway's API, as far as they are shown. What another machine says is taken by its form, without secrets.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_domain::redact::Redactor;
use siglum_domain::{Timestamp, TurnId};
use siglum_engine::views::session::{LinkJson, SessionJson};

use crate::commands::link;
use crate::ui::Style;

/// Removes secrets from a text.
pub fn redact(text: &mut String) {
    if let Cow::Owned(clean) = Redactor::shared().redact_cow(text) {
        *text = clean;
    }
}

/// What is attached to a session, in a few words.
pub(super) fn link_words(session: &SessionJson) -> String {
    let links = session.links.iter().filter_map(LinkJson::to_link);
    link::words(&links.collect::<Vec<_>>())
}

/// Where a session stands, as far as a gateway knows: whether its process runs is seen on its own machine.
pub(super) const fn state(session: &SessionJson) -> (&'static str, Style) {
    match (&session.quarantined, session.archived_at, session.ended_at) {
        (Some(_), ..) => ("quarantined", Style::Warning),
        (None, Some(_), _) => ("archived", Style::Dim),
        (None, None, Some(_)) => ("ended", Style::Dim),
        (None, None, None) => ("open", Style::Added),
    }
}

/// A session in which all words stand.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SearchResult {
    pub(super) session: SessionJson,
    pub(super) hits: Vec<Hit>,
}

/// A text in which something stands that was searched for.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Hit {
    /// `prompt`, `answer`, `call`, `result`, `path`, `commit`, `link`, `name` or `directory`.
    pub(super) place: String,
    /// The part of it around the first place.
    pub(super) text: String,
    /// The number of the turn in the session.
    #[serde(default)]
    pub(super) turn: Option<u64>,
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub(super) at: Option<Timestamp>,
}

impl SearchResult {
    /// The same without secrets.
    pub(super) fn cleaned(mut self) -> Self {
        for hit in &mut self.hits {
            redact(&mut hit.place);
            redact(&mut hit.text);
        }
        Self {
            session: self.session.cleaned(),
            ..self
        }
    }
}

/// An entry of a session's log.
#[derive(Deserialize)]
pub(super) struct LogEntry {
    pub(super) sequence: u64,
    pub(super) turn: Option<TurnId>,
    source: Source,
    key: String,
    event: String,
    at: Timestamp,
    subagent: Option<String>,
    fact: Fact,
}

impl LogEntry {
    /// What was seen.
    pub(super) fn into_observation(self) -> Observation {
        Observation {
            source: self.source,
            key: self.key,
            event: self.event,
            at: self.at,
            turn: None,
            subagent: self.subagent,
            fact: self.fact,
        }
    }
}
