//! The three export calls over gRPC: unary calls of one message each, so that there is nothing here but their frames.

use std::future::ready;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request as Http, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http_body_util::{BodyExt, Full};
use siglum_telemetry::wire::{Encoding, Signal};

use super::packing::Packing;
use super::taking::{Refusal, Request, take};
use crate::admission::Sender;
use crate::app::App;
use crate::body::whole;
use crate::problem::Problem;
use crate::request_log::RequestLog;
use crate::rights;

const FORM: &str = "application/grpc";
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPTED: HeaderName = HeaderName::from_static("grpc-accept-encoding");
/// Bytes before a message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// Codes of gRPC that are given here.
const INVALID_ARGUMENT: u16 = 3;
const DEADLINE_EXCEEDED: u16 = 4;
const PERMISSION_DENIED: u16 = 7;
const UNIMPLEMENTED: u16 = 12;
const INTERNAL: u16 = 13;
const UNAVAILABLE: u16 = 14;
const UNAUTHENTICATED: u16 = 16;

/// The three calls.
pub(crate) fn routes() -> Router<App> {
    let of = |signal| {
        post(move |State(app): State<App>, request: Http| async move {
            export(&app, signal, request).await
        })
    };
    let path = |name: &str, service: &str| {
        format!("/opentelemetry.proto.collector.{name}.v1.{service}/Export")
    };
    Router::new()
        .route(&path("trace", "TraceService"), of(Signal::Traces))
        .route(&path("logs", "LogsService"), of(Signal::Logs))
        .route(&path("metrics", "MetricsService"), of(Signal::Metrics))
}

/// Why a call failed, in the words of gRPC.
struct Failed {
    code: u16,
    message: String,
}

impl Failed {
    fn new(code: u16, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

impl From<Problem> for Failed {
    /// Who is told `UNAVAILABLE` tries again; what is too large never fits.
    fn from(problem: Problem) -> Self {
        if let Some(log) = RequestLog::current() {
            log.note_code(problem.code());
        }
        let code = match problem.status() {
            StatusCode::UNAUTHORIZED => UNAUTHENTICATED,
            StatusCode::FORBIDDEN => PERMISSION_DENIED,
            StatusCode::REQUEST_TIMEOUT => DEADLINE_EXCEEDED,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => UNAVAILABLE,
            StatusCode::INTERNAL_SERVER_ERROR => INTERNAL,
            _ => INVALID_ARGUMENT,
        };
        Self::new(code, problem.detail())
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unreadable(why) => Self::new(INVALID_ARGUMENT, why),
            Refusal::Problem(problem) => problem.into(),
        }
    }
}

async fn export(app: &App, signal: Signal, request: Http) -> Response {
    let (mut parts, body) = request.into_parts();
    if !is_grpc(&parts.headers) {
        let detail = "send gRPC, with `content-type: application/grpc`";
        return Problem::media_type_is(detail).into_response();
    }
    match answer(app, signal, &mut parts, body).await {
        Ok(message) => replied(&message),
        Err(failed) => error_response(&failed),
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value.and_then(|v| v.to_str().ok()).unwrap_or_default();
    let form = value.split(';').next().unwrap_or_default().trim();
    form.eq_ignore_ascii_case(FORM) || form.eq_ignore_ascii_case("application/grpc+proto")
}

async fn answer(
    app: &App,
    signal: Signal,
    parts: &mut Parts,
    body: Body,
) -> Result<Vec<u8>, Failed> {
    parts.extensions.insert(rights::EXPORT);
    let sender = Sender::from_request_parts(parts, app).await?;
    let most = app.limits().telemetry_body;
    let frame = whole(body, app, most + PREFIX).await?;
    let (packing, bytes) = message(&parts.headers, &frame)?;
    let request = Request {
        signal,
        encoding: Encoding::Protobuf,
        packing,
        bytes,
    };
    Ok(take(app, &sender, request).await?)
}

/// The one message of a call.
fn message(headers: &HeaderMap, frame: &Bytes) -> Result<(Packing, Bytes), Failed> {
    let malformed = || {
        Failed::new(
            INVALID_ARGUMENT,
            "a call must have exactly one complete message",
        )
    };
    let Some((&[flag, a, b, c, d], bytes)) = frame.split_first_chunk::<PREFIX>() else {
        return Err(malformed());
    };
    if u32::from_be_bytes([a, b, c, d]) as usize != bytes.len() {
        return Err(malformed());
    }
    let named = headers.get(ENCODING).and_then(|v| v.to_str().ok());
    let packing = match flag {
        0 => Packing::Plain,
        1 => {
            let known = named.and_then(Packing::named);
            known.ok_or_else(|| {
                Failed::new(
                    UNIMPLEMENTED,
                    "messages must be uncompressed or compressed with gzip",
                )
            })?
        }
        _ => return Err(malformed()),
    };
    Ok((packing, frame.slice(PREFIX..)))
}

fn head(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(FORM));
    headers.insert(ACCEPTED, HeaderValue::from_static("identity,gzip"));
}

fn replied(message: &[u8]) -> Response {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(PREFIX + message.len());
    frame.push(0);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(message);
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from(0_u16));
    let body = Full::new(Bytes::from(frame)).with_trailers(ready(Some(Ok(trailers))));
    let mut response = Response::new(Body::new(body));
    head(&mut response);
    response
}

/// A failure is told in the head alone.
fn error_response(failed: &Failed) -> Response {
    let mut response = Response::new(Body::empty());
    head(&mut response);
    let headers = response.headers_mut();
    headers.insert(STATUS, HeaderValue::from(failed.code));
    if let Ok(message) = HeaderValue::from_str(&percent_encoded(&failed.message)) {
        headers.insert(MESSAGE, message);
    }
    response
}

/// Only plain characters stand in a head.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flag: u8, length: u32, bytes: &[u8], encoding: Option<&'static str>) -> String {
        let mut headers = HeaderMap::new();
        if let Some(encoding) = encoding {
            headers.insert(ENCODING, HeaderValue::from_static(encoding));
        }
        let mut frame = vec![flag];
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(bytes);
        match message(&headers, &Bytes::from(frame)) {
            Ok((packing, bytes)) => format!("{packing:?} {}", bytes.len()),
            Err(failed) => failed.code.to_string(),
        }
    }

    #[test]
    fn a_call_has_one_whole_message() {
        assert_eq!(read(0, 3, b"abc", None), "Plain 3");
        assert_eq!(read(0, 0, b"", Some("gzip")), "Plain 0");
        assert_eq!(read(1, 3, b"abc", Some("gzip")), "Gzip 3");
        assert_eq!(read(1, 3, b"abc", None), "12");
        assert_eq!(read(1, 3, b"abc", Some("zstd")), "12");
        for (flag, length) in [(0, 2), (0, 4), (0, u32::MAX), (2, 3)] {
            assert_eq!(read(flag, length, b"abc", Some("gzip")), "3");
        }
        let cut = Bytes::from_static(&[0, 0, 0]);
        assert!(message(&HeaderMap::new(), &cut).is_err());
    }

    #[test]
    fn messages_are_plain() {
        assert_eq!(percent_encoded("a 100% ä\n"), "a 100%25 %C3%A4%0A");
    }
}
