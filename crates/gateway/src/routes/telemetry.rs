//! Telemetry that agents send themselves, and what has no session.

use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use siglum_domain::trace::TraceId;
use siglum_engine::share::ingest::{self, Assignment};
use siglum_ledger::read;
use siglum_telemetry::wire::{Encoding, Signal, status};

use crate::admission::{Launcher, Sender};
use crate::app::App;
use crate::body::{Body, whole};
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::Query;
#[cfg(test)]
use crate::routes::path::OfSession;
use crate::routes::path::Path;
use crate::telemetry::{Packing, Refusal, Request, take};
use crate::wire::{AssignTrace, AssignedTrace, UnassignedTelemetry, UnassignedTelemetryList};
#[cfg(test)]
use crate::wire::{ExportLogs, ExportMetrics, ExportSpans, Exported, Protobuf, RpcStatus};

/// Rows of a page.
const PAGE: usize = 100;
const PAGE_MOST: usize = 1_000;

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// Export spans to the gateway (OTLP)
///
/// The request is stored before it is answered and joined to sessions afterwards. Invalid records are dropped and
/// counted in the response; do not retry them.
#[cfg_attr(test, utoipa::path(post, path = "/v1/traces", tag = "telemetry", operation_id = "exportTraces",
    security(("launcher" = []), ("session" = []), ("telemetry" = [])),
    request_body(content((ExportSpans = "application/json"), (Protobuf = "application/x-protobuf")), description = "An OTLP request, uncompressed or with `content-encoding: gzip`"),
    responses(
        Problems,
        (status = 200, description = "The request is stored", content((Exported = "application/json"), (Protobuf = "application/x-protobuf"))),
        (status = 400, description = "The request cannot be read", content((RpcStatus = "application/json"), (Protobuf = "application/x-protobuf"))))))]
pub(crate) async fn traces(
    State(app): State<App>,
    sender: Sender,
    headers: HeaderMap,
    body: Raw,
) -> Response {
    export(&app, &sender, Signal::Traces, &headers, body).await
}

/// Export log records to the gateway (OTLP)
///
/// Works like the export of spans.
#[cfg_attr(test, utoipa::path(post, path = "/v1/logs", tag = "telemetry", operation_id = "exportLogs",
    security(("launcher" = []), ("session" = []), ("telemetry" = [])),
    request_body(content((ExportLogs = "application/json"), (Protobuf = "application/x-protobuf")), description = "An OTLP request, uncompressed or with `content-encoding: gzip`"),
    responses(
        Problems,
        (status = 200, description = "The request is stored", content((Exported = "application/json"), (Protobuf = "application/x-protobuf"))),
        (status = 400, description = "The request cannot be read", content((RpcStatus = "application/json"), (Protobuf = "application/x-protobuf"))))))]
pub(crate) async fn logs(
    State(app): State<App>,
    sender: Sender,
    headers: HeaderMap,
    body: Raw,
) -> Response {
    export(&app, &sender, Signal::Logs, &headers, body).await
}

/// Export metrics to the gateway (OTLP)
///
/// Works like the export of spans.
#[cfg_attr(test, utoipa::path(post, path = "/v1/metrics", tag = "telemetry", operation_id = "exportMetrics",
    security(("launcher" = []), ("session" = []), ("telemetry" = [])),
    request_body(content((ExportMetrics = "application/json"), (Protobuf = "application/x-protobuf")), description = "An OTLP request, uncompressed or with `content-encoding: gzip`"),
    responses(
        Problems,
        (status = 200, description = "The request is stored", content((Exported = "application/json"), (Protobuf = "application/x-protobuf"))),
        (status = 400, description = "The request cannot be read", content((RpcStatus = "application/json"), (Protobuf = "application/x-protobuf"))))))]
pub(crate) async fn metrics(
    State(app): State<App>,
    sender: Sender,
    headers: HeaderMap,
    body: Raw,
) -> Response {
    export(&app, &sender, Signal::Metrics, &headers, body).await
}

