//! Who made a commit, who wrote its lines, and how that is known.

use serde::{Deserialize, Serialize};
use siglum_domain::{CheckpointId, Oid};
use siglum_engine::commits::answers::{
    CHECKPOINTS_MOST, COMMITS_MOST, CommitAnswer, CommitAnswers, NamedCheckpoint,
};
use siglum_engine::views::commits::{CommitJson, CommitSummaryJson};

use crate::problem::Problem;
#[cfg(test)]
use crate::shared_schemas::{Commit, CommitSummary};

/// A page of recorded commits.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommitSummaryList {
    /// The commits, newest first.
    #[cfg_attr(test, schema(value_type = Vec<CommitSummary>))]
    pub(crate) items: Vec<CommitSummaryJson>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// The records of a commit, one for each repository.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommitList {
    #[cfg_attr(test, schema(value_type = Vec<Commit>))]
    pub(crate) items: Vec<CommitJson>,
}

/// Full id of a commit.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(value_type = String, pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"))]
pub(crate) struct CommitName(pub(super) Oid);

/// Id of a checkpoint.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(value_type = String, pattern = r"^chk_[0-9a-f]{32}$"))]
pub(crate) struct CheckpointName(CheckpointId);

/// Asks about several commits at once.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainCommits {
    /// The commits, of any repository.
    #[cfg_attr(test, schema(min_items = 1, max_items = 500))]
    commits: Vec<CommitName>,
    /// Checkpoints that their messages name.
    #[serde(default)]
    #[cfg_attr(test, schema(max_items = 1_000))]
    checkpoints: Vec<CheckpointName>,
}

impl ExplainCommits {
    /// The commits and checkpoints, if they are not too many.
    pub(crate) fn checked(self) -> Result<(Vec<Oid>, Vec<CheckpointId>), Problem> {
        if !(1..=COMMITS_MOST).contains(&self.commits.len()) {
            let rule = format!("1 to {COMMITS_MOST} commits");
            return Err(Problem::invalid("commits", rule));
        }
        if self.checkpoints.len() > CHECKPOINTS_MOST {
            let rule = format!("at most {CHECKPOINTS_MOST} checkpoints");
            return Err(Problem::invalid("checkpoints", rule));
        }
        Ok((
            self.commits.into_iter().map(|name| name.0).collect(),
            self.checkpoints.into_iter().map(|name| name.0).collect(),
        ))
    }
}

/// What is recorded of several commits.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommitExplanations {
    /// The recorded commits with all that `siglum why` shows of them.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    items: Vec<CommitAnswer>,
    /// The recorded checkpoints of the request, each with its commits, newest first.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    checkpoints: Vec<NamedCheckpoint>,
    /// Commits for which the response had no room: send them in another request.
    #[cfg_attr(test, schema(value_type = Vec<String>))]
    left_off: Vec<Oid>,
}

impl From<CommitAnswers> for CommitExplanations {
    fn from(answers: CommitAnswers) -> Self {
        Self {
            items: answers.items,
            checkpoints: answers.checkpoints,
            left_off: answers.left_off,
        }
    }
}
