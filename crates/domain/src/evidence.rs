//! From signs to a verdict: who made this commit.
//!
//! [`judge`] is the table of the design as a pure function. It takes what was observed, in any
//! order, and gives the committer, the verdict, and every sign with the reason why it counted or
//! not. Recency orders candidates and decides nothing.

mod judging;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::judging::judge;

use crate::grammar::{AgentName, NativeId};
use crate::id::SessionId;
use crate::time::Timestamp;

/// The version of the rules, kept with every judgement.
pub const RULES: u32 = 2;

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
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Observed => "observed",
            Self::Derived => "derived",
            Self::Inferred => "inferred",
            Self::Claimed => "claimed",
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
    /// A variable of the agent in git's environment names the session.
    Variable {
        /// The variable.
        name: String,
    },
    /// A tool call of the session that runs commands was running in this worktree.
    RunningTool {
        /// The call.
        call: String,
    },
    /// The launcher's claim, bound to this agent process.
    LaunchClaim,
    /// HEAD moved to the commit while a tool call of the session ran, and the call's output names it.
    ToolOutput {
        /// The call.
        call: String,
    },
    /// The same, and the output has the line that git prints when it has made this commit.
    GitWords {
        /// The call.
        call: String,
    },
    /// HEAD moved to the commit while a tool call of the session ran, or the call runs still; it
    /// says nothing of the commit.
    Window {
        /// The call.
        call: String,
    },
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ancestry { depth, .. } => {
                write!(f, "git ran {depth} processes below the session's agent")
            }
            Self::Variable { name } => write!(f, "{name} in git's environment names the session"),
            Self::RunningTool { call } => {
                write!(f, "tool call {call} of the session was running here")
            }
            Self::LaunchClaim => {
                f.write_str("the launcher bound this agent process to the session")
            }
            Self::Reaper { depth, .. } => write!(
                f,
                "git ran {depth} processes below the session's agent, to which all orphans fall"
            ),
            Self::ToolOutput { call } => write!(
                f,
                "HEAD moved to this commit during tool call {call}, whose output names it"
            ),
            Self::GitWords { call } => write!(
                f,
                "HEAD moved to this commit during tool call {call}, which has git's own line of \
                 making it in its output"
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
        /// Which agent.
        agent: AgentName,
    },
    /// A variable that names a session we never heard of, or only that an agent is there.
    Variable {
        /// The variable.
        name: String,
        /// The session it names.
        native: Option<NativeId>,
    },
}

/// What an interactive shell had to do with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AtTerminal {
    /// No shell with job control is above git on git's own terminal.
    #[default]
    Away,
    /// One is, by its name: somebody's terminal, and a script, a job or a program in it.
    Below(String),
    /// It was typed there: git is the foreground job, and the shell is its parent.
    Typed(String),
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
    /// Whether git ran at a terminal.
    pub terminal: AtTerminal,
    /// Whether a hook of git saw the commit at all.
    pub witnessed: bool,
    /// Whether the process that ran git was left behind by its parent, so that only its
    /// surroundings speak for it.
    pub orphaned: bool,
    /// When it was committed.
    pub at: Timestamp,
}

/// Who ran `git commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Committer {
    /// A session of an agent.
    Session {
        /// Which.
        session: SessionId,
    },
    /// A person at a terminal.
    Human,
    /// Nobody knows.
    Unknown,
}

/// One sign and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The session it speaks of; none for evidence of a person or of a stranger.
    pub session: Option<SessionId>,
    /// How it was had.
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
    /// Who ran it.
    pub committer: Committer,
    /// How sure.
    pub verdict: Verdict,
    /// Why.
    pub evidence: Vec<Evidence>,
    /// Sessions that it could also have been, newest interaction first, then by id.
    pub candidates: Vec<SessionId>,
    /// The sessions further up the chain, which started the committer, nearest first.
    pub outer: Vec<SessionId>,
}
