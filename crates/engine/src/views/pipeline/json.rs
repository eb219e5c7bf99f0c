//! The graph as it is sent: the same for the command line and the API.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::Serialize;
use siglum_domain::pipeline::{Check, CheckCounts, Contract, Graph, Instance, Phase, Review};

use super::graph::sent;
use crate::views::cost::MoneyJson;
use crate::views::session::TokenUsage;

/// A pipeline as it stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct GraphJson {
    pipeline: String,
    /// `pending`, `running`, `awaiting`, `completed`, `failed`, `cancelled`, `skipped` or `unknown`.
    state: String,
    /// Whether it was recorded that it ended.
    end_recorded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    duration_ms: u64,
    /// As planned, else in the order in which they began.
    phases: Vec<PhaseJson>,
    /// The sessions of which no phase is known, and what was recorded for no phase.
    no_phase: PhaseJson,
    sessions: u64,
    /// How many of them go on.
    live: u64,
    commits: u64,
    tokens: TokenUsage,
    /// At list prices; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<MoneyJson>,
    checks: CountsJson,
}

/// A phase as it stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PhaseJson {
    /// Absent for what belongs to no phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    /// As for the pipeline.
    state: String,
    /// Whether the state was recorded; else it follows from the sessions.
    state_recorded: bool,
    /// Whether something goes on in it.
    current: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    duration_ms: u64,
    /// How often it began, each but the first after an end; 0 where nobody recorded that it began.
    cycles: u64,
    /// Sessions of one wave ran at one time; those of the next began later.
    waves: Vec<Vec<InstanceJson>>,
    contracts: Vec<ContractJson>,
    reviews: Vec<ReviewJson>,
    checks: Vec<CheckJson>,
}

/// A session of a pipeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct InstanceJson {
    session: String,
    /// Its role, else its agent, with its number from the second one on: `coder #2`.
    name: String,
    roles: Vec<String>,
    /// Absent where nobody named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    models: Vec<String>,
    /// `working`, `waiting`, `ended`, `completed`, `failed`, `lost` or `unseen`.
    state: String,
    /// How its command ended, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    live: bool,
    /// Whether it was taken out of the pipeline again. It is not counted then.
    detached: bool,
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    duration_ms: u64,
    commits: u64,
    tokens: TokenUsage,
}

/// The last contract of a name.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ContractJson {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// BLAKE3 of its text as it was recorded.
    digest: String,
    /// The event.
    number: u64,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// A review.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ReviewJson {
    /// `approved`, `changes_requested` or `commented`.
    verdict: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// What it validates the work against, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    contract: Option<ValidatedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    by: String,
    /// The event.
    number: u64,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// The contract that a review validates the work against.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ValidatedJson {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// BLAKE3 of its text as it stood then; absent where no contract of this name was recorded before.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Whether another session than the one that wrote the contract gave the review; absent where one of both is not
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_another_session: Option<bool>,
}

/// The last result of a check.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CheckJson {
    name: String,
    /// `passed`, `failed`, `skipped` or `errored`.
    result: String,
    /// Whether it passed, and its summary says that it was skipped. It does not count as passed then.
    contradictory: bool,
    /// Whose word the result is: `session` (it ran in that one, which proved itself with its token or whose log has a
    /// call at that time) or `reported` (by `by`, also where they name a session).
    evidence: String,
    /// Who recorded it.
    by: String,
    /// How often it has had a result.
    runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// The event.
    number: u64,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

/// How many checks came to what.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CountsJson {
    passed: u64,
    failed: u64,
    skipped: u64,
    errored: u64,
    /// Passed, and say that they were skipped.
    contradictory: u64,
    /// Whether there are checks, and each one ran and passed.
    all_passed: bool,
}

impl From<&CheckCounts> for CountsJson {
    fn from(of: &CheckCounts) -> Self {
        Self {
            passed: of.passed,
            failed: of.failed,
            skipped: of.skipped,
            errored: of.errored,
            contradictory: of.contradictory,
            all_passed: of.is_all_passed(),
        }
    }
}

