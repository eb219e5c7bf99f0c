//! Why something was not done with a heartbeat.

use siglum_domain::Timestamp;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_ledger::LedgerError;

use super::FormError;

/// Why something was not done with a heartbeat.
#[derive(Debug, thiserror::Error)]
pub enum HeartbeatError {
    /// There is none of this name.
    #[error("no heartbeat {0}")]
    Unknown(HeartbeatName),
    /// A field of it breaks a rule.
    #[error(transparent)]
    Form(#[from] FormError),
    /// The operator's configuration says what it is.
    #[error("the heartbeat {0} is defined in the configuration of the gateway; change it there")]
    Configured(HeartbeatName),
    /// A tick of it has not ended.
    #[error("the tick of {heartbeat} at {due} is still running")]
    StillRunning {
        heartbeat: HeartbeatName,
        due: Timestamp,
    },
    /// Somebody else has the tick: it was taken for lost.
    #[error("the lease of the tick of {heartbeat} at {due} is lost")]
    Lost {
        heartbeat: HeartbeatName,
        due: Timestamp,
    },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl HeartbeatError {
    /// A word for it that stays the same.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "heartbeat_unknown",
            Self::Form(_) => "invalid",
            Self::Configured(_) => "heartbeat_configured",
            Self::StillRunning { .. } => "heartbeat_running",
            Self::Lost { .. } => "tick_lost",
            Self::Ledger(_) => "ledger",
        }
    }
}
