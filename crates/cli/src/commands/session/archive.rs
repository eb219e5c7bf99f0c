//! `siglum session archive`.

use serde::Serialize;
use siglum_engine::driven::turn;
use siglum_engine::views::find;
use siglum_ledger::read;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::{store, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.session.archive/1";

/// Archive a driven session: permanently block writes to it
///
/// Committed turns stay readable, and `siglum session fork` can continue from them.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Archive a session
    siglum session archive a1b2c3d4

  Archive it without confirmation
    siglum session archive a1b2c3d4 --yes")]
pub struct Args {
    /// Session id, the last digits of it, or the agent's native id
    #[arg(value_name = "SESSION")]
    session: String,
    /// Archive without confirmation
    #[arg(long)]
    yes: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    session: String,
    archived_at: String,
    /// Whether it had been archived before.
    before: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let id = find::session(&mut ledger, &args.session)?;
    let at = |record: Option<siglum_ledger::SessionRecord>| record.and_then(|r| r.archived_at);
    let before = at(read(&mut ledger, |tx| tx.session(id))?);
    if before.is_none() && !args.yes {
        cx.ui.status(format!(
            "Session {} will be read-only; this cannot be undone.",
            id.short()
        ));
        if !ui::agreed()? {
            return Err(ui::not_agreed(
                "nothing was archived",
                "Run the same command with `--yes` to skip the confirmation.",
            ));
        }
    }
    turn::archive(&*cx.world()?, &mut ledger, id, &cx.person())?;
    let archived_at = at(read(&mut ledger, |tx| tx.session(id))?);
    let archived_at = archived_at.expect("because it was archived in the line before");
    if cx.ui.json {
        let answer = Json {
            session: id.to_string(),
            archived_at: archived_at.to_string(),
            before: before.is_some(),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    cx.ui.status(match before {
        Some(at) => format!(
            "Session {} was already archived on {}.",
            id.short(),
            ui::when(at)
        ),
        None => format!("Archived session {}.", id.short()),
    });
    Ok(())
}
