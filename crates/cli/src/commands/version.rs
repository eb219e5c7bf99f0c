//! `siglum version`: which program this is.

use serde::Serialize;
use siglum_gitstore::MINIMUM_GIT;

use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.version/1";

/// What may be left out of a build, and whether it is in this one.
const FEATURES: &[(&str, bool)] = &[
    ("gateway", cfg!(feature = "gateway")),
    ("grpc", cfg!(feature = "grpc")),
    ("postgres", cfg!(feature = "postgres")),
];

/// Show the version, the built-in features and the ledgers it reads
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the version and the build
    siglum version

  Print them as JSON, for a bug report or a script
    siglum version --json")]
pub struct Args {}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    version: String,
    /// The processor and the system that it was built for, as `x86_64-linux`.
    target: String,
    /// `optimized`, or `debug`.
    build: String,
    /// What is in it: `gateway`, `grpc`, `postgres`.
    features: Vec<String>,
    schema: SchemaJson,
    /// The oldest git that it works with.
    minimum_git: String,
}

/// The schema of the ledgers that it writes. Older ones are brought up to it by the first command.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SchemaJson {
    sqlite: u32,
    /// Absent in a build without PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    postgres: Option<u32>,
}

pub fn run(_: &Args, cx: &Cx) -> Result<(), CommandError> {
    let json = json();
    if cx.ui.json {
        return cx.ui.json(SCHEMA, json);
    }
    cx.ui.line(format!(
        "siglum {} ({}, {})",
        json.version, json.target, json.build
    ))?;
    let schema = &json.schema;
    let postgres = schema.postgres.map(|n| format!(", {n} in PostgreSQL"));
    let rows = [
        ("features", json.features.join(", ")),
        (
            "schema",
            format!(
                "{} in SQLite{}",
                schema.sqlite,
                postgres.unwrap_or_default()
            ),
        ),
        ("git", format!("{} or newer", json.minimum_git)),
    ];
    for (name, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
        cx.ui.line(format!("{name:<10}{text}"))?;
    }
    Ok(())
}

fn json() -> Json {
    let features = FEATURES.iter().filter(|(_, is_in)| *is_in);
    Json {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        build: match cfg!(debug_assertions) {
            true => "debug",
            false => "optimized",
        }
        .to_owned(),
        features: features.map(|(name, _)| (*name).to_owned()).collect(),
        schema: SchemaJson {
            sqlite: siglum_ledger::sqlite::SCHEMA,
            #[cfg(feature = "postgres")]
            postgres: Some(siglum_ledger::postgres::SCHEMA),
            #[cfg(not(feature = "postgres"))]
            postgres: None,
        },
        minimum_git: MINIMUM_GIT.to_string(),
    }
}
