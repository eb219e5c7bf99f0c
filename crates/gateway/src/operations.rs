//! What each operation takes, read from the document for all routes in one place: what nobody knows is refused.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use utoipa::openapi::path::{Operation, ParameterIn, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

use crate::app::App;
use crate::body::{parse, whole};
use crate::problem::Problem;
use crate::rights::{Needs, needs};
use crate::unknown_name::unknown;

/// What probes and exporters of other programs call, with parameters of their own.
const FOREIGN: &[&str] = &[
    "/healthz",
    "/readyz",
    "/metrics",
    "/v1/traces",
    "/v1/logs",
    "/v1/metrics",
];
/// How large a body is read that should be empty, in bytes: enough to say which field nobody knows.
const BODY_MOST: usize = 16 << 10;

/// What an operation takes, as the document has it.
pub(crate) struct Takes {
    /// Its parameters; absent where it is left to its own rules.
    parameters: Option<Vec<String>>,
    has_body: bool,
    /// What it asks of tokens with limits.
    needs: Option<Needs>,
}

/// The same for each operation, by method and path.
pub(crate) type Operations = HashMap<(Method, String), Takes>;

/// Reads them from the document.
pub(crate) fn operations(document: &OpenApi) -> Operations {
    let mut known = HashMap::new();
    for (path, item) in &document.paths.paths {
        for (method, operation) in methods(item) {
            let own = !FOREIGN.contains(&path.as_str());
            let takes = Takes {
                parameters: own.then(|| query_names(operation)),
                has_body: operation.request_body.is_some(),
                needs: operation.operation_id.as_deref().and_then(needs),
            };
            known.insert((method, path.clone()), takes);
        }
    }
    known
}

fn methods(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let all = [
        (Method::GET, &item.get),
        (Method::HEAD, &item.get),
        (Method::PUT, &item.put),
        (Method::POST, &item.post),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

fn query_names(operation: &Operation) -> Vec<String> {
    let all = operation.parameters.iter().flatten();
    all.filter_map(|parameter| match parameter {
        RefOr::T(one) if one.parameter_in == ParameterIn::Query => Some(one.name.clone()),
        _ => None,
    })
    .collect()
}

/// Refuses a request with a parameter that its route does not have, or with a body where its route takes none, and says
/// to whoever lets its caller in what it needs.
pub(crate) async fn known_names(
    State((app, known)): State<(App, Arc<Operations>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let key = route.map(|route| (request.method().clone(), route.as_str().to_owned()));
    let Some(takes) = key.and_then(|key| known.get(&key)) else {
        return next.run(request).await;
    };
    if let Some(needs) = takes.needs {
        request.extensions_mut().insert(needs);
    }
    if let Some(problem) = unknown_parameter(takes, &request) {
        return problem.into_response();
    }
    if takes.has_body || request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    match no_fields(body, &app).await {
        Ok(()) => next.run(Request::from_parts(head, Body::empty())).await,
        Err(problem) => problem.into_response(),
    }
}

/// An operation that takes no body takes an empty object all the same: some clients send it always.
async fn no_fields(body: Body, app: &App) -> Result<(), Problem> {
    let bytes = whole(body, app, BODY_MOST).await?;
    if bytes.trim_ascii().is_empty() {
        return Ok(());
    }
    let fields: Map<String, Value> = parse(&bytes)?;
    match fields.keys().next() {
        Some(name) => Err(unknown(name, name, &[])),
        None => Ok(()),
    }
}

fn unknown_parameter(takes: &Takes, request: &Request) -> Option<Problem> {
    let known = takes.parameters.as_ref()?;
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let query = request.uri().query()?;
    // What is no query at all is told by whoever reads it.
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).ok()?;
    let (name, _) = pairs
        .iter()
        .find(|(name, _)| !known.contains(&name.as_str()))?;
    Some(unknown(name, name, &known))
}
