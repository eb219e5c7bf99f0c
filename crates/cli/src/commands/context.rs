//! `siglum context`: routes, their contexts, and why a run sees what it sees. One file per verb.

pub mod explain;
pub mod list;
pub mod show;

use siglum_engine::driven::context::ContextError;

use crate::cx::Cx;
use crate::error::CommandError;

/// Show routes, contexts and the messages that agent runs read
///
/// A route is where an agent's answers go; a context is the conversational state that a run sees. Shows where
/// each context comes from.
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  List the routes
    siglum context list

  Explain a context by its key
    siglum context explain heartbeat:triage")]
pub enum Command {
    #[command(alias = "ls")]
    List(list::Args),
    Show(show::Args),
    Explain(explain::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(args, cx),
        Command::Show(args) => show::run(args, cx),
        Command::Explain(args) => explain::run(args, cx),
    }
}

fn failed(error: ContextError) -> CommandError {
    match error {
        ContextError::NoRoute(_) | ContextError::NoContext(_) => {
            CommandError::not_found(error).hint("Run `siglum context list` to list the routes.")
        }
        ContextError::Turn(siglum_engine::driven::turn::TurnError::Ledger(error)) => error.into(),
        other => CommandError::failed(other),
    }
}
