//! `siglum config get`: one setting.

use serde::Serialize;

use super::key;
use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.config.get/1";

/// Print the value of a setting
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Whether sessions and commits are recorded
    siglum config get record

  Print the value with its origin, as JSON
    siglum config get trailer --json")]
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
    value: String,
    /// `default`, `user`, `repository` or `environment`.
    origin: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let key = key(&args.name)?;
    let Some(value) = cx.config.find(key.name) else {
        return Ok(());
    };
    if !cx.ui.json {
        return cx.ui.line(&value.value);
    }
    let json = Json {
        name: value.name.to_owned(),
        value: value.value.clone(),
        origin: value.origin.word().to_owned(),
    };
    cx.ui.json(SCHEMA, json)
}
