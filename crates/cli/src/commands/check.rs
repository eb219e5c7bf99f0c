//! `siglum check`: whether the commits of a range are accounted for.

mod json;
mod show;

use std::collections::BTreeSet;

use siglum_domain::Oid;
use siglum_engine::commits::check::{self, Checked, Finding};
use siglum_gitstore::{GitError, RangeCommit, Repo};

pub use json::Json;

use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.check/1";

/// Check that commits have a record and a trailer that points to it
///
/// For pipelines and hooks. Lists the commits that fail, each with the reason and a remedy. A session's
/// commit passes if its message names its own checkpoint; a person's commit passes if evidence shows that
/// the person made it; any commit passes if it was adopted (`siglum adopt`).
///
/// Without a ledger, checks only the trailers: that each commit has one, and that it is well formed.
///
/// Exit codes: 0 all commits pass, or the range is empty; 1 some fail; 2 wrong usage; 3 the range names no
/// commits; 4 none fails, but some could not be checked: there is no ledger, or a shallow clone truncates the
/// range.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Check the commits that are not yet pushed
    siglum check

  Check a branch, and accept merges by the forge
    siglum check main..HEAD --allow merge")]
pub struct Args {
    /// Commits, as a git range such as `main..HEAD` (default: commits that the upstream branch lacks)
    #[arg(value_name = "RANGE")]
    range: Vec<String>,
    /// Pass commits that fail only for this reason (repeatable)
    #[arg(long, value_name = "REASON")]
    allow: Vec<Reason>,
    /// Fail commits for this reason, which passes by default: `ambiguous`, `before`
    #[arg(long, value_name = "REASON")]
    deny: Vec<Reason>,
    /// Check only the trailers, without the ledger
    #[arg(long)]
    trailers: bool,
}

/// Why a commit fails
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Reason {
    /// The ledger has no record of the commit
    Unrecorded,
    /// The commit is recorded, but without evidence of who made it
    Unknown,
    /// An unrecorded or unknown merge commit, such as one made by a forge
    Merge,
    /// A session made the commit, but its message names no checkpoint
    NoTrailer,
    /// The message names only another commit's checkpoint
    Copied,
    /// The trailer points to nothing that is recorded here
    Nowhere,
    /// One of several sessions made the commit (passes unless denied)
    Ambiguous,
    /// The commit fails a check, but predates Siglum here (passes unless denied)
    Before,
}

/// The reasons that pass, unless they are denied.
const LENIENT: [Reason; 2] = [Reason::Ambiguous, Reason::Before];

impl Reason {
    const fn for_finding(finding: &Finding) -> Self {
        match finding {
            Finding::Unrecorded => Self::Unrecorded,
            Finding::Unknown => Self::Unknown,
            Finding::Merge => Self::Merge,
            Finding::NoTrailer(_) => Self::NoTrailer,
            Finding::Copied { .. } => Self::Copied,
            Finding::Nowhere(_) | Finding::Malformed(_) => Self::Nowhere,
            Finding::Ambiguous(_) => Self::Ambiguous,
            Finding::Before => Self::Before,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Unrecorded => "unrecorded",
            Self::Unknown => "unknown",
            Self::Merge => "merge",
            Self::NoTrailer => "no-trailer",
            Self::Copied => "copied",
            Self::Nowhere => "nowhere",
            Self::Ambiguous => "ambiguous",
            Self::Before => "before",
        }
    }
}

/// What was checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    Ledger,
    /// Nothing but the trailers, as was asked for.
    Trailers,
    /// The same because there is no ledger, or it knows nothing of these commits.
    Nothing,
}

/// What came of it.
struct Outcome {
    range: String,
    against: Against,
    /// Whether a shallow clone may hide commits of the range.
    cut: bool,
    allowed: BTreeSet<Reason>,
    commits: Vec<Checked>,
}

impl Outcome {
    /// What a commit fails for.
    fn failing<'a>(&'a self, commit: &'a Checked) -> impl Iterator<Item = &'a Finding> {
        let counts = |f: &&Finding| !self.allowed.contains(&Reason::for_finding(f));
        commit.findings.iter().filter(counts)
    }

