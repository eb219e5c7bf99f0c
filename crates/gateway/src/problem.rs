//! What a client is told when it does not get what it asked for: `application/problem+json` (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use siglum_domain::link::LinkError;
use siglum_domain::redact::Redactor;
use siglum_engine::identity::access::AccessError;

use crate::problem_codes::is_answered;
use crate::request_log::RequestLog;

/// The form of its body.
const TYPE: &str = "application/problem+json";
/// How long a client that came at a bad moment waits before it tries again, in seconds.
const SOON: u64 = 1;

/// Why a request was refused or failed.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    body: Box<ProblemBody>,
    /// After how many seconds it is worth another try.
    retry_after: Option<u64>,
}

/// A problem (RFC 9457).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(as = Problem))]
pub(crate) struct ProblemBody {
    /// `urn:siglum:problem:` and the code.
    #[serde(rename = "type")]
    kind: String,
    /// Short summary, the same for all problems with this code.
    title: &'static str,
    /// The HTTP status.
    #[cfg_attr(test, schema(minimum = 400, maximum = 599))]
    status: u16,
    /// Stable code for programs.
    code: &'static str,
    /// What went wrong in this case, and what to do.
    detail: String,
    /// Path of the invalid field of the request, with dots between its parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// For a write: `not-committed`, or `unknown` if only a retry with the same key can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    fate: Option<&'static str>,
    /// The id of the request, as in the header `x-request-id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
}

