//! Driven turns: a lease, and what is said under it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use siglum_domain::SessionId;
use siglum_domain::observation::Observation;
use siglum_engine::turn::{self, Committed, Event, Hold, Holder, Opened};
use siglum_platform::clock;

use super::path::{OfSession, Path};
use super::traced::{InTrace, Traced};
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::openapi::Problems;
use crate::problem::Problem;
use crate::wire::{
    CommittedTold, Held, LeaseTold, NewLease, OpenTold, ReceiptTold, Renewal, Said, observed,
    turn_key,
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
    match fits {
        true => Ok(text.to_owned()),
        false => Err(Problem::invalid(
            field,
            "1 to 200 characters, no control characters",
        )),
    }
}

/// The session of a path, if the caller may act for it.
fn of(app: &App, caller: &Caller, path: &Path) -> Result<SessionId, Problem> {
    let session = path.session()?;
    caller.for_session(app, session)?;
    Ok(session)
}

/// Takes the lease of a session, and settles what the driver before left
#[utoipa::path(post, path = "/v1/sessions/{session}/lease", tag = "turns", operation_id = "take_lease",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = NewLease,
    responses((status = 200, description = "The lease", body = LeaseTold), Problems))]
pub(crate) async fn lease(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(new): Body<NewLease>,
) -> Result<Json<LeaseTold>, Problem> {
    let session = of(&app, &caller, &path)?;
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
    Ok(Json(LeaseTold::from(&leased)))
}

/// Prolongs a lease; gives the epoch to go on with
#[utoipa::path(post, path = "/v1/sessions/{session}/lease/renew", tag = "turns", operation_id = "renew_lease",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = Renewal,
    responses((status = 200, description = "The lease", body = Epoch), Problems))]
pub(crate) async fn renew(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(renewal): Body<Renewal>,
) -> Result<Json<Epoch>, Problem> {
    let (session, term) = (of(&app, &caller, &path)?, term(renewal.term_ms)?);
    let epoch = renewal.epoch;
    let hold = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::renew(here, ledger, Hold { session, epoch }, term)
    });
    let epoch = hold.await??.epoch;
    Ok(Json(Epoch { epoch }))
}

/// The epoch of a lease.
#[derive(Debug, Clone, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct Epoch {
    /// To be given with each write.
    epoch: u64,
}

/// What was done has no more to say.
#[derive(Debug, Clone, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct Done {
    /// Always true.
    pub(super) done: bool,
}

/// Gives a lease back; one that somebody else took since stays
#[utoipa::path(post, path = "/v1/sessions/{session}/lease/release", tag = "turns", operation_id = "release_lease",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = Held,
    responses((status = 200, description = "It is given back", body = Done), Problems))]
pub(crate) async fn release(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(held): Body<Held>,
) -> Result<Json<Done>, Problem> {
    let (session, epoch) = (of(&app, &caller, &path)?, held.epoch);
    let released = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::release(here, ledger, Hold { session, epoch })
    });
    released.await??;
    Ok(Json(Done { done: true }))
}

/// What is said in a turn, checked.
struct Write {
    hold: Hold,
    head: u64,
    key: String,
    said: Vec<Observation>,
}

impl Write {
    fn of(
        app: &App,
        caller: &Caller,
        path: &Path,
        traced: Traced,
        said: &Said,
    ) -> Result<Self, Problem> {
        let session = of(app, caller, path)?;
        let (key, now) = (turn_key(path.text("key")?)?, clock::now());
        let mut events = observed(&said.events, now)?;
        let traced = traced.0.map(|parent| Event::traced(&key, parent));
        events.extend(traced.map(|event| event.observed(now)));
        Ok(Self {
            hold: Hold {
                session,
                epoch: said.epoch,
            },
            head: said.expected_head,
            key,
            said: events,
        })
    }
}

/// Commits a turn: what was said in it before, if it is open, and these events. The same key with the same events again
/// gives the same receipt
///
/// In one transaction the turn comes into the log, is sealed, and is due at every projection.
#[utoipa::path(put, path = "/v1/sessions/{session}/turns/{key}", tag = "turns", operation_id = "commit_turn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("key" = String, Path, description = "What the driver calls the turn: the same on each try", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
        InTrace,
    ),
    request_body = Said,
    responses((status = 200, description = "It is committed", body = CommittedTold), Problems))]
