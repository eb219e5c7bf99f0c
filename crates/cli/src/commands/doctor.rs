//! `siglum doctor`: what was not recorded, and why.

mod fix;
mod here;
mod machine;
mod projections;
mod recorded;
mod secrets;
mod server;

use serde::Serialize;
use siglum_domain::Timestamp;

use super::forget::FoundJson;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Style};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.doctor/1";

/// Diagnose gaps in recording and their causes
///
/// Reports the data that was not recorded and why, and the problems that prevent recording. Exits with code 1 if
/// there are problems. For a server store, checks only stored data; run it on each machine to check hooks.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show gaps of the last day
    siglum doctor --since 1d

  Repair what can be repaired
    siglum doctor --fix")]
pub struct Args {
    /// Repair hooks and the binary that they call, and process pending data
    #[arg(long)]
    fix: bool,
    /// Show data that was declined since this time
    #[arg(long, value_name = "TIME", value_parser = crate::time::since, default_value = "7d")]
    since: Timestamp,
    /// Scan all stored data for secrets that the current rules match
    #[arg(long)]
    secrets: bool,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Ok,
    /// Worth knowing.
    Note,
    /// Something is not recorded because of it.
    Problem,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Ok => Style::Added,
            Self::Note => Style::Time,
            Self::Problem => Style::Warning,
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    area: &'static str,
    verdict: Verdict,
    text: String,
    details: Vec<String>,
    remedy: Option<String>,
}

/// What to do where the program can mend it.
const FIX: &str = "Run `siglum doctor --fix` to repair this.";

impl Check {
    fn new(area: &'static str, verdict: Verdict, text: impl Into<String>) -> Self {
        Self {
            area,
            verdict,
            text: text.into(),
            details: Vec::new(),
            remedy: None,
        }
    }

    fn ok(area: &'static str, text: impl Into<String>) -> Self {
        Self::new(area, Verdict::Ok, text)
    }

    fn note(area: &'static str, text: impl Into<String>) -> Self {
        Self::new(area, Verdict::Note, text)
    }

    fn problem(area: &'static str, text: impl Into<String>) -> Self {
        Self::new(area, Verdict::Problem, text)
    }

    fn details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    fn remedy(mut self, text: impl Into<String>) -> Self {
        self.remedy = Some(text.into());
        self
    }
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    problems: usize,
    checks: Vec<CheckJson>,
    /// What `--fix` mended.
    mended: Vec<String>,
    /// What `--secrets` found; never the secret itself.
    secrets: Vec<FoundJson>,
}

/// One thing that was looked at.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CheckJson {
    area: String,
    /// `ok`, `note` or `problem`.
    verdict: String,
    text: String,
    details: Vec<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if args.fix {
        store::refuse_server(
            "doctor --fix",
            "It repairs the hooks and files of a machine.",
        )?;
    }
    let mended = if args.fix { fix::fix(cx) } else { Vec::new() };
    let mut checks = if store::is_server() {
        server::checks(cx)
    } else {
        let mut checks = machine::checks(cx);
        checks.extend(here::checks(cx));
        checks
    };
    checks.extend(recorded::checks(cx, args.since));
    checks.extend(projections::checks(cx));
    let mut secrets = Vec::new();
    if args.secrets {
        let (check, found) = secrets::check(cx);
        checks.extend(check);
        secrets = found;
    }
    let problems = checks
        .iter()
        .filter(|c| c.verdict == Verdict::Problem)
        .count();
    let shown = if cx.ui.json {
        cx.ui.json(SCHEMA, json(checks, mended, problems, secrets))
    } else {
        mended.iter().for_each(|line| cx.ui.status(line));
        checks.iter().try_for_each(|check| print(cx, check))
    };
    shown.or_else(CommandError::unless_closed)?;
    match problems as u64 {
        0 => Ok(()),
        n => Err(CommandError::failed(format!(
            "{} found",
            match n {
                1 => "1 problem was".to_owned(),
                n => format!("{n} problems were"),
            }
        ))),
    }
}

fn json(checks: Vec<Check>, mended: Vec<String>, problems: usize, secrets: Vec<FoundJson>) -> Json {
    let check = |c: Check| CheckJson {
        area: c.area.to_owned(),
        verdict: c.verdict.word().to_owned(),
        text: c.text,
        details: c.details,
        remedy: c.remedy,
    };
    Json {
        problems,
        checks: checks.into_iter().map(check).collect(),
        mended,
        secrets,
    }
}

/// Where texts begin.
const INDENT: usize = 22;

fn print(cx: &Cx, check: &Check) -> Result<(), CommandError> {
    let ui = &cx.ui;
    let width = ui.width().min(120).saturating_sub(INDENT).max(30);
    let verdict = ui.paint(
        check.verdict.style(),
        format!("{:<8}", check.verdict.word()),
    );
    let area = ui.paint(Style::Heading, format!("{:<13}", check.area));
    for (at, line) in ui::wrap(&check.text, width).iter().enumerate() {
        if at == 0 {
            ui.line(format!("{verdict} {area}{line}"))?;
        } else {
            ui.line(format!("{:INDENT$}{line}", ""))?;
        }
    }
    for detail in &check.details {
        for (at, line) in ui::wrap(detail, width - 2).iter().enumerate() {
            let mark = if at == 0 { "·" } else { " " };
            ui.line(ui.paint(Style::Dim, format!("{:INDENT$}{mark} {line}", "")))?;
        }
    }
    for line in check.remedy.iter().flat_map(|r| ui::wrap(r, width)) {
        ui.line(format!("{:INDENT$}{line}", ""))?;
    }
    Ok(())
}
