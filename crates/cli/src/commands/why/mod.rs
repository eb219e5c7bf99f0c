//! `siglum why`: who made a commit, who wrote its lines, and how that is known.

mod explain;
mod json;
mod line;
pub mod lines;
mod print;
mod warnings;

use siglum_domain::evidence::{Committer, Judgement, Verdict};
use siglum_domain::{Oid, SessionId};
use siglum_engine::commits::author_prompts::prompt_of_author;
use siglum_engine::commits::elsewhere;
use siglum_engine::commits::judgements::{self, Explanation};
use siglum_engine::commits::prompts::Prompt;
use siglum_engine::commits::why::{self, Why};
use siglum_engine::identity::repositories;
use siglum_engine::views::find::FindError;
use siglum_gitstore::BlameLine;
use siglum_ledger::{RepositoryRecord, SqliteLedger, read, stored_facts};

pub use json::Json;
use line::Target;
use warnings::Warning;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::team::{Question, Source, Team};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.why/1";

/// Show which session made a commit or wrote a line, with evidence
///
/// Commits without a known committer here are looked up at the team's gateway, if one is configured for this repository:
/// with `siglum sync`, or with SIGLUM_GATEWAY and SIGLUM_GATEWAY_TOKEN. Answers are cached for offline use.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Who made the last commit
    siglum why

  Who wrote lines 40 to 60 of a file
    siglum why src/cart.py:40-60")]
pub struct Args {
    /// Commit in any form that git accepts, or a file of this checkout, whole or in part: `FILE`, `FILE:LINE`,
    /// `FILE:FIRST-LAST`
    #[arg(value_name = "COMMIT|FILE[:LINES]", default_value = "HEAD")]
    pub commit: String,
    /// Show the rule that gave the verdict, the weight of each sign, and what would change it
    #[arg(long)]
    pub explain: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let found = match find(args, cx)? {
        WhySubject::Commit(found) => found,
        WhySubject::Lines(target) => return lines::run(cx, &target),
    };
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json::from_answer(&found));
    }
    print::print(cx, &found)?;
    if let Some(explanation) = &found.explanation {
        explain::print(&cx.ui, &found.why, explanation)?;
    } else if args.explain && found.source.is_some() {
        cx.ui
            .hint("A gateway sends no explanation; run this where the commit was made.");
    }
    print::warn(cx, &found.warnings)
}

/// All that an answer shows.
struct Answer {
    why: Why,
    /// What the repository is called that the commit is recorded for; its id, where another ledger answers.
    repository: String,
    line: Option<BlameLine>,
    /// What the author of the line was asked.
    author_prompt: Option<Prompt>,
    explanation: Option<Explanation>,
    warnings: Vec<Warning>,
    /// The gateway that it is from; nothing where it is from here.
    source: Option<Source>,
}

/// The JSON answer.
#[cfg(feature = "gateway")]
pub fn answer(args: &Args, cx: &Cx) -> Result<Json, CommandError> {
    match find(args, cx)? {
        WhySubject::Commit(found) => Ok(Json::from_answer(&found)),
        WhySubject::Lines(target) => Err(CommandError::not_found(format!(
            "{} is not a commit or a committed line",
            args.commit
        ))
        .hint(format!(
            "Run `siglum why {}` in a terminal, which also covers uncommitted lines.",
            target.path
        ))),
    }
}

/// The commit or lines that are asked about.
enum WhySubject {
    Commit(Box<Answer>),
    Lines(Target),
}

/// One line that is committed is told with its commit. A name that is a commit's and a file's is the commit's.
fn find(args: &Args, cx: &Cx) -> Result<WhySubject, CommandError> {
    let named = match lines::target(cx, &args.commit)? {
        Some(target) => Err(target),
        None => match cx.commit(&args.commit) {
            Ok(commit) => Ok(commit),
            Err(error) => Err(lines::whole(cx, &args.commit)?.ok_or(error)?),
        },
    };
    let (commit, line) = match named {
        Ok(commit) => (commit, None),
        Err(target) => match line::find(&target) {
            Some(line) => (line.commit.clone(), Some(line)),
            None if args.explain => {
                return Err(CommandError::usage(
                    "`--explain` needs a commit or a committed line",
                ));
            }
            None => return Ok(WhySubject::Lines(target)),
        },
    };
    about(args, cx, &commit, line).map(|answer| WhySubject::Commit(Box::new(answer)))
}

