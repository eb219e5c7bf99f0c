//! `siglum statusline`: a few words about the session at hand, for prompts of shells and status lines of agents.
//!
//! It is run again and again: it opens the ledger as a hook does, reads one session, and starts neither git nor the worker.
//! Where there is nothing to say, or something is in the way, it says nothing.

use std::io::{IsTerminal as _, Read as _};
use std::sync::mpsc;
use std::time::Duration;

use serde::Serialize;
use siglum_domain::{AgentName, NativeId, Timestamp};
use siglum_engine::identity::{self, names, statements};
use siglum_engine::views::cost::{self, By, CostQuery};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{LedgerError, SessionFilter, SessionListing, SqliteLedger, Transaction, read};

use super::cost::prices;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.statusline/1";
/// How long it waits for what an agent hands over.
const PATIENCE: Duration = Duration::from_millis(100);
/// How much of that is read, in bytes.
const INPUT_MOST: u64 = 1 << 20;

/// Print a one-line summary of the current session, for a prompt
///
/// The current session is the one whose id the agent hands over on standard input (Claude Code does so for its status
/// line), else the newest session of this repository that has not ended. Prints nothing if there is none.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Print the line
    siglum statusline

  Choose what is in it
    siglum statusline --format '{agent} {turns} {cost}'")]
pub struct Args {
    /// Text with `{agent}`, `{session}`, `{name}`, `{turns}` and `{cost}` in it
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "{agent} {session}  turn {turns}  {cost}"
    )]
    format: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<Current>,
}

/// The current session.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Current {
    session: String,
    /// Absent where nobody named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    agent: Option<AgentName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    turns: u64,
    /// In US dollars, as text; `unknown` where no price is known.
    cost: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let current = current(cx);
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json { current });
    }
    match current {
        Some(current) => cx.ui.line(current.line(&args.format)),
        None => Ok(()),
    }
}

impl Current {
    fn line(&self, format: &str) -> String {
        let short = &self.session[self.session.len().saturating_sub(8)..];
        let name = self.name.as_deref().unwrap_or(short);
        // Each stands for itself alone: none of what is put in is looked at again.
        let words = [
            ("{agent}", AgentName::word(self.agent.as_ref()).to_owned()),
            ("{session}", short.to_owned()),
            ("{name}", ui::one_line(name, 60)),
            ("{turns}", self.turns.to_string()),
            ("{cost}", self.cost.clone()),
        ];
        let (mut line, mut rest) = (String::new(), format);
        while let Some(at) = rest.find('{') {
            line.push_str(&rest[..at]);
            rest = &rest[at..];
            match words.iter().find(|(word, _)| rest.starts_with(word)) {
                Some((word, value)) => {
                    line.push_str(value);
                    rest = &rest[word.len()..];
                }
                None => {
                    line.push('{');
                    rest = &rest[1..];
                }
            }
        }
        line + rest
    }
}

/// The current session, if there is one that can be told of now.
fn current(cx: &Cx) -> Option<Current> {
    let native = handed_over();
    let common_dir = cx.find_repo().map(|repo| repo.place.common_dir);
    let mut ledger = SqliteLedger::open(&cx.home.ledger(), Open::Hook).ok()?;
    let found = read(&mut ledger, |tx| {
        let Some(listing) = listing(tx, native.as_ref(), common_dir.as_deref())? else {
            return Ok(None);
        };
        let links = statements::links(&tx.statements_of_session(listing.record.id)?);
        Ok(Some((listing, names::name(&links).map(str::to_owned))))
    });
    let (listing, name) = found.ok()??;
    let query = CostQuery {
        session: Some(listing.record.id),
        ..CostQuery::by(By::Session)
    };
    let costs = cost::cost(&mut ledger, &query, &prices().ok()?, &|at: Timestamp| {
        at.to_string()
    })
    .ok()?;
    Some(Current {
        session: listing.record.id.to_string(),
        agent: listing.record.agent.clone(),
        name,
        turns: listing.summary.turns,
        cost: costs.total.cost.to_string(),
    })
}

fn listing(
    tx: &mut dyn Transaction,
    native: Option<&NativeId>,
    common_dir: Option<&str>,
) -> Result<Option<SessionListing>, LedgerError> {
    let mut filter = SessionFilter {
        limit: 1,
        ..SessionFilter::default()
    };
    if let Some(native) = native {
        // The agent does not say which one it is.
        let Some(session) = identity::only_session_by_name(tx, native)? else {
            return Ok(None);
        };
        filter.id = Some(session);
    } else {
        let here = match common_dir {
            Some(dir) => tx.repository(dir)?,
            None => None,
        };
        let Some(here) = here else {
            return Ok(None);
        };
        filter.repositories = vec![here.id];
        filter.open = true;
    }
    Ok(tx.sessions(&filter)?.pop())
}

/// The id of the session that an agent hands over on standard input. Nobody is waited for who writes nothing.
fn handed_over() -> Option<NativeId> {
    let input = std::io::stdin();
    if input.is_terminal() {
        return None;
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        if input
            .lock()
            .take(INPUT_MOST)
            .read_to_string(&mut text)
            .is_ok()
        {
            let _ = sender.send(text);
        }
    });
    let text = receiver.recv_timeout(PATIENCE).ok()?;
    let value: serde_json::Value = serde_json::from_str(&text).ok()?;
    NativeId::new(value["session_id"].as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_what_is_known() {
        let current = Current {
            session: "ses_0123456789abcdef0123456789abcdef".to_owned(),
            agent: AgentName::new("claude-code").ok(),
            name: Some("{cost}".to_owned()),
            turns: 3,
            cost: "$1.2000".to_owned(),
        };
        let check = |format: &str, expected: &str| assert_eq!(current.line(format), expected);
        check("{agent} {session}", "claude-code 89abcdef");
        check("{name}: {turns}", "{cost}: 3");
        check("{cost}{", "$1.2000{");
        check("{other} {", "{other} {");
        check("", "");
    }
}
