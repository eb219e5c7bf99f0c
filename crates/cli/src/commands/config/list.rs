//! `siglum config list`: all settings with their values and where those come from.

use serde::Serialize;

use super::path;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.config.list/1";

/// List all settings with their values and origins
///
/// An environment variable overrides the repository's `.siglum.toml`, which overrides the user's file.
/// A repository can only switch things off.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the settings that apply here
    siglum config list

  List those of another repository
    siglum -C ../app config list")]
pub struct Args {}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    settings: Vec<Setting>,
    files: path::Json,
}

/// One setting.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Setting {
    name: String,
    value: String,
    /// `default`, `user`, `repository` or `environment`.
    origin: String,
    help: String,
}

pub fn run(_: &Args, cx: &Cx) -> Result<(), CommandError> {
    if cx.ui.json {
        let settings = cx.config.values.iter().map(|v| Setting {
            name: v.name.to_owned(),
            value: v.value.clone(),
            origin: v.origin.word().to_owned(),
            help: v.help.to_owned(),
        });
        let json = Json {
            settings: settings.collect(),
            files: path::Json::current(cx),
        };
        return cx.ui.json(SCHEMA, json);
    }
    let mut table = Table::new(vec!["SETTING", "VALUE", "FROM", "MEANING"]);
    for value in &cx.config.values {
        table.row(vec![
            Cell::styled(Style::Id, value.name),
            Cell::plain(&value.value),
            Cell::plain(value.origin.word()),
            Cell::styled(Style::Dim, value.help),
        ]);
    }
    cx.ui.table(&table)
}
