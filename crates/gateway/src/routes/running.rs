//! Runs that go on: followed, cancelled; and what was said in those that ended.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use siglum_domain::fold::Entry;
use siglum_domain::observation::Fact;
use siglum_domain::{AgentName, SessionId};
use siglum_ledger::{LedgerError, SessionRecord, Transaction, read};

#[cfg(test)]
use super::path::OfConversation;
use super::path::Path;
use crate::addressed::{self, Address};
use crate::admission;
use crate::app::App;
use crate::caller::Caller;
use crate::messages::{Talk, plain, ui_messages};
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::Query;
use crate::run_answer::{Form, answer, last_event};
use crate::runner;
use crate::wire::{CancelledRun, MessageList};

/// Entries of the log that a page of messages is made of.
const PAGE: usize = 1_000;
const PAGE_MOST: usize = 10_000;

/// The session of a path, if it is there and the caller may act for it.
pub(super) async fn existing_session(
    app: &App,
    caller: &Caller,
    path: &Path,
    query: &mut Query,
) -> Result<SessionRecord, Problem> {
    let address = path.address()?;
    let found = maybe(app, caller, path, query).await?;
    found.ok_or_else(|| addressed::missing(&address))
}

/// The same, where a conversation of which nobody knows is one in which nothing was said yet: a page may have made up
/// its name a moment ago.
async fn maybe(
    app: &App,
    caller: &Caller,
    path: &Path,
    query: &mut Query,
) -> Result<Option<SessionRecord>, Problem> {
    let address = path.address()?;
    let rule = "1 to 64 of the characters a-z 0-9 -";
    let agent = query.named("agent", |text| AgentName::new(text).ok(), rule)?;
    let found = addressed::known(app, caller, address.clone(), agent).await?;
    match (found, caller.own()) {
        (Some(record), _) => {
            caller.for_session(app, record.id)?;
            Ok(Some(record))
        }
        (None, None) => match address {
            Address::Session(_) => Err(addressed::missing(&address)),
            Address::Conversation(_) => Ok(None),
        },
        // Whether it is there is nothing that a session's token is told of others.
        (None, Some(_)) => Err(Problem::forbidden(
            "a session token acts for its session only",
        )),
    }
}

/// Stream the active run of a session from its beginning; 204 if there is none
///
/// A page that was reloaded continues with it. With `events`, a client that lost its connection resumes after
/// `last-event-id`; with `ui-messages`, the stream starts over, because a page builds its message from the beginning.
/// Each gateway of a store streams it: one that does not run it sends the same events a moment later, and a text once it
/// is whole.
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/messages/stream", tag = "messages", operation_id = "streamMessages",
    security(("launcher" = []), ("session" = [])),
    params(
        OfConversation,
        ("agent" = Option<String>, Query, description = "Agent, if several have a conversation of this id", pattern = r"^[a-z0-9-]{1,64}$"),
        ("format" = Option<String>, Query, description = "`events` (default) or `ui-messages`", pattern = "^(events|ui-messages)$"),
        ("last-event-id" = Option<String>, Header, description = "Resume after this event", pattern = r"^[0-9]{1,15}$"),
    ),
    responses(
        (status = 200, description = "The stream; the data of each event is a `RunEvent`, or a chunk of a UI message stream", body = String, content_type = "text/event-stream"),
        (status = 204, description = "The session has no active run"),
        Problems)))]
pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    mut query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let form = match query.take("format")?.as_deref() {
        None | Some("events") => Form::Events,
        Some("ui-messages") => Form::UiMessages,
        Some(_) => return Err(Problem::invalid("format", "`events` or `ui-messages`")),
    };
    let after = last_event(&headers)?;
    let session = maybe(&app, &caller, &path, &mut query).await?;
    query.end()?;
    let running = match session {
        Some(session) => runner::running(&app, &caller.tenant, session.id).await?,
        None => None,
    };
    let Some(running) = running else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    admission::read(&app, &caller, running.session());
    Ok(answer(&app, &running, Vec::new(), form, after).await)
}

