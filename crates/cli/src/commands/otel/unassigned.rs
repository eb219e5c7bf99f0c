//! `siglum otel unassigned`.

use serde::Serialize;
use siglum_domain::AgentName;
use siglum_ledger::{UnassignedRecord, read};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.otel.unassigned/1";

/// List telemetry received by the gateway that matches no session
///
/// The newest comes first. Siglum keeps this telemetry and joins it to a session once its trace is known; the API can
/// assign a trace to a session.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the newest records
    siglum otel unassigned

  List the last 10 as JSON
    siglum otel unassigned -n 10 --json")]
pub struct Args {
    /// Limit to N rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    items: Vec<RowJson>,
    /// All records that have no session, listed or not.
    records: u64,
}

/// Records of one batch, one trace and one agent, for one reason.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RowJson {
    number: u64,
    at: String,
    /// `traces`, `logs` or `metrics`.
    signal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    /// The span of the first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// What the first record is called.
    name: String,
    records: u64,
    /// A word for programs.
    reason: String,
}

impl RowJson {
    fn from_record(row: &UnassignedRecord) -> Self {
        Self {
            number: row.sequence,
            at: row.at.to_string(),
            signal: row.signal.clone(),
            trace_id: row.trace.map(|trace| trace.to_string()),
            span_id: row.span.map(|span| span.to_string()),
            agent: row.agent.as_ref().map(AgentName::to_string),
            name: row.name.clone(),
            records: row.records,
            reason: row.reason.clone(),
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let (rows, depth) = read(&mut ledger, |tx| {
        Ok((tx.unassigned(None, args.limit)?, tx.unassigned_depth()?))
    })?;
    if cx.ui.json {
        let items = rows.iter().map(RowJson::from_record).collect();
        let records = depth.records;
        return cx.ui.json(SCHEMA, Json { items, records });
    }
    if rows.is_empty() {
        cx.ui.status("No unassigned telemetry.");
        return Ok(());
    }
    cx.ui.table(&table(&rows))?;
    Ok(())
}

fn table(rows: &[UnassignedRecord]) -> Table {
    let mut table = Table::new(vec![
        "TIME", "SIGNAL", "RECORDS", "REASON", "AGENT", "TRACE", "NAME",
    ]);
    for row in rows {
        let agent = row.agent.as_ref().map_or("", AgentName::as_str);
        let trace = row.trace.map(|trace| trace.to_string());
        table.row(vec![
            Cell::styled(Style::Time, row.at.to_string()),
            Cell::plain(&row.signal),
            Cell::number(ui::count(row.records)),
            Cell::plain(&row.reason),
            Cell::styled(Style::Agent, agent),
            Cell::styled(Style::Id, trace.unwrap_or_default()),
            Cell::plain(ui::one_line(&row.name, 80)),
        ]);
    }
    table
}
