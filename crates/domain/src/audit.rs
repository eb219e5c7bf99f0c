//! The audit: who did what, or was refused what, one entry after the other, each chained to the one before.
//!
//! What an entry says of itself is digested as it stands; its body by a salted digest, so that a body could be
//! erased and the chain still verify. Whoever has the entries of a run and the id of the ledger can verify them:
//! `docs/audit.md` says how.

mod action;
mod verify;
pub mod wire;

use crate::digest::Hasher;
use crate::receipt::payload_digest;
use crate::{LedgerId, Redacted, SessionId, Timestamp};

pub use self::action::Action;
pub use self::verify::{Flaw, Verifying, Wrong};
pub use crate::receipt::GENESIS;

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// It was refused, and nothing was done.
    Refused {
        reason: String,
        /// Because of which field of the request.
        field: Option<String>,
    },
}

impl Outcome {
    /// Its word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused { .. } => "refused",
        }
    }

    /// Why it was refused, and because of which field.
    #[must_use]
    pub fn refusal(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Done => (None, None),
            Self::Refused { reason, field } => (Some(reason), field.as_deref()),
        }
    }

    /// The outcome that has a word, a reason and a field.
    #[must_use]
    pub fn parse(word: &str, reason: Option<String>, field: Option<String>) -> Option<Self> {
        match (word, reason) {
            ("done", None) if field.is_none() => Some(Self::Done),
            ("refused", Some(reason)) => Some(Self::Refused { reason, field }),
            _ => None,
        }
    }
}

/// What an entry says, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub at: Timestamp,
    /// Who: a person's name, `token tok_… name`, `launcher`, `siglum`.
    pub actor: String,
    pub action: Action,
    pub outcome: Outcome,
    pub session: Option<SessionId>,
    pub pipeline: Option<String>,
}

/// The details of an entry, in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// What its digest is salted with.
    pub salt: [u8; 32],
    /// The text as it was digested.
    pub text: Redacted,
}

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number, from 1, without holes.
    pub number: u64,
    pub header: Header,
    /// Its details, unless they were erased.
    pub body: Option<Body>,
    /// The salted digest of its body, in hex.
    pub body_digest: String,
    /// The digest of the entry before, or [`GENESIS`].
    pub previous: String,
    /// The digest of this one, in hex.
    pub digest: String,
}

impl Entry {
    /// Chains an entry to the one before.
    #[must_use]
    pub fn seal(
        ledger: LedgerId,
        (number, previous): (u64, &str),
        header: Header,
        body: Body,
    ) -> Self {
        let mut entry = Self {
            number,
            header: header.plain(),
            body_digest: body.digest(),
            body: Some(body),
            previous: previous.to_owned(),
            digest: String::new(),
        };
        entry.digest = entry.expected(ledger);
        entry
    }

    /// The digest that an entry of this ledger must have.
    fn expected(&self, ledger: LedgerId) -> String {
        let Header {
            at,
            actor,
            action,
            outcome,
            session,
            pipeline,
        } = &self.header;
        let (reason, field) = outcome.refusal();
        let mut hasher = Hasher::new();
        for text in [
            "siglum audit 1",
            &ledger.to_string(),
            &self.number.to_string(),
            &self.previous,
            &at.to_string(),
            actor,
            action.as_str(),
            outcome.as_str(),
            reason.unwrap_or_default(),
            field.unwrap_or_default(),
            &session.map(|s| s.to_string()).unwrap_or_default(),
            pipeline.as_deref().unwrap_or_default(),
            &self.body_digest,
        ] {
            hasher.field(text.as_bytes());
        }
        hasher.hex()
    }
}

impl Body {
    fn digest(&self) -> String {
        payload_digest(&self.salt, self.text.as_str().as_bytes())
    }
}

impl Header {
    /// Every store holds texts without control characters alike, and an empty text is none.
    fn plain(self) -> Self {
        let line = |text: String| text.replace(char::is_control, " ");
        let some = |text: Option<String>| text.map(line).filter(|t| !t.is_empty());
        Self {
            actor: line(self.actor),
            action: match self.action {
                Action::Other(word) => Action::from(line(word)),
                known => known,
            },
            outcome: match self.outcome {
                Outcome::Refused { reason, field } => Outcome::Refused {
                    reason: line(reason),
                    field: some(field),
                },
                Outcome::Done => Outcome::Done,
            },
            pipeline: some(self.pipeline),
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
