//! `siglum checkpoint`: one file per verb.

pub mod list;
pub mod show;

use siglum_ledger::CheckpointKind;

use crate::cx::Cx;
use crate::error::CommandError;

/// List and show checkpoints
#[derive(clap::Subcommand)]
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
