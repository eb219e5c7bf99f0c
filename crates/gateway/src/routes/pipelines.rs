//! Pipelines: what happens in them, and how they stand.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use siglum_domain::SessionId;
use siglum_domain::link::Link;
use siglum_domain::price::Prices;
use siglum_engine::driven::turn::TurnError;
use siglum_engine::identity::statements;
use siglum_engine::views::pipeline::{self, Bundle, GraphJson, PipelineError, Style};
use siglum_ledger::{Ledger, read};

use super::path::Path;
use crate::admission::Launcher;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::Query;
#[cfg(test)]
use crate::shared_schemas::{Pipeline, PipelineBundle};
use crate::wire::{PipelineEvents, PipelineList, RecordedEvent, RecordedEvents};

/// Rows of a page.
const PAGE: usize = 20;
const PAGE_MOST: usize = 100;
/// Columns of a drawing.
const COLUMNS: usize = 100;
const COLUMNS_RULE: &str = "a whole number from 20 to 400";

impl From<PipelineError> for Problem {
    fn from(error: PipelineError) -> Self {
        let detail = error.to_string();
        match error {
            PipelineError::Refused(error) => error.into(),
            PipelineError::NoPipeline(_) => Self::not_found(detail),
            PipelineError::NoSession(session) => TurnError::NoSession(session).into(),
            PipelineError::Conflict { .. } => Self::conflict("conflict", detail),
            PipelineError::Full(_) => Self::conflict("full", detail),
            PipelineError::Ledger(error) => error.into(),
        }
    }
}

/// List pipelines with their current state
#[cfg_attr(test, utoipa::path(get, path = "/v1/pipelines", tag = "pipelines", operation_id = "listPipelines",
    security(("launcher" = [])),
    params(
        ("cursor" = Option<String>, Query, description = "Return pipelines after this one (`next` of the previous page)", pattern = r"^[!-~]{1,256}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 100),
    ),
    responses((status = 200, description = "The pipelines", body = PipelineList), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<PipelineList>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let after = query.take("cursor")?;
    query.end()?;
    let page = app.ledgers().read(&caller.tenant, move |here, ledger| {
        pipeline::list(here, ledger, after.as_deref(), limit)
    });
    let page = page.await??;
    let next = page.pipelines.last().filter(|_| page.more);
    let next = next.map(|graph| graph.pipeline.clone());
    let items = page.pipelines.iter().map(GraphJson::from).collect();
    Ok(Json(PipelineList { items, next }))
}

/// Get a pipeline: phases in order, sessions in waves, checks, reviews and totals
#[cfg_attr(test, utoipa::path(get, path = "/v1/pipelines/{pipeline}", tag = "pipelines", operation_id = "getPipeline",
    security(("launcher" = [])),
    params(("pipeline" = String, Path, description = "Pipeline id", pattern = r"^[!-.0-~]{1,256}$")),
    responses((status = 200, description = "The current state of the pipeline", body = Pipeline), Problems)))]
pub(crate) async fn show(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
) -> Result<Json<GraphJson>, Problem> {
    let id = path.text("pipeline")?.to_owned();
    let graph = app.ledgers().read(&caller.tenant, move |here, ledger| {
        pipeline::graph(here, ledger, &id, Prices::built_in())
    });
    Ok(Json(GraphJson::from(&graph.await??)))
}

/// Render a pipeline as text
#[cfg_attr(test, utoipa::path(get, path = "/v1/pipelines/{pipeline}/drawing", tag = "pipelines", operation_id = "getPipelineDrawing",
    security(("launcher" = [])),
    params(
        ("pipeline" = String, Path, description = "Pipeline id", pattern = r"^[!-.0-~]{1,256}$"),
        ("form" = Option<String>, Query, description = "`unicode` or `ascii`", pattern = r"^(unicode|ascii)$"),
        ("columns" = Option<i64>, Query, description = "Maximum width in columns", minimum = 20, maximum = 400),
    ),
    responses((status = 200, description = "The drawing", body = String, content_type = "text/plain"), Problems)))]
pub(crate) async fn draw(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
    mut query: Query,
) -> Result<impl IntoResponse, Problem> {
    let id = path.text("pipeline")?.to_owned();
    let ascii = match query.take("form")?.as_deref() {
        None | Some("unicode") => false,
        Some("ascii") => true,
        Some(_) => return Err(Problem::invalid("form", "`unicode` or `ascii`")),
    };
    let width: usize = query.parsed("columns", COLUMNS_RULE)?.unwrap_or(COLUMNS);
    if !(20..=400).contains(&width) {
        return Err(Problem::invalid("columns", COLUMNS_RULE));
    }
    query.end()?;
    let graph = app.ledgers().read(&caller.tenant, move |here, ledger| {
        pipeline::graph(here, ledger, &id, Prices::built_in())
    });
    let drawing = pipeline::draw(&graph.await??, &Style { ascii, width });
    let form = "text/plain; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, form)], drawing.text()))
}

/// Export a pipeline as one redacted document with its digest
#[cfg_attr(test, utoipa::path(get, path = "/v1/pipelines/{pipeline}/bundle", tag = "pipelines", operation_id = "getPipelineBundle",
    security(("launcher" = [])),
    params(("pipeline" = String, Path, description = "Pipeline id", pattern = r"^[!-.0-~]{1,256}$")),
    responses((status = 200, description = "The document", body = PipelineBundle), Problems)))]
pub(crate) async fn bundle(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
) -> Result<Json<Bundle>, Problem> {
    let id = path.text("pipeline")?.to_owned();
    let bundle = app.ledgers().read(&caller.tenant, move |here, ledger| {
        pipeline::bundle(here, ledger, &id)
    });
    Ok(Json(bundle.await??))
}

/// Record events of a pipeline, all or none
///
/// A session token can record events for its session, in a pipeline that the session is linked to.
#[cfg_attr(test, utoipa::path(post, path = "/v1/pipelines/{pipeline}/events", tag = "pipelines", operation_id = "recordPipelineEvents",
    security(("launcher" = []), ("session" = [])),
    params(("pipeline" = String, Path, description = "Pipeline id", pattern = r"^[!-.0-~]{1,256}$")),
    request_body = PipelineEvents,
    responses((status = 200, description = "All events are recorded", body = RecordedEvents), Problems)))]
pub(crate) async fn record(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(new): Body<PipelineEvents>,
) -> Result<Json<RecordedEvents>, Problem> {
    let id = path.text("pipeline")?.to_owned();
    let own = caller.own();
    let events = new.checked(own)?;
    let by = caller.by();
    let recorded = app.ledgers().write(&caller.tenant, move |here, ledger| {
        if let Some(session) = own
            && !belongs(ledger, session, &id)?
        {
            let what = "the session is not linked to this pipeline";
            return Err(Problem::forbidden(what));
        }
        Ok(pipeline::record(here, ledger, &id, &events, &by, "api")?)
    });
    let recorded = recorded.await??;
    let events = recorded.iter().map(RecordedEvent::from).collect();
    Ok(Json(RecordedEvents { events }))
}

/// Whether a session is linked to a pipeline.
fn belongs(ledger: &mut dyn Ledger, session: SessionId, id: &str) -> Result<bool, Problem> {
    let statements = read(ledger, |tx| tx.statements_of_session(session))?;
    let links = statements::links(&statements);
    Ok(links.contains(&Link::PipelineId(id.to_owned())))
}
