//! `siglum pipeline export`.

use siglum_engine::views::pipeline;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the answer.
pub const SCHEMA: &str = "siglum.pipeline.export/1";

/// Export all records of a pipeline as one JSON document
///
/// Contains events, contracts, reviews, checks, sessions with their links, and commits with their verdicts; without
/// secrets, and with a digest of the whole.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Export a pipeline to stdout
    siglum pipeline export issue-42

  Export it in a script, without status messages
    siglum pipeline export issue-42 --quiet")]
pub struct Args {
    /// Pipeline id
    #[arg(value_name = "ID")]
    id: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let world = cx.world()?;
    let bundle = pipeline::bundle(&world, ledger.as_mut(), &args.id)?;
    cx.ui.json(SCHEMA, bundle)
}
