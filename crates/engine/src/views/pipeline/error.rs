//! What can go wrong with a pipeline.

use siglum_domain::SessionId;
use siglum_domain::link::LinkError;
use siglum_ledger::{LedgerError, Refusal};

/// Why nothing was recorded, or nothing is shown.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// A field breaks a rule.
    #[error(transparent)]
    Refused(#[from] LinkError),
    /// No link and no event has named such a pipeline.
    #[error("no pipeline `{0}`")]
    NoPipeline(String),
    /// The session that is said to record it is not there.
    #[error("no session {0}")]
    NoSession(SessionId),
    /// The key stands for something else that was recorded before.
    #[error("the key `{key}` was used for another event of this pipeline, number {number}")]
    Conflict {
        key: String,
        /// The event that has it.
        number: u64,
    },
    /// The pipeline has as many events as one may have.
    #[error("pipeline `{0}` has reached the maximum number of events")]
    Full(String),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Refusal for PipelineError {
    fn into_store(self) -> Result<LedgerError, Self> {
        match self {
            Self::Ledger(error) => Ok(error),
            refused => Err(refused),
        }
    }
}
