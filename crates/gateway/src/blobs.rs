//! Moving large payloads to the blob store, and deleting the blobs of what was erased, in all ledgers of a server.
//!
//! Several gateways may do so at once, as they may anything else.

use std::time::Duration;

use siglum_domain::Tenant;
use siglum_ledger::BlobWork;

use crate::app::App;
use crate::ledgers::Unavailable;

/// How long after its start the gateway looks for the first time.
const FIRST: Duration = Duration::from_secs(1);
/// How often it looks.
const EVERY: Duration = Duration::from_secs(20);
/// How long it waits after the blob store or the database did not do it.
const FAILED: Duration = Duration::from_secs(60);
/// So many ledgers fail one by one. Of more, the cause is not theirs, and the others would wait for the same.
const FAILURES: usize = 3;

/// Moves and deletes, for as long as the gateway runs.
pub(crate) async fn watch(app: App) {
    let mut stopping = app.stopping();
    let mut wait = FIRST;
    loop {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = stopping.changed() => return,
        }
        wait = EVERY;
        let mut failures = 0;
        for tenant in app.ledgers().all_tenants().await {
            if let Err(error) = keep(&app, &tenant).await {
                tracing::warn!("cannot move payloads to the blob store: {error}");
                wait = FAILED;
                failures += 1;
                if failures == FAILURES {
                    break;
                }
            }
        }
    }
}

/// Moves and deletes what there is of a tenant, in bounded parts: others wait for the store, too.
async fn keep(app: &App, tenant: &Tenant) -> Result<(), Unavailable> {
    let (mut moved, mut deleted) = (0, 0);
    while !app.is_draining() {
        let work = app.ledgers().write(tenant, |here, ledger| {
            ledger
                .keep_blobs(here.now())
                .map_err(|error| Unavailable::from(&error))
        });
        let work: BlobWork = work.await??;
        if work.is_nothing() {
            break;
        }
        moved += work.moved;
        deleted += work.deleted;
    }
    if moved + deleted > 0 {
        tracing::info!(
            moved,
            deleted,
            "moved {moved} payloads to the blob store, and deleted {deleted} blobs"
        );
    }
    Ok(())
}
