//! Checkpoints: what pins sessions to a commit, an end, or a point to go back to.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use siglum_domain::SessionId;
use siglum_domain::link::Link;
use siglum_engine::turn::TurnError;
use siglum_engine::{checkpoints, remote};
use siglum_ledger::read;

use super::path::{OfSession, Path};
use super::refusable::refusable;
use super::sessions::wanted_links;
use super::standing::Elsewhere;
use super::told;
use crate::app::App;
use crate::body::Body;
use crate::caller::{Caller, Launcher};
use crate::openapi::Problems;
use crate::problem::Problem;
use crate::query::Query;
use crate::wire::{CheckpointTold, Checkpoints, LabelAsked, NewCheckpoint, Recorded};

/// Rows of a list.
const PAGE: usize = 50;
const PAGE_MOST: usize = 500;

/// Records a checkpoint of a session; with a commit it is what the session claims to have made
#[utoipa::path(post, path = "/v1/sessions/{session}/checkpoints", tag = "checkpoints", operation_id = "record_checkpoint",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = NewCheckpoint,
    responses(
        (status = 201, description = "It is recorded", body = Recorded),
        (status = 200, description = "It was there", body = Recorded),
        Problems))]
pub(crate) async fn record(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(new): Body<NewCheckpoint>,
) -> Result<(StatusCode, Json<Recorded>), Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    if new.id.is_some_and(|id| id.uuid().get_version_num() != 7) {
        return Err(Problem::invalid("id", "`chk_` and a UUID of version 7"));
    }
    let commit = match &new.commit {
        Some(of) => {
            let repository = of.repository.checked("commit.repository")?;
            Some((repository, of.commit.clone()))
        }
        None => None,
    };
    let wanted = remote::NewCheckpoint {
        id: new.id,
        session,
        sequence: new.sequence,
        commit,
    };
    let (by, credential) = (caller.by(), caller.credential().clone());
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        let own = ledger.id();
        refusable(ledger, |tx| {
            let home = Elsewhere::of_session(here, tx, &credential, own, session)?;
            let (record, already) = remote::checkpoint(here, tx, &wanted, &by)?;
            let checkpoint = told::checkpoints(tx, &[record])?.pop();
            let checkpoint = checkpoint.ok_or_else(Problem::internal)?;
            home.note(here, tx, &credential)?;
            Ok(Recorded {
                checkpoint,
                already,
            })
        })
    });
    let recorded = done.await?;
    let recorded = recorded.inspect_err(|p| caller.note_forbidden(&app, p))?;
    let status = match recorded.already {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    Ok((status, Json(recorded)))
}

/// Lists the checkpoints of a session, newest first
#[utoipa::path(get, path = "/v1/sessions/{session}/checkpoints", tag = "checkpoints", operation_id = "list_session_checkpoints",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("limit" = Option<i64>, Query, description = "At most so many", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The checkpoints", body = Checkpoints), Problems))]
pub(crate) async fn of_session(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    query: Query,
) -> Result<Json<Checkpoints>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    listed(&app, &caller, Some(session), (Vec::new(), None), query).await
}

/// Lists checkpoints, newest first
#[utoipa::path(get, path = "/v1/checkpoints", tag = "checkpoints", operation_id = "list_checkpoints",
    security(("launcher" = [])),
    params(
        ("issue_number" = Option<i64>, Query, description = "With this issue", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("pr_number" = Option<i64>, Query, description = "With this pull request", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("pipeline_id" = Option<String>, Query, description = "Of this pipeline", pattern = r"^[^\s\p{C}]([^\p{C}]{0,254}[^\s\p{C}])?$"),
        ("agent_role" = Option<String>, Query, description = "With this role", pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"),
        ("phase" = Option<String>, Query, description = "Of this phase", pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"),
        ("label" = Option<Vec<LabelAsked>>, Query, description = "With this label, `key=value`; may be given several times"),
        ("repository" = Option<String>, Query, description = "Of the repository of this name", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
        ("limit" = Option<i64>, Query, description = "At most so many", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The checkpoints", body = Checkpoints), Problems))]
pub(crate) async fn list(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<Checkpoints>, Problem> {
    let links = wanted_links(&mut query)?;
    let repository = query.text("repository", 4096)?;
    listed(&app, &caller, None, (links, repository), query).await
}

async fn listed(
    app: &App,
    caller: &Caller,
    session: Option<SessionId>,
    (links, repository): (Vec<Link>, Option<String>),
    mut query: Query,
) -> Result<Json<Checkpoints>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    query.end()?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| {
            if let Some(session) = session
                && tx.session(session)?.is_none()
            {
                return Ok(None);
            }
            let repository = match &repository {
                Some(name) => match tx.repository(name)? {
                    Some(known) => Some(known.id),
                    None => return Ok(Some(Vec::new())),
                },
                None => None,
            };
            let found = checkpoints::listed(tx, session, repository, &links, limit)?;
            told::checkpoints(tx, &found).map(Some)
        })
    });
    match (found.await??, session) {
        (Some(checkpoints), _) => Ok(Json(Checkpoints { checkpoints })),
        (None, Some(session)) => Err(TurnError::NoSession(session).into()),
        (None, None) => Err(Problem::internal()),
    }
}

/// Shows a checkpoint, with what is attached to its sessions now
#[utoipa::path(get, path = "/v1/checkpoints/{checkpoint}", tag = "checkpoints", operation_id = "show_checkpoint",
    security(("launcher" = [])),
    params(("checkpoint" = String, Path, description = "The checkpoint", pattern = r"^chk_[0-9a-f]{32}$")),
    responses((status = 200, description = "The checkpoint", body = CheckpointTold), Problems))]
pub(crate) async fn show(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
) -> Result<Json<CheckpointTold>, Problem> {
    let id = path.checkpoint()?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| match tx.checkpoint(id)? {
            Some(record) => Ok(told::checkpoints(tx, &[record])?.pop()),
            None => Ok(None),
        })
    });
    let found = found.await??;
    found
        .map(Json)
        .ok_or_else(|| Problem::not_found(format!("there is no checkpoint {id}")))
}
