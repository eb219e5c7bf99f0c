//! `siglum session recover`: the turns that a driver left open, and every way out.

mod open_turn;

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_engine::driven::turn::{self, Decider, Decision, Recovered};
use siglum_engine::views::find;
use siglum_ledger::{Ledger, read};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

pub use self::open_turn::{OpenJson, open_turns};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.session.recover/1";

/// List open turns that are not settled, or settle the one of a session
///
/// A turn that reached its stop is committed; an interrupted turn with no open call is kept as interrupted. If it is
/// unknown whether a call was done, you decide with a flag. Nothing is run again, and nothing is invented. Works on the
/// store that SIGLUM_STORE names, else on the ledger of this machine.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("decision").requires("session")))]
#[command(after_long_help = "\
Examples:
  List the open turns
    siglum session recover

  Keep a turn, with its unfinished calls marked as failed
    siglum session recover a1b2c3d4 --mark-failed")]
pub struct Args {
    /// Session id, the last digits of it, or the agent's native id
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Keep the turn, with calls without a result marked as done
    #[arg(long, group = "decision")]
    mark_done: bool,
    /// Keep the turn, with calls without a result marked as failed
    #[arg(long, group = "decision")]
    mark_failed: bool,
    /// Discard the turn and all of its content
    #[arg(long, group = "decision")]
    discard: bool,
    /// Discard without confirmation
    #[arg(long, requires = "discard")]
    yes: bool,
}

impl Args {
    const fn decision(&self) -> Option<Decision> {
        match (self.mark_done, self.mark_failed, self.discard) {
            (true, ..) => Some(Decision::Done),
            (_, true, _) => Some(Decision::Failed),
            (.., true) => Some(Decision::Discard),
            _ => None,
        }
    }
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// What became of the turn of the session that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<Settled>,
    /// The turns that are open: all of them, or that of the session that was named.
    turns: Vec<OpenJson>,
}

/// What became of a turn.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Settled {
    session: String,
    /// `nothing`: none was open; `committed`: it had come to its stop; `interrupted`: it was broken off and is kept;
    /// `asked`: it waits for the next driver; `held`: it waits for a decision; `kept` and `discarded`: decided.
    outcome: String,
    /// The receipt that seals it, by its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<u64>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let Some(text) = &args.session else {
        return list(cx, ledger.as_mut());
    };
    let session = find::session(ledger.as_mut(), text)?;
    let recovered = turn::recover(&*cx.world()?, ledger.as_mut(), session)?;
    let settled = match (args.decision(), waits(&recovered)) {
        (Some(decision), true) => decide(args, cx, ledger.as_mut(), session, decision)?,
        (Some(_), false) if recovered == Recovered::Nothing => {
            return Err(CommandError::failed(format!(
                "session {} has no open turn",
                session.short()
            ))
            .hint("Run `siglum session recover` to list open turns."));
        }
        _ => outcome(session, &recovered),
    };
    let mut turns = open_turns(cx, ledger.as_mut())?;
    turns.retain(|t| t.is_of(session));
    if cx.ui.json {
        let settled = Some(settled);
        return cx.ui.json(SCHEMA, Json { settled, turns });
    }
    cx.ui.status(open_turn::sentence(session, &settled.outcome));
    if args.decision().is_some() && !waits(&recovered) {
        cx.ui.status("No decision was needed.");
    }
    turns.iter().try_for_each(|turn| turn.print(&cx.ui))
}

fn list(cx: &Cx, ledger: &mut dyn Ledger) -> Result<(), CommandError> {
    let turns = open_turns(cx, ledger)?;
    if cx.ui.json {
        let settled = None;
        return cx.ui.json(SCHEMA, Json { settled, turns });
    }
    if turns.is_empty() {
        cx.ui.status("No open turns.");
    }
    for (at, turn) in turns.iter().enumerate() {
        if at > 0 {
            cx.ui.line("")?;
        }
        turn.print(&cx.ui)?;
    }
    Ok(())
}

/// Whether there is something to decide.
const fn waits(recovered: &Recovered) -> bool {
    matches!(recovered, Recovered::Held { .. } | Recovered::Asked)
}

fn outcome(session: SessionId, recovered: &Recovered) -> Settled {
    let (word, receipt) = match recovered {
        Recovered::Nothing => ("nothing", None),
        Recovered::Asked => ("asked", None),
        Recovered::Committed(receipt) => ("committed", Some(receipt.number)),
        Recovered::Interrupted(receipt) => ("interrupted", Some(receipt.number)),
        Recovered::Held { .. } => ("held", None),
    };
    Settled {
        session: session.to_string(),
        outcome: word.to_owned(),
        receipt,
    }
}

fn decide(
    args: &Args,
    cx: &Cx,
    ledger: &mut dyn Ledger,
    session: SessionId,
    decision: Decision,
) -> Result<Settled, CommandError> {
    let (turn, waits) = read(ledger, |tx| {
        Ok((tx.open_turn(session)?, tx.pending(session)?.len() as u64))
    })?;
    if decision == Decision::Discard && !args.yes {
        cx.ui.status(format!(
            "This deletes {} of the open turn of session {}.",
            crate::ui::plural(waits, "event"),
            session.short()
        ));
        if !crate::ui::agreed()? {
            return Err(crate::ui::not_agreed(
                "nothing was discarded",
                "Run the same command with `--yes` to skip the confirmation.",
            ));
        }
    }
    let by = cx.person();
    let who = Decider {
        // While a person thinks, another driver may open another turn.
        turn: turn.as_ref().map(|turn| turn.key.as_str()),
        by: &by,
        source: "cli",
    };
    let receipt = turn::decide(&*cx.world()?, ledger, session, decision, who)?;
    Ok(Settled {
        session: session.to_string(),
        outcome: match receipt {
            Some(_) => "kept",
            None => "discarded",
        }
        .to_owned(),
        receipt: receipt.map(|r| r.number),
    })
}
