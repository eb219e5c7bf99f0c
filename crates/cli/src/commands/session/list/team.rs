//! Sessions at the team's gateway, for `siglum session list --team`.

use siglum_domain::AgentName;
use siglum_engine::views::session::{SessionJson, SessionListJson};

use super::{Args, Json, SCHEMA};
use crate::clock;
use crate::commands::team::{link_words, linked, print_source, reader, state};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::team::SourceJson;
use crate::team::reader::Paging;
use crate::ui::{self, Cell, Style, Table};

/// The most sessions of a page.
const PAGE: usize = 500;
/// The most pages.
const PAGES: usize = 20;

pub(super) fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let (reader, mut parameters) = reader(cx, &args.place, args.period)?;
    let agent = args.agent.as_ref();
    parameters.extend(agent.map(|agent| ("agent", agent.to_string())));
    parameters.extend(args.open.then(|| ("state", "open".to_owned())));
    parameters.extend(linked(&args.facts.links()));
    let paging = Paging {
        rows: args.limit,
        page: PAGE,
        pages: PAGES,
    };
    let (found, more) = reader.list::<SessionJson>("/v1/sessions", &parameters, paging)?;
    let sessions: Vec<SessionJson> = found.into_iter().map(SessionJson::cleaned).collect();
    let source = reader.source();
    if cx.ui.json {
        let answer = Json {
            list: SessionListJson {
                items: sessions,
                more,
                next: None,
            },
            source: Some(SourceJson::from(&source)),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    if sessions.is_empty() {
        let gateway = &source.gateway;
        cx.ui.status(format!("No session at {gateway} matches."));
        return Ok(());
    }
    print_source(cx, &source)?;
    cx.ui.table(&table(&sessions, args.place.all))?;
    if more {
        cx.ui.hint(match args.limit {
            0 => {
                "There are more than are listed at once; name a time with `--since` and `--until`."
            }
            _ => "There are more; pass `--limit 0` to list all of them.",
        });
    }
    Ok(())
}

fn table(sessions: &[SessionJson], all: bool) -> Table {
    let mut heading = vec!["SESSION", "AGENT", "STATE", "LAST", "TURNS", "COMMITS"];
    heading.extend(all.then_some("REPOSITORY"));
    let linked = sessions.iter().any(|session| !session.links.is_empty());
    heading.extend(linked.then_some("LINKS"));
    heading.push("TITLE");
    let mut table = Table::new(heading);
    let now = clock::now();
    for session in sessions {
        let (state, style) = state(session);
        let mut row = vec![
            Cell::styled(Style::Id, session.id.short()),
            Cell::styled(Style::Agent, AgentName::word(session.agent.as_ref())),
            Cell::styled(style, state),
            Cell::styled(Style::Time, ui::age(session.last_at, now)),
            Cell::number(ui::count(session.turns)),
            Cell::number(ui::count(session.commits)),
        ];
        if all {
            let own = session.repository_remote.as_ref();
            let own = own.or_else(|| session.repositories.first());
            row.push(Cell::plain(own.map_or("", String::as_str)));
        }
        if linked {
            row.push(Cell::plain(link_words(session)));
        }
        row.push(match &session.title {
            Some(title) => Cell::plain(title),
            None => Cell::styled(Style::Dim, "(no prompt)"),
        });
        table.row(row);
    }
    table
}
