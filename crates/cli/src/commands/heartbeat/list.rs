//! `siglum heartbeat list`.

use serde::Serialize;
use siglum_domain::Timestamp;
use siglum_domain::heartbeat::TickOutcome;
use siglum_engine::driven::heartbeat::{self, HeartbeatJson, Overview};
use siglum_ledger::TickRecord;

use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.list/1";

/// List heartbeats with their schedule, last tick and totals
///
/// Shows when each heartbeat is due, how its last tick ended and why, when a tick last succeeded, and how many
/// ticks there were.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the heartbeats
    siglum heartbeat list

  List them with totals by outcome, as JSON
    siglum heartbeat list --json")]
pub struct Args {}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    items: Vec<HeartbeatJson>,
}

pub fn run(_: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let all = heartbeat::list(ledger.as_mut(), None, usize::MAX)?;
    if cx.ui.json {
        let items = all.iter().map(HeartbeatJson::from).collect();
        return cx.ui.json(SCHEMA, Json { items });
    }
    if all.is_empty() {
        cx.ui
            .status("No heartbeats; run `siglum heartbeat add` to add one.");
        return Ok(());
    }
    let now = clock::now();
    let mut table = Table::new(vec![
        "HEARTBEAT",
        "NEXT",
        "LAST",
        "ALIVE",
        "TICKS",
        "TARGET",
        "ROUTE",
    ]);
    for one in &all {
        table.row(row(one, now));
    }
    cx.ui.table(&table)?;
    for one in &all {
        if let Err(why) = &one.definition {
            cx.ui
                .warning(format!("{} cannot run here: {why}", one.record.name));
        }
    }
    Ok(())
}

fn row(one: &Overview, now: Timestamp) -> Vec<Cell> {
    let record = &one.record;
    let next = match (record.paused_at, record.next_due) {
        (Some(_), _) => Cell::styled(Style::Warning, "paused"),
        (None, Some(due)) if due.millis_since(now) < -60_000 => {
            Cell::styled(Style::Warning, "overdue")
        }
        (None, Some(due)) => Cell::styled(Style::Time, ui::when(due)),
        (None, None) => Cell::plain("never"),
    };
    let alive = record
        .alive_at
        .map_or_else(|| "never".to_owned(), |at| ui::ago(at, now));
    let ticks: u64 = one.totals.iter().map(|t| t.ticks).sum();
    let known = one.definition.as_ref().ok();
    vec![
        Cell::styled(Style::Id, record.name.as_str()),
        next,
        one.last
            .as_ref()
            .map_or_else(|| Cell::plain("-"), |tick| ended(tick, now)),
        Cell::styled(Style::Time, alive),
        Cell::number(ui::count(ticks)),
        Cell::plain(known.map_or("-", |d| d.target.as_str())),
        Cell::plain(known.map_or("-", |d| d.route.as_str())),
    ]
}

/// How a tick ended, and why.
pub(super) fn ended(tick: &TickRecord, now: Timestamp) -> Cell {
    let style = match tick.outcome {
        TickOutcome::Failed | TickOutcome::Interrupted | TickOutcome::Undelivered => Style::Warning,
        TickOutcome::Skipped => Style::Dim,
        _ => Style::Added,
    };
    let why = tick
        .reason
        .as_deref()
        .map(|r| format!(" ({})", ui::one_line(r, 40)));
    let ago = ui::ago(tick.due, now);
    Cell::styled(
        style,
        format!("{}{} {ago}", tick.outcome, why.unwrap_or_default()),
    )
}
