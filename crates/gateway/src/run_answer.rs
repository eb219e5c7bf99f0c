//! What is answered about a run: its result, or a stream of its events in one of two forms.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, unfold};
use serde_json::Value;
use siglum_domain::trace::{SpanId, TraceParent};

use crate::app::App;
use crate::messages::UiStream;
use crate::naming::{CONVERSATION, one};
use crate::problem::Problem;
use crate::query::Query;
use crate::runs::{Events, Finished, NOT_COMMITTED, Next, Running, Started, Status};
use crate::wire::{IgnoredName, RunEnd, RunEvent, RunResult};

/// The header with the session, in answers.
const SESSION: &str = "siglum-session-id";
/// The header with the trace, in answers.
const TRACE: &str = "siglum-trace-id";
/// The header that says that a stream is one of UI messages, and of which version.
const UI_STREAM: &str = "x-vercel-ai-ui-message-stream";
/// How often a stream says that it lives.
const ALIVE: Duration = Duration::from_secs(15);
/// What is said of the event that a turn's own span is of.
const TURN: &str = "turn";

/// In which form a run is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One result, when it ended.
    Result,
    /// Its events, as they happen.
    Events,
    /// The same as a UI message stream of the AI SDK.
    UiMessages,
}

impl Form {
    /// The form that a request asks for: `format`, else whether it accepts a stream.
    pub(crate) fn requested(query: &mut Query, headers: &HeaderMap) -> Result<Self, Problem> {
        let format = query.take("format")?;
        match format.as_deref() {
            Some("json") => Ok(Self::Result),
            Some("events") => Ok(Self::Events),
            Some("ui-messages") => Ok(Self::UiMessages),
            Some(_) => {
                let rule = "`json`, `events` or `ui-messages`";
                Err(Problem::invalid("format", rule))
            }
            None if accepts_events(headers) => Ok(Self::Events),
            None => Ok(Self::Result),
        }
    }
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let mut kinds = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    kinds.any(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("text/event-stream")
    })
}

/// The number of the event that a client had last.
pub(crate) fn last_event(headers: &HeaderMap) -> Result<u64, Problem> {
    let Some(text) = one(headers, "last-event-id")? else {
        return Ok(0);
    };
    let number = Some(text).filter(|t| t.len() <= 15);
    let number = number.and_then(|t| t.parse().ok());
    number.ok_or_else(|| Problem::invalid("last-event-id", "the id of an event of this stream"))
}

/// Answers with a run, in the form that was asked for, with its ids in the headers.
pub(crate) async fn answer(
    app: &App,
    running: &Running,
    ignored: Vec<IgnoredName>,
    form: Form,
    after: u64,
) -> Response {
    let mut response = match form {
        Form::Result => result(running, ignored).await,
        Form::Events => stream(app, running, Encoder::Events(ignored), after),
        // A page builds its message anew, from the beginning.
        Form::UiMessages => stream(app, running, Encoder::Ui(UiStream::new(ignored)), 0),
    };
    named(response.headers_mut(), running.started());
    response
}

/// One result, when the run ended.
async fn result(running: &Running, ignored: Vec<IgnoredName>) -> Response {
    let Some(finished) = running.finished().await else {
        // Another gateway runs it, and this one stops: whoever asks again is told by one that goes on.
        return Problem::stopping().into_response();
    };
    if let Some(problem) = unanswered(&finished) {
        return problem.into_response();
    }
    let body = RunResult {
        run: running.started().into(),
        agent: running.agent().to_string(),
        ignored,
        end: RunEnd::from(&finished),
    };
    Json(body).into_response()
}

/// A run that failed before it said anything is no answer, and one that is not committed is none that counts.
fn unanswered(finished: &Finished) -> Option<Problem> {
    let error = finished.error.as_ref();
    let error = error.filter(|_| finished.status == Status::Failed)?;
    match error.code {
        NOT_COMMITTED => Some(Problem::refused_turn(error.code, error.text.clone())),
        code if finished.text.is_empty() => Some(Problem::agent(code, error.text.clone())),
        _ => None,
    }
}

/// Says in the headers what the run is known by.
fn named(headers: &mut HeaderMap, started: &Started) {
    let parent = TraceParent {
        trace: started.trace,
        span: SpanId::of_event(started.session, started.turn, TURN),
        sampled: true,
    };
    let fields = [
        (CONVERSATION, started.conversation.to_string()),
        (SESSION, started.session.to_string()),
        (TRACE, started.trace.to_string()),
        ("traceparent", parent.to_string()),
    ];
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

fn stream(app: &App, running: &Running, encoder: Encoder, after: u64) -> Response {
    let is_ui = matches!(encoder, Encoder::Ui(_));
    let events = event_stream(EventStream {
        app: app.clone(),
        events: running.events(after),
        encoder,
        ready: VecDeque::new(),
        over: false,
    });
    let alive = KeepAlive::new().interval(ALIVE);
    let mut response = Sse::new(events).keep_alive(alive).into_response();
    // Proxies must not hold back what is told.
    let headers = response.headers_mut();
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    if is_ui {
        headers.insert(UI_STREAM, HeaderValue::from_static("v1"));
    }
    response
}

/// How events become text.
enum Encoder {
    /// Our own form; the names of the conversation that lost.
    Events(Vec<IgnoredName>),
    Ui(UiStream),
}

impl Encoder {
    fn encode(&mut self, next: Next) -> Vec<Event> {
        match self {
            Self::Events(ignored) => vec![own(next, ignored)],
            Self::Ui(ui) => {
                let chunks = match next {
                    Next::Event(event) => ui.chunks(&event.event),
                    Next::Cut(events) => ui.cut(events),
                };
                chunks.iter().map(data).collect()
            }
        }
    }

    /// What stands behind the last event.
    fn end(&self) -> Option<Event> {
        match self {
            Self::Events(_) => None,
            Self::Ui(_) => Some(Event::default().data("[DONE]")),
        }
    }
}

fn own(next: Next, ignored: &mut Vec<IgnoredName>) -> Event {
    let (id, mut run_event) = match next {
        Next::Event(event) => (Some(event.number), RunEvent::from(&*event.event)),
        Next::Cut(events) => (None, RunEvent::Cut { events }),
    };
    if let RunEvent::Started { ignored: names, .. } = &mut run_event {
        *names = std::mem::take(ignored);
    }
    let event = Event::default().event(run_event.name());
    let event = match id {
        Some(number) => event.id(number.to_string()),
        None => event,
    };
    event.json_data(&run_event).unwrap_or_default()
}

fn data(chunk: &Value) -> Event {
    Event::default().data(chunk.to_string())
}

struct EventStream {
    app: App,
    events: Events,
    encoder: Encoder,
    ready: VecDeque<Event>,
    over: bool,
}

fn event_stream(state: EventStream) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(state, |mut state| async {
        let event = state.next().await?;
        Some((Ok(event), state))
    })
}

impl EventStream {
    /// The next event; nothing behind the last one, or when the gateway stops: the client comes again.
    async fn next(&mut self) -> Option<Event> {
        let mut stopping = self.app.stopping();
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            let next = tokio::select! {
                biased;
                next = self.events.next() => next,
                _ = stopping.wait_for(|stop| *stop) => return None,
            };
            match next {
                Some(next) => self.ready.extend(self.encoder.encode(next)),
                None => {
                    self.over = true;
                    self.ready.extend(self.encoder.end());
                }
            }
        }
    }
}
