//! The JSON form of the answer.

use serde::Serialize;
use siglum_engine::commits::check::{Checked, Finding, Standing};

use super::show::{remedy, what};
use super::{Against, Outcome, Reason};
use crate::team::SourceJson;

/// The JSON form of the answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    /// The range in git's words.
    range: String,
    /// `ledger`, `gateway` where only the team's gateway has records of these commits, or `trailers` where only these
    /// were looked at.
    against: String,
    /// Whether all that was asked for could be checked.
    complete: bool,
    /// Whether no commit failed.
    passed: bool,
    /// The reasons that did not count.
    allowed: Vec<String>,
    counts: Counts,
    /// The commits that failed, in git's order, newest first.
    failed: Vec<Commit>,
}

/// How many commits there are, by what the ledger says of them.
#[derive(Serialize, schemars::JsonSchema, Default)]
pub struct Counts {
    pub(super) all: u64,
    failed: u64,
    /// Of sessions.
    pub(super) sessions: u64,
    /// Of people who were seen making them.
    pub(super) people: u64,
    /// Of sessions, as people say.
    pub(super) claimed: u64,
    /// Of sessions, as trusted platforms attest; nobody was seen making them.
    pub(super) attested: u64,
    /// Of one of several sessions.
    pub(super) ambiguous: u64,
    /// Of nobody known, or not recorded, or not asked for.
    pub(super) unknown: u64,
    /// Those of all these that lack something and were there before Siglum was switched on.
    pub(super) before: u64,
    /// Those of all these for which the team's gateway answered.
    pub(super) by_gateway: u64,
}

impl Counts {
    pub(super) fn from_outcome(outcome: &Outcome) -> Self {
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

/// A commit that failed.
#[derive(Serialize, schemars::JsonSchema)]
struct Commit {
    commit: String,
    subject: String,
    git_author: String,
    /// The session that made it, or that somebody says made it.
    session: Option<String>,
    /// How sure it is that this session made it.
    verdict: Option<String>,
    /// The checkpoints that its message names.
    named: Vec<String>,
    findings: Vec<FindingJson>,
    /// The gateway that says who made it; absent where that is from this machine.
    source: Option<SourceJson>,
}

/// Why a commit failed.
#[derive(Serialize, schemars::JsonSchema)]
struct FindingJson {
    /// `unrecorded`, `unknown`, `merge`, `no-trailer`, `copied`, `nowhere`, `ambiguous`, `attested` or `before`.
    reason: String,
    text: String,
    /// What to do.
    remedy: String,
    /// The checkpoint that is meant, for `copied` and `nowhere`.
    checkpoint: Option<String>,
    /// The commit that this checkpoint is, for `copied`.
    of: Option<String>,
}

impl Json {
    pub(super) fn from_outcome(outcome: &Outcome) -> Self {
        let counts = Counts::from_outcome(outcome);
        let against = match outcome.against {
            Against::Ledger => "ledger",
            Against::Gateway => "gateway",
            Against::Trailers | Against::Nothing => "trailers",
        };
        Self {
            range: outcome.range.clone(),
            against: against.to_owned(),
            complete: !outcome.cut
                && (outcome.against != Against::Nothing || outcome.commits.is_empty()),
            passed: counts.failed == 0,
            allowed: outcome
                .allowed
                .iter()
                .map(|r| r.word().to_owned())
                .collect(),
            counts,
            failed: outcome
                .failed()
                .map(|c| Commit::from_commit(c, outcome))
                .collect(),
        }
    }
}

impl Commit {
    fn from_commit(commit: &Checked, outcome: &Outcome) -> Self {
        let (session, verdict) = match commit.standing {
            Standing::Session(session, verdict) => (Some(session), Some(verdict)),
            Standing::Claimed(session) | Standing::Attested(session) => (Some(session), None),
            _ => (None, None),
        };
        let finding = |finding: &Finding| FindingJson {
            reason: Reason::for_finding(finding).word().to_owned(),
            text: what(finding, outcome.against),
            remedy: remedy(finding, commit),
            checkpoint: match finding {
                Finding::Copied { checkpoint, .. } | Finding::Nowhere(checkpoint) => {
                    Some(checkpoint.to_string())
                }
                _ => None,
            },
            of: match finding {
                Finding::Copied { of: Some(of), .. } => Some(of.to_string()),
                _ => None,
            },
        };
        Self {
            commit: commit.git.commit.to_string(),
            subject: commit.git.subject.clone(),
            git_author: commit.git.author.clone(),
            session: session.map(|s| s.to_string()),
            verdict: verdict.map(|v| v.to_string()),
            named: commit.git.named.iter().map(ToString::to_string).collect(),
            findings: outcome.failing(commit).map(finding).collect(),
            source: outcome
                .sources
                .get(&commit.git.commit)
                .map(SourceJson::from),
        }
    }
}
