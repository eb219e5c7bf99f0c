//! `siglum import`: the sessions that agents left on disk.

#[cfg(feature = "gateway")]
pub mod acp;
pub mod show;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use siglum_domain::price::Cost;
use siglum_domain::redact::Redactor;
use siglum_domain::{SessionId, Timestamp};
use siglum_engine::record::import::{self, ImportableTranscript, Linked, OnDisk};
use siglum_engine::record::transcript::SkippedLines;
use siglum_engine::views::{
    self,
    cost::{By, CostQuery},
};
use siglum_engine::{EngineError, World, worker};
use siglum_ledger::{Durability, Ledger, LedgerError, SqliteLedger, read, write};

use super::cost::prices;
use crate::config::Config;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui;
use crate::{clock, env};
use show::{json, preview, rows, table, total};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.import/1";

/// What to do where an import did not come to its end.
pub const GO_ON_IMPORTING: &str =
    "An import is running or was interrupted: run `siglum import` to complete it.";

/// Why a transcript was not imported.
const UNREADABLE: &str = "transcript_unreadable";
const DAMAGED: &str = "session_damaged";
const LIST_REFUSED: &str = "Run `siglum doctor` to list them with the reasons.";

/// Import sessions from transcripts that agents left on disk
///
/// Reads the transcripts of this repository, newest first, and looks for the commits that contain their work. A second
/// import reads only new data, and an interrupted import continues where it stopped: `siglum status` and `siglum log`
/// report it until it is complete.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the transcripts of this repository, as a dry run
    siglum import --dry-run

  Import the last 30 days of all repositories
    siglum import --all --since 30d")]
pub struct Args {
    /// Show what would be imported, without importing it
    #[arg(long)]
    dry_run: bool,
    /// Import sessions of all repositories, and sessions outside any repository
    #[arg(long)]
    all: bool,
    /// Import only transcripts written at or after this time
    #[arg(long, value_name = "TIME", value_parser = crate::time::since)]
    since: Option<Timestamp>,
    /// Import only these transcripts, or those in these directories; they must be inside the agent's own directory
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Import the sessions that an agent lists and replays over the Agent Client Protocol: the command that starts it
    #[cfg(feature = "gateway")]
    #[arg(long, value_name = "COMMAND", conflicts_with = "paths")]
    acp: Option<String>,
    /// Name to record the sessions of `--acp` under: 1 to 64 of the characters a-z 0-9 - (default: what the agent
    /// calls itself)
    #[cfg(feature = "gateway")]
    #[arg(long, value_name = "NAME", requires = "acp")]
    agent: Option<String>,
}

/// What an import brought.
#[derive(Default)]
struct Outcome {
    /// The sessions with new bytes, and how many.
    sessions: Vec<(SessionId, ImportableTranscript, u64)>,
    linked: Linked,
    /// What these sessions cost at list prices, if the prices can be read.
    cost: Option<Cost>,
    refused: Vec<(PathBuf, String)>,
    /// The transcripts of which lines were skipped.
    skipped: Vec<(PathBuf, SkippedLines)>,
    /// Repositories in which recording is switched off.
    off: Vec<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    #[cfg(feature = "gateway")]
    if let Some(command) = &args.acp {
        return acp::run(args, command, cx);
    }
    // A path says itself which repository it is of.
    let common_dir = if args.all || !args.paths.is_empty() {
        None
    } else {
        Some(cx.repo()?.place.common_dir)
    };
    let common_dir = common_dir.as_deref();
    if args.dry_run {
        let on_disk = import::transcripts_on_disk(&env::agent_dir, common_dir, None)?;
        let (chosen, wrong) = choose(args, on_disk);
        return preview(cx, &chosen, &wrong);
    }
    let mut ledger = cx.open_ledger()?;
    let on_disk = import::transcripts_on_disk(&env::agent_dir, common_dir, Some(&mut ledger))?;
    let (chosen, wrong) = choose(args, on_disk);
    let mut outcome = Outcome::default();
    for (path, (reason, detail)) in &wrong {
        refuse(&mut ledger, &mut outcome, path, reason, detail)?;
    }
    bring_in(cx, &mut ledger, &chosen, &mut outcome)?;
    outcome.cost = cost(cx, &mut ledger, &outcome)?;
    let rows = rows(&mut ledger, &outcome)?;
    let shown = if cx.ui.json {
        cx.ui.json(SCHEMA, json(&rows, &outcome))
    } else {
        let shown = table(cx, &rows);
        total(cx, &rows, &outcome, chosen.len());
        shown
    };
    shown.or_else(CommandError::unless_closed)?;
    match outcome.refused.len() as u64 {
        0 => Ok(()),
        n => Err(CommandError::partly(format!(
            "{} could not be imported",
            ui::plural(n, "transcript")
        ))
        .hint(LIST_REFUSED)),
    }
}

