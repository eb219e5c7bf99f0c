//! `siglum import`: the sessions that agents left on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use siglum_domain::observation::Tokens;
use siglum_domain::{SessionId, Timestamp};
use siglum_engine::import::{self, Found, Linked, OnDisk};
use siglum_engine::{EngineError, World, worker};
use siglum_ledger::{Durability, Ledger, SessionFilter, SqliteLedger, read, write};

use crate::config::Config;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Cell, Style, Table};
use crate::{clock, env, platform, when};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.import/1";

/// Import the sessions that agents left on disk
///
/// Reads the transcripts of this repository and looks for the commits that hold their work. A second
/// import reads only what is new, and one that was interrupted goes on where it stopped.
#[derive(clap::Args)]
pub struct Args {
    /// Show what would be read, and read nothing
    #[arg(long)]
    dry_run: bool,
    /// The sessions of all repositories, and those outside of any
    #[arg(long)]
    all: bool,
    /// Only transcripts that were written at or after this moment
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    since: Option<Timestamp>,
    /// Only these transcripts, or those in these directories; they must lie in the agent's own
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// The JSON form of the answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    /// Whether it was done; else it was only shown.
    done: bool,
    sessions: Vec<Session>,
    /// Bytes of transcripts that were read, or would be.
    bytes: u64,
    /// Commits that were looked at.
    commits_looked_at: u64,
    /// Commits that hold work of a session, or that a session made.
    commits_linked: u64,
    /// Transcripts that were not imported, with the reason.
    refused: Vec<Refused>,
}

/// One session.
#[derive(Serialize, schemars::JsonSchema)]
struct Session {
    /// Its id; absent if it was only shown.
    session: Option<String>,
    agent: String,
    native_id: String,
    path: String,
    title: Option<String>,
    turns: u64,
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    /// Commits that name it as committer.
    commits_made: u64,
    /// More commits that hold lines of it.
    commits_written: u64,
    /// Bytes that were read, or would be.
    bytes: u64,
}

/// A transcript that was not imported.
#[derive(Serialize, schemars::JsonSchema)]
struct Refused {
    path: String,
    reason: String,
}

/// What an import brought.
#[derive(Default)]
struct Outcome {
    /// The sessions with new bytes, and how many.
    sessions: Vec<(SessionId, Found, u64)>,
    linked: Linked,
    refused: Vec<(PathBuf, String)>,
    /// Repositories in which recording is switched off.
    off: Vec<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    // A path says itself which repository it is of.
    let common_dir = if args.all || !args.paths.is_empty() {
        None
    } else {
        Some(cx.repo()?.place.common_dir)
    };
    let on_disk = import::look(&env::agent_dir, common_dir.as_deref());
    let (chosen, wrong) = choose(args, on_disk);
    if args.dry_run {
        return preview(cx, &chosen, &wrong);
    }
    let mut ledger = cx.open_ledger()?;
    let mut outcome = Outcome::default();
    for (path, (reason, detail)) in &wrong {
        refuse(&mut ledger, &mut outcome, path, reason, detail)?;
    }
    bring_in(cx, &mut ledger, &chosen, &mut outcome)?;
    let rows = rows(&mut ledger, &outcome)?;
    if cx.ui.json {
        cx.ui.json(SCHEMA, json(&rows, &outcome))?;
    } else {
        table(cx, &rows)?;
        total(cx, &rows, &outcome, chosen.len());
    }
    match outcome.refused.len() as u64 {
        0 => Ok(()),
        n => Err(CommandError::partly(format!(
            "{} could not be imported",
            ui::plural(n, "transcript")
        ))
        .hint("`siglum doctor` lists them with the reasons.")),
    }
}

/// Imports transcripts and says on standard error what that brought.
pub fn import_all(cx: &Cx, found: &[Found]) -> Result<(), CommandError> {
    let mut ledger = cx.open_ledger()?;
    let mut outcome = Outcome::default();
    bring_in(cx, &mut ledger, found, &mut outcome)?;
    let rows = rows(&mut ledger, &outcome)?;
    total(cx, &rows, &outcome, found.len());
    Ok(())
}

