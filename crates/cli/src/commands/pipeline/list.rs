//! `siglum pipeline list`.

use serde::Serialize;
use siglum_domain::pipeline::{Graph, State};
use siglum_engine::views::pipeline;

use super::show::tone;
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.pipeline.list/1";

/// List pipelines, most recently started first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the last 20 pipelines
    siglum pipeline list

  List the next 50 after one
    siglum pipeline list --limit 50 --after issue-42")]
pub struct Args {
    /// Limit to N rows; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only pipelines listed after this one
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    items: Vec<Row>,
    /// Whether there are more behind the last one.
    more: bool,
}

/// A pipeline in short.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    pipeline: String,
    /// `pending`, `running`, `awaiting`, `completed`, `failed`, `cancelled`, `skipped` or `unknown`.
    state: String,
    /// What goes on.
    current: Vec<String>,
    phases: usize,
    phases_over: usize,
    sessions: u64,
    live: u64,
    commits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    duration_ms: u64,
}

impl Row {
    fn from_graph(graph: &Graph) -> Self {
        Self {
            pipeline: graph.pipeline.clone(),
            state: graph.state.to_string(),
            current: current(graph),
            phases: graph.phases.len(),
            phases_over: over(graph),
            sessions: graph.totals.sessions,
            live: graph.totals.live,
            commits: graph.totals.commits,
            started_at: graph.started.map(|t| t.to_string()),
            ended_at: graph.ended.map(|t| t.to_string()),
            duration_ms: graph.duration_ms,
        }
    }
}

/// The phases in which something goes on.
fn current(graph: &Graph) -> Vec<String> {
    let current = graph.phases.iter().filter(|p| p.is_current());
    current.filter_map(|p| p.name.clone()).collect()
}

fn over(graph: &Graph) -> usize {
    graph.phases.iter().filter(|p| p.state.is_over()).count()
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let world = cx.world()?;
    let page = pipeline::list(&world, ledger.as_mut(), args.after.as_deref(), args.limit)?;
    if cx.ui.json {
        let items = page.pipelines.iter().map(Row::from_graph).collect();
        let more = page.more;
        return cx.ui.json(SCHEMA, Json { items, more });
    }
    if page.pipelines.is_empty() {
        cx.ui
            .status("No pipelines; link a session to one with `siglum run --pipeline ID`.");
        return Ok(());
    }
    let heading = vec![
        "STATE", "PHASES", "SESSIONS", "COMMITS", "BEGAN", "TOOK", "PIPELINE",
    ];
    let mut table = Table::new(heading);
    let now = clock::now();
    for graph in &page.pipelines {
        table.row(vec![
            state(graph.state),
            Cell::number(format!("{}/{}", over(graph), graph.phases.len())),
            Cell::number(ui::count(graph.totals.sessions)),
            Cell::number(ui::count(graph.totals.commits)),
            Cell::styled(
                Style::Time,
                graph
                    .started
                    .map_or_else(String::new, |at| ui::age(at, now)),
            ),
            Cell::number(pipeline::duration(graph.duration_ms)),
            Cell::plain(&graph.pipeline),
        ]);
    }
    cx.ui.table(&table)?;
    if page.more {
        cx.ui
            .hint("There are more; pass `--limit 0` to list all of them.");
    }
    Ok(())
}

fn state(state: State) -> Cell {
    let of = match state {
        State::Running => pipeline::Tone::Live,
        State::Completed => pipeline::Tone::Good,
        State::Failed => pipeline::Tone::Bad,
        State::Awaiting | State::Cancelled | State::Unknown => pipeline::Tone::Warning,
        State::Pending | State::Skipped => pipeline::Tone::Dim,
    };
    match tone(of) {
        Some(style) => Cell::styled(style, state.word()),
        None => Cell::plain(state.word()),
    }
}
