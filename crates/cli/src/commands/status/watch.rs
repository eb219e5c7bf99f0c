//! The sessions that run, shown again when something changed.

use std::process::ExitCode;
use std::time::Duration;

use siglum_engine::views::overview::{self, Overview};
use siglum_ledger::read;

use super::{Json, SCHEMA, read_status, session_lines};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::Stop;
use crate::ui::Screen;

/// How often the ledger is asked.
const POLL: Duration = Duration::from_secs(1);
/// The exit code where somebody stopped it.
const INTERRUPTED: u8 = 130;

/// Shows the sessions that run until somebody stops that.
pub(super) fn watch(cx: &Cx) -> Result<ExitCode, CommandError> {
    let stop = Stop::catch()?;
    match (cx.ui.json, Screen::is_there()) {
        (true, _) => as_json(cx, &stop)?,
        (false, true) => on_screen(cx, &stop)?,
        (false, false) => line_by_line(cx, &stop)?,
    }
    Ok(ExitCode::from(INTERRUPTED))
}

/// The lines that are shown now.
fn lines(cx: &Cx) -> Result<Vec<String>, CommandError> {
    if !cx.has_ledger() {
        return Ok(session_lines(cx, &Overview::default(), None, &[]));
    }
    let (mut ledger, here) = cx.settled()?;
    let overview = overview::overview(&cx.world()?, &mut ledger, here.as_ref())?;
    let repositories = read(&mut ledger, |tx| tx.repositories())?;
    Ok(session_lines(
        cx,
        &overview,
        here.map(|r| r.id),
        &repositories,
    ))
}

fn as_json(cx: &Cx, stop: &Stop) -> Result<(), CommandError> {
    let mut shown = String::new();
    loop {
        let json = Json::from_status(read_status(cx)?);
        let now = serde_json::to_string(&json)?;
        if now != shown {
            cx.ui.json(SCHEMA, json)?;
            shown = now;
        }
        if !stop.wait(POLL) {
            return Ok(());
        }
    }
}

fn line_by_line(cx: &Cx, stop: &Stop) -> Result<(), CommandError> {
    let mut shown = Vec::new();
    loop {
        let lines = lines(cx)?;
        if lines != shown {
            if !shown.is_empty() {
                cx.ui.line("")?;
            }
            lines.iter().try_for_each(|line| cx.ui.line(line))?;
            shown = lines;
        }
        if !stop.wait(POLL) {
            return Ok(());
        }
    }
}

/// Draws over what was drawn.
fn on_screen(cx: &Cx, stop: &Stop) -> Result<(), CommandError> {
    let screen = Screen::open()?;
    let mut shown = Vec::new();
    loop {
        let mut lines = lines(cx)?;
        lines.truncate(
            Screen::rows()
                .filter(|rows| *rows > 1)
                .unwrap_or(usize::MAX),
        );
        if lines != shown {
            screen.show(&lines)?;
            shown = lines;
        }
        if !stop.wait(POLL) {
            return Ok(());
        }
    }
}
