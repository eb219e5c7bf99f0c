//! `siglum upgrade --check`: what an upgrade is, and what it does to the ledger. It upgrades nothing, and asks nobody: who
//! installed the program does the one, and the user the other.

mod installation;
mod release;

use std::path::PathBuf;

use serde::Serialize;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store::{self, StoreSchema};

use installation::Installation;
use release::Release;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.upgrade/1";

const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Show how to upgrade siglum, and whether that migrates the ledger
///
/// Reads the location of the program and the schema of the ledger, and changes neither. Makes no network request.
/// Each release ships a file that describes it, `release.json`; `--release` compares it with this program. The guide
/// has the command that fetches the newest one.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show how to upgrade
    siglum upgrade --check

  Compare this program with a release
    siglum upgrade --check --release release.json")]
pub struct Args {
    /// Check only; the upgrade is done with the tool that installed siglum
    #[arg(long, required = true)]
    check: bool,
    /// The release.json of a release; `-` for stdin
    #[arg(long, value_name = "FILE")]
    release: Option<PathBuf>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    version: String,
    /// The program that runs, links followed.
    program: String,
    /// `deb`, `npm`, `npx`, `pipx`, `uv`, `pip`, `homebrew`, `install script`, `cargo`, or `unknown`.
    installed_by: String,
    /// The line that brings the newest release; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    upgrade: Option<String>,
    /// Absent where there is no ledger yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<LedgerJson>,
    /// Absent without `--release`.
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<ReleaseJson>,
}

/// The ledger, and this program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LedgerJson {
    /// The schema that a program must know to work with it.
    schema: u32,
    /// The schema that this program writes.
    known: u32,
    /// `ready`; `waits` for the first command of this program, which migrates it; `too-new` for this program.
    state: String,
}

/// A release, and the ledger.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ReleaseJson {
    version: String,
    is_newer: bool,
    /// The schema that it writes; absent where it does not know this kind of store.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<u32>,
    /// Whether its first command migrates the ledger, which this program cannot open from then on.
    migrates: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let release = args.release.as_deref().map(Release::read).transpose()?;
    let program = std::env::current_exe()?;
    let program = program.canonicalize().unwrap_or(program);
    let installation = Installation::find(&program, &|path| path.exists());
    let ledger = store::schema(cx)?;
    let json = Json {
        version: VERSION.to_owned(),
        program: program.display().to_string(),
        installed_by: installation.name().to_owned(),
        upgrade: installation.upgrade(REPOSITORY),
        release: release.map(|release| compare(&release, ledger)),
        ledger: ledger.map(ledger_json),
    };
    match cx.ui.json {
        true => cx.ui.json(SCHEMA, json),
        false => show(&json, cx),
    }
}

fn ledger_json(ledger: StoreSchema) -> LedgerJson {
    let StoreSchema { found, known } = ledger;
    let state = match found.cmp(&known) {
        std::cmp::Ordering::Less => "waits",
        std::cmp::Ordering::Equal => "ready",
        std::cmp::Ordering::Greater => "too-new",
    };
    LedgerJson {
        schema: found,
        known,
        state: state.to_owned(),
    }
}

fn compare(release: &Release, ledger: Option<StoreSchema>) -> ReleaseJson {
    let schema = match store::is_server() {
        true => release.schema.postgres,
        false => Some(release.schema.sqlite),
    };
    ReleaseJson {
        version: release.version.clone(),
        is_newer: release.is_newer_than(VERSION),
        schema,
        migrates: ledger.is_some_and(|ledger| schema > Some(ledger.found)),
    }
}

fn show(json: &Json, cx: &Cx) -> Result<(), CommandError> {
    cx.ui.line(format!(
        "siglum {}, installed by: {}",
        json.version, json.installed_by
    ))?;
    let mut rows = vec![("program", json.program.clone())];
    rows.push(("ledger", ledger_words(json.ledger.as_ref())));
    rows.extend(json.release.iter().map(|r| ("release", release_words(r))));
    let upgrade = json.upgrade.as_deref();
    let by_hand = "build it from source again, or copy the new program into place";
    rows.push(("upgrade", upgrade.unwrap_or(by_hand).to_owned()));
    for (name, text) in rows {
        cx.ui.line(format!("{name:<10}{text}"))?;
    }
    if json.release.as_ref().is_some_and(|r| r.migrates) {
        cx.ui.hint(match store::is_server() {
            true => "Stop all gateways, then back up the database, to keep a store that this version can read.",
            false => "Run `siglum backup FILE` first to keep a ledger that this version can read.",
        });
    }
    Ok(())
}

fn ledger_words(ledger: Option<&LedgerJson>) -> String {
    let Some(LedgerJson {
        schema,
        known,
        state,
    }) = ledger
    else {
        return "none".to_owned();
    };
    match state.as_str() {
        "ready" => format!("schema {schema}, current"),
        "waits" => format!("schema {schema}; the next command migrates it to {known}"),
        _ => format!("schema {schema}, newer than {known}, the latest of this version"),
    }
}

fn release_words(release: &ReleaseJson) -> String {
    let version = &release.version;
    let age = match release.is_newer {
        true => "newer",
        false => "not newer",
    };
    match release.schema.filter(|_| release.migrates) {
        Some(schema) => {
            format!("{version} is {age}; its first command migrates the ledger to schema {schema}")
        }
        None => format!("{version} is {age}; no migration of the ledger"),
    }
}
