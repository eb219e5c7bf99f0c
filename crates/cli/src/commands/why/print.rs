//! The form of an answer that people read.

use siglum_domain::SessionId;
use siglum_domain::evidence::{Committer, Verdict};
use siglum_engine::commits::cards::SessionCard;
use siglum_engine::commits::prompts::Prompt;
use siglum_engine::commits::why::Why;
use siglum_gitstore::BlameLine;
use siglum_ledger::SeenBy;

use super::line::writer;
use super::warnings::Warning;
use super::{Answer, committer};
use crate::clock;
use crate::commands::session::page;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Style, Ui};

/// How many origins are shown at most.
const ORIGINS_MOST: usize = 8;
/// What is shown of a title, in columns: where there is room for less, none.
const TITLE_LEAST: usize = 8;
const TITLE_MOST: usize = 60;

/// Writes an answer, about one line of it first if one was asked for.
pub(super) fn print(cx: &Cx, answer: &Answer) -> Result<(), CommandError> {
    let (ui, why) = (&cx.ui, &answer.why);
    if let Some(line) = &answer.line {
        written_by(ui, why, line)?;
        let author = writer(why, line).and_then(|author| author.session);
        print_prompt(ui, answer.author_prompt.as_ref())?;
        print_resume(ui, why, author)?;
        ui.line("")?;
    }
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
                "{}, author {}",
                ui::when(why.facts.committed),
                why.facts.author
            ),
        ) + &checkpoint,
    )?;
    if let Some(source) = &answer.source {
        let (gateway, at) = (&source.gateway, ui::when(source.at));
        ui.line(ui.paint(Style::Dim, format!("from {gateway}, as of {at}")))?;
    }
    ui.line("")?;
    committed_by(ui, why)?;
    claimed(ui, why)?;
    authors(ui, why)?;
    // Of a line, its author's stand there already.
    let is_whole = answer.line.is_none();
    let shown = why.prompt.as_ref().filter(|_| is_whole);
    print_prompt(ui, shown)?;
    origins(ui, why)?;
    lineage(ui, why)?;
    let committer = committer(&why.judgement);
    print_resume(
        ui,
        why,
        committer.filter(|_| is_whole).or(shown.map(|p| p.session)),
    )
}

/// Writes what a reader should know beside the answer.
pub(super) fn warn(cx: &Cx, warnings: &[Warning]) -> Result<(), CommandError> {
    for warning in warnings {
        let text = cx.ui.paint(Style::Warning, &warning.text);
        cx.ui
            .line(format!("{}  {text}", heading(&cx.ui, "Warning")))?;
    }
    Ok(())
}

/// Who wrote the line that was asked for.
fn written_by(ui: &Ui, why: &Why, line: &BlameLine) -> Result<(), CommandError> {
    let found = writer(why, line);
    let who = match found.and_then(|author| author.session) {
        Some(id) => describe(ui, id, why.sessions.get(&id)),
        None => "no author observed".to_owned(),
    };
    let sure = found.map_or(Verdict::Unknown, |author| author.verdict);
    ui.line(format!(
        "{}  {who}  [{}]",
        heading(ui, "Line"),
        verdict(ui, sure)
    ))?;
    let came = format!(
        "            {}:{} came with this commit",
        line.path, line.line
    );
    ui.line(ui.paint(Style::Dim, came))
}

pub(super) fn heading(ui: &Ui, word: &str) -> String {
    ui.paint(Style::Heading, format!("{word:<10}"))
}

/// `claude-code 0a1b2c3d  "Add the parser"  (issue 42)`
pub(super) fn describe(ui: &Ui, id: SessionId, card: Option<&SessionCard>) -> String {
    describe_beside(ui, id, card, 0)
}

/// The same in a line that holds so much more.
fn describe_beside(ui: &Ui, id: SessionId, card: Option<&SessionCard>, more: usize) -> String {
    let Some(card) = card else {
        return ui.paint(Style::Id, id.short());
    };
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
    let forgotten = card
        .record
        .forgotten
        .map(|f| format!("  (forgotten: {})", page::words(f)))
        .unwrap_or_default();
    // What a line has room for beside the agent, the id, the verdict and these.
    let room = ui
        .width()
        .saturating_sub(52 + links.len() + forgotten.len() + more);
    let title = card.title.as_ref().filter(|_| room >= TITLE_LEAST);
    let title = title
        .map(|t| format!("  \"{}\"", ui::one_line(t, room.min(TITLE_MOST))))
        .unwrap_or_default();
    format!(
        "{} {}{title}{links}{forgotten}",
        ui.paint(Style::Agent, card.record.agent_word()),
        ui.paint(Style::Id, id.short())
    )
}

pub(super) fn verdict(ui: &Ui, verdict: Verdict) -> String {
    let style = match verdict {
        Verdict::Certain => Style::Added,
        Verdict::Likely => Style::Time,
        Verdict::Ambiguous | Verdict::Unknown => Style::Warning,
    };
    ui.paint(style, verdict.to_string())
}

