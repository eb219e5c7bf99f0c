//! `siglum config`.
use crate::cx::Cx;
use crate::error::CommandError;
/// Stub
#[derive(clap::Subcommand)]
pub enum Command {
    /// Stub
    Stub,
}
pub fn run(_: &Command, _: &Cx) -> Result<(), CommandError> {
    Ok(())
}
