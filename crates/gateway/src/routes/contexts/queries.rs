//! Hosts ask what a context holds, and people where it came from.

use axum::Json;
use axum::extract::State;
use siglum_domain::SessionId;
use siglum_domain::context::{Keys, RouteKey};
use siglum_engine::driven::context::{self, ContextError};
use siglum_engine::views::context::{
    ContextExplanationJson, ContextJson, RouteDetailJson, RouteListJson,
};
use siglum_ledger::{ContextRecord, Ledger};

use super::permission::may;
use crate::admission::Launcher;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::{CURSOR_RULE, Query};
#[cfg(test)]
use crate::routes::path::OfSession;
use crate::routes::path::Path;
#[cfg(test)]
use crate::shared_schemas::{Context, ContextExplanation, RouteDetail, RouteList};
use crate::wire::{AssembleContext, AssembledContext, ContextLineage, GapList};

/// Rows of a page.
const PAGE: usize = 20;
const PAGE_MOST: usize = 100;
const KEY_RULE: &str = "1 to 512 of the characters A-Z a-z 0-9 . _ : / @ # + -";

/// Does something that only reads, for the caller of a context.
async fn read<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    keys: Keys,
    mut work: impl FnMut(&mut dyn Ledger, &Keys) -> Result<T, ContextError> + Send + 'static,
) -> Result<T, Problem> {
    let own: Option<SessionId> = caller.own();
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        may(ledger, own, &keys)?;
        work(ledger, &keys).map_err(Problem::from)
    });
    found.await?
}

fn route_key(query: &mut Query) -> Result<RouteKey, Problem> {
    let key = query.named("route_key", |text| RouteKey::new(text).ok(), KEY_RULE)?;
    key.ok_or_else(|| Problem::invalid("route_key", "is required"))
}

/// Reads something of the context that the session of a path keeps.
async fn read_kept<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    path: &Path,
    mut work: impl FnMut(&mut dyn Ledger, &ContextRecord) -> Result<T, ContextError> + Send + 'static,
) -> Result<T, Problem> {
    let session = path.session()?;
    caller.for_session(app, session)?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        let kept = siglum_ledger::read(ledger, |tx| tx.context_of_session(session))?;
        let missing = || Problem::not_found(format!("no context is kept in session {session}"));
        let kept = kept.ok_or_else(missing)?;
        work(ledger, &kept).map_err(Problem::from)
    });
    found.await?
}

/// Both keys of a context.
fn keys(context: &ContextRecord) -> Keys {
    Keys {
        route: context.route.clone(),
        context: context.key.clone(),
    }
}

/// Assemble the messages that a run reads: the newest ones that fit its budget
///
/// Refused with the code `gap` if turns are known to be missing, unless the caller accepts that. `coverage` says
/// whether the current turn is among the messages. Each call is recorded in the audit log, because it reads the
/// conversation's history.
#[cfg_attr(test, utoipa::path(post, path = "/v1/contexts/assemble", tag = "contexts", operation_id = "assembleContext",
    security(("launcher" = []), ("session" = [])),
    request_body = AssembleContext,
    responses((status = 200, description = "The messages", body = AssembledContext), Problems)))]
pub(crate) async fn assemble(
    State(app): State<App>,
    caller: Caller,
    Body(request): Body<AssembleContext>,
) -> Result<Json<AssembledContext>, Problem> {
    let (keys, ask) = (request.keys(), request.checked()?);
    let done = read(&app, &caller, keys, move |ledger, keys| {
        let assembled = context::assemble(ledger, keys, &ask)?;
        let of = siglum_ledger::read(ledger, |tx| tx.context(&keys.context))?;
        Ok((assembled, of.map(|context| context.session)))
    });
    let (assembled, session) = done.await?;
    if let Some(session) = session {
        crate::admission::read(&app, &caller, session);
    }
    Ok(Json(AssembledContext::from(&assembled)))
}

/// Get the context that a session keeps
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/context", tag = "contexts", operation_id = "getContext",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    responses((status = 200, description = "The context", body = Context), Problems)))]
pub(crate) async fn context(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<ContextJson>, Problem> {
    let found = read_kept(&app, &caller, &path, |_, kept| Ok(kept.clone()));
    Ok(Json(ContextJson::from(&found.await?)))
}

/// List the gaps of a context, including those filled or accepted since
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/context/gaps", tag = "contexts", operation_id = "listContextGaps",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("cursor" = Option<String>, Query, description = "Return gaps that start after this position (`next` of the previous page)", pattern = r"^(0|[1-9][0-9]{0,14})$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 100),
    ),
    responses((status = 200, description = "The gaps", body = GapList), Problems)))]
pub(crate) async fn gaps(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    mut query: Query,
) -> Result<Json<GapList>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let after = query.numeric_cursor(0)?;
    query.end()?;
    let found = read_kept(&app, &caller, &path, |ledger, kept| {
        context::gaps(ledger, &keys(kept))
    });
    let mut gaps = found.await?;
    gaps.retain(|gap| after.is_none_or(|after| gap.first > after));
    Ok(Json(GapList::from_page(&gaps, limit)))
}

/// Get the ancestors and descendants of a context
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/context/lineage", tag = "contexts", operation_id = "getContextLineage",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    responses((status = 200, description = "The lineage", body = ContextLineage), Problems)))]
pub(crate) async fn lineage(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<ContextLineage>, Problem> {
    let found = read_kept(&app, &caller, &path, |ledger, kept| {
        context::lineage(ledger, &keys(kept))
    });
    Ok(Json(ContextLineage::from(&found.await?)))
}

/// Explain why a run of a context sees these messages
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/context/explanation", tag = "contexts", operation_id = "getContextExplanation",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    responses((status = 200, description = "The visible messages, with the reasons", body = ContextExplanation), Problems)))]
pub(crate) async fn explain(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<ContextExplanationJson>, Problem> {
    let found = read_kept(&app, &caller, &path, |ledger, kept| {
        context::explain(ledger, &keys(kept))
    });
    Ok(Json(ContextExplanationJson::from(&found.await?)))
}

/// List routes by key
#[cfg_attr(test, utoipa::path(get, path = "/v1/routes", tag = "contexts", operation_id = "listRoutes",
    security(("launcher" = [])),
    params(
        ("cursor" = Option<String>, Query, description = "Return routes after this one (`next` of the previous page)", pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 100),
    ),
    responses((status = 200, description = "The routes", body = RouteList), Problems)))]
pub(crate) async fn routes(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<RouteListJson>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let after = query.named("cursor", |text| RouteKey::new(text).ok(), CURSOR_RULE)?;
    query.end()?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        context::routes(ledger, after.as_ref(), limit + 1)
    });
    Ok(Json(RouteListJson::from_page(&found.await??, limit)))
}

/// Get a route: last activity, how its last run ended, its latest contexts
#[cfg_attr(test, utoipa::path(get, path = "/v1/route", tag = "contexts", operation_id = "getRoute",
    security(("launcher" = [])),
    params(
        ("route_key" = String, Query, description = "Route key: where answers are delivered", pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"),
    ),
    responses((status = 200, description = "The route", body = RouteDetail), Problems)))]
pub(crate) async fn route(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<RouteDetailJson>, Problem> {
    let key = route_key(&mut query)?;
    query.end()?;
    let shown = app.ledgers().read(&caller.tenant, move |_, ledger| {
        context::route(ledger, &key)
    });
    Ok(Json(RouteDetailJson::from(&shown.await??)))
}
