//! `siglum record`: sessions of agents that this program has no hooks for.

use std::io::{self, BufRead as _, Read as _};

use serde::Serialize;
use siglum_agents::{LINE_MOST, LineError, RecordLine};
use siglum_domain::AgentName;
use siglum_domain::process::{Ancestor, is_short_lived};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::hook::AgentProcess;
use crate::hook::recorder::{Recorder, StoreError};
use crate::{platform, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.record/1";

/// Record the sessions of any agent, from JSON Lines on stdin
///
/// For agents that `siglum init` writes no hooks for. The agent, or a program around it, writes a JSON object on each
/// line: a prompt, a tool call, an edit. `docs/record.schema.json` in the source is the schema. An invalid line stops the
/// command and is reported by its number; earlier lines stay stored. To retry, send unconfirmed lines again with the same
/// ids: each line is stored once.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Record what an agent prints
    siglum record --agent my-agent

  Confirm each line, for a script that says which process is the agent
    siglum record --agent my-agent --ack --pid 4711")]
pub struct Args {
    /// Name of the agent: 1 to 64 of the characters a-z 0-9 -
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// Print the number of each line when it is stored
    #[arg(long)]
    ack: bool,
    /// Process that runs the agent, an ancestor of this command; default: the program that started it
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// How many lines were stored, those that were stored before among them.
    stored: u64,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let agent = AgentName::new(args.agent.as_str())
        .map_err(|error| CommandError::usage(format!("--agent: {}", error.rule)))?;
    // Its sessions are its hooks' alone: under its name, lines could add to them, bind them to another process or end them.
    if let Some(own) = siglum_agents::find(agent.as_str()) {
        let refused =
            CommandError::usage(format!("--agent: {} is recorded by its hooks", own.title));
        return Err(refused.hint("Run `siglum init` to install them."));
    }
    let mut recorder = Recorder::new(agent, process_of(args)?);
    let directory = cx.dir.to_string_lossy();
    let (mut number, mut stored) = (0, 0);
    while let Some(line) = next_line()? {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let mut line = RecordLine::parse(&line).map_err(|error| refused(number, &error))?;
        line.work_in(&directory);
        recorder
            .store(&line)
            .map_err(|error| not_stored(number, error))?;
        stored += 1;
        if args.ack {
            cx.ui.line(number.to_string())?;
        }
    }
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json { stored });
    }
    cx.ui
        .status(format!("Stored {}.", ui::plural(stored, "line")));
    Ok(())
}

/// The next line with its end, as much of it as tells whether it is too long; nothing at the end.
fn next_line() -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let most = LINE_MOST as u64 + 2;
    let read = io::stdin().lock().take(most).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Ok((read > 0).then_some(line))
}

/// The process that runs the agent: the one that is named, else the one that started this command, unless that is a shell.
/// Above a shell is whatever it was started from, which may run other things, too. What runs other things is no evidence for
/// what one agent did.
fn process_of(args: &Args) -> Result<AgentProcess, CommandError> {
    let chain = platform::chain();
    let Some(pid) = args.pid else {
        let is_own = |a: &&Ancestor| !is_short_lived(a.program()) && !chain.serves_others(1);
        let parent = chain.ancestors.get(1).filter(is_own);
        return Ok(parent.map_or(AgentProcess::Nobody, |a| {
            AgentProcess::Named(a.identity.pid)
        }));
    };
    let mut ancestors = chain.ancestors.iter();
    match ancestors.position(|a| a.identity.pid == pid) {
        None | Some(0) => Err(CommandError::usage(format!(
            "--pid: process {pid} did not start this command"
        ))),
        Some(depth) if chain.serves_others(depth) => Err(CommandError::usage(format!(
            "--pid: process {pid} also runs programs other than the agent"
        ))),
        Some(_) => Ok(AgentProcess::Named(pid)),
    }
}

fn refused(number: u64, error: &LineError) -> CommandError {
    CommandError::failed(format!("line {number}: {error}"))
        .hint("The lines before it are stored. Correct it, and send it and those after it again.")
}

fn not_stored(number: u64, error: StoreError) -> CommandError {
    match error {
        StoreError::NotRecorded(dir) => CommandError::failed(format!(
            "line {number}: nothing is recorded in {}",
            dir.display()
        ))
        .hint("Run `siglum init` in that repository, or `siglum init --global`."),
        StoreError::SecretId => {
            CommandError::failed(format!("line {number}: an id in it has a secret"))
                .hint("The lines before it are stored. Use ids that are no secrets.")
        }
        StoreError::Lost(spool) => CommandError::failed(format!(
            "line {number}: neither the ledger nor {} can be written to: {}",
            spool.dir.display(),
            spool.source
        ))
        .hint("Check the disk and the permissions of SIGLUM_HOME, and send it again."),
    }
}
