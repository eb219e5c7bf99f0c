//! How much of the gateway one token may hold at once: requests, streams, threads that read, and bytes that it sends or
//! does not take.
//!
//! A share is taken when somebody is let in, and given back when the last of the answer has left for the socket, so that
//! one who asks for much and reads slowly takes from nobody else.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;
use crate::settings::Limits;

/// The largest piece of an answer that is handed on at once, so that what nobody reads stays here and is counted.
const PIECE: usize = 64 << 10;

/// What one token may hold.
#[derive(Debug, Clone, Copy)]
struct Most {
    requests: usize,
    streams: usize,
    bytes: usize,
    reads: usize,
}

/// What one token holds.
#[derive(Debug)]
struct Held {
    requests: usize,
    streams: usize,
    bytes: usize,
    /// Its places among those who read.
    reading: Arc<Semaphore>,
}

impl Held {
    fn new(most: Most) -> Self {
        Self {
            requests: 0,
            streams: 0,
            bytes: 0,
            reading: Arc::new(Semaphore::new(most.reads)),
        }
    }

    const fn is_nothing(&self) -> bool {
        self.requests == 0 && self.streams == 0 && self.bytes == 0
    }
}

tokio::task_local! {
    /// The place of the request that this task answers.
    static ASKING: Slot;
}

/// Waits for a place among those who read, of which each token has a few: however much one asks for, others are served
/// beside it. What is done for nobody's request has no place and waits for none.
pub(crate) async fn place_to_read() -> Option<OwnedSemaphorePermit> {
    let reading = ASKING.try_with(Slot::reading).ok().flatten()?;
    reading.acquire_owned().await.ok()
}

/// What all tokens hold. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shares {
    most: Most,
    held: Arc<Mutex<HashMap<String, Held>>>,
}

impl Shares {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            most: Most {
                requests: limits.requests,
                streams: limits.streams,
                bytes: limits.waiting,
                // Half of the threads: the rest is others'.
                reads: (limits.readers / 2).max(1),
            },
            held: Arc::default(),
        }
    }

    fn by_token(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request of a token begins.
    fn begin(&self, token: String) -> Result<Share, Problem> {
        let mut all = self.by_token();
        let held = all.entry(token.clone());
        let held = held.or_insert_with(|| Held::new(self.most));
        if held.requests >= self.most.requests {
            let what = "too many requests of this token go on";
            return Err(Problem::rate_limited(what, 1));
        }
        held.requests += 1;
        let reading = Arc::clone(&held.reading);
        drop(all);
        Ok(Share {
            of: self.clone(),
            token,
            reading,
            is_stream: false,
            bytes: 0,
        })
    }
}

/// What one request holds, until it is dropped.
struct Share {
    of: Shares,
    token: String,
    reading: Arc<Semaphore>,
    is_stream: bool,
    bytes: usize,
}

impl Share {
    /// The answer goes on for as long as somebody listens: it counts as a stream from now on.
    fn stream(&mut self) -> Result<(), Problem> {
        let mut all = self.of.by_token();
        let held = all.entry(self.token.clone());
        let held = held.or_insert_with(|| Held::new(self.of.most));
        if held.streams >= self.of.most.streams {
            let what = "too many streams of this token are open";
            return Err(Problem::rate_limited(what, 1));
        }
        held.requests = held.requests.saturating_sub(1);
        held.streams += 1;
        drop(all);
        self.is_stream = true;
        Ok(())
    }

    /// Holds more bytes. Where the token holds nothing else, any number will do.
    fn hold(&mut self, bytes: usize) -> Result<(), Problem> {
        let mut all = self.of.by_token();
        let held = all.entry(self.token.clone());
        let held = held.or_insert_with(|| Held::new(self.of.most));
        if held.bytes > self.bytes && held.bytes.saturating_add(bytes) > self.of.most.bytes {
            let what = "too much that this token sends or asked for is on its way";
            return Err(Problem::rate_limited(what, 1));
        }
        held.bytes = held.bytes.saturating_add(bytes);
        drop(all);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    /// Lets go of bytes.
    fn let_go(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        if let Some(held) = self.of.by_token().get_mut(&self.token) {
            held.bytes = held.bytes.saturating_sub(bytes);
        }
        self.bytes -= bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.let_go(self.bytes);
        let mut all = self.of.by_token();
        let Some(held) = all.get_mut(&self.token) else {
            return;
        };
        match self.is_stream {
            true => held.streams = held.streams.saturating_sub(1),
            false => held.requests = held.requests.saturating_sub(1),
        }
        if held.is_nothing() {
            all.remove(&self.token);
        }
    }
}

/// The place in a request for the share of whoever is let in.
#[derive(Clone, Default)]
pub(crate) struct Slot(Arc<Mutex<Option<Share>>>);

impl Slot {
    fn share(&self) -> MutexGuard<'_, Option<Share>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading(&self) -> Option<Arc<Semaphore>> {
        let share = self.share();
        share.as_ref().map(|share| Arc::clone(&share.reading))
    }

    /// Answers the request of this place.
    pub(crate) async fn answer<T>(&self, answer: impl Future<Output = T>) -> T {
        ASKING.scope(self.clone(), answer).await
    }

