//! `siglum context show`.

use siglum_domain::context::RouteKey;
use siglum_engine::driven::context;
use siglum_engine::views::context::RouteDetailJson;

use super::failed;
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.context.show/1";

/// Show a route and its latest contexts, newest first
///
/// Marks the context that the route's ordinary runs see.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the route of a heartbeat
    siglum context show heartbeat:triage

  Show its contexts and moves as JSON
    siglum context show heartbeat:triage --json")]
pub struct Args {
    /// Route key
    #[arg(value_name = "ROUTE", value_parser = key)]
    route: RouteKey,
}

fn key(text: &str) -> Result<RouteKey, String> {
    RouteKey::new(text).map_err(|e| e.rule.to_owned())
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let shown = context::route(ledger.as_mut(), &args.route).map_err(failed)?;
    if cx.ui.json {
        return cx.ui.json(SCHEMA, RouteDetailJson::from(&shown));
    }
    let now = clock::now();
    let mut table = Table::new(vec!["SESSION", "CAUSE", "INHERITS", "SEEN", "CONTEXT"]);
    for context in &shown.contexts {
        let current = shown.route.current.as_ref() == Some(&context.key);
        let mark = if current { " (current)" } else { "" };
        table.row(vec![
            Cell::styled(Style::Id, context.session.short()),
            Cell::plain(context.cause.to_string()),
            Cell::plain(context.inherit.to_string()),
            Cell::styled(Style::Time, ui::ago(context.seen_at, now)),
            Cell::plain(format!("{}{mark}", context.key)),
        ]);
    }
    cx.ui.table(&table)
}
