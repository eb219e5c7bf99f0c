//! The arguments of `siglum demo`, and which part this process plays.

use std::path::PathBuf;

use super::sandbox::Part;
use super::{agent, person, play, stage};
use crate::cx::Cx;
use crate::error::CommandError;

/// Simulate two agents and a person in a throw-away repository
///
/// Then shows who made which commit. Needs only git, uses no network, and touches nothing outside a temporary
/// directory.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Run the demo
    siglum demo

  Keep the repository and its ledger for a closer look
    siglum demo --keep")]
pub struct Args {
    /// Keep the directory and print its path
    #[arg(long)]
    keep: bool,
    /// Part that this process plays
    #[arg(long, hide = true, value_enum, requires = "at")]
    part: Option<Part>,
    /// Directory of the demo; for the person, the terminal
    #[arg(long, hide = true, value_name = "PATH")]
    at: Option<PathBuf>,
    /// Process to detach from
    #[arg(long, hide = true, value_name = "PID")]
    from: Option<i32>,
}

/// Plays the part that the arguments name, or all of it.
pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let at = args.at.clone().unwrap_or_default();
    match args.part {
        None => play::run(args.keep, cx),
        Some(Part::Usher) => stage::usher(at),
        Some(Part::Stage) => stage::run(cx, at, args.from),
        Some(Part::Agent) => agent::run(cx, at),
        Some(Part::Terminal) => person::open(&at),
        Some(Part::Person) => person::run(&at),
        Some(Part::Script) => stage::run_script(at),
    }
}
