//! Why a context came to be, and what it has of the one before it.

use std::fmt;
use std::str::FromStr;

use crate::GrammarError;
use crate::words::words;

words!(
    /// Why a context came to be.
    Cause,
    "cause",
    "expected one of first, tick, cron-run, reset, idle, rewind, fork, subagent, compaction, recovery, import",
    {
        /// Its route had none.
        First = "first",
        /// A heartbeat that is isolated.
        Tick = "tick",
        /// A scheduled run that is isolated.
        CronRun = "cron-run",
        /// Somebody began anew.
        Reset = "reset",
        /// Nothing was said for too long.
        Idle = "idle",
        /// Somebody went back to an earlier turn.
        Rewind = "rewind",
        /// Another conversation goes on from here.
        Fork = "fork",
        /// A sub-agent was started.
        Subagent = "subagent",
        /// What was said was summed up.
        Compaction = "compaction",
        /// A host lost its own state and goes on.
        Recovery = "recovery",
        /// It came from elsewhere.
        Import = "import",
    }
);

/// What a context has of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inherit {
    None,
    /// The last summary.
    Summary,
    /// The last messages, so many.
    Tail(u32),
    /// Everything up to where it branched off.
    All,
}

impl Inherit {
    /// The most messages of a tail.
    pub const TAIL_MOST: u32 = 10_000;
    const RULE: GrammarError = GrammarError {
        what: "inherit",
        rule: "expected one of none, summary, all, or tail:<1 to 10000>",
    };
}

impl fmt::Display for Inherit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Summary => f.write_str("summary"),
            Self::Tail(messages) => write!(f, "tail:{messages}"),
            Self::All => f.write_str("all"),
        }
    }
}

impl FromStr for Inherit {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        match text {
            "none" => Ok(Self::None),
            "summary" => Ok(Self::Summary),
            "all" => Ok(Self::All),
            _ => {
                let digits = text.strip_prefix("tail:").ok_or(Self::RULE)?;
                let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
                let messages: u32 = digits.parse().map_err(|_| Self::RULE)?;
                match plain && (1..=Self::TAIL_MOST).contains(&messages) {
                    true => Ok(Self::Tail(messages)),
                    false => Err(Self::RULE),
                }
            }
        }
    }
}
