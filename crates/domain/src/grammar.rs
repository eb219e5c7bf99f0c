//! Names that come from outside, and what they may look like. One validator serves every edge.
//!
//! Blank is *absent*, which callers say with `Option`; a blank or control character anywhere else is
//! refused, never trimmed.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::SessionId;
use crate::link::has_hidden;
use crate::redact::Redactor;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {rule}")]
pub struct GrammarError {
    /// What was to be named.
    pub what: &'static str,
    pub rule: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Takes a name that keeps to the grammar.
            ///
            /// # Errors
            /// The rule that the text breaks.
            pub fn new(text: impl Into<String>) -> Result<Self, GrammarError> {
                let text = text.into();
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok(Self(text)) } else { Err(GrammarError { what: $what, rule: $rule }) }
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

name!(
    /// The id that an agent gives its own session. Opaque; never part of a path.
    NativeId,
    "native id",
    "1 to 256 printable characters without blanks, slashes or `..`",
    |t| {
        !t.is_empty()
            && t.chars().count() <= 256
            && t.chars().all(|c| !c.is_control() && !c.is_whitespace() && c != '/' && c != '\\')
            && !t.contains("..")
    }
);
name!(
    /// What the outside world calls a session.
    ConversationId,
    "conversation id",
    "1 to 128 of the characters A-Z a-z 0-9 . _ : - without `..`",
    |t| {
        (1..=128).contains(&t.len())
            && t.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-'))
            && !t.contains("..")
    }
);
name!(
    /// Where replies go and what a scheduled run is called. Stable.
    RouteKey,
    "route key",
    "1 to 512 of the characters A-Z a-z 0-9 . _ : / @ # + -",
    is_key
);
name!(
    /// What conversational state is kept under. Another type than [`RouteKey`], so that they cannot be mixed up.
    ContextKey,
    "context key",
    "1 to 512 of the characters A-Z a-z 0-9 . _ : / @ # + -",
    is_key
);
name!(
    /// What a driver calls a turn, or an event in it: the same on each try, and never used again.
    TurnKey,
    "key",
    "1 to 200 printable characters without blanks",
    |t| {
        !t.is_empty()
            && t.chars().count() <= 200
            && t.chars().all(|c| !c.is_control() && !c.is_whitespace())
    }
);
name!(
    /// Whose data it is, in a store that several share.
    Tenant,
    "tenant",
    "1 to 64 of the characters A-Z a-z 0-9 . _ : -",
    |t| {
        (1..=64).contains(&t.len())
            && t.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-'))
    }
);
name!(
    /// What people call a token.
    TokenName,
    "name",
    "1 to 64 printable characters, no blank at either end, and no secret",
    |t| {
        (1..=64).contains(&t.chars().count())
            && !t.chars().any(char::is_control)
            && t.trim() == t
            && matches!(Redactor::shared().redact_cow(t), Cow::Borrowed(_))
    }
);
name!(
    /// What a platform that attests commits is called, such as `github.com`.
    PlatformName,
    "platform",
    "1 to 64 visible characters, no blank at either end, and no secret",
    |t| {
        (1..=64).contains(&t.chars().count())
            && !has_hidden(t)
            && t.trim() == t
            && matches!(Redactor::shared().redact_cow(t), Cow::Borrowed(_))
    }
);
name!(
    /// What people call something that runs on a schedule.
    HeartbeatName,
    "heartbeat",
    "1 to 64 of the characters a-z 0-9 . _ - that begin with a letter or a digit",
    |t| {
        (1..=64).contains(&t.len())
            && t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'))
            && t.starts_with(|c: char| c.is_ascii_alphanumeric())
    }
);
name!(
    /// The product that does the work, such as `claude-code`.
    AgentName,
    "agent",
    "1 to 64 of the characters a-z 0-9 -, and no secret",
    |t| {
        (1..=64).contains(&t.len())
            && t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            // Stored names are read by the thousand, and no secret is as short as they are.
            && (t.len() < 24 || matches!(Redactor::shared().redact_cow(t), Cow::Borrowed(_)))
    }
);
name!(
    /// The id of a git object, SHA-1 or SHA-256, in hex.
    Oid,
    "object id",
    "40 or 64 lower-case hexadecimal digits",
    |t| {
        matches!(t.len(), 40 | 64)
            && t.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }
);

/// What ledgers and replicas have in the place of an agent that nobody named: programs of every version read it there. So
/// no agent is called that, and whoever gives it as a name names none.
const UNNAMED: &str = "unknown";

impl AgentName {
    /// Stands where nobody named the agent, and there must be a name. Of an agent that may have been named, [`key`](Self::key)
    /// gives it, and [`word`](Self::word) its text.
    #[must_use]
    pub fn unnamed() -> Self {
        Self(UNNAMED.into())
    }

    /// An agent in a place that must have a name: what names are kept under, stored and sent.
    #[must_use]
    pub fn key(agent: Option<&Self>) -> Self {
        agent.cloned().unwrap_or_else(Self::unnamed)
    }

    /// The agent; `None` where nobody named it.
    #[must_use]
    pub fn named(self) -> Option<Self> {
        (self.as_str() != UNNAMED).then_some(self)
    }

