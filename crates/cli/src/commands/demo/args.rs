//! The arguments of `siglum demo`, and which part this process plays.

use std::path::PathBuf;

use super::{agent, person, play, stage};
use crate::cx::Cx;
use crate::error::CommandError;

/// Play with two agents and a person in a throw-away repository, and ask who made which commit
///
/// Needs nothing but git, no network, and touches nothing outside of a temporary directory.
#[derive(clap::Args)]
pub struct Args {
    /// Keep the directory, and say where it is
    #[arg(long)]
    keep: bool,
    /// The part that this process plays
    #[arg(long, hide = true, value_enum, requires = "at")]
    part: Option<Part>,
    /// The directory of the play; for the person, the terminal
    #[arg(long, hide = true, value_name = "PATH")]
    at: Option<PathBuf>,
    /// The process to be cut loose from
    #[arg(long, hide = true, value_name = "PID")]
    from: Option<i32>,
}

/// What a process does in the play.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Part {
    /// Starts the stage and ends, so that the stage loses its parent.
    Usher,
    /// Directs the others.
    Stage,
    /// Does what Claude Code would do.
    Agent,
    /// Shows a person a terminal.
    Terminal,
    /// Sits at a terminal.
    Person,
    /// Runs a script without a terminal.
    Script,
}

impl Part {
    /// The word for the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Usher => "usher",
            Self::Stage => "stage",
            Self::Agent => "agent",
            Self::Terminal => "terminal",
            Self::Person => "person",
            Self::Script => "script",
        }
    }
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
