//! `siglum heartbeat remove`.

use serde::Serialize;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_engine::driven::heartbeat;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.remove/1";

/// Remove a heartbeat
///
/// Records of its ticks are kept until their retention ends.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Remove a heartbeat
    siglum heartbeat remove triage

  Stop it for a while instead
    siglum heartbeat pause triage")]
pub struct Args {
    /// Heartbeat name
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: HeartbeatName,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    heartbeat: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    heartbeat::remove(&*cx.world()?, ledger.as_mut(), &args.name, &cx.person())?;
    let heartbeat = args.name.to_string();
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json { heartbeat });
    }
    cx.ui.status(format!("Removed heartbeat {heartbeat}."));
    Ok(())
}
