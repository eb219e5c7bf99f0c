//! What is attached to a session, and how it came to be.

use axum::Json;
use axum::extract::State;
use siglum_domain::SessionId;
use siglum_domain::link::Link;
use siglum_engine::remote;
use siglum_engine::turn::TurnError;
use siglum_ledger::{Transaction, read};

use super::path::Path;
use super::sessions::refusable;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::openapi::Problems;
use crate::problem::Problem;
use crate::wire::{Links, LinksTold};

/// Lists what is attached to a session, and everything that was ever attached or detached
#[utoipa::path(get, path = "/v1/sessions/{session}/links", tag = "links", operation_id = "list_links",
    security(("launcher" = []), ("session" = [])),
    params(("session" = String, Path, description = "The session", pattern = r"^ses_[0-9a-f]{32}$")),
    responses((status = 200, description = "The links", body = LinksTold), Problems))]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<LinksTold>, Problem> {
    let session = path.session()?;
    caller.for_session(session)?;
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
    params(("session" = String, Path, description = "The session", pattern = r"^ses_[0-9a-f]{32}$")),
    request_body = Links,
    responses((status = 200, description = "The links", body = LinksTold), Problems))]
pub(crate) async fn attach(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(links): Body<Links>,
) -> Result<Json<LinksTold>, Problem> {
    change(&app, &caller, &path, &links, true).await
}

/// Detaches links from a session; what is not attached stays so
#[utoipa::path(post, path = "/v1/sessions/{session}/links/detach", tag = "links", operation_id = "detach_links",
    security(("launcher" = []), ("session" = [])),
    params(("session" = String, Path, description = "The session", pattern = r"^ses_[0-9a-f]{32}$")),
    request_body = Links,
    responses((status = 200, description = "The links", body = LinksTold), Problems))]
pub(crate) async fn detach(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(links): Body<Links>,
) -> Result<Json<LinksTold>, Problem> {
    change(&app, &caller, &path, &links, false).await
}

async fn change(
    app: &App,
    caller: &Caller,
    path: &Path,
    links: &Links,
    attaches: bool,
) -> Result<Json<LinksTold>, Problem> {
    let session = path.session()?;
    caller.for_session(session)?;
    let (links, by) = (links.checked()?, caller.by());
    let changed = app.ledgers().write(&caller.tenant, move |here, ledger| {
        refusable(ledger, |tx| {
            changed(tx, session, &links, &by, here.now(), attaches)
        })
    });
    Ok(Json(changed.await??))
}

fn changed(
    tx: &mut dyn Transaction,
    session: SessionId,
    links: &[Link],
    by: &str,
    at: siglum_domain::Timestamp,
    attaches: bool,
) -> Result<LinksTold, Problem> {
    if tx.session(session)?.is_none() {
        return Err(TurnError::NoSession(session).into());
    }
    match attaches {
        true => remote::attach(tx, session, links, by, "api", at).map(drop)?,
        false => remote::detach(tx, session, links, by, "api", at).map(drop)?,
    }
    Ok(LinksTold::of(&tx.statements_of_session(session)?))
}
