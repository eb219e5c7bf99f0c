//! Looking what is due.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use siglum_domain::Tenant;
use siglum_engine::driven::heartbeat::{self, Claimed, SWEPT_MOST};
use siglum_platform::clock::Ids;

use super::{deliver, tick};
use crate::app::App;
use crate::ledgers::{Ledgers, Unavailable};

/// How often it is looked what is due.
const LOOK: Duration = Duration::from_secs(1);
/// How often it is looked who has heartbeats.
const TENANTS: Duration = Duration::from_secs(15);
/// How often old ticks are let go.
const SWEEP: Duration = Duration::from_mins(10);

/// Looks what is due, for as long as the gateway runs.
pub(crate) async fn watch(app: App) {
    let mut stopping = app.stopping();
    let by = format!("gateway {}", siglum_domain::TokenId::mint(&Ids).short());
    configure(&app).await;
    let (mut tenants, mut listed) = (BTreeSet::new(), None::<Instant>);
    let mut swept = None::<Instant>;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stopping.changed() => return,
        }
        // Another gateway claims what is due.
        if app.is_draining() {
            return;
        }
        if listed.is_none_or(|at| at.elapsed() >= TENANTS) {
            tenants = app.ledgers().beating().await;
            listed = Some(Instant::now());
        }
        let sweeps = swept.is_none_or(|at| at.elapsed() >= SWEEP);
        for tenant in &tenants {
            if let Err(error) = run_due(&app, tenant, &by).await {
                tracing::warn!("cannot process heartbeats: {error}");
            }
            if sweeps {
                sweep(&app, tenant).await;
            }
        }
        if sweeps {
            swept = Some(Instant::now());
        }
    }
}

/// The heartbeats of the configuration are those of a file's only tenant, or of the default one.
async fn configure(app: &App) {
    let settings = app.heartbeats();
    let all: Vec<_> = settings
        .configured
        .iter()
        .map(|c| c.definition.clone())
        .collect();
    let by = settings.by.clone();
    if by.is_empty() {
        return;
    }
    let tenant = Ledgers::local();
    let synced = app.ledgers().write(&tenant, move |here, ledger| {
        heartbeat::sync(here, ledger, &all, &by).map_err(|e| e.to_string())
    });
    match synced.await {
        Ok(Ok(())) => {}
        // A server may have no such tenant, and then no heartbeats of the configuration.
        Err(Unavailable::NoTenant) if settings.configured.is_empty() => {}
        Ok(Err(error)) => tracing::error!("heartbeats in the configuration are ignored: {error}"),
        Err(error) => tracing::error!("heartbeats in the configuration are ignored: {error}"),
    }
}

async fn run_due(app: &App, tenant: &Tenant, by: &str) -> Result<(), Unavailable> {
    let due = app.ledgers().read(tenant, heartbeat::is_due).await?;
    if !due.map_err(|e| Unavailable::from(&e))? {
        return Ok(());
    }
    let claims = {
        let (app, by) = (app.clone(), by.to_owned());
        move |here: &siglum_engine::Here<'_>, ledger: &mut dyn siglum_ledger::Ledger| {
            heartbeat::bury(here, ledger)?;
            heartbeat::claim(here, ledger, &by, &|definition| {
                tick::is_run(&app, definition)
            })
        }
    };
    let claimed: Vec<Claimed> = app
        .ledgers()
        .write(tenant, claims)
        .await?
        .map_err(|e| Unavailable::from(&e))?;
    for claimed in claimed {
        let (app, tenant) = (app.clone(), tenant.clone());
        tokio::spawn(async move { tick::run(app, tenant, claimed).await });
    }
    deliver::round(app, tenant).await
}

async fn sweep(app: &App, tenant: &Tenant) {
    loop {
        match app.ledgers().write(tenant, heartbeat::sweep).await {
            Ok(Ok(swept)) if swept.ticks >= SWEPT_MOST && !*app.stopping().borrow() => {}
            Ok(Ok(_)) => return,
            Ok(Err(error)) => return tracing::warn!("cannot delete old ticks: {error}"),
            Err(error) => return tracing::warn!("cannot delete old ticks: {error}"),
        }
    }
}
