//! From signs to a verdict: who made this commit.
//!
//! [`judge`] is the table of the design (DESIGN §5) as a pure function: [`TABLE`] has its rows, to be
//! held beside the design. It takes what was observed, in any order, and gives the committer, the
//! verdict, and every sign with the reason why it counted or not. Recency orders candidates and
//! decides nothing.

mod attestation;
mod judging;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod properties;
mod table;
#[cfg(test)]
mod tests;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::attestation::{Attestation, join_attestations};
pub use self::judging::{Counterfactual, counterfactuals, judge};
pub use self::table::{Rule, TABLE, rule};

use crate::grammar::{AgentName, NativeId};
use crate::id::SessionId;
use crate::process::{ProgramKind, TerminalSeen};
use crate::time::Timestamp;

/// The version of the rules, kept with every judgement. Older judgements are made again from the raw
/// evidence by `siglum rebuild judgements`.
pub const RULES: u32 = 4;

/// How sure an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No evidence.
    Unknown,
    /// The evidence contradicts itself, or fits several.
    Ambiguous,
    /// One sign.
    Likely,
    /// Two independent signs agree.
    Certain,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Ambiguous => "ambiguous",
            Self::Likely => "likely",
            Self::Certain => "certain",
        })
    }
}

/// How a piece of evidence was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Seen while it happened.
    Observed,
    /// Found by comparing content.
    Derived,
    /// Concluded by a named rule.
    Inferred,
    /// Said by a trailer, a note or a person.
    Claimed,
    /// Stated by a trusted platform, with its own credential.
    Attested,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Observed => "observed",
            Self::Derived => "derived",
            Self::Inferred => "inferred",
            Self::Claimed => "claimed",
            Self::Attested => "attested",
        })
    }
}

/// One observation for or against "session S ran commit C".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "sign", rename_all = "snake_case")]
pub enum Sign {
    /// The git process descends from the session's agent process.
    Ancestry {
        /// How far up the chain that process is; 0 is the hook itself.
        depth: u32,
        /// The process, by its key.
        process: String,
        /// When the session was last bound to this process.
        bound_at: Timestamp,
    },
    /// The session's agent process is the first process of its container, and git is below it. What
    /// others left behind there is below it, too.
    Reaper {
        /// How far up the chain that process is.
        depth: u32,
        /// The process, by its key.
        process: String,
    },
    /// The git process descends from the `siglum run` that launched the session.
    Launcher {
        /// How far up the chain the launcher is; 0 is the hook itself.
        depth: u32,
        /// The launcher's process, by its key.
        process: String,
        /// Whether a person seems to work between git and the launcher.
        person: bool,
    },
    /// A variable of the agent in git's environment names the session.
    Variable { name: String },
    /// A variable in git's environment says that an agent of the session's kind is there: the
    /// environment is the one that the nearest agent gave it.
    Presence {
        /// The variable.
        name: String,
    },
    /// A tool call of the session that runs commands was running in this worktree. Whoever else
    /// commits there meanwhile is none of it, so it confirms and separates, and never names.
    RunningTool { call: String },
    /// A tool call of the session, running at that moment or shortly before, sends input to terminals
    /// through this program. Someone who seems to type may be it.
    TypesIntoTerminals { call: String, program: String },
    /// The launcher's claim, bound to this agent process.
    LaunchClaim,
    /// HEAD moved to the commit while a tool call of the session ran, whose command makes such a commit
    /// and whose output has the line that git prints when it has made this one.
    CallCommitted { call: String },
    /// HEAD moved to the commit while a tool call of the session ran, or it runs still, and its command
    /// is given exactly this commit's subject; its output says nothing of it.
    CommandFits { call: String },
    /// HEAD moved to the commit while a tool call of the session ran, and the call's output names it,
    /// as that of any call does which prints a log.
    CallPrinted { call: String },
    /// HEAD moved to the commit while a tool call of the session ran, or the call runs still; it
    /// says nothing of the commit.
    Window { call: String },
}

