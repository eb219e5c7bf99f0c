//! Who made a commit, and how that is known.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use siglum_domain::{Oid, RepositoryId, SessionId};
use siglum_engine::commits::answers::answers;
use siglum_engine::commits::attestations::standing_attestations;
use siglum_engine::commits::why::{self, Why};
use siglum_engine::views::commit_log;
use siglum_engine::views::commits::{CommitJson, CommitSummaryJson};
use siglum_ledger::{CommitFilter, LedgerError, Transaction, read};

use super::path::Path;
use super::responses::repository_name;
use crate::admission::{self, Reader};
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::{CURSOR_RULE, Query};
use crate::reach::wanted_repositories;
use crate::wire::{CommitExplanations, CommitList, CommitSummaryList, ExplainCommits};

/// Rows of a page.
const PAGE: usize = 50;
const PAGE_MOST: usize = 500;
const NO_CURSOR: &str =
    "`cursor` names no commit of this list; it may be forgotten: start again without it";

/// List recorded commits, newest first
///
/// The newest is the one that was recorded last. Evidence, authors and origins are in the record of each commit.
#[cfg_attr(test, utoipa::path(get, path = "/v1/commits", tag = "commits", operation_id = "listCommits",
    security(("launcher" = []), ("read" = [])),
    params(
        ("repository" = Option<String>, Query, description = "Only in the repository of this name, id or remote (`github.com/owner/name`), and in its clones", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
        ("prefix" = Option<String>, Query, description = "Only commits whose id begins with these digits", pattern = r"^[0-9a-f]{4,39}$"),
        ("cursor" = Option<String>, Query, description = "Return commits after this one (`next` of the previous page)", pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})\.rep_[0-9a-f]{32}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The commits", body = CommitSummaryList), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut query: Query,
) -> Result<Json<CommitSummaryList>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let repository = query.text("repository", 4096)?;
    let prefix = query.named("prefix", prefix, "4 to 39 of the digits 0-9 a-f")?;
    let cursor = query.named("cursor", place_in_list, CURSOR_RULE)?;
    query.end()?;
    let limits = caller.limits().clone();
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| {
            let mut filter = CommitFilter {
                prefix: prefix.clone(),
                limit: limit + 1,
                ..CommitFilter::default()
            };
            let within = wanted_repositories(tx, &limits, None)?;
            let wanted = wanted_repositories(tx, &limits, repository.as_deref())?;
            if let Some((commit, id)) = &cursor {
                let is_outside = wanted.as_ref().is_some_and(|ids| !ids.contains(id));
                let last = tx.commit(*id, commit)?.filter(|_| !is_outside);
                let Some(last) = last else {
                    return Ok(Err(Problem::not_found(NO_CURSOR)));
                };
                filter.after = Some((last.at, last.commit, last.repository));
            }
            match wanted {
                Some(none) if none.is_empty() => return Ok(Ok(CommitSummaryList::default())),
                wanted => filter.repositories = wanted.unwrap_or_default(),
            }
            let mut found = tx.commits(&filter)?;
            let more = found.len() > limit;
            found.truncate(limit);
            let next = found.last().filter(|_| more);
            let next = next.map(|last| format!("{}.{}", last.commit, last.repository));
            let log = commit_log::recorded(tx, found, within.as_deref())?;
            let commits = log.commits.iter();
            let items = commits.map(|commit| CommitSummaryJson::from_log(&log, commit));
            let items = items.collect();
            Ok(Ok(CommitSummaryList { items, next }))
        })
    });
    found.await??.map(Json)
}

/// The first digits of a commit's id, too few for a whole one.
fn prefix(text: &str) -> Option<String> {
    let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let fits = (4..=39).contains(&text.len()) && text.bytes().all(is_digit);
    fits.then(|| text.to_owned())
}

/// The commit that a page comes after, and the repository that it is in.
fn place_in_list(cursor: &str) -> Option<(Oid, RepositoryId)> {
    let (commit, repository) = cursor.split_once('.')?;
    Some((Oid::new(commit).ok()?, repository.parse().ok()?))
}

