//! What is run on a schedule, and what became of it. The sign of life that a session gives is another thing.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use siglum_domain::Timestamp;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_engine::driven::heartbeat::{
    self, Definition, Form, FormError, HeartbeatError, HeartbeatJson, Origin, Pause, Target,
    TickJson,
};

use super::path::Path;
use crate::admission::Launcher;
use crate::app::App;
use crate::body::Body;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::{CURSOR_RULE, Query};
#[cfg(test)]
use crate::shared_schemas::{Heartbeat, HeartbeatForm, HeartbeatTick};

/// Rows of one page, and at most.
const PAGE: usize = 50;
const PAGE_MOST: usize = 500;

impl From<HeartbeatError> for Problem {
    fn from(error: HeartbeatError) -> Self {
        let detail = error.to_string();
        match error {
            HeartbeatError::Unknown(_) => Self::not_found(detail),
            HeartbeatError::Form(error) => error.into(),
            HeartbeatError::Configured(_) => Self::conflict("heartbeat-configured", detail),
            HeartbeatError::StillRunning { .. } => Self::conflict("heartbeat-running", detail),
            HeartbeatError::Lost { .. } => Self::conflict("tick-lost", detail),
            HeartbeatError::Ledger(error) => error.into(),
        }
    }
}

impl From<FormError> for Problem {
    fn from(error: FormError) -> Self {
        Self::invalid(error.field, error.rule)
    }
}

/// Creates or updates a heartbeat.
#[derive(Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateHeartbeat {
    /// Name; an existing heartbeat with this name is updated.
    #[cfg_attr(test, schema(pattern = r"^[a-z0-9][a-z0-9._-]{0,63}$"))]
    name: String,
    /// Definition: the fields of a heartbeat in the configuration.
    #[cfg_attr(test, schema(value_type = HeartbeatForm))]
    definition: Form,
}

/// A page of heartbeats.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct HeartbeatList {
    /// Sorted by name.
    #[cfg_attr(test, schema(value_type = Vec<Heartbeat>))]
    items: Vec<HeartbeatJson>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Ticks of a heartbeat, with their outcomes.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct HeartbeatTickList {
    /// Newest first.
    #[cfg_attr(test, schema(value_type = Vec<HeartbeatTick>))]
    items: Vec<TickJson>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn name(path: &Path) -> Result<HeartbeatName, Problem> {
    HeartbeatName::new(path.text("heartbeat")?).map_err(|e| Problem::invalid(e.what, e.rule))
}

/// List heartbeats with their next due time, last tick and totals
#[cfg_attr(test, utoipa::path(get, path = "/v1/heartbeats", tag = "heartbeats", operation_id = "listHeartbeats",
    security(("launcher" = [])),
    params(
        ("cursor" = Option<String>, Query, description = "Return heartbeats after this one (`next` of the previous page)", pattern = r"^[a-z0-9][a-z0-9._-]{0,63}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The heartbeats", body = HeartbeatList), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<HeartbeatList>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let after = query.named("cursor", |text| HeartbeatName::new(text).ok(), CURSOR_RULE)?;
    query.end()?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        heartbeat::list(ledger, after.as_ref(), limit + 1)
    });
    let mut found = found.await??;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more);
    Ok(Json(HeartbeatList {
        next: next.map(|last| last.record.name.to_string()),
        items: found.iter().map(HeartbeatJson::from).collect(),
    }))
}

/// Create or update a heartbeat
#[cfg_attr(test, utoipa::path(post, path = "/v1/heartbeats", tag = "heartbeats", operation_id = "createHeartbeat",
    security(("launcher" = [])),
    request_body = CreateHeartbeat,
    responses((status = 200, description = "The heartbeat", body = Heartbeat), Problems)))]
pub(crate) async fn put(
    State(app): State<App>,
    Launcher(caller): Launcher,
    Body(new): Body<CreateHeartbeat>,
) -> Result<Json<HeartbeatJson>, Problem> {
    let name = HeartbeatName::new(new.name).map_err(|e| Problem::invalid("name", e.rule))?;
    let definition = Definition::parse(name.clone(), new.definition);
    let definition = definition.map_err(|e| Problem::from(e).within("definition"))?;
    if let Target::Webhook(address) = &definition.target
        && app.heartbeats().reach(address).excludes(address)
    {
        let rule = "addresses on this machine or its network must be allowed by the operator: `siglum serve --webhook HOST`";
        return Err(Problem::invalid("definition.webhook", rule));
    }
    if definition.target == Target::Command {
        let rule = "a command can only be set in the configuration of the gateway";
        return Err(Problem::invalid("definition.target", rule));
    }
    let by = caller.by();
    let put = app.ledgers().write(&caller.tenant, move |here, ledger| {
        heartbeat::put(here, ledger, &definition, Origin::Asked, &by)?;
        heartbeat::show(ledger, &definition.name)
    });
    Ok(Json(HeartbeatJson::from(&put.await??)))
}

