//! Search at the team's gateway, for `siglum search --team`.

use serde::Serialize;
use siglum_domain::AgentName;
use siglum_domain::search::SearchQuery;

use super::documents::SearchResult;
use super::{print_source, reader};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::team::SourceJson;
use crate::team::reader::Paging;
use crate::time::Period;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.team.search/1";

/// The most sessions of a page.
const PAGE: usize = 100;
/// How many sessions a gateway looks through for one page.
const WITHIN: usize = 500;
/// The most pages.
const PAGES: usize = 100;

/// What is looked for, and where.
pub struct TeamQuery<'a> {
    pub words: &'a [String],
    pub place: &'a Where,
    pub period: Period,
    pub agent: Option<&'a AgentName>,
    /// At most this many sessions; 0 means all.
    pub limit: usize,
    /// Look through at least this many of the newest sessions; 0 means all.
    pub within: usize,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// The sessions, the best first.
    found: Vec<SearchResult>,
    /// Whether there are sessions that were not looked through.
    more: bool,
    source: SourceJson,
}

pub fn run(cx: &Cx, query: &TeamQuery<'_>) -> Result<(), CommandError> {
    let words = query.words.join(" ");
    SearchQuery::parse(&words, clock::now())
        .map_err(|error| CommandError::usage(error.to_string()))?;
    let (reader, mut parameters) = reader(cx, query.place, query.period)?;
    parameters.push(("q", words.trim().to_owned()));
    parameters.extend(query.agent.map(|agent| ("agent", agent.to_string())));
    let paging = Paging {
        rows: query.limit,
        page: PAGE,
        pages: match query.within {
            0 => PAGES,
            within => within.div_ceil(WITHIN).min(PAGES),
        },
    };
    let (found, more) = reader.list::<SearchResult>("/v1/search", &parameters, paging)?;
    let found: Vec<SearchResult> = found.into_iter().map(SearchResult::cleaned).collect();
    let source = reader.source();
    if cx.ui.json {
        let answer = Json {
            found,
            more,
            source: SourceJson::from(&source),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    if found.is_empty() {
        let gateway = &source.gateway;
        cx.ui.status(format!("No matches at {gateway}."));
    } else {
        print_source(cx, &source)?;
        cx.ui.table(&table(&found))?;
    }
    if more {
        cx.ui.hint(match (query.limit, query.within) {
            (0, 0) => "There are more sessions than are searched at once; name a time with `--since` and `--until`.",
            _ => "There are more sessions; pass `--within 0` to search all of them, `--limit 0` to show all matches.",
        });
    }
    Ok(())
}

/// A row for each text, the session named in the first of its rows.
fn table(found: &[SearchResult]) -> Table {
    let mut table = Table::new(vec!["SESSION", "AGENT", "LAST", "TURN", "WHERE", "TEXT"]);
    for SearchResult { session, hits } in found {
        let mut head = Some(vec![
            Cell::styled(Style::Id, session.id.short()),
            Cell::styled(Style::Agent, session.agent.as_str()),
            Cell::styled(Style::Time, ui::when(session.last_at)),
        ]);
        for hit in hits {
            let blank = || vec![Cell::plain(""), Cell::plain(""), Cell::plain("")];
            let mut row = head.take().unwrap_or_else(blank);
            row.push(Cell::number(
                hit.turn.map(|turn| turn.to_string()).unwrap_or_default(),
            ));
            row.push(Cell::plain(&hit.place));
            row.push(Cell::plain(&hit.text));
            table.row(row);
        }
    }
    table
}
