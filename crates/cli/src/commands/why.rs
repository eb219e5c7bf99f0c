//! `siglum why`: who made a commit, who wrote its lines, and how that is known.

use serde::Serialize;
use siglum_domain::evidence::{Committer, Evidence, Verdict};
use siglum_domain::provenance::Span;
use siglum_domain::{NativeId, SessionId};
use siglum_engine::why::{self, Author, SessionCard, Why};
use siglum_ledger::SeenBy;

use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Style, Ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.why/1";

/// Say who made a commit, who wrote its lines, and how that is known
#[derive(clap::Args)]
pub struct Args {
    /// The commit, in any form that git takes
    #[arg(value_name = "COMMIT", default_value = "HEAD")]
    pub commit: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let (mut ledger, repository) = cx.settled()?;
    let commit = cx.commit(&args.commit)?;
    let repository = cx.recorded(repository)?;
    let world = cx.world()?;
    let Some(answer) = why::why(&world, &mut ledger, &repository, &commit)? else {
        return Err(CommandError::not_found(format!(
            "git has no commit {commit} any more"
        )));
    };
    if cx.ui.json {
        cx.ui.json(SCHEMA, Json::of(&answer))
    } else {
        print(cx, &answer)
    }
}

/// The JSON form of an answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    commit: String,
    subject: String,
    git_author: String,
    committed_at: String,
    checkpoint: Option<String>,
    seen_by: Option<String>,
    committer: Party,
    candidates: Vec<Party>,
    parents: Vec<Party>,
    authors: Vec<Party>,
    claim: Option<Claim>,
    prompt: Option<Prompt>,
    rewritten_from: Vec<String>,
    same_patch: Vec<String>,
}

/// Somebody who has a part in a commit.
#[derive(Serialize, schemars::JsonSchema)]
struct Party {
    /// `session`, `human` or `unknown`.
    kind: String,
    session: Option<String>,
    conversation_id: Option<String>,
    agent: Option<String>,
    native_ids: Vec<String>,
    title: Option<String>,
    links: Vec<Link>,
    resume: Option<String>,
    /// `certain`, `likely`, `ambiguous` or `unknown`.
    verdict: String,
    evidence: Vec<Sign>,
    /// The files with their lines, for authors.
    files: Vec<File>,
    /// How many lines, for authors.
    lines: u64,
}

/// A fact attached to a session.
#[derive(Serialize, schemars::JsonSchema)]
struct Link {
    field: String,
    value: String,
}

/// One piece of evidence.
#[derive(Serialize, schemars::JsonSchema)]
struct Sign {
    session: Option<String>,
    /// `observed`, `derived`, `inferred` or `claimed`.
    basis: String,
    /// Whether it counted for the answer.
    counted: bool,
    text: String,
}

/// Lines of one file: pairs of first and last, both inclusive, from 1.
#[derive(Serialize, schemars::JsonSchema)]
struct File {
    path: String,
    lines: Vec<(u32, u32)>,
}

/// A statement of a person.
#[derive(Serialize, schemars::JsonSchema)]
struct Claim {
    session: String,
    by: String,
    at: String,
}

/// What was asked.
#[derive(Serialize, schemars::JsonSchema)]
struct Prompt {
    turn: String,
    text: String,
}

impl Json {
    fn of(why: &Why) -> Self {
        let (kind, session) = committer(why);
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
            seen_by: why.seen_by.map(|s| format!("{s:?}").to_lowercase()),
            committer: party(why, kind, session, judgement.verdict, &judgement.evidence),
            candidates: others(&judgement.candidates),
            parents: others(&judgement.outer),
            authors: why.authors.iter().map(|a| author(why, a)).collect(),
            claim: why.claim.as_ref().map(|c| Claim {
                session: c.session.to_string(),
                by: c.by.clone(),
                at: c.at.to_string(),
            }),
            prompt: why.prompt.as_ref().map(|(turn, text)| Prompt {
                turn: turn.to_string(),
                text: text.clone(),
            }),
            rewritten_from: why.rewritten_from.iter().map(ToString::to_string).collect(),
            same_patch: why.same_patch.iter().map(ToString::to_string).collect(),
        }
    }
}