impl Sign {
    /// What the sign is worth, and what takes its worth away: the columns of the design's table.
    #[must_use]
    pub const fn strength(&self) -> (&'static str, &'static str) {
        match self {
            Self::Ancestry { .. } => (
                "names the session; certain with a second sign",
                "a program of its own between agent and git, a variable set further in",
            ),
            Self::Reaper { .. } => (
                "names nobody alone",
                "all orphans of a container fall to its first process",
            ),
            Self::Launcher { person: false, .. } => (
                "names the session, likely: nobody recorded what was launched",
                "an agent between git and the launcher, an interactive shell there, a variable set further in",
            ),
            Self::Launcher { person: true, .. } => (
                "names nobody",
                "a person in a launched shell or editor is not the launch",
            ),
            Self::Variable { .. } => (
                "names the session; certain with ancestry",
                "a terminal, a window or a program that outlived the session may have inherited it",
            ),
            Self::Presence { .. } => (
                "shows that nobody cleaned the environment",
                "it names no session",
            ),
            Self::RunningTool { .. } => (
                "confirms ancestry; separates sessions of one process",
                "not conclusive: others can commit at the same time",
            ),
            Self::TypesIntoTerminals { .. } => (
                "makes a person at a terminal doubtful",
                "not conclusive: most such calls commit nothing",
            ),
            Self::LaunchClaim => ("confirms ancestry", "another process than the bound one"),
            Self::CallCommitted { .. } => (
                "names the session, certain where no hook saw the commit",
                "another call that fits, a nearer sign for somebody else",
            ),
            Self::CommandFits { .. } => (
                "names the session, likely",
                "another call that fits, a nearer sign for somebody else",
            ),
            Self::CallPrinted { .. } | Self::Window { .. } => (
                "a candidate",
                "not conclusive: others can commit at the same time",
            ),
        }
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ancestry { depth, .. } => {
                write!(f, "git ran {depth} processes below the session's agent")
            }
            Self::Launcher {
                depth,
                person: false,
                ..
            } => write!(
                f,
                "git ran {depth} processes below the launcher of the session"
            ),
            Self::Launcher { depth, .. } => write!(
                f,
                "git ran {depth} processes below the launcher of the session, in a shell or editor in which a \
                 person works"
            ),
            Self::Variable { name } => write!(f, "{name} in git's environment names the session"),
            Self::Presence { name } => {
                write!(
                    f,
                    "{name} in git's environment is that of the session's agent"
                )
            }
            Self::RunningTool { call } => {
                write!(f, "tool call {call} of the session was running here")
            }
            Self::TypesIntoTerminals { call, program } => write!(
                f,
                "tool call {call} of the session sends input to terminals ({program})"
            ),
            Self::LaunchClaim => {
                f.write_str("the launcher bound this agent process to the session")
            }
            Self::Reaper { depth, .. } => write!(
                f,
                "git ran {depth} processes below the session's agent, to which all orphans fall"
            ),
            Self::CallCommitted { call } => write!(
                f,
                "tool call {call} committed: HEAD moved to this commit during it, and its output has \
                 git's own line of making it"
            ),
            Self::CommandFits { call } => write!(
                f,
                "the command of tool call {call} is given this commit's subject, and HEAD moved to it \
                 during the call"
            ),
            Self::CallPrinted { call } => write!(
                f,
                "tool call {call} printed the commit, which shows nothing about who made it"
            ),
            Self::Window { call } => write!(
                f,
                "tool call {call} of the session ran when HEAD moved to this commit"
            ),
        }
    }
}

/// What is known of a session that a sign names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The last time anything was heard of it. Orders candidates, decides nothing.
    pub last_at: Option<Timestamp>,
    /// When the agent said that it ended, if it did and nothing came after.
    pub ended_at: Option<Timestamp>,
    /// Of the agents' variables in git's environment, those that the session's own agent process
    /// had in its environment with the same value, so that somebody further out had set them.
    /// Absent where nobody looked.
    pub carried: Option<BTreeSet<String>>,
}

/// An agent in the chain or the environment that no recorded session accounts for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stranger {
    /// A process of a known agent that no session is bound to.
    Process {
        /// How far up the chain.
        depth: u32,
        agent: AgentName,
    },
    /// A variable that names a session we never heard of, or only that an agent is there.
    Variable {
        name: String,
        /// The session it names.
        native: Option<NativeId>,
    },
}

/// Everything that was observed about one commit.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// The signs, each for one session.
    pub signs: Vec<(SessionId, Sign)>,
    /// What is known of the sessions.
    pub standings: BTreeMap<SessionId, Standing>,
    /// Agents that no session accounts for.
    pub strangers: Vec<Stranger>,
    /// The terminal that git ran in, with an interactive shell above git.
    pub terminal: Option<TerminalSeen>,
    /// Programs above git that are no shells, runners or build tools: how far up the chain, name, kind.
    pub programs: Vec<(u32, String, ProgramKind)>,
    /// Sessions whose agents give what they start no variable, so that its absence says nothing.
    pub unmarked: BTreeSet<SessionId>,
    /// Whether the walk up the chain was cut: what is above its end was not seen.
    pub cut: bool,
    /// Whether a hook of git saw the commit at all.
    pub witnessed: bool,
    /// When it was committed.
    pub at: Timestamp,
}

/// Who ran `git commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Committer {
    /// A session of an agent.
    Session {
        session: SessionId,
    },
    /// A person at a terminal.
    Human,
    Unknown,
}

/// One sign and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The session it speaks of; none for evidence of a person or of a stranger.
    pub session: Option<SessionId>,
    pub basis: Basis,
    /// Whether it counted for the answer.
    pub counted: bool,
    /// The evidence in words.
    pub text: String,
}

/// The answer to one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The rules that were applied.
    pub rules: u32,
    pub committer: Committer,
    pub verdict: Verdict,
    /// The row of [`TABLE`] that gave the answer, by its name; empty in judgements that are older than
    /// the names.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    pub evidence: Vec<Evidence>,
    /// Sessions that it could also have been, newest interaction first, then by id.
    pub candidates: Vec<SessionId>,
    /// The sessions further up the chain, which started the committer, nearest first.
    pub outer: Vec<SessionId>,
}