/// Imports transcripts and says on standard error what that brought, and what could not be imported.
pub fn import_all(cx: &Cx, on_disk: &OnDisk) -> Result<(), CommandError> {
    let mut ledger = cx.open_ledger()?;
    let mut outcome = Outcome::default();
    for (file, reason) in &on_disk.refused {
        refuse(&mut ledger, &mut outcome, &file.path, UNREADABLE, reason)?;
    }
    bring_in(cx, &mut ledger, &on_disk.found, &mut outcome)?;
    outcome.cost = cost(cx, &mut ledger, &outcome)?;
    let rows = rows(&mut ledger, &outcome)?;
    total(cx, &rows, &outcome, on_disk.found.len());
    if !outcome.refused.is_empty() {
        cx.ui.hint(LIST_REFUSED);
    }
    Ok(())
}

type Wrong = Vec<(PathBuf, (&'static str, String))>;

/// The transcripts that were asked for, and what cannot be imported of that.
fn choose(args: &Args, on_disk: OnDisk) -> (Vec<ImportableTranscript>, Wrong) {
    let mut wrong: Wrong = Vec::new();
    let mut wanted: Vec<PathBuf> = Vec::new();
    for path in &args.paths {
        match named(path) {
            Ok(path) => wanted.push(path),
            Err(why) => wrong.push((path.clone(), why)),
        }
    }
    let below = |path: &Path| args.paths.is_empty() || wanted.iter().any(|w| path.starts_with(w));
    for (file, reason) in &on_disk.refused {
        if below(&resolved(&file.path)) {
            wrong.push((file.path.clone(), (UNREADABLE, reason.clone())));
        }
    }
    let known = |path: &Path| {
        on_disk
            .found
            .iter()
            .any(|f| resolved(&f.file.path).starts_with(path))
    };
    for path in &wanted {
        let refused = wrong.iter().any(|(p, _)| resolved(p).starts_with(path));
        if !known(path) && !refused {
            let detail = "no transcript of a supported agent is there".to_owned();
            wrong.push((path.clone(), ("transcript_outside", detail)));
        }
    }
    let recent = |f: &ImportableTranscript| args.since.is_none_or(|since| f.modified() >= since);
    let chosen = on_disk
        .found
        .into_iter()
        .filter(|f| below(&resolved(&f.file.path)) && recent(f));
    (chosen.collect(), wrong)
}

/// A path that a person named, without links: one that is a link itself is not followed.
fn named(path: &Path) -> Result<PathBuf, (&'static str, String)> {
    let meta = path
        .symlink_metadata()
        .map_err(|e| (UNREADABLE, e.to_string()))?;
    if meta.is_symlink() {
        return Err((
            "transcript_is_link",
            "symbolic links are not followed".to_owned(),
        ));
    }
    path.canonicalize().map_err(|e| (UNREADABLE, e.to_string()))
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn refuse(
    ledger: &mut dyn Ledger,
    outcome: &mut Outcome,
    path: &Path,
    reason: &str,
    detail: &str,
) -> Result<(), CommandError> {
    let now = clock::now();
    write(ledger, Durability::Process, |tx| {
        import::refuse(tx, now, path, reason, detail)
    })?;
    outcome.refused.push((shown(path), detail.to_owned()));
    Ok(())
}

/// A path as it is shown.
fn shown(path: &Path) -> PathBuf {
    let text = Redactor::shared().redact(&path.to_string_lossy());
    PathBuf::from(text.into_string())
}

fn bring_in(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    found: &[ImportableTranscript],
    outcome: &mut Outcome,
) -> Result<(), CommandError> {
    let world = cx.world()?;
    let mut todo = Vec::new();
    for (found, unread) in found.iter().zip(import::unread(ledger, found)?) {
        match &found.place {
            _ if unread == 0 => {}
            Some(place) if !Config::load(Some(Path::new(&place.worktree))).records() => {
                outcome.off.push(place.worktree.clone());
            }
            _ => todo.push((found, unread)),
        }
    }
    let bar = cx.ui.progress(todo.iter().map(|(_, unread)| unread).sum());
    let fresh: Vec<&ImportableTranscript> = todo.iter().map(|(found, _)| *found).collect();
    for place in import::forks_last(&world, &fresh) {
        let (found, unread) = todo[place];
        match import::import(&world, ledger, found, &mut |bytes| bar.inc(bytes)) {
            Ok(imported) => {
                import::close(&world, ledger, imported.session)?;
                outcome.skipped.extend(imported.skipped);
                let session = (imported.session, found.clone(), unread);
                outcome.sessions.push(session);
            }
            Err(EngineError::Read { path, source }) => {
                refuse(ledger, outcome, &path, UNREADABLE, &source.to_string())?;
            }
            Err(EngineError::Ledger(LedgerError::Damaged(what))) => {
                let detail = format!("its session is damaged in the ledger: {what}");
                refuse(ledger, outcome, &found.file.path, DAMAGED, &detail)?;
            }
            Err(error) => {
                bar.finish_and_clear();
                return Err(error.into());
            }
        }
    }
    bar.finish_and_clear();
    outcome.linked = link(cx, &world, ledger, found)?;
    // What was found in the history may be newer than the end of a session.
    import::close_all(&world, ledger, found)?;
    while worker::fold_sessions(&world, ledger, 256)? > 0 {}
    ledger.maintain()?;
    cx.home.start_worker();
    Ok(())
}

/// What the sessions with new bytes cost. Prices that cannot be read keep nothing from being imported.
fn cost(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    outcome: &Outcome,
) -> Result<Option<Cost>, CommandError> {
    if outcome.sessions.is_empty() {
        return Ok(None);
    }
    let prices = match prices() {
        Ok(prices) => prices,
        Err(error) => {
            cx.ui.warning(format!("{:#}", error.source));
            return Ok(None);
        }
    };
    let sessions: BTreeSet<SessionId> = outcome.sessions.iter().map(|(id, ..)| *id).collect();
    let query = CostQuery::by(By::Session);
    let costs = match views::cost::cost(ledger, &query, &prices, &ui::day) {
        // A damaged session, be it another one, keeps nothing from being imported.
        Err(LedgerError::Damaged(_)) => return Ok(None),
        costs => costs?,
    };
    let mut cost = Cost::default();
    for row in costs.rows {
        let session = row.key.value.and_then(|value| value.parse().ok());
        if session.is_some_and(|session| sessions.contains(&session)) {
            cost += row.sum.cost;
        }
    }
    Ok(Some(cost))
}

/// Looks for the commits that hold the work of what was imported, now or before an interruption.
fn link(
    cx: &Cx,
    world: &World<'_>,
    ledger: &mut SqliteLedger,
    found: &[ImportableTranscript],
) -> Result<Linked, CommandError> {
    let mut common_dirs: Vec<&str> = found
        .iter()
        .filter_map(|f| Some(f.place.as_ref()?.common_dir.as_str()))
        .collect();
    common_dirs.sort_unstable();
    common_dirs.dedup();
    let mut all = Linked::default();
    for common_dir in common_dirs {
        let Some(repository) = read(ledger, |tx| tx.repository(common_dir))? else {
            continue;
        };
        let bar = cx.ui.counter("commits");
        let linked = import::link_commits(world, ledger, &repository, &mut |done, of| {
            bar.set_length(of);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        match linked {
            Ok(linked) => {
                all.looked_at += linked.looked_at;
                all.commits += linked.commits;
            }
            Err(error @ (EngineError::Git(_) | EngineError::NoCheckout(_))) => {
                cx.ui
                    .warning(format!("cannot read the history of {common_dir}: {error}"));
            }
            Err(EngineError::Ledger(error @ LedgerError::Damaged(_))) => {
                cx.ui
                    .warning(format!("cannot link the commits of {common_dir}: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}