const fn committer(why: &Why) -> (&'static str, Option<SessionId>) {
    match why.judgement.committer {
        Committer::Session { session } => ("session", Some(session)),
        Committer::Human => ("human", None),
        Committer::Unknown => ("unknown", None),
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
        links: card
            .map(|c| {
                c.links
                    .iter()
                    .map(|l| Link {
                        field: l.field().to_owned(),
                        value: l.value(),
                    })
                    .collect()
            })
            .unwrap_or_default(),
        resume: card.and_then(|c| c.resume.clone()),
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

fn print(cx: &Cx, why: &Why) -> Result<(), CommandError> {
    let ui = &cx.ui;
    ui.line(format!(
        "{}  {}",
        ui.paint(Style::Id, why.facts.commit.short()),
        ui::one_line(&why.facts.subject, 100)
    ))?;
    let checkpoint = why
        .checkpoint
        .map(|c| format!(", checkpoint {}", ui.paint(Style::Id, c.short())))
        .unwrap_or_default();
    ui.line(
        ui.paint(
            Style::Dim,
            format!(
                "{} by git's {}",
                ui::when(why.facts.committed),
                why.facts.author
            ),
        ) + &checkpoint,
    )?;
    ui.line("")?;
    committed_by(ui, why)?;
    claimed(ui, why)?;
    authors(ui, why)?;
    prompt(ui, why)?;
    lineage(ui, why)?;
    if let (_, Some(session)) = committer(why)
        && let Some(resume) = why.sessions.get(&session).and_then(|c| c.resume.as_ref())
    {
        ui.line(format!("{}  {resume}", heading(ui, "Resume")))?;
    }
    Ok(())
}

fn heading(ui: &Ui, word: &str) -> String {
    ui.paint(Style::Heading, format!("{word:<10}"))
}

/// `claude-code 0a1b2c3d  "Add the parser"  (issue 42)`
fn describe(ui: &Ui, id: SessionId, card: Option<&SessionCard>) -> String {
    let Some(card) = card else {
        return ui.paint(Style::Id, id.short());
    };
    let title = card
        .title
        .as_ref()
        .map(|t| format!("  \"{}\"", ui::one_line(t, 60)))
        .unwrap_or_default();
    let links = card
        .links
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let links = if links.is_empty() {
        links
    } else {
        format!("  ({links})")
    };
    format!(
        "{} {}{title}{links}",
        ui.paint(Style::Agent, card.agent().as_str()),
        ui.paint(Style::Id, id.short())
    )
}

fn verdict(ui: &Ui, verdict: Verdict) -> String {
    let style = match verdict {
        Verdict::Certain => Style::Added,
        Verdict::Likely => Style::Time,
        Verdict::Ambiguous | Verdict::Unknown => Style::Warning,
    };
    ui.paint(style, verdict.to_string())
}

fn committed_by(ui: &Ui, why: &Why) -> Result<(), CommandError> {
    let judgement = &why.judgement;
    let who = match judgement.committer {
        Committer::Session { session } => describe(ui, session, why.sessions.get(&session)),
        Committer::Human => "a person at a terminal".to_owned(),
        Committer::Unknown => "nobody knows".to_owned(),
    };
    ui.line(format!(
        "{}  {who}  [{}]",
        heading(ui, "Committer"),
        verdict(ui, judgement.verdict)
    ))?;
    for evidence in &judgement.evidence {
        let (_, committer) = committer(why);
        let of = evidence
            .session
            .filter(|s| Some(*s) != committer)
            .map(|s| format!(" ({})", s.short()))
            .unwrap_or_default();
        let mark = if evidence.counted { "+" } else { "·" };
        ui.line(format!(
            "            {mark} {}{of}  {}",
            evidence.text,
            ui.paint(Style::Dim, evidence.basis.to_string())
        ))?;
    }
    if judgement.evidence.is_empty() {
        let text = match why.seen_by {
            Some(SeenBy::Hook | SeenBy::Rewrite) => "no agent and no person was seen above git",
            _ => "no hook saw this commit",
        };
        ui.line(format!("            · {text}"))?;
    }
    others(ui, why, "Candidates", &judgement.candidates)?;
    others(ui, why, "Parents", &judgement.outer)
}

fn others(ui: &Ui, why: &Why, word: &str, ids: &[SessionId]) -> Result<(), CommandError> {
    for (at, id) in ids.iter().enumerate() {
        let word = if at == 0 {
            heading(ui, word)
        } else {
            " ".repeat(10)
        };
        let seen = why
            .sessions
            .get(id)
            .map(|c| ui::ago(c.record.last_at, clock::now()))
            .unwrap_or_default();
        ui.line(format!(
            "{word}  {}  {}",
            describe(ui, *id, why.sessions.get(id)),
            ui.paint(Style::Dim, seen)
        ))?;
    }
    Ok(())
}

fn claimed(ui: &Ui, why: &Why) -> Result<(), CommandError> {
    let Some(claim) = &why.claim else {
        return Ok(());
    };
    let who = describe(ui, claim.session, why.sessions.get(&claim.session));
    ui.line(format!(
        "{}  {who}  said by {} on {}",
        heading(ui, "Claimed"),
        claim.by,
        ui::when(claim.at)
    ))
}

fn authors(ui: &Ui, why: &Why) -> Result<(), CommandError> {
    for (at, author) in why.authors.iter().enumerate() {
        let word = if at == 0 {
            heading(ui, "Authors")
        } else {
            " ".repeat(10)
        };
        let who = match author.session {
            Some(id) => describe(ui, id, why.sessions.get(&id)),
            None => "nobody was seen writing".to_owned(),
        };
        ui.line(format!(
            "{word}  {who}  {}  [{}]",
            ui::plural(author.lines(), "line"),
            verdict(ui, author.verdict)
        ))?;
        for (path, spans) in author.files.iter().take(20) {
            let ranges: Vec<String> = spans
                .iter()
                .take(8)
                .map(|s| {
                    if s.first == s.last {
                        s.first.to_string()
                    } else {
                        format!("{}-{}", s.first, s.last)
                    }
                })
                .collect();
            let more = if spans.len() > 8 {
                format!(" and {} more", spans.len() - 8)
            } else {
                String::new()
            };
            ui.line(format!("            {path}:{}{more}", ranges.join(",")))?;
        }
        if author.files.len() > 20 {
            ui.line(format!(
                "            and {} more files",
                author.files.len() - 20
            ))?;
        }
    }
    Ok(())
}

fn prompt(ui: &Ui, why: &Why) -> Result<(), CommandError> {
    let Some((_, text)) = &why.prompt else {
        return Ok(());
    };
    let width = ui.width().saturating_sub(12).clamp(30, 100);
    let lines = ui::wrap(text.trim(), width);
    for (at, line) in lines.iter().take(8).enumerate() {
        let word = if at == 0 {
            heading(ui, "Prompt")
        } else {
            " ".repeat(10)
        };
        ui.line(format!("{word}  {line}").trim_end())?;
    }
    if lines.len() > 8 {
        ui.line(format!(
            "            … {} more; `siglum show` has all of it",
            ui::plural(lines.len() as u64 - 8, "line")
        ))?;
    }
    Ok(())
}

fn lineage(ui: &Ui, why: &Why) -> Result<(), CommandError> {
    for old in &why.rewritten_from {
        ui.line(format!(
            "{}  git rewrote {} into this commit",
            heading(ui, "Before"),
            ui.paint(Style::Id, old.short())
        ))?;
    }
    for other in &why.same_patch {
        ui.line(format!(
            "{}  {} makes the same change",
            heading(ui, "Also"),
            ui.paint(Style::Id, other.short())
        ))?;
    }
    Ok(())
}
