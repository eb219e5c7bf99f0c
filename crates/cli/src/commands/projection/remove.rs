//! `siglum projection remove`.

use serde::Serialize;
use siglum_engine::share::project::OTLP;
use siglum_ledger::{DESTINATION, Durability, write};

use super::standing;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::{gateway, otel_headers, store};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.projection.remove/1";

/// Remove a projection
///
/// Data that was delivered stays where it is.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Stop delivering to a directory
    siglum projection remove copies

  Forget a gateway
    siglum projection remove team")]
pub struct Args {
    /// Name of the projection
    #[arg(value_name = "NAME")]
    name: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    kind: String,
    target: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let projection = super::named(&mut ledger, &args.name)?;
    write(&mut ledger, Durability::Disk, |tx| {
        tx.drop_forwards(&args.name)?;
        tx.drop_projection(&args.name)
    })?;
    match projection.kind.as_str() {
        DESTINATION => gateway::drop_token(&cx.home, &projection.name),
        OTLP => otel_headers::drop_all(&cx.home, &store::secret_name(&ledger, &projection.name)),
        _ => {}
    }
    let target = standing::target(&projection);
    if cx.ui.json {
        let answer = Json {
            name: projection.name,
            kind: projection.kind,
            target,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    cx.ui.status(format!(
        "Removed projection {}; delivered data is kept in {} {}.",
        projection.name, projection.kind, target
    ));
    Ok(())
}
