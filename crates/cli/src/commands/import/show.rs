//! What an import brought, as it is shown.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use serde::Serialize;
use siglum_domain::observation::Tokens;
use siglum_domain::{SessionId, Timestamp};
use siglum_engine::record::import::{self, ImportableTranscript, Linked};
use siglum_engine::record::transcript::SkippedLines;
use siglum_engine::views::cost::MoneyJson;
use siglum_ledger::{SessionFilter, SqliteLedger, read};

use super::{Outcome, SCHEMA, Wrong, shown};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Cell, Style, Table};

/// How many sessions are shown, the newest.
const SESSIONS: usize = 20;
/// How many transcripts with skipped lines are named.
const SKIPPED: usize = 5;

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// What these sessions cost at list prices; absent if nothing was imported, or the prices cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<MoneyJson>,
    /// Transcripts that were not imported, with the reason.
    refused: Vec<Refused>,
    /// Transcripts of which lines were skipped, because they cannot be read.
    skipped_lines: Vec<SkippedTranscript>,
}

/// One session.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Session {
    /// Its id; absent if it was only shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    agent: String,
    native_id: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Refused {
    path: String,
    reason: String,
}

/// The lines of a transcript that were skipped.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SkippedTranscript {
    path: String,
    /// Lines that are cut, or not of the form that the agent writes.
    malformed: u64,
    not_utf8: u64,
    /// Lines that are longer than 64 MiB.
    too_long: u64,
    /// Where the first of them begins in the file, in bytes.
    first_at: u64,
}

/// One session as it is shown.
pub(super) struct Row<'a> {
    session: Option<SessionId>,
    found: &'a ImportableTranscript,
    bytes: u64,
    title: Option<String>,
    turns: u64,
    tokens: Tokens,
    made: u64,
    written: u64,
    last_at: Timestamp,
}

pub(super) fn rows<'a>(
    ledger: &mut SqliteLedger,
    outcome: &'a Outcome,
) -> Result<Vec<Row<'a>>, CommandError> {
    Ok(read(ledger, |tx| {
        let mut rows = Vec::new();
        for (session, found, bytes) in &outcome.sessions {
            let (made, written) = import::commits_with(tx, *session)?;
            let this = SessionFilter {
                id: Some(*session),
                ..SessionFilter::default()
            };
            let listing = tx.sessions(&this)?.pop();
            let summary = listing.as_ref().map(|l| l.summary.clone());
            let summary = summary.unwrap_or_default();
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

pub(super) fn table(cx: &Cx, rows: &[Row<'_>]) -> Result<(), CommandError> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(vec![
        "SESSION", "LAST", "TURNS", "TOKENS", "COMMITS", "TITLE",
    ]);
    let mut newest: Vec<&Row<'_>> = rows.iter().collect();
    newest.sort_by_key(|row| Reverse(row.last_at));
    newest.truncate(SESSIONS);
    for row in newest {
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
    cx.ui.table(&table)?;
    let more = rows.len().saturating_sub(SESSIONS);
    if more > 0 {
        cx.ui.line(format!("… {} more", ui::count(more as u64)))?;
    }
    Ok(())
}

pub(super) fn total(cx: &Cx, rows: &[Row<'_>], outcome: &Outcome, of: usize) {
    for (path, reason) in &outcome.refused {
        cx.ui
            .warning(format!("{} was not imported: {reason}", Cx::tilde(path)));
    }
    let mut off = outcome.off.clone();
    off.dedup();
    for worktree in off {
        cx.ui.warning(format!(
            "skipped the sessions of {}: `record` is false there",
            Cx::tilde(Path::new(&worktree))
        ));
    }
    skipped_lines(cx, &outcome.skipped);
    if rows.is_empty() {
        cx.ui.status(match of {
            0 => "No transcripts to import.".to_owned(),
            n => format!("Nothing new in {}.", ui::plural(n as u64, "transcript")),
        });
        return;
    }
    let turns = rows.iter().map(|r| r.turns).sum();
    let bytes = rows.iter().map(|r| r.bytes).sum();
    let Linked { commits, looked_at } = outcome.linked;
    let cost = outcome.cost.map(|cost| format!(", cost {cost}"));
    cx.ui.status(format!(
        "Imported {} with {} ({}){}; found their work in {} of {}.",
        ui::plural(rows.len() as u64, "session"),
        ui::plural(turns, "turn"),
        ui::bytes(bytes),
        cost.unwrap_or_default(),
        ui::count(commits),
        ui::plural(looked_at, "commit"),
    ));
    if rows.len() > SESSIONS {
        cx.ui
            .hint("Run `siglum session list --limit 0` to list all sessions.");
    }
}

/// Says of which transcripts lines were skipped, and why.
fn skipped_lines(cx: &Cx, skipped: &[(PathBuf, SkippedLines)]) {
    let (named, others) = skipped.split_at(skipped.len().min(SKIPPED));
    for (path, lines) in named {
        cx.ui.warning(format!(
            "skipped {} of {}: {lines}; the first at byte {}",
            ui::plural(lines.count(), "line"),
            Cx::tilde(&shown(path)),
            lines.first_at.unwrap_or_default(),
        ));
    }
    let mut rest = SkippedLines::default();
    others.iter().for_each(|(_, lines)| rest += *lines);
    if rest.count() > 0 {
        cx.ui.warning(format!(
            "skipped {} of {}: {rest}",
            ui::plural(rest.count(), "line"),
            ui::counted(others.len() as u64, "other transcript", "other transcripts"),
        ));
    }
    if !skipped.is_empty() {
        cx.ui
            .hint("Run `siglum doctor` to list skipped lines by transcript.");
    }
}

pub(super) fn preview(
    cx: &Cx,
    chosen: &[ImportableTranscript],
    wrong: &Wrong,
) -> Result<(), CommandError> {
    let mut rows = Vec::new();
    let mut ledger = cx.has_ledger().then(|| cx.open_ledger()).transpose()?;
    let unread = match &mut ledger {
        Some(ledger) => import::unread(ledger, chosen)?,
        None => chosen.iter().map(ImportableTranscript::bytes).collect(),
    };
    for (found, bytes) in chosen.iter().zip(unread) {
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
        .map(|(path, (_, detail))| (shown(path), detail.clone()));
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
            Cell::plain(Cx::tilde(&shown(Path::new(&row.found.cwd)))),
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
        "{} would be imported ({}); nothing was changed.",
        ui::plural(rows.len() as u64, "transcript"),
        ui::bytes(rows.iter().map(|r| r.bytes).sum())
    ));
    Ok(())
}

pub(super) fn json(rows: &[Row<'_>], outcome: &Outcome) -> Json {
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
        cost: outcome.cost.as_ref().map(MoneyJson::from),
        refused: outcome
            .refused
            .iter()
            .map(|(path, reason)| Refused {
                path: path.display().to_string(),
                reason: reason.clone(),
            })
            .collect(),
        skipped_lines: outcome
            .skipped
            .iter()
            .map(|(path, lines)| SkippedTranscript {
                path: shown(path).display().to_string(),
                malformed: lines.malformed,
                not_utf8: lines.not_utf8,
                too_long: lines.too_long,
                first_at: lines.first_at.unwrap_or_default(),
            })
            .collect(),
    }
}
