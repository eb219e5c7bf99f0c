//! `siglum rebuild`: makes something anew that is derived from the ledger.

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_engine::{find, project, worker};
use siglum_ledger::{DESTINATION, Durability, SqliteLedger, write};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::{clock, platform, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.rebuild/1";
/// What the ledger's own tables are called.
pub const SUMMARIES: &str = "summaries";
/// How many sessions are folded at a time.
const FOLDED: usize = 64;

/// Make a projection anew from the ledger, or the ledger's own summaries of sessions
#[derive(clap::Args)]
pub struct Args {
    /// The projection, or `summaries`
    #[arg(value_name = "NAME")]
    name: String,
    /// Only this session: its id, the last digits of it, or the agent's own id
    #[arg(value_name = "SESSION")]
    session: Option<String>,
}

/// The JSON form of the answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    name: String,
    /// How many sessions are made anew: summaries are, and a projection gets all of it from the worker.
    sessions: u64,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let (mut ledger, _) = cx.settled()?;
    let session = match &args.session {
        Some(text) => Some(find::session(&mut ledger, text)?),
        None => None,
    };
    let sessions = match args.name.as_str() {
        SUMMARIES => summaries(cx, &mut ledger, session)?,
        name => projection(cx, &mut ledger, name, session)?,
    };
    if cx.ui.json {
        let name = args.name.clone();
        return cx.ui.json(SCHEMA, Json { name, sessions });
    }
    let n = ui::plural(sessions, "session");
    cx.ui.status(match args.name.as_str() {
        SUMMARIES => format!("{n} folded again."),
        name => format!("Projection {name} is emptied; the worker fills {n} again."),
    });
    Ok(())
}

fn summaries(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    session: Option<SessionId>,
) -> Result<u64, CommandError> {
    let world = cx.world()?;
    write(ledger, Durability::Process, |tx| tx.refold(session))?;
    let mut folded = 0;
    loop {
        match worker::fold_sessions(&world, ledger, FOLDED)? {
            0 => return Ok(folded),
            n => folded += n as u64,
        }
    }
}

fn projection(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    name: &str,
    session: Option<SessionId>,
) -> Result<u64, CommandError> {
    let projection = super::projection::named(ledger, name)?;
    if projection.kind == DESTINATION {
        // What it has stays there: it takes what it lacks, and nothing twice.
        let now = clock::now();
        let sessions = write(ledger, Durability::Disk, |tx| {
            if session.is_none() {
                tx.restart_documents(name)?;
            }
            tx.restart(name, session, now)
        })?;
        platform::start_worker(&cx.home);
        return Ok(sessions);
    }
    let Some(mut sink) = project::sink(&projection) else {
        return Err(CommandError::failed(format!(
            "`{name}` is fed by its own program, which alone can empty it"
        )));
    };
    let done = project::rebuild(&*cx.world()?, ledger, name, sink.as_mut(), session)?;
    platform::start_worker(&cx.home);
    done.map_err(|error| {
        CommandError::failed(format!("it could not be emptied: {error}"))
            .hint("What it has stays; what it lacks is handed over as before.")
    })
}
