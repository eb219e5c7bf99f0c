//! `siglum config unset`: takes a setting of the user back.

use serde::Serialize;

use super::file::UserFile;
use super::key;
use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.config.unset/1";

/// Remove a setting from the user's configuration file
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Restore the default for trailers
    siglum config unset trailer

  Restore the default for colours
    siglum config unset color")]
pub struct Args {
    /// Setting, as listed by `siglum config list`
    #[arg(value_name = "SETTING")]
    name: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    /// Whether it was there.
    removed: bool,
    /// The file.
    file: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let key = key(&args.name)?;
    let mut file = UserFile::open()?;
    let removed = file.unset(key);
    let path = file.write()?;
    if cx.ui.json {
        let json = Json {
            name: key.name.to_owned(),
            removed,
            file: path.display().to_string(),
        };
        return cx.ui.json(SCHEMA, json);
    }
    let file = Cx::tilde(&path);
    cx.ui.status(if removed {
        format!("Removed {} from {file}.", key.name)
    } else {
        format!("{} is not set in {file}; nothing was changed.", key.name)
    });
    Ok(())
}
