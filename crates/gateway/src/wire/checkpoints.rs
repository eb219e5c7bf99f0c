//! Checkpoints.

use serde::{Deserialize, Serialize};
use siglum_domain::{CheckpointId, Oid};
use siglum_engine::views::checkpoints::CheckpointJson;

use super::RepositoryName;
use super::numbers::count_if_any;
#[cfg(test)]
use crate::shared_schemas::Checkpoint;

/// Creates a checkpoint.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateCheckpoint {
    /// Checkpoint id, if the caller generates it; repeating it returns the same checkpoint.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^chk_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$"))]
    pub(crate) id: Option<CheckpointId>,
    /// Sequence of the session's log to pin; default: the end of the log.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) sequence: Option<u64>,
    /// Commit that the session claims to have made.
    pub(crate) commit: Option<CheckpointCommit>,
}

/// A commit that a session claims to have made.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckpointCommit {
    /// Its repository.
    pub(crate) repository: RepositoryName,
    /// Its id.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"))]
    pub(crate) commit: Oid,
}

/// A checkpoint that was recorded or already existed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RecordedCheckpoint {
    #[cfg_attr(test, schema(value_type = Checkpoint))]
    pub(crate) checkpoint: CheckpointJson,
    /// Whether it already existed.
    pub(crate) already: bool,
}
