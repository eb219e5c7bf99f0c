//! `siglum projection`: who else gets what is committed. One file per verb.

pub mod add;
pub mod list;
pub mod remove;
pub mod retry;
pub mod scope;
pub mod show;
pub mod skip;
pub mod standing;

use siglum_ledger::{Ledger, Projection, read};

use crate::cx::Cx;
use crate::error::CommandError;

/// What the ledger's own tables are called.
pub const SUMMARIES: &str = "summaries";
/// What the search index is called.
pub const SEARCH: &str = "search";

/// Deliver committed turns to a directory or a program
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  Write the sessions of this repository to a directory
    siglum projection add copies --directory ~/copies

  List projections with their lag and failures
    siglum projection list")]
pub enum Command {
    Add(add::Args),
    #[command(alias = "ls")]
    List(list::Args),
    Show(show::Args),
    Retry(retry::Args),
    Scope(scope::Args),
    Skip(skip::Args),
    Remove(remove::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::Add(args) => add::run(args, cx),
        Command::List(args) => list::run(args, cx),
        Command::Show(args) => show::run(args, cx),
        Command::Retry(args) => retry::run(args, cx),
        Command::Scope(args) => scope::run(args, cx),
        Command::Skip(args) => skip::run(args, cx),
        Command::Remove(args) => remove::run(args, cx),
    }
}

/// The projection of this name.
pub fn named(ledger: &mut dyn Ledger, name: &str) -> Result<Projection, CommandError> {
    let known = read(ledger, |tx| tx.projections())?;
    known.into_iter().find(|p| p.name == name).ok_or_else(|| {
        let name = crate::ui::one_line(name, 80);
        CommandError::not_found(format!("no projection `{name}`"))
            .hint("Run `siglum projection list` to list the projections.")
    })
}
