//! `siglum heartbeat pause`.

use serde::Serialize;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_engine::driven::heartbeat::{self, Pause};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.pause/1";

/// Pause a heartbeat
///
/// A paused heartbeat does not run until it is resumed.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Pause a heartbeat
    siglum heartbeat pause triage

  Resume it later
    siglum heartbeat resume triage")]
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
    /// Whether it was so before.
    before: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let message = |changed| match changed {
        true => format!("Paused heartbeat {}.", args.name),
        false => format!(
            "Heartbeat {} is already paused; nothing was changed.",
            args.name
        ),
    };
    change(&args.name, Pause::Paused, SCHEMA, message, cx)
}

/// Pauses a heartbeat, or lets it go on, and tells whether that changed anything.
pub(super) fn change(
    name: &HeartbeatName,
    pause: Pause,
    schema: &'static str,
    message: impl Fn(bool) -> String,
    cx: &Cx,
) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let changed = heartbeat::pause(&*cx.world()?, ledger.as_mut(), name, pause, &cx.person())?;
    if cx.ui.json {
        let answer = Json {
            heartbeat: name.to_string(),
            before: !changed,
        };
        return cx.ui.json(schema, answer);
    }
    cx.ui.status(message(changed));
    Ok(())
}