    /// The commits that fail.
    fn failed(&self) -> impl Iterator<Item = &Checked> {
        let fails = |c: &&Checked| self.failing(c).next().is_some();
        self.commits.iter().filter(fails)
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let allowed = allowed(args)?;
    let repo = cx.repo()?;
    let range = range(args, cx)?;
    let listed = cx.git().range(&range).map_err(|e| unnamed(e, &range, cx))?;
    let edge = repo.shallow_edge();
    let (against, commits) = check_range(args, cx, &listed, || before(cx, &repo, &range, &listed))?;
    let outcome = Outcome {
        range: range.join(" "),
        against,
        cut: listed.iter().any(|c| edge.contains(&c.commit)),
        allowed,
        commits,
    };
    if against == Against::Nothing && !listed.is_empty() {
        let ledger = Cx::tilde(&cx.home.ledger());
        let what = if cx.has_ledger() {
            format!("the ledger at {ledger} has no record of these commits")
        } else {
            format!("there is no ledger at {ledger}")
        };
        cx.ui
            .warning(format!("{what}, so only trailers were checked"));
    }
    let shown = match cx.ui.json {
        true => cx.ui.json(SCHEMA, Json::from_outcome(&outcome)),
        false => show::answer(cx, &outcome),
    };
    shown.or_else(CommandError::unless_closed)?;
    show::verdict(cx, &outcome)
}

fn allowed(args: &Args) -> Result<BTreeSet<Reason>, CommandError> {
    let mut allowed: BTreeSet<Reason> = args.allow.iter().copied().collect();
    if let Some(both) = args.deny.iter().find(|r| allowed.contains(r)) {
        let word = both.word();
        return Err(CommandError::usage(format!(
            "`{word}` cannot be both allowed and denied"
        )));
    }
    allowed.extend(LENIENT.iter().filter(|reason| !args.deny.contains(reason)));
    Ok(allowed)
}

/// The range that was asked for, else what the upstream branch lacks.
fn range(args: &Args, cx: &Cx) -> Result<Vec<String>, CommandError> {
    if !args.range.is_empty() {
        return Ok(args.range.clone());
    }
    match cx.git().upstream()? {
        Some(upstream) => Ok(vec![format!("{upstream}..HEAD")]),
        None => Err(
            CommandError::usage("no range is given, and HEAD has no upstream branch").hint(
                "Pass a range, as in `siglum check main..HEAD`; `siglum check HEAD` checks all \
                 of its history.",
            ),
        ),
    }
}

/// Why git lists no commits.
fn unnamed(error: GitError, range: &[String], cx: &Cx) -> CommandError {
    let GitError::Refused { message, .. } = &error else {
        return error.into();
    };
    let shallow = cx.find_repo().is_some_and(|r| !r.shallow_edge().is_empty());
    let reason = message.lines().next().unwrap_or_default();
    let reason = reason.strip_prefix("fatal: ").unwrap_or(reason);
    let error = CommandError::not_found(format!(
        "`{}` is not a revision or a range: {reason}",
        range.join(" ")
    ));
    if shallow {
        error.hint("This clone is shallow; fetch the full history (`git fetch --unshallow`).")
    } else {
        error.hint("Pass a revision or a range that git knows, such as `main..HEAD`.")
    }
}

/// The commits of the range that were there before Siglum was switched on.
fn before(
    cx: &Cx,
    repo: &Repo,
    range: &[String],
    listed: &[RangeCommit],
) -> Result<BTreeSet<Oid>, CommandError> {
    let tips = repo.tips_at_begin();
    if tips.is_empty() || listed.is_empty() {
        return Ok(BTreeSet::new());
    }
    let beyond = cx.git().range_beyond(range, &tips)?;
    let all = listed.iter().map(|listed| listed.commit.clone());
    Ok(all.filter(|commit| !beyond.contains(commit)).collect())
}

fn check_range(
    args: &Args,
    cx: &Cx,
    listed: &[RangeCommit],
    before: impl Fn() -> Result<BTreeSet<Oid>, CommandError>,
) -> Result<(Against, Vec<Checked>), CommandError> {
    if args.trailers {
        return Ok((Against::Trailers, check::trailers(listed)));
    }
    // Asking must not make a ledger where there is none.
    if cx.has_ledger() {
        let (mut ledger, repository) = cx.settled()?;
        let repository = repository.map(|r| r.id);
        if let Some(checked) = check::against(&mut ledger, repository, listed, &before()?)? {
            return Ok((Against::Ledger, checked));
        }
    }
    Ok((Against::Nothing, check::trailers(listed)))
}
