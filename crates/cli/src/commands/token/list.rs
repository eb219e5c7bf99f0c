//! `siglum token list`.

use serde::Serialize;
use siglum_domain::Timestamp;
use siglum_engine::identity::access;
use siglum_engine::views::find;
use siglum_ledger::TokenRecord;

use super::TokenJson;
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.token.list/1";

/// List tokens, newest first, with scope, state, expiry and last use
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the tokens
    siglum token list

  List the tokens of a session
    siglum token list --session a1b2c3d4")]
pub struct Args {
    /// Only tokens of this session: its id, the last digits of it, or the agent's native id
    #[arg(long)]
    session: Option<String>,
    /// Limit to N rows; 0 means all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    tokens: Vec<TokenJson>,
    /// Whether there are more than were asked for.
    more: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let session = match &args.session {
        Some(text) => Some(find::session(ledger.as_mut(), text)?),
        None => None,
    };
    let limit = match args.limit {
        0 => usize::MAX - 1,
        n => n,
    };
    let mut tokens = access::list(ledger.as_mut(), session, None, limit.saturating_add(1))?;
    let more = tokens.len() > limit;
    tokens.truncate(limit);
    let now = clock::now();
    if cx.ui.json {
        let tokens = tokens
            .iter()
            .map(|t| TokenJson::from_record(t, now))
            .collect();
        return cx.ui.json(SCHEMA, Json { tokens, more });
    }
    if tokens.is_empty() {
        cx.ui
            .status("No tokens; create one with `siglum token create`.");
        return Ok(());
    }
    cx.ui.table(&table(&tokens, now))?;
    if more {
        cx.ui
            .hint("There are more; pass `--limit 0` to list all of them.");
    }
    Ok(())
}

fn table(tokens: &[TokenRecord], now: Timestamp) -> Table {
    let mut table = Table::new(vec![
        "TOKEN", "FOR", "STATE", "EXPIRES", "USED", "BY", "NAME",
    ]);
    for token in tokens {
        let state = super::state(token, now);
        let style = match state {
            "active" => Style::Added,
            "replaced" => Style::Warning,
            _ => Style::Dim,
        };
        let scope = match token.scope.session() {
            Some(session) => format!("session {}", session.short()),
            None => token.scope.as_str().to_owned(),
        };
        let scope = format!("{scope}{}", super::limits(&token.limits));
        let expires = token
            .expires_at
            .map_or_else(|| "never".to_owned(), ui::when);
        let used = token.last_used_at;
        let used = used.map_or_else(|| "never".to_owned(), |at| ui::ago(at, now));
        table.row(vec![
            Cell::styled(Style::Id, token.id.short()),
            Cell::plain(scope),
            Cell::styled(style, state),
            Cell::styled(Style::Time, expires),
            Cell::styled(Style::Time, used),
            Cell::plain(&token.by),
            Cell::plain(&token.name),
        ]);
    }
    table
}
