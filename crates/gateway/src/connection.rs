//! One connection: HTTP/1.1, or HTTP/2 where whoever connects begins with it, over TLS where the gateway has a certificate.
//!
//! A body that nobody wants (of a request that is refused for its size, its token, its route) is read to its end and
//! thrown away, within bounds, so that whoever sends it gets to the answer. A client that takes an answer too slowly is
//! cut off, and one that asks for nothing is let go.

#[cfg_attr(
    not(feature = "grpc"),
    allow(
        dead_code,
        reason = "only HTTP/2, which gRPC needs, is watched by its answers"
    )
)]
mod activity;
mod encrypted;
mod patience;
mod unread;

use std::convert::Infallible;
use std::net::IpAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Version, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tower::ServiceExt;

pub(crate) use self::activity::Connection;
use self::patience::Patient;
use self::unread::Unread;
use crate::app::App;
use crate::problem::Problem;
use crate::request_log::RequestLog;
use crate::tls::Tls;

/// Serves a connection to its end, over TLS if there is a certificate.
pub(crate) async fn serve(
    app: &App,
    router: Router,
    stream: TcpStream,
    peer: IpAddr,
    open: Watcher,
    tls: Option<&Tls>,
) {
    let _ = stream.set_nodelay(true);
    if let Some(tls) = tls {
        let Some(stream) = encrypted::accept(app, tls, stream).await else {
            return;
        };
        #[cfg(feature = "grpc")]
        if encrypted::is_two(&stream) {
            return two::serve(app, router, stream, peer, open).await;
        }
        return one(app, router, stream, peer, open).await;
    }
    #[cfg(feature = "grpc")]
    let begin = two::begins(&stream, app.limits().head_wait).await;
    let stream = Patient::new(stream, app.limits().write_wait);
    #[cfg(feature = "grpc")]
    match begin {
        two::Begin::One => {}
        two::Begin::Two => return two::serve(app, router, stream, peer, open).await,
        two::Begin::Not => return,
    }
    one(app, router, stream, peer, open).await;
}

