//! How much of the gateway one token may hold at once: requests, streams, threads that read, and bytes that it sends or
//! does not take.
//!
//! A share is taken when somebody is let in, and given back when the last of the answer has left for the socket, so that
//! one who asks for much and reads slowly takes from nobody else. A stream counts what it has read of the ledger and not
//! handed on, and waits for room before it reads.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

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

/// How often one looks whether there is room for more of a stream.
const LOOK: Duration = Duration::from_millis(100);

/// What a stream holds of its token's share, beside its place among the streams: each reads more only when it is asked
/// for, and all of them together no more than the token may leave unread.
pub(crate) struct Room {
    of: Shares,
    token: String,
    reading: Arc<Semaphore>,
}

/// The room of whoever asks in this task; nothing where nobody does.
pub(crate) fn room() -> Option<Room> {
    ASKING.try_with(Slot::room).ok().flatten()
}

impl Room {
    /// Waits for a place among those who read, and for room for what is read then. Gives nothing where the token takes
    /// for too long nothing of what it asked for.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let until = Instant::now() + self.of.patience;
        loop {
            let place = Arc::clone(&self.reading).acquire_owned().await.ok()?;
            if self.of.has_room(&self.token) {
                return Some(place);
            }
            drop(place);
            if Instant::now() >= until {
                return None;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Counts what was read, until it has left.
    pub(crate) fn hold(&self, bytes: usize) -> Weight {
        let mut all = self.of.by_token();
        let held = all.entry(self.token.clone());
        let held = held.or_insert_with(|| Held::new(self.of.most));
        held.bytes = held.bytes.saturating_add(bytes);
        drop(all);
        Weight {
            of: self.of.clone(),
            token: self.token.clone(),
            bytes,
        }
    }
}

/// Bytes that a stream has read and not handed on.
pub(crate) struct Weight {
    of: Shares,
    token: String,
    bytes: usize,
}

impl Drop for Weight {
    fn drop(&mut self) {
        let mut all = self.of.by_token();
        if let Some(held) = all.get_mut(&self.token) {
            held.bytes = held.bytes.saturating_sub(self.bytes);
            if held.is_nothing() {
                all.remove(&self.token);
            }
        }
    }
}

/// What all tokens hold. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shares {
    most: Most,
    /// How long a stream waits for room.
    patience: Duration,
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
            patience: limits.write_wait,
            held: Arc::default(),
        }
    }

    fn by_token(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a token may leave more unread.
    fn has_room(&self, token: &str) -> bool {
        let all = self.by_token();
        all.get(token)
            .is_none_or(|held| held.bytes < self.most.bytes)
    }

    /// A request of a token begins.
    fn begin(&self, token: String) -> Result<Share, Problem> {
        let mut all = self.by_token();
        let held = all.entry(token.clone());
        let held = held.or_insert_with(|| Held::new(self.most));
        if held.requests >= self.most.requests {
            let what = "too many requests of this token are in progress";
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
            let what = "this token has too much data in transit";
            return Err(Problem::rate_limited(what, 1));
        }
        held.bytes = held.bytes.saturating_add(bytes);
        drop(all);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

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

    fn room(&self) -> Option<Room> {
        let share = self.share();
        share.as_ref().map(|share| Room {
            of: share.of.clone(),
            token: share.token.clone(),
            reading: Arc::clone(&share.reading),
        })
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
                    rest: VecDeque::new(),
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
#[error("this token sends too much data at once")]
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
    rest: VecDeque<Bytes>,
    share: Share,
}

/// Cuts a frame into pieces, each with bytes of its own: a piece that only points into the frame would keep all of it in
/// memory until the last one is taken, and no longer be counted.
fn pieces(frame: Bytes) -> VecDeque<Bytes> {
    match frame.len() {
        0..=PIECE => VecDeque::from([frame]),
        _ => frame.chunks(PIECE).map(Bytes::copy_from_slice).collect(),
    }
}

impl Answer {
    /// The next piece of what is here.
    fn piece(&mut self) -> Option<Frame<Bytes>> {
        let piece = self.rest.pop_front()?;
        self.share.let_go(piece.len());
        Some(Frame::data(piece))
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(piece) = self.piece() {
            return Poll::Ready(Some(Ok(piece)));
        }
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    self.rest = pieces(data);
                    Poll::Ready(self.piece().map(Ok))
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
        let rest: u64 = self.rest.iter().map(|piece| piece.len() as u64).sum();
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
    async fn a_stream_reads_on_when_its_token_has_room_and_gives_up_at_last() {
        let shares = Shares::new(&Limits {
            waiting: 10,
            write_wait: 3 * LOOK,
            ..Limits::default()
        });
        let first = slot(&shares, "a").unwrap();
        let room = first.room().unwrap();
        let unread = room.hold(10);
        assert!(room.place().await.is_none());
        assert!(
            slot(&shares, "b")
                .unwrap()
                .room()
                .unwrap()
                .place()
                .await
                .is_some()
        );
        let (place, ()) = tokio::join!(room.place(), async {
            tokio::time::sleep(LOOK).await;
            drop(unread);
        });
        assert!(place.is_some());
        drop((place, first));
        assert!(shares.by_token().is_empty());
    }

    #[tokio::test]
    async fn what_has_left_is_not_kept_by_what_has_not() {
        let shares = shares(9, 9, 9 * PIECE);
        let bytes: Arc<[u8]> = vec![b'x'; 4 * PIECE].into();
        let body = Body::from(Bytes::from_owner(Arc::clone(&bytes)));
        let answer = slot(&shares, "a").unwrap().answered(body.into_response());
        assert_eq!(Arc::strong_count(&bytes), 2);
        let mut body = answer.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((first.len(), Arc::strong_count(&bytes)), (PIECE, 1));
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