/// Explain which session made a commit and which sessions wrote its lines, in each repository that has it
///
/// The response is based on recorded data: evidence, verdict, and the claims alongside them. It has the fields of
/// `siglum why --json`, with the prompts that led to the commit.
#[cfg_attr(test, utoipa::path(get, path = "/v1/commits/{commit}", tag = "commits", operation_id = "explainCommit",
    security(("launcher" = []), ("read" = [])),
    params(
        ("commit" = String, Path, description = "Full commit id", pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"),
        ("repository" = Option<String>, Query, description = "Only in the repository of this name, id or remote (`github.com/owner/name`), and in its clones", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
    ),
    responses((status = 200, description = "The records of the commit", body = CommitList), Problems)))]
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
    let (wanted, limits) = (commit.clone(), caller.limits().clone());
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| {
            let within = wanted_repositories(tx, &limits, None)?;
            let named = wanted_repositories(tx, &limits, repository.as_deref())?;
            known(tx, &wanted, named.as_deref(), within.as_deref())
        })
    });
    let commits = found.await??;
    if commits.is_empty() {
        return Err(Problem::not_found(format!("no record of commit {commit}")));
    }
    let prompted = commits.iter().flat_map(|(why, _)| prompted_sessions(why));
    note_readings(&app, &caller, prompted);
    let items = commits.into_iter();
    let items = items.map(|(why, name)| CommitJson::from_why(&why, name));
    Ok(Json(CommitList {
        items: items.collect(),
    }))
}

/// Explain which sessions made up to 500 commits and which sessions wrote their lines
///
/// `siglum why`, `log` and `check` send this request for commits that are not recorded locally. A commit is found in any
/// repository; where several ledgers recorded it, the response has the surest record. The response includes the prompts
/// that led to the commits, as far as they are stored here.
#[cfg_attr(test, utoipa::path(post, path = "/v1/commits/explain", tag = "commits", operation_id = "explainCommits",
    security(("launcher" = []), ("read" = [])),
    request_body = ExplainCommits,
    responses((status = 200, description = "The records of the commits", body = CommitExplanations), Problems)))]
pub(crate) async fn explain(
    State(app): State<App>,
    Reader(caller): Reader,
    Body(request): Body<ExplainCommits>,
) -> Result<Json<CommitExplanations>, Problem> {
    let (commits, checkpoints) = request.checked()?;
    let limits = caller.limits().clone();
    let found = app.ledgers().read(&caller.tenant, move |here, ledger| {
        read(ledger, |tx| {
            let within = wanted_repositories(tx, &limits, None)?;
            answers(here.redactor, tx, &commits, &checkpoints, within.as_deref())
        })
    });
    let found = found.await??;
    let prompted = found.items.iter().flat_map(|answer| answer.prompted());
    note_readings(&app, &caller, prompted);
    Ok(Json(found.into()))
}

/// The sessions of which a prompt is in an answer.
fn prompted_sessions(why: &Why) -> impl Iterator<Item = SessionId> {
    let origins = why.origins.iter().filter_map(|o| o.prompt.as_ref());
    why.prompt
        .iter()
        .chain(origins)
        .map(|prompt| prompt.session)
}

/// Notes that prompts of these sessions were read.
fn note_readings(app: &App, caller: &Caller, prompted: impl Iterator<Item = SessionId>) {
    for session in prompted.collect::<BTreeSet<SessionId>>() {
        admission::read(app, caller, session);
    }
}

/// The records of a commit in the repositories that are named, or in all, with the attestations that the limits of the
/// token leave.
fn known(
    tx: &mut dyn Transaction,
    commit: &Oid,
    named: Option<&[RepositoryId]>,
    within: Option<&[RepositoryId]>,
) -> Result<Vec<(Why, String)>, LedgerError> {
    let mut ids: BTreeSet<RepositoryId> = BTreeSet::new();
    ids.extend(tx.commits_named(commit)?.iter().map(|c| c.repository));
    // One of another ledger may have been named by its id, and have no record of the commit.
    let attested = standing_attestations(tx, commit)?;
    ids.extend(attested.iter().map(|a| a.repository));
    ids.extend(tx.repositories()?.iter().map(|r| r.id));
    ids.retain(|id| named.is_none_or(|ids| ids.contains(id)));
    let mut commits = Vec::new();
    for id in ids {
        let Some(name) = repository_name(tx, id)? else {
            continue;
        };
        if let Some(why) = why::recorded(tx, id, commit, within)? {
            commits.push((why, name));
        }
    }
    Ok(commits)
}
