//! Who made a commit, who wrote its lines, and how that is known.

use serde::{Deserialize, Serialize};
use siglum_domain::evidence::{self, Basis, Committer};
use siglum_domain::{CheckpointId, Oid, SessionId};
use siglum_engine::commits::answers::{
    CHECKPOINTS_MOST, COMMITS_MOST, CommitAnswer, CommitAnswers, NamedCheckpoint,
};
use siglum_engine::commits::origins::Origin;
use siglum_engine::commits::why::{self, SessionCard, Why};
use siglum_engine::views::session::LinkJson;
use siglum_ledger::CommitRecord;

use super::Attestation;
use crate::problem::Problem;
#[cfg(test)]
use crate::shared_schemas::Link;

/// How sure an answer is.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// Two independent signs agree.
    Certain,
    /// There is one sign.
    Likely,
    /// The evidence contradicts itself, or fits several sessions.
    Ambiguous,
    /// There is no evidence.
    Unknown,
}

impl From<evidence::Verdict> for Verdict {
    fn from(verdict: evidence::Verdict) -> Self {
        match verdict {
            evidence::Verdict::Unknown => Self::Unknown,
            evidence::Verdict::Ambiguous => Self::Ambiguous,
            evidence::Verdict::Likely => Self::Likely,
            evidence::Verdict::Certain => Self::Certain,
        }
    }
}

/// Who ran `git commit`.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommitterKind {
    /// A session.
    Session,
    /// A person.
    Human,
    /// Nobody knows.
    Unknown,
}

/// How a piece of evidence came about.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum EvidenceBasis {
    /// It was seen while it happened.
    Observed,
    /// It was found by comparing content.
    Derived,
    /// It was concluded by a named rule.
    Inferred,
    /// A trailer, a note or a person says so.
    Claimed,
    /// A trusted platform states it, with its own token.
    Attested,
}

impl From<Basis> for EvidenceBasis {
    fn from(basis: Basis) -> Self {
        match basis {
            Basis::Observed => Self::Observed,
            Basis::Derived => Self::Derived,
            Basis::Inferred => Self::Inferred,
            Basis::Claimed => Self::Claimed,
            Basis::Attested => Self::Attested,
        }
    }
}

/// A piece of evidence, and whether it counted.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Evidence {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    basis: EvidenceBasis,
    /// Whether it counted towards the verdict.
    counted: bool,
    text: String,
}

impl From<&evidence::Evidence> for Evidence {
    fn from(evidence: &evidence::Evidence) -> Self {
        Self {
            session: evidence.session.map(|s| s.to_string()),
            basis: evidence.basis.into(),
            counted: evidence.counted,
            text: evidence.text.clone(),
        }
    }
}

/// An author of lines of a commit.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Author {
    /// The session; absent for lines whose author was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    verdict: Verdict,
    lines: u64,
    files: Vec<String>,
}

impl From<&why::Author> for Author {
    fn from(author: &why::Author) -> Self {
        Self {
            session: author.session.map(|s| s.to_string()),
            verdict: author.verdict.into(),
            lines: author.lines(),
            files: author.files.iter().map(|(path, _)| path.clone()).collect(),
        }
    }
}

/// A session named in a response.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct NamedSession {
    id: String,
    agent: String,
    conversation_id: String,
    /// Native ids, oldest first.
    native_ids: Vec<String>,
    /// Home: the ledger that alone extends its log.
    home: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its current links.
    #[cfg_attr(test, schema(value_type = Vec<Link>))]
    links: Vec<LinkJson>,
    /// The command that resumes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
}

impl From<&SessionCard> for NamedSession {
    fn from(card: &SessionCard) -> Self {
        Self {
            id: card.record.id.to_string(),
            agent: card.agent().to_string(),
            conversation_id: card.conversation().to_string(),
            native_ids: card.natives.iter().map(ToString::to_string).collect(),
            home: card.record.home.to_string(),
            title: card.title.clone(),
            links: card.links.iter().map(LinkJson::from).collect(),
            resume: card.resume.clone(),
        }
    }
}

/// A manual attribution, recorded alongside the evidence.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AdoptionClaim {
    session: String,
    by: String,
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
}

