//! Hosts say what happens in a context.

use axum::Json;
use axum::extract::State;
use siglum_domain::SessionId;
use siglum_engine::Here;
use siglum_engine::context::{self, Bootstrap, Committed, Compact, Ingest};
use siglum_engine::turn::EVENTS_MOST;
use siglum_ledger::Ledger;

use super::may::may;
use crate::app::App;
use crate::body::Body;
use crate::caller::{Caller, Launcher};
use crate::openapi::Problems;
use crate::problem::Problem;
use crate::routes::traced::{InTrace, Traced};
use crate::routes::turns::Done;
use crate::wire::{
    AcceptGapAsked, AcceptedTold, AdvancedTold, AfterTurnAsked, BootstrapAsked, BootstrappedTold,
    CommitAsked, CompactAsked, IngestAsked, KeysAsked, MaintainedTold, PrepareSubagentAsked,
    ResolveAsked, ResolvedTold, SubagentEndedAsked,
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

/// Gives a run its two keys, and makes what is missing
///
/// The route key says where answers go and is never changed; the context key is what everything else is kept under. Without
/// `cause` the run gets the context that its route has, and both keys are equal until the route goes over to another one.
/// The same `run` of the same client asked for again is given the same.
#[utoipa::path(post, path = "/v1/contexts/resolve", tag = "contexts", operation_id = "resolve_context",
    security(("launcher" = [])),
    request_body = ResolveAsked,
    responses((status = 200, description = "The keys", body = ResolvedTold), Problems))]
pub(crate) async fn resolve(
    State(app): State<App>,
    Launcher(caller): Launcher,
    Body(asked): Body<ResolveAsked>,
) -> Result<Json<ResolvedTold>, Problem> {
    app.rates().creation(&caller)?;
    let ask = asked.checked(caller.by())?;
    let policy = app.policy().clone();
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        context::resolve(here, ledger, &policy, &ask)
    });
    let resolved = done.await??;
    if resolved.was == context::Was::Made {
        app.metrics().sessions.inc();
    }
    Ok(Json(ResolvedTold::from(&resolved)))
}

/// A run begins: what another one left open is settled, and what was not handed over is noted
#[utoipa::path(post, path = "/v1/contexts/bootstrap", tag = "contexts", operation_id = "bootstrap_context",
    security(("launcher" = []), ("session" = [])),
    request_body = BootstrapAsked,
    responses((status = 200, description = "How the context stands", body = BootstrappedTold), Problems))]
pub(crate) async fn bootstrap(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<BootstrapAsked>,
) -> Result<Json<BootstrappedTold>, Problem> {
    let keys = asked.keys();
    let ask = Bootstrap {
        last: asked.last_position,
    };
    let stands = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::bootstrap(here, ledger, &keys, by, &ask)
    });
    Ok(Json(BootstrappedTold::from(&stands.await?)))
}

/// Takes one message of a turn that is not over; nobody else sees it before the turn is committed
#[utoipa::path(post, path = "/v1/contexts/ingest", tag = "contexts", operation_id = "ingest_into_context",
    security(("launcher" = []), ("session" = [])),
    request_body = IngestAsked,
    responses((status = 200, description = "It is taken", body = Done), Problems))]
pub(crate) async fn ingest(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<IngestAsked>,
) -> Result<Json<Done>, Problem> {
    let keys = asked.keys();
    let place = usize::from(asked.place);
    if place >= EVENTS_MOST {
        return Err(Problem::invalid("place", "a whole number from 0 to 9999"));
    }
    let ask = Ingest {
        message: asked.message.checked().map_err(|p| p.within("message"))?,
        place,
        key: asked.advancement_key,
    };
    let taken = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::ingest(here, ledger, &keys, by, &ask)
    });
    taken.await?;
    Ok(Json(Done { done: true }))
}

fn advanced(app: &App, committed: &Committed) -> Json<AdvancedTold> {
    if matches!(committed, Committed::Done(_)) {
        app.metrics().turns.inc();
        app.sealed();
    }
    Json(AdvancedTold::from(committed))
}

/// Takes a turn that is over, once: the same one again is a duplicate, another one under its key a conflict
///
/// Where turns before it are missing in the host's own order nothing but the gap is stored, and the outcome is `behind`: the
/// missing ones are handed over by `backfill`, or the gap is accepted, and then it is committed.
#[utoipa::path(post, path = "/v1/contexts/commit", tag = "contexts", operation_id = "commit_to_context",
    security(("launcher" = []), ("session" = [])),
    params(InTrace),
    request_body = CommitAsked,
    responses((status = 200, description = "What became of it", body = AdvancedTold), Problems))]
pub(crate) async fn commit(
    State(app): State<App>,
    caller: Caller,
    traced: Traced,
    Body(asked): Body<CommitAsked>,
) -> Result<Json<AdvancedTold>, Problem> {
    let (keys, mut ask) = (asked.keys(), asked.checked()?);
    ask.traced = traced.0;
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::commit(here, ledger, &keys, by, &ask)
    });
    Ok(advanced(&app, &done.await?))
}

