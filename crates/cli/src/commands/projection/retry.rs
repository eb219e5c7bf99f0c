//! `siglum projection retry`.

use serde::Serialize;
use siglum_engine::share::{project, replica};
use siglum_engine::views::find;
use siglum_ledger::DESTINATION;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::{store, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.projection.retry/1";

/// Retry failed and parked sessions of a projection now
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Retry everything that failed
    siglum projection retry copies

  Retry one session
    siglum projection retry copies a1b2c3d4")]
pub struct Args {
    /// Name of the projection
    #[arg(value_name = "NAME")]
    name: String,
    /// Only this session: its id, the last digits of it, or the agent's native id
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    /// How many sessions are tried.
    sessions: u64,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let projection = super::named(&mut ledger, &args.name)?;
    let session = match &args.session {
        Some(text) => Some(find::session(&mut ledger, text)?),
        None => None,
    };
    if projection.kind == DESTINATION {
        replica::retry(&mut ledger, &projection.name)?;
    }
    let sessions = project::retry(&*cx.world()?, &mut ledger, &projection.name, session)?;
    store::start_worker(cx);
    if cx.ui.json {
        let name = projection.name;
        return cx.ui.json(SCHEMA, Json { name, sessions });
    }
    cx.ui.status(match sessions {
        0 => format!("Projection {} has nothing to retry.", projection.name),
        n => format!("Retrying {} now.", ui::plural(n, "session")),
    });
    Ok(())
}
