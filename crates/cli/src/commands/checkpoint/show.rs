//! `siglum checkpoint show`.

use serde::Serialize;
use siglum_domain::CheckpointId;
use siglum_engine::commits::cards::{SessionCard, card};
use siglum_engine::views::checkpoints::{self, CheckpointJson};
use siglum_engine::views::find;
use siglum_ledger::{CheckpointKind, CommitRecord, Ledger, LedgerError, Transaction, read};

use super::list::about;
use crate::commands::link::words;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Style};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.checkpoint/1";

/// Show a checkpoint and the sessions that it pins
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show a checkpoint by the last digits of its id
    siglum checkpoint show 5be01f37

  Show it as JSON
    siglum checkpoint show 5be01f37 --json")]
pub struct Args {
    /// Checkpoint: its id, or the last digits of it
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let id = find::checkpoint(&mut ledger, &args.checkpoint)?;
    checkpoint(cx, &mut ledger, id)
}

/// The JSON form of the answer: the checkpoint of the API, and what only the command adds.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    #[serde(flatten)]
    checkpoint: CheckpointJson,
    /// The subject of its commit, else what its first session is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// The commits that are this checkpoint now: an amended or rebased commit keeps it.
    commits: Vec<String>,
}

/// A checkpoint with all that it leads to.
struct CheckpointDetail {
    checkpoint: CheckpointJson,
    about: Option<String>,
    commits: Vec<CommitRecord>,
    pins: Vec<(SessionCard, u64)>,
}

/// Shows a checkpoint.
pub fn checkpoint(cx: &Cx, ledger: &mut dyn Ledger, id: CheckpointId) -> Result<(), CommandError> {
    let Some(found) = read(ledger, |tx| detail(tx, id))? else {
        return Err(CommandError::not_found(format!("no checkpoint {id}")));
    };
    if cx.ui.json {
        let commits = found.commits.iter().map(|c| c.commit.to_string());
        let answer = Json {
            commits: commits.collect(),
            checkpoint: found.checkpoint,
            about: found.about,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    print(cx, &found)
}

fn detail(
    tx: &mut dyn Transaction,
    id: CheckpointId,
) -> Result<Option<CheckpointDetail>, LedgerError> {
    let Some(record) = tx.checkpoint(id)? else {
        return Ok(None);
    };
    let mut pins = Vec::with_capacity(record.pins.len());
    for (session, sequence) in &record.pins {
        pins.extend(card(tx, *session)?.map(|c| (c, *sequence)));
    }
    let about = about(tx, &record)?;
    let commits = tx.commits_of_checkpoint(id)?;
    let shown = checkpoints::shown(tx, &[record])?.pop();
    Ok(shown.map(|checkpoint| CheckpointDetail {
        checkpoint,
        about,
        commits,
        pins,
    }))
}

fn print(cx: &Cx, found: &CheckpointDetail) -> Result<(), CommandError> {
    let (ui, checkpoint) = (&cx.ui, &found.checkpoint);
    let of = match (checkpoint.kind, &checkpoint.commit) {
        (CheckpointKind::Commit, Some(commit)) => format!("commit {}", commit.short()),
        (CheckpointKind::Commit, None) => "a commit".to_owned(),
        (CheckpointKind::End, _) => "the end of a session".to_owned(),
        (CheckpointKind::Manual, _) => "a state that a person kept".to_owned(),
    };
    let about = found.about.as_deref().map_or_else(String::new, |about| {
        let room = ui.width().saturating_sub(26 + of.len()).clamp(20, 100);
        format!("  \"{}\"", ui::one_line(about, room))
    });
    ui.line(format!(
        "checkpoint {} of {of}{about}",
        ui.paint(Style::Id, checkpoint.id.short())
    ))?;
    ui.line("")?;
    let field = |word: &str, text: String| {
        ui.line(format!(
            "{}  {text}",
            ui.paint(Style::Heading, format!("{word:<10}"))
        ))
    };
    field("Checkpoint", checkpoint.id.to_string())?;
    field("Made", ui::when(checkpoint.at))?;
    if let Some(commit) = &checkpoint.commit {
        field("Commit", ui.paint(Style::Id, commit.as_str()))?;
    }
    for commit in &found.commits {
        if Some(&commit.commit) != checkpoint.commit.as_ref() {
            let text = format!("{} keeps it", ui.paint(Style::Id, commit.commit.as_str()));
            field("Now", text)?;
        }
    }
    if found.pins.is_empty() {
        field("Pins", "no session".to_owned())?;
    }
    for (card, sequence) in &found.pins {
        field("Pins", pin(cx, card, *sequence))?;
        if !card.links.is_empty() {
            field("Links", words(&card.links))?;
        }
    }
    for (card, _) in &found.pins {
        if let Some(resume) = &card.resume {
            field("Resume", resume.clone())?;
        }
    }
    Ok(())
}

/// `claude-code 0a1b2c3d  up to entry 12 of 20  "Add the parser"`.
fn pin(cx: &Cx, card: &SessionCard, sequence: u64) -> String {
    let ui = &cx.ui;
    let title = card.title.as_deref().map_or_else(String::new, |t| {
        let room = ui.width().saturating_sub(66).clamp(20, 100);
        format!("  \"{}\"", ui::one_line(t, room))
    });
    format!(
        "{} {}  up to entry {} of {}{title}",
        ui.paint(Style::Agent, card.record.agent_word()),
        ui.paint(Style::Id, card.record.id.short()),
        ui::count(sequence),
        ui::count(card.record.head)
    )
}