impl From<&Graph> for GraphJson {
    fn from(graph: &Graph) -> Self {
        let totals = &graph.totals;
        Self {
            pipeline: graph.pipeline.clone(),
            state: graph.state.to_string(),
            end_recorded: graph.ended_stated,
            started_at: graph.started.map(sent),
            ended_at: graph.ended.map(sent),
            duration_ms: graph.duration_ms,
            phases: graph.phases.iter().map(PhaseJson::from).collect(),
            no_phase: (&graph.loose).into(),
            sessions: totals.sessions,
            live: totals.live,
            commits: totals.commits,
            tokens: totals.tokens.into(),
            cost: totals.cost.as_ref().map(MoneyJson::from),
            checks: (&totals.checks).into(),
        }
    }
}

impl From<&Phase> for PhaseJson {
    fn from(phase: &Phase) -> Self {
        let wave = |wave: &Vec<Instance>| wave.iter().map(InstanceJson::from).collect();
        Self {
            phase: phase.name.clone(),
            state: phase.state.to_string(),
            state_recorded: phase.stated,
            current: phase.is_current(),
            started_at: phase.started.map(sent),
            ended_at: phase.ended.map(sent),
            duration_ms: phase.duration_ms,
            cycles: phase.cycles,
            waves: phase.waves.iter().map(wave).collect(),
            contracts: phase.contracts.iter().map(ContractJson::from).collect(),
            reviews: phase.reviews.iter().map(ReviewJson::from).collect(),
            checks: phase.checks.iter().map(CheckJson::from).collect(),
        }
    }
}

impl From<&Instance> for InstanceJson {
    fn from(of: &Instance) -> Self {
        let member = &of.member;
        Self {
            session: member.session.to_string(),
            name: of.label(),
            roles: member.roles.clone(),
            agent: member.agent.as_ref().map(ToString::to_string),
            models: member.models.clone(),
            state: member.activity.to_string(),
            end: member.end.clone(),
            live: member.activity.is_live(),
            detached: member.detached,
            started_at: sent(member.started),
            ended_at: member.ended.map(sent),
            duration_ms: of.duration_ms,
            commits: member.commits,
            tokens: member.tokens.into(),
        }
    }
}

impl From<&Contract> for ContractJson {
    fn from(of: &Contract) -> Self {
        Self {
            name: of.name.clone(),
            version: of.version.clone(),
            digest: of.digest.clone(),
            number: of.number,
            at: sent(of.at),
            session: of.session.map(|s| s.to_string()),
        }
    }
}

impl From<&Review> for ReviewJson {
    fn from(of: &Review) -> Self {
        Self {
            verdict: of.verdict.to_string(),
            role: of.role.clone(),
            contract: of.contract.as_ref().map(|validated| ValidatedJson {
                name: validated.name.clone(),
                version: validated.stated.as_ref().and_then(|c| c.version.clone()),
                digest: validated.stated.as_ref().map(|c| c.digest.clone()),
                by_another_session: of.is_by_another(),
            }),
            text: of.text.as_ref().map(ToString::to_string),
            by: of.by.clone(),
            number: of.number,
            at: sent(of.at),
            session: of.session.map(|s| s.to_string()),
        }
    }
}

impl From<&Check> for CheckJson {
    fn from(of: &Check) -> Self {
        Self {
            name: of.name.clone(),
            result: of.result.to_string(),
            contradictory: of.contradictory,
            evidence: of.evidence.to_string(),
            by: of.by.clone(),
            runs: of.runs,
            summary: of.summary.as_ref().map(ToString::to_string),
            url: of.url.clone(),
            commit: of.commit.as_ref().map(ToString::to_string),
            number: of.number,
            at: sent(of.at),
            session: of.session.map(|s| s.to_string()),
        }
    }
}
