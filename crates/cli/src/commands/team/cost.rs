//! Cost at the team's gateway, for `siglum cost --team`.

use serde::Serialize;
use siglum_domain::link::Link;
use siglum_domain::{AgentName, SessionId, TurnId, observation};
use siglum_engine::views::cost::By;

use super::documents::{CostReport, CostRow, Used};
use super::{linked, print_source, reader};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::team::SourceJson;
use crate::time::Period;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.team.cost/1";

/// The most rows that a gateway gives.
const ROWS_MOST: usize = 10_000;

/// What is summed up.
pub struct CostQuery<'a> {
    pub by: By,
    pub heading: &'static str,
    pub place: &'a Where,
    pub period: Period,
    pub session: Option<&'a str>,
    pub agent: Option<&'a AgentName>,
    pub model: Option<&'a str>,
    pub links: &'a [Link],
    /// At most this many rows; 0 means all.
    pub limit: usize,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    report: CostReport,
    source: SourceJson,
}

pub fn run(cx: &Cx, query: &CostQuery<'_>) -> Result<(), CommandError> {
    let (reader, mut parameters) = reader(cx, query.place, query.period)?;
    if let Some(session) = query.session {
        let id = session.parse::<SessionId>().map_err(|_| {
            CommandError::usage("`--session` with `--team` needs the whole id of a session")
                .hint("`siglum session list --team --json` shows it.")
        })?;
        // A session is one, wherever it works.
        parameters.retain(|(name, _)| *name != "repository");
        parameters.push(("session", id.to_string()));
    }
    parameters.push(("by", query.by.word().to_owned()));
    parameters.extend(query.agent.map(|agent| ("agent", agent.to_string())));
    parameters.extend(query.model.map(|model| ("model", model.to_owned())));
    parameters.extend(linked(query.links));
    let limit = match query.limit {
        0 => ROWS_MOST,
        limit => limit.min(ROWS_MOST),
    };
    parameters.push(("limit", limit.to_string()));
    let report: CostReport = reader.get("/v1/cost", &parameters)?;
    let (report, source) = (report.cleaned(), reader.source());
    if cx.ui.json {
        let answer = Json {
            report,
            source: SourceJson::from(&source),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    if report.rows.is_empty() {
        let gateway = &source.gateway;
        cx.ui.status(format!("No usage at {gateway} matches."));
        return Ok(());
    }
    print_source(cx, &source)?;
    cx.ui.table(&table(query, &report))?;
    hint_of_rows(cx, report.more, report.overlapping);
    Ok(())
}

fn table(query: &CostQuery<'_>, report: &CostReport) -> Table {
    let is_titled = matches!(query.by, By::Session | By::Turn | By::Commit);
    let mut heading = vec![query.heading];
    heading.extend(["INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST"]);
    heading.extend(is_titled.then_some("TITLE"));
    let mut table = Table::new(heading);
    for row in &report.rows {
        let mut cells = vec![label(query.by, row)];
        cells.extend(used(&row.usage));
        if is_titled {
            cells.push(Cell::plain(row.title.as_deref().unwrap_or_default()));
        }
        table.row(cells);
    }
    let is_overlapping = report.overlapping > 0;
    let mut cells = vec![Cell::plain(match is_overlapping {
        true => "total (rows overlap)",
        false => "total",
    })];
    cells.extend(used(&report.total));
    cells.extend(is_titled.then(|| Cell::plain("")));
    table.row(cells);
    table
}

fn label(by: By, row: &CostRow) -> Cell {
    let Some(key) = &row.key else {
        return Cell::styled(Style::Dim, by.without());
    };
    let short = match by {
        By::Session => key.parse::<SessionId>().ok().map(|id| id.short()),
        By::Turn => key.parse::<TurnId>().ok().map(|id| id.short()),
        By::Commit => Some(key.chars().take(7).collect()),
        By::Repository => row
            .repository_remote
            .as_ref()
            .or(row.repository.as_ref())
            .cloned(),
        _ => None,
    };
    let style = match by {
        By::Session | By::Turn | By::Commit => Style::Id,
        By::Day => Style::Time,
        _ => Style::Agent,
    };
    Cell::styled(style, short.unwrap_or_else(|| key.clone()))
}

fn used(used: &Used) -> Vec<Cell> {
    let tokens = observation::Tokens::from(used.tokens);
    let counts = [
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write,
    ];
    let mut cells = counts.map(|n| Cell::number(ui::count(n))).to_vec();
    cells.push(match used.cost() {
        Some(cost) if cost.is_whole() => Cell::number(cost.to_string()),
        Some(cost) => Cell::number(cost.to_string()).with(Style::Warning),
        None => Cell::number("?").with(Style::Warning),
    });
    cells
}

/// What the rows leave out, and what stands in more than one of them.
pub(in crate::commands) fn hint_of_rows(cx: &Cx, more: bool, overlapping: u64) {
    if more {
        cx.ui
            .hint("There are more; pass `--limit 0` to show all of them.");
    }
    if overlapping > 0 {
        cx.ui.hint(format!(
            "Rows overlap: {} in more than one row; the total counts each once.",
            ui::plural(overlapping, "message")
        ));
    }
}
