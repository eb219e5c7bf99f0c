//! `siglum checkpoint list`.

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_domain::link::Link;
use siglum_engine::commits::{checkpoints, why};
use siglum_engine::views::find;
use siglum_engine::views::session::LinkJson;
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

/// A checkpoint with what it is about.
struct Row {
    record: CheckpointRecord,
    about: Option<String>,
    /// What is attached to each session that it pins.
    links: Vec<Vec<Link>>,
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
    let rows = read(&mut ledger, |tx| {
        let records = tx.checkpoints(&filter)?;
        let row = |record: CheckpointRecord| {
            Ok(Row {
                about: about(tx, &record)?,
                links: checkpoints::links(tx, &record)?,
                record,
            })
        };
        records
            .into_iter()
            .map(row)
            .collect::<Result<Vec<Row>, LedgerError>>()
    })?;
    answer(args, cx, rows, session)
}

fn answer(
    args: &Args,
    cx: &Cx,
    mut rows: Vec<Row>,
    session: Option<SessionId>,
) -> Result<(), CommandError> {
    let more = args.limit > 0 && rows.len() > args.limit;
    rows.truncate(if more { args.limit } else { rows.len() });
    if cx.ui.json {
        let checkpoints = rows
            .iter()
            .map(|r| Checkpoint::from_record(&r.record, &r.links))
            .collect();
        return cx.ui.json(SCHEMA, Json { checkpoints, more });
    }
    if rows.is_empty() {
        let period = args.period.since.is_some() || args.period.until.is_some();
        let narrowed = period || session.is_some() || !args.facts.links().is_empty();
        cx.ui.status(if narrowed {
            "No checkpoint matches; run `siglum checkpoint list` to list all."
        } else {
            "No checkpoints yet; each commit of a session creates one, and so does its end."
        });
        return Ok(());
    }
    cx.ui.table(&table(&rows))?;
    if more {
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
        Some((session, _)) => Ok(why::card(tx, *session)?.and_then(|c| c.title)),
        None => Ok(None),
    }
}

fn table(rows: &[Row]) -> Table {
    let mut heading = vec!["CHECKPOINT", "KIND", "COMMIT", "AGE", "SESSIONS"];
    let linked = rows
        .iter()
        .any(|row| row.links.iter().any(|l| !l.is_empty()));
    heading.extend(linked.then_some("LINKS"));
    heading.push("ABOUT");
    let mut table = Table::new(heading);
    let now = clock::now();
    for row in rows {
        let Row {
            record,
            about,
            links,
        } = row;
        let commit = record.commit.as_ref().map_or("", |c| c.short());
        let pins = &record.pins;
        let mut sessions: Vec<String> = pins.iter().take(2).map(|(s, _)| s.short()).collect();
        if pins.len() > 2 {
            sessions.push(format!("+{}", pins.len() - 2));
        }
        let mut cells = vec![
            Cell::styled(Style::Id, record.id.short()),
            Cell::plain(kind(record.kind)),
            Cell::styled(Style::Id, commit),
            Cell::styled(Style::Time, ui::age(record.at, now)),
            Cell::styled(Style::Agent, sessions.join(" ")),
        ];
        if linked {
            let mut all: Vec<Link> = links.iter().flatten().cloned().collect();
            all.sort();
            all.dedup();
            cells.push(Cell::plain(words(&all)));
        }
        cells.push(Cell::plain(about.clone().unwrap_or_default()));
        table.row(cells);
    }
    table
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    checkpoints: Vec<Checkpoint>,
    /// Whether there are more than were asked for.
    more: bool,
}

/// One checkpoint.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Checkpoint {
    checkpoint: String,
    /// `commit`, `end` or `manual`.
    kind: String,
    commit: Option<String>,
    at: String,
    pins: Vec<Pin>,
}

/// A session, up to an entry of its log.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Pin {
    session: String,
    sequence: u64,
    /// What is attached to the session now.
    links: Vec<LinkJson>,
}

impl Checkpoint {
    /// `links` are those of its pins, in their order.
    pub fn from_record(record: &CheckpointRecord, links: &[Vec<Link>]) -> Self {
        let pins = record.pins.iter().zip(links);
        let pins = pins.map(|((session, sequence), links)| Pin {
            session: session.to_string(),
            sequence: *sequence,
            links: links.iter().map(LinkJson::from).collect(),
        });
        Self {
            checkpoint: record.id.to_string(),
            kind: kind(record.kind).to_owned(),
            commit: record.commit.as_ref().map(ToString::to_string),
            at: record.at.to_string(),
            pins: pins.collect(),
        }
    }
}
