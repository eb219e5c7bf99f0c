//! Commits as they are sent: one form of each answer, for the command line, MCP and the API.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::Serialize;
use siglum_domain::SessionId;
use siglum_domain::evidence::{Attestation, Basis, Committer, Evidence, Judgement, Verdict};

use super::commit_log::{CommitLog, Lines, LoggedCommit};
use super::session::{ForgottenJson, LinkJson};
use crate::commits::cards::SessionCard;
use crate::commits::origins::Origin;
use crate::commits::prompts::Prompt;
use crate::commits::why::{Author, Claim, Why};

/// How sure an answer is: `certain` (two independent signs agree), `likely` (there is one sign), `ambiguous` (the evidence
/// contradicts itself, or fits several sessions) or `unknown` (there is no evidence).
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VerdictJson {
    Certain,
    Likely,
    Ambiguous,
    Unknown,
}

impl From<Verdict> for VerdictJson {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Certain => Self::Certain,
            Verdict::Likely => Self::Likely,
            Verdict::Ambiguous => Self::Ambiguous,
            Verdict::Unknown => Self::Unknown,
        }
    }
}

/// Who has a part in a commit: a session, a person (`human`), or nobody knows who.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PartyKind {
    Session,
    Human,
    Unknown,
}

const fn kind_of(committer: Committer) -> (PartyKind, Option<SessionId>) {
    match committer {
        Committer::Session { session } => (PartyKind::Session, Some(session)),
        Committer::Human => (PartyKind::Human, None),
        Committer::Unknown => (PartyKind::Unknown, None),
    }
}

/// How a piece of evidence came about: `observed` (seen while it happened), `derived` (found by comparing content),
/// `inferred` (concluded by a named rule), `claimed` (by a trailer, a note or a person) or `attested` (stated by a trusted
/// platform, with its own token).
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EvidenceBasis {
    Observed,
    Derived,
    Inferred,
    Claimed,
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

/// Who made a commit, who wrote its lines, and how that is known.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CommitJson {
    commit: String,
    /// The repository that it is recorded for: its git directory, the name that others gave it, or its id.
    repository: String,
    /// As git has it; absent until git was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// As git has it; absent until git was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    git_author: Option<String>,
    /// As git has it; absent until git was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    /// How it was noticed: `hook`, `rewrite`, `tool`, `sweep` or `import`; absent if nothing noticed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_by: Option<String>,
    committer: PartyJson,
    /// The row of the table of evidence that gave the answer, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// Sessions that may have made it.
    candidates: Vec<PartyJson>,
    /// The sessions that started the committer, nearest first.
    parents: Vec<PartyJson>,
    /// Who wrote its lines, those with most lines first.
    authors: Vec<PartyJson>,
    /// What a person says, beside the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimJson>,
    /// Standing attestations by trusted platforms, as in the evidence of the committer.
    attestations: Vec<AttestationJson>,
    /// What led to it: the prompt of who made it, and where that is no session, of who wrote most of its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<PromptJson>,
    rewritten_from: Vec<String>,
    /// The commits that git made this one from, such as by amend or rebase, nearest first, and their own origins.
    origins: Vec<OriginJson>,
    /// Commits that make the same change.
    same_patch: Vec<String>,
}

/// Somebody who has a part in a commit.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PartyJson {
    kind: PartyKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Native ids, oldest first.
    native_ids: Vec<String>,
    /// The ledger that alone extends the log of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// What was erased of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    forgotten: Option<ForgottenJson>,
    /// The current links of the session.
    links: Vec<LinkJson>,
    /// The command that resumes the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
    /// The command that resumes it on the machine where it ran, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_elsewhere: Option<String>,
    verdict: VerdictJson,
    evidence: Vec<EvidenceJson>,
    /// The files with their lines, for authors.
    files: Vec<FileJson>,
    /// How many lines, for authors.
    lines: u64,
}

/// A piece of evidence.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct EvidenceJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    basis: EvidenceBasis,
    /// Whether it counted for the verdict.
    counted: bool,
    text: String,
}

/// Lines of one file.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct FileJson {
    path: String,
    /// Pairs of first and last, both inclusive, from 1.
    lines: Vec<[u32; 2]>,
}

/// A statement of a person, beside the evidence.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct ClaimJson {
    session: String,
    by: String,
    at: String,
}

/// A trusted platform's statement that a session made a commit.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct AttestationJson {
    session: String,
    /// Id of the token that it was stated with.
    token: String,
    /// Name of that token.
    token_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    /// When it was stated.
    at: String,
    /// When the token was revoked, if it was: later than `at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_revoked_at: Option<String>,
}

