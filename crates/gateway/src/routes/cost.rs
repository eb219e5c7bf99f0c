//! What sessions cost.

use axum::Json;
use axum::extract::State;
use siglum_domain::access::Limits;
use siglum_domain::price::Prices;
use siglum_domain::{AgentName, RepositoryId, Timestamp};
use siglum_engine::identity::repositories;
use siglum_engine::views::cost::{
    self, By, CostKey, CostQuery, CostReportJson, CostRow, Costs, RECENT_DAYS,
};
use siglum_engine::views::overview::COUNT_MOST;
use siglum_ledger::{LedgerError, Transaction, read};
use siglum_platform::clock;

use super::sessions::wanted_links;
use crate::admission::Launcher;
use crate::app::App;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::{Query, SESSION_RULE, TIME_RULE};
use crate::reach::{is_within, wanted_repositories};
#[cfg(test)]
use crate::shared_schemas::CostReport;
#[cfg(test)]
use crate::wire::LabelInput;

/// From when on messages can count.
const SINCE_RULE: &str = "a time such as 2026-01-31T23:59:59Z, or `all`";

/// How long a day is.
const DAY_SECONDS: i64 = 24 * 60 * 60;

const ROWS: usize = 100;
const ROWS_MOST: usize = 10_000;

/// Get the usage of sessions and its cost at list prices
#[cfg_attr(test, utoipa::path(get, path = "/v1/cost", tag = "sessions", operation_id = "getCost",
    security(("launcher" = [])),
    params(
        ("by" = Option<String>, Query, description = "Group usage by this; days are in UTC", pattern = r"^(session|turn|day|agent|model|repository|branch|issue|pr|role|pipeline|commit)$"),
        ("since" = Option<String>, Query, description = "Only messages from this time on (RFC 3339), or `all`; by default, from the start of the day (UTC) 30 days ago on, or all where `until`, a session or a link is given", pattern = r"^(all|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$"),
        ("until" = Option<String>, Query, description = "Only messages before this time (RFC 3339)", pattern = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$"),
        ("session" = Option<String>, Query, description = "Only this session", pattern = r"^ses_[0-9a-f]{32}$"),
        ("issue_number" = Option<i64>, Query, description = "Only turns with this issue", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("pr_number" = Option<i64>, Query, description = "Only turns with this pull request", minimum = 1, maximum = 9_007_199_254_740_991_i64),
        ("pipeline_id" = Option<String>, Query, description = "Only turns of this pipeline", pattern = r"^[^\s\p{C}]([^\p{C}]{0,254}[^\s\p{C}])?$"),
        ("agent_role" = Option<String>, Query, description = "Only turns with this role", pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"),
        ("phase" = Option<String>, Query, description = "Only turns of this phase", pattern = r"^[^\s\p{C}]([^\p{C}]{0,62}[^\s\p{C}])?$"),
        ("label" = Option<Vec<LabelInput>>, Query, description = "Only turns with this label, `key=value`; may be repeated"),
        ("agent" = Option<String>, Query, description = "Only sessions of this agent", pattern = r"^[a-z0-9-]{1,64}$"),
        ("model" = Option<String>, Query, description = "Only messages of this model", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$"),
        ("repository" = Option<String>, Query, description = "Only sessions whose own repository has this name, id or remote (`github.com/owner/name`), or is a clone of it", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of rows; totals include all", minimum = 1, maximum = 10_000),
    ),
    responses((status = 200, description = "The usage and its cost", body = CostReport), Problems)))]
pub(crate) async fn sum_up(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<CostReportJson>, Problem> {
    let limit = query.limit(ROWS, ROWS_MOST)?;
    let repository = query.text("repository", 4096)?;
    let mut wanted = cost_query(&mut query)?;
    wanted.limit = limit;
    query.end()?;
    let limits = caller.limits().clone();
    let report = app.ledgers().read(&caller.tenant, move |_, ledger| {
        let mut wanted = wanted.clone();
        let known = read(ledger, repositories::known)?;
        let name = repository.as_deref();
        let prices = Prices::built_in();
        match read(ledger, |tx| wanted_repositories(tx, &limits, name))? {
            Some(none) if none.is_empty() => {
                let nothing = Costs::default();
                return Ok(CostReportJson::new(&wanted, &nothing, prices, &known));
            }
            repositories => wanted.repositories = repositories.unwrap_or_default(),
        }
        let mut costs = cost::cost(ledger, &wanted, prices, &day)?;
        if let Some(within) = read(ledger, |tx| wanted_repositories(tx, &limits, None))? {
            hide_commits_elsewhere(&mut costs, &within);
            costs.waiting = read(ledger, |tx| waiting(tx, &limits))?;
        }
        Ok(CostReportJson::new(&wanted, &costs, prices, &known))
    });
    let report: Result<_, LedgerError> = report.await?;
    Ok(Json(report?))
}

/// Puts what went into commits of other repositories into the row of what is in none.
fn hide_commits_elsewhere(costs: &mut Costs, within: &[RepositoryId]) {
    let is_inside = |row: &CostRow| row.key.repository.is_none_or(|id| within.contains(&id));
    let rows = std::mem::take(&mut costs.rows).into_iter();
    let (mut rows, outside): (Vec<CostRow>, Vec<CostRow>) = rows.partition(is_inside);
    for row in outside {
        match rows
            .iter_mut()
            .find(|known| known.key == CostKey::default())
        {
            Some(known) => {
                known.sum += row.sum;
                known.last_at = known.last_at.max(row.last_at);
            }
            None => rows.push(CostRow {
                key: CostKey::default(),
                title: None,
                ..row
            }),
        }
    }
    costs.rows = rows;
}

/// How many sessions that a token sees are not counted yet to their end.
fn waiting(tx: &mut dyn Transaction, limits: &Limits) -> Result<usize, LedgerError> {
    let mut count = 0;
    for session in tx.unfolded(COUNT_MOST)? {
        count += usize::from(is_within(tx, limits, session)?);
    }
    Ok(count)
}

/// What a query asks for, but for the repository.
fn cost_query(query: &mut Query) -> Result<CostQuery, Problem> {
    let words = By::ALL.map(By::word).join(", ");
    let find = |word: &str| By::ALL.into_iter().find(|by| by.word() == word);
    let by = query.named("by", find, &format!("expected one of {words}"))?;
    let since = |word: &str| match word {
        "all" => Some(None),
        _ => word.parse().ok().map(Some),
    };
    let since: Option<Option<Timestamp>> = query.named("since", since, SINCE_RULE)?;
    let until = query.parsed("until", TIME_RULE)?;
    let session = query.parsed("session", SESSION_RULE)?;
    let links = wanted_links(query)?;
    let is_narrowed = until.is_some() || session.is_some() || !links.is_empty();
    let usual = (!is_narrowed).then(|| recent(clock::now()));
    Ok(CostQuery {
        session,
        agent: query.named(
            "agent",
            |t| AgentName::new(t).ok(),
            "1 to 64 of the characters a-z 0-9 -",
        )?,
        model: query.text("model", 200)?,
        since: since.unwrap_or(usual),
        until,
        links,
        ..CostQuery::by(by.unwrap_or(By::Session))
    })
}

/// When the first of the days began in UTC that an answer is of where nothing narrows it.
fn recent(now: Timestamp) -> Timestamp {
    let today = now.seconds().div_euclid(DAY_SECONDS);
    Timestamp::from_seconds((today - i64::from(RECENT_DAYS)) * DAY_SECONDS)
}

/// The day in UTC.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}
