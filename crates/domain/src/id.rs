//! Ids: a prefix and a UUIDv7 in hex.
//!
//! People see the last eight digits, because the head of a version 7 UUID is a clock that ids made
//! together share, and may type any six or more of them. Making ids needs a clock and randomness,
//! so it happens at the edge, behind [`IdSource`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The number of trailing digits that people see.
pub const SHORT_DIGITS: usize = 8;
/// The smallest number of trailing digits that names an id.
pub const TAIL_MIN: usize = 6;

/// Makes fresh UUIDs. The edge owns the real one; tests seed theirs.
pub trait IdSource {
    /// Returns a UUID that was never returned before.
    fn fresh(&self) -> Uuid;
}

/// The text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {noun} id: expected `{prefix}_` and 32 hexadecimal digits")]
pub struct ParseIdError {
    /// What was given.
    pub text: String,
    /// What the id would name.
    pub noun: &'static str,
    /// The prefix it should have.
    pub prefix: &'static str,
}

fn parse(text: &str, noun: &'static str, prefix: &'static str) -> Result<Uuid, ParseIdError> {
    let refused = || ParseIdError {
        text: text.chars().take(80).collect(),
        noun,
        prefix,
    };
    let hex = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'))
        .ok_or_else(refused)?;
    let plain = hex.len() == 32 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !plain {
        return Err(refused());
    }
    Uuid::parse_str(hex).map_err(|_| refused())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $noun:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The prefix of the text form, without the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// Mints a fresh id.
            pub fn mint(ids: &dyn IdSource) -> Self {
                Self(ids.fresh())
            }

            /// Wraps a UUID that is known to be of this kind.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID inside.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// The digits that people see: the last eight.
            #[must_use]
            pub fn short(self) -> String {
                let hex = self.0.simple().to_string();
                hex[hex.len() - SHORT_DIGITS..].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", $prefix, self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse(text, $noun, $prefix).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// One conversation with one agent.
    SessionId, "ses", "session"
);
id!(
    /// One prompt to its stop.
    TurnId, "trn", "turn"
);
id!(
    /// A published record that pins sessions to a commit, an end or a point to go back to.
    CheckpointId, "chk", "checkpoint"
);
id!(
    /// The local record of one git common directory.
    RepositoryId, "rep", "repository"
);
id!(
    /// One store.
    LedgerId, "led", "ledger"
);
id!(
    /// One entry of a session's log.
    ObservationId, "evt", "event"
);
id!(
    /// One question of an agent to whoever it works for.
    InteractionId, "int", "interaction"
);
id!(
    /// One credential of the gateway, without its secret.
    TokenId, "tok", "token"
);

/// Tells whether `text` could be the tail of an id: six to thirty-two hexadecimal digits.
#[must_use]
pub fn is_tail(text: &str) -> bool {
    (TAIL_MIN..=32).contains(&text.len())
        && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: Uuid = Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_dead_beef);

    #[test]
    fn text_round_trips() {
        let id = SessionId::from_uuid(UUID);
        assert_eq!(id.to_string(), "ses_019200000000700080000000deadbeef");
        assert_eq!(id.to_string().parse::<SessionId>(), Ok(id));
        assert_eq!(id.short(), "deadbeef");
    }

    #[test]
    fn a_foreign_prefix_or_form_is_refused() {
        for text in [
            "trn_019200000000700080000000deadbeef",
            "ses_019200000000700080000000DEADBEEF",
            "ses_0192",
            "ses-019200000000700080000000deadbeef",
            "",
            "ses_../../../../etc/passwd__________",
        ] {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
    }

    #[test]
    fn tails_have_six_digits_or_more() {
        assert!(is_tail("adbeef"));
        assert!(!is_tail("dbeef"));
        assert!(!is_tail("DEADBEEF"));
    }
}
