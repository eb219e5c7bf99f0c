//! `siglum audit verify`.

use serde::Serialize;
use siglum_engine::identity::audit;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Style};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.audit.verify/1";

/// Verify that no audit entry was changed, removed, inserted or moved
///
/// Prints the digest of the last entry. Keep it: it later proves that no entry before it was changed, even if
/// every digest was recomputed. Exits with code 4 if the chain is broken.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Verify the audit log
    siglum audit verify

  Get the digest of the last entry as JSON
    siglum audit verify --json")]
pub struct Args {}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    sound: bool,
    entries: u64,
    /// The digest of the last entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// What is wrong, a thousand at most.
    problems: Vec<ProblemJson>,
}

/// One thing that is wrong.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProblemJson {
    /// The number of the entry.
    number: u64,
    what: String,
}

pub fn run(_: &Args, cx: &Cx) -> Result<(), CommandError> {
    let report = audit::verify(super::ledger(cx)?.as_mut())?;
    show(cx, &report).or_else(CommandError::unless_closed)?;
    match report.count {
        0 => Ok(()),
        n => Err(CommandError::partly(format!(
            "the audit log was changed in {}",
            ui::plural(n, "place")
        ))
        .hint("Keep a copy of the ledger as it is; `siglum restore` restores an earlier backup.")),
    }
}

fn show(cx: &Cx, report: &audit::Report) -> Result<(), CommandError> {
    if cx.ui.json {
        let problem = |flaw: &siglum_domain::audit::Flaw| ProblemJson {
            number: flaw.number,
            what: flaw.to_string(),
        };
        let answer = Json {
            sound: report.is_sound(),
            entries: report.entries,
            digest: report.digest.clone(),
            problems: report.flaws.iter().map(problem).collect(),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    for flaw in &report.flaws {
        cx.ui.line(cx.ui.paint(Style::Warning, flaw.to_string()))?;
    }
    let entries = ui::count(report.entries);
    cx.ui.line(format!("{entries:>12}  audit entries"))?;
    if let Some(digest) = &report.digest {
        cx.ui.line(format!("last digest   {digest}"))?;
    }
    Ok(())
}
