//! What the log says of each request: one line once its response has left, or its client. Its other lines have the id of
//! the request in a span.
//!
//! Nothing that the client wrote is in it, save the id: routes are those of the router, not paths.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use siglum_domain::{Tenant, TokenId};
use tracing::{Instrument as _, Span};

use crate::request_id::{self, RequestId};

tokio::task_local! {
    /// The request that this task answers.
    static CURRENT: RequestLog;
}

/// What is known of a request. Its line is written when the last clone is let go.
#[derive(Clone)]
pub(crate) struct RequestLog(Arc<Entry>);

struct Entry {
    id: RequestId,
    span: Span,
    method: &'static str,
    client: IpAddr,
    begun: Instant,
    /// Bytes of the body that were handed to the connection.
    bytes: AtomicU64,
    noted: Mutex<Noted>,
}

/// What comes to be known on the way.
#[derive(Default)]
struct Noted {
    route: Option<String>,
    caller: Option<(Tenant, TokenId)>,
    code: Option<&'static str>,
    status: Option<u16>,
}

impl RequestLog {
    pub(crate) fn new(request: &Request, client: IpAddr) -> Self {
        let id = RequestId::from_headers(request.headers());
        // Of the highest level: whichever lines are logged, they have the id.
        let span = tracing::error_span!("request", request_id = id.as_str());
        Self(Arc::new(Entry {
            id,
            span,
            method: method_name(request.method()),
            client,
            begun: Instant::now(),
            bytes: AtomicU64::new(0),
            noted: Mutex::default(),
        }))
    }

    /// The request that this task answers; nothing where it answers none.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Answers the request as the current one of this task.
    pub(crate) async fn scope<T>(&self, answer: impl Future<Output = T>) -> T {
        let span = self.0.span.clone();
        CURRENT.scope(self.clone(), answer.instrument(span)).await
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of the request.
    pub(crate) fn id(&self) -> &str {
        self.0.id.as_str()
    }

    /// Notes the route that the request matches.
    pub(crate) fn note_route(&self, route: &str) {
        self.noted().route = Some(route.to_owned());
    }

    /// Notes whose token the request came with, once it is let in.
    pub(crate) fn note_caller(&self, tenant: &Tenant, token: TokenId) {
        self.noted().caller = Some((tenant.clone(), token));
    }

    /// Notes the code of the problem that the request is answered with.
    pub(crate) fn note_code(&self, code: &'static str) {
        self.noted().code = Some(code);
    }

    /// The response with the id of its request. The line waits until its body has left.
    pub(crate) fn answered(self, mut response: Response) -> Response {
        self.noted().status = Some(response.status().as_u16());
        let headers = response.headers_mut();
        headers.insert(request_id::HEADER, self.0.id.header_value());
        response.map(|body| Body::new(CountedBody { body, of: self }))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let noted = self.noted.get_mut().unwrap_or_else(PoisonError::into_inner);
        let noted = std::mem::take(noted);
        let (method, client) = (self.method, self.client);
        let route = noted.route.as_deref().unwrap_or("none");
        let (tenant, token) = noted.caller.unzip();
        let (tenant, token) = (
            tenant.map(tracing::field::display),
            token.map(tracing::field::display),
        );
        let duration = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let bytes = self.bytes.load(Ordering::Relaxed);
        let text = match noted.status {
            Some(status) => format!("{method} {route} {status}"),
            None => format!("{method} {route}: the client disconnected"),
        };
        macro_rules! write_line {
            ($level:ident) => {
                tracing::$level!(
                    http.method = method,
                    http.route = route,
                    http.status = noted.status,
                    code = noted.code,
                    duration_ms = duration,
                    bytes = bytes,
                    tenant = tenant,
                    token_id = token,
                    client = %client,
                    "{text}"
                )
            };
        }
        let _entered = self.span.enter();
        match noted.status {
            Some(500..) => write_line!(warn),
            _ => write_line!(info),
        }
    }
}

/// The name of a method. Those that are not HTTP's own share one: anybody may invent them.
pub(crate) fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        Method::CONNECT => "CONNECT",
        Method::TRACE => "TRACE",
        _ => "other",
    }
}

/// The body of a response, whose bytes are counted as they leave.
struct CountedBody {
    body: Body,
    of: RequestLog,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            let bytes = data.len() as u64;
            self.of.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use http_body_util::BodyExt as _;

    use super::*;

    fn log(method: &str) -> RequestLog {
        let request = Request::builder()
            .method(method)
            .header("x-request-id", "r-1")
            .body(Body::empty());
        RequestLog::new(&request.unwrap(), IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    #[test]
    fn methods_that_anybody_may_invent_share_a_name() {
        assert_eq!(log("GET").0.method, "GET");
        assert_eq!(log("x1").0.method, "other");
        assert_eq!(log("get").0.method, "other");
    }

    #[tokio::test]
    async fn a_task_knows_its_request_while_it_answers_it() {
        let log = log("GET");
        assert!(RequestLog::current().is_none());
        let id = log
            .scope(async { RequestLog::current().map(|log| log.id().to_owned()) })
            .await;
        assert_eq!(id.as_deref(), Some("r-1"));
    }

    #[tokio::test]
    async fn the_bytes_of_a_response_are_counted_as_they_leave() {
        let log = log("GET");
        let response = log.clone().answered(Response::new(Body::from("12345")));
        assert_eq!(response.headers()["x-request-id"], "r-1");
        assert_eq!(response.body().size_hint().exact(), Some(5));
        assert_eq!(log.0.bytes.load(Ordering::Relaxed), 0);
        response.into_body().collect().await.unwrap();
        assert_eq!(log.0.bytes.load(Ordering::Relaxed), 5);
        assert_eq!(log.noted().status, Some(200));
    }
}
