//! An entry of the audit as it is exported: all that verifying it takes.

use serde::{Deserialize, Serialize};

use super::{Action, Body, Entry, Header, Outcome};
use crate::{LedgerId, Redacted, SessionId, Timestamp};

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub ledger: LedgerId,
    pub number: u64,
    pub at: Timestamp,
    pub actor: String,
    pub action: String,
    /// `done` or `refused`.
    pub outcome: String,
    /// Why it was refused.
    pub reason: Option<String>,
    pub field: Option<String>,
    pub session: Option<SessionId>,
    pub pipeline: Option<String>,
    /// The details: the text that was digested, which is JSON.
    pub body: Option<String>,
    /// What the digest of the body is salted with, in hex.
    pub salt: Option<String>,
    pub body_digest: String,
    /// The digest of the entry before.
    pub previous: String,
    pub digest: String,
}

impl Line {
    /// The line of an entry.
    #[must_use]
    pub fn from_entry(ledger: LedgerId, entry: &Entry) -> Self {
        let header = &entry.header;
        let (reason, field) = header.outcome.refusal();
        let salt = |body: &Body| body.salt.iter().map(|b| format!("{b:02x}")).collect();
        Self {
            ledger,
            number: entry.number,
            at: header.at,
            actor: header.actor.clone(),
            action: header.action.as_str().to_owned(),
            outcome: header.outcome.as_str().to_owned(),
            reason: reason.map(str::to_owned),
            field: field.map(str::to_owned),
            session: header.session,
            pipeline: header.pipeline.clone(),
            body: entry.body.as_ref().map(|b| b.text.as_str().to_owned()),
            salt: entry.body.as_ref().map(salt),
            body_digest: entry.body_digest.clone(),
            previous: entry.previous.clone(),
            digest: entry.digest.clone(),
        }
    }

    /// The entry of a line.
    ///
    /// # Errors
    /// What cannot be read, in words.
    pub fn entry(self) -> Result<Entry, String> {
        let outcome = Outcome::parse(&self.outcome, self.reason, self.field);
        let body = match (self.body, self.salt) {
            (Some(text), Some(salt)) => Some(Body {
                salt: bytes(&salt).ok_or("its salt is not 32 bytes in hex")?,
                text: Redacted::from_stored(text),
            }),
            (None, None) => None,
            _ => return Err("its body and its salt do not go together".to_owned()),
        };
        Ok(Entry {
            number: self.number,
            header: Header {
                at: self.at,
                actor: self.actor,
                action: Action::from(self.action),
                outcome: outcome.ok_or("it is neither done nor refused with a reason")?,
                session: self.session,
                pipeline: self.pipeline,
            },
            body,
            body_digest: self.body_digest,
            previous: self.previous,
            digest: self.digest,
        })
    }
}

fn bytes(hex: &str) -> Option<[u8; 32]> {
    let digits = hex.len() == 64 && hex.is_ascii();
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate().filter(|_| digits) {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
    }
    digits.then_some(bytes)
}