pub(super) fn made_by(ui: &Ui, why: &Why, committer: Committer) -> String {
    match committer {
        Committer::Session { session } => describe(ui, session, why.sessions.get(&session)),
        Committer::Human => "a person at a terminal".to_owned(),
        Committer::Unknown => "unknown".to_owned(),
    }
}

fn committed_by(ui: &Ui, why: &Why) -> Result<(), CommandError> {
    let judgement = &why.judgement;
    let who = made_by(ui, why, judgement.committer);
    let sure = match judgement.is_attested() {
        true => ui.paint(Style::Time, "attested"),
        false => verdict(ui, judgement.verdict),
    };
    ui.line(format!("{}  {who}  [{sure}]", heading(ui, "Committer")))?;
    for evidence in &judgement.evidence {
        let committer = committer(&why.judgement);
        let of = evidence
            .session
            .filter(|s| Some(*s) != committer)
            .map(|s| format!(" ({})", s.short()))
            .unwrap_or_default();
        let mark = if evidence.counted { "+" } else { "·" };
        let basis = evidence.basis.to_string();
        let room = ui.width().saturating_sub(16 + basis.len());
        let lines = ui::wrap(&format!("{mark} {}{of}", evidence.text), room);
        for (at, line) in (1..).zip(&lines) {
            let indent = if at == 1 {
                "            "
            } else {
                "              "
            };
            let end = match at == lines.len() {
                true => format!("  {}", ui.paint(Style::Dim, &basis)),
                false => String::new(),
            };
            ui.line(format!("{indent}{line}{end}"))?;
        }
    }
    if judgement.evidence.is_empty() {
        let text = match why.seen_by {
            Some(SeenBy::Hook | SeenBy::Rewrite) => "no agent or person observed above git",
            _ => "no hook observed this commit",
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
        "{}  {who}  claimed by {} on {}",
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
        let lines = ui::plural(author.lines(), "line");
        let who = match author.session {
            Some(id) => describe_beside(ui, id, why.sessions.get(&id), lines.len()),
            None => "no author observed".to_owned(),
        };
        ui.line(format!(
            "{word}  {who}  {lines}  [{}]",
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

/// How a session goes on.
fn print_resume(ui: &Ui, why: &Why, session: Option<SessionId>) -> Result<(), CommandError> {
    match session.and_then(|id| why.sessions.get(&id)) {
        Some(card) => resume_of(ui, card),
        None => Ok(()),
    }
}

pub(super) fn resume_of(ui: &Ui, card: &SessionCard) -> Result<(), CommandError> {
    let heading = heading(ui, "Resume");
    match (&card.resume, card.resume_elsewhere()) {
        (Some(resume), _) => ui.line(format!("{heading}  {resume}")),
        (None, Some(resume)) => {
            ui.line(format!("{heading}  {resume}"))?;
            let home = card.record.home.short();
            let text = format!("            on the machine where it ran (ledger {home})");
            ui.line(ui.paint(Style::Dim, text))
        }
        (None, None) => Ok(()),
    }
}

pub(super) fn print_prompt(ui: &Ui, prompt: Option<&Prompt>) -> Result<(), CommandError> {
    let Some(prompt) = prompt else {
        return Ok(());
    };
    let width = ui.width().saturating_sub(12).clamp(30, 100);
    let lines = ui::wrap(prompt.text.trim(), width);
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
            "            … {} more; `siglum show` shows all of it",
            ui::plural(lines.len() as u64 - 8, "line")
        ))?;
    }
    Ok(())
}

/// The commits that git made this one of, each with who made it.
fn origins(ui: &Ui, why: &Why) -> Result<(), CommandError> {
    for (at, origin) in why.origins.iter().take(ORIGINS_MOST).enumerate() {
        let word = if at == 0 {
            heading(ui, "Origins")
        } else {
            " ".repeat(10)
        };
        let became = if origin.became == why.facts.commit {
            String::new()
        } else {
            format!(", rewritten as {}", origin.became.short())
        };
        let judgement = &origin.judgement;
        ui.line(format!(
            "{word}  {}  {}  [{}]{became}",
            ui.paint(Style::Id, origin.commit.short()),
            made_by(ui, why, judgement.committer),
            verdict(ui, judgement.verdict)
        ))?;
        let change = match origin.same_change {
            Some(true) => "the same change".to_owned(),
            Some(false) => "another change".to_owned(),
            None => String::new(),
        };
        let subject = origin.subject.as_deref().map(|s| ui::one_line(s, 60));
        let parts = [subject.unwrap_or_default(), change];
        let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        if !parts.is_empty() {
            let parts = format!("            {}", parts.join(": "));
            ui.line(ui.paint(Style::Dim, parts))?;
        }
    }
    let more = why.origins.len().saturating_sub(ORIGINS_MOST);
    if more > 0 {
        ui.line(format!(
            "            and {more} more; pass --json for all of them"
        ))?;
    }
    Ok(())
}

fn lineage(ui: &Ui, why: &Why) -> Result<(), CommandError> {
    for other in &why.same_patch {
        ui.line(format!(
            "{}  {} makes the same change",
            heading(ui, "Also"),
            ui.paint(Style::Id, other.short())
        ))?;
    }
    Ok(())
}
