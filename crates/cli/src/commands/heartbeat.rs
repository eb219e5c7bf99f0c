//! `siglum heartbeat`: agents that are run on a schedule. One file per verb.

pub mod add;
pub mod list;
pub mod pause;
pub mod remove;
pub mod resume;
pub mod run;
pub mod show;

use siglum_domain::heartbeat::HeartbeatName;

use crate::cx::Cx;
use crate::error::CommandError;

/// Run agents on a schedule
///
/// A heartbeat runs an agent at an interval or by a cron expression, while `siglum serve` runs with `--run` for
/// that agent. Each scheduled run is a tick: it has a session and a context of its own, unless the heartbeat is
/// shared, and its answer goes to the target of the heartbeat.
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  Run an agent every 30 minutes
    siglum heartbeat add triage --agent claude-code --every 30m --prompt 'Triage new issues'

  When each heartbeat is due, and how its last tick ended
    siglum heartbeat list")]
pub enum Command {
    Add(Box<add::Args>),
    #[command(alias = "ls")]
    List(list::Args),
    Show(show::Args),
    Run(run::Args),
    Pause(pause::Args),
    Resume(resume::Args),
    Remove(remove::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::Add(args) => add::run(args, cx),
        Command::List(args) => list::run(args, cx),
        Command::Show(args) => show::run(args, cx),
        Command::Run(args) => run::run(args, cx),
        Command::Pause(args) => pause::run(args, cx),
        Command::Resume(args) => resume::run(args, cx),
        Command::Remove(args) => remove::run(args, cx),
    }
}

/// Reads what a heartbeat is called; for clap.
fn name(text: &str) -> Result<HeartbeatName, String> {
    HeartbeatName::new(text).map_err(|e| e.rule.to_owned())
}
