//! `siglum audit`: who did what, or was refused what. One file per verb.

pub mod export;
pub mod list;
pub mod verify;

use siglum_ledger::Ledger;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// List, verify and export the audit log
///
/// The audit log records who did what, or was refused what. `verify` detects entries that were changed.
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  List the actions that were refused in the last week
    siglum audit list --refused --since 7d

  Verify that no entry was changed
    siglum audit verify")]
pub enum Command {
    #[command(alias = "ls")]
    List(list::Args),
    Verify(verify::Args),
    Export(export::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(args, cx),
        Command::Verify(args) => verify::run(args, cx),
        Command::Export(args) => export::run(args, cx),
    }
}

/// The ledger, which nobody creates to look at its audit.
fn ledger(cx: &Cx) -> Result<Box<dyn Ledger>, CommandError> {
    if store::address()?.is_none() && !cx.has_ledger() {
        return Err(CommandError::not_found("there is no ledger yet")
            .hint("Run `siglum init` in a repository to create one."));
    }
    store::open(cx)
}