type Wrong = Vec<(PathBuf, (&'static str, String))>;

/// The transcripts that were asked for, and what cannot be imported of that.
fn choose(args: &Args, on_disk: OnDisk) -> (Vec<Found>, Wrong) {
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
            wrong.push((file.path.clone(), ("transcript_unreadable", reason.clone())));
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
            let detail = "no transcript of a recorded agent lies there".to_owned();
            wrong.push((path.clone(), ("transcript_outside", detail)));
        }
    }
    let recent = |f: &Found| args.since.is_none_or(|since| f.modified() >= since);
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
        .map_err(|e| ("transcript_unreadable", e.to_string()))?;
    if meta.is_symlink() {
        return Err(("transcript_is_link", "a link is not followed".to_owned()));
    }
    path.canonicalize()
        .map_err(|e| ("transcript_unreadable", e.to_string()))
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
    outcome.refused.push((path.to_owned(), detail.to_owned()));
    Ok(())
}

fn bring_in(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    found: &[Found],
    outcome: &mut Outcome,
) -> Result<(), CommandError> {
    let world = cx.world()?;
    let mut todo = Vec::new();
    for found in found {
        let unread = import::unread(ledger, found)?;
        match &found.place {
            _ if unread == 0 => {}
            Some(place) if !Config::load(Some(Path::new(&place.worktree))).records() => {
                outcome.off.push(place.worktree.clone());
            }
            _ => todo.push((found, unread)),
        }
    }
    let bar = cx.ui.progress(todo.iter().map(|(_, unread)| unread).sum());
    for (found, unread) in todo {
        match import::import(&world, ledger, found, &mut |bytes| bar.inc(bytes)) {
            Ok(session) => outcome.sessions.push((session, found.clone(), unread)),
            Err(EngineError::Read { path, source }) => {
                refuse(
                    ledger,
                    outcome,
                    &path,
                    "transcript_unreadable",
                    &source.to_string(),
                )?;
            }
            Err(error) => {
                bar.finish_and_clear();
                return Err(error.into());
            }
        }
    }
    bar.finish_and_clear();
    outcome.linked = link(cx, &world, ledger, found)?;
    for (session, _, _) in &outcome.sessions {
        import::close(&world, ledger, *session)?;
    }
    while worker::fold_sessions(ledger, 256)? > 0 {}
    ledger.maintain()?;
    platform::start_worker(&cx.home);
    Ok(())
}

/// Looks for the commits that hold the work of what was imported, now or before an interruption.
fn link(
    cx: &Cx,
    world: &World<'_>,
    ledger: &mut SqliteLedger,
    found: &[Found],
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
                cx.ui.warning(format!(
                    "the history of {common_dir} could not be looked at: {error}"
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}

/// One session as it is shown.
struct Row<'a> {
    session: Option<SessionId>,
    found: &'a Found,
    bytes: u64,
    title: Option<String>,
    turns: u64,
    tokens: Tokens,
    made: u64,
    written: u64,
    last_at: Timestamp,
}

fn rows<'a>(ledger: &mut SqliteLedger, outcome: &'a Outcome) -> Result<Vec<Row<'a>>, CommandError> {
    Ok(read(ledger, |tx| {
        let listings = tx.sessions(&SessionFilter::default())?;
        let listings: BTreeMap<SessionId, _> =
            listings.into_iter().map(|l| (l.record.id, l)).collect();
        let mut rows = Vec::new();
        for (session, found, bytes) in &outcome.sessions {
            let (made, written) = import::commits_with(tx, *session)?;
            let listing = listings.get(session);
            let summary = listing.map(|l| l.summary.clone()).unwrap_or_default();
            rows.push(Row {
                session: Some(*session),
                found,
                bytes: *bytes,
                title: summary.title,
                turns: summary.turns,
                tokens: summary.tokens,
                made,
                written,
                last_at: listing.map(|l| l.record.last_at).unwrap_or_default(),
            });
        }
        Ok(rows)
    })?)
}

fn table(cx: &Cx, rows: &[Row<'_>]) -> Result<(), CommandError> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(vec![
        "SESSION", "LAST", "TURNS", "TOKENS", "COMMITS", "TITLE",
    ]);
    for row in rows {
        let tokens =
            row.tokens.input + row.tokens.output + row.tokens.cache_read + row.tokens.cache_write;
        table.row(vec![
            Cell::styled(
                Style::Id,
                row.session.map(SessionId::short).unwrap_or_default(),
            ),
            Cell::styled(Style::Time, ui::ago(row.last_at, clock::now())),
            Cell::number(ui::count(row.turns)),
            Cell::number(ui::count(tokens)),
            Cell::number(ui::count(row.made + row.written)),
            Cell::plain(row.title.clone().unwrap_or_default()),
        ]);
    }
    cx.ui.table(&table)
}

