//! The verbs that record what happens in a pipeline.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;
use siglum_domain::SessionId;
use siglum_domain::pipeline::{CheckEvidence, NewEvent, TEXT_MOST};
use siglum_engine::{find, launch, pipeline};
use siglum_ledger::{Ledger, read};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::{claim, platform, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.pipeline.record/1";

/// What all of them take.
#[derive(clap::Args)]
pub struct Common {
    /// The session that records it; inside `siglum run` its own, unless another agent runs there
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// What the caller calls it: the same on each try, so that it is recorded once
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Say which phases are expected, in order
#[derive(clap::Args)]
pub struct Plan {
    /// The pipeline
    #[arg(value_name = "ID")]
    id: String,
    /// The phases
    #[arg(required = true, value_name = "PHASE")]
    phases: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Record that a phase begins, waits or ends
#[derive(Subcommand)]
pub enum Phase {
    /// Record that a phase begins, or goes on; after its end it is the next cycle
    Start(PhaseArgs),
    /// Record that a phase waits for somebody
    Wait(PhaseArgs),
    /// Record that a phase ended
    End {
        #[command(flatten)]
        args: PhaseArgs,
        /// How: completed, failed, cancelled or skipped
        #[arg(long, value_name = "OUTCOME", default_value = "completed")]
        outcome: String,
    },
}

#[derive(clap::Args)]
pub struct PhaseArgs {
    /// The pipeline
    #[arg(value_name = "ID")]
    id: String,
    /// The phase
    #[arg(value_name = "PHASE")]
    phase: String,
    #[command(flatten)]
    common: Common,
}

/// Record the result of a check. Nothing but `passed` counts as passed
#[derive(clap::Args)]
pub struct Check {
    /// The pipeline
    #[arg(value_name = "ID")]
    id: String,
    /// The name of the check
    #[arg(value_name = "NAME")]
    name: String,
    /// passed, failed, skipped or errored
    #[arg(value_name = "RESULT")]
    result: String,
    /// What it says in short
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
    /// Where to read more; without user name and password
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The commit that was checked
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// The phase that it belongs to; else that of the session
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Record a review
#[derive(clap::Args)]
pub struct Review {
    /// The pipeline
    #[arg(value_name = "ID")]
    id: String,
    /// approved, changes_requested or commented
    #[arg(value_name = "VERDICT")]
    verdict: String,
    /// The role that gave it
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The name of the contract that it validates the work against
    #[arg(long, value_name = "NAME")]
    contract: Option<String>,
    /// What was said
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        conflicts_with = "file"
    )]
    text: Option<String>,
    /// The file with what was said; - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The phase that it belongs to; else that of the session
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Record what was agreed on: a task, an interface, a plan
#[derive(clap::Args)]
pub struct Contract {
    /// The pipeline
    #[arg(value_name = "ID")]
    id: String,
    /// The name of the contract
    #[arg(value_name = "NAME")]
    name: String,
    /// The file with its text, up to 64 KiB; - for standard input
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Its version
    #[arg(long, value_name = "VERSION")]
    contract_version: Option<String>,
    /// The phase that it belongs to; else that of the session
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Record that a pipeline ended
#[derive(clap::Args)]
pub struct End {
    /// The pipeline
    #[arg(value_name = "ID")]
    id: String,
    /// How: completed, failed, cancelled or skipped; else its phases tell
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// The JSON form of the answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    pipeline: String,
    /// The number of the event within the pipeline.
    number: u64,
    /// Whether it was there already, by its key.
    already: bool,
    /// The session that is said to have recorded it.
    session: Option<String>,
}

fn event(kind: &str) -> NewEvent {
    NewEvent {
        kind: kind.to_owned(),
        ..NewEvent::default()
    }
}

pub fn plan(args: &Plan, cx: &Cx) -> Result<(), CommandError> {
    let new = NewEvent {
        phases: args.phases.clone(),
        ..event("planned")
    };
    record(cx, &args.id, new, &args.common)
}

pub fn phase(command: &Phase, cx: &Cx) -> Result<(), CommandError> {
    let (args, kind, outcome) = match command {
        Phase::Start(args) => (args, "phase_started", None),
        Phase::Wait(args) => (args, "phase_awaiting", None),
        Phase::End { args, outcome } => (args, "phase_ended", Some(outcome.clone())),
    };
    let new = NewEvent {
        phase: Some(args.phase.clone()),
        outcome,
        ..event(kind)
    };
    record(cx, &args.id, new, &args.common)
}

pub fn check(args: &Check, cx: &Cx) -> Result<(), CommandError> {
    let new = NewEvent {
        phase: args.phase.clone(),
        name: Some(args.name.clone()),
        result: Some(args.result.clone()),
        url: args.url.clone(),
        commit: args.commit.clone(),
        text: args.summary.clone(),
        ..event("check")
    };
    record(cx, &args.id, new, &args.common)
}

pub fn review(args: &Review, cx: &Cx) -> Result<(), CommandError> {
    let text = match &args.file {
        Some(file) => Some(text_of(file)?),
        None => args.text.clone(),
    };
    let new = NewEvent {
        phase: args.phase.clone(),
        verdict: Some(args.verdict.replace('-', "_")),
        role: args.role.clone(),
        contract: args.contract.clone(),
        text,
        ..event("review")
    };
    record(cx, &args.id, new, &args.common)
}

pub fn contract(args: &Contract, cx: &Cx) -> Result<(), CommandError> {
    let new = NewEvent {
        phase: args.phase.clone(),
        name: Some(args.name.clone()),
        version: args.contract_version.clone(),
        text: Some(text_of(&args.file)?),
        ..event("contract")
    };
    record(cx, &args.id, new, &args.common)
}

pub fn end(args: &End, cx: &Cx) -> Result<(), CommandError> {
    let new = NewEvent {
        outcome: args.outcome.clone(),
        ..event("ended")
    };
    record(cx, &args.id, new, &args.common)
}

/// The text of a file, as much of it as tells whether it is too long.
fn text_of(path: &Path) -> Result<String, CommandError> {
    let name = ui::one_line(&path.display().to_string(), 200);
    let unreadable = |e: io::Error| CommandError::failed(format!("{name} cannot be read: {e}"));
    let most = TEXT_MOST as u64 + 1;
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        let file = File::open(path).map_err(unreadable)?;
        file.take(most).read_to_end(&mut bytes)
    }
    .map_err(unreadable)?;
    if bytes.len() > TEXT_MOST {
        return Err(CommandError::usage(format!(
            "text: {name} has more than {TEXT_MOST} bytes"
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| CommandError::usage(format!("text: {name} is no text in UTF-8")))
}

fn record(cx: &Cx, id: &str, new: NewEvent, common: &Common) -> Result<(), CommandError> {
    let world = cx.world()?;
    // A refusal needs no ledger.
    siglum_domain::pipeline::pipeline_id(id)?;
    let new = NewEvent {
        key: common.key.clone(),
        ..new
    };
    siglum_domain::pipeline::take(&new, world.redactor)?;
    let mut ledger = store::open(cx)?;
    let own = own_session(ledger.as_mut())?;
    let session = match &common.session {
        Some(name) => Some(find::session(ledger.as_mut(), name)?),
        None => own,
    };
    // Anybody may name a session; only its launch token shows that this command belongs to it.
    let evidence = match session {
        Some(_) if session == own => CheckEvidence::Session,
        _ => CheckEvidence::Reported,
    };
    let new = NewEvent {
        session,
        evidence,
        ..new
    };
    let kind = new.kind.replace('_', " ");
    let recorded = pipeline::record(&world, ledger.as_mut(), id, &[new], &cx.person(), "cli")?;
    let Some(recorded) = recorded.first() else {
        return Ok(());
    };
    if cx.ui.json {
        let json = Json {
            pipeline: id.to_owned(),
            number: recorded.number,
            already: recorded.already,
            session: session.map(|s| s.to_string()),
        };
        return cx.ui.json(SCHEMA, json);
    }
    let of = format!(
        "{kind} of pipeline {}, event {}",
        ui::one_line(id, 80),
        recorded.number
    );
    cx.ui.status(if recorded.already {
        format!("Recorded before: {of}.")
    } else {
        format!("Recorded: {of}.")
    });
    Ok(())
}

/// The session that `siglum run` handed down to this command.
fn own_session(ledger: &mut dyn Ledger) -> Result<Option<SessionId>, CommandError> {
    let Some(claim) = claim::inherited(None) else {
        return Ok(None);
    };
    let chain = platform::chain();
    Ok(read(ledger, |tx| launch::speaker(tx, &claim, &chain))?)
}
