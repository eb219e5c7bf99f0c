//! `siglum otel remove`.

use serde::Serialize;
use siglum_ledger::{Durability, write};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::otel_headers;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.otel.remove/1";

/// Remove an OTLP endpoint, its stored headers and its backlog
///
/// Data that the endpoint has received stays there.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Stop sending traces to an endpoint
    siglum otel remove phoenix

  Print the result as JSON
    siglum otel remove phoenix --json")]
pub struct Args {
    /// Name of the endpoint
    #[arg(value_name = "NAME")]
    name: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    endpoint: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let (projection, destination) = super::named(&mut ledger, &args.name)?;
    write(&mut ledger, Durability::Disk, |tx| {
        tx.drop_forwards(&projection.name)?;
        tx.drop_projection(&projection.name)
    })?;
    otel_headers::drop_all(&cx.home, &store::secret_name(&ledger, &projection.name));
    let endpoint = destination.endpoint.to_string();
    if cx.ui.json {
        let name = projection.name;
        return cx.ui.json(SCHEMA, Json { name, endpoint });
    }
    cx.ui.status(format!(
        "Removed endpoint {}; data at {endpoint} is kept.",
        projection.name
    ));
    Ok(())
}
