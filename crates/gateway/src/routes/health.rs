//! Whether the gateway lives and can serve, what it counts, and what it can do.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Serialize;
use siglum_engine::share::ingest;
use siglum_ledger::read;

use crate::app::App;
use crate::behind;
use crate::ledgers::{Ledgers, Unavailable};
use crate::metrics::Standing;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;

/// The health of the gateway.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Health {
    /// `ok`.
    status: &'static str,
}

/// Check that the gateway is alive
#[cfg_attr(test, utoipa::path(get, path = "/healthz", tag = "health", operation_id = "getLiveness",
    responses((status = 200, description = "The gateway is alive", body = Health), Problems)))]
pub(crate) async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Check that the gateway is ready: its store can be read and written, and it is not shutting down
#[cfg_attr(test, utoipa::path(get, path = "/readyz", tag = "health", operation_id = "getReadiness",
    responses((status = 200, description = "The gateway is ready", body = Health), Problems)))]
pub(crate) async fn ready(State(app): State<App>) -> Result<Json<Health>, Problem> {
    if app.is_draining() {
        return Err(Problem::stopping());
    }
    let local = Ledgers::local();
    let probe = app
        .ledgers()
        .probe(&local, |_, ledger| read(ledger, |tx| tx.parked().map(drop)));
    match probe.await {
        // A store of several tenants need not have this one.
        Ok(Ok(())) | Err(Unavailable::NoTenant) => {}
        Ok(Err(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    }
    let mut tenants = vec![local];
    tenants.extend(app.remembered().tenants());
    app.ledgers().try_write(&tenants).await?;
    Ok(Json(Health { status: "ok" }))
}

/// Get metrics in the Prometheus text format
#[cfg_attr(test, utoipa::path(get, path = "/metrics", tag = "health", operation_id = "getMetrics",
    responses((status = 200, description = "The metrics", body = String, content_type = "text/plain"), Problems)))]
pub(crate) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let form = "text/plain; version=0.0.4; charset=utf-8";
    app.metrics().standing(standing(&app).await);
    behind::note(&app).await;
    app.metrics().runs_waiting(app.runs().waiting());
    ([(header::CONTENT_TYPE, form)], app.metrics().text())
}

/// How telemetry stands, in all stores that anybody was let in to. One that does not answer is left out.
async fn standing(app: &App) -> Standing {
    let mut all = Standing::default();
    for tenant in app.remembered().tenants() {
        let found = app.ledgers().count(&tenant, |_, ledger| {
            read(ledger, |tx| {
                let (waiting, kept) = (tx.inbox()?, tx.unassigned_depth()?);
                let mut counts = tx.counts()?.into_iter();
                let conflicts = counts.find(|(name, _)| name == ingest::CONFLICTS);
                Ok((waiting.records, kept.records, conflicts.map_or(0, |c| c.1)))
            })
        });
        if let Ok(Ok((waiting, unassigned, conflicts))) = found.await {
            all.waiting += waiting;
            all.unassigned += unassigned;
            all.conflicts += conflicts;
        }
    }
    all
}
