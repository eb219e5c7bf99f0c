//! `siglum otel`: servers that get traces. One file per verb.

pub mod add;
pub mod list;
pub mod remove;
pub mod test;
pub mod unassigned;

use siglum_engine::share::otel::destination::Destination;
use siglum_engine::share::project::OTLP;
use siglum_ledger::{Ledger, Projection, read};

use crate::cx::Cx;
use crate::error::CommandError;

/// Export committed turns as traces to OTLP endpoints
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  Send traces to a collector on this machine
    siglum otel add phoenix http://127.0.0.1:6006

  List endpoints with their health and backlog
    siglum otel list")]
pub enum Command {
    Add(add::Args),
    #[command(alias = "ls")]
    List(list::Args),
    Test(test::Args),
    Remove(remove::Args),
    Unassigned(unassigned::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::Add(args) => add::run(args, cx),
        Command::List(args) => list::run(args, cx),
        Command::Test(args) => test::run(args, cx),
        Command::Remove(args) => remove::run(args, cx),
        Command::Unassigned(args) => unassigned::run(args, cx),
    }
}

/// The destination of this name.
fn named(ledger: &mut dyn Ledger, name: &str) -> Result<(Projection, Destination), CommandError> {
    let known = read(ledger, |tx| tx.projections())?;
    let found = known.into_iter().find(|p| p.name == name && p.kind == OTLP);
    let projection = found.ok_or_else(|| {
        let name = crate::ui::one_line(name, 80);
        CommandError::not_found(format!("no OTLP endpoint `{name}`"))
            .hint("Run `siglum otel list` to list the endpoints.")
    })?;
    let destination = Destination::parse(&projection.target).map_err(CommandError::failed)?;
    Ok((projection, destination))
}
