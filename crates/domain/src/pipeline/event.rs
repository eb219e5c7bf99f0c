//! What is recorded of a pipeline.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::grammar::{Oid, TurnKey};
use crate::id::SessionId;
use crate::redact::Redacted;
use crate::time::Timestamp;

/// An enum of words that people and programs write.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $arm:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$of])* $arm,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$arm),*];

            /// The word for it.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$arm => $word,)*
                }
            }

            /// The one that a word names.
            #[must_use]
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.word() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }
    };
}
pub(super) use words;

words! {
    /// How a phase or a pipeline ended.
    Outcome {
        /// It did what it was for.
        Completed = "completed",
        /// It did not.
        Failed = "failed",
        /// Somebody broke it off.
        Cancelled = "cancelled",
        /// It was left out.
        Skipped = "skipped",
    }
}
words! {
    /// What a review came to.
    ReviewVerdict {
        /// It may go on.
        Approved = "approved",
        /// It may not go on as it is.
        ChangesRequested = "changes_requested",
        /// Neither of both.
        Commented = "commented",
    }
}
words! {
    /// What a check came to. Nothing but `Passed` counts as passed.
    CheckResult {
        /// It ran and found nothing wrong.
        Passed = "passed",
        /// It ran and found something wrong.
        Failed = "failed",
        /// It did not run.
        Skipped = "skipped",
        /// It came to no result.
        Errored = "errored",
    }
}

words! {
    /// Whose word a check's result is.
    #[derive(Default)]
    CheckEvidence {
        /// That of the session that recorded it: it proved itself, or its log has a call at that time.
        Session = "session",
        /// That of whoever recorded it, also where they name a session.
        #[default]
        Reported = "reported",
    }
}

impl CheckEvidence {
    /// Whether it is the word of whoever recorded the check.
    fn is_reported(&self) -> bool {
        *self == Self::Reported
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// The phases that are expected, in order. The last plan counts.
    Planned {
        /// Their names, each once.
        phases: Vec<String>,
    },
    /// A phase began, or goes on.
    PhaseStarted { phase: String },
    /// A phase waits for somebody outside.
    PhaseAwaiting { phase: String },
    /// A phase ended; a start after it is its next cycle.
    PhaseEnded { phase: String, outcome: Outcome },
    /// What was agreed on. Its text is that of the event.
    Contract {
        phase: Option<String>,
        name: String,
        /// Its version, in the words of who wrote it.
        version: Option<String>,
        /// The digest (BLAKE3) of its text as it was recorded.
        digest: String,
    },
    /// Somebody looked at the work. What was said is the text of the event.
    Review {
        phase: Option<String>,
        verdict: ReviewVerdict,
        /// The role that gave it.
        role: Option<String>,
        /// The name of the contract that it validates the work against.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contract: Option<String>,
    },
    /// A check came to a result. Its summary is the text of the event.
    Check {
        phase: Option<String>,
        name: String,
        result: CheckResult,
        /// Where to read more.
        url: Option<String>,
        /// The commit that was checked.
        commit: Option<Oid>,
        /// What was proven of the session when it was recorded.
        #[serde(default, skip_serializing_if = "CheckEvidence::is_reported")]
        evidence: CheckEvidence,
    },
    Ended {
        /// How, if that was said; else its phases tell.
        outcome: Option<Outcome>,
    },
}

impl What {
    /// The word for its kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Planned { .. } => "planned",
            Self::PhaseStarted { .. } => "phase_started",
            Self::PhaseAwaiting { .. } => "phase_awaiting",
            Self::PhaseEnded { .. } => "phase_ended",
            Self::Contract { .. } => "contract",
            Self::Review { .. } => "review",
            Self::Check { .. } => "check",
            Self::Ended { .. } => "ended",
        }
    }

    /// The same, with nothing proven of the session that recorded it.
    #[must_use]
    pub fn without_evidence(&self) -> Self {
        let mut plain = self.clone();
        if let Self::Check { evidence, .. } = &mut plain {
            *evidence = CheckEvidence::Reported;
        }
        plain
    }

    /// The phase that it speaks of.
    #[must_use]
    pub fn phase(&self) -> Option<&str> {
        match self {
            Self::PhaseStarted { phase }
            | Self::PhaseAwaiting { phase }
            | Self::PhaseEnded { phase, .. } => Some(phase),
            Self::Contract { phase, .. }
            | Self::Review { phase, .. }
            | Self::Check { phase, .. } => phase.as_deref(),
            Self::Planned { .. } | Self::Ended { .. } => None,
        }
    }
}

/// What an edge hands over, as it was given to it. [`take`](super::take) says whether it may be recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewEvent {
    /// The word for its kind, one of [`KINDS`](super::KINDS).
    pub kind: String,
    pub phase: Option<String>,
    /// The phases of a plan.
    pub phases: Vec<String>,
    /// How a phase or the pipeline ended.
    pub outcome: Option<String>,
    /// What a review came to.
    pub verdict: Option<String>,
    /// What a check came to.
    pub result: Option<String>,
    /// The role that gave a review.
    pub role: Option<String>,
    /// The name of a contract or a check.
    pub name: Option<String>,
    /// The name of the contract that a review validates the work against.
    pub contract: Option<String>,
    /// The version of a contract.
    pub version: Option<String>,
    /// Where to read more of a check.
    pub url: Option<String>,
    /// The commit that was checked.
    pub commit: Option<String>,
    /// The text of a contract or a review, the summary of a check.
    pub text: Option<String>,
    /// The session that records it.
    pub session: Option<SessionId>,
    /// Whether that session proved itself to the edge; only a check keeps it.
    pub evidence: CheckEvidence,
    /// What the caller calls it: the same on each try.
    pub key: Option<String>,
}

/// An event that may be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub(super) what: What,
    pub(super) text: Option<Redacted>,
    pub(super) session: Option<SessionId>,
    pub(super) key: Option<TurnKey>,
}

impl Draft {
    /// What happened.
    #[must_use]
    pub const fn what(&self) -> &What {
        &self.what
    }

    /// Its text.
    #[must_use]
    pub const fn text(&self) -> Option<&Redacted> {
        self.text.as_ref()
    }

    /// The session that records it.
    #[must_use]
    pub const fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// What the caller calls it.
    #[must_use]
    pub const fn key(&self) -> Option<&TurnKey> {
        self.key.as_ref()
    }
}

/// Something that was recorded of a pipeline. It never changes; only its text may be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number within the pipeline, from 1.
    pub number: u64,
    /// When it was recorded.
    pub at: Timestamp,
    pub by: String,
    /// Through what: `cli`, `api`.
    pub source: String,
    pub session: Option<SessionId>,
    /// What its caller calls it.
    pub key: Option<String>,
    pub what: What,
    pub text: Option<Redacted>,
}