async fn export(
    app: &App,
    sender: &Sender,
    signal: Signal,
    headers: &HeaderMap,
    body: Raw,
) -> Response {
    let Some(encoding) = encoding(headers) else {
        let detail = "send OTLP, with `content-type: application/x-protobuf` or `application/json`";
        return Problem::media_type_is(detail).into_response();
    };
    let Some(packing) = Packing::from_headers(headers) else {
        let detail = "send the body uncompressed or with `content-encoding: gzip`";
        return Problem::media_type_is(detail).into_response();
    };
    let bytes = match whole(body, app, app.limits().telemetry_body).await {
        Ok(bytes) => bytes,
        Err(problem) => return problem.into_response(),
    };
    let request = Request {
        signal,
        encoding,
        packing,
        bytes,
    };
    match take(app, sender, request).await {
        Ok(answer) => otlp_response(StatusCode::OK, encoding, answer),
        Err(Refusal::Unreadable(why)) => {
            otlp_response(StatusCode::BAD_REQUEST, encoding, status(encoding, &why))
        }
        Err(Refusal::Problem(problem)) => problem.into_response(),
    }
}

/// In which form a body is, by its headers.
fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let form = value.split(';').next().unwrap_or_default().trim();
    match form {
        form if form.eq_ignore_ascii_case(PROTOBUF) => Some(Encoding::Protobuf),
        form if form.eq_ignore_ascii_case(JSON) => Some(Encoding::Json),
        _ => None,
    }
}

/// An answer has the form of its request.
fn otlp_response(status: StatusCode, encoding: Encoding, body: Vec<u8>) -> Response {
    let form = match encoding {
        Encoding::Protobuf => PROTOBUF,
        Encoding::Json => JSON,
    };
    let mut response = (status, body).into_response();
    let form = HeaderValue::from_static(form);
    response.headers_mut().insert(header::CONTENT_TYPE, form);
    response
}

/// List telemetry that belongs to no known session, newest first
#[cfg_attr(test, utoipa::path(get, path = "/v1/telemetry/unassigned", tag = "telemetry", operation_id = "listUnassignedTelemetry",
    security(("launcher" = [])),
    params(
        ("cursor" = Option<String>, Query, description = "Return entries after this one (`next` of the previous page)", pattern = r"^[1-9][0-9]{0,14}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 1000),
    ),
    responses((status = 200, description = "The unassigned telemetry", body = UnassignedTelemetryList), Problems)))]
pub(crate) async fn unassigned(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<UnassignedTelemetryList>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let before = query.numeric_cursor(1)?;
    query.end()?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| tx.unassigned(before, limit + 1))
    });
    let mut rows = found.await??;
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows
        .last()
        .filter(|_| more)
        .map(|row| row.sequence.to_string());
    let unassigned = rows.iter().map(UnassignedTelemetry::from).collect();
    Ok(Json(UnassignedTelemetryList {
        items: unassigned,
        next,
    }))
}

/// Assign a trace to a session and join its stored telemetry
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/traces", tag = "telemetry", operation_id = "assignTrace",
    security(("launcher" = [])),
    params(OfSession),
    request_body = AssignTrace,
    responses((status = 200, description = "The trace is assigned", body = AssignedTrace), Problems)))]
pub(crate) async fn assign(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
    Body(request): Body<AssignTrace>,
) -> Result<Json<AssignedTrace>, Problem> {
    let session = path.session()?;
    let rule = "must be 32 lowercase hexadecimal digits, not all of them 0";
    let trace = request.trace_id.parse::<TraceId>();
    let trace = trace.map_err(|_| Problem::invalid("trace_id", rule))?;
    let by = caller.by();
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        ingest::assign(here, ledger, &trace, session, &by)
    });
    match done.await?? {
        Assignment::Noted => Ok(Json(AssignedTrace {
            trace_id: trace.to_string(),
            session: session.to_string(),
        })),
        Assignment::NoSession => Err(Problem::not_found("no such session")),
        Assignment::Elsewhere => Err(Problem::conflict(
            "replica",
            "the session's home is another ledger, which alone extends it",
        )),
    }
}
