//! What people and programs state, beside the evidence.

use serde::{Deserialize, Serialize};
use siglum_domain::link::Link;
use siglum_domain::{LedgerId, Oid, RepositoryId, SessionId, Timestamp, TurnId};

use crate::launch::{Claim, Launch, LaunchEnd, OwnWorktree};

/// Something that a person or a program states, beside the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "statement", rename_all = "snake_case")]
pub enum Statement {
    /// A link is attached to a session.
    LinkAttached {
        /// The session.
        session: SessionId,
        /// The link.
        link: Link,
    },
    /// A link is detached from a session.
    LinkDetached {
        /// The session.
        session: SessionId,
        /// The link.
        link: Link,
    },
    /// A commit is said to be a session's.
    Adopted {
        /// The repository.
        repository: RepositoryId,
        /// The commit.
        commit: Oid,
        /// The session.
        session: SessionId,
    },
    /// What was said of a commit is taken back.
    Disowned {
        /// The repository.
        repository: RepositoryId,
        /// The commit.
        commit: Oid,
    },
    /// A session is said to have ended.
    Ended {
        /// The session.
        session: SessionId,
        /// How, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<LaunchEnd>,
    },
    /// A session works in these repositories, the first of them first of all.
    WorksIn {
        /// The session.
        session: SessionId,
        /// The repositories.
        repositories: Vec<RepositoryId>,
    },
    /// A session was archived.
    Archived {
        /// The session.
        session: SessionId,
    },
    /// A launcher is about to start the command of a session.
    Launched {
        /// The session.
        session: SessionId,
        /// How.
        launch: Launch,
    },
    /// The first agent process below a launcher took up what was launched.
    Claimed {
        /// The session that was launched.
        session: SessionId,
        /// By whom.
        claim: Claim,
    },
    /// The command of a launched session is over.
    LaunchEnded {
        /// The session.
        session: SessionId,
        /// How.
        end: LaunchEnd,
        /// What became of the checkout that was made for it.
        worktree: Option<OwnWorktree>,
    },
    /// A turn that nobody drove was settled by a person.
    Decided {
        /// The session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// `done`, `failed` or `discard`.
        decision: String,
    },
}

impl Statement {
    /// The session that this speaks of.
    #[must_use]
    pub const fn session(&self) -> Option<SessionId> {
        match self {
            Self::LinkAttached { session, .. }
            | Self::LinkDetached { session, .. }
            | Self::Adopted { session, .. }
            | Self::Ended { session, .. }
            | Self::WorksIn { session, .. }
            | Self::Archived { session }
            | Self::Launched { session, .. }
            | Self::Claimed { session, .. }
            | Self::LaunchEnded { session, .. }
            | Self::Decided { session, .. } => Some(*session),
            Self::Disowned { .. } => None,
        }
    }

    /// All sessions that this names, the one it speaks of first.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + use<> {
        let taker = match self {
            Self::Claimed { claim, .. } => Some(claim.to),
            _ => None,
        };
        self.session().into_iter().chain(taker)
    }

    /// The commit that this speaks of, and its repository.
    #[must_use]
    pub const fn commit(&self) -> Option<(RepositoryId, &Oid)> {
        match self {
            Self::Adopted {
                repository, commit, ..
            }
            | Self::Disowned { repository, commit } => Some((*repository, commit)),
            _ => None,
        }
    }
}

/// A statement with who made it, when and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementRecord {
    /// The ledger it was made in.
    pub ledger: LedgerId,
    /// Its number there.
    pub sequence: u64,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// Through what: `cli`, `environment`, `api`.
    pub source: String,
    /// What it says.
    pub statement: Statement,
}
