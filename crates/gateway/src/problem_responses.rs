//! Problems as the API's document has them.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

/// Why a request may be refused, or fail: the same for all routes.
pub(crate) struct Problems;

/// Why a request that runs an agent may fail, beside what is the same for all routes.
pub(crate) struct AgentProblems;

/// Each status that a problem of any route has, and what it means.
pub(crate) const PROBLEMS: &[(StatusCode, &str)] = &[
    (
        StatusCode::BAD_REQUEST,
        "The body, a field or a parameter is invalid",
    ),
    (StatusCode::UNAUTHORIZED, "The request has no valid token"),
    (StatusCode::FORBIDDEN, "The token does not allow this"),
    (StatusCode::NOT_FOUND, "The resource does not exist"),
    (
        StatusCode::METHOD_NOT_ALLOWED,
        "The resource does not support this method",
    ),
    (StatusCode::REQUEST_TIMEOUT, "The request took too long"),
    (
        StatusCode::CONFLICT,
        "The request conflicts with the current state",
    ),
    (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large"),
    (
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "The media type of the body is not supported",
    ),
    (
        StatusCode::TOO_MANY_REQUESTS,
        "Too many requests; `retry-after` says when to retry",
    ),
    (
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "The request headers are too large",
    ),
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        "A fault of the gateway; its log has the cause",
    ),
    (
        StatusCode::SERVICE_UNAVAILABLE,
        "The gateway cannot serve the request now; `retry-after` says when to retry",
    ),
];

/// Each status that only a problem of an agent has, and what it means.
pub(crate) const AGENT_PROBLEMS: &[(StatusCode, &str)] = &[(
    StatusCode::BAD_GATEWAY,
    "The agent failed before it produced output; the headers contain the ids of a run that began",
)];

/// The name of the response of a status.
pub(crate) fn named(status: StatusCode) -> String {
    format!("Problem{}", status.as_u16())
}

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        referred(PROBLEMS)
    }
}

impl IntoResponses for AgentProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        referred(AGENT_PROBLEMS)
    }
}

fn referred(problems: &[(StatusCode, &str)]) -> BTreeMap<String, RefOr<Response>> {
    let one = |(status, _): &(StatusCode, &str)| {
        let response = Ref::from_response_name(named(*status));
        (status.as_u16().to_string(), RefOr::Ref(response))
    };
    problems.iter().map(one).collect()
}

/// The response of a problem, as the document has it.
pub(crate) fn response(text: &str) -> Response {
    let problem = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(problem)).build();
    ResponseBuilder::new()
        .description(text)
        .content("application/problem+json", content)
        .build()
}
