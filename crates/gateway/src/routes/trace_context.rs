//! The trace that a request comes from.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use siglum_domain::trace::TraceParent;

use crate::app::App;

const TRACEPARENT: &str = "traceparent";

/// The header, for the document.
#[cfg(test)]
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(
    dead_code,
    reason = "the document alone reads it; `Traced` gives the trace"
)]
pub(crate) struct InTrace {
    /// W3C trace context of the request: the trace of the turn joins it. An invalid one is ignored.
    traceparent: Option<String>,
}

/// Where in a trace a request is made, if that is told in a valid way, and once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traced(pub(crate) Option<TraceParent>);

impl FromRequestParts<App> for Traced {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        let mut values = parts.headers.get_all(TRACEPARENT).iter();
        let one = values.next().filter(|_| values.next().is_none());
        Ok(Self(one.and_then(|v| v.to_str().ok()?.parse().ok())))
    }
}
