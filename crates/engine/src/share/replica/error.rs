//! Why a batch was not taken.

use std::fmt;
use std::str::FromStr;

use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId};
use siglum_ledger::{LedgerError, Refusal};

/// The name of one document of a batch, as answers and errors have it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentName {
    /// All of it.
    Batch,
    Repository(RepositoryId),
    Session(SessionId),
    /// A receipt of a session, by its number.
    Receipt(SessionId, u64),
    /// A statement, by its number.
    Statement(u64),
    Checkpoint(CheckpointId),
    Commit(RepositoryId, Oid),
}

impl fmt::Display for DocumentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch => f.write_str("batch"),
            Self::Repository(id) => write!(f, "repositories/{id}"),
            Self::Session(id) => write!(f, "sessions/{id}"),
            Self::Receipt(id, number) => write!(f, "receipts/{id}/{number}"),
            Self::Statement(number) => write!(f, "statements/{number}"),
            Self::Checkpoint(id) => write!(f, "checkpoints/{id}"),
            Self::Commit(repository, commit) => write!(f, "commits/{repository}/{commit}"),
        }
    }
}

/// The text names no document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a document of a batch")]
pub struct NoDocument;

impl FromStr for DocumentName {
    type Err = NoDocument;

    fn from_str(text: &str) -> Result<Self, NoDocument> {
        let parts: Vec<&str> = text.split('/').collect();
        let found = match parts.as_slice() {
            ["batch"] => Some(Self::Batch),
            ["repositories", id] => id.parse().ok().map(Self::Repository),
            ["sessions", id] => id.parse().ok().map(Self::Session),
            ["receipts", id, number] => {
                let pair = id.parse().ok().zip(number.parse().ok());
                pair.map(|(id, number)| Self::Receipt(id, number))
            }
            ["statements", number] => number.parse().ok().map(Self::Statement),
            ["checkpoints", id] => id.parse().ok().map(Self::Checkpoint),
            ["commits", repository, commit] => {
                let pair = repository.parse().ok().zip(Oid::new(*commit).ok());
                pair.map(|(repository, commit)| Self::Commit(repository, commit))
            }
            _ => None,
        };
        found.ok_or(NoDocument)
    }
}

/// Why a batch was not taken; nothing of it was written.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// A document breaks a rule.
    #[error("{document}: {rule}")]
    Refused {
        document: DocumentName,
        rule: String,
    },
    /// Whoever sends it may not say this.
    #[error("{document}: {rule}")]
    Forbidden {
        document: DocumentName,
        /// Why not.
        rule: String,
    },
    /// It is larger than anybody may send at once.
    #[error("the batch is larger than {most} bytes")]
    TooLarge {
        /// How much is taken.
        most: usize,
    },
    /// It is no batch of a version that this program knows.
    #[error("not a batch: {0}")]
    Malformed(String),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Refusal for ReplicaError {
    fn into_store(self) -> Result<LedgerError, Self> {
        match self {
            Self::Ledger(error) => Ok(error),
            refused => Err(refused),
        }
    }
}

impl ReplicaError {
    /// A word for programs, which never changes.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "replica-refused",
            Self::Forbidden { .. } => "forbidden",
            Self::TooLarge { .. } => "too-large",
            Self::Malformed(_) => "malformed",
            Self::Ledger(_) => "store",
        }
    }
}

pub(super) fn refuse(document: DocumentName, rule: impl Into<String>) -> ReplicaError {
    let rule = rule.into();
    ReplicaError::Refused { document, rule }
}

pub(super) fn forbid(document: DocumentName, rule: impl Into<String>) -> ReplicaError {
    let rule = rule.into();
    ReplicaError::Forbidden { document, rule }
}

/// What the store does not take of a document is the document's fault where it contradicts what is there: names that were
/// two become one where a secret is removed from both.
pub(super) fn of_document<T>(
    name: impl FnOnce() -> DocumentName,
    done: Result<T, ReplicaError>,
) -> Result<T, ReplicaError> {
    match done {
        Err(ReplicaError::Ledger(error)) if error.is_contradiction() => Err(refuse(
            name(),
            "its names are not unique, or one already belongs to another document",
        )),
        done => done,
    }
}
