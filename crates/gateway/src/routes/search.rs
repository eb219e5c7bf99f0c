//! Sessions by words.

use axum::Json;
use axum::extract::State;
use siglum_domain::{AgentName, SessionId};
use siglum_engine::views::search::{self, Findings, Hit, Place, Words};
use siglum_ledger::{LedgerError, Order, SessionFilter, SessionListing, Transaction, read};

use super::responses;
use crate::admission::{self, Launcher};
use crate::app::App;
use crate::problem::Problem;
use crate::problem_responses::Problems;
use crate::query::Query;
use crate::reach::wanted_repositories;
use crate::wire::{SearchHit, SearchResult, SearchResultList};

/// Rows of a page.
const PAGE: usize = 20;
const PAGE_MOST: usize = 100;
/// How many sessions a page looks through at most. There is no index.
const WITHIN: usize = 500;
/// How long a query may be, in characters.
const QUERY_MOST: usize = 1000;

/// Search sessions by prompt, link, commit, id or path
///
/// A session matches if it contains every word of `q`, in any case and order, in its prompts, its links, the ids and
/// subjects of its commits, its ids, or the path that it works in. `issue=42`, `pr=7` or `role=coder` finds the sessions
/// with this link, and `#42` those with the issue or the pull request of this number. The newest session is the one that
/// was created last. A page looks through at most 500 sessions: it may have few items, or none, and a `next`. Each
/// session whose prompts are in the response is recorded in the audit log.
#[utoipa::path(get, path = "/v1/search", tag = "sessions", operation_id = "searchSessions",
    security(("launcher" = [])),
    params(
        ("q" = String, Query, description = "Words to search for, or parts of them", pattern = r"^[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]{0,999}$"),
        ("agent" = Option<String>, Query, description = "Only sessions of this agent", pattern = r"^[a-z0-9-]{1,64}$"),
        ("repository" = Option<String>, Query, description = "Only sessions in the repository of this name, id or remote (`github.com/owner/name`), and in its clones", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
        ("since" = Option<String>, Query, description = "Only sessions with their last activity at or after this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("until" = Option<String>, Query, description = "Only sessions with their last activity before this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("cursor" = Option<String>, Query, description = "Search sessions after this one (`next` of the previous page)", pattern = r"^ses_[0-9a-f]{32}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 100),
    ),
    responses((status = 200, description = "The sessions that match", body = SearchResultList), Problems))]
pub(crate) async fn search(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<SearchResultList>, Problem> {
    let words = words(query.text("q", QUERY_MOST)?)?;
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
        order: Order::Created {
            after: query.cursor()?,
        },
        limit: WITHIN,
        ..SessionFilter::default()
    };
    query.end()?;
    let wanted = search::Query {
        words,
        sessions,
        commits_in: Vec::new(),
        most,
    };
    let limits = caller.limits().clone();
    let found = app.ledgers().read(&caller.tenant, move |here, ledger| {
        let mut wanted = wanted.clone();
        let name = repository.as_deref();
        match read(ledger, |tx| wanted_repositories(tx, &limits, name))? {
            Some(none) if none.is_empty() => return Ok((Vec::new(), None)),
            repositories => wanted.sessions.repositories = repositories.unwrap_or_default(),
        }
        // A session that works elsewhere, too, is found by no commit that it made there.
        let within = read(ledger, |tx| wanted_repositories(tx, &limits, None))?;
        wanted.commits_in = within.unwrap_or_default();
        let findings = search::search(here, ledger, &wanted)?;
        let items = read(ledger, |tx| results(tx, &findings))?;
        let next = findings.last.filter(|_| findings.more);
        Ok((items, next))
    });
    let found: Result<(Vec<Shown>, Option<SessionId>), LedgerError> = found.await?;
    let (shown, next) = found?;
    let mut items = Vec::with_capacity(shown.len());
    for one in shown {
        if one.has_prompts {
            admission::read(&app, &caller, one.session);
        }
        items.push(one.result);
    }
    Ok(Json(SearchResultList {
        items,
        next: next.map(|session| session.to_string()),
    }))
}

/// The words of a query.
fn words(query: Option<String>) -> Result<Words, Problem> {
    let query = query.ok_or_else(|| Problem::invalid("q", "is required"))?;
    let words = match query.starts_with(char::is_whitespace) {
        true => None,
        false => Words::parse([query.as_str()]),
    };
    words.ok_or_else(|| Problem::invalid("q", "words, without a blank before the first one"))
}

/// A result, and whether it has what was said in its session.
struct Shown {
    session: SessionId,
    has_prompts: bool,
    result: SearchResult,
}

fn results(tx: &mut dyn Transaction, findings: &Findings) -> Result<Vec<Shown>, LedgerError> {
    let found = &findings.found;
    let listings: Vec<SessionListing> = found.iter().map(|f| f.session.listing.clone()).collect();
    let sessions = responses::sessions(tx, &listings)?;
    let shown = found.iter().zip(sessions).map(|(found, session)| Shown {
        session: found.session.listing.record.id,
        has_prompts: found.hits.iter().any(is_prompt),
        result: SearchResult {
            session,
            hits: found.hits.iter().map(SearchHit::from).collect(),
        },
    });
    Ok(shown.collect())
}

fn is_prompt(hit: &Hit) -> bool {
    hit.place == Place::Prompt
}
