//! What was said in a session: its log, its receipts, and a stream of what is sealed.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use siglum_engine::driven::turn::{self, TurnError};
use siglum_ledger::read;

#[cfg(test)]
use super::path::OfSession;
use super::path::Path;
use crate::admission;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::Query;
use crate::stream;
use crate::wire::{LogEntryList, Receipt, ReceiptList};

/// Rows of a page.
const PAGE: usize = 200;
const PAGE_MOST: usize = 1_000;
/// How often a stream says that it lives.
const ALIVE: Duration = Duration::from_secs(15);

/// List the events of a session's committed turns
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/events", tag = "log", operation_id = "listEvents",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("cursor" = Option<String>, Query, description = "Return events after this sequence number (`next` of the previous page)", pattern = r"^(0|[1-9][0-9]{0,14})$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 1000),
    ),
    responses((status = 200, description = "The entries", body = LogEntryList), Problems)))]
pub(crate) async fn read_log(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    query: Query,
) -> Result<Json<LogEntryList>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    let (after, limit) = part(query)?;
    admission::read(&app, &caller, session);
    let page = app.ledgers().read(&caller.tenant, move |_, ledger| {
        turn::committed(ledger, session, after, limit)
    });
    Ok(Json(LogEntryList::from_page(&page.await??, limit)))
}

/// List the receipts of a session
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/receipts", tag = "log", operation_id = "listReceipts",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("cursor" = Option<String>, Query, description = "Return receipts after this number (`next` of the previous page)", pattern = r"^(0|[1-9][0-9]{0,14})$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 1000),
    ),
    responses((status = 200, description = "The receipts, in order", body = ReceiptList), Problems)))]
pub(crate) async fn receipts(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    query: Query,
) -> Result<Json<ReceiptList>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    let (after, limit) = part(query)?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| match tx.session(session)? {
            Some(_) => tx.receipts_after(session, after, limit).map(Some),
            None => Ok(None),
        })
    });
    let found = found.await??.ok_or(TurnError::NoSession(session))?;
    let next = found.last().filter(|_| found.len() == limit);
    Ok(Json(ReceiptList {
        items: found.iter().map(Receipt::from).collect(),
        next: next.map(|receipt| receipt.number.to_string()),
    }))
}

/// Behind which one, and how many.
fn part(mut query: Query) -> Result<(u64, usize), Problem> {
    let after = query.numeric_cursor(0)?.unwrap_or(0);
    let limit = query.limit(PAGE, PAGE_MOST)?;
    query.end()?;
    Ok((after, limit))
}

/// Stream sealed receipts with their entries as server-sent events; an event's id is the receipt's number
///
/// A client that lost its connection resumes after `last-event-id`. Nothing is omitted or repeated.
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/stream", tag = "log", operation_id = "streamEvents",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("last-event-id" = Option<String>, Header, description = "Resume after this receipt", pattern = r"^[0-9]{1,15}$"),
    ),
    responses((status = 200, description = "The stream; the data of each event is a `SealedPosition`", body = String, content_type = "text/event-stream"), Problems)))]
pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    let after = last_id(&headers)?;
    let known = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| Ok(tx.session(session)?.is_some()))
    });
    if !known.await?? {
        return Err(TurnError::NoSession(session).into());
    }
    admission::read(&app, &caller, session);
    let events = stream::sealed(app, caller.tenant, session, after);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)))
}

fn last_id(headers: &HeaderMap) -> Result<u64, Problem> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(0);
    };
    let text = value.to_str().ok().filter(|t| t.len() <= 15);
    let number = text.and_then(|t| t.parse().ok());
    number.ok_or_else(|| Problem::invalid("last-event-id", "the id of an event of this stream"))
}
