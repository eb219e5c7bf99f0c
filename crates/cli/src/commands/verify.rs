//! `siglum verify`: whether what is stored is what was stored.

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_engine::views::find;
use siglum_engine::views::verify::{self, Counts, Problem, Report, Verification};

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
/// from missing and forgotten data, and changes none of it. Exits with code 4 if anything is missing or damaged. One
/// damaged session does not hide others.
///
/// After the first time, only what changed is verified again: sessions with new data, the rows beside the logs and the
/// audit log. `--all` also detects on-disk corruption: it verifies everything. The answer says what was skipped, and
/// when everything was last verified.
///
/// With `--quarantine`, damaged sessions are quarantined: no driver can use them, and no receipt seals them. They
/// stay readable, and hooks of an observed one are recorded as before. `siglum verify SESSION` releases a session
/// that is sound again.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Verify what changed since the last time
    siglum verify

  Verify everything, from the beginning
    siglum verify --all

  Verify one session
    siglum verify a1b2c3d4")]
pub struct Args {
    /// Only this session: its id, the last digits of it, or the agent's native id
    session: Option<String>,
    /// Verify everything, and not only what changed since it was verified
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Quarantine damaged sessions, and release those that are sound again
    #[arg(long)]
    quarantine: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Whether nothing is missing or damaged of what was verified.
    sound: bool,
    /// What was verified: `all`, `changes` or `session`.
    verified: &'static str,
    /// Sessions that were left out, since nothing happened to them since they were verified.
    unchanged: u64,
    /// When everything was verified last before this, and was sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    all_verified_at: Option<String>,
    counts: CountsJson,
    /// What is wrong, a thousand at most.
    problems: Vec<ProblemJson>,
    /// Sessions that were set aside now.
    quarantined: u64,
    /// Sessions that were taken back now.
    taken_back: u64,
}

/// How much was looked at.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProblemJson {
    /// `missing` or `damaged`.
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
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
    let bar = cx.ui.counter("sessions");
    let mut progress = |sessions: u64| {
        bar.set_length(sessions);
        bar.set_position(sessions);
    };
    let done = match session {
        Some(_) => None,
        None if args.all => Some(verify::verify_all(&world, &mut ledger, &mut progress)?),
        None => Some(verify::verify_changes(&world, &mut ledger, &mut progress)?),
    };
    bar.finish_and_clear();
    let report = match &done {
        Some(done) => done.report.clone(),
        None => verify::verify(&world, &mut ledger, session)?,
    };
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
            verified: match &done {
                Some(done) if done.is_whole => "all",
                Some(_) => "changes",
                None => "session",
            },
            unchanged: done.as_ref().map_or(0, |done| done.unchanged),
            all_verified_at: done
                .as_ref()
                .and_then(|done| done.verified)
                .map(|at| at.to_string()),
            counts: (&report.counts).into(),
            problems: report.problems.iter().map(Into::into).collect(),
            quarantined,
            taken_back,
        };
        cx.ui.json(SCHEMA, json)
    } else {
        let shown = print(cx, &report);
        print_quarantine_changes(cx, quarantined, taken_back);
        if let Some(done) = &done {
            print_extent(cx, done);
        }
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
    let counts = [
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
    ]
    .map(|(count, what)| (ui::count(count), what));
    let width = counts.iter().map(|(count, _)| count.len()).max();
    let width = width.unwrap_or_default();
    for (count, what) in counts {
        cx.ui.line(format!("{count:>width$}  {what}"))?;
    }
    Ok(())
}

/// What was verified, and what was not.
fn print_extent(cx: &Cx, done: &Verification) {
    if done.is_whole {
        cx.ui.status("Everything was verified.");
        return;
    }
    cx.ui.status(format!(
        "Verified what changed, the rows beside the logs, and the audit log. Unchanged and left out: {}.",
        ui::plural(done.unchanged, "session")
    ));
    if let Some(at) = done.verified {
        cx.ui.hint(format!(
            "Everything was last verified at {}; `siglum verify --all` verifies it again.",
            ui::when(at)
        ));
    }
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
