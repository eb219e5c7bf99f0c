//! Pipelines.

use serde::{Deserialize, Serialize};
use siglum_domain::SessionId;
use siglum_domain::pipeline::{CheckEvidence, NewEvent};
use siglum_engine::views::pipeline::{GraphJson, Recorded};

use crate::problem::Problem;
#[cfg(test)]
use crate::shared_schemas::Pipeline;

/// An event of a pipeline. Its fields depend on its kind; fields of other kinds are refused.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PipelineEvent {
    /// `planned`, `phase_started`, `phase_ended`, `contract`, `review`, `check` or `ended`.
    pub(crate) kind: String,
    /// The phase.
    pub(crate) phase: Option<String>,
    /// The phases of a plan, in their order.
    pub(crate) phases: Option<Vec<String>>,
    /// How a phase or the pipeline ended: `completed`, `failed`, `cancelled`, `skipped`.
    pub(crate) outcome: Option<String>,
    /// Verdict of a review: `approved`, `changes_requested`, `commented`.
    pub(crate) verdict: Option<String>,
    /// Result of a check: `passed`, `failed`, `skipped`, `errored`. A skipped check does not count as passed.
    pub(crate) result: Option<String>,
    /// The role that gave a review.
    pub(crate) role: Option<String>,
    /// The name of a contract or a check.
    pub(crate) name: Option<String>,
    /// The name of the contract that a review validates the work against.
    pub(crate) contract: Option<String>,
    /// The version of a contract.
    pub(crate) version: Option<String>,
    /// URL with details of a check, without credentials.
    pub(crate) url: Option<String>,
    /// The commit that was checked.
    pub(crate) commit: Option<String>,
    /// The text of a contract or a review, the summary of a check. It is redacted before it is stored.
    pub(crate) text: Option<String>,
    /// The session that records it; a session token can record for its session only.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^ses_[0-9a-f]{32}$"))]
    pub(crate) session: Option<SessionId>,
    /// Idempotency key, chosen by the caller: the same on each retry.
    pub(crate) key: Option<String>,
}

impl From<PipelineEvent> for NewEvent {
    fn from(event: PipelineEvent) -> Self {
        Self {
            kind: event.kind,
            phase: event.phase,
            phases: event.phases.unwrap_or_default(),
            outcome: event.outcome,
            verdict: event.verdict,
            result: event.result,
            role: event.role,
            name: event.name,
            contract: event.contract,
            version: event.version,
            url: event.url,
            commit: event.commit,
            text: event.text,
            session: event.session,
            evidence: CheckEvidence::Reported,
            key: event.key,
        }
    }
}

/// Events of a pipeline: all of them are recorded, or none.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PipelineEvents {
    #[cfg_attr(test, schema(min_items = 1, max_items = 100))]
    pub(crate) events: Vec<PipelineEvent>,
}

impl PipelineEvents {
    /// The events, of one session alone where it is one that records them.
    pub(crate) fn checked(self, own: Option<SessionId>) -> Result<Vec<NewEvent>, Problem> {
        if !(1..=100).contains(&self.events.len()) {
            return Err(Problem::invalid("events", "1 to 100"));
        }
        let mut events: Vec<NewEvent> = self.events.into_iter().map(NewEvent::from).collect();
        let Some(own) = own else { return Ok(events) };
        for event in &mut events {
            if event.session.is_some_and(|session| session != own) {
                let what = "a session token records for its session only";
                return Err(Problem::forbidden(what));
            }
            event.session = Some(own);
            event.evidence = CheckEvidence::Session;
        }
        Ok(events)
    }
}

/// A recorded event.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RecordedEvent {
    /// Its number within the pipeline.
    number: u64,
    /// Whether it already existed.
    already: bool,
}

impl From<&Recorded> for RecordedEvent {
    fn from(recorded: &Recorded) -> Self {
        Self {
            number: recorded.number,
            already: recorded.already,
        }
    }
}

/// Recorded events, in order.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RecordedEvents {
    pub(crate) events: Vec<RecordedEvent>,
}

/// A page of pipelines.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct PipelineList {
    /// The pipelines, newest first.
    #[cfg_attr(test, schema(value_type = Vec<Pipeline>))]
    pub(crate) items: Vec<GraphJson>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}
