//! What a ledger did not do, and how that is answered.

use siglum_engine::driven::turn::{Fate, TurnError};
use siglum_ledger::LedgerError;

use crate::problem::Problem;

/// Why a ledger did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Unavailable {
    /// More waits than can be done soon. Nothing was begun.
    #[error("too many requests are waiting for the store")]
    Full,
    /// It waited too long for a connection. Nothing was begun.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "a file has no connections")
    )]
    #[error("no connection to the store was free in time")]
    Late,
    /// The store refused. Nothing was written.
    #[error("{0}")]
    Refused(String),
    /// Whether it was written must be asked.
    #[error("{0}")]
    Unknown(String),
    /// There is no such tenant. A file has one, whose name is known.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "a file has one tenant")
    )]
    #[error("the store has no ledger for this tenant")]
    NoTenant,
    /// The program has a fault there.
    #[error("internal error")]
    Broken,
}

impl Unavailable {
    /// The word for it in metrics.
    pub(super) const fn outcome(&self) -> &'static str {
        match self {
            Self::Full => "busy",
            Self::Late => "late",
            Self::Refused(_) => "refused",
            Self::Unknown(_) => "unknown",
            Self::NoTenant => "no-tenant",
            Self::Broken => "broken",
        }
    }
}

impl From<&LedgerError> for Unavailable {
    fn from(error: &LedgerError) -> Self {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            // Behind the first line PostgreSQL tells the values of the row, and this goes into the log.
            let inner_text = inner.to_string();
            text = format!("{text}: {}", inner_text.lines().next().unwrap_or_default());
            cause = inner.source();
        }
        match error {
            LedgerError::Unknown(_) => Self::Unknown(text),
            _ => Self::Refused(text),
        }
    }
}

impl From<Unavailable> for Problem {
    fn from(error: Unavailable) -> Self {
        match error {
            Unavailable::Full | Unavailable::Late => Self::unavailable("busy", error.to_string()),
            Unavailable::NoTenant => Self::unauthorized("token-unknown", "this token is unknown"),
            Unavailable::Refused(cause) => {
                tracing::warn!("the store refused: {cause}");
                let problem = Self::unavailable(
                    "store",
                    "the store refused the write; nothing was written".to_owned(),
                );
                problem.with_fate("not-committed")
            }
            Unavailable::Unknown(cause) => {
                tracing::warn!("it is unknown whether a write was stored: {cause}");
                let detail = "the connection to the store was lost during the write; retry with the same key";
                let problem = Self::unavailable("unknown", detail.to_owned());
                problem.with_fate("unknown")
            }
            Unavailable::Broken => Self::internal(),
        }
    }
}

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        Unavailable::from(&error).into()
    }
}

impl From<TurnError> for Problem {
    fn from(error: TurnError) -> Self {
        let detail = error.to_string();
        let fate = match error.fate() {
            Fate::NotCommitted => "not-committed",
            Fate::Unknown => "unknown",
        };
        let code = error.code();
        let problem = match error {
            TurnError::Ledger(error) => return error.into(),
            TurnError::NoSession(_) => Self::not_found(detail),
            TurnError::Invalid { field, rule } => Self::invalid(field, rule),
            TurnError::Held { session, turn, why } => Self::conflict(
                code,
                format!(
                    "turn `{turn}` of session {session} waits for a decision: {why}; decide with \
                     `POST /v1/sessions/{session}/turns/{turn}/decide` or `siglum session recover`"
                ),
            ),
            _ => Self::conflict(code, detail),
        };
        problem.with_fate(fate)
    }
}
