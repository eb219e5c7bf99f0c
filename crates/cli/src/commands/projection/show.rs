//! `siglum projection show`.

use serde::Serialize;
use siglum_ledger::{Delivery, read};

use super::standing::{self, Standing, StandingJson};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.projection/1";
/// How many sessions are shown.
const SESSIONS: usize = 200;

/// Show the failed and parked sessions of a projection, and why
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show why a projection is behind
    siglum projection show copies

  Print it as JSON
    siglum projection show copies --json")]
pub struct Args {
    /// Name of the projection
    #[arg(value_name = "NAME")]
    name: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    projection: StandingJson,
    /// What fails or is set aside, 200 at most.
    troubled: Vec<Trouble>,
}

/// A session that a projection did not take.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trouble {
    session: String,
    /// The receipt that it did not take.
    receipt: u64,
    /// The last receipt that there is.
    last_receipt: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    tries: u32,
    /// When it is tried again; absent where it is set aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_try_at: Option<String>,
    /// Since when it is set aside: it waits for `retry` or `skip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    parked_at: Option<String>,
}

impl Trouble {
    pub fn from_delivery(delivery: &Delivery) -> Self {
        let next = match delivery.parked_at {
            Some(_) => None,
            None => Some(delivery.retry_at.to_string()),
        };
        Self {
            session: delivery.session.to_string(),
            receipt: delivery.taken + 1,
            last_receipt: delivery.due,
            reason: delivery.reason.clone(),
            tries: delivery.tries,
            next_try_at: next,
            parked_at: delivery.parked_at.map(|t| t.to_string()),
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let projection = super::named(&mut ledger, &args.name)?;
    let troubled = read(&mut ledger, |tx| tx.troubled(Some(&args.name), SESSIONS))?;
    let standing = standing::standing(&mut ledger, projection, clock::now());
    if cx.ui.json {
        let answer = Json {
            projection: StandingJson::from_standing(&standing),
            troubled: troubled.iter().map(Trouble::from_delivery).collect(),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    print(cx, &standing, &troubled)
}

fn print(cx: &Cx, standing: &Standing, troubled: &[Delivery]) -> Result<(), CommandError> {
    let (p, health) = (&standing.projection, standing.health());
    cx.ui.line(format!(
        "{}  {} {}",
        cx.ui.paint(Style::Id, &p.name),
        p.kind,
        standing::target(p)
    ))?;
    let word = cx.ui.paint(health.style(), health.word());
    let added = ui::when(p.at);
    cx.ui
        .paragraph(0, format!("{word}: {}; added {added}", standing.text()))?;
    cx.ui
        .paragraph(0, format!("scope: {}", standing.scope.text()))?;
    if troubled.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(vec!["SESSION", "RECEIPT", "TRIES", "NEXT RETRY", "REASON"]);
    for delivery in troubled {
        let next = match delivery.parked_at {
            Some(_) => Cell::styled(Style::Warning, "parked"),
            None => Cell::styled(Style::Time, ui::when(delivery.retry_at)),
        };
        table.row(vec![
            Cell::styled(Style::Id, delivery.session.short()),
            Cell::number(ui::count(delivery.taken + 1)),
            Cell::number(ui::count(u64::from(delivery.tries))),
            next,
            Cell::plain(delivery.reason.as_deref().unwrap_or_default()),
        ]);
    }
    cx.ui.line("")?;
    cx.ui.table(&table)?;
    let name = &p.name;
    cx.ui.hint(format!(
        "Run `siglum projection retry {name}` to retry now, or `siglum projection skip {name} SESSION` to skip the receipt."
    ));
    Ok(())
}
