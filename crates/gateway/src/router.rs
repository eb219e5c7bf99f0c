//! The way from a request to its handler.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;

use crate::app::App;
use crate::operations::Operations;
use crate::problem::Problem;
use crate::request_log::{RequestLog, method_name};
use crate::shares::Slot;
use crate::{cors, openapi, operations};

/// What answers when a run has ended.
const RUNS: [&str; 2] = ["/v1/messages", "/v1/sessions/{session}/messages"];

/// The way from a request to its handler.
pub(crate) fn router(app: &App) -> Router {
    let known = Arc::new(Operations::from_document(&openapi::document()));
    let router = openapi::routes(&known).layer(from_fn_with_state(
        (app.clone(), known),
        operations::known_names,
    ));
    #[cfg(feature = "grpc")]
    let router = router.merge(crate::telemetry::grpc::routes());
    let router = router
        .fallback(|| async { Problem::not_found("no such route; see /v1/openapi.json") })
        .layer(from_fn(with_problem_body))
        .layer(CatchPanicLayer::custom(|_| {
            tracing::error!("a handler panicked");
            Problem::internal().into_response()
        }))
        .layer(from_fn_with_state(app.clone(), watched));
    // Outermost, so that a page is told of each refusal, and a browser's question needs no token.
    let router = match cors::layer(app.origins()) {
        Some(layer) => router.layer(layer),
        None => router,
    };
    router.with_state(app.clone())
}

/// What the router itself refuses has no body; it gets one.
async fn with_problem_body(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return response;
    }
    // The router says what can be done, in the header `allow`.
    Problem::method().into_response()
}

/// Counts a request and bounds its time and what its caller holds. The path that is counted has no ids in it.
async fn watched(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("none", MatchedPath::as_str).to_owned();
    if let Some(log) = RequestLog::current() {
        log.note_route(&route);
    }
    let slot = Slot::default();
    let mut request = request.map(|body| slot.counted(body));
    request.extensions_mut().insert(slot.clone());
    let wait = app.limits().request_wait;
    let answer = slot.answer(next.run(request));
    let answered = match method == Method::POST && RUNS.contains(&route.as_str()) {
        // The body has its own time, and a run its own limits.
        true => Ok(answer.await),
        false => tokio::time::timeout(wait, answer).await,
    };
    let response = answered.unwrap_or_else(|_| Problem::too_slow().into_response());
    let mut response = slot.answered(response);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    let (status, took) = (response.status().as_u16(), begun.elapsed());
    app.metrics()
        .request(method_name(&method), &route, status, took);
    response
}
