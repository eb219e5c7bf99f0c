//! Documents of the gateway's API, as far as they are shown. What another machine says is taken by its form, without secrets.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, LedgerId, SessionId, Timestamp, TurnId};

use crate::commands::link;
use crate::ui::{Cell, Style};

/// Removes secrets from a text.
pub fn redact(text: &mut String) {
    if let Cow::Owned(clean) = Redactor::shared().redact_cow(text) {
        *text = clean;
    }
}

/// A session.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Session {
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) id: SessionId,
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) agent: AgentName,
    pub(super) conversation_id: String,
    /// The ledger that alone extends it.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) home: LedgerId,
    pub(super) title: Option<String>,
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) created_at: Timestamp,
    /// When anything was last heard of it.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) last_at: Timestamp,
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub(super) ended_at: Option<Timestamp>,
    /// How it ended, in words.
    pub(super) end: Option<String>,
    /// From then on nothing is written to it.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub(super) archived_at: Option<Timestamp>,
    /// Why it can be read and not written to: what is stored of it is damaged.
    pub(super) quarantined: Option<String>,
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub(super) parent: Option<SessionId>,
    pub(super) cwd: Option<String>,
    /// The repositories that it works in, its own first.
    pub(super) repositories: Vec<String>,
    /// Where its own repository is fetched from, as `host/owner/name`.
    pub(super) repository_remote: Option<String>,
    /// What is attached to it now.
    pub(super) links: Vec<link::Fact>,
    /// The last entry of its log.
    pub(super) head: u64,
    pub(super) turns: u64,
    pub(super) commits: u64,
    pub(super) tokens: Tokens,
}

impl Session {
    /// The same without secrets, and without links that this program does not know.
    pub(super) fn cleaned(mut self) -> Self {
        self.links.retain(|fact| fact.to_link().is_some());
        redact(&mut self.conversation_id);
        self.repositories.iter_mut().for_each(redact);
        let texts = [
            &mut self.title,
            &mut self.end,
            &mut self.quarantined,
            &mut self.cwd,
            &mut self.repository_remote,
        ];
        texts.into_iter().flatten().for_each(redact);
        self
    }

    /// What is attached to it, in a few words.
    pub(super) fn link_words(&self) -> String {
        let links: Vec<_> = self.links.iter().filter_map(link::Fact::to_link).collect();
        link::words(&links)
    }

    /// Where it stands, as far as a gateway knows: whether its process runs is seen on its own machine.
    pub(super) const fn state(&self) -> (&'static str, Style) {
        match (&self.quarantined, self.archived_at, self.ended_at) {
            (Some(_), ..) => ("quarantined", Style::Warning),
            (None, Some(_), _) => ("archived", Style::Dim),
            (None, None, Some(_)) => ("ended", Style::Dim),
            (None, None, None) => ("open", Style::Added),
        }
    }

    /// Its title, as a table shows it.
    pub(super) fn title_cell(&self) -> Cell {
        match &self.title {
            Some(title) => Cell::plain(title),
            None => Cell::styled(Style::Dim, "(no prompt)"),
        }
    }
}

/// Tokens.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// A session in which all words stand.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SearchResult {
    pub(super) session: Session,
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
