//! Who made a commit, and how that is known.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use siglum_domain::{Oid, RepositoryId, SessionId};
use siglum_engine::commits::answers::answers;
use siglum_engine::commits::why;
use siglum_ledger::{LedgerError, Transaction, read};

use super::path::Path;
use super::responses::{repositories_named, repository_name};
use crate::admission::{self, Reader};
use crate::app::App;
use crate::body::Body;
use crate::problem::Problem;
use crate::problem_responses::Problems;
use crate::query::Query;
use crate::wire::{Commit, CommitExplanations, CommitList, ExplainCommits};

/// Explain which session made a commit and which sessions wrote its lines, in each repository that has it
///
/// The response is based on recorded data: evidence, verdict, and the claims alongside them.
#[utoipa::path(get, path = "/v1/commits/{commit}", tag = "commits", operation_id = "explainCommit",
    security(("launcher" = []), ("read" = [])),
    params(
        ("commit" = String, Path, description = "Full commit id", pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"),
        ("repository" = Option<String>, Query, description = "Only in the repository of this name, id or remote (`github.com/owner/name`), and in its clones", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
    ),
    responses((status = 200, description = "The records of the commit", body = CommitList), Problems))]
pub(crate) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    path: Path,
    mut query: Query,
) -> Result<Json<CommitList>, Problem> {
    let commit = path.text("commit")?;
    let commit = Oid::new(commit).map_err(|e| Problem::invalid("commit", e.rule))?;
    let repository = query.text("repository", 4096)?;
    query.end()?;
    let wanted = commit.clone();
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| known(tx, &wanted, repository.as_deref()))
    });
    let commits = found.await??;
    match commits.is_empty() {
        false => Ok(Json(CommitList { items: commits })),
        true => Err(Problem::not_found(format!("no record of commit {commit}"))),
    }
}

/// Explain which sessions made up to 500 commits and which sessions wrote their lines
///
/// `siglum why`, `log` and `check` send this request for commits that are not recorded locally. A commit is found in any
/// repository; where several ledgers recorded it, the response has the surest record. The response includes the prompts
/// that led to the commits, as far as they are stored here.
#[utoipa::path(post, path = "/v1/commits/explain", tag = "commits", operation_id = "explainCommits",
    security(("launcher" = []), ("read" = [])),
    request_body = ExplainCommits,
    responses((status = 200, description = "The records of the commits", body = CommitExplanations), Problems))]
pub(crate) async fn explain(
    State(app): State<App>,
    Reader(caller): Reader,
    Body(request): Body<ExplainCommits>,
) -> Result<Json<CommitExplanations>, Problem> {
    let (commits, checkpoints) = request.checked()?;
    let found = app.ledgers().read(&caller.tenant, move |here, ledger| {
        read(ledger, |tx| {
            answers(here.redactor, tx, &commits, &checkpoints)
        })
    });
    let found = found.await??;
    let prompted = found.items.iter().flat_map(|answer| answer.prompted());
    for session in prompted.collect::<BTreeSet<SessionId>>() {
        admission::read(&app, &caller, session);
    }
    Ok(Json(found.into()))
}

fn known(
    tx: &mut dyn Transaction,
    commit: &Oid,
    repository: Option<&str>,
) -> Result<Vec<Commit>, LedgerError> {
    let mut ids: BTreeSet<RepositoryId> = BTreeSet::new();
    ids.extend(tx.commits_named(commit)?.iter().map(|c| c.repository));
    ids.extend(tx.repositories()?.iter().map(|r| r.id));
    if let Some(name) = repository {
        let wanted = repositories_named(tx, name)?;
        ids.retain(|id| wanted.contains(id));
    }
    let mut commits = Vec::new();
    for id in ids {
        let Some(name) = repository_name(tx, id)? else {
            continue;
        };
        if let Some(why) = why::recorded(tx, id, commit)? {
            commits.push(Commit::from_why(&why, name));
        }
    }
    Ok(commits)
}
