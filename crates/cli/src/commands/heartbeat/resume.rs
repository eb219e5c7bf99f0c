//! `siglum heartbeat resume`.

use siglum_domain::heartbeat::HeartbeatName;
use siglum_engine::heartbeat::Pause;

use super::pause::change;
use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.resume/1";

/// Let a heartbeat go on that was paused; what it missed is left out
#[derive(clap::Args)]
pub struct Args {
    /// The heartbeat
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: HeartbeatName,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let told = |changed| match changed {
        true => format!("Heartbeat {} goes on.", args.name),
        false => format!(
            "Heartbeat {} was not paused; nothing was changed.",
            args.name
        ),
    };
    change(&args.name, Pause::GoesOn, SCHEMA, told, cx)
}
