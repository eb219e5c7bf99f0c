//! `siglum why`: who made a commit, who wrote its lines, and how that is known.

mod json;
mod line;
mod print;

use siglum_domain::evidence::Committer;
use siglum_domain::{Oid, SessionId};
use siglum_engine::replica;
use siglum_engine::why::{self, Why};
use siglum_gitstore::BlameLine;
use siglum_ledger::{RepositoryRecord, SqliteLedger};

pub use json::Json;

use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.why/1";

/// Say who made a commit or wrote a line, and how that is known
#[derive(clap::Args)]
pub struct Args {
    /// A commit in any form that git takes, or a line of a file as `FILE:LINE`
    #[arg(value_name = "COMMIT|FILE:LINE", default_value = "HEAD")]
    pub commit: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let (answer, line) = find(args, cx)?;
    if cx.ui.json {
        cx.ui.json(SCHEMA, Json::of(&answer, line.as_ref()))
    } else {
        print::print(cx, &answer, line.as_ref())
    }
}

/// The JSON answer.
#[cfg(feature = "gateway")]
pub fn answer(args: &Args, cx: &Cx) -> Result<Json, CommandError> {
    let (answer, line) = find(args, cx)?;
    Ok(Json::of(&answer, line.as_ref()))
}

fn find(args: &Args, cx: &Cx) -> Result<(Why, Option<BlameLine>), CommandError> {
    let (mut ledger, repository) = cx.settled()?;
    let line = line::find(cx, &args.commit)?;
    let commit = match &line {
        Some(line) => line.commit.clone(),
        None => cx.commit(&args.commit)?,
    };
    let repository = answers(cx, &mut ledger, repository, &commit)?;
    let world = cx.world()?;
    let Some(answer) = why::why(&world, &mut ledger, &repository, &commit)? else {
        return Err(CommandError::not_found(format!(
            "git has no commit {commit} any more"
        )));
    };
    Ok((answer, line))
}

/// The repository that answers for a commit: the one here, else one of another ledger that this one holds a replica of.
fn answers(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    here: Option<RepositoryRecord>,
    commit: &Oid,
) -> Result<RepositoryRecord, CommandError> {
    if here.is_none()
        && let Some(replica) = replica::elsewhere(ledger, None, commit)?
    {
        return Ok(replica);
    }
    cx.recorded(here)
}

const fn committer(why: &Why) -> (&'static str, Option<SessionId>) {
    match why.judgement.committer {
        Committer::Session { session } => ("session", Some(session)),
        Committer::Human => ("human", None),
        Committer::Unknown => ("unknown", None),
    }
}
