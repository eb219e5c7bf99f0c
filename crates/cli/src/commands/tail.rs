//! `siglum tail`: a session as it goes on.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_domain::fold::Entry;
use siglum_domain::observation::{Body, Fact, Outcome, Role};
use siglum_engine::record::passages::Passages;
use siglum_engine::views::find;
use siglum_ledger::{Ledger, LedgerError, SqliteLedger, read};

use super::session::page::work;
use super::session::show::outcome as word_of;
use super::show;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::Stop;
use crate::ui::{self, Style};

/// The schema of each line of the JSON answer.
pub const SCHEMA: &str = "siglum.tail/1";
/// How often it is looked whether the session has gone on.
const POLL: Duration = Duration::from_millis(500);
/// How many entries are read at once.
const PAGE: usize = 200;

/// Follow a session: print what happens in it
///
/// Begins with its last prompt, and prints a line for each prompt, message, tool call and failure until the session ends or
/// you press Ctrl-C. Messages appear when the agent reports them or its transcript is read, at the latest at the end of a
/// turn. With `--json`, prints one object per line.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Follow the newest session of this repository
    siglum tail

  Follow a session as JSON
    siglum tail a1b2c3d4 --json")]
pub struct Args {
    /// Session id, the last digits of it, the agent's native id, or its name; default: the newest session here that has
    /// not ended
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

/// What happened.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    session: String,
    /// The place of the entry in the log.
    entry: u64,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    /// `prompt`, `message`, `tool_started`, `tool_ended`, `stopped`, `compacted` or `session_ended`.
    kind: String,
    /// What was said or done.
    text: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let (mut ledger, here) = cx.settled()?;
    let session = match &args.session {
        Some(text) => find::session(&mut ledger, text)?,
        None => show::newest(cx, &mut ledger, here, true)?.ok_or_else(|| {
            CommandError::not_found("no session of this repository is open")
                .hint("Run `siglum session list` to list the sessions, and name one.")
        })?,
    };
    let stop = Stop::catch()?;
    let mut tail = Tail {
        cx,
        session,
        after: before_last_prompt(&mut ledger, session)?,
        printed: BTreeSet::new(),
    };
    cx.ui
        .status(format!("Following session {}.", session.short()));
    loop {
        let page = read(&mut ledger, |tx| tx.entries(session, tail.after, PAGE))?;
        if !page.is_empty() {
            tail.print_page(&mut ledger, &page)?;
            continue;
        }
        let record = read(&mut ledger, |tx| tx.session(session))?;
        if record.is_none_or(|record| record.ended_at.is_some()) {
            cx.ui.status("The session has ended.");
            return Ok(());
        }
        if !stop.wait(POLL) {
            return Ok(());
        }
    }
}

/// The place before the last prompt of a session.
fn before_last_prompt(ledger: &mut dyn Ledger, session: SessionId) -> Result<u64, LedgerError> {
    let last = read(ledger, |tx| {
        tx.last_of_kind(session, "prompt", u64::MAX >> 1)
    })?;
    Ok(last.map_or(0, |sequence| sequence.saturating_sub(1)))
}

/// A session that is followed.
struct Tail<'a> {
    cx: &'a Cx,
    session: SessionId,
    /// The last entry that was looked at.
    after: u64,
    /// What was printed, by kind and event: hooks and the transcript report the same.
    printed: BTreeSet<(&'static str, String)>,
}

/// A line about something that happened.
struct Line {
    mark: &'static str,
    text: String,
    style: Option<Style>,
}

impl Tail<'_> {
    fn print_page(
        &mut self,
        ledger: &mut SqliteLedger,
        page: &[Entry],
    ) -> Result<(), CommandError> {
        let agent = read(ledger, |tx| tx.session(self.session))?;
        let agent = agent.map_or_else(String::new, |record| record.agent_word().to_owned());
        let mut passages = Passages::new(ledger, &agent);
        for entry in page {
            self.after = entry.sequence;
            let seen = &entry.observation;
            let kind = seen.fact.kind();
            let Some(line) = line(&seen.fact, &mut passages)? else {
                continue;
            };
            if self.printed.insert((kind, seen.event.clone())) {
                self.print(entry, kind, &line)?;
            }
        }
        Ok(())
    }

    fn print(&self, entry: &Entry, kind: &str, line: &Line) -> Result<(), CommandError> {
        let ui = &self.cx.ui;
        if ui.json {
            let happened = Json {
                session: self.session.to_string(),
                entry: entry.sequence,
                at: entry.observation.at.to_string(),
                turn: entry.turn.map(|turn| turn.to_string()),
                kind: kind.to_owned(),
                text: line.text.clone(),
            };
            return ui.json(SCHEMA, happened);
        }
        let head = format!("{}  {}", ui::when(entry.observation.at), line.mark);
        let room = ui
            .width()
            .saturating_sub(head.chars().count() + 1)
            .clamp(30, 400);
        let text = ui::one_line(&line.text, room);
        let text = match line.style {
            Some(style) => ui.paint(style, text),
            None => text,
        };
        let (time, mark) = (
            ui.paint(Style::Time, ui::when(entry.observation.at)),
            line.mark,
        );
        ui.line(format!("{time}  {mark} {text}").trim_end())
    }
}

/// What is said of a fact; nothing of most.
fn line(fact: &Fact, passages: &mut Passages<'_>) -> Result<Option<Line>, LedgerError> {
    let plain = |mark, text: String| Line {
        mark,
        text,
        style: None,
    };
    Ok(match fact {
        Fact::Prompt { text, .. } => body_text(text, passages)?.map(|text| plain(">", text)),
        Fact::Message {
            role: Role::Assistant,
            text,
            ..
        } => body_text(text, passages)?.map(|text| plain("<", text)),
        Fact::ToolStarted {
            tool,
            class,
            input,
            path,
        } => {
            let input = input.text().unwrap_or_default();
            let work = work(*class, input, path.as_deref());
            Some(plain(" ", format!("{tool} {work}")))
        }
        Fact::ToolEnded { tool, outcome, .. } if *outcome != Outcome::Ok => Some(Line {
            mark: " ",
            text: format!("{tool} {}", word_of(*outcome)),
            style: Some(Style::Removed),
        }),
        Fact::Compacted { .. } => Some(plain(" ", "the context was compacted".to_owned())),
        Fact::Stopped { failure, .. } => Some(Line {
            mark: ".",
            text: match failure {
                Some(failure) => format!("the turn failed: {failure}"),
                None => "the turn ended".to_owned(),
            },
            style: Some(Style::Dim),
        }),
        Fact::SessionEnded { reason } => Some(Line {
            mark: ".",
            text: format!("the session ended: {reason}"),
            style: Some(Style::Dim),
        }),
        _ => None,
    })
}

fn body_text(body: &Body, passages: &mut Passages<'_>) -> Result<Option<String>, LedgerError> {
    let text = passages.text(body)?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}
