//! `siglum pipeline`: what happened in a pipeline, recorded and seen.

pub mod export;
pub mod list;
pub mod record;
pub mod show;
mod watch;

use std::process::ExitCode;

use crate::cx::Cx;
use crate::error::CommandError;

/// Record what happens in a pipeline, and see it as a graph
///
/// A pipeline is known by the id that its sessions are linked to (`siglum run --pipeline ID`). What its runner
/// knows beside them is recorded here: phases, contracts, reviews, checks. Nothing is started, stopped or held up.
#[derive(clap::Subcommand)]
pub enum Command {
    #[command(alias = "ls")]
    List(list::Args),
    Show(show::Args),
    Export(export::Args),
    Plan(record::Plan),
    #[command(subcommand)]
    Phase(record::Phase),
    Check(record::Check),
    Review(record::Review),
    Contract(record::Contract),
    End(record::End),
}

pub fn run(command: &Command, cx: &Cx) -> Result<ExitCode, CommandError> {
    let done = match command {
        Command::Show(args) => return show::run(args, cx),
        Command::List(args) => list::run(args, cx),
        Command::Export(args) => export::run(args, cx),
        Command::Plan(args) => record::plan(args, cx),
        Command::Phase(command) => record::phase(command, cx),
        Command::Check(args) => record::check(args, cx),
        Command::Review(args) => record::review(args, cx),
        Command::Contract(args) => record::contract(args, cx),
        Command::End(args) => record::end(args, cx),
    };
    done.map(|()| ExitCode::SUCCESS)
}
