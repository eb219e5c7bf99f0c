//! `siglum status`: whether Siglum is on here, what runs, and what waits.

mod installed;
pub mod json;
mod watch;

use std::process::ExitCode;

use siglum_domain::{RepositoryId, Timestamp};
use siglum_engine::views::overview::{self, COUNT_MOST, Listed, Overview};
use siglum_ledger::{RepositoryRecord, Spool, read};

use self::installed::Installed;
pub use self::json::{Json, SCHEMA};
use super::import::GO_ON_IMPORTING;
use super::projection::standing::{self, Health, Standing};
use super::session::list::{place, style};
use super::session::recover::{OpenJson, open_turns};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::Lock;
use crate::team::Team;
use crate::ui::{self, Cell, Style, Table};

/// How many running sessions are named.
const RUNNING: usize = 12;

/// Show whether Siglum is on here, open sessions and pending work
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the status of this repository
    siglum status

  Watch the sessions that run, until you press Ctrl-C
    siglum status --watch")]
pub struct Args {
    /// Keep showing the running sessions; if stdout is not a terminal, print them again on each change
    #[arg(long)]
    watch: bool,
}

/// All that there is to say.
pub struct Status {
    installed: Installed,
    here: Option<RepositoryId>,
    repositories: Vec<RepositoryRecord>,
    overview: Overview,
    /// Deliveries that wait in spools, and since when.
    spooled: (usize, Option<Timestamp>),
    worker: Worker,
    projections: Vec<Standing>,
    /// The gateways that answer for commits of this repository which nobody is known here to have made, and as whom they
    /// know us, where somebody logged in.
    gateways: Vec<(String, Option<String>)>,
    /// The turns that a driver left open, or has open.
    turns: Vec<OpenJson>,
}

/// Whether the worker is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worker {
    Running,
    Started,
    NotNeeded,
}

