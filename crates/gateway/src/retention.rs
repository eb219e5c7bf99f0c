//! Letting go of what is older than it is kept, in all ledgers of a server.

use std::time::Duration;

use siglum_domain::Tenant;
use siglum_engine::EngineError;
use siglum_engine::retention::{self, RetentionPolicy};

use crate::app::App;
use crate::ledgers::Unavailable;

/// How long after its start the gateway looks for the first time.
const FIRST: Duration = Duration::from_secs(10);
/// How often it looks.
const EVERY: Duration = Duration::from_hours(24);

/// Lets go of what is old, for as long as the gateway runs.
pub(crate) async fn watch(app: App, policy: RetentionPolicy) {
    if policy.keeps_all() {
        return;
    }
    let mut stopping = app.stopping();
    let mut wait = FIRST;
    loop {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = stopping.changed() => return,
        }
        for tenant in app.ledgers().all_tenants().await {
            if let Err(error) = let_go(&app, &tenant, policy).await {
                tracing::warn!("cannot delete old data: {error}");
            }
        }
        wait = EVERY;
    }
}

/// Lets go of what is old of a tenant, in bounded parts: others wait for the store, too.
async fn let_go(app: &App, tenant: &Tenant, policy: RetentionPolicy) -> Result<(), Unavailable> {
    while !app.is_draining() {
        let applied = app.ledgers().write(tenant, move |here, ledger| {
            retention::apply(here, ledger, None, &policy).map_err(|error| match error {
                EngineError::Ledger(error) => Unavailable::from(&error),
                _ => Unavailable::Broken,
            })
        });
        let removed = applied.await??;
        if !removed.is_nothing() {
            let (sessions, telemetry, audit) = (removed.sessions, removed.telemetry, removed.audit);
            tracing::info!(
                sessions,
                telemetry,
                audit,
                "forgot {sessions} old sessions, deleted {telemetry} batches of telemetry and {audit} audit entries"
            );
        }
        if !removed.has_more {
            break;
        }
    }
    Ok(())
}
