//! `siglum search`: turns of sessions by what was said and done in them.

use std::process::ExitCode;

use serde::Serialize;
use siglum_domain::search::SearchQuery;
use siglum_domain::{AgentName, SessionId};
use siglum_engine::commits::why;
use siglum_engine::identity::repositories;
use siglum_engine::views::search::{self, Findings, IndexUse, Query, SearchResult};
use siglum_engine::views::session::SessionJson;
use siglum_engine::worker;
use siglum_ledger::{LedgerError, RepositoryRecord, SessionFilter, read};

use super::finder::{self, Choice, Purpose, Wanted};
use super::session::export::Format;
use super::session::show::{self, Depth};
use super::{resume, team};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::store;
use crate::time::Period;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.search/1";
/// How many sessions are printed, and how many the finder lists.
const PRINTED: usize = 20;
const LISTED: usize = 100;
/// The most that the finder lists where all are wanted.
const LISTED_MOST: usize = 1_000;
/// The exit code where somebody left the finder.
const INTERRUPTED: u8 = 130;

/// Search what was said and done in sessions
///
/// Searches prompts, answers, tool calls and their results, paths, commits, links and names of sessions. A turn matches
/// if it contains all terms, in any case and order. Identifiers are found whole and by their parts: `query` finds
/// parse_query and parseQuery. Prompts and recent turns come first.
///
/// Without terms, opens a finder at a terminal: sessions that match what you type, with a preview. Enter shows the session,
/// Ctrl-R resumes it, Ctrl-Y copies its id.
///
/// Terms: word, "a phrase", pre*, path:src/a.rs, agent:codex, repo:NAME, tool:Bash, since:7d, until:2026-01-31,
/// issue:42, pr:7, #42, is:error. Times in a term are those of a turn; dates are days in UTC.
///
/// Of a tool result, the first 2 KiB and the end are searched, and of a call the first 4 KiB. The worker fills the search
/// index; while there is none, the prompts, links, commits, names and paths of the newest sessions are searched, as many
/// as `--within` allows.
#[derive(clap::Args, Debug, Clone)]
#[command(after_long_help = "\
Examples:
  Find sessions as you type
    siglum search

  Find turns in which these words stand
    siglum search cart rounding

  Find failed shell commands of the last week in all repositories
    siglum search is:error tool:bash since:7d --all

  Find what the team discussed in this repository
    siglum search '\"cart rounding\"' --team")]
pub struct Args {
    /// Word, phrase or filter to search for; default: what you type in the finder
    #[arg(value_name = "TERM")]
    pub words: Vec<String>,
    #[command(flatten)]
    pub period: Period,
    /// Limit to N sessions; 0 means all; default: 20, or 100 in the finder
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
    /// Without an index, scan only the newest N sessions; 0 means all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub within: usize,
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT", value_parser = super::session::agent)]
    pub agent: Option<AgentName>,
    #[command(flatten)]
    pub place: Where,
    /// Use the team gateway instead of the local ledger; needs a launcher token
    #[arg(long)]
    pub team: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    found: Vec<FoundJson>,
    /// How many sessions were looked at.
    looked_at: usize,
    /// Whether there are others that were not.
    more: bool,
    index: IndexJson,
}

/// How the search index was used.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IndexJson {
    /// `used`, or `missing`: then prompts, links, commits, names and paths of the newest sessions were searched.
    state: String,
    /// Sessions that it lacks in their newest state.
    behind: u64,
}

/// A session that was found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FoundJson {
    session: SessionJson,
    /// The best first.
    hits: Vec<HitJson>,
    /// The command of the agent that resumes the session.
    resume: Option<String>,
}

/// A text in which something stands that was searched for.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct HitJson {
    /// `prompt`, `answer`, `call`, `result`, `path`, `commit`, `link`, `name` or `directory`.
    place: String,
    /// The part of it around the first place.
    text: String,
    /// Where in `text` it stands: characters, each from and before which.
    ranges: Vec<(usize, usize)>,
    /// The number of the turn in the session.
    turn: Option<u64>,
    /// The command that shows the turn.
    show: Option<String>,
    at: Option<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<ExitCode, CommandError> {
    if args.words.is_empty() {
        return find_on_screen(args, cx);
    }
    print(args, cx).map(|()| ExitCode::SUCCESS)
}

/// Has a person search, and does what they choose.
fn find_on_screen(args: &Args, cx: &Cx) -> Result<ExitCode, CommandError> {
    if args.team || !finder::is_possible(cx) {
        return Err(CommandError::usage("no search terms given")
            .hint("At a terminal, `siglum search` without terms and `--team` opens a finder."));
    }
    let wanted = Wanted {
        purpose: Purpose::Search,
        place: args.place.clone(),
        agent: args.agent.clone(),
        period: args.period,
        most: match args.limit {
            Some(0) => LISTED_MOST,
            limit => limit.unwrap_or(LISTED),
        },
        text: String::new(),
    };
    match finder::choose(cx, &wanted)? {
        None => return Ok(ExitCode::from(INTERRUPTED)),
        Some(Choice::Resume(session)) => resume::resume(cx, session)?,
        Some(Choice::Show(session, turn)) => {
            let depth = Depth {
                full: false,
                turn: turn.and_then(|turn| usize::try_from(turn).ok()),
                limit: None,
            };
            let _pager = cx.pager();
            let mut ledger = store::open(cx)?;
            show::session(cx, &mut ledger, session, depth, Format::default())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if args.team {
        let query = team::search::TeamQuery {
            words: &args.words,
            place: &args.place,
            period: args.period,
            agent: args.agent.as_ref(),
            limit: args.limit.unwrap_or(PRINTED),
            within: args.within,
        };
        return team::search::run(cx, &query);
    }
    let found = find(args, cx)?;
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json::from_answer(&found));
    }
    let findings = &found.findings;
    if findings.found.is_empty() {
        cx.ui.status(match findings.index.is_used {
            true => "No matches.".to_owned(),
            false => format!(
                "No matches in {}.",
                ui::plural(findings.looked_at as u64, "session")
            ),
        });
    } else {
        cx.ui.table(&table(&findings.found))?;
    }
    note_index(cx, findings.index);
    note_next(cx, &found);
    Ok(())
}

