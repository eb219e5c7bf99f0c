//! `siglum session fork`.

use serde::Serialize;
use siglum_domain::{ConversationId, SessionId, TurnId};
use siglum_engine::driven::turn;
use siglum_engine::views::find;
use siglum_ledger::Ledger;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.session.fork/1";
/// How many receipts are looked through at a time.
const PAGE: usize = 1_000;

/// Fork a driven session from one of its committed turns
///
/// Both sessions share the history up to that turn, and the original continues unchanged. Repeating the command
/// returns the same fork.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Fork a session from its last committed turn
    siglum session fork a1b2c3d4 --conversation issue-42-retry

  Fork it from an earlier turn
    siglum session fork a1b2c3d4 --turn 5e6f7a8b --conversation issue-42-b")]
pub struct Args {
    /// Session id, the last digits of it, or the agent's native id
    #[arg(value_name = "SESSION")]
    session: String,
    /// Committed turn to fork from: its id or the last digits of it; default: the last one
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    /// Conversation id of the new session
    #[arg(long, value_name = "ID", value_parser = conversation)]
    conversation: ConversationId,
}

fn conversation(text: &str) -> Result<ConversationId, String> {
    ConversationId::new(text).map_err(|e| e.rule.to_owned())
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// The new session.
    session: String,
    conversation_id: String,
    /// The session that it came from.
    parent: String,
    /// The last entry of that one that is part of its history.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_entry: Option<u64>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let id = find::session(&mut ledger, &args.session)?;
    let from = match &args.turn {
        Some(text) => Some(committed(&mut ledger, id, text)?),
        None => None,
    };
    let (world, by) = (cx.world()?, cx.person());
    let fork = turn::fork(&world, &mut ledger, id, from, &args.conversation, &by)?;
    if cx.ui.json {
        let answer = Json {
            session: fork.id.to_string(),
            conversation_id: fork.conversation.to_string(),
            parent: id.to_string(),
            parent_entry: fork.parent_at,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    cx.ui.line(fork.id.to_string())?;
    cx.ui.status(format!(
        "Forked from entry {} of session {}.",
        fork.parent_at.unwrap_or_default(),
        id.short()
    ));
    Ok(())
}

/// The committed turn that a text names.
fn committed(
    ledger: &mut dyn Ledger,
    session: SessionId,
    text: &str,
) -> Result<TurnId, CommandError> {
    if let Ok(turn) = text.parse() {
        return Ok(turn);
    }
    let tail = text.strip_prefix("trn_").unwrap_or(text);
    let mut found = Vec::new();
    if siglum_domain::id::is_tail(tail) {
        let mut after = 0;
        loop {
            let page = siglum_ledger::read(ledger, |tx| tx.receipts_after(session, after, PAGE))?;
            let Some(last) = page.last() else { break };
            after = last.number;
            let turns = page.into_iter().flat_map(|receipt| receipt.turns);
            found.extend(turns.filter(|turn: &TurnId| turn.to_string().ends_with(tail)));
        }
    }
    found.sort();
    found.dedup();
    match found[..] {
        [turn] => Ok(turn),
        [] => Err(CommandError::not_found(format!(
            "no committed turn `{text}` in session {session}"
        ))
        .hint("Run `siglum session show --json` to list the turns.")),
        _ => Err(
            CommandError::usage(format!("`{text}` matches several turns"))
                .hint("Pass more digits of the id."),
        ),
    }
}
