//! `siglum audit list`.

use serde::Serialize;
use serde_json::Value;
use siglum_domain::audit::Entry;
use siglum_engine::identity::audit;
use siglum_engine::views::find;
use siglum_ledger::AuditFilter;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::time::Period;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.audit.list/1";

/// List audit entries, both done and refused, newest first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Which actions were refused in the last week
    siglum audit list --refused --since 7d

  Which sessions a launcher created
    siglum audit list --actor launcher --action session.created")]
pub struct Args {
    /// Limit to this session: its id, the last digits of it, or the agent's native id
    #[arg(long)]
    session: Option<String>,
    /// Limit to this action, such as `session.created` or `token.used`
    #[arg(long)]
    action: Option<String>,
    /// Limit to this actor: a person's name, `launcher`, `token tok_…`
    #[arg(long)]
    actor: Option<String>,
    /// Limit to this pipeline
    #[arg(long, value_name = "ID")]
    pipeline: Option<String>,
    #[command(flatten)]
    period: Period,
    /// Limit to refused actions
    #[arg(long)]
    refused: bool,
    /// Limit to entries before this number, to continue an earlier list
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    /// Limit to N entries; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    items: Vec<EntryJson>,
    /// Where the next page begins, if there are more: the value of `--before`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// One entry.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EntryJson {
    number: u64,
    at: String,
    actor: String,
    action: String,
    /// `done` or `refused`.
    outcome: String,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Because of which field.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<String>,
    /// The details, unless they were erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Value>,
    digest: String,
}

impl EntryJson {
    fn from_entry(entry: &Entry) -> Self {
        let header = &entry.header;
        let (reason, field) = header.outcome.refusal();
        let body = entry.body.as_ref();
        Self {
            number: entry.number,
            at: header.at.to_string(),
            actor: header.actor.clone(),
            action: header.action.as_str().to_owned(),
            outcome: header.outcome.as_str().to_owned(),
            reason: reason.map(str::to_owned),
            field: field.map(str::to_owned),
            session: header.session.map(|s| s.to_string()),
            pipeline: header.pipeline.clone(),
            body: body.and_then(|body| serde_json::from_str(body.text.as_str()).ok()),
            digest: entry.digest.clone(),
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = super::ledger(cx)?;
    let session = match &args.session {
        Some(text) => Some(find::session(ledger.as_mut(), text)?),
        None => None,
    };
    let filter = AuditFilter {
        session,
        action: args.action.clone(),
        actor: args.actor.clone(),
        pipeline: args.pipeline.clone(),
        since: args.period.since,
        until: args.period.until,
        outcome: args.refused.then(|| "refused".to_owned()),
        before: args.before,
        limit: match args.limit {
            0 => 0,
            n => n.saturating_add(1),
        },
    };
    let mut entries = audit::list(ledger.as_mut(), &filter)?;
    let more = args.limit > 0 && entries.len() > args.limit;
    if more {
        entries.truncate(args.limit);
    }
    let next = entries.last().map(|e| e.number).filter(|_| more);
    if cx.ui.json {
        let items = entries.iter().map(EntryJson::from_entry).collect();
        return cx.ui.json(SCHEMA, Json { items, next });
    }
    if entries.is_empty() {
        cx.ui.status(match filter.before {
            _ if filter != plain(&filter) => "No audit entry matches.",
            _ => "The audit log is empty.",
        });
        return Ok(());
    }
    cx.ui.table(&table(&entries))?;
    if let Some(next) = next {
        cx.ui.hint(format!(
            "There are more; pass `--before {next}` to continue."
        ));
    }
    Ok(())
}

/// A filter without conditions.
fn plain(filter: &AuditFilter) -> AuditFilter {
    AuditFilter {
        limit: filter.limit,
        ..AuditFilter::default()
    }
}

fn table(entries: &[Entry]) -> Table {
    let mut table = Table::new(vec!["NUMBER", "AT", "ACTION", "SESSION", "ACTOR", "WHAT"]);
    for entry in entries {
        let header = &entry.header;
        let (reason, field) = header.outcome.refusal();
        let what = match (reason, field) {
            (Some(reason), Some(field)) => format!("refused: {field}: {reason}"),
            (Some(reason), None) => format!("refused: {reason}"),
            (None, _) => details(entry),
        };
        let style = if reason.is_some() {
            Style::Warning
        } else {
            Style::Id
        };
        table.row(vec![
            Cell::number(entry.number.to_string()),
            Cell::styled(Style::Time, ui::when(header.at)),
            Cell::styled(style, header.action.as_str()),
            Cell::plain(header.session.map_or_else(String::new, |s| s.short())),
            Cell::plain(&header.actor),
            Cell::plain(what),
        ]);
    }
    table
}

/// What a body says, on one line: links first, and nothing that is empty.
fn details(entry: &Entry) -> String {
    let body = entry.body.as_ref();
    let body = body.and_then(|b| serde_json::from_str::<Value>(b.text.as_str()).ok());
    let Some(Value::Object(mut fields)) = body else {
        return String::new();
    };
    let mut parts = Vec::new();
    if let Some(Value::Object(links)) = fields.remove("links") {
        for (field, values) in links {
            for value in values.as_array().into_iter().flatten() {
                parts.push(format!("{field}={}", bare(value)));
            }
        }
    }
    let some = |v: &Value| !v.is_null() && v.as_array().is_none_or(|a| !a.is_empty());
    let rest = fields.iter().filter(|(_, value)| some(value));
    parts.extend(rest.map(|(key, value)| format!("{key}={}", bare(value))));
    ui::one_line(&parts.join(" "), 400)
}

fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