/// What a session was asked.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PromptJson {
    session: String,
    turn: String,
    text: String,
}

/// A commit that git made another one from.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct OriginJson {
    commit: String,
    /// The commit that git made from it: the requested one, or another of its origins.
    became: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    committer: PartyJson,
    /// Whether the resulting commit makes the same change; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_change: Option<bool>,
    /// What led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<PromptJson>,
}

impl CommitJson {
    /// The answer; `repository` is what its repository is called.
    #[must_use]
    pub fn from_why(why: &Why, repository: String) -> Self {
        let judgement = &why.judgement;
        let git = Some(&why.facts).filter(|facts| is_from_git(&facts.author, &facts.subject));
        let others = |ids: &[SessionId]| -> Vec<PartyJson> {
            let party = |id| PartyJson::new(why, PartyKind::Session, Some(id), Verdict::Unknown);
            ids.iter().copied().map(party).collect()
        };
        Self {
            commit: why.facts.commit.to_string(),
            repository,
            subject: git.map(|facts| facts.subject.clone()),
            git_author: git.map(|facts| facts.author.clone()),
            committed_at: git.map(|facts| facts.committed.to_string()),
            checkpoint: why.checkpoint.map(|c| c.to_string()),
            seen_by: why.seen_by.map(|s| s.as_str().to_owned()),
            committer: PartyJson::committer(why, judgement),
            rule: Some(judgement.rule.clone()).filter(|rule| !rule.is_empty()),
            candidates: others(&judgement.candidates),
            parents: others(&judgement.outer),
            authors: why
                .authors
                .iter()
                .map(|author| PartyJson::author(why, Some(author)))
                .collect(),
            claim: why.claim.as_ref().map(ClaimJson::from),
            attestations: why.attestations.iter().map(AttestationJson::from).collect(),
            prompt: why.prompt.as_ref().map(PromptJson::from),
            rewritten_from: why.rewritten_from.iter().map(ToString::to_string).collect(),
            origins: why
                .origins
                .iter()
                .map(|origin| OriginJson::new(why, origin))
                .collect(),
            same_patch: why.same_patch.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Whether git was asked: an answer from the ledger alone may know the id of a commit, and nothing else of it.
fn is_from_git(author: &str, subject: &str) -> bool {
    !author.is_empty() || !subject.is_empty()
}

impl PartyJson {
    fn new(why: &Why, kind: PartyKind, session: Option<SessionId>, verdict: Verdict) -> Self {
        let card = session.and_then(|id| why.sessions.get(&id));
        Self {
            kind,
            session: session.map(|id| id.to_string()),
            conversation_id: card.map(|c| c.conversation().to_string()),
            agent: card.and_then(|c| c.record.agent.as_ref().map(ToString::to_string)),
            native_ids: card
                .map(|c| c.natives.iter().map(ToString::to_string).collect())
                .unwrap_or_default(),
            home: card.map(|c| c.record.home.to_string()),
            title: card.and_then(|c| c.title.clone()),
            forgotten: card
                .and_then(|c| c.record.forgotten)
                .map(ForgottenJson::from_forgotten),
            links: card
                .map(|c| c.links.iter().map(LinkJson::from).collect())
                .unwrap_or_default(),
            resume: card.and_then(|c| c.resume.clone()),
            resume_elsewhere: card.and_then(SessionCard::resume_elsewhere),
            verdict: verdict.into(),
            evidence: Vec::new(),
            files: Vec::new(),
            lines: 0,
        }
    }

    fn committer(why: &Why, judgement: &Judgement) -> Self {
        let (kind, session) = kind_of(judgement.committer);
        Self {
            evidence: judgement.evidence.iter().map(EvidenceJson::from).collect(),
            ..Self::new(why, kind, session, judgement.verdict)
        }
    }

    /// Who wrote some lines; nobody knows who if there is no author.
    #[must_use]
    pub fn author(why: &Why, author: Option<&Author>) -> Self {
        let Some(author) = author else {
            return Self::new(why, PartyKind::Unknown, None, Verdict::Unknown);
        };
        let kind = match author.session {
            Some(_) => PartyKind::Session,
            None => PartyKind::Unknown,
        };
        let files = author.files.iter().map(|(path, spans)| FileJson {
            path: path.clone(),
            lines: spans.iter().map(|s| [s.first, s.last]).collect(),
        });
        Self {
            evidence: author.evidence.iter().map(EvidenceJson::from).collect(),
            files: files.collect(),
            lines: author.lines(),
            ..Self::new(why, kind, author.session, author.verdict)
        }
    }
}

impl From<&Evidence> for EvidenceJson {
    fn from(evidence: &Evidence) -> Self {
        Self {
            session: evidence.session.map(|s| s.to_string()),
            basis: evidence.basis.into(),
            counted: evidence.counted,
            text: evidence.text.clone(),
        }
    }
}

impl From<&Claim> for ClaimJson {
    fn from(claim: &Claim) -> Self {
        Self {
            session: claim.session.to_string(),
            by: claim.by.clone(),
            at: claim.at.to_string(),
        }
    }
}

impl From<&Attestation> for AttestationJson {
    fn from(attestation: &Attestation) -> Self {
        Self {
            session: attestation.session.to_string(),
            token: attestation.token.to_string(),
            token_name: attestation.name.clone(),
            platform: attestation.platform.as_ref().map(ToString::to_string),
            at: attestation.at.to_string(),
            token_revoked_at: attestation.revoked_at.map(|at| at.to_string()),
        }
    }
}

impl From<&Prompt> for PromptJson {
    fn from(prompt: &Prompt) -> Self {
        Self {
            session: prompt.session.to_string(),
            turn: prompt.turn.to_string(),
            text: prompt.text.clone(),
        }
    }
}

impl OriginJson {
    fn new(why: &Why, origin: &Origin) -> Self {
        Self {
            commit: origin.commit.to_string(),
            became: origin.became.to_string(),
            subject: origin.subject.clone(),
            checkpoint: origin.checkpoint.map(|c| c.to_string()),
            committer: PartyJson::committer(why, &origin.judgement),
            same_change: origin.same_change,
            prompt: origin.prompt.as_ref().map(PromptJson::from),
        }
    }
}

/// A commit of a list, and who made it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CommitSummaryJson {
    commit: String,
    /// As for one commit; absent where nothing is recorded and the repository is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// As git has it; absent until git was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// As git has it; absent until git was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    git_author: Option<String>,
    /// As git has it; absent until git was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    committed_at: Option<String>,
    /// Whether anything is recorded of it.
    recorded: bool,
    /// When it was recorded here; absent where nothing is, or another ledger answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    committer: CommitterJson,
    /// Whether only trusted platforms name the session: nobody was observed making it.
    attested: bool,
    /// The sessions that could have made it, where that is ambiguous.
    candidates: Vec<String>,
    /// The sessions that made the commits that git made it from, without the one that rewrote them.
    origins: Vec<String>,
    /// What a person says, beside the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimJson>,
    /// Absent until its lines were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<LineCountJson>,
}

/// Who made a commit.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct CommitterJson {
    kind: PartyKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    verdict: VerdictJson,
}

/// Who wrote the lines that a commit added.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct LineCountJson {
    added: u64,
    by_sessions: u64,
    sessions: Vec<SessionLinesJson>,
}

