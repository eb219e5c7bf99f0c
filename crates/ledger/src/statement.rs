//! What people and programs state, beside the evidence.

use serde::{Deserialize, Serialize};
use siglum_domain::link::Link;
use siglum_domain::{
    LedgerId, Oid, PlatformName, RepositoryId, SessionId, Timestamp, TokenId, TurnId,
};

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
    /// A trusted platform attests that a session made a commit.
    Attested {
        repository: RepositoryId,
        commit: Oid,
        session: SessionId,
        /// The token that it was stated with.
        token: TokenId,
        attested: AttestedFacts,
    },
    /// An attestation is withdrawn.
    AttestationWithdrawn {
        repository: RepositoryId,
        commit: Oid,
        session: SessionId,
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

/// What a platform says of a commit that it attests, and of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestedFacts {
    /// What the platform calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlatformName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// First parent first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parents: Option<Vec<Oid>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_at: Option<Timestamp>,
}

impl Statement {
    /// The session that this speaks of.
    #[must_use]
    pub const fn session(&self) -> Option<SessionId> {
        match self {
            Self::LinkAttached { session, .. }
            | Self::LinkDetached { session, .. }
            | Self::Adopted { session, .. }
            | Self::Attested { session, .. }
            | Self::AttestationWithdrawn { session, .. }
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
            | Self::Disowned { repository, commit }
            | Self::Attested {
                repository, commit, ..
            }
            | Self::AttestationWithdrawn {
                repository, commit, ..
            } => Some((*repository, commit)),
            _ => None,
        }
    }

    /// Whether this is of this ledger alone, and never sent to another one: it rests on a token that only this ledger
    /// knows.
    #[must_use]
    pub const fn stays_here(&self) -> bool {
        matches!(
            self,
            Self::Attested { .. } | Self::AttestationWithdrawn { .. }
        )
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
