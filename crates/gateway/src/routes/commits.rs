//! Who made a commit, and how that is known.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use siglum_domain::{Oid, RepositoryId};
use siglum_engine::commits::why;
use siglum_ledger::{LedgerError, Transaction, read};

use super::path::Path;
use super::responses::{repositories_named, repository_name};
use crate::admission::Launcher;
use crate::app::App;
use crate::problem::Problem;
use crate::problem_responses::Problems;
use crate::query::Query;
use crate::wire::{Commit, CommitList};

/// Explain which session made a commit and which sessions wrote its lines, in each repository that has it
///
/// The response is based on recorded data: evidence, verdict, and the claims alongside them.
#[utoipa::path(get, path = "/v1/commits/{commit}", tag = "commits", operation_id = "explainCommit",
    security(("launcher" = [])),
    params(
        ("commit" = String, Path, description = "Full commit id", pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"),
        ("repository" = Option<String>, Query, description = "Only in the repository of this name, id or remote (`github.com/owner/name`), and in its clones", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
    ),
    responses((status = 200, description = "The records of the commit", body = CommitList), Problems))]
pub(crate) async fn show(
    State(app): State<App>,
    Launcher(caller): Launcher,
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
