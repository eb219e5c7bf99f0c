//! Checkpoints.

use serde::{Deserialize, Serialize};
use siglum_domain::{CheckpointId, Oid};
use siglum_engine::views::session::LinkJson;
use siglum_ledger::CheckpointRecord;

use super::RepositoryName;
use super::numbers::count_if_any;
#[cfg(test)]
use crate::shared_schemas::Link;

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

/// A session up to a sequence of its log.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Pin {
    pub(crate) session: String,
    pub(crate) sequence: u64,
    /// Current links of the session, including links attached after the checkpoint.
    #[cfg_attr(test, schema(value_type = Vec<Link>))]
    pub(crate) links: Vec<LinkJson>,
}

/// What a checkpoint is for.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckpointKind {
    /// It pins sessions to a commit.
    Commit,
    /// It pins a session to its end.
    End,
    /// It pins a session to a point that somebody chose.
    Manual,
}

impl From<siglum_ledger::CheckpointKind> for CheckpointKind {
    fn from(kind: siglum_ledger::CheckpointKind) -> Self {
        match kind {
            siglum_ledger::CheckpointKind::Commit => Self::Commit,
            siglum_ledger::CheckpointKind::End => Self::End,
            siglum_ledger::CheckpointKind::Manual => Self::Manual,
        }
    }
}

/// A checkpoint.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Checkpoint {
    id: String,
    kind: CheckpointKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
    pins: Vec<Pin>,
}

impl Checkpoint {
    pub(crate) fn new(
        record: &CheckpointRecord,
        pins: Vec<Pin>,
        repository: Option<String>,
    ) -> Self {
        Self {
            id: record.id.to_string(),
            kind: record.kind.into(),
            repository,
            commit: record.commit.as_ref().map(Oid::to_string),
            at: record.at.to_string(),
            pins,
        }
    }
}

/// A checkpoint that was recorded or already existed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RecordedCheckpoint {
    pub(crate) checkpoint: Checkpoint,
    /// Whether it already existed.
    pub(crate) already: bool,
}

/// Checkpoints, newest first.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CheckpointList {
    /// Newest first.
    pub(crate) items: Vec<Checkpoint>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}