/// The lines of one session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
struct SessionLinesJson {
    session: String,
    lines: u64,
}

impl CommitSummaryJson {
    /// A commit of a log.
    #[must_use]
    pub fn from_log(log: &CommitLog, commit: &LoggedCommit) -> Self {
        let (kind, session) = kind_of(commit.committer);
        let record = session.and_then(|id| log.sessions.get(&id));
        let git = Some(&commit.git).filter(|git| is_from_git(&git.author, &git.subject));
        Self {
            commit: commit.git.commit.to_string(),
            repository: commit.repository.map(|id| log.repository_name(id)),
            subject: git.map(|git| git.subject.clone()),
            git_author: git.map(|git| git.author.clone()),
            committed_at: git.map(|git| git.committed.to_string()),
            recorded: commit.recorded,
            recorded_at: commit.recorded_at.map(|at| at.to_string()),
            checkpoint: commit.checkpoint.map(|c| c.to_string()),
            committer: CommitterJson {
                kind,
                session: session.map(|id| id.to_string()),
                conversation_id: record.map(|r| r.conversation.to_string()),
                agent: record.and_then(|r| r.agent.as_ref().map(ToString::to_string)),
                verdict: commit.verdict.into(),
            },
            attested: commit.is_attested,
            candidates: commit.candidates.iter().map(ToString::to_string).collect(),
            origins: commit.origins.iter().map(ToString::to_string).collect(),
            claim: commit.claim.as_ref().map(ClaimJson::from),
            lines: commit.lines.as_ref().map(LineCountJson::from),
        }
    }
}

impl From<&Lines> for LineCountJson {
    fn from(lines: &Lines) -> Self {
        let sessions = lines
            .sessions
            .iter()
            .map(|(session, lines)| SessionLinesJson {
                session: session.to_string(),
                lines: *lines,
            });
        Self {
            added: lines.all(),
            by_sessions: lines.by_sessions(),
            sessions: sessions.collect(),
        }
    }
}
