//! `siglum forget`: erases what is stored, so that not even the bytes of the files hold it.

mod tell;

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_engine::forget::{self, Costs, Holding, Needle, NeedleError, Place, Report};
use siglum_engine::share::project::DIRECTORY;
use siglum_engine::views::find;
use siglum_engine::{World, retention, worker};
use siglum_ledger::{Ledger, TelemetryStore, read};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::text_files::{TextFiles, older_ledgers, take_up_notes};
use crate::time;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.forget/1";
/// How many batches of telemetry are joined at a time.
const BATCHES: usize = 64;

/// Erase recorded sessions, all occurrences of a text, or secrets
///
/// Erasure is permanent: the data is removed byte by byte from the ledger, the spools and the file versions. `--rule`
/// finds secrets by the current redaction rules. Sessions, commits and their verdicts stay, receipts still verify, and
/// the usage of a session still counts: tokens, model, turn and time. Erased data does not return when a transcript is
/// read or imported again. The agent's own files are not touched. Backups keep erased data until they are deleted, and so
/// do the ledgers that `siglum restore` kept, which are listed, and the write-ahead log of a database server.
#[derive(clap::Args)]
#[command(override_usage = "\
siglum forget [OPTIONS] <SESSION>...
       siglum forget [OPTIONS] --older-than <AGE>
       siglum forget [OPTIONS] --pattern <REGEX>
       siglum forget [OPTIONS] --text
       siglum forget [OPTIONS] --rule <RULE>")]
#[command(after_long_help = "\
Examples:
  Erase a session
    siglum forget 7c2a91e4

  Show the sessions that have been silent for 400 days, as a dry run
    siglum forget --older-than 400d --dry-run

  Show the secrets that any rule finds, as a dry run
    siglum forget --rule all --dry-run")]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub struct Args {
    /// Sessions: their ids, the last digits of them, or the agent's native ids
    #[arg(group = "what")]
    session: Vec<String>,
    /// Erase the sessions that have been silent for this long, such as `400d` or `2y`, except those that are in use,
    /// archived, or pinned by a person
    #[arg(long, value_name = "AGE", group = "what", value_parser = time::duration)]
    older_than: Option<Duration>,
    /// Erase every match of this regular expression
    #[arg(long, value_name = "REGEX", group = "what")]
    pattern: Option<String>,
    /// Erase the text given on stdin, which keeps it out of the shell history; needs `--yes` or `--dry-run`
    #[arg(long, group = "what")]
    text: bool,
    /// Erase current matches of this redaction rule; `all` means every rule (repeatable)
    #[arg(long, value_name = "RULE", group = "what")]
    rule: Vec<String>,
    /// Erase the usage and cost of the sessions too
    #[arg(long, requires = "session", conflicts_with_all = ["pattern", "text", "rule"])]
    costs: bool,
    /// Erase without asking
    #[arg(long)]
    yes: bool,
    /// Show what would be erased, without erasing it
    #[arg(long)]
    dry_run: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Whether it was done; else it was only shown.
    done: bool,
    /// The sessions that go as a whole.
    sessions: Vec<SessionJson>,
    /// Where a text was found, at most ten thousand places; never the text itself.
    found: Vec<FoundJson>,
    /// In how many places it was found.
    count: u64,
    /// In how many of them it stays, since receipts, the audit or settings rest on them.
    staying: u64,
    /// Ledgers from before a restore. They were not looked through, and may still hold it: delete them to erase it there.
    older_ledgers: Vec<String>,
}

/// A session that goes as a whole.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SessionJson {
    id: String,
    /// Absent where nobody named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// How many entries have their payload.
    payloads: u64,
    /// Bytes of its transcripts.
    transcript_bytes: u64,
    /// File versions that only this session saw.
    versions: usize,
}

/// Where something was found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FoundJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The place in words.
    place: String,
    /// The rules that matched; none for a pattern.
    rules: Vec<String>,
    /// Whether it stays there, since receipts, the audit or settings rest on it.
    stays: bool,
}

impl FoundJson {
    pub fn from_match(found: &forget::NeedleMatch) -> Self {
        Self {
            session: found.session.map(|s| s.to_string()),
            place: place(&found.place),
            rules: found.rules.iter().map(|r| (*r).to_owned()).collect(),
            stays: matches!(found.place, Place::Column { stays: true, .. }),
        }
    }
}

/// A place in words.
pub fn place(place: &Place) -> String {
    match place {
        Place::Entry { sequence, kind } => format!("entry {sequence} ({kind})"),
        Place::Line { stream, offset } => format!("transcript {stream} at byte {offset}"),
        Place::Version(address) => format!("file version {}", &address.to_string()[..12]),
        Place::OpenTurn { key } => format!("turn {key}, not committed"),
        Place::Column { column, stays } => {
            let stays = if *stays { ", not erased" } else { "" };
            format!("{} of {}{stays}", column.column, column.table)
        }
        Place::Telemetry(TelemetryStore::Inbox) => "pending telemetry".to_owned(),
        Place::Telemetry(TelemetryStore::Unassigned) => "telemetry without a session".to_owned(),
        Place::Telemetry(TelemetryStore::Forwards) => "telemetry to forward".to_owned(),
        Place::File(path) => format!("file {}", path.display()),
    }
}

/// What is to go.
enum Going {
    Sessions(Vec<Holding>),
    Found(Needle, Report),
}