    /// Somebody is let in with this request.
    pub(crate) fn take(&self, shares: &Shares, token: String) -> Result<(), Problem> {
        let mut share = self.share();
        if share.is_none() {
            *share = Some(shares.begin(token)?);
        }
        Ok(())
    }

    /// The body of the request, counted as it is read.
    pub(crate) fn counted(&self, body: Body) -> Body {
        Body::new(Counted {
            body,
            slot: self.clone(),
        })
    }

    /// The answer, which holds the share until it has left.
    pub(crate) fn answered(&self, response: Response) -> Response {
        let Some(mut share) = self.share().take() else {
            return response;
        };
        share.let_go(share.bytes);
        let held = match is_stream(response.headers()) {
            true => share.stream(),
            false => {
                let bytes = HttpBody::size_hint(response.body()).lower();
                share.hold(usize::try_from(bytes).unwrap_or(usize::MAX))
            }
        };
        match held {
            Err(problem) => problem.into_response(),
            Ok(()) => response.map(|body| {
                Body::new(Answer {
                    body,
                    rest: Bytes::new(),
                    share,
                })
            }),
        }
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let form = headers.get(header::CONTENT_TYPE);
    form.is_some_and(|form| form.as_bytes().starts_with(b"text/event-stream"))
}

/// A token sends more at once than it may.
#[derive(Debug, thiserror::Error)]
#[error("this token sends too much at once")]
pub(crate) struct TooMuch;

/// The body of a request.
struct Counted {
    body: Body,
    slot: Slot,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
            && let Some(share) = self.slot.share().as_mut()
            && share.hold(data.len()).is_err()
        {
            return Poll::Ready(Some(Err(axum::Error::new(TooMuch))));
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

/// The body of an answer.
struct Answer {
    body: Body,
    /// What of the last frame is not handed on yet.
    rest: Bytes,
    share: Share,
}

impl Answer {
    /// The next piece of what is here.
    fn piece(&mut self) -> Frame<Bytes> {
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        self.share.let_go(piece.len());
        Frame::data(piece)
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    self.rest = data;
                    Poll::Ready(Some(Ok(self.piece())))
                }
                Err(trailers) => Poll::Ready(Some(Ok(trailers))),
            },
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let of_body = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower().saturating_add(rest));
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn shares(requests: usize, streams: usize, bytes: usize) -> Shares {
        Shares::new(&Limits {
            requests,
            streams,
            waiting: bytes,
            ..Limits::default()
        })
    }

    fn slot(shares: &Shares, token: &str) -> Option<Slot> {
        let slot = Slot::default();
        slot.take(shares, token.to_owned()).ok().map(|()| slot)
    }

    fn answer(form: &'static str, bytes: usize) -> Response {
        ([(header::CONTENT_TYPE, form)], vec![b'x'; bytes]).into_response()
    }

    #[test]
    fn one_token_has_so_many_requests_at_once_and_another_one_its_own() {
        let shares = shares(2, 1, 100);
        let first = slot(&shares, "a").unwrap();
        let second = slot(&shares, "a");
        assert!(second.is_some() && slot(&shares, "a").is_none());
        assert!(slot(&shares, "b").is_some());
        // Asked for twice by one request it is one.
        assert!(first.take(&shares, "a".to_owned()).is_ok());
        drop(second);
        assert!(slot(&shares, "a").is_some());
        drop(first);
        assert!(shares.by_token().is_empty(), "what nobody holds is let go");
    }

    #[test]
    fn a_stream_is_no_request_and_there_are_so_many() {
        let shares = shares(1, 1, 100);
        let stream = slot(&shares, "a").unwrap();
        let open = stream.answered(answer("text/event-stream", 0));
        let second = slot(&shares, "a").unwrap();
        let refused = second.answered(answer("text/event-stream", 0));
        assert_eq!(refused.status(), 429);
        drop((open, refused));
        assert!(shares.by_token().is_empty());
    }

    #[tokio::test]
    async fn what_is_not_read_is_counted_until_it_leaves_in_pieces() {
        let shares = shares(9, 9, 3 * PIECE);
        let large = slot(&shares, "a").unwrap();
        let large = large.answered(answer("application/json", 4 * PIECE + 1));
        assert_eq!(large.status(), 200, "where it holds nothing else");
        let next = || {
            slot(&shares, "a")
                .unwrap()
                .answered(answer("text/plain", 1))
        };
        assert_eq!(next().status(), 429);
        let mut body = large.into_body();
        let mut sizes = Vec::new();
        while let Some(frame) = body.frame().await {
            sizes.push(frame.unwrap().into_data().unwrap().len());
            if sizes.len() == 2 {
                assert_eq!(next().status(), 200, "some of it has left");
            }
        }
        assert_eq!(sizes, [PIECE, PIECE, PIECE, PIECE, 1]);
        drop(body);
        assert!(shares.by_token().is_empty());
    }

    #[tokio::test]
    async fn what_is_sent_at_once_is_bounded_too() {
        let shares = shares(9, 9, 10);
        let (first, second) = (slot(&shares, "a").unwrap(), slot(&shares, "a").unwrap());
        let read = |slot: &Slot, n| slot.counted(Body::from(vec![b'x'; n])).collect();
        assert!(read(&first, 8).await.is_ok());
        assert!(read(&second, 8).await.is_err());
        drop(first.answered(answer("text/plain", 0)));
        assert!(read(&second, 8).await.is_ok());
    }
}