fn total(cx: &Cx, rows: &[Row<'_>], outcome: &Outcome, of: usize) {
    for (path, reason) in &outcome.refused {
        cx.ui
            .warning(format!("{} was not imported: {reason}", Cx::tilde(path)));
    }
    let mut off = outcome.off.clone();
    off.dedup();
    for worktree in off {
        cx.ui.warning(format!(
            "the sessions of {} were left out, since `record` is switched off there",
            Cx::tilde(Path::new(&worktree))
        ));
    }
    if rows.is_empty() {
        cx.ui.status(match of {
            0 => "There are no transcripts to import.".to_owned(),
            n => format!("Nothing is new in {}.", ui::plural(n as u64, "transcript")),
        });
        return;
    }
    let turns = rows.iter().map(|r| r.turns).sum();
    let bytes = rows.iter().map(|r| r.bytes).sum();
    let Linked { commits, looked_at } = outcome.linked;
    cx.ui.status(format!(
        "Imported {} with {} ({}); {} of {} in the history {} their work.",
        ui::plural(rows.len() as u64, "session"),
        ui::plural(turns, "turn"),
        ui::bytes(bytes),
        ui::count(commits),
        ui::plural(looked_at, "commit"),
        if commits == 1 { "holds" } else { "hold" },
    ));
}

fn preview(cx: &Cx, chosen: &[Found], wrong: &Wrong) -> Result<(), CommandError> {
    let mut rows = Vec::new();
    let mut ledger = cx
        .home
        .ledger()
        .exists()
        .then(|| cx.open_ledger())
        .transpose()?;
    for found in chosen {
        let bytes = match &mut ledger {
            Some(ledger) => import::unread(ledger, found)?,
            None => found.bytes(),
        };
        if bytes > 0 {
            rows.push(Row {
                session: None,
                found,
                bytes,
                title: None,
                turns: 0,
                tokens: Tokens::default(),
                made: 0,
                written: 0,
                last_at: found.modified(),
            });
        }
    }
    let refused = wrong
        .iter()
        .map(|(path, (_, detail))| (path.clone(), detail.clone()));
    let outcome = Outcome {
        refused: refused.collect(),
        ..Outcome::default()
    };
    if cx.ui.json {
        let done = false;
        return cx.ui.json(
            SCHEMA,
            Json {
                done,
                ..json(&rows, &outcome)
            },
        );
    }
    let mut table = Table::new(vec!["WRITTEN", "SIZE", "DIRECTORY", "TRANSCRIPT"]);
    for row in &rows {
        table.row(vec![
            Cell::styled(Style::Time, ui::ago(row.last_at, clock::now())),
            Cell::number(ui::bytes(row.bytes)),
            Cell::plain(Cx::tilde(Path::new(&row.found.cwd))),
            Cell::plain(row.found.file.stream.clone()),
        ]);
    }
    if !rows.is_empty() {
        cx.ui.table(&table)?;
    }
    for (path, reason) in &outcome.refused {
        cx.ui.warning(format!(
            "{} would not be imported: {reason}",
            Cx::tilde(path)
        ));
    }
    cx.ui.status(format!(
        "{} would be read ({}); nothing was.",
        ui::plural(rows.len() as u64, "transcript"),
        ui::bytes(rows.iter().map(|r| r.bytes).sum())
    ));
    Ok(())
}

fn json(rows: &[Row<'_>], outcome: &Outcome) -> Json {
    let session = |row: &Row<'_>| Session {
        session: row.session.map(|s| s.to_string()),
        agent: row.found.agent.name.to_owned(),
        native_id: row.found.file.session.to_string(),
        path: row.found.file.path.display().to_string(),
        title: row.title.clone(),
        turns: row.turns,
        input_tokens: row.tokens.input,
        output_tokens: row.tokens.output,
        cached_tokens: row.tokens.cache_read + row.tokens.cache_write,
        commits_made: row.made,
        commits_written: row.written,
        bytes: row.bytes,
    };
    Json {
        done: true,
        sessions: rows.iter().map(session).collect(),
        bytes: rows.iter().map(|r| r.bytes).sum(),
        commits_looked_at: outcome.linked.looked_at,
        commits_linked: outcome.linked.commits,
        refused: outcome
            .refused
            .iter()
            .map(|(path, reason)| Refused {
                path: path.display().to_string(),
                reason: reason.clone(),
            })
            .collect(),
    }
}
