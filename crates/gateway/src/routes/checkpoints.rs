//! Checkpoints: what pins sessions to a commit, an end, or a point to go back to.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use siglum_domain::access::Limits;
use siglum_domain::{CheckpointId, RepositoryId};
use siglum_engine::driven::remote;
use siglum_engine::driven::turn::TurnError;
use siglum_engine::identity::repositories::within;
use siglum_engine::views::checkpoints::{self, CheckpointJson, CheckpointListJson};
use siglum_ledger::{CheckpointFilter, CheckpointRecord, LedgerError, Transaction, read};

#[cfg(test)]
use super::path::OfSession;
use super::path::Path;
use super::representation::Elsewhere;
use super::responses;
use super::sessions::wanted_links;
use super::transaction::refusable;
use crate::admission::Reader;
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::{Query, SESSION_RULE};
use crate::reach::{may_name, wanted_repositories, works_in};
#[cfg(test)]
use crate::shared_schemas::{Checkpoint, CheckpointList};
#[cfg(test)]
use crate::wire::LabelInput;
use crate::wire::{CreateCheckpoint, RecordedCheckpoint};

/// Rows of a list.
const PAGE: usize = 50;
const PAGE_MOST: usize = 500;
/// Why a token that is limited to repositories claims no commit elsewhere.
const OTHER_REPOSITORY: &str = "commit.repository: the token is limited to other repositories";
const NO_CURSOR: &str =
    "`cursor` names no checkpoint of this list; it may be forgotten: start again without it";

/// Create a checkpoint of a session; a commit in it is a claim of the session to have made it
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/checkpoints", tag = "checkpoints", operation_id = "createCheckpoint",
    security(("launcher" = []), ("session" = [])),
    params(OfSession),
    request_body = CreateCheckpoint,
    responses(
        (status = 201, description = "The checkpoint was created", body = RecordedCheckpoint),
        (status = 200, description = "The checkpoint already existed", body = RecordedCheckpoint),
        Problems)))]
pub(crate) async fn record(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(new): Body<CreateCheckpoint>,
) -> Result<(StatusCode, Json<RecordedCheckpoint>), Problem> {
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
            if let Some((repository, _)) = &wanted.commit
                && !may_name(tx, &credential.limits, repository)?
            {
                return Err(Problem::forbidden(OTHER_REPOSITORY));
            }
            let (record, already) = remote::checkpoint(here, tx, &wanted, &by)?;
            let checkpoint = checkpoints::shown(tx, &[record])?.pop();
            let checkpoint = checkpoint.ok_or_else(Problem::internal)?;
            home.note(here, tx, &credential)?;
            Ok(RecordedCheckpoint {
                checkpoint,
                already,
            })
        })
    });
    let recorded = done.await?;
    let recorded = recorded.inspect_err(|p| caller.note_forbidden(&app, p))?;
    let already = recorded.already;
    Ok(responses::created(recorded, already))
}

/// List the checkpoints of a session, newest first
#[cfg_attr(test, utoipa::path(get, path = "/v1/sessions/{session}/checkpoints", tag = "checkpoints", operation_id = "listSessionCheckpoints",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("cursor" = Option<String>, Query, description = "Return checkpoints after this one (`next` of the previous page)", pattern = r"^chk_[0-9a-f]{32}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The checkpoints", body = CheckpointList), Problems)))]
pub(crate) async fn of_session(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    query: Query,
) -> Result<Json<CheckpointListJson>, Problem> {
    let session = path.session()?;
    caller.for_session(&app, session)?;
    let known = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| Ok(tx.session(session)?.is_some()))
    });
    if !known.await?? {
        return Err(TurnError::NoSession(session).into());
    }
    let filter = CheckpointFilter::of_session(session, 0);
    // The session was found already, and has checkpoints of no repository, too.
    listed(&app, &caller, filter, (Limits::default(), None), query).await
}