/// Takes a turn that stands in a gap: it is seen at its place
#[utoipa::path(post, path = "/v1/contexts/backfill", tag = "contexts", operation_id = "backfill_context",
    security(("launcher" = []), ("session" = [])),
    request_body = CommitAsked,
    responses((status = 200, description = "What became of it", body = AdvancedTold), Problems))]
pub(crate) async fn backfill(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<CommitAsked>,
) -> Result<Json<AdvancedTold>, Problem> {
    let (keys, ask) = (asked.keys(), asked.checked()?);
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::backfill(here, ledger, &keys, by, &ask)
    });
    Ok(advanced(&app, &done.await?))
}

/// A run is over: its route says how it ended
#[utoipa::path(post, path = "/v1/contexts/after-turn", tag = "contexts", operation_id = "after_turn_of_context",
    security(("launcher" = []), ("session" = [])),
    request_body = AfterTurnAsked,
    responses((status = 200, description = "It is noted", body = Done), Problems))]
pub(crate) async fn after_turn(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<AfterTurnAsked>,
) -> Result<Json<Done>, Problem> {
    let (keys, ran) = (asked.keys(), asked.ran());
    let noted = write(&app, &caller, keys.clone(), move |here, ledger, _| {
        context::after_turn(here, ledger, &keys, &ran)
    });
    noted.await?;
    Ok(Json(Done { done: true }))
}

/// Takes the host's summary of what was said so far, in this context and in no other
#[utoipa::path(post, path = "/v1/contexts/compact", tag = "contexts", operation_id = "compact_context",
    security(("launcher" = []), ("session" = [])),
    request_body = CompactAsked,
    responses((status = 200, description = "What became of it", body = AdvancedTold), Problems))]
pub(crate) async fn compact(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<CompactAsked>,
) -> Result<Json<AdvancedTold>, Problem> {
    let keys = asked.keys();
    let ask = Compact {
        trigger: asked.trigger()?,
        keep: u32::from(asked.keep),
        key: asked.advancement_key,
        summary: asked.summary,
    };
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::compact(here, ledger, &keys, by, &ask)
    });
    Ok(advanced(&app, &done.await?))
}

/// Looks after a context: what a host that died left open is settled
#[utoipa::path(post, path = "/v1/contexts/maintain", tag = "contexts", operation_id = "maintain_context",
    security(("launcher" = []), ("session" = [])),
    request_body = KeysAsked,
    responses((status = 200, description = "It is done", body = MaintainedTold), Problems))]
pub(crate) async fn maintain(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<KeysAsked>,
) -> Result<Json<MaintainedTold>, Problem> {
    let keys = asked.keys();
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::maintain(here, ledger, &keys, by)
    });
    Ok(Json(MaintainedTold::from(done.await?)))
}

/// Gives a sub-agent its keys before it starts
///
/// Its session comes to be with its first call: of one that never starts nothing stays, once that is said.
#[utoipa::path(post, path = "/v1/contexts/prepare-subagent", tag = "contexts", operation_id = "prepare_subagent",
    security(("launcher" = [])),
    request_body = PrepareSubagentAsked,
    responses((status = 200, description = "The keys of the sub-agent", body = ResolvedTold), Problems))]
pub(crate) async fn prepare_subagent(
    State(app): State<App>,
    Launcher(caller): Launcher,
    Body(asked): Body<PrepareSubagentAsked>,
) -> Result<Json<ResolvedTold>, Problem> {
    app.rates().creation(&caller)?;
    let (keys, ask) = (asked.keys(), asked.checked(caller.by())?);
    let prepared = write(&app, &caller, keys.clone(), move |here, ledger, _| {
        context::prepare_subagent(here, ledger, &keys, &ask)
    });
    Ok(Json(ResolvedTold::from(&prepared.await?)))
}

/// A sub-agent ended, or never started; the keys are its own
#[utoipa::path(post, path = "/v1/contexts/subagent-ended", tag = "contexts", operation_id = "subagent_ended",
    security(("launcher" = []), ("session" = [])),
    request_body = SubagentEndedAsked,
    responses((status = 200, description = "It is noted", body = Done), Problems))]
pub(crate) async fn subagent_ended(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<SubagentEndedAsked>,
) -> Result<Json<Done>, Problem> {
    let (keys, how) = (asked.keys(), asked.how());
    let noted = write(&app, &caller, keys.clone(), move |here, ledger, _| {
        context::subagent_ended(here, ledger, &keys, how)
    });
    noted.await?;
    Ok(Json(Done { done: true }))
}

/// Goes on without what is missing
#[utoipa::path(post, path = "/v1/contexts/accept-gap", tag = "contexts", operation_id = "accept_gap",
    security(("launcher" = []), ("session" = [])),
    request_body = AcceptGapAsked,
    responses((status = 200, description = "How many gaps those are", body = AcceptedTold), Problems))]
pub(crate) async fn accept_gap(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<AcceptGapAsked>,
) -> Result<Json<AcceptedTold>, Problem> {
    let (keys, until) = (asked.keys(), asked.until);
    let done = write(&app, &caller, keys.clone(), move |here, ledger, by| {
        context::accept_gap(here, ledger, &keys, by, until)
    });
    let accepted = done.await? as u64;
    Ok(Json(AcceptedTold { accepted }))
}
