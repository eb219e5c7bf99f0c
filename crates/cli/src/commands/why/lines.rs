//! Lines of a file as it stands in this checkout: who wrote them, committed or not.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::Serialize;
use siglum_domain::evidence::Verdict;
use siglum_domain::{Oid, SessionId};
use siglum_engine::commits::answers::Asker;
use siglum_engine::commits::cards::SessionCard;
use siglum_engine::commits::lines::{self, LineRun, Lines};
use siglum_engine::views::commits::{PromptJson, VerdictJson};
use siglum_gitstore::Repo;

use super::line::Target;
use super::print::{describe, heading, print_prompt, resume_of, verdict};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::regular_file;
use crate::team::{Source, SourceJson, Sources, Team};
use crate::ui::{self, Cell, Style, Table, Ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.why-lines/1";

/// A file that is larger is not looked into, in bytes.
const FILE_MOST: u64 = 4 << 20;

/// Lines in a row of which the same is known.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RunJson {
    /// The first, counted from 1 in the file as it stands.
    first: u32,
    /// The last one, inclusive.
    last: u32,
    /// The commit that brought them; absent for lines that are not committed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    /// Who wrote them; absent for lines that nobody was seen writing.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
    /// The command that resumes it on the machine where it ran, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_elsewhere: Option<String>,
    verdict: VerdictJson,
    /// What the session was asked when it wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<PromptJson>,
    /// The gateway that answers for the commit; absent where all this is from this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceJson>,
}

/// The JSON form of an answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Relative to the root of the checkout.
    path: String,
    /// How many lines the file has.
    lines: u32,
    runs: Vec<RunJson>,
}

/// What a text names, if it is `FILE:LINE` or `FILE:FIRST-LAST` of a file that is there.
pub(super) fn target(cx: &Cx, text: &str) -> Result<Option<Target>, CommandError> {
    match split(text) {
        Some((file, range)) => file_of(cx, file, Some(range)),
        None => Ok(None),
    }
}

/// The file that a text names, if there is one.
pub(super) fn whole(cx: &Cx, text: &str) -> Result<Option<Target>, CommandError> {
    file_of(cx, text, None)
}

fn file_of(
    cx: &Cx,
    file: &str,
    range: Option<RangeInclusive<u32>>,
) -> Result<Option<Target>, CommandError> {
    let repo = cx.repo()?;
    let path = cx.dir.join(file);
    if !path.is_file() {
        return Ok(None);
    }
    match repo.relative(&path) {
        Some(path) => Ok(Some(Target { repo, path, range })),
        None => Err(CommandError::usage(format!(
            "{file} is not in this worktree"
        ))),
    }
}

pub(super) fn run(cx: &Cx, target: &Target) -> Result<(), CommandError> {
    let (found, sources) = find(cx, target)?;
    if cx.ui.json {
        return cx.ui.json(SCHEMA, json(&found, &sources));
    }
    match found.runs.as_slice() {
        [run] => print_run(&cx.ui, &found, run, &sources),
        runs => print_table(&cx.ui, &found, runs, &sources),
    }
}

/// The sessions that wrote some lines.
pub(super) fn authors(cx: &Cx, target: &Target) -> Result<Vec<SessionId>, CommandError> {
    let (found, _) = find(cx, target)?;
    let authors: BTreeSet<SessionId> = found.runs.iter().filter_map(|run| run.session).collect();
    Ok(authors.into_iter().collect())
}

fn find(cx: &Cx, target: &Target) -> Result<(Lines, Sources), CommandError> {
    let (mut ledger, repository) = cx.settled()?;
    let team = Team::find(cx, Some(&mut ledger), repository.as_ref().map(|r| r.id))?;
    let repository = match team.is_empty() {
        true => Some(cx.recorded(repository)?),
        false => repository,
    };
    let content = read(&target.repo, &target.path)?;
    let of = (&target.repo, &*target.path, &*content);
    let mut sources = Sources::new();
    let mut ask = |commits: &[Oid]| team.who_made(cx, commits, &mut sources);
    let asker: Option<Asker<'_>> = match team.is_empty() {
        true => None,
        false => Some(&mut ask),
    };
    let (world, range) = (cx.world()?, target.range.clone());
    let found = lines::lines(&world, &mut ledger, repository.as_ref(), of, range, asker)?;
    if found.runs.is_empty() {
        let first = target.range.as_ref().map_or(1, |range| *range.start());
        return Err(CommandError::not_found(format!(
            "{} has no line {first}: it has {}",
            found.path,
            ui::plural(u64::from(found.count), "line")
        )));
    }
    Ok((found, sources))
}

/// The gateway that answers for lines.
fn source<'a>(run: &LineRun, sources: &'a Sources) -> Option<&'a Source> {
    let commit = run.commit.as_ref().filter(|_| run.by_gateway)?;
    sources.get(commit)
}

fn read(repo: &Repo, path: &str) -> Result<Vec<u8>, CommandError> {
    let place = repo.worktree().join(path);
    let content = regular_file::read(&place, FILE_MOST + 1).map_err(CommandError::at(&place))?;
    match content.len() as u64 > FILE_MOST {
        true => Err(CommandError::failed(format!(
            "{path} is larger than {}; edits of such files are not tracked",
            ui::bytes(FILE_MOST)
        ))),
        false => Ok(content),
    }
}

