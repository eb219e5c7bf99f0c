//! `siglum context explain`.

use siglum_domain::context::{ContextKey, Keys};
use siglum_engine::driven::context;
use siglum_engine::views::context::ContextExplanationJson;
use siglum_engine::views::find;
use siglum_ledger::{ContextRecord, Ledger, read};

use super::failed;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.context.explain/1";

/// Explain what a run of a context sees, and why
///
/// Lists the context's own messages, the messages that it inherits with their origin, and the messages that are
/// missing.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Explain a context by its key
    siglum context explain heartbeat:triage

  Explain the context that a session keeps
    siglum context explain 7c2a91e4")]
pub struct Args {
    /// Context key, or the session that keeps the context
    #[arg(value_name = "CONTEXT")]
    context: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let found = find_context(ledger.as_mut(), &args.context)?;
    let keys = Keys {
        route: found.route,
        context: found.key,
    };
    let explained = context::explain(ledger.as_mut(), &keys).map_err(failed)?;
    if cx.ui.json {
        return cx.ui.json(SCHEMA, ContextExplanationJson::from(&explained));
    }
    let mut table = Table::new(vec!["SESSION", "ENTRIES", "MESSAGES", "WHY"]);
    for part in &explained.parts {
        table.row(vec![
            Cell::styled(Style::Id, part.session.short()),
            Cell::plain(format!("{}-{}", part.first, part.last)),
            Cell::plain(part.messages.to_string()),
            Cell::plain(&part.why),
        ]);
    }
    match explained.parts.is_empty() {
        true => cx
            .ui
            .status("A run of this context starts without history."),
        false => cx.ui.table(&table)?,
    }
    for gap in explained.gaps.iter().filter(|gap| gap.is_open()) {
        let (first, last) = (gap.first, gap.last);
        cx.ui.status(format!(
            "Positions {first} to {last} are missing: {}.",
            gap.reason
        ));
    }
    Ok(())
}

/// The context of a key, or the one that is kept in a session.
fn find_context(ledger: &mut dyn Ledger, text: &str) -> Result<ContextRecord, CommandError> {
    if let Ok(key) = ContextKey::new(text)
        && let Some(context) = read(ledger, |tx| tx.context(&key))?
    {
        return Ok(context);
    }
    let session = find::session(ledger, text)?;
    let context = read(ledger, |tx| tx.context_of_session(session))?;
    context.ok_or_else(|| {
        CommandError::not_found(format!("session {} has no context", session.short()))
            .hint("Run `siglum context list` to list the routes.")
    })
}
