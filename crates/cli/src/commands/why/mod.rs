//! `siglum why`: who made a commit, who wrote its lines, and how that is known.

mod explain;
mod json;
mod line;
mod print;
mod warnings;

use siglum_domain::evidence::{Committer, Judgement};
use siglum_domain::{Oid, SessionId};
use siglum_engine::judgements::{self, Explanation};
use siglum_engine::prompts::Prompt;
use siglum_engine::replica;
use siglum_engine::why::{self, Why};
use siglum_gitstore::BlameLine;
use siglum_ledger::{RepositoryRecord, SqliteLedger, read};

pub use json::Json;
use warnings::Warning;

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
    /// Show which rule gave the answer, what each sign is worth, and what would have changed it
    #[arg(long)]
    pub explain: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let found = find(args, cx)?;
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json::of(&found));
    }
    print::print(cx, &found)?;
    if let Some(explanation) = &found.explanation {
        explain::print(&cx.ui, &found.why, explanation)?;
    }
    print::warn(cx, &found.warnings)
}

/// All that an answer shows.
struct Answer {
    why: Why,
    line: Option<BlameLine>,
    /// What the author of the line was asked.
    author_prompt: Option<Prompt>,
    explanation: Option<Explanation>,
    warnings: Vec<Warning>,
}

/// The JSON answer.
#[cfg(feature = "gateway")]
pub fn answer(args: &Args, cx: &Cx) -> Result<Json, CommandError> {
    Ok(Json::of(&find(args, cx)?))
}

fn find(args: &Args, cx: &Cx) -> Result<Answer, CommandError> {
    let (mut ledger, repository) = cx.settled()?;
    let line = line::find(cx, &args.commit)?;
    let commit = match &line {
        Some(line) => line.commit.clone(),
        None => cx.commit(&args.commit)?,
    };
    let repository = answers(cx, &mut ledger, repository, &commit)?;
    let world = cx.world()?;
    let Some(why) = why::why(&world, &mut ledger, &repository, &commit)? else {
        return Err(CommandError::not_found(format!(
            "git has no commit {commit} any more"
        )));
    };
    let explanation = match args.explain {
        true => read(&mut ledger, |tx| {
            judgements::explain(tx, why.repository, &commit)
        })?,
        false => None,
    };
    let warnings = warnings::collect(cx, &mut ledger, &why)?;
    let author_prompt = match &line {
        Some(found) => line::author_prompt(cx, &mut ledger, &why, found)?,
        None => None,
    };
    Ok(Answer {
        why,
        line,
        author_prompt,
        explanation,
        warnings,
    })
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

const fn committer(judgement: &Judgement) -> (&'static str, Option<SessionId>) {
    match judgement.committer {
        Committer::Session { session } => ("session", Some(session)),
        Committer::Human => ("human", None),
        Committer::Unknown => ("unknown", None),
    }
}
