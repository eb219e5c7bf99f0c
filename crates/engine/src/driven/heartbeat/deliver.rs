//! What a tick said goes where its heartbeat says, at least once.

use std::time::Duration;

use serde_json::{Map, Value};
use siglum_domain::context::RouteKey;
use siglum_domain::heartbeat::TickOutcome;
use siglum_ledger::{Durability, Ledger, LedgerError, TickRecord, write};

use super::arguments::arguments;
use super::fire::{add, redacted_reason};
use super::keep::{definition, later};
use super::schedule::tick_name;
use super::{Definition, Target};
use crate::Here;

/// How long whoever delivers has for it.
const WORKING: Duration = Duration::from_secs(90);
/// How often it is tried.
const TRIES: u64 = 12;
/// The pause after the first failure; it doubles with each.
const FIRST: Duration = Duration::from_secs(5);
/// The longest pause.
const LONGEST: Duration = Duration::from_mins(30);
/// How many are taken at once.
const TAKEN: usize = 8;

/// Something to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    /// Its name, the same each time that it is tried: a receiver can tell doubles by it.
    pub id: String,
    pub tick: TickRecord,
    /// To where: what the heartbeat says now.
    pub target: Target,
    /// The route that it belongs to. It is that of the heartbeat, never the key of a context.
    pub route: RouteKey,
    /// What it says, redacted.
    pub text: String,
    /// What its receiver gets of what the tick is known by; nothing where it does not say what it takes.
    pub arguments: Option<Map<String, Value>>,
}

/// Why something was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undelivered {
    /// It may be tried again.
    Later(String),
    /// It is refused for good.
    Refused(String),
}

/// Takes what may be delivered now, so that nobody else does for a while.
///
/// # Errors
/// Those of the ledger.
pub fn take(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<Vec<Parcel>, LedgerError> {
    let now = here.now();
    write(ledger, Durability::Process, |tx| {
        let mut parcels = Vec::new();
        for mut tick in tx.owed_ticks(now, TAKEN)? {
            tick.retry_at = Some(later(now, WORKING));
            let known = tx.heartbeat(&tick.heartbeat)?;
            let known = known.map(|record| definition(&record)).transpose();
            let Ok(Some(Definition {
                target,
                takes,
                route,
                ..
            })) = known
            else {
                tick.outcome = TickOutcome::Undelivered;
                tick.reason = Some("its heartbeat no longer exists".to_owned());
                (tick.owed, tick.retry_at) = (None, None);
                tx.set_tick(&tick)?;
                add(tx, &tick)?;
                continue;
            };
            tx.set_tick(&tick)?;
            let given = takes.map(|takes| arguments(tx, &takes, &route, &tick));
            parcels.push(Parcel {
                id: tick_name(&tick.heartbeat, tick.due),
                text: tick.owed.clone().unwrap_or_default(),
                arguments: given.transpose()?,
                target,
                route,
                tick,
            });
        }
        Ok(parcels)
    })
}

/// Notes what came of a delivery.
///
/// # Errors
/// Those of the ledger.
pub fn settle(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    parcel: &Parcel,
    outcome: &Result<(), Undelivered>,
) -> Result<(), LedgerError> {
    let now = here.now();
    write(ledger, Durability::Disk, |tx| {
        let found = tx.tick(&parcel.tick.heartbeat, parcel.tick.due)?;
        let Some(mut tick) = found.filter(|t| t.outcome == TickOutcome::Owed) else {
            return Ok(());
        };
        tick.target = parcel.target.place();
        tick.tries += 1;
        match outcome {
            Ok(()) => {
                tick.outcome = TickOutcome::Delivered;
                tick.reason = None;
                tick.delivered_at = Some(now);
            }
            Err(Undelivered::Later(reason)) if tick.tries < TRIES => {
                tick.reason = Some(redacted_reason(here, reason));
                tick.retry_at = Some(later(now, pause(tick.tries)));
            }
            Err(Undelivered::Later(reason) | Undelivered::Refused(reason)) => {
                tick.outcome = TickOutcome::Undelivered;
                tick.reason = Some(redacted_reason(here, reason));
            }
        }
        if tick.outcome.is_final() {
            (tick.owed, tick.retry_at) = (None, None);
            add(tx, &tick)?;
        }
        tx.set_tick(&tick)
    })
}

fn pause(tries: u64) -> Duration {
    let doubled = 1_u32 << u32::try_from(tries.saturating_sub(1)).unwrap_or(16).min(16);
    FIRST.saturating_mul(doubled).min(LONGEST)
}
