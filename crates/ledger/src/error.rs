//! What can go wrong with a ledger, as far as a caller treats it differently.

use siglum_domain::SessionId;

/// Why the ledger did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Another process holds it longer than this caller may wait. Nothing was written.
    #[error("the ledger is locked by another process")]
    Busy,
    /// A newer program wrote it. Nothing was written.
    #[error(
        "the ledger requires a program that supports schema {needed}, but this one supports {known}"
    )]
    TooNew {
        /// The schema that a program must know to do this.
        needed: u32,
        /// The schema that this program knows.
        known: u32,
    },
    /// An older program wrote it, and this caller may not migrate. Nothing was written.
    #[error("the ledger has schema {found} and must be migrated to {known}")]
    Outdated {
        /// The schema it has.
        found: u32,
        /// The schema that this program knows.
        known: u32,
    },
    /// The disk is full or the place cannot be written to. Nothing was written.
    #[error("cannot write to the ledger")]
    Unwritable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The ledger that was here is gone, emptied, or another one stands in its place. Nothing was written.
    #[error("the ledger {0}")]
    Lost(String),
    /// The store cannot be reached. Nothing was written.
    #[error("cannot connect to the store")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Whether the write is stored must be asked.
    #[error("the connection to the store was lost while a write was being committed")]
    Unknown(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The work in the transaction ended it for a reason of its own. Nothing was written.
    #[error("the transaction was rejected")]
    Refused,
    /// Whoever waited for it has gone. Nothing was written.
    #[error("the work was cancelled")]
    Cancelled,
    /// What is stored does not have the form it should.
    #[error("the ledger is damaged: {0}")]
    Damaged(String),
    /// What was to be written belongs to a session that is not there. Nothing was written.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// Everything else.
    #[error("ledger storage failed")]
    Storage(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl LedgerError {
    /// Tells whether the evidence should wait in the spool: the ledger is out of reach, and that
    /// may end.
    #[must_use]
    pub const fn is_out_of_reach(&self) -> bool {
        !matches!(
            self,
            Self::Refused
                | Self::Cancelled
                | Self::Damaged(_)
                | Self::NoSession(_)
                | Self::Storage(_)
        )
    }

    /// Tells whether what was to be written contradicts what is there: a name that is another one's already, or of
    /// something that is not there. The same again will not be taken either.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        let source = match self {
            Self::NoSession(_) => return true,
            Self::Storage(source) => source,
            _ => return false,
        };
        let by_file = source
            .downcast_ref::<rusqlite::Error>()
            .and_then(rusqlite::Error::sqlite_error_code);
        #[cfg(feature = "postgres")]
        if crate::postgres::is_contradiction(source.as_ref()) {
            return true;
        }
        by_file == Some(rusqlite::ErrorCode::ConstraintViolation)
    }
}