/// All that is known of lines with one answer.
fn print_run(ui: &Ui, found: &Lines, run: &LineRun, sources: &Sources) -> Result<(), CommandError> {
    let who = match run.session {
        Some(id) => describe(ui, id, found.sessions.get(&id)),
        None => "no author observed".to_owned(),
    };
    let word = if run.first == run.last {
        "Line"
    } else {
        "Lines"
    };
    ui.line(format!(
        "{}  {who}  [{}]",
        heading(ui, word),
        verdict(ui, run.verdict)
    ))?;
    let came = match &run.commit {
        Some(commit) => format!("came with {}", commit.short()),
        None => "not committed yet".to_owned(),
    };
    let place = format!("            {}:{}, {came}", found.path, range(run));
    ui.line(ui.paint(Style::Dim, place))?;
    if let Some(source) = source(run, sources) {
        let (gateway, at) = (&source.gateway, ui::when(source.at));
        let from = format!("            from {gateway}, as of {at}");
        ui.line(ui.paint(Style::Dim, from))?;
    }
    print_prompt(ui, run.prompt.as_ref())?;
    match run.session.and_then(|id| found.sessions.get(&id)) {
        Some(card) => resume_of(ui, card),
        None => Ok(()),
    }
}

fn print_table(
    ui: &Ui,
    found: &Lines,
    runs: &[LineRun],
    sources: &Sources,
) -> Result<(), CommandError> {
    let mut header = vec!["LINES", "AUTHOR", "VERDICT", "COMMIT"];
    let has_sources = runs.iter().any(|run| run.by_gateway);
    header.extend(has_sources.then_some("SOURCE"));
    header.push("PROMPT");
    let mut table = Table::new(header);
    for run in runs {
        let card = run.session.and_then(|id| found.sessions.get(&id));
        let author = match (run.session, card) {
            (Some(id), Some(card)) => Cell::styled(
                Style::Agent,
                format!("{} {}", card.record.agent_word(), id.short()),
            ),
            (Some(id), None) => Cell::styled(Style::Id, id.short()),
            (None, _) => Cell::styled(Style::Dim, "not observed"),
        };
        let commit = match &run.commit {
            Some(commit) => Cell::styled(Style::Id, commit.short()),
            None => Cell::plain("not yet"),
        };
        let prompt = run.prompt.as_ref().map_or("", |prompt| &prompt.text);
        let mut row = vec![
            Cell::plain(range(run)),
            author,
            Cell::styled(style(run.verdict), run.verdict.to_string()),
            commit,
        ];
        if has_sources {
            let source = source(run, sources).map(|s| s.gateway.as_str());
            row.push(Cell::styled(Style::Dim, source.unwrap_or_default()));
        }
        row.push(Cell::plain(ui::one_line(prompt, 200)));
        table.row(row);
    }
    ui.line(ui.paint(Style::Heading, &found.path))?;
    ui.table(&table)?;
    let one = runs.iter().find(|run| run.session.is_some());
    if let Some(run) = one {
        ui.hint(format!(
            "Run `siglum why {}:{}` for the details of a line.",
            found.path, run.first
        ));
    }
    Ok(())
}

const fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Certain => Style::Added,
        Verdict::Likely => Style::Time,
        Verdict::Ambiguous | Verdict::Unknown => Style::Dim,
    }
}

fn range(run: &LineRun) -> String {
    match run.first == run.last {
        true => run.first.to_string(),
        false => format!("{}-{}", run.first, run.last),
    }
}

fn json(found: &Lines, sources: &Sources) -> Json {
    let run = |run: &LineRun| {
        let card = run.session.and_then(|id| found.sessions.get(&id));
        RunJson {
            first: run.first,
            last: run.last,
            commit: run.commit.as_ref().map(ToString::to_string),
            session: run.session.map(|id| id.to_string()),
            agent: card.and_then(|card| card.record.agent.as_ref().map(ToString::to_string)),
            title: card.and_then(|card| card.title.clone()),
            resume: card.and_then(|card| card.resume.clone()),
            resume_elsewhere: card.and_then(SessionCard::resume_elsewhere),
            verdict: run.verdict.into(),
            prompt: run.prompt.as_ref().map(PromptJson::from),
            source: source(run, sources).map(SourceJson::from),
        }
    };
    Json {
        path: found.path.clone(),
        lines: found.count,
        runs: found.runs.iter().map(run).collect(),
    }
}

/// `src/a.rs:42`, `src/a.rs:42-50`, `src/a.rs:42,50`.
fn split(text: &str) -> Option<(&str, RangeInclusive<u32>)> {
    let (file, lines) = text.rsplit_once(':')?;
    let (first, last) = lines.split_once(['-', ',']).unwrap_or((lines, lines));
    let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n > 0);
    let range = number(first)?..=number(last)?;
    (!file.is_empty() && !range.is_empty()).then_some((file, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_file_and_numbers() {
        assert_eq!(split("src/a.rs:42"), Some(("src/a.rs", 42..=42)));
        assert_eq!(split("src/a.rs:4-12"), Some(("src/a.rs", 4..=12)));
        assert_eq!(split("a.rs:4,12"), Some(("a.rs", 4..=12)));
        assert_eq!(split("a:b:7"), Some(("a:b", 7..=7)));
        for none in [
            "HEAD",
            "HEAD:a.rs",
            "a.rs:0",
            ":3",
            "a.rs:-1",
            "a.rs:",
            "a.rs:9-3",
            "a.rs:1-2-3",
        ] {
            assert_eq!(split(none), None, "{none}");
        }
    }
}
