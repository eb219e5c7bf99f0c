//! `siglum demo`.
use crate::cx::Cx;
use crate::error::CommandError;
/// Stub
#[derive(clap::Args)]
pub struct Args {}
pub fn run(_: &Args, _: &Cx) -> Result<(), CommandError> {
    Ok(())
}
