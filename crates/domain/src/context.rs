//! Where replies go, and what conversational state is kept under: two keys that are never mixed up.
//!
//! A *route key* is stable: replies, liveness and the name of a scheduled run go by it. A *context key* names one
//! context, that is one stretch of conversational state, and nothing is read from another one unless its policy says so.
//! Most runs have both equal. An isolated run keeps its route and gets a context of its own, which is why they are two
//! types:
//!
//! ```compile_fail,E0308
//! use siglum_domain::context::{ContextKey, RouteKey};
//! fn assemble(_: &ContextKey) {}
//! let route = RouteKey::new("agent:main:main").unwrap();
//! assemble(&route); // a route key where a context key is wanted
//! ```
//!
//! ```
//! use siglum_domain::context::{ContextKey, RouteKey};
//! fn assemble(_: &ContextKey) {}
//! let route = RouteKey::new("agent:main:main").unwrap();
//! assemble(&ContextKey::of(&route));
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use crate::grammar::{ContextKey, RouteKey};
use crate::{GrammarError, SessionId};

impl ContextKey {
    /// The key of a context that is not isolated: that of its route.
    #[must_use]
    pub fn of(route: &RouteKey) -> Self {
        Self::new(route.as_str()).expect("because both keys have one grammar")
    }

    /// The key of the context of one isolated run: `<route key>-run:<session id>`. Made so that people can read it; it
    /// is never taken apart again.
    ///
    /// # Errors
    /// The rule, where the route key leaves no room.
    pub fn isolated(route: &RouteKey, session: SessionId) -> Result<Self, GrammarError> {
        Self::new(format!("{route}-run:{session}"))
    }

    /// The key of a context that replaces another one on its route: `<route key>-<cause>:<session id>`.
    ///
    /// # Errors
    /// The rule, where the route key leaves no room.
    pub fn replacing(
        route: &RouteKey,
        cause: Cause,
        session: SessionId,
    ) -> Result<Self, GrammarError> {
        Self::new(format!("{route}-{cause}:{session}"))
    }
}

/// Both keys of a run. Every call that touches conversational state has both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// Where replies go, and what the run is called.
    pub route: RouteKey,
    /// What state it sees and adds to.
    pub context: ContextKey,
}

impl Keys {
    /// The keys of a run that is not isolated: both are equal.
    #[must_use]
    pub fn shared(route: RouteKey) -> Self {
        let context = ContextKey::of(&route);
        Self { route, context }
    }

    /// The keys of an isolated run of this session.
    ///
    /// # Errors
    /// As [`ContextKey::isolated`].
    pub fn isolated(route: RouteKey, session: SessionId) -> Result<Self, GrammarError> {
        let context = ContextKey::isolated(&route, session)?;
        Ok(Self { route, context })
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, { $($(#[$each:meta])* $arm:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$each])* #[serde(rename = $word)] $arm),+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$arm),+];

            /// Its word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$arm => $word),+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = GrammarError;

            fn from_str(text: &str) -> Result<Self, GrammarError> {
                let known = Self::ALL.iter().copied().find(|known| known.as_str() == text);
                known.ok_or(GrammarError { what: $what, rule: $rule })
            }
        }
    };
}

words!(
    /// Why a context came to be.
    Cause,
    "cause",
    "one of first, tick, cron-run, reset, idle, rewind, fork, subagent, compaction, recovery, import",
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
    /// Nothing.
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
        rule: "one of none, summary, all, or tail:<1 to 10000>",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_and_policies_are_read_as_they_are_written() {
        for cause in Cause::ALL {
            assert_eq!(cause.to_string().parse(), Ok(*cause));
        }
        for inherit in [
            Inherit::None,
            Inherit::Summary,
            Inherit::Tail(1),
            Inherit::Tail(10_000),
            Inherit::All,
        ] {
            assert_eq!(inherit.to_string().parse(), Ok(inherit));
        }
        for bad in [
            "",
            "None",
            "tail",
            "tail:",
            "tail:0",
            "tail:06",
            "tail:+6",
            "tail:10001",
        ] {
            assert!(bad.parse::<Inherit>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_isolated_run_keeps_its_route_and_has_a_context_of_its_own() {
        let session = |n| SessionId::from_uuid(uuid::Uuid::from_u128(n));
        let route = RouteKey::new("agent:main:main:heartbeat").unwrap();
        let shared = Keys::shared(route.clone());
        assert_eq!(shared.route.as_str(), shared.context.as_str());
        let ticks = [1, 2].map(|n| Keys::isolated(route.clone(), session(n)).unwrap());
        assert_eq!(ticks[0].route, ticks[1].route);
        assert_ne!(ticks[0].context, ticks[1].context);
        let long = RouteKey::new("r".repeat(512)).unwrap();
        assert!(Keys::isolated(long, session(1)).is_err(), "never cut off");
    }

    #[test]
    fn keys_are_opaque_and_keep_their_case() {
        for good in [
            "a",
            "Agent:Main",
            "a/b@c#d+e-f_g.h:i",
            "..",
            &"k".repeat(512),
        ] {
            assert_eq!(RouteKey::new(good).unwrap().as_str(), good);
            assert_eq!(ContextKey::new(good).unwrap().as_str(), good);
        }
        for bad in ["", " ", " a", "a b", "a\n", "é", "a?b", &"k".repeat(513)] {
            assert!(
                RouteKey::new(bad).is_err() && ContextKey::new(bad).is_err(),
                "{bad:?}"
            );
        }
    }
}
