//! Everything that is known of a pipeline, as one document.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use siglum_domain::digest::Hasher;
use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::pipeline::{Event, Member, Outcome, What, pipeline_id};
use siglum_domain::{AgentName, Oid};
use siglum_ledger::{CommitRecord, Ledger, LedgerError, Statement, Transaction, read};

use super::PipelineError;
use super::graph::{parts, sent};
use crate::Here;
use crate::damage::undamaged;
use crate::views::session::TokenUsage;

/// How many commits of a session a bundle has at most.
const COMMITS_MOST: usize = 10_000;

/// What is known of a pipeline, with a digest of the whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Bundle {
    /// The digest of `content`: of its JSON without blanks between parts, with the keys of each object in order.
    pub digest: String,
    /// `blake3`.
    pub algorithm: String,
    /// What is known.
    #[cfg_attr(feature = "schemas", schemars(with = "BundleContent"))]
    pub content: Value,
}

/// What is known of a pipeline: the same each time, as long as its sessions stand as they do.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct BundleContent {
    pipeline: String,
    /// Plans, begins and ends.
    events: Vec<EventJson>,
    contracts: Vec<ContractEvent>,
    reviews: Vec<ReviewEvent>,
    checks: Vec<CheckEvent>,
    sessions: Vec<SessionJson>,
    commits: Vec<CommitJson>,
}

/// What every event says.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct Mark {
    /// Its number within the pipeline.
    number: u64,
    at: String,
    by: String,
    source: String,
    session: Option<String>,
    idempotency: Option<String>,
    phase: Option<String>,
}

/// A plan, or the begin or end of a phase or of the pipeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct EventJson {
    recorded: Mark,
    /// `planned`, `phase_started`, `phase_awaiting`, `phase_ended` or `ended`.
    kind: String,
    /// The phases of a plan.
    phases: Option<Vec<String>>,
    outcome: Option<String>,
}

/// A contract, as it was recorded.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct ContractEvent {
    recorded: Mark,
    name: String,
    version: Option<String>,
    /// BLAKE3 of the text as it was recorded.
    digest: String,
    /// Absent if it was forgotten.
    text: Option<String>,
}

/// A review of the work.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct ReviewEvent {
    recorded: Mark,
    verdict: String,
    role: Option<String>,
    /// The name of the contract that it validates the work against.
    contract: Option<String>,
    text: Option<String>,
}

/// The result of a check.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct CheckEvent {
    recorded: Mark,
    name: String,
    /// `passed`, `failed`, `skipped` or `errored`.
    result: String,
    summary: Option<String>,
    url: Option<String>,
    commit: Option<String>,
    /// Whose word the result is: `session` (it ran in that one) or `reported`.
    evidence: String,
}

/// A session that worked for the pipeline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct SessionJson {
    session: String,
    /// `unknown` where nobody named it.
    agent: String,
    conversation_id: Option<String>,
    state: String,
    end: Option<String>,
    /// Whether it was taken out of the pipeline again.
    detached: bool,
    started_at: String,
    ended_at: Option<String>,
    models: Vec<String>,
    used: TokenUsage,
    /// Every link that was attached or detached, in order.
    links: Vec<LinkJson>,
}

/// A link that was attached or detached.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct LinkJson {
    /// `attached` or `detached`.
    what: String,
    field: String,
    value: serde_json::Value,
    at: String,
    by: String,
    source: String,
}

/// A commit of one of the sessions.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct CommitJson {
    commit: String,
    /// The git common directory.
    repository: Option<String>,
    session: String,
    /// `certain`, `likely`, `ambiguous` or `unknown`.
    verdict: String,
    /// The session that ran it, `human` or `unknown`.
    committer: String,
    checkpoint: Option<String>,
    subject: Option<String>,
    seen_at: String,
}

/// Everything that is known of a pipeline, redacted once more.
///
/// # Errors
/// There is no such pipeline, or those of the ledger.
pub fn bundle(here: &Here<'_>, ledger: &mut dyn Ledger, id: &str) -> Result<Bundle, PipelineError> {
    let id = pipeline_id(id)?;
    let content = read(ledger, |tx| {
        Ok(match tx.pipeline(&id)? {
            Some(_) => Some(content(here, tx, &id)?),
            None => None,
        })
    })?;
    let content = content.ok_or(PipelineError::NoPipeline(id))?;
    let content = serde_json::to_value(content)
        .expect("because what is sent has text keys and no failing parts");
    let content = here.redactor.redact_json(&content).as_value().clone();
    let mut hasher = Hasher::new();
    hasher.update(content.to_string().as_bytes());
    Ok(Bundle {
        digest: hasher.hex(),
        algorithm: "blake3".to_owned(),
        content,
    })
}

