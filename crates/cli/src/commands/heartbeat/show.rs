//! `siglum heartbeat show`.

use serde::Serialize;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_engine::driven::heartbeat::{self, HeartbeatJson, TickJson};

use super::list::ended;
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.show/1";

/// Show a heartbeat and how its ticks ended, newest first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show a heartbeat
    siglum heartbeat show triage

  Show its last 100 ticks
    siglum heartbeat show triage -n 100")]
pub struct Args {
    /// Heartbeat name
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: HeartbeatName,
    /// Limit to N ticks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    heartbeat: HeartbeatJson,
    /// Newest first.
    ticks: Vec<TickJson>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let overview = heartbeat::show(ledger.as_mut(), &args.name)?;
    let ticks = heartbeat::ticks(ledger.as_mut(), &args.name, None, args.limit)?;
    if cx.ui.json {
        let answer = Json {
            heartbeat: HeartbeatJson::from(&overview),
            ticks: ticks.iter().map(TickJson::from).collect(),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    let due = match (overview.record.paused_at, overview.record.next_due) {
        (Some(at), _) => format!("has been paused since {}", ui::when(at)),
        (None, Some(due)) => format!("is due {}", ui::when(due)),
        (None, None) => "is never due".to_owned(),
    };
    cx.ui.line(format!(
        "{} {due}",
        cx.ui.paint(Style::Id, args.name.as_str())
    ))?;
    match &overview.definition {
        Ok(d) => cx
            .ui
            .line(format!("{} · {} · {}", d.agent, d.route, d.target.place()))?,
        Err(why) => cx.ui.warning(format!("it cannot run here: {why}")),
    }
    for total in &overview.totals {
        let why = Some(&total.reason)
            .filter(|r| !r.is_empty())
            .map(|r| format!(" ({r})"));
        let (ticks, tokens) = (ui::count(total.ticks), ui::count(total.tokens));
        cx.ui.line(format!(
            "  {}{}: {ticks}, {tokens} tokens",
            total.outcome,
            why.unwrap_or_default()
        ))?;
    }
    if ticks.is_empty() {
        cx.ui.status("No ticks yet.");
        return Ok(());
    }
    let now = clock::now();
    let mut table = Table::new(vec!["DUE", "ENDED", "SESSION", "TOKENS", "BY"]);
    for tick in &ticks {
        table.row(vec![
            Cell::styled(Style::Time, tick.due.to_string()),
            ended(tick, now),
            tick.session
                .map_or_else(|| Cell::plain("-"), |s| Cell::styled(Style::Id, s.short())),
            Cell::number(ui::count(tick.tokens)),
            Cell::plain(&tick.by),
        ]);
    }
    cx.ui.table(&table)
}
