//! A pipeline that is drawn again when something changed.

use std::process::ExitCode;
use std::time::Duration;

use siglum_domain::pipeline::Graph;
use siglum_engine::views::pipeline::GraphJson;

use super::Look;
use crate::error::CommandError;
use crate::platform::Stop;
use crate::ui::Screen;

/// How often the ledger is asked.
const POLL: Duration = Duration::from_millis(500);
/// The exit code where somebody stopped it.
const INTERRUPTED: u8 = 130;
/// A drawing that is higher than the screen keeps so many lines of its head.
const HEAD: usize = 4;

/// Shows a pipeline until it has ended, or somebody stops that.
pub fn watch(
    look: &Look<'_>,
    ask: &mut dyn FnMut() -> Result<Graph, CommandError>,
) -> Result<ExitCode, CommandError> {
    let stop = Stop::catch()?;
    let is_screen = Screen::is_there() && !look.cx.ui.json;
    let last = if is_screen {
        on_screen(look, ask, &stop)?
    } else {
        line_by_line(look, ask, &stop)?
    };
    Ok(if last.ended_stated {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(INTERRUPTED)
    })
}

/// Prints it once for each change; that time goes by is none.
fn line_by_line(
    look: &Look<'_>,
    ask: &mut dyn FnMut() -> Result<Graph, CommandError>,
    stop: &Stop,
) -> Result<Graph, CommandError> {
    let mut shown = String::new();
    loop {
        let graph = ask()?;
        let now = without_time(&graph)?;
        if now != shown {
            if !shown.is_empty() && !look.cx.ui.json {
                look.cx.ui.line("")?;
            }
            look.print(&graph)?;
            shown = now;
        }
        if graph.ended_stated || !stop.wait(POLL) {
            return Ok(graph);
        }
    }
}

/// The graph as text that is the same as long as nothing but time changed.
fn without_time(graph: &Graph) -> Result<String, CommandError> {
    let mut graph = graph.clone();
    graph.duration_ms = 0;
    for phase in graph.phases.iter_mut().chain([&mut graph.loose]) {
        phase.duration_ms = 0;
        for instance in phase.waves.iter_mut().flatten() {
            instance.duration_ms = 0;
        }
    }
    Ok(serde_json::to_string(&GraphJson::from(&graph))?)
}

/// Draws over what was drawn, and leaves the last drawing behind.
fn on_screen(
    look: &Look<'_>,
    ask: &mut dyn FnMut() -> Result<Graph, CommandError>,
    stop: &Stop,
) -> Result<Graph, CommandError> {
    let mut graph = ask()?;
    let screen = Screen::open()?;
    let mut shown = Vec::new();
    loop {
        let lines = fitting(look.lines(&graph));
        if lines != shown {
            screen.show(&lines)?;
            shown = lines;
        }
        if graph.ended_stated || !stop.wait(POLL) {
            break;
        }
        graph = ask()?;
    }
    drop(screen);
    look.print(&graph)?;
    Ok(graph)
}

/// As much as the screen has room for: the head, and the end.
fn fitting(mut lines: Vec<String>) -> Vec<String> {
    let rows = Screen::rows().filter(|rows| *rows > HEAD + 2);
    match rows {
        Some(rows) if lines.len() > rows => {
            let end = lines.split_off(lines.len() - (rows - HEAD - 1));
            lines.truncate(HEAD);
            lines.push("  …".to_owned());
            lines.extend(end);
            lines
        }
        _ => lines,
    }
}
