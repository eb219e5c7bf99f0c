//! `siglum cost`: what sessions used and what that costs.

mod json;
mod team;

use std::io::ErrorKind;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use siglum_domain::fold::Records;
use siglum_domain::link::Link;
use siglum_domain::observation::Tokens;
use siglum_domain::price::{Cost, Prices};
use siglum_domain::{AgentName, SessionId, Timestamp, TurnId};
use siglum_engine::identity::repositories;
use siglum_engine::views::cost::{
    self, By, CostQuery, CostReportJson, CostRowJson, CostUsageJson, Explained, RECENT_DAYS,
    UnpricedModelJson,
};
use siglum_engine::views::find;
use siglum_engine::worker;
use siglum_ledger::{RepositoryRecord, UsageFilter, read};

use super::team::print_source;
use crate::config;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::regular_file;
use crate::scope::Where;
use crate::store;
use crate::team::Source;
use crate::time;
use crate::ui::{self, Cell, Style, Table};

pub use json::Json;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.cost/1";

/// How many sessions are folded at a time.
const FOLDED: usize = 64;

/// Show token usage and its cost at list prices
///
/// Each message counts once, however many records mention it. A model without a price is shown as unknown, and a cost
/// with an unknown part says so. If several issues, pull requests, roles or pipelines were linked when a turn ran, the
/// turn is shown under each of them and counts once in the total.
///
/// Without a time, a session or a link, the answer covers the last 30 days; `--since all` covers everything.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Cost of each issue in the last week
    siglum cost --by issue --since 7d

  Cost of each model on issue 42
    siglum cost --by model --link issue=42

  Cost of each agent from the beginning, in all repositories
    siglum cost --by agent --since all --all

  What an issue cost the team
    siglum cost --link issue=42 --team")]
pub struct Args {
    /// Group usage by this dimension
    #[arg(long, value_name = "WHAT", default_value = "session", value_parser = by())]
    pub by: By,
    /// Only from this time on: `2h`, `3d`, `1w`, `yesterday`, `2026-01-31`, RFC 3339, or `all`
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Since>,
    /// Only before this time; a date includes the whole day
    #[arg(long, value_name = "TIME", value_parser = time::until)]
    pub until: Option<Timestamp>,
    /// Limit to N rows; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Limit to this session: its id, the last digits of it, or the agent's native id
    #[arg(long)]
    pub session: Option<String>,
    /// Limit to sessions of this agent
    #[arg(long, value_name = "AGENT", value_parser = super::session::agent)]
    pub agent: Option<AgentName>,
    /// Limit to messages of this model
    #[arg(long)]
    pub model: Option<String>,
    /// Limit to turns with this link: issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME or label=KEY=VALUE
    #[arg(long, value_name = "FACT")]
    pub link: Vec<Link>,
    #[command(flatten)]
    pub place: Where,
    /// Explain the difference from the plain sum of all records
    #[arg(long)]
    pub explain: bool,
    /// Use the team gateway instead of the local ledger; days are in UTC; needs a launcher token
    #[arg(long, conflicts_with = "explain")]
    pub team: bool,
}

/// From when on usage is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From the beginning.
    All,
    Time(Timestamp),
}

/// Reads from when on; for clap.
pub fn since(text: &str) -> Result<Since, String> {
    match text {
        "all" => Ok(Since::All),
        _ => time::since(text)
            .map(Since::Time)
            .map_err(|error| format!("{error}, or `all`")),
    }
}

impl Args {
    /// Whether the answer is of the last days alone, because nothing narrows it.
    const fn is_recent(&self) -> bool {
        self.since.is_none()
            && self.until.is_none()
            && self.session.is_none()
            && self.link.is_empty()
    }

    /// From when on messages count.
    fn from(&self) -> Option<Timestamp> {
        match self.since {
            Some(Since::Time(at)) => Some(at),
            None if self.is_recent() => Some(time::days_ago(RECENT_DAYS)),
            Some(Since::All) | None => None,
        }
    }
}

fn by() -> impl clap::builder::TypedValueParser<Value = By> {
    let find = |word: String| By::ALL.into_iter().find(|by| by.word() == word);
    PossibleValuesParser::new(By::ALL.map(By::word))
        .map(move |word| find(word).expect("because only these words are taken"))
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let found = match args.team {
        true => team::find(args, cx)?,
        false => find(args, cx)?,
    };
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json::from(found));
    }
    if found.report.rows.is_empty() && !args.explain {
        return nothing(args, cx, found.source.as_ref());
    }
    if let Some(source) = &found.source {
        print_source(cx, source)?;
    }
    if args.is_recent() {
        let days = format!("Last {RECENT_DAYS} days (`--since all` covers everything)");
        cx.ui.line(&days)?;
    }
    cx.ui
        .table(&fitting(cx, |count| table(args, &found, count)))?;
    if let Some(difference) = &found.explained {
        cx.ui.line("")?;
        cx.ui
            .table(&fitting(cx, |count| explained(difference, count)))?;
    }
    print_hints(cx, &found);
    Ok(())
}

