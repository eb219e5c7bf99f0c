//! Hosts say what happens in a context.

use axum::Json;
use axum::extract::State;
use siglum_domain::SessionId;
use siglum_engine::Here;
use siglum_engine::driven::context::{self, Bootstrap, Committed, Compact, Ingest};
use siglum_engine::driven::turn::EVENTS_MOST;
use siglum_ledger::Ledger;

use super::permission::may;
use crate::admission::Launcher;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
#[cfg(test)]
use crate::routes::trace_context::InTrace;
use crate::routes::trace_context::Traced;
use crate::routes::turns::Acknowledgement;
use crate::wire::{
    AcceptGap, AcceptedGaps, AfterTurn, BootstrapContext, BootstrappedContext, CommitContextTurn,
    CompactContext, ContextCommit, ContextKeys, EndSubagent, IngestMessage, MaintenanceReport,
    PrepareSubagent, ResolveContext, ResolvedContext, without_secret,
};

/// Does something that writes, for the caller of a context.
async fn write<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    keys: siglum_domain::context::Keys,
    mut work: impl FnMut(&Here<'_>, &mut dyn Ledger, &str) -> Result<T, context::ContextError>
    + Send
    + 'static,
) -> Result<T, Problem> {
    let (own, by): (Option<SessionId>, String) = (caller.own(), caller.by());
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        may(ledger, own, &keys)?;
        work(here, ledger, &by).map_err(Problem::from)
    });
    done.await?
}

/// Resolve the route key and context key of a run, creating what is missing
///
/// The route key is where answers are delivered and never changes; the context key is what everything else is stored
/// under. Without `cause`, the run gets the current context of its route, and both keys are equal until the route
/// switches to another context. A repeated request with the same `run` and the same client gets the same keys.
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/resolve", tag = "contexts", operation_id = "resolveContext",
    security(("launcher" = [])),
    request_body = ResolveContext,
    responses((status = 200, description = "The keys", body = ResolvedContext), Problems)))]
pub(crate) async fn resolve(
    State(app): State<App>,
    Launcher(caller): Launcher,
    Body(request): Body<ResolveContext>,
) -> Result<Json<ResolvedContext>, Problem> {
    app.rates().creation(&caller)?;
    let ask = request.checked(caller.by())?;
    let policy = app.policy().clone();
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        context::resolve(here, ledger, &policy, &ask)
    });
    let resolved = done.await??;
    if resolved.was == context::Was::Made {
        app.metrics().sessions.inc();
    }
    Ok(Json(ResolvedContext::from(&resolved)))
}

/// Start a run: settle what an earlier run left open, and record gaps
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/bootstrap", tag = "contexts", operation_id = "bootstrapContext",
    security(("launcher" = []), ("session" = [])),
    request_body = BootstrapContext,
    responses((status = 200, description = "The state of the context", body = BootstrappedContext), Problems)))]
pub(crate) async fn bootstrap(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<BootstrapContext>,
) -> Result<Json<BootstrappedContext>, Problem> {
    let keys = request.keys();
    let ask = Bootstrap {
        last: request.last_position,
    };
    let stands = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::bootstrap(here, ledger, &keys, by, &ask)
    });
    Ok(Json(BootstrappedContext::from(&stands.await?)))
}

/// Add a message to an open turn, invisible to others until the turn is committed
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/ingest", tag = "contexts", operation_id = "ingestContextMessage",
    security(("launcher" = []), ("session" = [])),
    request_body = IngestMessage,
    responses((status = 200, description = "The message is added", body = Acknowledgement), Problems)))]
pub(crate) async fn ingest(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<IngestMessage>,
) -> Result<Json<Acknowledgement>, Problem> {
    let keys = request.keys();
    without_secret("turn_key", request.turn_key.as_str())?;
    let place = usize::from(request.index);
    if place >= EVENTS_MOST {
        return Err(Problem::invalid("index", "a whole number from 0 to 9999"));
    }
    let ask = Ingest {
        message: request.message.checked().map_err(|p| p.within("message"))?,
        place,
        key: request.turn_key,
    };
    let taken = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::ingest(here, ledger, &keys, by, &ask)
    });
    taken.await?;
    Ok(Json(Acknowledgement { done: true }))
}

fn advanced(app: &App, committed: &Committed) -> Json<ContextCommit> {
    if matches!(committed, Committed::Done(_)) {
        app.metrics().turns.inc();
        app.sealed();
    }
    Json(ContextCommit::from(committed))
}

/// Commit a finished turn once: a repeat is a duplicate, other content under its key a conflict
///
/// If earlier turns are missing in the host's order, only the gap is stored, and the outcome is `behind`: fill the gap
/// with `backfill` or accept it, then commit the turn again.
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/commit", tag = "contexts", operation_id = "commitContextTurn",
    security(("launcher" = []), ("session" = [])),
    params(InTrace),
    request_body = CommitContextTurn,
    responses((status = 200, description = "The outcome", body = ContextCommit), Problems)))]
