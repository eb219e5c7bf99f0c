//! What is attached to a session, and how it came to be.

use axum::Json;
use axum::extract::State;
use siglum_engine::driven::remote;
use siglum_engine::driven::turn::TurnError;
use siglum_engine::identity::links::Change;
use siglum_ledger::read;

#[cfg(test)]
use super::path::OfSession;
use super::path::Path;
use super::transaction::refusable;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::wire::{LinkInput, SessionLinks};

/// List the links of a session and the history of their changes
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/links", tag = "links", operation_id = "getLinks",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    responses((status = 200, description = "The links", body = SessionLinks), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    path: Path,
) -> Result<Json<SessionLinks>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| match tx.session(session)? {
            Some(_) => Ok(Some(SessionLinks::from_records(
                &tx.statements_of_session(session)?,
            ))),
            None => Ok(None),
        })
    });
    let found = found.await??;
    found
        .map(Json)
        .ok_or_else(|| TurnError::NoSession(session).into())
}

/// Attach links to a session; existing links stay
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/links", tag = "links", operation_id = "attachLinks",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = LinkInput,
    responses((status = 200, description = "The links", body = SessionLinks), Problems)))]
pub(crate) async fn attach(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(links): Body<LinkInput>,
) -> Result<Json<SessionLinks>, Problem> {
    change(&app, &caller, &path, &links, Change::Attach).await
}

/// Detach links from a session; links that are not attached are ignored
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/links/detach", tag = "links", operation_id = "detachLinks",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = LinkInput,
    responses((status = 200, description = "The links", body = SessionLinks), Problems)))]
pub(crate) async fn detach(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(links): Body<LinkInput>,
) -> Result<Json<SessionLinks>, Problem> {
    change(&app, &caller, &path, &links, Change::Detach).await
}

async fn change(
    app: &App,
    caller: &Caller,
    path: &Path,
    links: &LinkInput,
    change: Change,
) -> Result<Json<SessionLinks>, Problem> {
    let session = path.session()?;
    caller.for_session(app, session)?;
    let (links, by) = (links.checked()?, caller.by());
    let changed = app.ledgers().write(&caller.tenant, move |here, ledger| {
        refusable(ledger, |tx| {
            remote::change_links(here, tx, session, &links, change, &by)?;
            Ok(SessionLinks::from_records(
                &tx.statements_of_session(session)?,
            ))
        })
    });
    Ok(Json(changed.await??))
}
