//! `siglum heartbeat resume`.

use siglum_domain::heartbeat::HeartbeatName;
use siglum_engine::driven::heartbeat::Pause;

use super::pause::change;
use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.resume/1";

/// Resume a paused heartbeat
///
/// Ticks that it missed are skipped.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Resume a heartbeat
    siglum heartbeat resume triage

  Check when it is due next
    siglum heartbeat show triage")]
pub struct Args {
    /// Heartbeat name
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: HeartbeatName,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let message = |changed| match changed {
        true => format!("Resumed heartbeat {}.", args.name),
        false => format!(
            "Heartbeat {} is not paused; nothing was changed.",
            args.name
        ),
    };
    change(&args.name, Pause::GoesOn, SCHEMA, message, cx)
}
