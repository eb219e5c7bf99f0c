//! Sessions by what was said and done in them.

use axum::Json;
use axum::extract::State;
use siglum_domain::access::Limits;
use siglum_domain::search::{PieceKind, SearchQuery};
use siglum_domain::{AgentName, RepositoryId, SessionId};
use siglum_engine::Here;
use siglum_engine::views::overview::Listed;
use siglum_engine::views::search::{self, Hit, SearchListJson};
use siglum_engine::worker;
use siglum_ledger::{Ledger, LedgerError, Order, SessionFilter, Transaction, read};
use siglum_platform::clock;

use super::responses;
use crate::admission::{self, Launcher};
use crate::app::App;
use crate::ledgers::seeing;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::Query;
use crate::reach::wanted_repositories;
#[cfg(test)]
use crate::shared_schemas::SearchResultList;

/// Rows of a page.
const PAGE: usize = 20;
const PAGE_MOST: usize = 100;
/// How many sessions a page looks through at most where there is no index.
const WITHIN: usize = 500;
/// How long a query may be, in characters.
const QUERY_MOST: usize = 1000;

/// Search what was said and done in sessions
///
/// A session matches if one of its turns contains every term of `q`, in any case and order, in prompts, answers, tool
/// calls and their results, paths or commits; or if its links and names do. Terms are words, `"a phrase"`, `pre*`,
/// `path:src/a.rs`, `agent:codex`, `repo:NAME`, `tool:Bash`, `since:7d`, `until:2026-01-31`, `issue:42`, `pr:7`, `#42` and
/// `is:error`. Identifiers match whole and by their parts. Prompts and recent turns come first. While there is no index
/// (`index.used` is false), a page looks through the 500 newest sessions: it may have few items, or none, and a `next`. Each
/// session whose conversation is in the response is recorded in the audit log.
#[cfg_attr(test, utoipa::path(get, path = "/v1/search", tag = "sessions", operation_id = "searchSessions",
    security(("launcher" = [])),
    params(
        ("q" = String, Query, description = "Terms to search for", pattern = r"^[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]{0,999}$"),
        ("agent" = Option<String>, Query, description = "Only sessions of this agent", pattern = r"^[a-z0-9-]{1,64}$"),
        ("repository" = Option<String>, Query, description = "Only sessions in the repository of this name, id or remote (`github.com/owner/name`), and in its clones", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
        ("since" = Option<String>, Query, description = "Only turns that began at or after this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("until" = Option<String>, Query, description = "Only turns that began before this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("cursor" = Option<String>, Query, description = "Search sessions after this one (`next` of the previous page)", pattern = r"^ses_[0-9a-f]{32}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 100),
    ),
    responses((status = 200, description = "The sessions that match", body = SearchResultList), Problems)))]
pub(crate) async fn search(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<SearchListJson>, Problem> {
    let sought = sought(query.text("q", QUERY_MOST)?)?;
    let most = query.limit(PAGE, PAGE_MOST)?;
    let repository = query.text("repository", 4096)?;
    let (since, until) = query.period()?;
    let sessions = SessionFilter {
        agent: query.named(
            "agent",
            |t| AgentName::new(t).ok(),
            "1 to 64 of the characters a-z 0-9 -",
        )?,
        since,
        until,
        order: Order::Created { after: None },
        limit: WITHIN,
        ..SessionFilter::default()
    };
    let after = query.cursor()?;
    query.end()?;
    let names: Vec<String> = repository
        .into_iter()
        .chain(sought.repository.clone())
        .collect();
    let wanted = search::Query {
        query: sought,
        sessions,
        commits_in: Vec::new(),
        most,
        after,
    };
    let limits = caller.limits().clone();
    let found = app.ledgers().read(&caller.tenant, move |here, ledger| {
        let mut wanted = wanted.clone();
        match read(ledger, |tx| within(tx, &limits, &names))? {
            Some(none) if none.is_empty() => return Ok(None),
            repositories => wanted.sessions.repositories = repositories.unwrap_or_default(),
        }
        // A session that works elsewhere, too, is found by no commit that it made there.
        let seen = read(ledger, |tx| wanted_repositories(tx, &limits, None))?;
        wanted.commits_in = seen.unwrap_or_default();
        worker::catch_up(here, ledger);
        page(&seeing(here), ledger, &wanted).map(Some)
    });
    let found: Result<Option<Page>, LedgerError> = found.await?;
    let Page { shown, list } = found?.unwrap_or_default();
    for one in &shown {
        admission::read(&app, &caller, *one);
    }
    Ok(Json(list))
}

/// The query that was asked for.
fn sought(query: Option<String>) -> Result<SearchQuery, Problem> {
    let query = query.ok_or_else(|| Problem::invalid("q", "is required"))?;
    if query.starts_with(char::is_whitespace) {
        return Err(Problem::invalid(
            "q",
            "terms, without a blank before the first one",
        ));
    }
    SearchQuery::parse(&query, clock::now())
        .map_err(|error| Problem::invalid("q", error.to_string()))
}

/// The repositories that all of these names mean, as far as a token sees them. Nothing where all are meant.
fn within(
    tx: &mut dyn Transaction,
    limits: &Limits,
    names: &[String],
) -> Result<Option<Vec<RepositoryId>>, LedgerError> {
    let mut within = wanted_repositories(tx, limits, None)?;
    for name in names {
        let named = wanted_repositories(tx, limits, Some(name))?.unwrap_or_default();
        within = Some(match within {
            Some(before) => before.into_iter().filter(|id| named.contains(id)).collect(),
            None => named,
        });
    }
    Ok(within)
}

/// A page, and the sessions of which something that was said is on it.
#[derive(Default)]
struct Page {
    shown: Vec<SessionId>,
    list: SearchListJson,
}

fn page(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    wanted: &search::Query,
) -> Result<Page, LedgerError> {
    let findings = search::search(here, ledger, wanted)?;
    let listed: Vec<&Listed> = findings.found.iter().map(|found| &found.session).collect();
    let sessions = read(ledger, |tx| responses::sessions(tx, &listed))?;
    let has_texts = findings.found.iter().filter(|f| f.hits.iter().any(is_text));
    Ok(Page {
        shown: has_texts.map(|f| f.session.listing.record.id).collect(),
        list: SearchListJson::new(&findings, sessions),
    })
}

/// Whether a hit shows something of the conversation.
fn is_text(hit: &Hit) -> bool {
    matches!(
        hit.place,
        PieceKind::Prompt | PieceKind::Answer | PieceKind::Call | PieceKind::Result
    )
}
