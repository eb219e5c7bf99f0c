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
/// A heartbeat runs an agent every so often, or as a cron expression says, while `siglum serve` runs
/// with `--run` for that agent. Each time that it is due is a tick: it has a session and a context of its
/// own, unless the heartbeat is shared, and its answer goes where the heartbeat says.
#[derive(clap::Subcommand)]
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
