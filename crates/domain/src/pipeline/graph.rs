//! What a pipeline comes to.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::event::{CheckEvidence, CheckResult, Outcome, ReviewVerdict, words};
use crate::grammar::{AgentName, Oid};
use crate::id::SessionId;
use crate::observation::Tokens;
use crate::price::Cost;
use crate::redact::Redacted;
use crate::time::Timestamp;

words! {
    /// Where a phase or a pipeline stands.
    State {
        /// It is expected and has not begun.
        Pending = "pending",
        Running = "running",
        /// It waits for somebody.
        Awaiting = "awaiting",
        /// It did what it was for.
        Completed = "completed",
        /// It did not.
        Failed = "failed",
        /// Somebody broke it off.
        Cancelled = "cancelled",
        /// It was left out.
        Skipped = "skipped",
        /// It is over, or cannot be seen, and nobody said how it ended.
        Unknown = "unknown",
    }
}

impl State {
    /// Whether nothing more is to come.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Skipped
        )
    }
}

impl From<Outcome> for State {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Failed => Self::Failed,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Skipped => Self::Skipped,
        }
    }
}

words! {
    /// What a session does, or how it ended.
    Activity {
        Working = "working",
        /// It waits for its next prompt.
        Waiting = "waiting",
        /// It ended; nobody launched it, so nobody said how.
        Ended = "ended",
        /// Its command did what it was for.
        Completed = "completed",
        /// Its command did not.
        Failed = "failed",
        /// Its launcher died without a word.
        Lost = "lost",
        /// It cannot be seen from here, and has been silent for long.
        Unseen = "unseen",
    }
}

impl Activity {
    /// Whether it goes on.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Working | Self::Waiting)
    }
}

/// A session of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub session: SessionId,
    /// `None` where nobody named it.
    pub agent: Option<AgentName>,
    /// The roles that are attached to it: one, as a rule.
    pub roles: Vec<String>,
    /// The phases that are attached to it: one, as a rule.
    pub phases: Vec<String>,
    /// Whether it was taken out of the pipeline again.
    pub detached: bool,
    pub started: Timestamp,
    /// When it ended, or was last heard of; absent while it goes on.
    pub ended: Option<Timestamp>,
    pub activity: Activity,
    /// How it ended, in words, where that was said.
    pub end: Option<String>,
    pub tokens: Tokens,
    pub commits: u64,
    /// The models that wrote its messages.
    pub models: Vec<String>,
}

/// A session at its place in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    pub member: Member,
    /// The role that it plays; where it has none, its agent.
    pub name: String,
    /// Which one of its name it is within the phase, from 1.
    pub number: u64,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
}

impl Instance {
    /// `coder`, `coder #2`.
    #[must_use]
    pub fn label(&self) -> String {
        if self.number > 1 {
            format!("{} #{}", self.name, self.number)
        } else {
            self.name.clone()
        }
    }
}

/// The last contract of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    pub name: String,
    pub version: Option<String>,
    /// The digest of its text as it was recorded.
    pub digest: String,
    /// The event that recorded it.
    pub number: u64,
    pub at: Timestamp,
    pub session: Option<SessionId>,
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub verdict: ReviewVerdict,
    /// The role that gave it.
    pub role: Option<String>,
    pub session: Option<SessionId>,
    /// What it validates the work against, where that was said.
    pub contract: Option<Validated>,
    /// Who recorded it.
    pub by: String,
    pub text: Option<Redacted>,
    /// The event that recorded it.
    pub number: u64,
    pub at: Timestamp,
}

impl Review {
    /// Whether another session than the one that wrote the contract gave it; absent where one of both is not known.
    #[must_use]
    pub fn is_by_another(&self) -> Option<bool> {
        let author = self.contract.as_ref()?.stated.as_ref()?.session?;
        Some(self.session? != author)
    }
}

/// The contract that a review validates the work against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validated {
    pub name: String,
    /// The contract as it stood when the review was recorded; absent where there was none of this name.
    pub stated: Option<Contract>,
}