pub(crate) async fn commit(
    State(app): State<App>,
    caller: Caller,
    traced: Traced,
    Body(request): Body<CommitContextTurn>,
) -> Result<Json<ContextCommit>, Problem> {
    let (keys, mut ask) = (request.keys(), request.checked()?);
    ask.traced = traced.0;
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::commit(here, ledger, &keys, by, &ask)
    });
    Ok(advanced(&app, &done.await?))
}

/// Backfill a missing turn at its place in the context
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/backfill", tag = "contexts", operation_id = "backfillContext",
    security(("launcher" = []), ("session" = [])),
    request_body = CommitContextTurn,
    responses((status = 200, description = "The outcome", body = ContextCommit), Problems)))]
pub(crate) async fn backfill(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<CommitContextTurn>,
) -> Result<Json<ContextCommit>, Problem> {
    let (keys, ask) = (request.keys(), request.checked()?);
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::backfill(here, ledger, &keys, by, &ask)
    });
    Ok(advanced(&app, &done.await?))
}

/// Record how a run ended on its route
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/after-turn", tag = "contexts", operation_id = "recordAfterTurn",
    security(("launcher" = []), ("session" = [])),
    request_body = AfterTurn,
    responses((status = 200, description = "It is recorded", body = Acknowledgement), Problems)))]
pub(crate) async fn after_turn(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<AfterTurn>,
) -> Result<Json<Acknowledgement>, Problem> {
    let (keys, ran) = (request.keys(), request.ran());
    let noted = write(&app, &caller, keys.clone(), move |here, ledger, _| {
        context::after_turn(here, ledger, &keys, &ran)
    });
    noted.await?;
    Ok(Json(Acknowledgement { done: true }))
}

/// Compact a context: replace its messages so far by the host's summary
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/compact", tag = "contexts", operation_id = "compactContext",
    security(("launcher" = []), ("session" = [])),
    request_body = CompactContext,
    responses((status = 200, description = "The outcome", body = ContextCommit), Problems)))]
pub(crate) async fn compact(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<CompactContext>,
) -> Result<Json<ContextCommit>, Problem> {
    let keys = request.keys();
    without_secret("turn_key", request.turn_key.as_str())?;
    let ask = Compact {
        trigger: request.trigger()?,
        keep: u32::from(request.keep),
        key: request.turn_key,
        summary: request.summary,
    };
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::compact(here, ledger, &keys, by, &ask)
    });
    Ok(advanced(&app, &done.await?))
}

/// Maintain a context: settle what a crashed host left open
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/maintain", tag = "contexts", operation_id = "maintainContext",
    security(("launcher" = []), ("session" = [])),
    request_body = ContextKeys,
    responses((status = 200, description = "The result of the maintenance", body = MaintenanceReport), Problems)))]
pub(crate) async fn maintain(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<ContextKeys>,
) -> Result<Json<MaintenanceReport>, Problem> {
    let keys = request.keys();
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::maintain(here, ledger, &keys, by)
    });
    Ok(Json(MaintenanceReport::from(done.await?)))
}

/// Reserve the keys of a sub-agent before it starts
///
/// Its session is created by its first call. A sub-agent that never starts leaves nothing behind, once that is
/// reported.
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/prepare-subagent", tag = "contexts", operation_id = "prepareSubagent",
    security(("launcher" = [])),
    request_body = PrepareSubagent,
    responses((status = 200, description = "The keys of the sub-agent", body = ResolvedContext), Problems)))]
pub(crate) async fn prepare_subagent(
    State(app): State<App>,
    Launcher(caller): Launcher,
    Body(request): Body<PrepareSubagent>,
) -> Result<Json<ResolvedContext>, Problem> {
    app.rates().creation(&caller)?;
    let (keys, ask) = (request.keys(), request.checked(caller.by())?);
    let prepared = write(&app, &caller, keys.clone(), move |here, ledger, _| {
        context::prepare_subagent(here, ledger, &keys, &ask)
    });
    Ok(Json(ResolvedContext::from(&prepared.await?)))
}

/// Record that a sub-agent ended or never started
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/subagent-ended", tag = "contexts", operation_id = "endSubagent",
    security(("launcher" = []), ("session" = [])),
    request_body = EndSubagent,
    responses((status = 200, description = "It is recorded", body = Acknowledgement), Problems)))]
pub(crate) async fn subagent_ended(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<EndSubagent>,
) -> Result<Json<Acknowledgement>, Problem> {
    let (keys, how) = (request.keys(), request.how());
    let noted = write(&app, &caller, keys.clone(), move |here, ledger, _| {
        context::subagent_ended(here, ledger, &keys, how)
    });
    noted.await?;
    Ok(Json(Acknowledgement { done: true }))
}

/// Accept the gaps of a context and continue without the missing turns
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/accept-gap", tag = "contexts", operation_id = "acceptContextGap",
    security(("launcher" = []), ("session" = [])),
    request_body = AcceptGap,
    responses((status = 200, description = "The number of accepted gaps", body = AcceptedGaps), Problems)))]
pub(crate) async fn accept_gap(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<AcceptGap>,
) -> Result<Json<AcceptedGaps>, Problem> {
    let (keys, until) = (request.keys(), request.until);
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::accept_gap(here, ledger, &keys, by, until)
    });
    let accepted = done.await? as u64;
    Ok(Json(AcceptedGaps { accepted }))
}
