//! `siglum check`: whether the commits of a range are accounted for.

mod json;
mod show;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use siglum_domain::{Oid, RepositoryId};
use siglum_engine::commits::check::{self, Checked, Finding, Standing};
use siglum_gitstore::{GitError, RangeCommit, Repo};
use siglum_ledger::SqliteLedger;

pub use json::Json;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::team::{Question, Source, Team};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.check/1";

/// Check that commits have a record and a trailer that points to it
///
/// For pipelines and hooks. Lists the commits that fail, each with the reason and a remedy. A session's
/// commit passes if its message names its own checkpoint; a person's commit passes if evidence shows that
/// the person made it; any commit passes if it was adopted (`siglum adopt`), or if a platform attests its session and
/// nothing was observed, unless `--deny attested` is passed.
///
/// Commits without a known committer here are checked against the records of the team's gateway, if one is
/// configured for this repository: with `siglum sync`, or with SIGLUM_GATEWAY and SIGLUM_GATEWAY_TOKEN. A pipeline
/// needs these two variables and a read token (`siglum token create --read`), and no ledger.
///
/// Without a ledger and a gateway, checks only the trailers: that each commit has one, and that it is well formed.
///
/// Exit codes: 0 all commits pass, or the range is empty; 1 some fail; 2 wrong usage; 3 the range names no
/// commits; 4 none fails, but some could not be checked: there is no ledger, the gateway did not answer, or a
/// shallow clone truncates the range.
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
    /// Fail commits for this reason, which passes by default: `ambiguous`, `attested`, `before`
    #[arg(long, value_name = "REASON", hide_possible_values = true)]
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
    /// Only a platform's attestation names the session (passes unless denied)
    Attested,
    /// The commit fails a check, but predates Siglum here (passes unless denied)
    Before,
}

/// The reasons that pass, unless they are denied.
const LENIENT: [Reason; 3] = [Reason::Ambiguous, Reason::Attested, Reason::Before];

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
            Finding::Attested => Self::Attested,
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
            Self::Attested => "attested",
            Self::Before => "before",
        }
    }
}

/// What was checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    Ledger,
    /// What the team's gateway says, since there is no ledger, or it knows nothing of these commits.
    Gateway,
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
    /// The gateways that answered for commits.
    sources: BTreeMap<Oid, Source>,
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
    let found = check_range(args, cx, &listed, || before(cx, &repo, &range, &listed))?;
    let (against, commits, sources) = found;
    let outcome = Outcome {
        range: range.join(" "),
        against,
        cut: listed.iter().any(|c| edge.contains(&c.commit)),
        allowed,
        commits,
        sources,
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
    if cx.git().check_access().is_err() {
        // It refuses every range, such as where somebody else owns the repository.
        return error.into();
    }
    let shallow = cx.find_repo().is_some_and(|r| !r.shallow_edge().is_empty());
    let reason = message.lines().next().unwrap_or_default();
    let reason = reason.strip_prefix("fatal: ").unwrap_or(reason);
    let named = range.join(" ");
    let error = CommandError::not_found(match reason.contains(&named) {
        true => format!("`{named}` is not a revision or a range"),
        false => format!("`{named}` is not a revision or a range: {reason}"),
    });
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

/// What commits were checked against, what came of it, and which gateways answered for them.
type CheckedRange = (Against, Vec<Checked>, BTreeMap<Oid, Source>);

fn check_range(
    args: &Args,
    cx: &Cx,
    listed: &[RangeCommit],
    before: impl Fn() -> Result<BTreeSet<Oid>, CommandError>,
) -> Result<CheckedRange, CommandError> {
    if args.trailers {
        let checked = check::trailers(listed);
        return Ok((Against::Trailers, checked, BTreeMap::new()));
    }
    // Asking must not make a ledger where there is none.
    if !cx.has_ledger() {
        return against_gateway(cx, None, None, (Against::Nothing, check::trailers(listed)));
    }
    let (mut ledger, repository) = cx.settled()?;
    let repository = repository.map(|r| r.id);
    let local = match check::against(&mut ledger, repository, listed, &before()?)? {
        Some(checked) => (Against::Ledger, checked),
        None => (Against::Nothing, check::trailers(listed)),
    };
    against_gateway(cx, Some(&mut ledger), repository, local)
}

/// Checks the commits that nobody is known here to have made against what the team's gateway says, if there is one.
fn against_gateway(
    cx: &Cx,
    ledger: Option<&mut SqliteLedger>,
    repository: Option<RepositoryId>,
    (mut against, mut commits): (Against, Vec<Checked>),
) -> Result<CheckedRange, CommandError> {
    let team = Team::find(cx, ledger, repository)?;
    let question = |checked: &Checked| Question {
        commit: checked.git.commit.clone(),
        named: checked.git.named.clone(),
    };
    // What passes by the ledger's own records is not asked about.
    let is_all = against == Against::Nothing;
    let is_open = |c: &Checked| c.standing.is_open() && (is_all || !c.findings.is_empty());
    let open = commits.iter().filter(|checked| is_open(checked));
    let questions: Vec<Question> = open.map(question).collect();
    if team.is_empty() || questions.is_empty() {
        return Ok((against, commits, BTreeMap::new()));
    }
    let found = team.ask(cx, &questions);
    let is_answered = |q: &Question| found.answers.contains_key(&q.commit);
    if against == Against::Nothing && (found.is_complete || questions.iter().all(is_answered)) {
        against = Against::Gateway;
    }
    for checked in commits.iter_mut().filter(|checked| is_open(checked)) {
        let git = &checked.git;
        let answer = found.answers.get(&git.commit);
        let has_named = git.named.iter().any(|n| found.checkpoints.contains_key(n));
        if answer.is_none() && !has_named && against != Against::Gateway {
            continue;
        }
        let mut by_gateway = check::answered(git, checked.standing, answer, &found.checkpoints);
        if checked.findings == [Finding::Before] && !by_gateway.findings.is_empty() {
            by_gateway.findings = vec![Finding::Before];
        }
        *checked = by_gateway;
    }
    Ok((against, commits, found.sources))
}

/// How many commits there are, by what the ledger says of them.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counts {
    all: u64,
    failed: u64,
    /// Of sessions.
    sessions: u64,
    /// Of people who were seen making them.
    people: u64,
    /// Of sessions, as people say.
    claimed: u64,
    /// Of sessions, as trusted platforms attest; nobody was seen making them.
    attested: u64,
    /// Of one of several sessions.
    ambiguous: u64,
    /// Of nobody known, or not recorded, or not asked for.
    unknown: u64,
    /// Those of all these that lack something and were there before Siglum was switched on.
    before: u64,
    /// Those of all these for which the team's gateway answered.
    by_gateway: u64,
}

impl Counts {
    fn from_outcome(outcome: &Outcome) -> Self {
        let mut counts = Self {
            all: outcome.commits.len() as u64,
            failed: outcome.failed().count() as u64,
            by_gateway: outcome.sources.len() as u64,
            ..Self::default()
        };
        for commit in &outcome.commits {
            counts.before += u64::from(commit.findings.contains(&Finding::Before));
            *match commit.standing {
                Standing::Session(..) => &mut counts.sessions,
                Standing::Human => &mut counts.people,
                Standing::Claimed(_) => &mut counts.claimed,
                Standing::Attested(_) => &mut counts.attested,
                Standing::Ambiguous(_) => &mut counts.ambiguous,
                Standing::Unknown | Standing::Unrecorded => &mut counts.unknown,
            } += 1;
        }
        counts
    }
}
