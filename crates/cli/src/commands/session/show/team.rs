//! One session at the team's gateway with its last turns, for `siglum show SESSION --team`.

use std::collections::BTreeSet;

use serde_json::Value;
use siglum_domain::fold::{self, Entry};
use siglum_domain::{AgentName, ObservationId, SessionId, Timestamp, TurnId};
use siglum_engine::record::passages::Passages;
use siglum_engine::views::history::{self, Turn};
use siglum_engine::views::search::SearchResultJson;
use siglum_engine::views::session::SessionJson;
use siglum_ledger::LedgerError;

use super::{Json, SCHEMA, TurnJson};
use crate::clock::Ids;
use crate::commands::team::{LogEntry, link_words, print_source, redact, state};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::team::SourceJson;
use crate::team::reader::{Paging, Reader};
use crate::ui::{self, Style, Ui};

/// How many entries of a log are read at a time, and how often at most. An answer of so many fits into what is read of one,
/// where each has as much text as a hook may look at.
const ENTRIES: u64 = 50;
const READS: usize = 40;
/// How many files of a turn, and how many lines of a text, are shown.
const FILES: usize = 20;
const LINES: usize = 8;

/// Shows a session by its id, the last digits of it, or its conversation id, with this many turns (0: all that were read).
pub fn run(cx: &Cx, name: &str, turns: usize) -> Result<(), CommandError> {
    // A session is one, whichever repository it works in.
    let reader = Reader::find(cx, true)?;
    let session = match name.parse::<SessionId>() {
        Ok(id) => reader
            .get::<SessionJson>(&format!("/v1/sessions/{id}"), &[])?
            .cleaned(),
        Err(_) => session_named(&reader, name)?,
    };
    let (entries, is_cut) = last_entries(&reader, &session, turns)?;
    let sealed = (session.mode, session.sealed);
    let views = fold::session(&entries).turns;
    let mut read = history::turns(views, &entries, sealed, session.state);
    read.retain(|turn| turn.view.prompt.is_some() || !turn.view.tools.is_empty());
    let earlier = match turns {
        0 => 0,
        turns => read.len().saturating_sub(turns),
    };
    let turns = read[earlier..].iter().map(|turn| turn_json(turn, is_cut));
    let turns = turns.collect::<Result<Vec<_>, LedgerError>>()?;
    let source = reader.source();
    if cx.ui.json {
        let answer = Json {
            session,
            recorded: None,
            earlier_turns: (!is_cut).then_some(earlier),
            turns,
            source: Some(SourceJson::from(&source)),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    print_session(&cx.ui, &session)?;
    print_source(cx, &source)?;
    turns.iter().try_for_each(|turn| print_turn(&cx.ui, turn))?;
    if is_cut {
        cx.ui
            .hint("Its log is long; what stands before these entries was not read.");
    }
    Ok(())
}

/// The session that a text names, among those in which it stands.
fn session_named(reader: &Reader, name: &str) -> Result<SessionJson, CommandError> {
    let paging = Paging {
        rows: 100,
        page: 100,
        pages: 20,
    };
    let parameters = [("q", name.trim().to_owned())];
    let (found, more) = reader.list::<SearchResultJson>("/v1/search", &parameters, paging)?;
    let is_named = |session: &SessionJson| {
        session.id.to_string().ends_with(name) || session.conversation_id == name
    };
    let sessions = found.into_iter().map(|result| result.session);
    let mut named: Vec<SessionJson> = sessions.filter(is_named).collect();
    match (named.pop(), named.as_slice()) {
        (Some(session), []) => Ok(session.cleaned()),
        (Some(session), others) => {
            let ids = others.iter().chain([&session]).map(|s| s.id.to_string());
            let ids: Vec<String> = ids.take(5).collect();
            let name = ui::one_line(name, 100);
            Err(
                CommandError::failed(format!("`{name}` names several sessions"))
                    .hint(format!("Pass one of {}.", ids.join(", "))),
            )
        }
        (None, _) if more => {
            let (name, gateway) = (ui::one_line(name, 100), reader.address());
            let error =
                format!("no session `{name}` among the newest that {gateway} was asked for");
            Err(CommandError::failed(error).hint("Pass the whole id: `ses_` and 32 digits."))
        }
        (None, _) => {
            let (name, gateway) = (ui::one_line(name, 100), reader.address());
            Err(
                CommandError::not_found(format!("no session `{name}` at {gateway}"))
                    .hint("Run `siglum session list --team` to find it."),
            )
        }
    }
}

/// The end of a session's log: enough for this many turns, if it is not too long; and whether it was.
fn last_entries(
    reader: &Reader,
    session: &SessionJson,
    turns: usize,
) -> Result<(Vec<Entry>, bool), CommandError> {
    let path = format!("/v1/sessions/{}/events", session.id);
    let mut entries: Vec<Entry> = Vec::new();
    let (mut until, mut is_enough) = (session.head, false);
    for nth in 0..READS {
        if until == 0 || is_enough || (nth > 0 && reader.is_late()) {
            break;
        }
        let after = until.saturating_sub(ENTRIES);
        let rows = usize::try_from(until - after).unwrap_or(usize::MAX);
        let paging = Paging {
            rows,
            page: rows,
            pages: 1,
        };
        let parameters = [("cursor", after.to_string())];
        let (found, _) = reader.list::<Value>(&path, &parameters, paging)?;
        let found = found.into_iter().filter_map(entry);
        let read = entries.len();
        entries.extend(found.filter(|entry| entry.sequence > after && entry.sequence <= until));
        until = after;
        is_enough = turns > 0 && is_before(&entries, read, turns);
    }
    entries.sort_by_key(|entry| entry.sequence);
    Ok((entries, until > 0 && !is_enough))
}

/// Whether what was read last has nothing of the newest turns. Their entries may stand among those of others, and the end of
/// a session is in none.
fn is_before(entries: &[Entry], read: usize, turns: usize) -> bool {
    let all: BTreeSet<TurnId> = entries.iter().filter_map(|entry| entry.turn).collect();
    let newest: Vec<TurnId> = all.iter().rev().take(turns).copied().collect();
    let is_newest = |entry: &Entry| entry.turn.is_some_and(|turn| newest.contains(&turn));
    let last = &entries[read..];
    all.len() > turns && !last.is_empty() && !last.iter().any(is_newest)
}

/// An entry that this program has words for.
fn entry(document: Value) -> Option<Entry> {
    let logged: LogEntry = serde_json::from_value(document).ok()?;
    let (sequence, turn) = (logged.sequence, logged.turn);
    let observation = logged.into_observation();
    Some(Entry {
        id: ObservationId::mint(&Ids),
        sequence,
        turn,
        recorded_at: observation.at,
        observation,
    })
}

/// A turn without secrets. Its number is not known where the log is not read from its beginning.
fn turn_json(turn: &Turn, is_cut: bool) -> Result<TurnJson, LedgerError> {
    let mut json = TurnJson::from_turn(turn, false, &mut Passages::without_ledger())?;
    json.texts().for_each(redact);
    if is_cut {
        json.number = None;
    }
    json.commits = None;
    Ok(json)
}

fn print_session(ui: &Ui, session: &SessionJson) -> Result<(), CommandError> {
    let title = session.title.as_deref().unwrap_or("(no prompt)");
    let links = link_words(session);
    let links = match links.is_empty() {
        true => links,
        false => format!("  ({links})"),
    };
    ui.line(format!(
        "{} {}  {}{links}",
        ui.paint(Style::Agent, AgentName::word(session.agent.as_ref())),
        ui.paint(Style::Id, session.id.to_string()),
        ui::one_line(title, 60)
    ))?;
    let (state, style) = state(session);
    ui.line(format!(
        "{}, {}, {}, last {}",
        ui.paint(style, state),
        ui::plural(session.turns, "turn"),
        ui::plural(session.commits, "commit"),
        ui::when(session.last_at)
    ))
}

fn print_turn(ui: &Ui, turn: &TurnJson) -> Result<(), CommandError> {
    ui.line("")?;
    let opened = turn
        .opened_at
        .as_deref()
        .and_then(|at| at.parse::<Timestamp>().ok());
    let calls = ui::plural(turn.tools.len() as u64, "tool call");
    let opened = opened.map(|at| format!("{}, ", ui::when(at)));
    print_text(ui, "Turn", &(opened.unwrap_or_default() + &calls))?;
    if let Some(prompt) = &turn.prompt {
        print_text(ui, "Prompt", prompt)?;
    }
    if !turn.files.is_empty() {
        let more = match turn.files.len().saturating_sub(FILES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown: Vec<&str> = turn.files.iter().take(FILES).map(String::as_str).collect();
        print_text(ui, "Files", &(shown.join(", ") + &more))?;
    }
    if !turn.heads.is_empty() {
        let short = |head: &String| head.chars().take(10).collect::<String>();
        let heads: Vec<String> = turn.heads.iter().map(short).collect();
        print_text(ui, "HEAD", &heads.join(", "))?;
    }
    match &turn.last_message {
        Some(message) => print_text(ui, "Answer", message),
        None => Ok(()),
    }
}

/// A text beside a word, over several lines.
fn print_text(ui: &Ui, word: &str, text: &str) -> Result<(), CommandError> {
    let width = ui.width().saturating_sub(12).clamp(30, 100);
    let lines = ui::wrap(text.trim(), width);
    for (at, line) in lines.iter().take(LINES).enumerate() {
        let word = match at {
            0 => ui.paint(Style::Heading, format!("{word:<10}")),
            _ => " ".repeat(10),
        };
        ui.line(format!("{word}  {line}").trim_end())?;
    }
    match lines.len().saturating_sub(LINES) {
        0 => Ok(()),
        more => ui.line(format!(
            "            … {} more; `--json` has all of it",
            ui::plural(more as u64, "line")
        )),
    }
}