/// Cancel the active run of a session; its work so far is kept and marked as cancelled
///
/// A run whose agent is still starting ends without a turn; whoever requested it gets the problem `cancelled`. A run of
/// another gateway of the store ends within about a second.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/messages/cancel", tag = "messages", operation_id = "cancelRun",
    security(("launcher" = []), ("session" = [])),
    params(
        OfConversation,
        ("agent" = Option<String>, Query, description = "Agent, if several have a conversation of this id", pattern = r"^[a-z0-9-]{1,64}$"),
    ),
    responses((status = 200, description = "The run is being cancelled", body = CancelledRun), Problems)))]
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    mut query: Query,
) -> Result<Json<CancelledRun>, Problem> {
    let session = existing_session(&app, &caller, &path, &mut query).await?;
    query.end()?;
    let run = runner::cancel(&app, &caller.tenant, session.id, &caller.by()).await?;
    Ok(Json(CancelledRun {
        session: session.id.to_string(),
        run: run.as_ref().map(Into::into),
    }))
}

/// List the messages of a session's committed turns
///
/// The newest page comes first. A page consists of whole turns, unless one turn is longer than a page.
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/messages", tag = "messages", operation_id = "listMessages",
    security(("launcher" = []), ("session" = [])),
    params(
        OfConversation,
        ("agent" = Option<String>, Query, description = "Agent, if several have a conversation of this id", pattern = r"^[a-z0-9-]{1,64}$"),
        ("format" = Option<String>, Query, description = "`plain` (default): role and text; `ui-messages`: UI messages of the AI SDK with tool calls", pattern = "^(plain|ui-messages)$"),
        ("cursor" = Option<String>, Query, description = "Return messages after this one (`next` of the previous page)", pattern = r"^[1-9][0-9]{0,14}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of log entries that a page is made of", minimum = 1, maximum = 10000),
    ),
    responses((status = 200, description = "The messages, in order", body = MessageList), Problems)))]
pub(crate) async fn history(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    mut query: Query,
) -> Result<Json<MessageList>, Problem> {
    let ui = match query.take("format")?.as_deref() {
        None | Some("plain") => false,
        Some("ui-messages") => true,
        Some(_) => return Err(Problem::invalid("format", "`plain` or `ui-messages`")),
    };
    let before = query.numeric_cursor(1)?;
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let session = maybe(&app, &caller, &path, &mut query).await?;
    query.end()?;
    let Some(session) = session else {
        return Ok(Json(MessageList::default()));
    };
    admission::read(&app, &caller, session.id);
    let id = session.id;
    let entries = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| page(tx, id, before, limit))
    });
    let entries = entries.await??;
    let (entries, next) = whole_turns(&entries);
    let talk = Talk::from_entries(entries);
    let messages = match ui {
        true => ui_messages(&talk),
        false => plain(&talk)
            .iter()
            .map(|m| serde_json::to_value(m).unwrap_or(Value::Null))
            .collect(),
    };
    let running = runner::running_turn(&app, &caller.tenant, id).await?;
    Ok(Json(MessageList {
        items: messages,
        next: next.map(|position| position.to_string()),
        running: running.map(|turn| turn.to_string()),
    }))
}

/// The last entries of the sealed log before a place.
fn page(
    tx: &mut dyn Transaction,
    session: SessionId,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<Entry>, LedgerError> {
    let sealed = tx.session(session)?.map_or(0, |record| record.sealed);
    let last = before.map_or(sealed, |before| sealed.min(before - 1));
    let after = last.saturating_sub(limit as u64);
    match usize::try_from(last - after) {
        // No limit would mean all.
        Ok(0) | Err(_) => Ok(Vec::new()),
        Ok(most) => tx.entries(session, after, most),
    }
}

/// The entries from the first prompt on, if they do not begin at the beginning; and where the page before ends.
fn whole_turns(entries: &[Entry]) -> (&[Entry], Option<u64>) {
    let is_prompt = |entry: &Entry| matches!(entry.observation.fact, Fact::Prompt { .. });
    match entries.first() {
        None => (entries, None),
        Some(first) if first.sequence == 1 => (entries, None),
        Some(first) => {
            let begin = entries.iter().position(is_prompt).unwrap_or(0);
            let next = entries.get(begin).map_or(first.sequence, |e| e.sequence);
            (&entries[begin..], Some(next))
        }
    }
}