pub(crate) async fn commit(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    traced: Traced,
    Body(said): Body<Said>,
) -> Result<Json<CommittedTold>, Problem> {
    let write = Write::of(&app, &caller, &path, traced, &said)?;
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::commit(
            here,
            ledger,
            write.hold,
            write.head,
            &write.key,
            &write.said,
        )
    });
    let Committed { receipt, already } = done.await??;
    if !already {
        app.metrics().turns.inc();
        app.sealed();
    }
    Ok(Json(CommittedTold {
        receipt: ReceiptTold::from(&receipt),
        already,
    }))
}

/// Shows the receipt of a turn, if it was committed
#[utoipa::path(get, path = "/v1/sessions/{session}/turns/{key}", tag = "turns", operation_id = "show_turn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("key" = String, Path, description = "What its driver calls the turn", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
    ),
    responses((status = 200, description = "Its receipt", body = ReceiptTold), Problems))]
pub(crate) async fn receipt(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<ReceiptTold>, Problem> {
    let (session, key) = (of(&app, &caller, &path)?, turn_key(path.text("key")?)?);
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        turn::receipt(ledger, session, &key)
    });
    let found = found.await??;
    let found = found.as_ref().map(ReceiptTold::from).map(Json);
    found.ok_or_else(|| Problem::not_found("no turn of this key is committed in this session"))
}

/// Opens a turn, or goes on with the one of this key that is open
#[utoipa::path(post, path = "/v1/sessions/{session}/turns/{key}/open", tag = "turns", operation_id = "open_turn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("key" = String, Path, description = "What the driver calls the turn", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
        InTrace,
    ),
    request_body = Said,
    responses((status = 200, description = "It is open, or was committed before", body = OpenTold), Problems))]
pub(crate) async fn open(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    traced: Traced,
    Body(said): Body<Said>,
) -> Result<Json<OpenTold>, Problem> {
    let write = Write::of(&app, &caller, &path, traced, &said)?;
    let opened = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::open(
            here,
            ledger,
            write.hold,
            write.head,
            &write.key,
            &write.said,
        )
    });
    Ok(Json(match opened.await?? {
        Opened::Turn(_) => OpenTold {
            open: true,
            receipt: None,
        },
        Opened::Committed(receipt) => OpenTold {
            open: false,
            receipt: Some(ReceiptTold::from(&receipt)),
        },
    }))
}

/// Adds to the turn that is open; nobody but its driver sees it yet
#[utoipa::path(post, path = "/v1/sessions/{session}/turns/{key}/append", tag = "turns", operation_id = "append_to_turn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("key" = String, Path, description = "What the driver calls the turn", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
        InTrace,
    ),
    request_body = Said,
    responses((status = 200, description = "It is added", body = Done), Problems))]
pub(crate) async fn append(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    traced: Traced,
    Body(said): Body<Said>,
) -> Result<Json<Done>, Problem> {
    let write = Write::of(&app, &caller, &path, traced, &said)?;
    let added = app.ledgers().write(&caller.tenant, move |here, ledger| {
        turn::append(here, ledger, write.hold, &write.key, &write.said)
    });
    added.await??;
    Ok(Json(Done { done: true }))
}

/// Drops the turn that is open, with all that was said in it
#[utoipa::path(post, path = "/v1/sessions/{session}/turns/{key}/abort", tag = "turns", operation_id = "abort_turn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("key" = String, Path, description = "What the driver calls the turn", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
    ),
    request_body = Held,
    responses((status = 200, description = "It is dropped", body = Done), Problems))]
pub(crate) async fn abort(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(held): Body<Held>,
) -> Result<Json<Done>, Problem> {
    let (session, key) = (of(&app, &caller, &path)?, turn_key(path.text("key")?)?);
    let epoch = held.epoch;
    let dropped = app.ledgers().write(&caller.tenant, move |_, ledger| {
        turn::abort(ledger, Hold { session, epoch }, &key)
    });
    dropped.await??;
    Ok(Json(Done { done: true }))
}
