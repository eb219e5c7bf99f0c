//! `siglum checkpoint list`.

use siglum_domain::SessionId;
use siglum_engine::commits::cards;
use siglum_engine::views::checkpoints::{self, CheckpointListJson};
use siglum_engine::views::find;
use siglum_ledger::{CheckpointFilter, CheckpointRecord, LedgerError, Transaction, read};

use super::kind;
use crate::clock;
use crate::commands::link::{Facts, words};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::Where;
use crate::store;
use crate::time::Period;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.checkpoint.list/1";

/// List checkpoints, newest first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Checkpoints of the last day
    siglum checkpoint list --since 1d

  Checkpoints of sessions that worked on issue 42
    siglum checkpoint list --link issue=42")]
pub struct Args {
    #[command(flatten)]
    period: Period,
    /// Limit to N checkpoints; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Limit to checkpoints that pin this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    facts: Facts,
    #[command(flatten)]
    place: Where,
}

/// Checkpoints, each with what it is about.
struct Answer {
    list: CheckpointListJson,
    abouts: Vec<Option<String>>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let (mut ledger, here) = store::settled(cx)?;
    let session = match &args.session {
        Some(text) => Some(find::session(&mut ledger, text)?),
        None => None,
    };
    let repositories = match (session, &args.place.repository) {
        (Some(_), None) => Vec::new(),
        _ => args.place.listed(cx, &mut ledger, here)?,
    };
    let filter = CheckpointFilter {
        session,
        links: args.facts.links(),
        repositories,
        since: args.period.since,
        until: args.period.until,
        after: None,
        limit: match args.limit {
            0 => 0,
            limit => limit + 1,
        },
    };
    let found = read(&mut ledger, |tx| {
        let mut records = tx.checkpoints(&filter)?;
        let more = args.limit > 0 && records.len() > args.limit;
        records.truncate(if more { args.limit } else { records.len() });
        let abouts = records.iter().map(|record| about(tx, record));
        let abouts = abouts.collect::<Result<Vec<_>, LedgerError>>()?;
        let list = CheckpointListJson {
            items: checkpoints::shown(tx, &records)?,
            more,
            next: records.last().filter(|_| more).map(|last| last.id),
        };
        Ok(Answer { list, abouts })
    })?;
    answer(args, cx, found, session)
}

fn answer(
    args: &Args,
    cx: &Cx,
    found: Answer,
    session: Option<SessionId>,
) -> Result<(), CommandError> {
    if cx.ui.json {
        return cx.ui.json(SCHEMA, found.list);
    }
    if found.list.items.is_empty() {
        let period = args.period.since.is_some() || args.period.until.is_some();
        let narrowed = period || session.is_some() || !args.facts.links().is_empty();
        cx.ui.status(if narrowed {
            "No checkpoint matches; run `siglum checkpoint list` to list all."
        } else {
            "No checkpoints yet; each commit of a session creates one, and so does its end."
        });
        return Ok(());
    }
    cx.ui.table(&table(&found))?;
    if found.list.more {
        cx.ui
            .hint("There are more; pass `--limit 0` to list all of them.");
    }
    Ok(())
}

/// What a checkpoint is about: the subject of its commit, else what its first session is about.
pub fn about(
    tx: &mut dyn Transaction,
    record: &CheckpointRecord,
) -> Result<Option<String>, LedgerError> {
    if let Some((repository, commit)) = record.repository.zip(record.commit.as_ref()) {
        let facts = tx.commit(repository, commit)?.and_then(|c| c.facts);
        return Ok(facts.map(|f| f.subject));
    }
    match record.pins.first() {
        Some((session, _)) => Ok(cards::card(tx, *session)?.and_then(|c| c.title)),
        None => Ok(None),
    }
}

fn table(found: &Answer) -> Table {
    let mut heading = vec!["CHECKPOINT", "KIND", "COMMIT", "AGE", "SESSIONS"];
    let items = &found.list.items;
    let linked = items.iter().any(|item| !item.links().is_empty());
    heading.extend(linked.then_some("LINKS"));
    heading.push("ABOUT");
    let mut table = Table::new(heading);
    let now = clock::now();
    for (item, about) in items.iter().zip(&found.abouts) {
        let commit = item.commit.as_ref().map_or("", |c| c.short());
        let pins = &item.pins;
        let mut sessions: Vec<String> =
            pins.iter().take(2).map(|pin| pin.session.short()).collect();
        if pins.len() > 2 {
            sessions.push(format!("+{}", pins.len() - 2));
        }
        let mut cells = vec![
            Cell::styled(Style::Id, item.id.short()),
            Cell::plain(kind(item.kind)),
            Cell::styled(Style::Id, commit),
            Cell::styled(Style::Time, ui::age(item.at, now)),
            Cell::styled(Style::Agent, sessions.join(" ")),
        ];
        if linked {
            cells.push(Cell::plain(words(&item.links())));
        }
        cells.push(Cell::plain(about.as_deref().unwrap_or_default()));
        table.row(cells);
    }
    table
}
