//! `siglum session end`.

use serde::Serialize;
use siglum_engine::record::session_end::{self, Ended};
use siglum_engine::views::find;
use siglum_ledger::{Ledger as _, read};

use crate::clock::{self, Ids};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::{env, platform, store, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.session.end/1";

/// End a session whose agent did not report its end
///
/// If the agent reports again, the session continues. A session that has ended stays as it is.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  End a session whose agent crashed
    siglum session end a1b2c3d4

  Print the result as JSON
    siglum session end a1b2c3d4 --json")]
pub struct Args {
    /// Session id, the last digits of it, or the agent's native id
    #[arg(value_name = "SESSION")]
    session: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    session: String,
    ended_at: String,
    /// Whether it had ended before.
    before: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let id = find::session(&mut ledger, &args.session)?;
    let now = clock::now();
    let by = env::text("USER")
        .or_else(|| env::text("LOGNAME"))
        .unwrap_or_else(|| "somebody".to_owned());
    let record = read(&mut ledger, |tx| tx.session(id))?;
    if let Some(home) = record.map(|r| r.home).filter(|h| *h != ledger.id()) {
        return Err(CommandError::failed(format!(
            "session {} is a replica: only its home {home} can end it",
            id.short()
        )));
    }
    let Some(ended) = session_end::end(&Ids, &mut ledger, id, &by, now)? else {
        return Err(CommandError::not_found(format!("no session {id}")));
    };
    let (at, before) = match ended {
        Ended::Now => (now, false),
        Ended::Before(at) => (at, true),
    };
    if cx.ui.json {
        let answer = Json {
            session: id.to_string(),
            ended_at: at.to_string(),
            before,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    if before {
        cx.ui.status(format!(
            "Session {} already ended on {}; nothing was changed.",
            id.short(),
            ui::when(at)
        ));
        return Ok(());
    }
    cx.ui.status(format!("Ended session {}.", id.short()));
    let process = read(&mut ledger, |tx| tx.bindings(id))?.into_iter().next();
    if process.is_some_and(|p| platform::alive(&p.process) == Some(true)) {
        cx.ui
            .hint("Its agent still runs; the session reopens on the next event from it.");
    }
    Ok(())
}
