//! `siglum checkpoint`: one file per verb.

pub mod list;
pub mod show;

use siglum_ledger::CheckpointKind;

use crate::cx::Cx;
use crate::error::CommandError;

/// List and show checkpoints
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  List this repository's checkpoints
    siglum checkpoint list

  Show a checkpoint by the last digits of its id
    siglum checkpoint show 5be01f37")]
pub enum Command {
    #[command(alias = "ls")]
    List(Box<list::Args>),
    Show(show::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(args, cx),
        Command::Show(args) => show::run(args, cx),
    }
}

/// The word for what a checkpoint is for.
const fn kind(kind: CheckpointKind) -> &'static str {
    match kind {
        CheckpointKind::Commit => "commit",
        CheckpointKind::End => "end",
        CheckpointKind::Manual => "manual",
    }
}