/// The JSON answer.
#[cfg(feature = "gateway")]
pub fn answer(args: &Args, cx: &Cx) -> Result<Json, CommandError> {
    find(args, cx).map(Json::from)
}

/// A report, with what it is shown with.
struct Answer {
    report: CostReportJson,
    /// The difference to the plain sum of all records, if it was asked for.
    explained: Option<Explained>,
    /// The repositories of the local ledger.
    repositories: Vec<RepositoryRecord>,
    /// The gateway that the answer is from, with `--team`.
    source: Option<Source>,
}

fn find(args: &Args, cx: &Cx) -> Result<Answer, CommandError> {
    let prices = prices()?;
    let (mut ledger, here) = store::settled(cx)?;
    let session = match &args.session {
        Some(text) => Some(find::session(&mut ledger, text)?),
        None => None,
    };
    let repositories = match session {
        Some(_) => Vec::new(),
        None => args.place.listed(cx, &mut ledger, here)?,
    };
    let query = CostQuery {
        by: args.by,
        session,
        repositories,
        agent: args.agent.clone(),
        model: args.model.clone(),
        since: args.from(),
        until: args.until,
        links: args.link.clone(),
        limit: args.limit,
    };
    let world = cx.world()?;
    while worker::fold_sessions(&world, &mut ledger, FOLDED)? > 0 {}
    let costs = cost::cost(&mut ledger, &query, &prices, &ui::day)?;
    let repositories = read(&mut ledger, repositories::known)?;
    Ok(Answer {
        report: CostReportJson::new(&query, &costs, &prices, &repositories),
        explained: args.explain.then_some(costs.explained),
        repositories,
        source: None,
    })
}

/// The user's own prices.
fn prices_file() -> PathBuf {
    config::user_file().with_file_name("prices.json")
}

/// The prices that come with the program, and before them the user's own.
pub fn prices() -> Result<Prices, CommandError> {
    let file = prices_file();
    let text = match regular_file::read_settings(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Prices::built_in().clone()),
        Err(error) => return Err(CommandError::failed(format!("{}: {error}", file.display()))),
    };
    let own = Prices::parse(&text);
    own.map(|own| own.before(Prices::built_in()))
        .map_err(|error| {
            let cause = std::error::Error::source(&error).map(|s| format!(": {s}"));
            let cause = cause.unwrap_or_default();
            CommandError::failed(format!("{}: {error}{cause}", file.display()))
                .hint("Repair the file, or remove it to use the built-in prices.")
        })
}

fn nothing(args: &Args, cx: &Cx, source: Option<&Source>) -> Result<(), CommandError> {
    if let Some(Source { gateway, .. }) = source {
        cx.ui.status(format!("No usage at {gateway} matches."));
        if args.is_recent() {
            cx.ui.hint(format!(
                "This is of the last {RECENT_DAYS} days; `--since all` covers everything."
            ));
        }
        return Ok(());
    }
    let any = UsageFilter {
        limit: 1,
        ..UsageFilter::default()
    };
    let some = !read(&mut store::open(cx)?, |tx| tx.usages(&any))?.is_empty();
    cx.ui.status(if some {
        "No usage matches; run `siglum cost --all --since all --limit 0` to show all."
    } else {
        "No usage is recorded yet: it is read from the agents' transcripts and telemetry."
    });
    Ok(())
}

fn print_hints(cx: &Cx, found: &Answer) {
    let report = &found.report;
    if report.more {
        cx.ui
            .hint("There are more; pass `--limit 0` to show all of them.");
    }
    if report.overlapping > 0 {
        cx.ui.hint(format!(
            "Rows overlap: {} in more than one row; the total counts each once.",
            ui::plural(report.overlapping, "message")
        ));
    }
    if !report.unpriced.is_empty() {
        cx.ui.hint(unpriced(found));
    }
}

/// Which models have no price, and what to do.
fn unpriced(found: &Answer) -> String {
    let mut never: Vec<&str> = Vec::new();
    let mut later: Vec<String> = Vec::new();
    for UnpricedModelJson { model, known_from } in &found.report.unpriced {
        match (model, known_from) {
            (Some(model), Some(from)) => {
                let day = &from.to_string()[.."2026-01-31".len()];
                later.push(format!("{model} before {day}"));
            }
            (Some(model), None) => never.push(model),
            (None, _) => never.push("an unnamed model"),
        }
    }
    let mut sentences = Vec::new();
    if !never.is_empty() {
        let (names, date) = (never.join(", "), &found.report.prices);
        sentences.push(format!(
            "No price is known for {names} (prices are as of {date})."
        ));
    }
    if !later.is_empty() {
        sentences.push(format!("No price is known for {}.", later.join(", ")));
    }
    // A gateway has prices of its own.
    if found.source.is_none() {
        sentences.push(format!("Add one in {}.", Cx::tilde(&prices_file())));
    }
    sentences.join(" ")
}

const TOKENS: [&str; 5] = ["INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST"];

/// How a number of tokens is written.
type Count = fn(u64) -> String;

