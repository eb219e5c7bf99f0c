//! `siglum config set`: changes a setting of the user.

use std::path::PathBuf;

use serde::Serialize;

use super::file::UserFile;
use super::key;
use crate::config::{Key, Origin};
use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.config.set/1";

/// Set a value in the user's configuration file
///
/// Preserves the comments and the order of the file.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Do not add trailers to commits
    siglum config set trailer false

  Always use colours
    siglum config set color always")]
pub struct Args {
    /// Setting, as listed by `siglum config list`
    #[arg(value_name = "SETTING")]
    name: String,
    /// Value
    value: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    name: String,
    value: String,
    /// The file that was written.
    file: String,
    /// What wins over the user's file for this setting: `repository` or `environment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    overridden_by: Option<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let key = key(&args.name)?;
    key.check(&args.value).map_err(CommandError::usage)?;
    let path = write(key, &args.value)?;
    let over = cx
        .config
        .find(key.name)
        .map(|v| v.origin)
        .filter(|o| matches!(o, Origin::Repository | Origin::Environment));
    if cx.ui.json {
        let json = Json {
            name: key.name.to_owned(),
            value: args.value.clone(),
            file: path.display().to_string(),
            overridden_by: over.map(|o| o.word().to_owned()),
        };
        return cx.ui.json(SCHEMA, json);
    }
    cx.ui.status(format!(
        "Set {} to {} in {}.",
        key.name,
        args.value,
        Cx::tilde(&path)
    ));
    if let Some(over) = over {
        cx.ui.warning(format!(
            "the {} overrides it here: {} is {}",
            over.word(),
            key.name,
            cx.config.get(key.name)
        ));
    }
    Ok(())
}

/// Changes a setting in the user's file. Returns where that is.
pub fn write(key: &Key, value: &str) -> Result<PathBuf, CommandError> {
    let mut file = UserFile::open()?;
    file.set(key, value);
    file.write()
}