fn content(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    id: &str,
) -> Result<BundleContent, LedgerError> {
    let (events, members) = parts(here, tx, id)?;
    let mut content = BundleContent {
        pipeline: id.to_owned(),
        events: Vec::new(),
        contracts: Vec::new(),
        reviews: Vec::new(),
        checks: Vec::new(),
        sessions: Vec::new(),
        commits: Vec::new(),
    };
    events.into_iter().for_each(|event| content.take(event));
    for member in members {
        let commits = undamaged(tx.commits_of_session(member.session, COMMITS_MOST))?;
        for commit in commits.unwrap_or_default().into_iter().rev() {
            content.commits.push(commit_of(tx, &member, commit)?);
        }
        content.sessions.push(session_of(tx, member)?);
    }
    Ok(content)
}

impl BundleContent {
    fn take(&mut self, event: Event) {
        let text = event.text.as_ref().map(|t| t.as_str().to_owned());
        let kind = event.what.kind().to_owned();
        let recorded = Mark::from_event(&event);
        let plain = |phases, outcome: Option<Outcome>, recorded| EventJson {
            recorded,
            kind,
            phases,
            outcome: outcome.map(|o| o.to_string()),
        };
        match event.what {
            What::Planned { phases } => self.events.push(plain(Some(phases), None, recorded)),
            What::PhaseStarted { .. } | What::PhaseAwaiting { .. } => {
                self.events.push(plain(None, None, recorded));
            }
            What::PhaseEnded { outcome, .. } => {
                self.events.push(plain(None, Some(outcome), recorded));
            }
            What::Ended { outcome } => self.events.push(plain(None, outcome, recorded)),
            What::Contract {
                name,
                version,
                digest,
                ..
            } => self.contracts.push(ContractEvent {
                recorded,
                name,
                version,
                digest,
                text,
            }),
            What::Review {
                verdict,
                role,
                contract,
                ..
            } => self.reviews.push(ReviewEvent {
                recorded,
                verdict: verdict.to_string(),
                role,
                contract,
                text,
            }),
            What::Check {
                name,
                result,
                url,
                commit,
                evidence,
                ..
            } => self.checks.push(CheckEvent {
                recorded,
                name,
                result: result.to_string(),
                summary: text,
                url,
                commit: commit.as_ref().map(Oid::to_string),
                evidence: evidence.to_string(),
            }),
        }
    }
}

impl Mark {
    fn from_event(event: &Event) -> Self {
        Self {
            number: event.number,
            at: sent(event.at),
            by: event.by.clone(),
            source: event.source.clone(),
            session: event.session.map(|s| s.to_string()),
            idempotency: event.key.clone(),
            phase: event.what.phase().map(str::to_owned),
        }
    }
}

fn session_of(tx: &mut dyn Transaction, member: Member) -> Result<SessionJson, LedgerError> {
    let statements = undamaged(tx.statements_of_session(member.session))?.unwrap_or_default();
    let mut links = Vec::new();
    for record in statements {
        let (what, link) = match &record.statement {
            Statement::LinkAttached { link, .. } => ("attached", link),
            Statement::LinkDetached { link, .. } => ("detached", link),
            _ => continue,
        };
        links.push(LinkJson {
            what: what.to_owned(),
            field: link.field().to_owned(),
            value: link.to_json(),
            at: sent(record.at),
            by: record.by.clone(),
            source: record.source.clone(),
        });
    }
    let record = undamaged(tx.session(member.session))?.flatten();
    Ok(SessionJson {
        session: member.session.to_string(),
        agent: AgentName::word(member.agent.as_ref()).to_owned(),
        conversation_id: record.map(|r| r.conversation.to_string()),
        state: member.activity.to_string(),
        end: member.end,
        detached: member.detached,
        started_at: sent(member.started),
        ended_at: member.ended.map(sent),
        models: member.models,
        used: member.tokens.into(),
        links,
    })
}

fn commit_of(
    tx: &mut dyn Transaction,
    member: &Member,
    record: CommitRecord,
) -> Result<CommitJson, LedgerError> {
    let repositories = tx.repositories()?;
    let repository = repositories.into_iter().find(|r| r.id == record.repository);
    let verdict: Verdict = record.judgement.verdict;
    Ok(CommitJson {
        commit: record.commit.to_string(),
        repository: repository.map(|r| r.common_dir),
        session: member.session.to_string(),
        verdict: verdict.to_string(),
        committer: match record.judgement.committer {
            Committer::Session { session } => session.to_string(),
            Committer::Human => "human".to_owned(),
            Committer::Unknown => "unknown".to_owned(),
        },
        checkpoint: record.checkpoint.map(|c| c.to_string()),
        subject: record.facts.map(|f| f.subject),
        seen_at: sent(record.at),
    })
}