/// A commit that git made another one from.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommitOrigin {
    commit: String,
    /// The commit that git made from it: the requested one, or another of its origins.
    became: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    committer: CommitterKind,
    /// The session that ran `git commit`, if a session did.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    verdict: Verdict,
    /// Whether the resulting commit makes the same change; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_change: Option<bool>,
}

impl From<&Origin> for CommitOrigin {
    fn from(origin: &Origin) -> Self {
        let (committer, session) = kind_of(origin.judgement.committer);
        Self {
            commit: origin.commit.to_string(),
            became: origin.became.to_string(),
            subject: origin.subject.clone(),
            checkpoint: origin.checkpoint.map(|c| c.to_string()),
            committer,
            session: session.map(|s| s.to_string()),
            verdict: origin.judgement.verdict.into(),
            same_change: origin.same_change,
        }
    }
}

const fn kind_of(committer: Committer) -> (CommitterKind, Option<SessionId>) {
    match committer {
        Committer::Session { session } => (CommitterKind::Session, Some(session)),
        Committer::Human => (CommitterKind::Human, None),
        Committer::Unknown => (CommitterKind::Unknown, None),
    }
}

/// The record of a commit in one repository.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Commit {
    commit: String,
    repository: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    committer: CommitterKind,
    /// The session that ran `git commit`, if a session did.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    verdict: Verdict,
    evidence: Vec<Evidence>,
    /// Sessions that may have made it; the order has no meaning.
    candidates: Vec<String>,
    authors: Vec<Author>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<AdoptionClaim>,
    /// Standing attestations by trusted platforms, as in `evidence`.
    attestations: Vec<Attestation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    rewritten_from: Vec<String>,
    /// Commits that git made this one from, such as by amend or rebase, nearest first, and their own origins.
    origins: Vec<CommitOrigin>,
    /// All sessions named in the response, with their links.
    sessions: Vec<NamedSession>,
}

/// A recorded commit of a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommitSummary {
    commit: String,
    repository: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    committer: CommitterKind,
    /// The session that ran `git commit`, if a session did.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    /// When it was recorded.
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
}

impl CommitSummary {
    pub(crate) fn new(record: &CommitRecord, repository: String) -> Self {
        let (committer, session) = kind_of(record.judgement.committer);
        let subject = record.facts.as_ref().map(|facts| facts.subject.clone());
        Self {
            commit: record.commit.to_string(),
            repository,
            subject: subject.filter(|subject| !subject.is_empty()),
            committer,
            session: session.map(|s| s.to_string()),
            verdict: record.judgement.verdict.into(),
            checkpoint: record.checkpoint.map(|c| c.to_string()),
            at: record.at.to_string(),
        }
    }
}

/// A page of recorded commits.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommitSummaryList {
    /// The commits, newest first.
    pub(crate) items: Vec<CommitSummary>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// The records of a commit, one for each repository.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommitList {
    pub(crate) items: Vec<Commit>,
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

impl Commit {
    pub(crate) fn from_why(why: &Why, repository: String) -> Self {
        let (committer, session) = kind_of(why.judgement.committer);
        let subject = Some(why.facts.subject.clone()).filter(|s| !s.is_empty());
        Self {
            commit: why.facts.commit.to_string(),
            repository,
            subject,
            committer,
            session: session.map(|s| s.to_string()),
            verdict: why.judgement.verdict.into(),
            evidence: why.judgement.evidence.iter().map(Evidence::from).collect(),
            candidates: why
                .judgement
                .candidates
                .iter()
                .map(SessionId::to_string)
                .collect(),
            authors: why.authors.iter().map(Author::from).collect(),
            claim: why.claim.as_ref().map(|claim| AdoptionClaim {
                session: claim.session.to_string(),
                by: claim.by.clone(),
                at: claim.at.to_string(),
            }),
            attestations: why.attestations.iter().map(Attestation::from).collect(),
            checkpoint: why.checkpoint.map(|c| c.to_string()),
            rewritten_from: why.rewritten_from.iter().map(Oid::to_string).collect(),
            origins: why.origins.iter().map(CommitOrigin::from).collect(),
            sessions: why.sessions.values().map(NamedSession::from).collect(),
        }
    }
}