impl Problem {
    fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        debug_assert!(
            is_answered(code, status.as_u16()),
            "{status} {code}: not in the list of codes"
        );
        Self {
            status,
            body: Box::new(ProblemBody {
                kind: format!("urn:siglum:problem:{code}"),
                title,
                status: status.as_u16(),
                code,
                // It may repeat what the caller sent.
                detail: Redactor::shared().redact(&detail.into()).into_string(),
                field: None,
                fate: None,
                request_id: None,
            }),
            retry_after: None,
        }
    }

    /// Something that was given breaks a rule.
    pub(crate) fn invalid(field: impl Into<String>, rule: impl Into<String>) -> Self {
        let (field, rule) = (field.into(), rule.into());
        let title = "a field of the request is invalid";
        let detail = format!("{field}: {rule}");
        let mut problem = Self::new(StatusCode::BAD_REQUEST, "invalid-field", title, detail);
        problem.body.field = Some(field);
        problem
    }

    /// A document that was handed over breaks a rule.
    pub(crate) fn unprocessable(document: &str, rule: &str) -> Self {
        let title = "a document of the batch is invalid";
        let mut problem = Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "replica-refused",
            title,
            format!("{document}: {rule}"),
        );
        problem.body.field = Some(document.to_owned());
        problem
    }

    /// The body cannot be read at all.
    pub(crate) fn body(detail: impl Into<String>) -> Self {
        let title = "the request body cannot be read";
        Self::new(
            StatusCode::BAD_REQUEST,
            "invalid-body",
            title,
            detail.into(),
        )
    }

    pub(crate) fn media_type() -> Self {
        Self::media_type_is("send JSON, with `content-type: application/json`")
    }

    /// The body has another form than this one.
    pub(crate) fn media_type_is(detail: &str) -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "the media type of the body is not supported",
            detail.to_owned(),
        )
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body-too-large",
            "the request body is too large",
            format!("the limit is {limit} bytes"),
        )
    }

    /// The head of the request is too large.
    pub(crate) fn large_head(limit: usize) -> Self {
        Self::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "head-too-large",
            "the request headers are too large",
            format!("the limit is {limit} bytes and 100 lines"),
        )
    }

    /// The request does not name one valid host.
    pub(crate) fn hosts() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "invalid-head",
            "the request headers are invalid",
            "send exactly one valid host".to_owned(),
        )
    }

    pub(crate) fn too_slow() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "too-slow",
            "the request took too long",
            "the body did not arrive, or the response was not ready, in time".to_owned(),
        )
    }

    /// Nobody knows who asks.
    pub(crate) fn unauthorized(code: &'static str, detail: impl Into<String>) -> Self {
        let title = "the request has no valid token";
        Self::new(StatusCode::UNAUTHORIZED, code, title, detail)
    }

    /// Whoever asks may not.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        let title = "the token does not allow this";
        Self::new(StatusCode::FORBIDDEN, "forbidden", title, detail)
    }

    /// Whoever asks may not say this document.
    pub(crate) fn forbidden_document(document: &str, rule: &str) -> Self {
        let mut problem = Self::forbidden(format!("{document}: {rule}"));
        problem.body.field = Some(document.to_owned());
        problem
    }

    /// Whether the reason is what the token allows.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.status == StatusCode::FORBIDDEN
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        let title = "the resource does not exist";
        Self::new(StatusCode::NOT_FOUND, "not-found", title, detail)
    }

    pub(crate) fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "the resource does not support this method",
            "the header `allow` lists the supported methods".to_owned(),
        )
    }

    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        let title = "the request conflicts with the current state";
        Self::new(StatusCode::CONFLICT, code, title, detail)
    }

    /// An agent does not do what it should.
    pub(crate) fn agent(code: &'static str, detail: impl Into<String>) -> Self {
        let title = "the agent does not work as expected";
        Self::new(StatusCode::BAD_GATEWAY, code, title, detail)
    }

    /// Something that goes on is in the way.
    pub(crate) fn stopping() -> Self {
        Self::unavailable("stopping", "this gateway is shutting down".to_owned())
    }

    pub(crate) fn rate_limited(what: &str, seconds: u64) -> Self {
        let mut problem = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate-limited",
            "too many requests",
            format!("{what}; retry in {seconds} s"),
        );
        problem.retry_after = Some(seconds.max(1));
        problem
    }

    pub(crate) fn unavailable(code: &'static str, detail: String) -> Self {
        let title = "the gateway cannot serve the request now";
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, code, title, detail);
        problem.retry_after = Some(SOON);
        problem
    }

    /// A turn of which nothing is stored, or nobody knows whether it is.
    pub(crate) fn refused_turn(code: &'static str, detail: String) -> Self {
        Self::unavailable(code, detail).not_committed()
    }

    /// A fault of this program. What it was is in the log alone.
    pub(crate) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "internal error",
            "see the log of the gateway".to_owned(),
        )
    }

    /// The HTTP status.
    #[cfg(feature = "grpc")]
    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// What went wrong this time.
    pub(crate) fn detail(&self) -> &str {
        &self.body.detail
    }

    /// The same, of a write of which nothing is stored.
    pub(crate) const fn not_committed(mut self) -> Self {
        self.body.fate = Some("not-committed");
        self
    }

    /// The same, of a field that lies within another one.
    pub(crate) fn within(mut self, outer: &str) -> Self {
        if let Some(field) = &mut self.body.field {
            *field = format!("{outer}.{field}");
            self.body.detail = format!("{outer}.{}", self.body.detail);
        }
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(mut self) -> Response {
        if let Some(log) = RequestLog::current() {
            log.note_code(self.body.code);
            self.body.request_id = Some(log.id().to_owned());
        }
        let body = serde_json::to_vec(&*self.body).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(TYPE));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<LinkError> for Problem {
    fn from(error: LinkError) -> Self {
        Self::invalid(error.field, format!("`{}`: {}", error.value, error.rule))
    }
}

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        let detail = error.to_string();
        match error {
            AccessError::Ledger(error) => error.into(),
            AccessError::NoSession { .. } => Self::not_found(detail),
            AccessError::Replaced { .. } => Self::conflict(error.code(), detail),
            AccessError::Registered { .. } | AccessError::NotAtHome => Self::forbidden(detail),
            AccessError::Unknown | AccessError::Expired { .. } | AccessError::Revoked { .. } => {
                Self::unauthorized(error.code(), detail)
            }
        }
    }
}

impl Problem {
    /// What became of a write that failed: `not-committed` or `unknown`.
    pub(crate) fn with_fate(mut self, fate: &'static str) -> Self {
        self.body.fate = Some(fate);
        self
    }

    /// The word for programs.
    pub(crate) const fn code(&self) -> &'static str {
        self.body.code
    }

    /// The field that is wrong.
    pub(crate) fn field(&self) -> Option<&str> {
        self.body.field.as_deref()
    }
}
