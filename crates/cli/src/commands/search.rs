//! `siglum search`: sessions by words.

use serde::Serialize;
use siglum_domain::AgentName;
use siglum_engine::identity::repositories;
use siglum_engine::views::search::{self, Findings, Query, SearchResult, Words};
use siglum_ledger::{RepositoryRecord, SessionFilter, read};

use super::session::list::Session;
use super::team;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::store;
use crate::time::Period;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.search/1";

/// Search sessions by prompt, link, commit, id or path
///
/// A session matches if it contains every word, in any case and order, in its prompts, its links, the ids and
/// subjects of its commits, its ids, or the path that it works in. Agent messages and tool output are not searched. A
/// link such as issue=42, pr=7 or role=coder finds the sessions that it is attached to, and #42 those with the issue
/// or the pull request of this number. There is no index: the search scans the newest sessions, as many as `--within`
/// allows.
#[derive(clap::Args, Debug, Clone)]
#[command(after_long_help = "\
Examples:
  Find sessions by the words of their prompts
    siglum search cart rounding

  Find the sessions of an issue in all repositories
    siglum search issue=42 --all

  Find what the team discussed in this repository
    siglum search cart rounding --team")]
pub struct Args {
    /// Word to search for, or a part of one
    #[arg(required = true, value_name = "WORD")]
    pub words: Vec<String>,
    #[command(flatten)]
    pub period: Period,
    /// Limit to N sessions; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Scan only the newest N sessions; 0 means all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub within: usize,
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT", value_parser = super::session::agent)]
    pub agent: Option<AgentName>,
    #[command(flatten)]
    pub place: Where,
    /// Search the sessions at the team's gateway, and nothing of this machine; needs a launcher token
    #[arg(long)]
    pub team: bool,
}

/// The JSON form of the answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    found: Vec<FoundJson>,
    /// How many sessions were looked through, newest first.
    looked_at: usize,
    /// Whether there are older ones that were not.
    more: bool,
}

/// A session that was found.
#[derive(Serialize, schemars::JsonSchema)]
struct FoundJson {
    session: Session,
    hits: Vec<HitJson>,
}

/// A text in which a word stands.
#[derive(Serialize, schemars::JsonSchema)]
struct HitJson {
    /// `prompt`, `link`, `commit`, `name` or `directory`.
    place: String,
    /// The part of it around the first word.
    text: String,
    at: Option<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if args.team {
        let query = team::search::SearchQuery {
            words: &args.words,
            place: &args.place,
            period: args.period,
            agent: args.agent.as_ref(),
            limit: args.limit,
            within: args.within,
        };
        return team::search::run(cx, &query);
    }
    let (findings, repositories) = find(args, cx)?;
    if cx.ui.json {
        return cx
            .ui
            .json(SCHEMA, Json::from_findings(&findings, &repositories));
    }
    if findings.found.is_empty() {
        cx.ui.status(format!(
            "No matches in {}.",
            ui::plural(findings.looked_at as u64, "session")
        ));
    } else {
        cx.ui.table(&table(&findings.found))?;
    }
    if findings.more {
        cx.ui.hint(
            "There are more sessions; pass `--within 0` to search all of them, `--limit 0` to show all matches.",
        );
    }
    Ok(())
}

/// The JSON answer.
#[cfg(feature = "gateway")]
pub fn answer(args: &Args, cx: &Cx) -> Result<Json, CommandError> {
    let (findings, repositories) = find(args, cx)?;
    Ok(Json::from_findings(&findings, &repositories))
}

fn find(args: &Args, cx: &Cx) -> Result<(Findings, Vec<RepositoryRecord>), CommandError> {
    let words = Words::parse(args.words.iter().map(String::as_str))
        .ok_or_else(|| CommandError::usage("no search terms given"))?;
    let (mut ledger, here) = store::settled(cx)?;
    let repositories = args.place.listed(cx, &mut ledger, here)?;
    let query = Query {
        words,
        sessions: SessionFilter {
            repositories,
            agent: args.agent.clone(),
            since: args.period.since,
            until: args.period.until,
            limit: args.within,
            ..SessionFilter::default()
        },
        commits_in: Vec::new(),
        most: match args.limit {
            0 => usize::MAX,
            limit => limit,
        },
    };
    let world = cx.world()?;
    let findings = search::search(&world, &mut ledger, &query)?;
    let repositories = read(&mut ledger, repositories::known)?;
    Ok((findings, repositories))
}

impl Json {
    fn from_findings(findings: &Findings, repositories: &[RepositoryRecord]) -> Self {
        let found = findings.found.iter().map(|found| FoundJson {
            session: Session::from_listed(&found.session, repositories),
            hits: found.hits.iter().map(HitJson::from_hit).collect(),
        });
        Self {
            found: found.collect(),
            looked_at: findings.looked_at,
            more: findings.more,
        }
    }
}

impl HitJson {
    fn from_hit(hit: &search::Hit) -> Self {
        Self {
            place: hit.place.word().to_owned(),
            text: hit.text.clone(),
            at: hit.at.map(|at| at.to_string()),
        }
    }
}

/// A row for each text, the session named in the first of its rows.
fn table(found: &[SearchResult]) -> Table {
    let mut table = Table::new(vec!["SESSION", "AGENT", "LAST", "WHERE", "TEXT"]);
    for SearchResult { session, hits } in found {
        let record = &session.listing.record;
        let mut head = Some(vec![
            Cell::styled(Style::Id, record.id.short()),
            Cell::styled(Style::Agent, record.agent.as_str()),
            Cell::styled(Style::Time, ui::when(record.last_at)),
        ]);
        for hit in hits {
            let blank = || vec![Cell::plain(""), Cell::plain(""), Cell::plain("")];
            let mut row = head.take().unwrap_or_else(blank);
            row.push(Cell::plain(hit.place.word()));
            row.push(Cell::plain(&hit.text));
            table.row(row);
        }
    }
    table
}