/// List checkpoints, newest first
#[cfg_attr(test, utoipa::path(get, path = "/v1/checkpoints", tag = "checkpoints", operation_id = "listCheckpoints",
    security(("launcher" = []), ("read" = [])),
    params(
        ("issue_number" = Option<i64>, Query, description = "Only with this issue number", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("pr_number" = Option<i64>, Query, description = "Only with this pull request number", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("pipeline_id" = Option<String>, Query, description = "Only in this pipeline", pattern = r"^[^\s\p{C}]([^\p{C}]{0,254}[^\s\p{C}])?$"),
        ("agent_role" = Option<String>, Query, description = "Only with this agent role", pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"),
        ("phase" = Option<String>, Query, description = "Only in this phase", pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"),
        ("label" = Option<Vec<LabelInput>>, Query, description = "Only with this label, `key=value`; may be repeated"),
        ("session" = Option<String>, Query, description = "Only those that pin this session; with links, only if they are attached to it", pattern = r"^ses_[0-9a-f]{32}$"),
        ("since" = Option<String>, Query, description = "Only those made at or after this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("until" = Option<String>, Query, description = "Only those made before this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("repository" = Option<String>, Query, description = "Only in the repository of this name, id or remote (`github.com/owner/name`), and in its clones", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
        ("cursor" = Option<String>, Query, description = "Return checkpoints after this one (`next` of the previous page)", pattern = r"^chk_[0-9a-f]{32}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The checkpoints", body = CheckpointList), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut query: Query,
) -> Result<Json<CheckpointListJson>, Problem> {
    let (since, until) = query.period()?;
    let filter = CheckpointFilter {
        session: query.parsed("session", SESSION_RULE)?,
        links: wanted_links(&mut query)?,
        since,
        until,
        ..CheckpointFilter::default()
    };
    let repository = query.text("repository", 4096)?;
    let wanted = (caller.limits().clone(), repository);
    listed(&app, &caller, filter, wanted, query).await
}

/// A page of the checkpoints that a filter picks, within the limits of a token, and of the repository of this name.
async fn listed(
    app: &App,
    caller: &Caller,
    filter: CheckpointFilter,
    (limits, repository): (Limits, Option<String>),
    mut query: Query,
) -> Result<Json<CheckpointListJson>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let cursor: Option<CheckpointId> = query.cursor()?;
    query.end()?;
    let shown = caller.limits_on_sessions();
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| {
            let mut filter = filter.clone();
            let wanted = wanted_repositories(tx, &limits, repository.as_deref())?;
            let last = cursor.map(|id| tx.checkpoint(id)).transpose()?;
            let shown = within(tx, &shown)?;
            let is_shown =
                |r: &CheckpointRecord| r.repository.is_none() || is_in(r, shown.as_deref());
            let last = last.map(|found| {
                found.filter(|record| is_in(record, wanted.as_deref()) && is_shown(record))
            });
            filter.after = match last {
                Some(Some(record)) => Some((record.at, record.id)),
                Some(None) => return Ok(Err(Problem::not_found(NO_CURSOR))),
                None => None,
            };
            match wanted {
                Some(none) if none.is_empty() => return Ok(Ok(CheckpointListJson::default())),
                wanted => filter.repositories = wanted.unwrap_or_default(),
            }
            filter.limit = limit + 1;
            let mut found = tx.checkpoints(&filter)?;
            let more = found.len() > limit;
            found.truncate(limit);
            let next = found.last().filter(|_| more).map(|last| last.id);
            found.retain(is_shown);
            hide_pins(tx, &mut found, shown.as_deref())?;
            Ok(Ok(CheckpointListJson {
                items: checkpoints::shown(tx, &found)?,
                more,
                next,
            }))
        })
    });
    found.await??.map(Json)
}

/// Whether a checkpoint is of one of these repositories, if there are any.
fn is_in(record: &CheckpointRecord, within: Option<&[RepositoryId]>) -> bool {
    within.is_none_or(|ids| record.repository.is_some_and(|id| ids.contains(&id)))
}

/// Takes the sessions out of checkpoints that work in none of these repositories, if there are any.
fn hide_pins(
    tx: &mut dyn Transaction,
    records: &mut [CheckpointRecord],
    within: Option<&[RepositoryId]>,
) -> Result<(), LedgerError> {
    let Some(within) = within else {
        return Ok(());
    };
    for record in records {
        for (session, sequence) in std::mem::take(&mut record.pins) {
            if works_in(tx, within, session)? {
                record.pins.push((session, sequence));
            }
        }
    }
    Ok(())
}

/// Get a checkpoint with the current links of its sessions
#[cfg_attr(test, utoipa::path(get, path = "/v1/checkpoints/{checkpoint}", tag = "checkpoints", operation_id = "getCheckpoint",
    security(("launcher" = []), ("read" = [])),
    params(("checkpoint" = String, Path, description = "Checkpoint id", pattern = r"^chk_[0-9a-f]{32}$")),
    responses((status = 200, description = "The checkpoint", body = Checkpoint), Problems)))]
pub(crate) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    path: Path,
) -> Result<Json<CheckpointJson>, Problem> {
    let (id, limits) = (path.checkpoint()?, caller.limits().clone());
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| {
            let within = wanted_repositories(tx, &limits, None)?;
            match tx.checkpoint(id)? {
                Some(record) if is_in(&record, within.as_deref()) => {
                    let mut found = [record];
                    hide_pins(tx, &mut found, within.as_deref())?;
                    Ok(checkpoints::shown(tx, &found)?.pop())
                }
                _ => Ok(None),
            }
        })
    });
    let found = found.await??;
    found
        .map(Json)
        .ok_or_else(|| Problem::not_found(format!("no checkpoint {id}")))
}
