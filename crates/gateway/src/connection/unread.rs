//! A body that is read to its end where nobody wants it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::runtime::Handle;

/// So much of it is read and thrown away, and for so long.
const MOST: usize = 64 << 20;
const WAIT: Duration = Duration::from_secs(10);

/// A body that is read to its end once it is dropped: a connection that is closed while something comes takes the answer
/// with it.
pub(super) struct Unread(Option<Incoming>);

impl Unread {
    pub(super) const fn new(body: Incoming) -> Self {
        Self(Some(body))
    }
}

impl HttpBody for Unread {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.0 = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.0.as_ref().map(HttpBody::size_hint);
        hint.unwrap_or_else(|| SizeHint::with_exact(0))
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let body = self.0.take().filter(|body| !body.is_end_stream());
        if let (Some(body), Ok(runtime)) = (body, Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(WAIT, thrown_away(body)));
        }
    }
}

async fn thrown_away(mut body: Incoming) {
    let mut left = MOST;
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(bytes) {
            Some(less) => left = less,
            None => return,
        }
    }
}
