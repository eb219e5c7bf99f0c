//! Pipelines.

use serde::{Deserialize, Serialize};
use siglum_domain::SessionId;
use siglum_domain::pipeline::{CheckEvidence, NewEvent};
use siglum_engine::pipeline::{GraphJson, Recorded};
use utoipa::ToSchema;

use crate::problem::Problem;

/// Something that happened in a pipeline. Which fields it has depends on its kind; a field of another kind is refused.
#[derive(Debug, Clone, Deserialize, ToSchema)]
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
    /// What a review came to: `approved`, `changes_requested`, `commented`.
    pub(crate) verdict: Option<String>,
    /// What a check came to: `passed`, `failed`, `skipped`, `errored`. Skipped is not passed.
    pub(crate) result: Option<String>,
    /// The role that gave a review.
    pub(crate) role: Option<String>,
    /// The name of a contract or a check.
    pub(crate) name: Option<String>,
    /// The name of the contract that a review validates the work against.
    pub(crate) contract: Option<String>,
    /// The version of a contract.
    pub(crate) version: Option<String>,
    /// Where to read more of a check, without a user or a password in it.
    pub(crate) url: Option<String>,
    /// The commit that was checked.
    pub(crate) commit: Option<String>,
    /// The text of a contract or a review, the summary of a check. It is redacted before it is stored.
    pub(crate) text: Option<String>,
    /// The session that records it; a session's token records for that session alone.
    #[schema(value_type = Option<String>, pattern = r"^ses_[0-9a-f]{32}$")]
    pub(crate) session: Option<SessionId>,
    /// What the caller calls it: the same on each try.
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

/// What happened in a pipeline: all of it is recorded, or nothing.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PipelineEvents {
    #[schema(min_items = 1, max_items = 100)]
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
                let what = "a session's token records for that session alone";
                return Err(Problem::forbidden(what));
            }
            event.session = Some(own);
            event.evidence = CheckEvidence::Session;
        }
        Ok(events)
    }
}

/// An event that is recorded.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RecordedEvent {
    /// Its number within the pipeline.
    number: u64,
    /// Whether it was there before.
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

/// Events that are recorded, in their order.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RecordedEvents {
    pub(crate) events: Vec<RecordedEvent>,
}

/// A page of pipelines.
#[derive(Serialize, ToSchema)]
pub(crate) struct PipelinePage {
    /// The pipelines, the one that was named first last.
    #[schema(value_type = Vec<Object>)]
    pub(crate) pipelines: Vec<GraphJson>,
    /// Give it as `after` to get the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}
