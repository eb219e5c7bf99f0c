//! A connection whose other side must take what it asked for.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Bytes that a client must take in each second for which an answer waits for it.
const LEAST_RATE: u32 = 1 << 10;

/// A connection that fails once its client has let it wait for too long: each byte that is taken buys a little time, up
/// to the whole wait again, so that one byte now and then does not hold an answer for ever.
pub(super) struct Patient<S> {
    stream: S,
    wait: Duration,
    /// What is left of the wait.
    left: Duration,
    /// Since when something waits, and until when it may; nothing where nothing waits.
    pending: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<S> Patient<S> {
    pub(super) const fn new(stream: S, wait: Duration) -> Self {
        Self {
            stream,
            wait,
            left: wait,
            pending: None,
        }
    }

    /// What came of writing, unless it waits for too long.
    fn patient(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            if let Some((since, _)) = self.pending.take() {
                self.left = self.left.saturating_sub(since.elapsed());
            }
            let bytes = written.as_ref().map_or(0, |n| *n);
            let bought =
                Duration::from_secs(1).saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
            self.left = self.left.saturating_add(bought / LEAST_RATE).min(self.wait);
            return Poll::Ready(written);
        }
        let left = self.left;
        let (_, until) = self
            .pending
            .get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        ready!(until.as_mut().poll(cx));
        let why = "the client does not read the response";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.patient(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.patient(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Whether a client that takes so much every 20 ms gets a whole answer.
    async fn serves(bytes: usize, answer: usize) -> bool {
        let (mut client, server) = tokio::io::duplex(64);
        let mut server = Patient::new(server, Duration::from_secs(1));
        let read = tokio::spawn(async move {
            let mut taken = vec![0; bytes];
            while client.read_exact(&mut taken).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let written = server.write_all(&vec![0; answer]).await;
        read.abort();
        written.is_ok()
    }

    #[tokio::test]
    async fn a_byte_now_and_then_holds_no_answer_for_ever() {
        let slow = tokio::time::timeout(Duration::from_secs(10), serves(1, 1 << 20));
        assert!(!slow.await.expect("it is held for ever"));
        assert!(serves(4 << 10, 200 << 10).await);
    }
}
