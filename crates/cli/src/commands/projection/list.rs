//! `siglum projection list`.

use serde::Serialize;

use super::standing::{self, Standing, StandingJson};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.projection.list/1";

/// List projections with their target, lag and failures
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the projections
    siglum projection list

  Print them as JSON
    siglum projection list --json")]
pub struct Args {}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    projections: Vec<StandingJson>,
}

pub fn run(_: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let all = standing::all(&mut ledger, clock::now())?;
    if cx.ui.json {
        let projections = all.iter().map(StandingJson::from_standing).collect();
        return cx.ui.json(SCHEMA, Json { projections });
    }
    if all.is_empty() {
        cx.ui
            .status("No projections; add one with `siglum projection add`.");
        return Ok(());
    }
    let mut lines = table(&all).lines(&cx.ui).into_iter();
    if let Some(heading) = lines.next() {
        cx.ui.line(heading)?;
    }
    for (line, standing) in lines.zip(&all) {
        cx.ui.line(line)?;
        cx.ui.paragraph(2, standing::target(&standing.projection))?;
        cx.ui.paragraph(2, standing.scope.text())?;
    }
    for (name, why) in all
        .iter()
        .filter_map(|s| Some((&s.projection.name, s.lag.as_ref().err()?)))
    {
        cx.ui.warning(format!("cannot check {name}: {why}"));
    }
    Ok(())
}

fn table(all: &[Standing]) -> Table {
    let mut table = Table::new(vec![
        "NAME", "HEALTH", "RECEIPTS", "SESSIONS", "SECONDS", "FAILING", "PARKED", "KIND",
    ]);
    for standing in all {
        let health = standing.health();
        let lag = standing.lag.as_ref().ok();
        let number = |n: Option<u64>| match n {
            Some(n) => Cell::number(ui::count(n)),
            None => Cell::styled(Style::Dim, "?"),
        };
        table.row(vec![
            Cell::styled(Style::Id, &standing.projection.name),
            Cell::styled(health.style(), health.word()),
            number(lag.map(|l| l.receipts)),
            number(lag.map(|l| l.sessions)),
            number(lag.map(|_| standing.lag_seconds().unwrap_or_default())),
            number(lag.map(|l| l.failing)),
            number(lag.map(|l| l.parked)),
            Cell::plain(&standing.projection.kind),
        ]);
    }
    table
}
