//! `siglum otel list`.

use serde::Serialize;
use siglum_egress::otlp::Compression;
use siglum_engine::share::otel;
use siglum_engine::share::otel::destination::{Content, Destination, DestinationError, Sends};
use siglum_ledger::{Delivery, Depth, Ledger, read};

use crate::clock;
use crate::commands::projection::show::Trouble;
use crate::commands::projection::standing::{self, Standing, StandingJson};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.otel.list/1";
/// How many sessions that fail are shown for each.
const SESSIONS: usize = 200;

/// List OTLP endpoints with their settings, progress and failures
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the endpoints
    siglum otel list

  Print them as JSON
    siglum otel list --json")]
pub struct Args {}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    destinations: Vec<DestinationJson>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DestinationJson {
    /// How far it is.
    standing: StandingJson,
    /// What it gets; absent where the settings cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<SettingsJson>,
    /// Why the settings cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Sessions that fail or are set aside, 200 at most.
    troubled: Vec<Trouble>,
    /// Spans, log records and data points that came nowhere: the server threw them away, or they waited too long.
    lost_records: u64,
    /// What agents sent and still waits.
    waiting_records: u64,
    /// The same in bytes.
    waiting_bytes: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SettingsJson {
    endpoint: String,
    /// `http/protobuf`, `http/json` or `grpc`.
    protocol: String,
    gzip: bool,
    /// `sessions`: traces of turns; `native`: what agents themselves send.
    sends: String,
    /// The one signal that the endpoint is for: `traces`, `logs` or `metrics`; absent where it is for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    only: Option<String>,
    /// Whether prompts, answers and what tools said are sent.
    content: bool,
    /// Which part of all sessions is sent, in thousandths.
    sample_per_mille: u16,
    /// The names of the headers that are sent.
    headers: Vec<String>,
    /// For how many days what cannot be sent waits.
    keep_days: u16,
}

impl SettingsJson {
    fn from_destination(destination: &Destination) -> Self {
        Self {
            endpoint: destination.endpoint.to_string(),
            protocol: destination.protocol.to_string(),
            gzip: destination.compression == Compression::Gzip,
            sends: destination.sends.word().to_owned(),
            only: destination.only().map(str::to_owned),
            content: destination.content == Content::On,
            sample_per_mille: destination.sample.as_per_mille(),
            headers: destination.headers.iter().map(|h| h.name.clone()).collect(),
            keep_days: destination.backlog.days,
        }
    }
}

/// A destination and how it stands.
struct Row {
    standing: Standing,
    settings: Result<Destination, DestinationError>,
    troubled: Vec<Delivery>,
    lost: u64,
    waiting: Depth,
}

pub fn run(_: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let rows = rows(&mut ledger)?;
    if cx.ui.json {
        let destinations = rows.iter().map(json).collect();
        return cx.ui.json(SCHEMA, Json { destinations });
    }
    if rows.is_empty() {
        cx.ui
            .status("No endpoints; add one with `siglum otel add`.");
        return Ok(());
    }
    let mut lines = table(&rows).lines(&cx.ui).into_iter();
    if let Some(heading) = lines.next() {
        cx.ui.line(heading)?;
    }
    for (line, row) in lines.zip(&rows) {
        cx.ui.line(line)?;
        if let Ok(destination) = &row.settings {
            cx.ui.paragraph(2, settings_text(destination))?;
        }
        cx.ui.paragraph(2, row.standing.scope.text())?;
    }
    for row in &rows {
        let name = &row.standing.projection.name;
        if let Err(why) = &row.settings {
            cx.ui.warning(format!("{name}: {why}"));
        }
        if let Err(why) = &row.standing.lag {
            cx.ui.warning(format!("cannot check {name}: {why}"));
        }
        for delivery in &row.troubled {
            let reason = delivery.reason.as_deref().unwrap_or("unknown reason");
            let how = match delivery.parked_at {
                Some(_) => "is parked",
                None => "fails and will be retried",
            };
            let session = delivery.session.short();
            cx.ui
                .warning(format!("{name}: session {session} {how}: {reason}"));
        }
        if row.lost > 0 {
            let records = ui::plural(row.lost, "record");
            cx.ui.warning(format!(
                "{name}: {records} lost: rejected by the server, or expired in the queue"
            ));
        }
    }
    Ok(())
}

fn rows(ledger: &mut dyn Ledger) -> Result<Vec<Row>, CommandError> {
    let mut rows = Vec::new();
    for standing in standing::all(ledger, clock::now())? {
        let Some(settings) = Destination::from_projection(&standing.projection) else {
            continue;
        };
        let name = standing.projection.name.clone();
        let counted = otel::lost(&name);
        let (troubled, waiting, counts) = read(ledger, |tx| {
            let troubled = tx.troubled(Some(&name), SESSIONS)?;
            Ok((troubled, tx.forward_depth(&name)?, tx.counts()?))
        })?;
        let lost = counts.into_iter().find(|(name, _)| *name == counted);
        rows.push(Row {
            standing,
            settings,
            troubled,
            lost: lost.map_or(0, |(_, records)| records),
            waiting,
        });
    }
    Ok(rows)
}

fn json(row: &Row) -> DestinationJson {
    let settings = row.settings.as_ref();
    DestinationJson {
        standing: StandingJson::from_standing(&row.standing),
        settings: settings.ok().map(SettingsJson::from_destination),
        problem: settings.err().map(ToString::to_string),
        troubled: row.troubled.iter().map(Trouble::from_delivery).collect(),
        lost_records: row.lost,
        waiting_records: row.waiting.records,
        waiting_bytes: row.waiting.bytes,
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(vec![
        "NAME", "HEALTH", "DUE", "SECONDS", "PARKED", "LOST", "ENDPOINT",
    ]);
    for row in rows {
        let (standing, health) = (&row.standing, row.standing.health());
        let lag = standing.lag.as_ref().ok();
        let number = |n: Option<u64>| match n {
            Some(n) => Cell::number(ui::count(n)),
            None => Cell::styled(Style::Dim, "?"),
        };
        table.row(vec![
            Cell::styled(Style::Id, &standing.projection.name),
            Cell::styled(health.style(), health.word()),
            number(lag.map(|l| l.receipts + row.waiting.records)),
            number(lag.map(|_| standing.lag_seconds().unwrap_or_default())),
            number(lag.map(|l| l.parked)),
            Cell::number(ui::count(row.lost)),
            match &row.settings {
                Ok(destination) => Cell::plain(destination.endpoint.to_string()),
                Err(_) => Cell::styled(Style::Dim, "?"),
            },
        ]);
    }
    table
}

/// What an endpoint gets, and how.
fn settings_text(destination: &Destination) -> String {
    let content = match destination.content {
        Content::On => "with content",
        Content::Off => "without content",
    };
    format!(
        "{} over {}, {content}, sample {}",
        sends(destination),
        destination.protocol,
        destination.sample
    )
}

fn sends(destination: &Destination) -> String {
    match (destination.sends, destination.only()) {
        (Sends::Sessions, Some(only)) => format!("sessions, {only} only"),
        (Sends::Native, Some(only)) => format!("native, {only} only"),
        (sends, None) => sends.word().to_owned(),
    }
}
