//! How far behind the work is that nobody waits for: deliveries, the search index, the sums of sessions.

use std::time::{Duration, Instant};

use siglum_domain::Timestamp;
use siglum_engine::Here;
use siglum_engine::share::project;
use siglum_engine::views::overview::COUNT_MOST;
use siglum_ledger::{Lag, Ledger, LedgerError, read};

use crate::app::App;
use crate::ledgers::{Ledgers, Unavailable};
use crate::metrics::{Behind, BehindDeliveries};

/// How long it is counted in one tenant: probes of the store wait for it.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same in all of them: whoever collects metrics waits for it.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(5);
/// How long what was counted holds: anybody may ask.
const COUNTED: Duration = Duration::from_secs(1);

/// Counts it for the metrics. Where that takes too long, or a store does not answer, they stay as they were: it would look
/// as if nothing waited.
pub(crate) async fn note(app: &App) {
    let mut last = app.metrics().counted.lock().await;
    if last.is_some_and(|at| at.elapsed() < COUNTED) {
        return;
    }
    match tokio::time::timeout(PATIENCE_IN_ALL, count(app)).await {
        Ok(Some(behind)) => app.metrics().note_behind(&behind),
        Ok(None) | Err(_) => tracing::debug!("what is behind was not counted in time"),
    }
    *last = Some(Instant::now());
}

async fn count(app: &App) -> Option<Behind> {
    // Also where nobody was let in to since the gateway started.
    let mut tenants = app.remembered().tenants();
    tenants.insert(Ledgers::local());
    tenants.extend(app.ledgers().projecting().await);
    let mut all = Behind::default();
    for tenant in tenants {
        let counting = app.ledgers().count(&tenant, count_in);
        match tokio::time::timeout(PATIENCE, counting).await.ok()? {
            Ok(counted) => all.add(&counted.ok()?),
            // A store of several tenants need not have this one.
            Err(Unavailable::NoTenant) => {}
            Err(_) => return None,
        }
    }
    Some(all)
}

fn count_in(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<Behind, LedgerError> {
    let now = here.now();
    let mut behind = read(ledger, |tx| {
        let mut behind = Behind::default();
        for projection in tx.projections()? {
            if project::is_once(&projection.name).is_some() {
                continue;
            }
            let lag = tx.lag(&projection.name)?;
            let of_kind = behind.deliveries.entry(kind(&projection.kind)).or_default();
            of_kind.add(&BehindDeliveries {
                receipts: lag.receipts,
                seconds: seconds(&lag, now),
                parked: lag.parked,
            });
        }
        behind.unfolded = tx.unfolded(COUNT_MOST)?.len() as u64;
        Ok(behind)
    })?;
    behind.unindexed = ledger.index()?.index_standing()?.waiting;
    Ok(behind)
}

/// The kind of a projection as a label: a program that feeds its own one calls it as it likes.
fn kind(of: &str) -> &'static str {
    let known = project::KINDS.iter().find(|known| **known == of);
    known.copied().unwrap_or(Behind::OTHER_KIND)
}

/// For how long a projection has lacked something.
fn seconds(lag: &Lag, now: Timestamp) -> u64 {
    let since = lag.since.map_or(0, |since| now.millis_since(since));
    u64::try_from(since / 1000).unwrap_or(0)
}