impl Worker {
    const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Started => "started for the waiting work",
            Self::NotNeeded => "not running, nothing to do",
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<ExitCode, CommandError> {
    if args.watch {
        return watch::watch(cx);
    }
    let status = read_status(cx)?;
    match cx.ui.json {
        true => cx.ui.json(SCHEMA, Json::from_status(status))?,
        false => print(cx, &status)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read_status(cx: &Cx) -> Result<Status, CommandError> {
    let installed = installed::installed(cx)?;
    // The lock is looked at before what waits: what a worker left behind that exits meanwhile is seen below.
    let lock = cx.home.worker_lock();
    let at_work = lock.exists() && !Lock::is_free(&lock);
    if !cx.has_ledger() {
        return Ok(Status {
            installed,
            here: None,
            repositories: Vec::new(),
            overview: Overview::default(),
            spooled: spooled(cx),
            worker: Worker::NotNeeded,
            projections: Vec::new(),
            gateways: Team::find(cx, None, None)?.addresses(),
            turns: Vec::new(),
        });
    }
    let (mut ledger, here) = cx.settled()?;
    let overview = overview::overview(&cx.world()?, &mut ledger, here.as_ref())?;
    let spooled = spooled(cx);
    let projections = standing::all(&mut ledger, clock::now())?;
    let lacks = |s: &Standing| s.lag.as_ref().is_ok_and(|l| l.sessions > l.parked);
    let waits =
        spooled.0 + overview.transcripts + overview.unsealed > 0 || projections.iter().any(lacks);
    let worker = match (at_work, waits) {
        (true, _) => Worker::Running,
        (false, false) => Worker::NotNeeded,
        (false, true) => {
            cx.home.start_worker();
            Worker::Started
        }
    };
    let here = here.map(|r| r.id);
    Ok(Status {
        installed,
        here,
        repositories: read(&mut ledger, |tx| tx.repositories())?,
        overview,
        spooled,
        worker,
        projections,
        gateways: Team::find(cx, Some(&mut ledger), here)?.addresses(),
        turns: open_turns(cx, &mut ledger)?,
    })
}

/// How many deliveries wait in the spools, and since when.
fn spooled(cx: &Cx) -> (usize, Option<Timestamp>) {
    let spools = cx.spools();
    (
        spools.iter().map(Spool::len).sum(),
        spools.iter().filter_map(Spool::oldest).min(),
    )
}

/// Where the texts of fields begin.
const FIELD: usize = 14;

fn field(cx: &Cx, word: &str, text: impl AsRef<str>) -> Result<(), CommandError> {
    let word = cx.ui.paint(Style::Heading, format!("{word:<12}"));
    cx.ui.field(&format!("{word}  "), FIELD, text)
}

fn print(cx: &Cx, status: &Status) -> Result<(), CommandError> {
    installed::print(cx, &status.installed)?;
    cx.ui.line("")?;
    sessions(cx, status)?;
    cx.ui.line("")?;
    let waits = waits(status);
    field(
        cx,
        "Waiting",
        if waits.is_empty() {
            "nothing".to_owned()
        } else {
            waits.join(", ")
        },
    )?;
    field(cx, "Worker", status.worker.word())?;
    projections(cx, status)?;
    for (gateway, login) in &status.gateways {
        let login = login.as_ref();
        let login = login.map_or_else(String::new, |name| format!(" as {name}"));
        field(cx, "Reads from", format!("{gateway}{login}"))?;
    }
    turns(cx, status)?;
    for (queue, item, at, reason) in status.overview.parked.iter().take(3) {
        let age = ui::ago(*at, clock::now());
        let text = format!("{queue} {item}, {age}: {reason}");
        let text = ui::one_line(&text, cx.ui.width().saturating_sub(14).max(40));
        field(cx, "Parked", cx.ui.paint(Style::Warning, text))?;
    }
    declined(cx, status)?;
    advice(cx, status);
    Ok(())
}

fn projections(cx: &Cx, status: &Status) -> Result<(), CommandError> {
    for standing in &status.projections {
        let health = standing.health();
        let word = match health {
            Health::Ok => String::new(),
            _ => format!("{}: ", cx.ui.paint(health.style(), health.word())),
        };
        let text = format!("{} {word}{}", standing.projection.name, standing.text());
        field(cx, "Projection", text)?;
    }
    Ok(())
}

fn turns(cx: &Cx, status: &Status) -> Result<(), CommandError> {
    let held = status.turns.iter().filter(|t| t.is_held());
    for turn in held.take(RUNNING) {
        field(cx, "Held turn", cx.ui.paint(Style::Warning, turn.line()))?;
    }
    Ok(())
}

fn sessions(cx: &Cx, status: &Status) -> Result<(), CommandError> {
    let (overview, here) = (&status.overview, status.here);
    let lines = session_lines(cx, overview, here, &status.repositories);
    lines.iter().try_for_each(|line| cx.ui.line(line))
}

/// The sessions that run, those of this repository first, or the last one.
fn session_lines(
    cx: &Cx,
    overview: &Overview,
    here: Option<RepositoryId>,
    repositories: &[RepositoryRecord],
) -> Vec<String> {
    let running = &overview.running;
    if running.is_empty() {
        let word = cx.ui.paint(Style::Heading, format!("{:<12}", "Sessions"));
        let Some(last) = &overview.last else {
            return vec![format!("{word}  none running")];
        };
        let mut lines = vec![format!(
            "{word}  none running; last here {}",
            brief(cx, last)
        )];
        lines.extend(last.title().map(|title| {
            let room = cx.ui.width().saturating_sub(FIELD + 2).min(80);
            format!("{}\"{}\"", " ".repeat(FIELD), ui::one_line(title, room))
        }));
        return lines;
    }
    let now = clock::now();
    let mut table = Table::new(vec!["SESSION", "AGENT", "STATE", "LAST", "WHERE", "TITLE"]);
    let is_here = |s: &&Listed| here.is_some() && s.listing.record.repository == here;
    let elsewhere = running.iter().filter(|s| !is_here(s));
    let sorted = running.iter().filter(is_here).chain(elsewhere);
    for session in sorted.take(RUNNING) {
        let record = &session.listing.record;
        let place = if is_here(&session) {
            "here".to_owned()
        } else {
            place(session, repositories)
        };
        table.row(vec![
            Cell::styled(Style::Id, record.id.short()),
            Cell::styled(Style::Agent, record.agent_word()),
            Cell::styled(style(session.stand), session.stand.word()),
            Cell::styled(Style::Time, ui::age(record.last_at, now)),
            Cell::plain(place),
            Cell::plain(session.title().unwrap_or_default()),
        ]);
    }
    let mut lines = table.lines(&cx.ui);
    if running.len() > RUNNING {
        let more = running.len() - RUNNING;
        lines.push(cx.ui.paint(
            Style::Dim,
            format!("… {more} more; list them with `siglum session list --open --all`"),
        ));
    }
    lines
}

/// `claude-code 0a1b2c3d (3 h ago)`.
fn brief(cx: &Cx, session: &Listed) -> String {
    let record = &session.listing.record;
    format!(
        "{} {} ({})",
        cx.ui.paint(Style::Agent, record.agent_word()),
        cx.ui.paint(Style::Id, record.id.short()),
        ui::ago(record.last_at, clock::now())
    )
}

/// What waits, in words.
fn waits(status: &Status) -> Vec<String> {
    let overview = &status.overview;
    let mut waits = Vec::new();
    let mut say = |n: usize, one: &str, many: &str| {
        let more = if n >= COUNT_MOST { "+" } else { "" };
        match n {
            0 => {}
            1 => waits.push(format!("1 {one}")),
            n => waits.push(format!("{}{more} {many}", ui::count(n as u64))),
        }
    };
    let since = status.spooled.1.map_or_else(String::new, |at| {
        format!(" (oldest {})", ui::ago(at, clock::now()))
    });
    let (one, many) = ("delivery in the spool", "deliveries in the spool");
    say(
        status.spooled.0,
        &format!("{one}{since}"),
        &format!("{many}{since}"),
    );
    say(
        overview.transcripts,
        "transcript to read",
        "transcripts to read",
    );
    say(overview.unsealed, "session to seal", "sessions to seal");
    say(
        overview.intents,
        "commit in progress",
        "commits in progress",
    );
    if overview.importing {
        waits.push("the rest of an import".to_owned());
    }
    waits
}

fn declined(cx: &Cx, status: &Status) -> Result<(), CommandError> {
    let declines = &status.overview.declines;
    let Some(last) = declines.first() else {
        return Ok(());
    };
    let more = if declines.len() >= COUNT_MOST {
        "+"
    } else {
        ""
    };
    let text = format!(
        "{}{more} in the last day; the last {}, {}: {}: {}",
        ui::count(declines.len() as u64),
        ui::ago(last.at, clock::now()),
        last.edge,
        last.reason,
        last.detail
    );
    let text = ui::one_line(&text, cx.ui.width().saturating_sub(14).max(40));
    field(cx, "Declined", cx.ui.paint(Style::Warning, text))
}

/// What to do next.
fn advice(cx: &Cx, status: &Status) {
    let installed = &status.installed;
    let overview = &status.overview;
    if installed.repository.is_none() {
        cx.ui
            .hint("Go to a git repository and run `siglum init` to enable Siglum there.");
    } else if !installed.on {
        cx.ui.hint("Run `siglum init` to enable Siglum here.");
    } else if !installed.sound() {
        cx.ui
            .hint("Run `siglum init` to install the hooks, or `siglum doctor` for details.");
    } else if status.turns.iter().any(OpenJson::is_held) {
        cx.ui
            .hint("Run `siglum session recover` to settle a held turn.");
    } else if overview.importing {
        cx.ui.hint(GO_ON_IMPORTING);
    } else if overview.last.is_none() && overview.running.is_empty() {
        cx.ui.hint("Start an agent here and let it commit, then run `siglum why`; `siglum import` imports earlier sessions.");
    } else if !overview.parked.is_empty() || !overview.declines.is_empty() {
        cx.ui
            .hint("Run `siglum doctor` to see what was not recorded, and why.");
    }
}
