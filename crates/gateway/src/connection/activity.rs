//! What one connection has under way: its requests, which of their answers wait for the client, and whose tokens came
//! by it.
//!
//! A connection of HTTP/2 never looks busy to its socket: a client that grants no window leaves the socket writable and
//! answers pings for ever. So it is the answers that are watched: a body that is not asked for its next piece waits for
//! the client, one that has none yet waits for the gateway.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

use crate::problem::Problem;
use crate::quota::{Permit, Quota};

/// The connection that a request came by.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Mutex<State>>);

struct State {
    requests: usize,
    idle_since: Instant,
    /// Since when the client has not taken an answer on, by its number.
    offered: HashMap<u64, Instant>,
    last: u64,
    tokens: HashMap<String, Permit<String>>,
    /// A token that has its share of connections came by this one: it is closed.
    is_surplus: bool,
}

impl Connection {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            requests: 0,
            idle_since: Instant::now(),
            offered: HashMap::new(),
            last: 0,
            tokens: HashMap::new(),
            is_surplus: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the connection for a token that was let in, once.
    pub(crate) fn count_for(&self, quota: &Quota<String>, token: &str) -> Result<(), Problem> {
        let mut state = self.state();
        if state.tokens.contains_key(token) {
            return Ok(());
        }
        let token = token.to_owned();
        let Some(permit) = quota.permit(&token) else {
            state.is_surplus = true;
            let what = "too many connections of this token are open";
            return Err(Problem::rate_limited(what, 1));
        };
        state.tokens.insert(token, permit);
        Ok(())
    }

    pub(super) fn is_surplus(&self) -> bool {
        self.state().is_surplus
    }

    /// A request begins; it ends with its answer, or without one.
    pub(super) fn request(&self) -> OpenRequest {
        let mut state = self.state();
        state.requests += 1;
        state.last += 1;
        let number = state.last;
        drop(state);
        OpenRequest {
            connection: self.clone(),
            number,
        }
    }

    /// How long there has been no request.
    pub(super) fn idle(&self) -> Option<Duration> {
        let state = self.state();
        (state.requests == 0).then(|| state.idle_since.elapsed())
    }

    /// The longest time for which an answer has waited for the client to take it on.
    pub(super) fn stalled(&self) -> Option<Duration> {
        self.state().offered.values().map(Instant::elapsed).max()
    }
}

/// A request whose answer has not left.
pub(super) struct OpenRequest {
    connection: Connection,
    number: u64,
}

impl OpenRequest {
    /// The answer, watched until the client has all of it.
    pub(super) fn watch(self, response: Response) -> Response {
        self.offer();
        response.map(|body| {
            Body::new(Answer {
                is_whole: true,
                body,
                request: self,
            })
        })
    }

    fn offer(&self) {
        let mut state = self.connection.state();
        state.offered.insert(self.number, Instant::now());
    }

    fn wait_for_more(&self) {
        self.connection.state().offered.remove(&self.number);
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut state = self.connection.state();
        state.offered.remove(&self.number);
        state.requests -= 1;
        state.idle_since = Instant::now();
    }
}

struct Answer {
    body: Body,
    /// Nothing of it was handed over yet.
    is_whole: bool,
    request: OpenRequest,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.is_whole = false;
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(_)) => self.request.offer(),
            Poll::Ready(None) | Poll::Pending => self.request.wait_for_more(),
        }
        polled
    }

    /// What was handed over last is the client's only when the next piece is asked for, so the end is never told ahead.
    fn is_end_stream(&self) -> bool {
        self.is_whole && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn an_answer_waits_for_the_client_until_all_of_it_is_read() {
        let connection = Connection::new();
        assert!(connection.idle().is_some() && connection.stalled().is_none());
        let request = connection.request();
        assert!(connection.idle().is_none() && connection.stalled().is_none());
        let mut body = request.watch(Response::new(Body::from("x"))).into_body();
        assert!(connection.stalled().is_some());
        assert!(body.frame().await.is_some());
        assert!(connection.stalled().is_some() && !body.is_end_stream());
        assert!(body.frame().await.is_none());
        assert!(connection.stalled().is_none() && connection.idle().is_none());
        drop(body);
        assert!(connection.idle().is_some());
    }

    #[tokio::test]
    async fn an_answer_that_has_nothing_to_say_waits_for_nobody() {
        let connection = Connection::new();
        let quiet = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let body = Body::from_stream(quiet);
        let mut body = connection.request().watch(Response::new(body)).into_body();
        let frame = tokio::time::timeout(Duration::from_millis(1), body.frame());
        assert!(frame.await.is_err());
        assert!(connection.stalled().is_none() && connection.idle().is_none());
    }

    #[test]
    fn a_connection_counts_once_for_a_token() {
        let quota = Quota::new(1);
        let (one, two) = (Connection::new(), Connection::new());
        assert!(one.count_for(&quota, "a").is_ok() && one.count_for(&quota, "a").is_ok());
        assert!(two.count_for(&quota, "a").is_err());
        assert!(two.is_surplus() && !one.is_surplus());
        drop(one);
        assert!(Connection::new().count_for(&quota, "a").is_ok());
    }
}
