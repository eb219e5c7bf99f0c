//! The text type that proves redaction.

use std::fmt;

/// Text from which secrets were removed; the only text type that may reach the ledger.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Redacted(String);

impl Redacted {
    /// Takes text back that the ledger (or another holder of redacted text) holds.
    ///
    /// Only for reading: raw text goes through [`Redactor::redact`](super::Redactor::redact).
    #[must_use]
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the empty text.
    #[must_use]
    pub fn empty() -> Self {
        Self(String::new())
    }

    /// Wraps the output of the redactor.
    pub(super) fn proven(text: String) -> Self {
        Self(text)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text, giving up the proof.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl AsRef<str> for Redacted {
    fn as_ref(&self) -> &str {
        &self.0
    }
}
