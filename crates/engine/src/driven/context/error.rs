//! Why a call about a context was refused, or failed.

use siglum_domain::context::{ContextKey, Keys, RouteKey};
use siglum_domain::{ConversationId, GrammarError, SessionId};
use siglum_ledger::{ContextRecord, LedgerError, Refusal, Transaction};
pub(super) use siglum_ledger::{attempt, attempt_read};

use crate::driven::remote::RemoteError;
use crate::driven::turn::TurnError;

/// Why a call about a context was refused, or failed. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    #[error("no route `{0}`")]
    NoRoute(RouteKey),
    #[error("no context `{0}`")]
    NoContext(ContextKey),
    /// The keys do not belong together.
    #[error("context `{context}` belongs to route `{of}`, not to `{route}`")]
    Mismatch {
        context: ContextKey,
        /// Its route.
        of: RouteKey,
        /// The route that was given.
        route: RouteKey,
    },
    /// Another context took its place, or it came to its end.
    #[error("context `{context}` has ended: the route continues in {current}")]
    Ended {
        context: ContextKey,
        /// The one that took its place, in words.
        current: String,
    },
    /// Turns that nobody handed over are missing from it.
    #[error(
        "context `{context}` lacks positions {first} to {last}: {reason}; backfill them or accept the gap"
    )]
    Gap {
        context: ContextKey,
        first: u64,
        last: u64,
        reason: String,
    },
    #[error("turn `{turn}` is not committed in context `{context}`")]
    NoTurn {
        context: ContextKey,
        /// The key of the turn.
        turn: String,
    },
    /// The key was used for something else.
    #[error("`{key}` was used with different content in context `{context}`")]
    Conflict {
        /// The context, or the route of a run.
        context: String,
        key: String,
    },
    /// The conversation is that of another session.
    #[error(
        "conversation: `{conversation}` is session {session}, which does not belong to this route"
    )]
    Taken {
        conversation: ConversationId,
        session: SessionId,
    },
    /// Something that was given breaks a rule.
    #[error("{field}: {rule}")]
    Invalid { field: &'static str, rule: String },
    /// The session that the context is kept in refused.
    #[error(transparent)]
    Turn(#[from] TurnError),
}

impl ContextError {
    /// A word for programs, which never changes.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoRoute(_) => "no-route",
            Self::NoContext(_) => "no-context",
            Self::Mismatch { .. } => "keys-mismatch",
            Self::Ended { .. } => "context-ended",
            Self::Gap { .. } => "gap",
            Self::NoTurn { .. } => "no-turn",
            Self::Conflict { .. } => "conflict",
            Self::Taken { .. } => "taken",
            Self::Invalid { .. } => "invalid",
            Self::Turn(error) => error.code(),
        }
    }

    pub(super) fn invalid(field: &'static str, rule: impl Into<String>) -> Self {
        Self::Invalid {
            field,
            rule: rule.into(),
        }
    }
}

impl From<LedgerError> for ContextError {
    fn from(error: LedgerError) -> Self {
        Self::Turn(TurnError::Ledger(error))
    }
}

impl From<GrammarError> for ContextError {
    fn from(error: GrammarError) -> Self {
        Self::invalid(error.what, error.rule)
    }
}

impl From<RemoteError> for ContextError {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Ledger(error) => error.into(),
            RemoteError::Taken { field, rule } | RemoteError::Invalid { field, rule } => {
                Self::Invalid { field, rule }
            }
            RemoteError::NoSession(session) => TurnError::NoSession(session).into(),
            RemoteError::Ahead { .. } => Self::invalid("session", error.to_string()),
        }
    }
}

/// What one transaction gives, or why it was refused.
type Outcome<T> = Result<T, ContextError>;

impl Refusal for ContextError {
    fn into_store(self) -> Result<LedgerError, Self> {
        match self {
            Self::Turn(TurnError::Ledger(error)) => Ok(error),
            refused => Err(refused),
        }
    }
}

/// The context of two keys that belong together.
pub(super) fn belongs(tx: &mut dyn Transaction, keys: &Keys) -> Outcome<ContextRecord> {
    let found = tx.context(&keys.context)?;
    let context = found.ok_or_else(|| ContextError::NoContext(keys.context.clone()))?;
    if context.route == keys.route {
        return Ok(context);
    }
    Err(ContextError::Mismatch {
        context: context.key,
        of: context.route,
        route: keys.route.clone(),
    })
}
