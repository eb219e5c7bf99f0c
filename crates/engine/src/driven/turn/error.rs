//! Why a driver did not get what it asked for, and what became of what it wrote.

use siglum_domain::{LedgerId, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Refusal};

use crate::identity::links::LinksError;

/// What became of a write that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing of it is stored, and nothing will be.
    NotCommitted,
    /// Nobody can tell from here. Asking again with the same key tells, and does it if it was not done.
    Unknown,
}

/// Why a turn was refused, or failed.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    #[error("no session {0}")]
    NoSession(SessionId),
    /// The session runs by itself, and we only watch.
    #[error("session {0} is observed, not driven: only its agent writes to it")]
    NotDriven(SessionId),
    #[error("session {session} was archived at {at} and is read-only")]
    Archived { session: SessionId, at: Timestamp },
    /// Another ledger is the home of the session.
    #[error("session {session} is a replica: only its home {home} writes to it")]
    Replica { session: SessionId, home: LedgerId },
    /// What is stored of the session is damaged.
    #[error("session {session} is quarantined: {reason}; it is read-only")]
    Quarantined {
        session: SessionId,
        /// What is damaged.
        reason: String,
    },
    /// Somebody else drives the session.
    #[error("session {session} is driven by {holder} until {until}")]
    Leased {
        session: SessionId,
        holder: String,
        /// Until when, unless it is prolonged.
        until: Timestamp,
    },
    /// Somebody else took the lease since.
    #[error(
        "the lease of session {session} was taken over: its epoch {epoch} is older than {newest}"
    )]
    Fenced {
        session: SessionId,
        /// The epoch of the caller.
        epoch: u64,
        newest: u64,
    },
    /// The log does not end where the driver thinks.
    #[error("session {session} is committed up to {committed}, not {expected}")]
    Stale {
        session: SessionId,
        /// Where the driver thinks that it ends.
        expected: u64,
        /// Where it ends.
        committed: u64,
    },
    /// The key is that of another turn.
    #[error("`{key}` was used with different content in session {session}: receipt {receipt}")]
    Conflict {
        session: SessionId,
        key: String,
        /// The digest of the receipt that has it; empty for an event of a turn that is open.
        receipt: String,
    },
    /// Another turn is open, or none.
    #[error("the open turn of session {session} is not `{key}`: {open}")]
    NotOpen {
        session: SessionId,
        /// The turn that was meant.
        key: String,
        /// The turn that is open, in words.
        open: String,
    },
    /// A turn waits for a decision.
    #[error(
        "turn `{turn}` of session {session} waits for a decision: {why}; `siglum session recover` shows the options"
    )]
    Held {
        session: SessionId,
        /// What its driver calls the turn.
        turn: String,
        why: String,
    },
    /// Two events of one write have one key.
    #[error("event key: `{key}` is used twice")]
    Twice { key: String },
    /// Something that was given breaks a rule.
    #[error("{field}: {rule}")]
    Invalid { field: &'static str, rule: String },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<LinksError> for TurnError {
    fn from(error: LinksError) -> Self {
        match error.broken_rule() {
            Ok((field, rule)) => Self::Invalid { field, rule },
            Err(error) => error.into(),
        }
    }
}

impl Refusal for TurnError {
    fn into_store(self) -> Result<LedgerError, Self> {
        match self {
            Self::Ledger(error) => Ok(error),
            refused => Err(refused),
        }
    }
}

impl TurnError {
    /// A word for programs, which never changes.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoSession(_) => "no-session",
            Self::NotDriven(_) => "not-driven",
            Self::Archived { .. } => "archived",
            Self::Replica { .. } => "replica",
            Self::Quarantined { .. } => "quarantined",
            Self::Leased { .. } => "leased",
            Self::Fenced { .. } => "fenced",
            Self::Stale { .. } => "stale",
            Self::Conflict { .. } => "conflict",
            Self::NotOpen { .. } => "not-open",
            Self::Held { .. } => "held",
            Self::Twice { .. } => "twice",
            Self::Invalid { .. } => "invalid",
            Self::Ledger(LedgerError::Unknown(_)) => "unknown",
            Self::Ledger(_) => "store",
        }
    }

    /// What became of the write.
    #[must_use]
    pub const fn fate(&self) -> Fate {
        match self {
            Self::Ledger(LedgerError::Unknown(_)) => Fate::Unknown,
            _ => Fate::NotCommitted,
        }
    }
}
