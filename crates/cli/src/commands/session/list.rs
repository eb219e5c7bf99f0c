//! `siglum session list`.

use std::path::Path;

use serde::Serialize;
use siglum_domain::{AgentName, RepositoryId};
use siglum_engine::identity::{names, repositories};
use siglum_engine::views::overview::{self, Listed, Stand};
use siglum_ledger::{
    Forgotten, Ledger, RepositoryRecord, SessionFilter, SessionOrigin, SessionRecord, read,
};

use crate::clock;
use crate::commands::link::{Fact, Facts, words};
use crate::commands::team;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::store;
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
        let query = team::sessions::SessionQuery {
            place: &args.place,
            period: args.period,
            agent: args.agent.as_ref(),
            open: args.open,
            links: args.facts.links(),
            limit: args.limit,
        };
        return team::sessions::run(cx, &query);
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
        let rows = sessions.iter();
        let sessions = rows
            .map(|s| Session::from_listed(s, &repositories))
            .collect();
        return cx.ui.json(SCHEMA, Json { sessions, more });
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
            Cell::styled(Style::Agent, record.agent.as_str()),
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
        row.push(match title(session) {
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

/// The name that a person gave to a session, else the first line of its first prompt.
pub fn title(session: &Listed) -> Option<&str> {
    let name = names::name(&session.links);
    name.or(session.listing.summary.title.as_deref())
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
    sessions: Vec<Session>,
    /// Whether there are more than were asked for.
    more: bool,
}

/// A session and what it amounts to.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Session {
    session: String,
    agent: String,
    conversation_id: String,
    /// `working`, `waiting`, `ended` or `imported`.
    state: String,
    /// `live`, `import`, `api` or `launch`.
    origin: String,
    /// The ledger that alone extends it; here is a replica where that is another one.
    home: String,
    title: Option<String>,
    created_at: String,
    last_at: String,
    ended_at: Option<String>,
    /// The git common directory of the repository that it works in; behind the name of its machine, if that is another one.
    repository: Option<String>,
    /// Where that repository is fetched from, as `host/owner/name`; the same for each of its clones.
    repository_remote: Option<String>,
    worktree: Option<String>,
    /// What is attached to it now.
    links: Vec<Fact>,
    cwd: Option<String>,
    parent: Option<String>,
    /// What it goes on from, if it is a fork.
    forked_from: Option<ForkJson>,
    /// From then on nothing is written to it.
    archived_at: Option<String>,
    /// Why it can be read and not written to: what is stored of it is damaged.
    quarantined: Option<String>,
    /// What was erased of it.
    forgotten: Option<ForgottenJson>,
    models: Vec<String>,
    turns: u64,
    tool_calls: u64,
    subagents: u64,
    commits: u64,
    tokens: Tokens,
}

/// The session that another one goes on from.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ForkJson {
    session: String,
    /// The last entry of it that is part of the history of both; absent where nobody knows.
    entry: Option<u64>,
}

impl ForkJson {
    pub fn from_record(record: &SessionRecord) -> Option<Self> {
        match record.parent {
            Some((parent, relation)) if relation.shares_history() => Some(Self {
                session: parent.to_string(),
                entry: record.parent_at,
            }),
            _ => None,
        }
    }
}

/// What was erased of a session.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ForgottenJson {
    /// `parts` or `whole`.
    what: String,
    /// When something was erased last.
    at: String,
}

impl ForgottenJson {
    pub fn from_forgotten(forgotten: Forgotten) -> Self {
        let what = match forgotten {
            Forgotten::Parts { .. } => "parts",
            Forgotten::Whole { .. } => "whole",
        };
        Self {
            what: what.to_owned(),
            at: forgotten.at().to_string(),
        }
    }
}

/// Tokens.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl From<siglum_domain::observation::Tokens> for Tokens {
    fn from(t: siglum_domain::observation::Tokens) -> Self {
        Self {
            input: t.input,
            output: t.output,
            cache_read: t.cache_read,
            cache_write: t.cache_write,
        }
    }
}

/// The word for how a session came into the ledger.
pub const fn origin(origin: SessionOrigin) -> &'static str {
    match origin {
        SessionOrigin::Live => "live",
        SessionOrigin::Import => "import",
        SessionOrigin::Api => "api",
        SessionOrigin::Launch => "launch",
    }
}

impl Session {
    pub fn from_listed(session: &Listed, repositories: &[RepositoryRecord]) -> Self {
        let (record, summary) = (&session.listing.record, &session.listing.summary);
        let repository = repositories
            .iter()
            .find(|r| Some(r.id) == record.repository);
        Self {
            session: record.id.to_string(),
            agent: record.agent.to_string(),
            conversation_id: record.conversation.to_string(),
            state: session.stand.word().to_owned(),
            origin: origin(record.origin).to_owned(),
            home: record.home.to_string(),
            title: title(session).map(str::to_owned),
            created_at: record.created_at.to_string(),
            last_at: record.last_at.to_string(),
            ended_at: record.ended_at.map(|t| t.to_string()),
            repository: repository.map(|r| r.common_dir.clone()),
            repository_remote: repository
                .and_then(|r| r.identity.hosted_remote())
                .map(str::to_owned),
            worktree: record.worktree.clone(),
            links: session.links.iter().map(Fact::from).collect(),
            cwd: record.cwd.clone(),
            parent: record.parent.map(|(p, _)| p.to_string()),
            forked_from: ForkJson::from_record(record),
            archived_at: record.archived_at.map(|t| t.to_string()),
            quarantined: record.quarantined.clone(),
            forgotten: record.forgotten.map(ForgottenJson::from_forgotten),
            models: summary.models.clone(),
            turns: summary.turns,
            tool_calls: summary.tool_calls,
            subagents: summary.subagents,
            commits: session.listing.commits,
            tokens: summary.tokens.into(),
        }
    }
}