    /// An agent in a place that must have a word.
    #[must_use]
    pub fn word(agent: Option<&Self>) -> &str {
        agent.map_or(UNNAMED, Self::as_str)
    }
}

impl ConversationId {
    /// What a session is called that nobody outside named: what its agent calls it, where that keeps to the grammar, else
    /// by its own id. A native id is never made to fit: two of them would be one conversation.
    #[must_use]
    pub fn of_native(native: Option<&NativeId>, session: SessionId) -> Self {
        let fitting = native.and_then(|native| Self::new(native.as_str()).ok());
        fitting.unwrap_or_else(|| Self(session.to_string()))
    }
}

impl RouteKey {
    /// The one route of a heartbeat: a key that ends in `:heartbeat` more than once ends in it once. Nothing else is ever
    /// cut from a key, or added to one.
    #[must_use]
    pub fn converged(mut self) -> Self {
        while let Some(shorter) = self
            .0
            .strip_suffix(HEARTBEAT)
            .filter(|t| t.ends_with(HEARTBEAT))
        {
            self.0.truncate(shorter.len());
        }
        self
    }
}

impl Oid {
    /// Tells whether this is git's "no object" (all zeros).
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.bytes().all(|b| b == b'0')
    }

    /// The first ten digits, as people read them.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

/// The end of route keys of heartbeats, which none has twice.
const HEARTBEAT: &str = ":heartbeat";

fn is_key(text: &str) -> bool {
    let of_key = |b: u8| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'.' | b'_' | b':' | b'/' | b'@' | b'#' | b'+' | b'-')
    };
    (1..=512).contains(&text.len()) && text.bytes().all(of_key)
}

/// Takes a value as absent if it is empty or only white space.
#[must_use]
pub fn present(text: &str) -> Option<&str> {
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_ids_are_opaque_but_never_paths() {
        for good in [
            "bffe7684-aaaa",
            "any.id_you-like",
            "ses_e054",
            "d769########0",
        ] {
            assert!(NativeId::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            " ",
            "a b",
            "../../etc",
            "a/b",
            "a\\b",
            "a\nb",
            "a\u{7f}",
            " a",
            "a ",
        ] {
            assert!(NativeId::new(bad).is_err(), "{bad:?}");
        }
        assert!(NativeId::new("x".repeat(256)).is_ok());
        assert!(NativeId::new("x".repeat(257)).is_err());
    }

    #[test]
    fn conversation_ids_fit_into_paths_and_lead_nowhere() {
        for good in ["S1", "a.b_c:d-9", ".", &"x".repeat(128)] {
            assert!(ConversationId::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            " S1",
            "a/b",
            "..",
            "a..b",
            "é",
            "S1\n",
            &"x".repeat(129),
        ] {
            assert!(ConversationId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn object_ids_are_lower_case_hex() {
        assert!(Oid::new("a".repeat(40)).is_ok());
        assert!(Oid::new("a".repeat(64)).is_ok());
        assert!(Oid::new("A".repeat(40)).is_err());
        assert!(Oid::new("a".repeat(41)).is_err());
    }

    #[test]
    fn an_agent_that_nobody_named_is_the_same_text_in_every_ledger() {
        assert_eq!(AgentName::unnamed().as_str(), "unknown");
        assert_eq!(AgentName::unnamed().named(), None);
        let read = AgentName::new("unknown").unwrap();
        assert_eq!(read.named(), None);
        assert_eq!(AgentName::word(None), "unknown");
        assert_eq!(AgentName::key(None), AgentName::unnamed());
        let known = AgentName::new("codex").unwrap();
        assert_eq!(AgentName::word(Some(&known)), "codex");
        assert_eq!(AgentName::key(Some(&known)), known);
        assert_eq!(known.clone().named(), Some(known));
    }

    #[test]
    fn an_agent_is_not_named_by_a_secret() {
        assert!(AgentName::new("claude-code").is_ok());
        assert!(AgentName::new("an-agent-with-a-rather-long-name").is_ok());
        assert!(AgentName::new("pul-7c3f9a1e5b2d8046af13ce79d5b80264e1a93f07").is_err());
    }

    #[test]
    fn a_token_is_not_named_by_itself() {
        assert!(TokenName::new("the night's build — Köln").is_ok());
        let secret = format!("siglum_t_{}", "0123456789abcdef".repeat(4));
        for bad in [
            "",
            " ",
            " a",
            "a ",
            "a\tb",
            "a\nb",
            &"x".repeat(65),
            &secret,
        ] {
            assert!(TokenName::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn blank_is_absent() {
        assert_eq!(present(" \t"), None);
        assert_eq!(present(" a"), Some(" a"));
    }

    #[test]
    fn a_native_id_is_a_conversation_id_as_it_is_or_not_at_all() {
        let session = SessionId::from_uuid(uuid::Uuid::from_u128(1));
        let check = |native: &str, expected: &str| {
            let native = NativeId::new(native).expect("printable");
            let of = ConversationId::of_native(Some(&native), session);
            assert_eq!(of.as_str(), expected);
        };
        let own = session.to_string();
        check("a.b_c:d-1", "a.b_c:d-1");
        for native in ["é1", "è1", "a#1", &"x".repeat(129)] {
            check(native, &own);
        }
        assert_eq!(ConversationId::of_native(None, session).as_str(), own);
    }
}
