//! `siglum checkpoint show`.

use serde::Serialize;
use siglum_domain::CheckpointId;
use siglum_domain::link::Link;
use siglum_engine::commits::checkpoints;
use siglum_engine::commits::why::{SessionCard, card};
use siglum_engine::views::find;
use siglum_ledger::{
    CheckpointKind, CheckpointRecord, CommitRecord, Ledger, LedgerError, Transaction, read,
};

use super::list::{Checkpoint, about};
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

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    checkpoint: Checkpoint,
    about: Option<String>,
    /// The commits that are this checkpoint now: an amended or rebased commit keeps it.
    commits: Vec<String>,
}

/// A checkpoint with all that it leads to.
struct CheckpointDetail {
    record: CheckpointRecord,
    about: Option<String>,
    commits: Vec<CommitRecord>,
    pins: Vec<(SessionCard, u64)>,
    links: Vec<Vec<Link>>,
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
            checkpoint: Checkpoint::from_record(&found.record, &found.links),
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
    Ok(Some(CheckpointDetail {
        about: about(tx, &record)?,
        commits: tx.commits_of_checkpoint(id)?,
        links: checkpoints::links(tx, &record)?,
        pins,
        record,
    }))
}

fn print(cx: &Cx, found: &CheckpointDetail) -> Result<(), CommandError> {
    let (ui, record) = (&cx.ui, &found.record);
    let of = match (record.kind, &record.commit) {
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
        ui.paint(Style::Id, record.id.short())
    ))?;
    ui.line("")?;
    let field = |word: &str, text: String| {
        ui.line(format!(
            "{}  {text}",
            ui.paint(Style::Heading, format!("{word:<10}"))
        ))
    };
    field("Checkpoint", record.id.to_string())?;
    field("Made", ui::when(record.at))?;
    if let Some(commit) = &record.commit {
        field("Commit", ui.paint(Style::Id, commit.as_str()))?;
    }
    for commit in &found.commits {
        if Some(&commit.commit) != record.commit.as_ref() {
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
        ui.paint(Style::Agent, card.agent().as_str()),
        ui.paint(Style::Id, card.record.id.short()),
        ui::count(sequence),
        ui::count(card.record.head)
    )
}
