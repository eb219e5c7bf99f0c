//! `siglum session list`.

mod team;

use std::path::Path;

use serde::Serialize;
use siglum_domain::{AgentName, RepositoryId};
use siglum_engine::identity::repositories;
use siglum_engine::views::overview::{self, Listed, Stand};
use siglum_engine::views::session::{self, SessionListJson};
use siglum_ledger::{Forgotten, Ledger, RepositoryRecord, SessionFilter, read};

use crate::clock;
use crate::commands::link::{Facts, words};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::store;
use crate::team::SourceJson;
use crate::time::Period;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.session.list/1";

/// List sessions, newest first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the sessions that have not ended
    siglum session list --open

  List what agents did yesterday
    siglum session list --since yesterday --until yesterday

  List the sessions of an issue in the last week
    siglum session list --link issue=42 --since 7d

  List what the team's agents did yesterday
    siglum session list --team --since yesterday --until yesterday")]
pub struct Args {
    #[command(flatten)]
    period: Period,
    /// Limit to N rows; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT", value_parser = super::agent)]
    agent: Option<AgentName>,
    /// Only sessions that have not ended
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    facts: Facts,
    #[command(flatten)]
    place: Where,
    /// Use the team gateway instead of the local ledger; needs a launcher token
    #[arg(long)]
    team: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if args.team {
        return team::run(args, cx);
    }
    let (mut ledger, here) = store::settled(cx)?;
    let selected = args.place.listed(cx, &mut ledger, here)?;
    let filter = SessionFilter {
        id: None,
        repositories: selected.clone(),
        agent: args.agent.clone(),
        conversation: None,
        since: args.period.since,
        until: args.period.until,
        created_before: None,
        open: args.open,
        seen: false,
        limit: match args.limit {
            0 => 0,
            limit => limit + 1,
        },
        parent: None,
        links: args.facts.links(),
        order: siglum_ledger::Order::LastActive,
    };
    let mut sessions = overview::sessions(&cx.world()?, &mut ledger, &filter)?;
    if args.open {
        sessions.retain(|s| s.stand != Stand::Ended);
    }
    let more = args.limit > 0 && sessions.len() > args.limit;
    sessions.truncate(if more { args.limit } else { sessions.len() });
    let repositories = read(&mut ledger, repositories::known)?;
    if cx.ui.json {
        let world = cx.world()?;
        let items = read(&mut ledger, |tx| {
            session::shown(&world, tx, &sessions, &repositories)
        })?;
        let list = SessionListJson {
            items,
            more,
            next: None,
        };
        return cx.ui.json(SCHEMA, Json { list, source: None });
    }
    if sessions.is_empty() {
        return nothing(cx, &mut ledger, selected);
    }
    cx.ui
        .table(&table(&sessions, &repositories, args.place.is_everywhere()))?;
    if more {
        cx.ui
            .hint("There are more; pass `--limit 0` to list all of them.");
    }
    Ok(())
}

fn nothing(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    repositories: Vec<RepositoryId>,
) -> Result<(), CommandError> {
    let any = SessionFilter {
        repositories,
        limit: 1,
        ..SessionFilter::default()
    };
    let some = !read(ledger, |tx| tx.sessions(&any))?.is_empty();
    cx.ui.status(if some {
        "No session matches; run `siglum session list --limit 0` to list all."
    } else {
        "No sessions yet: start an agent, or run `siglum import` to import earlier ones."
    });
    Ok(())
}

fn table(sessions: &[Listed], repositories: &[RepositoryRecord], all: bool) -> Table {
    let mut heading = vec!["SESSION", "AGENT", "STATE", "LAST", "TURNS", "COMMITS"];
    heading.extend(all.then_some("REPOSITORY"));
    let linked = sessions.iter().any(|s| !s.links.is_empty());
    heading.extend(linked.then_some("LINKS"));
    heading.push("TITLE");
    let mut table = Table::new(heading);
    let now = clock::now();
    for session in sessions {
        let (record, summary) = (&session.listing.record, &session.listing.summary);
        let mut row = vec![
            Cell::styled(Style::Id, record.id.short()),
            Cell::styled(Style::Agent, record.agent_word()),
            state(session),
            Cell::styled(Style::Time, ui::age(record.last_at, now)),
            Cell::number(ui::count(summary.turns)),
            Cell::number(ui::count(session.listing.commits)),
        ];
        if all {
            row.push(Cell::plain(place(session, repositories)));
        }
        if linked {
            row.push(Cell::plain(words(&session.links)));
        }
        row.push(match session.title() {
            _ if record.quarantined.is_some() => Cell::styled(Style::Warning, "(damaged)"),
            Some(title) => Cell::plain(title),
            None if matches!(record.forgotten, Some(Forgotten::Whole { .. })) => {
                Cell::styled(Style::Dim, "(forgotten)")
            }
            None => Cell::styled(Style::Dim, "(no prompt)"),
        });
        table.row(row);
    }
    table
}

/// Where a session stands; first what keeps it from being written to.
fn state(session: &Listed) -> Cell {
    let record = &session.listing.record;
    if record.quarantined.is_some() {
        return Cell::styled(Style::Warning, "quarantined");
    }
    if record.archived_at.is_some() {
        return Cell::styled(Style::Dim, "archived");
    }
    Cell::styled(style(session.stand), session.stand.word())
}

/// How a state looks.
pub const fn style(stand: Stand) -> Style {
    match stand {
        Stand::Working => Style::Added,
        Stand::Waiting => Style::Time,
        Stand::Ended | Stand::Imported => Style::Dim,
    }
}

/// The name of the checkout that a session works in, as people know it.
pub fn place(session: &Listed, repositories: &[RepositoryRecord]) -> String {
    let record = &session.listing.record;
    let known = record.worktree.clone().or_else(|| {
        let repository = repositories
            .iter()
            .find(|r| Some(r.id) == record.repository)?;
        Some(repository.worktrees.first()?.0.clone())
    });
    let path = known.or_else(|| record.cwd.clone()).unwrap_or_default();
    let name = Path::new(&path).file_name();
    name.map_or(path.clone(), |n| n.to_string_lossy().into_owned())
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    #[serde(flatten)]
    pub list: SessionListJson,
    /// The gateway that gave the answer; absent where it is from this ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceJson>,
}
