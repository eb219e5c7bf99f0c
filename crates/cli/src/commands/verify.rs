//! `siglum verify`: whether what is stored is what was stored.

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_engine::views::find;
use siglum_engine::views::verify::{self, Counts, Problem, Report};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Style};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.verify/1";

/// How many problems people see.
const SHOWN: usize = 50;

/// Verify the integrity of the ledger, file versions and projections
///
/// Checks receipts, payloads, transcripts, file versions, projections and the audit log. Distinguishes damaged data
/// from missing and forgotten data, and changes nothing. Exits with code 4 if anything is missing or damaged. One
/// damaged session does not hide others.
///
/// With `--quarantine`, damaged sessions are quarantined: no driver can use them, and no receipt seals them. They
/// stay readable, and hooks of an observed one are recorded as before. `siglum verify SESSION` releases a session
/// that is sound again.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Verify everything
    siglum verify

  Verify one session
    siglum verify a1b2c3d4")]
pub struct Args {
    /// Only this session: its id, the last digits of it, or the agent's native id
    session: Option<String>,
    /// Quarantine damaged sessions, and release those that are sound again
    #[arg(long)]
    quarantine: bool,
}

/// The JSON form of the answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    /// Whether nothing is missing or damaged.
    sound: bool,
    counts: CountsJson,
    /// What is wrong, a thousand at most.
    problems: Vec<ProblemJson>,
    /// Sessions that were set aside now.
    quarantined: u64,
    /// Sessions that were taken back now.
    taken_back: u64,
}

/// How much was looked at.
#[derive(Serialize, schemars::JsonSchema)]
struct CountsJson {
    sessions: u64,
    entries: u64,
    payloads: u64,
    forgotten: u64,
    receipts: u64,
    transcript_segments: u64,
    file_versions: u64,
    cursors: u64,
    audit_entries: u64,
    missing: u64,
    damaged: u64,
}

/// One thing that is wrong.
#[derive(Serialize, schemars::JsonSchema)]
struct ProblemJson {
    /// `missing` or `damaged`.
    kind: String,
    session: Option<String>,
    /// The entry, the receipt, the row.
    place: String,
    what: String,
    /// What to do.
    remedy: String,
}

impl From<&Counts> for CountsJson {
    fn from(c: &Counts) -> Self {
        Self {
            sessions: c.sessions,
            entries: c.entries,
            payloads: c.payloads,
            forgotten: c.forgotten,
            receipts: c.receipts,
            transcript_segments: c.segments,
            file_versions: c.versions,
            cursors: c.cursors,
            audit_entries: c.audit,
            missing: c.missing,
            damaged: c.damaged,
        }
    }
}

impl From<&Problem> for ProblemJson {
    fn from(p: &Problem) -> Self {
        Self {
            kind: p.kind.word().to_owned(),
            session: p.session.map(|s| s.to_string()),
            place: p.place.clone(),
            what: p.what.clone(),
            remedy: p.remedy.to_owned(),
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open_unsettled(cx)?;
    let session: Option<SessionId> = match &args.session {
        Some(text) => Some(find::session(&mut ledger, text)?),
        None => None,
    };
    let world = store::world(cx)?;
    let begun = world.now();
    let report = verify::verify(&world, &mut ledger, session)?;
    if session.is_none() && report.is_sound() {
        // That it cannot be noted takes nothing from what was found.
        let _ = verify::note_sound(&mut ledger, begun);
    }
    let (quarantined, taken_back) = if args.quarantine {
        verify::quarantine(&mut ledger, &report)?
    } else if session.is_some() {
        (0, verify::take_back(&mut ledger, &report)?)
    } else {
        (0, 0)
    };
    let shown = if cx.ui.json {
        let json = Json {
            sound: report.is_sound(),
            counts: (&report.counts).into(),
            problems: report.problems.iter().map(Into::into).collect(),
            quarantined,
            taken_back,
        };
        cx.ui.json(SCHEMA, json)
    } else {
        let shown = print(cx, &report);
        print_quarantine_changes(cx, quarantined, taken_back);
        shown
    };
    shown.or_else(CommandError::unless_closed)?;
    match report.is_sound() {
        true => Ok(()),
        false => Err(CommandError::partly(format!(
            "{} missing, {} damaged",
            ui::count(report.counts.missing),
            ui::count(report.counts.damaged)
        ))),
    }
}

fn print(cx: &Cx, report: &Report) -> Result<(), CommandError> {
    for problem in report.problems.iter().take(SHOWN) {
        let session = problem.session.map(|s| format!("session {}  ", s.short()));
        let text = format!(
            "{}  {}{}: {}",
            cx.ui.paint(Style::Warning, problem.kind.word()),
            session.unwrap_or_default(),
            problem.place,
            ui::one_line(&problem.what, 300)
        );
        cx.ui.line(text)?;
    }
    let all = report.counts.missing + report.counts.damaged;
    if all > SHOWN as u64 {
        cx.ui
            .line(format!("… and {} more", ui::count(all - SHOWN as u64)))?;
    }
    let mut remedies: Vec<&str> = report.problems.iter().map(|p| p.remedy).collect();
    remedies.sort_unstable();
    remedies.dedup();
    for remedy in remedies {
        cx.ui.hint(remedy);
    }
    let c = &report.counts;
    for (count, what) in [
        (c.sessions, "sessions"),
        (c.receipts, "receipts"),
        (c.entries, "entries"),
        (c.payloads, "payloads"),
        (c.forgotten, "forgotten payloads"),
        (c.segments, "transcript segments"),
        (c.versions, "file versions"),
        (c.cursors, "projection cursors"),
        (c.audit, "audit entries"),
        (c.missing, "missing"),
        (c.damaged, "damaged"),
    ] {
        cx.ui.line(format!("{:>12}  {what}", ui::count(count)))?;
    }
    Ok(())
}

fn print_quarantine_changes(cx: &Cx, quarantined: u64, taken_back: u64) {
    if quarantined > 0 {
        let n = ui::plural(quarantined, "session");
        cx.ui
            .status(format!("Quarantined {n}; all others stay available."));
    }
    if taken_back > 0 {
        let n = ui::plural(taken_back, "session");
        cx.ui
            .status(format!("Released {n} from quarantine: sound again."));
    }
}
