//! What operations take, as the document of the API has it, for all routes in one place: what nobody knows is refused.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::MethodFilter;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

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

/// The document, as far as it says what operations take: they stand below their path and method.
#[derive(Deserialize)]
struct Document {
    paths: HashMap<String, HashMap<String, Operation>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Operation {
    operation_id: String,
    #[serde(default)]
    parameters: Vec<Parameter>,
    request_body: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Parameter {
    name: String,
    #[serde(rename = "in")]
    place: String,
}

/// What an operation takes.
struct Takes {
    /// Its id.
    id: String,
    /// Its parameters; absent where it is left to its own rules.
    parameters: Option<Vec<String>>,
    has_body: bool,
    /// What it asks of tokens with limits.
    needs: Option<Needs>,
}

/// The operations of the document, by method and path.
pub(crate) struct Operations(HashMap<(Method, String), Takes>);

impl Operations {
    /// Reads them from the document.
    pub(crate) fn from_document(document: &str) -> Self {
        let document: Document =
            serde_json::from_str(document).expect("because tests read the committed document");
        let mut known = HashMap::new();
        for (path, methods) in document.paths {
            let own = !FOREIGN.contains(&path.as_str());
            for (method, operation) in methods {
                let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes())
                    .expect("because operations stand below methods");
                known.insert((method, path.clone()), Takes::new(operation, own));
            }
        }
        Self(known)
    }

    /// The method and the path of an operation.
    pub(crate) fn place(&self, id: &str) -> (MethodFilter, &str) {
        let mut known = self.0.iter();
        let ((method, path), _) = known
            .find(|(_, takes)| takes.id == id)
            .expect("because tests compare the routes with the committed document");
        let method = MethodFilter::try_from(method.clone());
        let method = method.expect("because the router knows the methods of OpenAPI");
        (method, path.as_str())
    }
}

impl Takes {
    fn new(operation: Operation, own: bool) -> Self {
        let parameters = operation.parameters.into_iter();
        let query = parameters.filter(|parameter| parameter.place == "query");
        Self {
            parameters: own.then(|| query.map(|parameter| parameter.name).collect()),
            has_body: operation.request_body.is_some(),
            needs: needs(&operation.operation_id),
            id: operation.operation_id,
        }
    }
}

/// Refuses a request with a parameter that its route does not have, or with a body where its route takes none, and says
/// to whoever lets its caller in what it needs.
pub(crate) async fn known_names(
    State((app, known)): State<(App, Arc<Operations>)>,
    mut request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    // What answers GET answers HEAD, too.
    let method = match *request.method() {
        Method::HEAD => Method::GET,
        ref method => method.clone(),
    };
    let key = route.map(|route| (method, route.as_str().to_owned()));
    let Some(takes) = key.and_then(|key| known.0.get(&key)) else {
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
