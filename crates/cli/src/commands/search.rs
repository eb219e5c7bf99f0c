//! `siglum search`: turns of sessions by what was said and done in them.

mod team;

use std::process::ExitCode;

use serde::Serialize;
use siglum_domain::search::SearchQuery;
use siglum_domain::{AgentName, SessionId};
use siglum_engine::commits::cards;
use siglum_engine::identity::repositories;
use siglum_engine::views::search::{self, Query, SearchIndexUse, SearchListJson, SearchResultJson};
use siglum_engine::views::session::SessionJson;
use siglum_engine::worker;
use siglum_ledger::{SessionFilter, read};

use super::finder::{self, Choice, Purpose, Wanted};
use super::resume;
use super::session::export::Format;
use super::session::show::{self, Depth};
use super::team::print_source;
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::store;
use crate::team::{Source, SourceJson};
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

  Find turns that contain these words
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

/// The JSON form of the answer: the list that all doors give, and what only the command adds.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    #[serde(flatten)]
    list: SearchListJson,
    /// How many sessions of this ledger were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_at: Option<usize>,
    /// The gateway that the answer is from, with `--team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceJson>,
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
    let found = match args.team {
        true => team::find(args, cx)?,
        false => find(args, cx)?,
    };
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json::from(found));
    }
    let list = &found.list;
    if list.items.is_empty() {
        cx.ui.status(match (&found.source, found.looked_at) {
            (Some(source), _) => format!("No matches at {}.", source.gateway),
            (None, Some(count)) if !list.index.used => {
                format!("No matches in {}.", ui::plural(count as u64, "session"))
            }
            _ => "No matches.".to_owned(),
        });
    } else {
        if let Some(source) = &found.source {
            print_source(cx, source)?;
        }
        cx.ui.table(&table(&list.items))?;
    }
    if found.source.is_some() {
        team::note_more(args, cx, list);
    } else {
        note_index(cx, list.index);
        note_next(cx, list);
    }
    Ok(())
}

/// The JSON answer.
#[cfg(feature = "gateway")]
pub fn answer(args: &Args, cx: &Cx) -> Result<Json, CommandError> {
    find(args, cx).map(Json::from)
}

/// What was found, and where.
struct Answer {
    list: SearchListJson,
    /// How many sessions of this ledger were looked at.
    looked_at: Option<usize>,
    /// The gateway that the answer is from, with `--team`.
    source: Option<Source>,
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
    let list = read(&mut ledger, |tx| {
        let known = repositories::known(tx)?;
        let found = findings.found.iter();
        let sessions = found.map(|found| SessionJson::from_listed(&found.session, &known));
        let mut list = SearchListJson::new(&findings, sessions.collect());
        for item in &mut list.items {
            let session = item.session.id;
            item.resume = cards::card(tx, session)?.and_then(|card| card.resume);
            for hit in &mut item.hits {
                hit.show = hit.turn.map(|turn| show_command(session, Some(turn)));
            }
        }
        Ok(list)
    })?;
    Ok(Answer {
        list,
        looked_at: Some(findings.looked_at),
        source: None,
    })
}

/// Says what the index lacks.
fn note_index(cx: &Cx, index: SearchIndexUse) {
    let behind = ui::plural(index.behind, "session");
    if !index.used {
        cx.ui.warning(format!(
            "the search index is not built yet ({behind} to go); only prompts, links, commits, names and paths of the newest sessions were searched"
        ));
    } else if index.behind > 0 {
        cx.ui.warning(format!(
            "the search index lacks the newest state of {behind}; the worker adds them"
        ));
    }
}

/// Says how to go on from the best match.
fn note_next(cx: &Cx, list: &SearchListJson) {
    if list.more {
        cx.ui.hint(match list.index.used {
            true => "There are more matches; narrow the search, or pass `--limit 0` to show all of them.",
            false => "There are more sessions; pass `--within 0` to search all of them, `--limit 0` to show all matches.",
        });
    }
    let Some(best) = list.items.first() else {
        return;
    };
    let turn = best.hits.iter().find_map(|hit| hit.turn);
    let mut hint = format!("Run `{}` to read it", show_command(best.session.id, turn));
    if let Some(resume) = &best.resume {
        hint += &format!(", or `{}` to continue it", ui::one_line(resume, 300));
    }
    cx.ui.hint(hint + ".");
}

/// The command that shows a turn, or a session.
fn show_command(session: SessionId, turn: Option<u64>) -> String {
    let show = format!("siglum show {}", session.short());
    turn.map_or_else(|| show.clone(), |turn| format!("{show} --turn {turn}"))
}

impl From<Answer> for Json {
    fn from(answer: Answer) -> Self {
        Self {
            looked_at: answer.looked_at,
            source: answer.source.as_ref().map(SourceJson::from),
            list: answer.list,
        }
    }
}

/// A row for each text, the session named in the first of its rows.
fn table(found: &[SearchResultJson]) -> Table {
    let mut table = Table::new(vec!["SESSION", "AGENT", "LAST", "TURN", "WHERE", "TEXT"]);
    for SearchResultJson { session, hits, .. } in found {
        let mut head = Some(vec![
            Cell::styled(Style::Id, session.id.short()),
            Cell::styled(Style::Agent, AgentName::word(session.agent.as_ref())),
            Cell::styled(Style::Time, ui::when(session.last_at)),
        ]);
        for hit in hits {
            let blank = || vec![Cell::plain(""), Cell::plain(""), Cell::plain("")];
            let mut row = head.take().unwrap_or_else(blank);
            row.push(Cell::number(
                hit.turn.map(|turn| turn.to_string()).unwrap_or_default(),
            ));
            row.push(Cell::plain(hit.place.word()));
            let ranges: Vec<_> = hit.ranges.iter().map(|r| (r.start, r.end)).collect();
            row.push(Cell::marked(&hit.text, &ranges));
            table.row(row);
        }
    }
    table
}