/// The JSON answer.
#[cfg(feature = "gateway")]
pub fn answer(args: &Args, cx: &Cx) -> Result<Json, CommandError> {
    Ok(Json::from_answer(&find(args, cx)?))
}

/// What was found, with what is shown beside it.
struct Answer {
    findings: Findings,
    repositories: Vec<RepositoryRecord>,
    /// The command that resumes each session.
    resumes: Vec<Option<String>>,
}

fn find(args: &Args, cx: &Cx) -> Result<Answer, CommandError> {
    let query = SearchQuery::parse(&args.words.join(" "), clock::now())
        .map_err(|error| CommandError::usage(error.to_string()))?;
    let place = args.place.narrowed(query.repository.as_deref())?;
    let (mut ledger, here) = store::settled(cx)?;
    let repositories = place.listed(cx, &mut ledger, here)?;
    let query = Query {
        query,
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
            Some(0) => usize::MAX,
            limit => limit.unwrap_or(PRINTED),
        },
        after: None,
    };
    let world = cx.world()?;
    worker::catch_up(&world, &mut ledger);
    let findings = search::search(&world, &mut ledger, &query)?;
    if findings.index.waiting > 0 || !findings.index.is_used {
        store::start_worker(cx);
    }
    let (repositories, resumes) = read(&mut ledger, |tx| {
        let sessions = findings.found.iter();
        let resumes = sessions.map(|found| {
            let card = why::card(tx, found.session.listing.record.id)?;
            Ok(card.and_then(|card| card.resume))
        });
        let resumes = resumes.collect::<Result<Vec<_>, LedgerError>>()?;
        Ok((repositories::known(tx)?, resumes))
    })?;
    Ok(Answer {
        findings,
        repositories,
        resumes,
    })
}

/// Says what the index lacks.
fn note_index(cx: &Cx, index: IndexUse) {
    let behind = ui::plural(index.waiting, "session");
    if !index.is_used {
        cx.ui.warning(format!(
            "the search index is not built yet ({behind} to go); only prompts, links, commits, names and paths of the newest sessions were searched"
        ));
    } else if index.waiting > 0 {
        cx.ui.warning(format!(
            "the search index lacks the newest state of {behind}; the worker adds them"
        ));
    }
}

/// Says how to go on from the best match.
fn note_next(cx: &Cx, answer: &Answer) {
    let findings = &answer.findings;
    if findings.more {
        cx.ui.hint(match findings.index.is_used {
            true => "There are more matches; narrow the search, or pass `--limit 0` to show all of them.",
            false => "There are more sessions; pass `--within 0` to search all of them, `--limit 0` to show all matches.",
        });
    }
    let Some(best) = findings.found.first() else {
        return;
    };
    let session = best.session.listing.record.id;
    let turn = best.hits.iter().find_map(|hit| hit.turn);
    let mut hint = format!("Run `{}` to read it", show_command(session, turn));
    if let Some(Some(resume)) = answer.resumes.first() {
        hint += &format!(", `{}` to go on there", ui::one_line(resume, 300));
    }
    cx.ui.hint(hint + ".");
}

/// The command that shows a turn, or a session.
fn show_command(session: SessionId, turn: Option<u64>) -> String {
    let show = format!("siglum show {}", session.short());
    turn.map_or_else(|| show.clone(), |turn| format!("{show} --turn {turn}"))
}

impl Json {
    fn from_answer(answer: &Answer) -> Self {
        let findings = &answer.findings;
        let found = findings.found.iter().zip(&answer.resumes);
        let found = found.map(|(found, resume)| FoundJson {
            session: SessionJson::from_listed(&found.session, &answer.repositories),
            hits: found
                .hits
                .iter()
                .map(|hit| HitJson::from_hit(found.session.listing.record.id, hit))
                .collect(),
            resume: resume.clone(),
        });
        let state = match findings.index.is_used {
            true => "used",
            false => "missing",
        };
        Self {
            found: found.collect(),
            looked_at: findings.looked_at,
            more: findings.more,
            index: IndexJson {
                state: state.to_owned(),
                behind: findings.index.waiting,
            },
        }
    }
}

impl HitJson {
    fn from_hit(session: SessionId, hit: &search::Hit) -> Self {
        Self {
            place: hit.place.word().to_owned(),
            text: hit.excerpt.text.clone(),
            ranges: hit.excerpt.ranges.clone(),
            turn: hit.turn,
            show: hit.turn.map(|turn| show_command(session, Some(turn))),
            at: hit.at.map(|at| at.to_string()),
        }
    }
}

/// A row for each text, the session named in the first of its rows.
fn table(found: &[SearchResult]) -> Table {
    let mut table = Table::new(vec!["SESSION", "AGENT", "LAST", "TURN", "WHERE", "TEXT"]);
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
            row.push(Cell::number(
                hit.turn.map(|turn| turn.to_string()).unwrap_or_default(),
            ));
            row.push(Cell::plain(hit.place.word()));
            row.push(Cell::marked(&hit.excerpt.text, &hit.excerpt.ranges));
            table.row(row);
        }
    }
    table
}
