//! `siglum config`: the settings, where they come from, and changing them.

pub mod get;
pub mod list;
pub mod path;
pub mod set;
pub mod unset;

mod file;

use crate::config::{KEYS, Key};
use crate::cx::Cx;
use crate::error::CommandError;

/// Show and change settings
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  List all settings
    siglum config list

  Do not add trailers to commits
    siglum config set trailer false")]
pub enum Command {
    #[command(alias = "ls")]
    List(list::Args),
    Get(get::Args),
    Set(set::Args),
    Unset(unset::Args),
    Path(path::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(args, cx),
        Command::Get(args) => get::run(args, cx),
        Command::Set(args) => set::run(args, cx),
        Command::Unset(args) => unset::run(args, cx),
        Command::Path(args) => path::run(args, cx),
    }
}

/// The setting of a name.
fn key(name: &str) -> Result<&'static Key, CommandError> {
    Key::find(name).ok_or_else(|| {
        let known: Vec<&str> = KEYS.iter().map(|k| k.name).collect();
        CommandError::usage(format!("unknown setting `{name}`"))
            .hint(format!("Use one of {}.", known.join(", ")))
    })
}
