//! The JSON form of an answer.

use serde::Serialize;
use siglum_domain::evidence::{Evidence, Verdict};
use siglum_domain::provenance::Span;
use siglum_domain::{NativeId, SessionId};
use siglum_engine::commits::why::{Author, Why};
use siglum_engine::commits::{origins, prompts};
use siglum_engine::views::session::{ForgottenJson, LinkJson};

use super::explain::ExplanationJson;
use super::line::writer;
use super::warnings::Warning;
use super::{Answer, committer, resume_elsewhere};
use crate::team::SourceJson;

/// The JSON form of an answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    commit: String,
    subject: String,
    git_author: String,
    committed_at: String,
    checkpoint: Option<String>,
    seen_by: Option<String>,
    committer: Party,
    /// The row of the table of evidence that gave the answer, where one did.
    rule: Option<String>,
    candidates: Vec<Party>,
    parents: Vec<Party>,
    authors: Vec<Party>,
    claim: Option<Claim>,
    prompt: Option<Prompt>,
    rewritten_from: Vec<String>,
    /// The commits that git made this one of, the nearest first, and those that they were made of.
    origins: Vec<Origin>,
    same_patch: Vec<String>,
    /// The line that was asked for, if one was.
    line: Option<Line>,
    /// With `--explain`: the rule and what would have changed the answer.
    explanation: Option<ExplanationJson>,
    /// What a reader should know beside the answer.
    warnings: Vec<Warning>,
    /// The gateway that gave the answer; absent where it is from this machine.
    source: Option<SourceJson>,
}

/// One line of a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Line {
    /// The file in the commit.
    path: String,
    /// The number of the line in the commit, from 1.
    number: u32,
    /// Who wrote it.
    author: Party,
    /// What its author was asked.
    prompt: Option<Prompt>,
}

/// Somebody who has a part in a commit.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Party {
    /// `session`, `human` or `unknown`.
    kind: String,
    session: Option<String>,
    conversation_id: Option<String>,
    agent: Option<String>,
    native_ids: Vec<String>,
    title: Option<String>,
    /// What was erased of the session.
    forgotten: Option<ForgottenJson>,
    links: Vec<LinkJson>,
    resume: Option<String>,
    /// The command that resumes it on the machine where it ran, where that is another one.
    resume_elsewhere: Option<String>,
    /// `certain`, `likely`, `ambiguous` or `unknown`.
    verdict: String,
    evidence: Vec<Sign>,
    /// The files with their lines, for authors.
    files: Vec<File>,
    /// How many lines, for authors.
    lines: u64,
}

/// One piece of evidence.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Sign {
    session: Option<String>,
    /// `observed`, `derived`, `inferred`, `claimed` or `attested`.
    basis: String,
    /// Whether it counted for the answer.
    counted: bool,
    text: String,
}

/// Lines of one file: pairs of first and last, both inclusive, from 1.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct File {
    path: String,
    lines: Vec<(u32, u32)>,
}

/// A statement of a person.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Claim {
    session: String,
    by: String,
    at: String,
}

/// A commit that git made another one of.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Origin {
    commit: String,
    /// What git made of it: the commit asked for, or another of its origins.
    became: String,
    subject: Option<String>,
    checkpoint: Option<String>,
    /// Who made it.
    committer: Party,
    /// Whether what became of it makes the same change; absent where that is not known.
    same_change: Option<bool>,
    prompt: Option<Prompt>,
}

/// What was asked.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Prompt {
    /// Which session was asked.
    session: String,
    turn: String,
    text: String,
}

