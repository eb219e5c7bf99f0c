//! The handshake of TLS, within the bounds of any other beginning of a connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::server::TlsStream;

use super::patience::Patient;
use crate::app::App;
use crate::tls::Tls;

/// How a handshake begins: the type of its first record.
const HANDSHAKE: u8 = 22;
/// What a client is answered that speaks HTTP without TLS.
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: text/plain\r\ncontent-length: 49\r\nconnection: close\r\n\r\n\
    This port takes HTTPS only: use an https:// URL.\n";
/// How long one waits for such a client to take its answer, and how many bytes of its request are read meanwhile.
const PLAIN_WAIT: Duration = Duration::from_secs(2);
const PLAIN_MOST: u64 = 64 << 10;

/// A connection over TLS; nothing if there is none in the time for a head, or before the gateway stops.
///
/// What waits for the client is ciphertext, too, so that it is the connection below TLS that must be taken from.
pub(super) async fn accept(
    app: &App,
    tls: &Tls,
    stream: TcpStream,
) -> Option<TlsStream<Patient<TcpStream>>> {
    let mut stopping = app.stopping();
    tokio::select! {
        accepted = handshake(app, tls, stream) => accepted,
        _ = stopping.wait_for(|stops| *stops) => None,
    }
}

async fn handshake(
    app: &App,
    tls: &Tls,
    stream: TcpStream,
) -> Option<TlsStream<Patient<TcpStream>>> {
    let until = Instant::now() + app.limits().head_wait;
    let mut first = [0];
    match timeout_at(until, stream.peek(&mut first)).await {
        Ok(Ok(1..)) if first == [HANDSHAKE] => {}
        Ok(Ok(1..)) => {
            let _ = timeout(PLAIN_WAIT, refuse_plain(stream)).await;
            return None;
        }
        _ => return None,
    }
    let stream = Patient::new(stream, app.limits().write_wait);
    match timeout_at(until, tls.acceptor().accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        Ok(Err(error)) => {
            tracing::debug!("a TLS handshake failed: {error}");
            None
        }
        Err(_) => None,
    }
}

/// Tells a client to use TLS, and waits until it has read that: a connection that is closed before its request was read
/// takes the answer with it.
async fn refuse_plain(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(PLAIN).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(PLAIN_MOST), &mut tokio::io::sink()).await?;
    Ok(())
}

/// Whether the client chose HTTP/2.
#[cfg(feature = "grpc")]
pub(super) fn is_two(stream: &TlsStream<Patient<TcpStream>>) -> bool {
    let (_, session) = stream.get_ref();
    session.alpn_protocol() == Some(crate::tls::HTTP_2)
}
