//! `siglum context list`.

use siglum_domain::Timestamp;
use siglum_engine::driven::context;
use siglum_engine::views::context::RouteListJson;
use siglum_ledger::RouteRecord;

use super::failed;
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.context.list/1";

/// List routes with run counts, last activity and last outcome
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the routes
    siglum context list

  List all routes as JSON
    siglum context list --limit 0 --json")]
pub struct Args {
    /// Limit to N routes; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let limit = match args.limit {
        0 => u32::MAX as usize,
        n => n,
    };
    let found = context::routes(ledger.as_mut(), None, limit.saturating_add(1));
    let mut routes = found.map_err(failed)?;
    if cx.ui.json {
        let list = RouteListJson::from_page(&routes, limit);
        return cx.ui.json(SCHEMA, list);
    }
    let more = routes.len() > limit;
    routes.truncate(limit);
    if routes.is_empty() {
        cx.ui.status("No run has a context yet.");
        return Ok(());
    }
    cx.ui.table(&table(&routes, clock::now()))?;
    if more {
        cx.ui
            .hint("There are more; pass `--limit 0` to list all of them.");
    }
    Ok(())
}

fn table(routes: &[RouteRecord], now: Timestamp) -> Table {
    let mut table = Table::new(vec!["RUNS", "SEEN", "LAST", "AGENT", "ROUTE"]);
    for route in routes {
        let last = route.last.as_ref();
        let outcome = last.and_then(|last| last.outcome.as_deref());
        table.row(vec![
            Cell::plain(route.runs.to_string()),
            Cell::styled(Style::Time, ui::ago(route.seen_at, now)),
            Cell::plain(outcome.unwrap_or("-")),
            Cell::styled(Style::Agent, route.agent.to_string()),
            Cell::plain(route.key.to_string()),
        ]);
    }
    table
}
