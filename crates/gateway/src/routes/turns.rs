//! Driven turns: a lease, and what is said under it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use siglum_domain::SessionId;
use siglum_domain::observation::Observation;
use siglum_engine::driven::turn::{self, Committed, Event, Hold, Holder, Opened};
use siglum_platform::clock;

#[cfg(test)]
use super::path::OfSession;
use super::path::Path;
#[cfg(test)]
use super::trace_context::InTrace;
use super::trace_context::Traced;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::wire::{
    AcquireLease, CommittedTurn, HeldLease, Lease, OpenedTurn, Receipt, RenewLease, TurnEvents,
    observed, turn_key, without_secret,
};

const TERM_RULE: &str = "1000 to 3600000 milliseconds";

fn term(milliseconds: u64) -> Result<Duration, Problem> {
    match (1_000..=3_600_000).contains(&milliseconds) {
        true => Ok(Duration::from_millis(milliseconds)),
        false => Err(Problem::invalid("term_ms", TERM_RULE)),
    }
}

fn text(field: &str, text: &str) -> Result<String, Problem> {
    let length = text.chars().count();
    let fits = (1..=200).contains(&length) && !text.chars().any(char::is_control);
    if !fits {
        return Err(Problem::invalid(
            field,
            "1 to 200 characters, no control characters",
        ));
    }
    without_secret(field, text)?;
    Ok(text.to_owned())
}

/// The session of a path, if the caller may act for it.
pub(super) fn session_id(app: &App, caller: &Caller, path: &Path) -> Result<SessionId, Problem> {
    let session = path.session()?;
    caller.for_session(app, session)?;
    Ok(session)
}

/// Acquire the lease of a session and settle what the previous driver left open
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/lease", tag = "turns", operation_id = "acquireLease",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = AcquireLease,
    responses((status = 200, description = "The lease", body = Lease), Problems)))]
pub(crate) async fn lease(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(new): Body<AcquireLease>,
) -> Result<Json<Lease>, Problem> {
    let session = session_id(&app, &caller, &path)?;
    let holder = Holder {
        name: text("holder", &new.holder)?,
        nonce: text("nonce", &new.nonce)?,
        process: None,
    };
    let term = term(new.term_ms)?;
    let leased = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::lease(here, ledger, session, &holder, term)
    });
    let leased = leased.await??;
    app.sealed();
    Ok(Json(Lease::from(&leased)))
}

/// Renew a lease and get its epoch
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/lease/renew", tag = "turns", operation_id = "renewLease",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = RenewLease,
    responses((status = 200, description = "The lease", body = LeaseEpoch), Problems)))]
pub(crate) async fn renew(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(renewal): Body<RenewLease>,
) -> Result<Json<LeaseEpoch>, Problem> {
    let (session, term) = (session_id(&app, &caller, &path)?, term(renewal.term_ms)?);
    let epoch = renewal.epoch;
    let hold = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::renew(here, ledger, Hold { session, epoch }, term)
    });
    let epoch = hold.await??.epoch;
    Ok(Json(LeaseEpoch { epoch }))
}

/// The epoch of a lease.
#[derive(Debug, Clone, serde::Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct LeaseEpoch {
    /// Epoch to pass with each write.
    epoch: u64,
}

/// A confirmation without further data.
#[derive(Debug, Clone, serde::Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Acknowledgement {
    /// Always true.
    pub(super) done: bool,
}

/// Release a lease; a newer lease of another driver is kept
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/lease/release", tag = "turns", operation_id = "releaseLease",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = HeldLease,
    responses((status = 200, description = "The lease is released", body = Acknowledgement), Problems)))]
pub(crate) async fn release(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(held): Body<HeldLease>,
) -> Result<Json<Acknowledgement>, Problem> {
    let (session, epoch) = (session_id(&app, &caller, &path)?, held.epoch);
    let released = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::release(here, ledger, Hold { session, epoch })
    });
    released.await??;
    Ok(Json(Acknowledgement { done: true }))
}

/// What is said in a turn, checked.
struct Write {
    hold: Hold,
    head: u64,
    key: String,
    events: Vec<Observation>,
}

impl Write {
    fn new(
        app: &App,
        caller: &Caller,
        path: &Path,
        traced: Traced,
        request: &TurnEvents,
    ) -> Result<Self, Problem> {
        let session = session_id(app, caller, path)?;
        let (key, now) = (turn_key(path.text("turn_key")?)?, clock::now());
        let mut events = observed(&request.events, now)?;
        let traced = traced.0.map(|parent| Event::traced(&key, parent));
        events.extend(traced.map(|event| event.observed(now)));
        Ok(Self {
            hold: Hold {
                session,
                epoch: request.epoch,
            },
            head: request.expected_head,
            key,
            events,
        })
    }
}

