//! `siglum projection skip`.

use serde::Serialize;
use siglum_engine::share::project;
use siglum_engine::views::find;
use siglum_ledger::DESTINATION;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.projection.skip/1";

/// Skip the receipt of a session that a projection rejects
///
/// Delivery continues with the next receipt of the session. Only `siglum rebuild` delivers the skipped one again.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Skip the rejected receipt of a session
    siglum projection skip copies a1b2c3d4

  Print the skipped receipt as JSON
    siglum projection skip copies a1b2c3d4 --json")]
pub struct Args {
    /// Name of the projection
    #[arg(value_name = "NAME")]
    name: String,
    /// Session id, the last digits of it, or the agent's native id
    #[arg(value_name = "SESSION")]
    session: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    session: String,
    /// The receipt that is left out; none where nothing waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<u64>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let projection = super::named(&mut ledger, &args.name)?;
    if projection.kind == DESTINATION {
        return Err(CommandError::failed(
            "cannot skip a receipt of a gateway: it accepts only an unbroken chain",
        ));
    }
    let session = find::session(&mut ledger, &args.session)?;
    let receipt = project::skip(&*cx.world()?, &mut ledger, &projection.name, session)?;
    store::start_worker(cx);
    if cx.ui.json {
        let answer = Json {
            name: projection.name,
            session: session.to_string(),
            receipt,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    cx.ui.status(match receipt {
        Some(n) => format!("Skipped receipt {n} of session {}.", session.short()),
        None => format!("Session {} has no failing receipt there.", session.short()),
    });
    Ok(())
}
