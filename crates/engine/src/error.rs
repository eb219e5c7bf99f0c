//! What can go wrong in a use case.

use siglum_gitstore::GitError;
use siglum_ledger::LedgerError;

/// Why a use case did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Git, or the object store.
    #[error(transparent)]
    Git(#[from] GitError),
    /// No checkout of the repository is there any more.
    #[error("no checkout of the repository {0} exists any more")]
    NoCheckout(String),
    /// A file could not be read.
    #[error("cannot read {path}")]
    Read {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {path}")]
    Write {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl EngineError {
    /// What it says, and why: for where only text is kept.
    #[must_use]
    pub fn in_full(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        text
    }
}