/// Commit a turn with its appended events and these; repeating it returns the same receipt
///
/// In one transaction, the turn is added to the log, sealed, and queued for every projection.
#[cfg_attr(test, utoipa::path(put, path = "/v1/sessions/{session}/turns/{turn_key}", tag = "turns", operation_id = "commitTurn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("turn_key" = String, Path, description = "Turn key, chosen by the driver; the same on each retry", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
        InTrace,
    ),
    request_body = TurnEvents,
    responses((status = 200, description = "The turn is committed", body = CommittedTurn), Problems)))]
pub(crate) async fn commit(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    traced: Traced,
    Body(request): Body<TurnEvents>,
) -> Result<Json<CommittedTurn>, Problem> {
    let write = Write::new(&app, &caller, &path, traced, &request)?;
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::commit(
            here,
            ledger,
            write.hold,
            write.head,
            &write.key,
            &write.events,
        )
    });
    let Committed { receipt, already } = done.await??;
    if !already {
        app.metrics().turns.inc();
        app.sealed();
    }
    Ok(Json(CommittedTurn {
        receipt: Receipt::from(&receipt),
        already,
    }))
}

/// Get the receipt of a committed turn
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/turns/{turn_key}", tag = "turns", operation_id = "getTurnReceipt",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("turn_key" = String, Path, description = "Turn key, chosen by the driver", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
    ),
    responses((status = 200, description = "The receipt of the turn", body = Receipt), Problems)))]
pub(crate) async fn receipt(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<Receipt>, Problem> {
    let (session, key) = (
        session_id(&app, &caller, &path)?,
        turn_key(path.text("turn_key")?)?,
    );
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        turn::receipt(ledger, session, &key)
    });
    let found = found.await??;
    let found = found.as_ref().map(Receipt::from).map(Json);
    found.ok_or_else(|| Problem::not_found("no turn with this key is committed in this session"))
}

/// Open a turn, or continue the open turn of this key
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/turns/{turn_key}/open", tag = "turns", operation_id = "openTurn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("turn_key" = String, Path, description = "Turn key, chosen by the driver", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
        InTrace,
    ),
    request_body = TurnEvents,
    responses((status = 200, description = "The turn is open, or was already committed", body = OpenedTurn), Problems)))]
pub(crate) async fn open(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    traced: Traced,
    Body(request): Body<TurnEvents>,
) -> Result<Json<OpenedTurn>, Problem> {
    let write = Write::new(&app, &caller, &path, traced, &request)?;
    let opened = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::open(
            here,
            ledger,
            write.hold,
            write.head,
            &write.key,
            &write.events,
        )
    });
    Ok(Json(match opened.await?? {
        Opened::Turn(_) => OpenedTurn {
            open: true,
            receipt: None,
        },
        Opened::Committed(receipt) => OpenedTurn {
            open: false,
            receipt: Some(Receipt::from(&receipt)),
        },
    }))
}

/// Append events to the open turn, visible to its driver only
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/turns/{turn_key}/append", tag = "turns", operation_id = "appendToTurn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("turn_key" = String, Path, description = "Turn key, chosen by the driver", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
        InTrace,
    ),
    request_body = TurnEvents,
    responses((status = 200, description = "The events are appended", body = Acknowledgement), Problems)))]
pub(crate) async fn append(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    traced: Traced,
    Body(request): Body<TurnEvents>,
) -> Result<Json<Acknowledgement>, Problem> {
    let write = Write::new(&app, &caller, &path, traced, &request)?;
    let added = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::append(here, ledger, write.hold, &write.key, &write.events)
    });
    added.await??;
    Ok(Json(Acknowledgement { done: true }))
}

/// Abort the open turn and discard its events
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/turns/{turn_key}/abort", tag = "turns", operation_id = "abortTurn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("turn_key" = String, Path, description = "Turn key, chosen by the driver", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
    ),
    request_body = HeldLease,
    responses((status = 200, description = "The turn is aborted", body = Acknowledgement), Problems)))]
pub(crate) async fn abort(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(held): Body<HeldLease>,
) -> Result<Json<Acknowledgement>, Problem> {
    let (session, key) = (
        session_id(&app, &caller, &path)?,
        turn_key(path.text("turn_key")?)?,
    );
    let epoch = held.epoch;
    let dropped = app.ledgers().write(&caller.tenant, move |_, ledger| {
        turn::abort(ledger, Hold { session, epoch }, &key)
    });
    dropped.await??;
    Ok(Json(Acknowledgement { done: true }))
}