/// The last result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub result: CheckResult,
    /// Whether it passed, and its summary says that it was skipped. It does not count as passed then.
    pub contradictory: bool,
    /// Whose word the result is.
    pub evidence: CheckEvidence,
    /// Who recorded it.
    pub by: String,
    /// How often it has had one.
    pub runs: u64,
    pub summary: Option<Redacted>,
    /// Where to read more.
    pub url: Option<String>,
    /// The commit that was checked.
    pub commit: Option<Oid>,
    pub session: Option<SessionId>,
    /// The event that recorded it.
    pub number: u64,
    pub at: Timestamp,
}

/// How many checks came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Ran and found nothing wrong.
    pub passed: u64,
    /// Ran and found something wrong.
    pub failed: u64,
    /// Did not run.
    pub skipped: u64,
    /// Came to no result.
    pub errored: u64,
    /// Passed, and say that they were skipped.
    pub contradictory: u64,
}

impl CheckCounts {
    /// Adds a check.
    pub const fn add(&mut self, check: &Check) {
        if check.contradictory {
            self.contradictory += 1;
            return;
        }
        match check.result {
            CheckResult::Passed => self.passed += 1,
            CheckResult::Failed => self.failed += 1,
            CheckResult::Skipped => self.skipped += 1,
            CheckResult::Errored => self.errored += 1,
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.passed + self.failed + self.skipped + self.errored + self.contradictory
    }

    /// Whether there are checks, and each one ran and passed.
    #[must_use]
    pub const fn is_all_passed(&self) -> bool {
        self.passed > 0 && self.passed == self.all()
    }
}

/// One phase, or what belongs to none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// Its name; absent for the sessions of which no phase is known.
    pub name: Option<String>,
    pub state: State,
    /// Whether that was recorded; else it follows from its sessions.
    pub stated: bool,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// How long it ran, in milliseconds, in all cycles.
    pub duration_ms: u64,
    /// How often it began, each but the first after an end; 0 where nobody said that it began.
    pub cycles: u64,
    /// Its sessions. Those of one wave ran at one time; those of the next began later.
    pub waves: Vec<Vec<Instance>>,
    /// What was agreed on.
    pub contracts: Vec<Contract>,
    /// Its reviews, oldest first.
    pub reviews: Vec<Review>,
    /// Its checks, by name.
    pub checks: Vec<Check>,
}

impl Phase {
    /// Its sessions, in order.
    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.waves.iter().flatten()
    }

    /// Whether something goes on in it.
    #[must_use]
    pub fn is_current(&self) -> bool {
        matches!(self.state, State::Running | State::Awaiting)
            || self.instances().any(|i| i.member.activity.is_live())
    }
}

/// What a pipeline comes to in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions.
    pub sessions: u64,
    /// Of these, those that go on.
    pub live: u64,
    pub tokens: Tokens,
    /// What they cost; absent where that was not asked for.
    pub cost: Option<Cost>,
    pub commits: u64,
    pub checks: CheckCounts,
}

/// A pipeline as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// Its id.
    pub pipeline: String,
    pub state: State,
    /// Whether it was recorded that it ended.
    pub ended_stated: bool,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// Its phases, as planned, else in the order in which they began.
    pub phases: Vec<Phase>,
    /// The sessions of which no phase is known, and what was recorded for no phase.
    pub loose: Phase,
    pub totals: Totals,
}

impl Graph {
    /// Its phases, and what belongs to none where there is such.
    pub fn all_phases(&self) -> impl Iterator<Item = &Phase> {
        self.phases.iter().chain([&self.loose])
    }

    /// How far it has come, in halves of a phase: what is over counts two, what was begun one.
    #[must_use]
    pub fn halves(&self) -> usize {
        let halves = |phase: &Phase| match phase.state {
            State::Completed | State::Skipped => 2,
            State::Pending => 0,
            _ => 1,
        };
        self.phases.iter().map(halves).sum()
    }
}
