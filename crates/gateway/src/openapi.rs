//! The API as a document, from the same table as the router.

use axum::http::StatusCode;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, Modify, OpenApi as _};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::problem::Told;
use crate::routes::*;
use crate::wire::LabelAsked;

/// Why a request may be refused, or fail: the same for all routes.
pub(crate) struct Problems;

const PROBLEMS: &[(StatusCode, &str)] = &[
    (
        StatusCode::BAD_REQUEST,
        "The body, a field or a parameter breaks a rule",
    ),
    (StatusCode::UNAUTHORIZED, "There is no valid token"),
    (StatusCode::FORBIDDEN, "The token does not allow this"),
    (StatusCode::NOT_FOUND, "There is no such thing"),
    (
        StatusCode::METHOD_NOT_ALLOWED,
        "This cannot be done with the resource",
    ),
    (StatusCode::REQUEST_TIMEOUT, "The request took too long"),
    (
        StatusCode::CONFLICT,
        "The request does not fit what is there",
    ),
    (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large"),
    (
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "The body has another form than it should",
    ),
    (
        StatusCode::TOO_MANY_REQUESTS,
        "Too many requests; `retry-after` says when to come again",
    ),
    (
        StatusCode::SERVICE_UNAVAILABLE,
        "The store cannot do this now; `retry-after` says when to try again",
    ),
];

impl IntoResponses for Problems {
    fn responses() -> std::collections::BTreeMap<String, RefOr<Response>> {
        let one = |(status, text): &(StatusCode, &str)| {
            let problem = Ref::from_schema_name("Problem");
            let content = ContentBuilder::new().schema(Some(problem)).build();
            let response = ResponseBuilder::new()
                .description(*text)
                .content("application/problem+json", content)
                .build();
            (status.as_u16().to_string(), RefOr::T(response))
        };
        PROBLEMS.iter().map(one).collect()
    }
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Siglum",
        description = "Sessions, turns, checkpoints and audit of coding agents. Identity is resolved once, carried everywhere, and never guessed.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(Told, LabelAsked)),
    modifiers(&Credentials)
)]
struct Document;

/// The two credentials. Both are sent as `authorization: Bearer <token>`.
struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_default();
        for (name, text) in [
            (
                "launcher",
                "Creates, reads and ends the sessions of its tenant",
            ),
            ("session", "Acts for one session alone"),
        ] {
            let scheme = HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .description(Some(text))
                .build();
            components.add_security_scheme(name, SecurityScheme::Http(scheme));
        }
    }
}

/// All routes. What is not here cannot be reached.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .routes(routes!(health::document))
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::show))
        .routes(routes!(sessions::heartbeat))
        .routes(routes!(sessions::end))
        .routes(routes!(sessions::token_of))
        .routes(routes!(links::list, links::attach))
        .routes(routes!(links::detach))
        .routes(routes!(log::read_log))
        .routes(routes!(log::receipts))
        .routes(routes!(log::stream))
        .routes(routes!(turns::lease))
        .routes(routes!(turns::renew))
        .routes(routes!(turns::release))
        .routes(routes!(turns::commit, turns::receipt))
        .routes(routes!(turns::open))
        .routes(routes!(turns::append))
        .routes(routes!(turns::abort))
        .routes(routes!(checkpoints::record, checkpoints::of_session))
        .routes(routes!(checkpoints::list))
        .routes(routes!(checkpoints::show))
        .routes(routes!(commits::show))
        .routes(routes!(audit::list))
        .routes(routes!(audit::verify))
}

/// The document in JSON, as it is served and committed.
#[must_use]
pub fn document() -> String {
    let (_, document) = routes().split_for_parts();
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}