fn about(
    args: &Args,
    cx: &Cx,
    commit: &Oid,
    line: Option<BlameLine>,
) -> Result<Answer, CommandError> {
    let (mut ledger, here) = cx.settled()?;
    let team = Team::find(cx, Some(&mut ledger), here.as_ref().map(|r| r.id))?;
    let repository = answers(&mut ledger, here, commit)?;
    let world = cx.world()?;
    let local = match &repository {
        Some(repository) => why::why(&world, &mut ledger, repository, commit)?,
        None => None,
    };
    if let Some(answer) = by_gateway(cx, &team, (commit, line.as_ref()), local.as_ref())? {
        return Ok(answer);
    }
    if repository.is_none() {
        cx.recorded(None)?;
    }
    let Some(why) = local else {
        return Err(CommandError::not_found(format!(
            "commit {commit} no longer exists in git"
        )));
    };
    let explanation = match args.explain {
        true => read(&mut ledger, |tx| {
            judgements::explain(tx, why.repository, commit)
        })?,
        false => None,
    };
    let warnings = warnings::collect(cx, &mut ledger, &why)?;
    let names = read(&mut ledger, repositories::names_by_id)?;
    let author_prompt = match &line {
        Some(found) => line::author_prompt(cx, &mut ledger, &why, found)?,
        None => None,
    };
    let name = names.get(&why.repository).cloned();
    Ok(Answer {
        repository: name.unwrap_or_else(|| why.repository.to_string()),
        why,
        line,
        author_prompt,
        explanation,
        warnings,
        source: None,
    })
}

/// The repository that answers for a commit: the one here, else one of another ledger that this one holds a replica of.
fn answers(
    ledger: &mut SqliteLedger,
    here: Option<RepositoryRecord>,
    commit: &Oid,
) -> Result<Option<RepositoryRecord>, CommandError> {
    match here {
        Some(here) => Ok(Some(here)),
        None => Ok(elsewhere::repository(ledger, None, commit)?),
    }
}

/// What the team's gateway says of a commit, or of a line of it, that nobody is known here to have made, if it says anything.
fn by_gateway(
    cx: &Cx,
    team: &Team,
    (commit, line): (&Oid, Option<&BlameLine>),
    local: Option<&Why>,
) -> Result<Option<Answer>, CommandError> {
    let verdict = local.map_or(Verdict::Unknown, |why| why.judgement.verdict);
    let has_claim = local.is_some_and(|why| why.claim.is_some());
    if team.is_empty() || verdict != Verdict::Unknown || has_claim {
        return Ok(None);
    }
    let has_authors =
        local.is_some_and(|why| why.authors.iter().any(|author| author.session.is_some()));
    let mut found = team.ask(cx, &[Question::who_made(commit)]);
    let answer = found.answers.remove(commit);
    let answer = answer.filter(|answer| answer.adds_to(verdict, has_claim, has_authors));
    let Some((mut answer, source)) = answer.zip(found.sources.remove(commit)) else {
        return Ok(None);
    };
    let Some(facts) = cx.git().facts(std::slice::from_ref(commit))?.known.pop() else {
        return Ok(None);
    };
    let prompts = std::mem::take(&mut answer.author_prompts);
    let why = answer.into_why(stored_facts(&facts));
    let author_prompt = line.and_then(|line| {
        let session = line::writer(&why, line)?.session?;
        prompt_of_author(&prompts, session, &line.path).cloned()
    });
    Ok(Some(Answer {
        repository: why.repository.to_string(),
        why,
        line: line.cloned(),
        author_prompt,
        explanation: None,
        warnings: Vec::new(),
        source: Some(source),
    }))
}

/// Whether a text names lines of a file of this checkout.
pub fn names_lines(cx: &Cx, text: &str) -> Result<bool, CommandError> {
    Ok(cx.find_repo().is_some() && lines::target(cx, text)?.is_some())
}

/// The session behind a commit or lines of a file.
pub fn session_behind(cx: &Cx, text: &str) -> Result<SessionId, CommandError> {
    let sessions = sessions_behind(cx, text)?;
    match sessions[..] {
        [session] => Ok(session),
        [] => Err(
            CommandError::not_found(format!("no session recorded for `{text}`")).hint(format!(
                "Run `siglum why {text}` to see what is known of it."
            )),
        ),
        _ => Err(FindError::Ambiguous {
            text: text.to_owned(),
            meanings: sessions.iter().map(ToString::to_string).collect(),
        }
        .into()),
    }
}

/// The sessions that made a commit, or wrote the lines of a file; none where nobody is known to have done so.
fn sessions_behind(cx: &Cx, text: &str) -> Result<Vec<SessionId>, CommandError> {
    let args = Args {
        commit: text.to_owned(),
        explain: false,
    };
    let found = match find(&args, cx)? {
        WhySubject::Commit(found) => found,
        WhySubject::Lines(target) => return lines::authors(cx, &target),
    };
    let why = &found.why;
    let author = found.line.as_ref().and_then(|l| line::writer(why, l));
    let session = author.and_then(|author| author.session);
    let session = session.or(committer(&why.judgement));
    let session = session.or(why.claim.as_ref().map(|claim| claim.session));
    Ok(match session {
        Some(session) => vec![session],
        None if why.judgement.verdict == Verdict::Ambiguous => why.judgement.candidates.clone(),
        // Its candidates are not known to have anything to do with it.
        None => Vec::new(),
    })
}

/// The session that ran `git commit`, if one did.
const fn committer(judgement: &Judgement) -> Option<SessionId> {
    match judgement.committer {
        Committer::Session { session } => Some(session),
        Committer::Human | Committer::Unknown => None,
    }
}