/// Get a heartbeat
#[cfg_attr(test, utoipa::path(get, path = "/v1/heartbeats/{heartbeat}", tag = "heartbeats", operation_id = "getHeartbeat",
    security(("launcher" = [])),
    params(("heartbeat" = String, Path, description = "Name of the heartbeat", pattern = r"^[a-z0-9][a-z0-9._-]{0,63}$")),
    responses((status = 200, description = "The heartbeat", body = Heartbeat), Problems)))]
pub(crate) async fn show(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
) -> Result<Json<HeartbeatJson>, Problem> {
    let name = name(&path)?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        heartbeat::show(ledger, &name)
    });
    Ok(Json(HeartbeatJson::from(&found.await??)))
}

/// Delete a heartbeat; its ticks are kept until their retention ends
#[cfg_attr(test, utoipa::path(delete, path = "/v1/heartbeats/{heartbeat}", tag = "heartbeats", operation_id = "deleteHeartbeat",
    security(("launcher" = [])),
    params(("heartbeat" = String, Path, description = "Name of the heartbeat", pattern = r"^[a-z0-9][a-z0-9._-]{0,63}$")),
    responses((status = 204, description = "The heartbeat is deleted"), Problems)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
) -> Result<StatusCode, Problem> {
    let (name, by) = (name(&path)?, caller.by());
    let removed = app.ledgers().write(&caller.tenant, move |here, ledger| {
        heartbeat::remove(here, ledger, &name, &by)
    });
    removed.await??;
    Ok(StatusCode::NO_CONTENT)
}

/// List the ticks of a heartbeat, newest first
#[cfg_attr(test, utoipa::path(get, path = "/v1/heartbeats/{heartbeat}/ticks", tag = "heartbeats", operation_id = "listHeartbeatTicks",
    security(("launcher" = [])),
    params(
        ("heartbeat" = String, Path, description = "Name of the heartbeat", pattern = r"^[a-z0-9][a-z0-9._-]{0,63}$"),
        ("cursor" = Option<String>, Query, description = "Return ticks before this time (`next` of the previous page)",
            pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The ticks", body = HeartbeatTickList), Problems)))]
pub(crate) async fn ticks(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
    mut query: Query,
) -> Result<Json<HeartbeatTickList>, Problem> {
    let name = name(&path)?;
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let before: Option<Timestamp> = query.cursor()?;
    query.end()?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        heartbeat::ticks(ledger, &name, before, limit)
    });
    let found = found.await??;
    let next = found.last().filter(|_| found.len() == limit);
    Ok(Json(HeartbeatTickList {
        next: next.map(|tick| tick.due.to_string()),
        items: found.iter().map(TickJson::from).collect(),
    }))
}

/// Run a heartbeat now, regardless of its schedule
#[cfg_attr(test, utoipa::path(post, path = "/v1/heartbeats/{heartbeat}/run", tag = "heartbeats", operation_id = "runHeartbeat",
    security(("launcher" = [])),
    params(("heartbeat" = String, Path, description = "Name of the heartbeat", pattern = r"^[a-z0-9][a-z0-9._-]{0,63}$")),
    responses((status = 202, description = "The tick that was started", body = HeartbeatTick), Problems)))]
pub(crate) async fn run(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
) -> Result<(StatusCode, Json<TickJson>), Problem> {
    let name = name(&path)?;
    let tick = crate::heartbeats::ask(&app, &caller.tenant, &name, &caller.by()).await?;
    Ok((StatusCode::ACCEPTED, Json(TickJson::from(&tick))))
}

/// Pause a heartbeat
#[cfg_attr(test, utoipa::path(post, path = "/v1/heartbeats/{heartbeat}/pause", tag = "heartbeats", operation_id = "pauseHeartbeat",
    security(("launcher" = [])),
    params(("heartbeat" = String, Path, description = "Name of the heartbeat", pattern = r"^[a-z0-9][a-z0-9._-]{0,63}$")),
    responses((status = 200, description = "The heartbeat", body = Heartbeat), Problems)))]
pub(crate) async fn pause(
    State(app): State<App>,
    caller: Launcher,
    path: Path,
) -> Result<Json<HeartbeatJson>, Problem> {
    set(&app, caller, &path, Pause::Paused).await
}

/// Resume a paused heartbeat
#[cfg_attr(test, utoipa::path(post, path = "/v1/heartbeats/{heartbeat}/resume", tag = "heartbeats", operation_id = "resumeHeartbeat",
    security(("launcher" = [])),
    params(("heartbeat" = String, Path, description = "Name of the heartbeat", pattern = r"^[a-z0-9][a-z0-9._-]{0,63}$")),
    responses((status = 200, description = "The heartbeat", body = Heartbeat), Problems)))]
pub(crate) async fn resume(
    State(app): State<App>,
    caller: Launcher,
    path: Path,
) -> Result<Json<HeartbeatJson>, Problem> {
    set(&app, caller, &path, Pause::GoesOn).await
}

async fn set(
    app: &App,
    Launcher(caller): Launcher,
    path: &Path,
    to: Pause,
) -> Result<Json<HeartbeatJson>, Problem> {
    let (name, by) = (name(path)?, caller.by());
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        heartbeat::pause(here, ledger, &name, to, &by)?;
        heartbeat::show(ledger, &name)
    });
    Ok(Json(HeartbeatJson::from(&done.await??)))
}