impl Json {
    pub(super) fn from_answer(answer: &Answer) -> Self {
        let (why, line) = (&answer.why, answer.line.as_ref());
        let (kind, session) = committer(&why.judgement);
        let judgement = &why.judgement;
        let others = |ids: &[SessionId]| {
            ids.iter()
                .map(|id| party(why, "session", Some(*id), Verdict::Unknown, &[]))
                .collect()
        };
        Self {
            commit: why.facts.commit.to_string(),
            subject: why.facts.subject.clone(),
            git_author: why.facts.author.clone(),
            committed_at: why.facts.committed.to_string(),
            checkpoint: why.checkpoint.map(|c| c.to_string()),
            seen_by: why.seen_by.map(|s| s.as_str().to_owned()),
            committer: party(why, kind, session, judgement.verdict, &judgement.evidence),
            rule: Some(judgement.rule.clone()).filter(|r| !r.is_empty()),
            candidates: others(&judgement.candidates),
            parents: others(&judgement.outer),
            authors: why.authors.iter().map(|a| author(why, a)).collect(),
            claim: why.claim.as_ref().map(|c| Claim {
                session: c.session.to_string(),
                by: c.by.clone(),
                at: c.at.to_string(),
            }),
            prompt: why.prompt.as_ref().map(Prompt::from_prompt),
            rewritten_from: why.rewritten_from.iter().map(ToString::to_string).collect(),
            origins: why.origins.iter().map(|o| origin(why, o)).collect(),
            line: line.map(|line| Line {
                path: line.path.clone(),
                number: line.line,
                author: match writer(why, line) {
                    Some(found) => author(why, found),
                    None => party(why, "unknown", None, Verdict::Unknown, &[]),
                },
                prompt: answer.author_prompt.as_ref().map(Prompt::from_prompt),
            }),
            same_patch: why.same_patch.iter().map(ToString::to_string).collect(),
            explanation: answer
                .explanation
                .as_ref()
                .map(ExplanationJson::from_explanation),
            warnings: answer.warnings.clone(),
            source: answer.source.as_ref().map(SourceJson::from),
        }
    }
}

fn party(
    why: &Why,
    kind: &str,
    session: Option<SessionId>,
    verdict: Verdict,
    evidence: &[Evidence],
) -> Party {
    let card = session.and_then(|id| why.sessions.get(&id));
    let sign = |e: &Evidence| Sign {
        session: e.session.map(|s| s.to_string()),
        basis: e.basis.to_string(),
        counted: e.counted,
        text: e.text.clone(),
    };
    Party {
        kind: kind.to_owned(),
        session: session.map(|s| s.to_string()),
        conversation_id: card.map(|c| c.conversation().to_string()),
        agent: card.map(|c| c.agent().to_string()),
        native_ids: card
            .map(|c| c.natives.iter().map(NativeId::to_string).collect())
            .unwrap_or_default(),
        title: card.and_then(|c| c.title.clone()),
        forgotten: card
            .and_then(|c| c.record.forgotten)
            .map(ForgottenJson::from_forgotten),
        links: card
            .map(|c| c.links.iter().map(LinkJson::from).collect())
            .unwrap_or_default(),
        resume: card.and_then(|c| c.resume.clone()),
        resume_elsewhere: card.and_then(resume_elsewhere),
        verdict: verdict.to_string(),
        evidence: evidence.iter().map(sign).collect(),
        files: Vec::new(),
        lines: 0,
    }
}

fn author(why: &Why, author: &Author) -> Party {
    let kind = if author.session.is_some() {
        "session"
    } else {
        "unknown"
    };
    let ranges = |spans: &[Span]| spans.iter().map(|s| (s.first, s.last)).collect();
    let files = author
        .files
        .iter()
        .map(|(path, spans)| File {
            path: path.clone(),
            lines: ranges(spans),
        })
        .collect();
    Party {
        files,
        lines: author.lines(),
        ..party(why, kind, author.session, author.verdict, &author.evidence)
    }
}

impl Prompt {
    pub(super) fn from_prompt(prompt: &prompts::Prompt) -> Self {
        Self {
            session: prompt.session.to_string(),
            turn: prompt.turn.to_string(),
            text: prompt.text.clone(),
        }
    }
}

fn origin(why: &Why, origin: &origins::Origin) -> Origin {
    let judgement = &origin.judgement;
    let (kind, session) = committer(judgement);
    Origin {
        commit: origin.commit.to_string(),
        became: origin.became.to_string(),
        subject: origin.subject.clone(),
        checkpoint: origin.checkpoint.map(|c| c.to_string()),
        committer: party(why, kind, session, judgement.verdict, &judgement.evidence),
        same_change: origin.same_change,
        prompt: origin.prompt.as_ref().map(Prompt::from_prompt),
    }
}
