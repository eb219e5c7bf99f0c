//! The verbs that record what happens in a pipeline.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;
use siglum_domain::SessionId;
use siglum_domain::pipeline::{CheckEvidence, NewEvent, TEXT_MOST};
use siglum_engine::driven::launch;
use siglum_engine::views::{find, pipeline};
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
    /// Session that records it; default: the session of the enclosing `siglum run`, unless another agent runs there
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Idempotency key: use the same one on each retry, so that it is recorded once
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Record the expected phases of a pipeline, in order
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Plan three phases
    siglum pipeline plan issue-42 plan implement review

  Plan them in a script that may be retried
    siglum pipeline plan issue-42 plan implement --key plan-1")]
pub struct Plan {
    /// Pipeline id
    #[arg(value_name = "ID")]
    id: String,
    /// Phases, in order
    #[arg(required = true, value_name = "PHASE")]
    phases: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Record that a phase starts, waits or ends
#[derive(Subcommand)]
#[command(after_long_help = "\
Examples:
  Record that a phase starts
    siglum pipeline phase start issue-42 implement

  Record that a phase failed
    siglum pipeline phase end issue-42 implement --outcome failed")]
pub enum Phase {
    /// Record that a phase starts or resumes
    ///
    /// If the phase has ended, this starts its next cycle.
    #[command(after_long_help = "\
Examples:
  Start a phase
    siglum pipeline phase start issue-42 implement

  Start it in a script that may be retried
    siglum pipeline phase start issue-42 implement --key implement-1")]
    Start(PhaseArgs),
    /// Record that a phase waits for a person
    #[command(after_long_help = "\
Examples:
  Wait for an approval
    siglum pipeline phase wait issue-42 review

  Record it on behalf of a session
    siglum pipeline phase wait issue-42 review --session a1b2c3d4")]
    Wait(PhaseArgs),
    /// Record that a phase ended
    #[command(after_long_help = "\
Examples:
  Complete a phase
    siglum pipeline phase end issue-42 implement

  Record that a phase failed
    siglum pipeline phase end issue-42 implement --outcome failed")]
    End {
        #[command(flatten)]
        args: PhaseArgs,
        /// Outcome: completed, failed, cancelled or skipped
        #[arg(long, value_name = "OUTCOME", default_value = "completed")]
        outcome: String,
    },
}

#[derive(clap::Args)]
pub struct PhaseArgs {
    /// Pipeline id
    #[arg(value_name = "ID")]
    id: String,
    /// Name of the phase
    #[arg(value_name = "PHASE")]
    phase: String,
    #[command(flatten)]
    common: Common,
}

/// Record the result of a check
///
/// Skipped and errored checks do not count as passed.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Record that the unit tests passed
    siglum pipeline check issue-42 unit-tests passed

  Record a failure with a summary
    siglum pipeline check issue-42 lint failed --phase implement --summary '3 warnings'")]
pub struct Check {
    /// Pipeline id
    #[arg(value_name = "ID")]
    id: String,
    /// Name of the check
    #[arg(value_name = "NAME")]
    name: String,
    /// Result: passed, failed, skipped or errored
    #[arg(value_name = "RESULT")]
    result: String,
    /// Short summary of the result
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
    /// URL of the details, without user name and password
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Commit that was checked
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Phase that it belongs to; default: the phase of the session
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Record a review
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Record an approval
    siglum pipeline review issue-42 approved --role reviewer

  Request changes, with the text of the review
    siglum pipeline review issue-42 changes_requested --file review.md")]
pub struct Review {
    /// Pipeline id
    #[arg(value_name = "ID")]
    id: String,
    /// Verdict: approved, changes_requested or commented
    #[arg(value_name = "VERDICT")]
    verdict: String,
    /// Role of the reviewer
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Name of the contract that the work is validated against
    #[arg(long, value_name = "NAME")]
    contract: Option<String>,
    /// Text of the review
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        conflicts_with = "file"
    )]
    text: Option<String>,
    /// File with the text of the review; - for stdin
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Phase that it belongs to; default: the phase of the session
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Record a contract: an agreed task, interface or plan
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Record a plan from a file
    siglum pipeline contract issue-42 plan --file plan.md

  Record version 2 of an interface from stdin
    siglum pipeline contract issue-42 api --file - --contract-version 2")]
pub struct Contract {
    /// Pipeline id
    #[arg(value_name = "ID")]
    id: String,
    /// Name of the contract
    #[arg(value_name = "NAME")]
    name: String,
    /// File with the text of the contract, up to 64 KiB; - for stdin
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Version of the contract
    #[arg(long, value_name = "VERSION")]
    contract_version: Option<String>,
    /// Phase that it belongs to; default: the phase of the session
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Record that a pipeline ended
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  End a pipeline; its phases decide the outcome
    siglum pipeline end issue-42

  Record that a pipeline was cancelled
    siglum pipeline end issue-42 --outcome cancelled")]
pub struct End {
    /// Pipeline id
    #[arg(value_name = "ID")]
    id: String,
    /// Outcome: completed, failed, cancelled or skipped; default: derived from its phases
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    pipeline: String,
    /// The number of the event within the pipeline.
    number: u64,
    /// Whether it was there already, by its key.
    already: bool,
    /// The session that is said to have recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    let unreadable = |e: io::Error| CommandError::failed(format!("cannot read {name}: {e}"));
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
        .map_err(|_| CommandError::usage(format!("text: {name} is not valid UTF-8")))
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
        "event {} of pipeline {}: {kind}",
        recorded.number,
        ui::one_line(id, 80)
    );
    cx.ui.status(if recorded.already {
        format!("Already recorded: {of}.")
    } else {
        format!("Recorded {of}.")
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
