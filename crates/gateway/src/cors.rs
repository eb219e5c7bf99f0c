//! Pages of other origins: those that the operator named may ask, and no others.
//!
//! A page says who it is by a token in a header, as everybody does; nothing is taken from cookies, and none is set.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::CorsLayer;

use crate::request_id;

/// How long a browser may remember what it was told.
const REMEMBERED: Duration = Duration::from_mins(10);

/// The origin of a page, such as `http://localhost:5173`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(HeaderValue);

/// Why a text is no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "an origin must be `http://` or `https://` with a host and optionally a port, without a path"
)]
pub struct NotAnOrigin;

impl std::str::FromStr for Origin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let host = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"))
            .ok_or(NotAnOrigin)?;
        let allowed = |b: u8| {
            // As browsers send it: a name in lower case, and an address in brackets.
            b.is_ascii_lowercase()
                || b.is_ascii_digit()
                || matches!(b, b'.' | b'-' | b':' | b'[' | b']')
        };
        if host.is_empty() || !host.bytes().all(allowed) {
            return Err(NotAnOrigin);
        }
        HeaderValue::from_str(text)
            .map(Self)
            .map_err(|_| NotAnOrigin)
    }
}

/// What pages of these origins may do; nothing where there are none.
pub(crate) fn layer(origins: &[Origin]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let request_headers = [
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::ACCEPT,
        HeaderName::from_static("baggage"),
        HeaderName::from_static("idempotency-key"),
        HeaderName::from_static("last-event-id"),
        HeaderName::from_static("siglum-conversation-id"),
        HeaderName::from_static("traceparent"),
        request_id::HEADER,
    ];
    let response_headers = [
        header::RETRY_AFTER,
        HeaderName::from_static("siglum-conversation-id"),
        HeaderName::from_static("siglum-session-id"),
        HeaderName::from_static("siglum-trace-id"),
        HeaderName::from_static("traceparent"),
        HeaderName::from_static("x-vercel-ai-ui-message-stream"),
        request_id::HEADER,
    ];
    Some(
        CorsLayer::new()
            .allow_origin(origins.iter().map(|o| o.0.clone()).collect::<Vec<_>>())
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
            .allow_headers(request_headers)
            .expose_headers(response_headers)
            .max_age(REMEMBERED),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_what_browsers_send() {
        for good in [
            "http://localhost:5173",
            "https://chat.example.org",
            "http://[::1]:8080",
        ] {
            assert!(good.parse::<Origin>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "*",
            "null",
            "localhost:5173",
            "http://",
            "http://a/",
            "http://a/b",
            "http://A.org",
            "https://u@h",
            "file:///x",
            "http://a b",
        ] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }
}
