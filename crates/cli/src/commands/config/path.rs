//! `siglum config path`: where settings are written down.

use serde::Serialize;

use crate::config::{repository_file, user_file};
use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.config.path/1";

/// Print the path of the configuration file
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Path of the user's file
    siglum config path

  Path of this repository's file
    siglum config path --repository")]
pub struct Args {
    /// Print the path of this repository's file instead of the user's
    #[arg(long)]
    repository: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
}

impl Json {
    /// The files that count here.
    pub fn current(cx: &Cx) -> Self {
        let here = cx.find_repo().map(|repo| repository_file(repo.worktree()));
        Self {
            user: user_file().display().to_string(),
            repository: here.map(|p| p.display().to_string()),
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json::current(cx));
    }
    let path = if args.repository {
        repository_file(cx.repo()?.worktree())
    } else {
        user_file()
    };
    cx.ui.line(path.display().to_string())
}
