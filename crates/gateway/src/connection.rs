//! One connection: HTTP/1.1, or HTTP/2 where whoever connects begins with it.

use std::net::IpAddr;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::net::TcpStream;
use tower::ServiceExt;

use crate::app::App;
use crate::caller::Peer;

/// Serves a connection to its end.
pub(crate) async fn serve(
    app: &App,
    router: Router,
    stream: TcpStream,
    peer: IpAddr,
    open: Watcher,
) {
    let _ = stream.set_nodelay(true);
    #[cfg(feature = "grpc")]
    match two::begins(&stream, app.limits().head_wait).await {
        two::Begin::One => {}
        two::Begin::Two => return two::serve(app, router, stream, peer, open).await,
        two::Begin::Not => return,
    }
    let handle = service_fn(move |request: hyper::Request<Incoming>| {
        router.clone().oneshot(from(peer, request))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.limits().head_wait)
        .max_buf_size(app.limits().head)
        .serve_connection(TokioIo::new(stream), handle);
    if let Err(error) = open.watch(connection).await {
        tracing::debug!("a connection broke: {error}");
    }
}

/// A request that says where it comes from.
fn from(peer: IpAddr, request: hyper::Request<Incoming>) -> Request {
    let mut request: Request = request.map(axum::body::Body::new);
    request.extensions_mut().insert(Peer(peer));
    request
}

/// HTTP/2, which gRPC needs.
#[cfg(feature = "grpc")]
mod two {
    use std::time::Duration;

    use hyper::server::conn::http2;
    use hyper_util::rt::TokioExecutor;
    use tokio::time::Instant;

    use super::*;

    /// How each connection begins.
    const PREFACE: &[u8; 3] = b"PRI";
    /// How often one looks whether more of that has come.
    const LOOK: Duration = Duration::from_millis(10);
    /// Requests of one connection at once.
    const STREAMS: u32 = 128;
    /// How often a silent client is asked whether it is there, and how long it may take to say so.
    const PING: Duration = Duration::from_secs(20);

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

    pub(super) async fn serve(
        app: &App,
        router: Router,
        stream: TcpStream,
        peer: IpAddr,
        open: Watcher,
    ) {
        let handle = service_fn(move |request: hyper::Request<Incoming>| {
            router.clone().oneshot(from(peer, request))
        });
        let head = u32::try_from(app.limits().head).unwrap_or(u32::MAX);
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(head)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .serve_connection(TokioIo::new(stream), handle);
        if let Err(error) = open.watch(connection).await {
            tracing::debug!("a connection broke: {error}");
        }
    }
}
