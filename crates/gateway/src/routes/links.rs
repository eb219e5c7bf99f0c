//! What is attached to a session, and how it came to be.

use axum::Json;
use axum::extract::State;
use siglum_engine::links::Change;
use siglum_engine::remote;
use siglum_engine::turn::TurnError;
use siglum_ledger::read;

use super::path::{OfSession, Path};
use super::refusable::refusable;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::openapi::Problems;
use crate::problem::Problem;
use crate::wire::{Links, LinksTold};

/// Lists what is attached to a session, and everything that was ever attached or detached
#[utoipa::path(get, path = "/v1/sessions/{session}/links", tag = "links", operation_id = "list_links",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    responses((status = 200, description = "The links", body = LinksTold), Problems))]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<LinksTold>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| match tx.session(session)? {
            Some(_) => Ok(Some(LinksTold::of(&tx.statements_of_session(session)?))),
            None => Ok(None),
        })
    });
    let found = found.await??;
    found
        .map(Json)
        .ok_or_else(|| TurnError::NoSession(session).into())
}

/// Attaches links to a session; what is attached already stays
#[utoipa::path(post, path = "/v1/sessions/{session}/links", tag = "links", operation_id = "attach_links",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = Links,
    responses((status = 200, description = "The links", body = LinksTold), Problems))]
pub(crate) async fn attach(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(links): Body<Links>,
) -> Result<Json<LinksTold>, Problem> {
    change(&app, &caller, &path, &links, Change::Attach).await
}

/// Detaches links from a session; what is not attached stays so
#[utoipa::path(post, path = "/v1/sessions/{session}/links/detach", tag = "links", operation_id = "detach_links",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = Links,
    responses((status = 200, description = "The links", body = LinksTold), Problems))]
pub(crate) async fn detach(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(links): Body<Links>,
) -> Result<Json<LinksTold>, Problem> {
    change(&app, &caller, &path, &links, Change::Detach).await
}

async fn change(
    app: &App,
    caller: &Caller,
    path: &Path,
    links: &Links,
    change: Change,
) -> Result<Json<LinksTold>, Problem> {
    let session = path.session()?;
    caller.for_session(app, session)?;
    let (links, by) = (links.checked()?, caller.by());
    let changed = app.ledgers().write(&caller.tenant, move |here, ledger| {
        refusable(ledger, |tx| {
            remote::change_links(here, tx, session, &links, change, &by)?;
            Ok(LinksTold::of(&tx.statements_of_session(session)?))
        })
    });
    Ok(Json(changed.await??))
}
