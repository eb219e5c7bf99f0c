//! The JSON form of the answer.

use serde::Serialize;
use siglum_engine::commits::check::{Checked, Finding, Standing};

use super::show::{remedy, what};
use super::{Against, Counts, Outcome, Reason};
use crate::team::SourceJson;

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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

/// A commit that failed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Commit {
    commit: String,
    subject: String,
    git_author: String,
    /// The session that made it, or that somebody says made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// How sure it is that this session made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// The checkpoints that its message names.
    named: Vec<String>,
    findings: Vec<FindingJson>,
    /// The gateway that says who made it; absent where that is from this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceJson>,
}

/// Why a commit failed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FindingJson {
    /// `unrecorded`, `unknown`, `merge`, `no-trailer`, `copied`, `nowhere`, `ambiguous`, `attested` or `before`.
    reason: String,
    text: String,
    /// What to do.
    remedy: String,
    /// The checkpoint that is meant, for `copied` and `nowhere`.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
    /// The commit that this checkpoint is, for `copied`.
    #[serde(skip_serializing_if = "Option::is_none")]
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
