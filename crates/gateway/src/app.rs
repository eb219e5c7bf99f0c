//! What all requests share, and the way from a request to its handler.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use siglum_domain::context::Policy;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tower_http::catch_panic::CatchPanicLayer;

use crate::caller::Remembered;
use crate::cors::{self, Origin};
use crate::heartbeats::HeartbeatSettings;
use crate::ledgers::Ledgers;
use crate::limits::Rates;
use crate::metrics::Metrics;
use crate::nearest;
use crate::openapi;
use crate::problem::Problem;
use crate::quota::Quota;
use crate::runner::Runs;
use crate::settings::{Limits, Settings};
use crate::shares::{Shares, Slot};

/// What answers when a run has ended.
const RUNS: [&str; 2] = ["/v1/messages", "/v1/sessions/{session}/messages"];

/// What all requests share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    ledgers: Ledgers,
    limits: Limits,
    rates: Rates,
    shares: Shares,
    token_connections: Quota<String>,
    peer_connections: Quota<IpAddr>,
    metrics: Metrics,
    remembered: Remembered,
    policy: Policy,
    runs: Runs,
    heartbeats: HeartbeatSettings,
    origins: Vec<Origin>,
    /// Room for bodies that are being unpacked.
    unpacking: Semaphore,
    /// Turned to true when the gateway is told to stop.
    stopping: watch::Sender<bool>,
    /// Grows with each turn that is sealed here.
    sealed: watch::Sender<u64>,
}

impl App {
    pub(crate) fn new(ledgers: Ledgers, settings: &Settings) -> Self {
        let limits = settings.limits;
        Self(Arc::new(Inner {
            rates: Rates::new(&limits),
            shares: Shares::new(&limits),
            token_connections: Quota::new(limits.token_connections),
            peer_connections: Quota::new(limits.peer_connections),
            unpacking: Semaphore::new(limits.unpackers.max(1)),
            ledgers,
            limits,
            metrics: Metrics::default(),
            remembered: Remembered::default(),
            policy: settings.policy.clone(),
            runs: Runs::new(settings.runs.clone()),
            heartbeats: settings.heartbeats.clone(),
            origins: settings.origins.clone(),
            stopping: watch::Sender::new(false),
            sealed: watch::Sender::new(0),
        }))
    }

    pub(crate) fn ledgers(&self) -> &Ledgers {
        &self.0.ledgers
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    pub(crate) fn shares(&self) -> &Shares {
        &self.0.shares
    }

    /// Connections of each token.
    pub(crate) fn token_connections(&self) -> &Quota<String> {
        &self.0.token_connections
    }

    /// Connections from each address.
    pub(crate) fn peer_connections(&self) -> &Quota<IpAddr> {
        &self.0.peer_connections
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn remembered(&self) -> &Remembered {
        &self.0.remembered
    }

    /// What is run on a schedule.
    pub(crate) fn heartbeats(&self) -> &HeartbeatSettings {
        &self.0.heartbeats
    }

    /// What contexts have of the ones before them.
    pub(crate) fn policy(&self) -> &Policy {
        &self.0.policy
    }

    /// The runs of agents that go on here.
    pub(crate) fn runs(&self) -> &Runs {
        &self.0.runs
    }

    /// Waits for room to unpack a body in.
    pub(crate) async fn unpacking(&self) -> SemaphorePermit<'_> {
        let room = self.0.unpacking.acquire().await;
        room.expect("because nobody closes it")
    }

    /// From now on nothing new is begun.
    pub(crate) fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.0.stopping.subscribe()
    }

    /// Tells those who watch that something was sealed.
    pub(crate) fn sealed(&self) {
        self.0.sealed.send_modify(|count| *count += 1);
    }

    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.0.sealed.subscribe()
    }

    /// The way from a request to its handler.
    pub(crate) fn router(&self) -> Router {
        let (router, document) = openapi::routes().split_for_parts();
        let known = Arc::new(nearest::operations(&document));
        let router = router.layer(from_fn_with_state(
            (self.clone(), known),
            nearest::known_names,
        ));
        #[cfg(feature = "grpc")]
        let router = router.merge(crate::telemetry::grpc::routes());
        let router = router
            .fallback(|| async { Problem::not_found("no such route; see /v1/openapi.json") })
            .layer(from_fn(told_as_problem))
            .layer(CatchPanicLayer::custom(|_| {
                tracing::error!("a handler panicked");
                Problem::internal().into_response()
            }))
            .layer(from_fn_with_state(self.clone(), watched));
        // Outermost, so that a page is told of each refusal, and a browser's question needs no token.
        let router = match cors::layer(&self.0.origins) {
            Some(layer) => router.layer(layer),
            None => router,
        };
        router.with_state(self.clone())
    }
}

/// What the router itself refuses has no body; it gets one.
async fn told_as_problem(request: Request, next: Next) -> Response {
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
    app.metrics().request(method.as_str(), &route, status, took);
    tracing::debug!(
        http.status = status,
        duration_ms = took.as_millis(),
        "{method} {route}: {status}"
    );
    response
}