impl Going {
    fn is_nothing(&self) -> bool {
        match self {
            Self::Sessions(sessions) => sessions.is_empty(),
            Self::Found(_, report) => report.count == report.staying,
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let needle = needle(args)?;
    let mut ledger: Box<dyn Ledger> = match store::is_server() {
        true => store::open(cx)?,
        false => Box::new(cx.open_ledger()?),
    };
    let world = store::world(cx)?;
    let files = settle(cx, &world, &mut ledger)?;
    let going = match needle {
        Some(needle) => {
            let report = forget::search(&world, &mut ledger, &files, &needle)?;
            Going::Found(needle, report)
        }
        None => Going::Sessions(sessions(args, &world, &mut ledger)?),
    };
    if !cx.ui.json {
        tell::present(cx, &going)?;
    }
    let is_wanted = !going.is_nothing() && !args.dry_run;
    if is_wanted && !args.yes && !crate::ui::agreed()? {
        return Err(crate::ui::not_agreed(
            "nothing was erased",
            "Run the same command with `--yes` to skip the confirmation.",
        ));
    }
    if is_wanted {
        let costs = if args.costs {
            Costs::Erased
        } else {
            Costs::Kept
        };
        erase(&world, &mut ledger, &files, (&going, costs), &cx.person())?;
        show_anew(cx, &mut ledger)?;
    }
    let older = match store::is_server() {
        true => Vec::new(),
        false => older_ledgers(&cx.home),
    };
    if cx.ui.json {
        return cx.ui.json(SCHEMA, tell::json(&going, is_wanted, &older));
    }
    tell::print_outcome(cx, &going, is_wanted, &older);
    Ok(())
}

/// Directories that show sessions get what is left of them: the worker feeds them.
fn show_anew(cx: &Cx, ledger: &mut dyn Ledger) -> Result<(), CommandError> {
    let projections = read(ledger, |tx| tx.projections())?;
    if !store::is_server() && projections.iter().any(|p| p.kind == DIRECTORY) {
        cx.home.start_worker();
    }
    Ok(())
}

fn needle(args: &Args) -> Result<Option<Needle>, CommandError> {
    let needle = if args.text {
        if !args.yes && !args.dry_run {
            return Err(CommandError::usage(
                "`--text` reads stdin, so it cannot ask for confirmation; add `--yes` or `--dry-run`",
            ));
        }
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        Needle::literal(text.trim_end_matches(['\n', '\r']))
    } else if let Some(pattern) = &args.pattern {
        Needle::pattern(pattern)
    } else if !args.rule.is_empty() {
        Needle::rules(&args.rule)
    } else {
        return Ok(None);
    };
    needle.map(Some).map_err(|error| refused(&error))
}

fn refused(error: &NeedleError) -> CommandError {
    let hint = match error {
        NeedleError::Everywhere => "Make the pattern more specific.",
        NeedleError::Pattern(_) => {
            "To erase a literal text, pass `--text` and write the text to stdin."
        }
        NeedleError::Rule(_) => "Run `siglum doctor --secrets` to list the rules that match.",
    };
    let text = match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    CommandError::usage(text).hint(hint)
}

/// Brings everything that waits into the ledger, so that nothing of it comes in behind the erasing. Returns the files
/// beside the ledger that hold text. A server's store has none, and nothing waits for it here.
fn settle(
    cx: &Cx,
    world: &World<'_>,
    ledger: &mut dyn Ledger,
) -> Result<Vec<PathBuf>, CommandError> {
    let mut run = worker::Run::default();
    if store::is_server() {
        while worker::hear(world, ledger, &mut run, BATCHES)? == worker::Slice::Worked {}
        return Ok(Vec::new());
    }
    let repositories = read(ledger, |tx| tx.repositories())?;
    take_up_notes(&cx.home, &repositories, ledger);
    let files = TextFiles::find(cx, ledger)?;
    while worker::slice(world, ledger, &files.spools, &mut run)? == worker::Slice::Worked {}
    Ok(files.list())
}

fn sessions(
    args: &Args,
    world: &World<'_>,
    ledger: &mut dyn Ledger,
) -> Result<Vec<Holding>, CommandError> {
    let mut ids: Vec<SessionId> = match args.older_than {
        Some(age) => retention::idle_sessions(world, ledger, age, usize::MAX)?,
        None => Vec::new(),
    };
    for text in &args.session {
        ids.push(find::session(ledger, text)?);
    }
    ids.sort();
    ids.dedup();
    let mut holdings = Vec::new();
    for id in ids {
        holdings.extend(forget::holding(ledger, id)?);
    }
    Ok(holdings)
}

fn erase(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    files: &[PathBuf],
    (going, costs): (&Going, Costs),
    by: &str,
) -> Result<(), CommandError> {
    match going {
        Going::Sessions(sessions) => {
            for session in sessions {
                // More may have come in while somebody was asked.
                if let Some(now) = forget::holding(ledger, session.record.id)? {
                    forget::forget_session(world, ledger, &now, costs, files, by)?;
                }
            }
        }
        Going::Found(needle, _) => {
            forget::erase(world, ledger, files, needle, by)?;
        }
    }
    worker::fold_sessions(world, ledger, usize::MAX)?;
    ledger.scrub().map_err(|error| {
        CommandError::from(error)
            .hint("The data is erased; run the same command again to remove it from the database files, too.")
    })
}