/// A table with its numbers whole where there is room, else rounded.
fn fitting(cx: &Cx, table: impl Fn(Count) -> Table) -> Table {
    let whole = table(ui::count);
    match whole.fits(&cx.ui) {
        true => whole,
        false => table(ui::short_count),
    }
}

fn table(args: &Args, found: &Answer, count: Count) -> Table {
    let of_repository = matches!(args.by, By::Branch | By::Issue | By::Pr | By::Commit);
    let (named, titled) = (
        of_repository && args.place.is_everywhere(),
        is_titled(args.by),
    );
    let mut heading = vec![heading(args.by)];
    heading.extend(named.then_some("REPOSITORY"));
    heading.extend(TOKENS);
    heading.extend(titled.then_some("TITLE"));
    let mut table = Table::new(heading);
    let report = &found.report;
    for row in &report.rows {
        let mut cells = vec![label(args.by, row, &found.repositories)];
        if named {
            let name = repository_name(row, &found.repositories);
            cells.push(Cell::plain(name.unwrap_or_default()));
        }
        cells.extend(used(&row.usage, count));
        if titled {
            cells.push(Cell::plain(row.title.as_deref().unwrap_or_default()));
        }
        table.row(cells);
    }
    let overlap = report.overlapping > 0;
    let mut cells = vec![Cell::plain(if overlap {
        "total (rows overlap)"
    } else {
        "total"
    })];
    cells.extend(named.then(|| Cell::plain("")));
    cells.extend(used(&report.total, count));
    cells.extend(titled.then(|| Cell::plain("")));
    table.row(cells);
    table
}

const fn is_titled(by: By) -> bool {
    matches!(by, By::Session | By::Turn | By::Commit)
}

const fn heading(by: By) -> &'static str {
    match by {
        By::Session => "SESSION",
        By::Turn => "TURN",
        By::Day => "DAY",
        By::Agent => "AGENT",
        By::Model => "MODEL",
        By::Repository => "REPOSITORY",
        By::Branch => "BRANCH",
        By::Issue => "ISSUE",
        By::Pr => "PR",
        By::Role => "ROLE",
        By::Pipeline => "PIPELINE",
        By::Commit => "COMMIT",
    }
}

fn label(by: By, row: &CostRowJson, repositories: &[RepositoryRecord]) -> Cell {
    let Some(value) = &row.key else {
        return Cell::styled(Style::Dim, by.without());
    };
    let short = match by {
        By::Session => value.parse::<SessionId>().ok().map(|id| id.short()),
        By::Turn => value.parse::<TurnId>().ok().map(|id| id.short()),
        By::Commit => Some(value.chars().take(7).collect()),
        By::Repository => repository_name(row, repositories),
        _ => None,
    };
    let style = match by {
        By::Session | By::Turn | By::Commit => Style::Id,
        By::Day => Style::Time,
        _ => Style::Agent,
    };
    Cell::styled(style, short.unwrap_or_else(|| value.clone()))
}

/// The name of a row's repository as people know it: where it is fetched from, else that of its first checkout.
fn repository_name(row: &CostRowJson, repositories: &[RepositoryRecord]) -> Option<String> {
    if let Some(remote) = &row.repository_remote {
        return Some(remote.clone());
    }
    let name = row.repository.as_deref()?;
    let record = repositories.iter().find(|record| record.name() == name);
    let path = record.map_or(name, RepositoryRecord::checkout);
    let path = path.strip_suffix("/.git").unwrap_or(path);
    let last = path.rsplit('/').find(|part| !part.is_empty());
    Some(last.unwrap_or(path).to_owned())
}

fn used(usage: &CostUsageJson, count: Count) -> Vec<Cell> {
    let mut cells = numbers(usage.tokens.into(), count);
    let cost = Cost::from(&usage.cost);
    let cell = Cell::number(cost.to_string());
    cells.push(if cost.is_whole() {
        cell
    } else {
        cell.with(Style::Warning)
    });
    cells
}

fn numbers(tokens: Tokens, count: Count) -> Vec<Cell> {
    [
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write,
    ]
    .map(|n| Cell::number(count(n)))
    .to_vec()
}

/// The parts that make the difference between all records and those that are counted.
fn explained(explained: &Explained, count: Count) -> Table {
    let heading = [
        "RECORDS",
        "COUNT",
        "INPUT",
        "OUTPUT",
        "CACHE READ",
        "CACHE WRITE",
        "",
    ];
    let mut table = Table::new(heading.to_vec());
    let rows: [(&str, &Records); 5] = [
        ("all records", &explained.records),
        ("- repeated by the same source", &explained.repeated),
        ("- reported by another source too", &explained.retold),
        ("- copied from another session", &explained.copied),
        ("= counted, one per message", &explained.counted),
    ];
    for (what, records) in rows {
        let mut cells = vec![Cell::plain(what), Cell::number(count(records.count))];
        cells.extend(numbers(records.tokens, count));
        cells.push(Cell::plain(""));
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_sum_up_has_a_word() {
        for by in By::ALL {
            assert_eq!(heading(by).to_lowercase(), by.word());
        }
    }
}
