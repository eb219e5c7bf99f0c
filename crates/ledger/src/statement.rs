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
    LinkAttached { session: SessionId, link: Link },
    /// A link is detached from a session.
    LinkDetached { session: SessionId, link: Link },
    /// A commit is said to be a session's.
    Adopted {
        repository: RepositoryId,
        commit: Oid,
        session: SessionId,
    },
    /// What was said of a commit is taken back.
    Disowned {
        repository: RepositoryId,
        commit: Oid,
    },
    /// A session is said to have ended.
    Ended {
        session: SessionId,
        /// How, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<LaunchEnd>,
    },
    /// A session works in these repositories, the first of them first of all.
    WorksIn {
        session: SessionId,
        repositories: Vec<RepositoryId>,
    },
    /// A session was archived.
    Archived { session: SessionId },
    /// A launcher is about to start the command of a session.
    Launched { session: SessionId, launch: Launch },
    /// The first agent process below a launcher took up what was launched.
    Claimed {
        /// The session that was launched.
        session: SessionId,
        claim: Claim,
    },
    /// The command of a launched session is over.
    LaunchEnded {
        session: SessionId,
        end: LaunchEnd,
        /// What became of the checkout that was made for it.
        worktree: Option<OwnWorktree>,
    },
    /// A turn that nobody drove was settled by a person.
    Decided {
        session: SessionId,
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
    pub at: Timestamp,
    pub by: String,
    /// Through what: `cli`, `environment`, `api`.
    pub source: String,
    pub statement: Statement,
}
