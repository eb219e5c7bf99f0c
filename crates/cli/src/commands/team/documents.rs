//! Documents of the gateway's API, as far as they are shown. What another machine says is taken by its form, without secrets.

use std::borrow::Cow;

use serde::Deserialize;
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
pub fn link_words(session: &SessionJson) -> String {
    let links = session.links.iter().filter_map(LinkJson::to_link);
    link::words(&links.collect::<Vec<_>>())
}

/// Where a session stands, as far as a gateway knows: whether its process runs is seen on its own machine.
pub const fn state(session: &SessionJson) -> (&'static str, Style) {
    match (&session.quarantined, session.archived_at, session.ended_at) {
        (Some(_), ..) => ("quarantined", Style::Warning),
        (None, Some(_), _) => ("archived", Style::Dim),
        (None, None, Some(_)) => ("ended", Style::Dim),
        (None, None, None) => ("open", Style::Added),
    }
}

/// An entry of a session's log.
#[derive(Deserialize)]
pub struct LogEntry {
    pub sequence: u64,
    pub turn: Option<TurnId>,
    source: Source,
    key: String,
    event: String,
    at: Timestamp,
    subagent: Option<String>,
    fact: Fact,
}

impl LogEntry {
    /// What was seen.
    pub fn into_observation(self) -> Observation {
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