/// Serves a connection that speaks HTTP/1.1.
async fn one<S>(app: &App, router: Router, stream: S, peer: IpAddr, open: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let by = Connection::new();
    let handle = service_fn(move |request: hyper::Request<Incoming>| {
        let is_sent = !request.headers().contains_key(header::EXPECT);
        let request = request.map(|body| match is_sent {
            true => Body::new(Unread::new(body)),
            // Whoever asks before sending sends nothing once it is refused.
            false => Body::new(body),
        });
        let (app, router, by) = (app.clone(), router.clone(), by.clone());
        async move {
            let mut response = answer(&app, router, peer, &by, request).await;
            if by.is_surplus() {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits().head_wait)
        .max_buf_size(app.limits().head)
        .serve_connection(TokioIo::new(stream), handle);
    if let Err(error) = open.watch(connection).await {
        tracing::debug!("a connection failed: {error}");
    }
}

/// The address of the client that a request comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Answers a request that came by this connection, and has it logged.
async fn answer(
    app: &App,
    router: Router,
    peer: IpAddr,
    by: &Connection,
    mut request: Request,
) -> Response {
    let client = app.proxies().client(peer, request.headers());
    let log = RequestLog::new(&request, client);
    let answered = log.scope(async {
        if let Err(problem) = head(&request, app.limits().head) {
            return problem.into_response();
        }
        request.extensions_mut().insert(Peer(client));
        request.extensions_mut().insert(by.clone());
        router
            .oneshot(request)
            .await
            .unwrap_or_else(|never| match never {})
    });
    let response = answered.await;
    log.answered(response)
}

/// Refuses a head that is larger than is said, or that names not one host. Which one it is says nothing: what counts is
/// the token. So a target with a host of its own, which counts more than the header (RFC 9112, 3.2.2), lets nobody in.
fn head(request: &Request, most: usize) -> Result<(), Problem> {
    let headers = request.headers();
    let lines = headers.iter().map(|(name, value)| {
        // A colon, a blank and the end of the line.
        name.as_str().len() + value.len() + 4
    });
    let first = request.method().as_str().len() + request.uri().to_string().len();
    // Two blanks, the version, and the ends of the first and the last line.
    if first + 14 + lines.sum::<usize>() > most {
        return Err(Problem::large_head(most));
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let (host, another) = (hosts.next(), hosts.next());
    let is_named = match request.version() {
        Version::HTTP_11 => host.is_some(),
        // The authority of an HTTP/2 request is its host.
        Version::HTTP_2 => {
            let authority = request.uri().authority().map(|a| a.as_str().as_bytes());
            authority.zip(host).is_none_or(|(a, h)| a == h.as_bytes())
        }
        _ => true,
    };
    let is_one = is_named && another.is_none() && host.is_none_or(is_host);
    match is_one {
        true => Ok(()),
        false => Err(Problem::hosts()),
    }
}

/// Whether a header is a host, with or without a port.
fn is_host(value: &HeaderValue) -> bool {
    let text = value.to_str().ok().filter(|text| !text.contains('@'));
    let authority: Option<Authority> = text.and_then(|text| text.parse().ok());
    authority.is_some_and(|authority| {
        let (text, host) = (authority.as_str(), authority.host());
        let mut port = text.bytes().skip(host.len() + 1);
        !host.is_empty() && port.all(|byte| byte.is_ascii_digit())
    })
}

/// HTTP/2, which gRPC needs.
#[cfg(feature = "grpc")]
mod two {
    use std::pin::pin;
    use std::time::Duration;

    use hyper::server::conn::http2;
    use hyper_util::rt::TokioExecutor;
    use tokio::time::Instant;

    use super::*;
    use crate::settings::Limits;

    /// How each connection begins.
    const PREFACE: &[u8; 3] = b"PRI";
    /// How often one looks whether more of that has come.
    const LOOK: Duration = Duration::from_millis(10);
    /// Requests of one connection at once.
    const STREAMS: u32 = 128;
    /// Bytes of one answer that wait in a connection.
    const SEND: usize = 64 << 10;
    /// How often a silent client is asked whether it is there, and how long it may take to say so.
    const PING: Duration = Duration::from_secs(20);
    /// How often one looks whether anything goes on.
    const CHECK: Duration = Duration::from_secs(1);

    /// How a connection begins.
    pub(super) enum Begin {
        /// As one of HTTP/1.1.
        One,
        /// As one of HTTP/2.
        Two,
        /// Not, in the time it has.
        Not,
    }

    /// Looks at the first bytes, which stay to be read.
    pub(super) async fn begins(stream: &TcpStream, wait: Duration) -> Begin {
        let until = Instant::now() + wait;
        let mut first = [0; PREFACE.len()];
        loop {
            let come = match tokio::time::timeout_at(until, stream.peek(&mut first)).await {
                Ok(Ok(1..)) if !PREFACE.starts_with(&first[..1]) => return Begin::One,
                Ok(Ok(come @ 1..)) => come,
                _ => return Begin::Not,
            };
            match first[..come] == PREFACE[..come] {
                false => return Begin::One,
                true if come == PREFACE.len() => return Begin::Two,
                true if Instant::now() >= until => return Begin::Not,
                true => tokio::time::sleep(LOOK).await,
            }
        }
    }

    pub(super) async fn serve<S>(app: &App, router: Router, stream: S, peer: IpAddr, open: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let by = Connection::new();
        let (shared, answering) = (app.clone(), by.clone());
        let handle = service_fn(move |request: hyper::Request<Incoming>| {
            let (app, router, by) = (shared.clone(), router.clone(), answering.clone());
            let begun = by.request();
            async move {
                let response = answer(&app, router, peer, &by, request.map(Body::new)).await;
                Ok::<_, Infallible>(begun.watch(response))
            }
        });
        let head = u32::try_from(app.limits().head).unwrap_or(u32::MAX);
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(head)
            .max_send_buf_size(SEND)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .serve_connection(TokioIo::new(stream), handle);
        let mut connection = pin!(connection);
        let mut stopping = app.stopping();
        let mut closing = None;
        while is_wanted(app.limits(), &by, closing) {
            let is_over = tokio::select! {
                ended = &mut connection => {
                    if let Err(error) = ended {
                        tracing::debug!("a connection failed: {error}");
                    }
                    break;
                }
                _ = stopping.wait_for(|stops| *stops), if closing.is_none() => true,
                () = tokio::time::sleep(CHECK) => {
                    by.is_surplus() || by.idle().is_some_and(|idle| idle >= app.limits().head_wait)
                }
            };
            if is_over && closing.is_none() {
                connection.as_mut().graceful_shutdown();
                closing = Some(Instant::now());
            }
        }
        // Until here the gateway, told to stop, waits for this connection.
        drop(open);
    }

    /// Whether a connection may stay: its client takes its answers on, or ends it where it was asked to.
    fn is_wanted(limits: &Limits, by: &Connection, closing: Option<Instant>) -> bool {
        let is_stalled = by.stalled().is_some_and(|since| since >= limits.write_wait);
        let since = closing.map_or(Duration::ZERO, |since| since.elapsed());
        let is_left = by
            .idle()
            .is_some_and(|idle| idle.min(since) >= limits.write_wait);
        if is_stalled {
            tracing::debug!("the client of a connection does not read its responses");
        }
        !is_stalled && !is_left
    }
}
