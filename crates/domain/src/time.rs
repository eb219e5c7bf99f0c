//! Time: nanoseconds since the epoch, UTC, so that OTLP round-trips. Nobody here asks for `now`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point in time in nanoseconds since 1970-01-01T00:00:00Z. The text form is RFC 3339 with `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// The text is not an RFC 3339 time that fits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time such as 2026-01-31T23:59:59Z")]
pub struct ParseTimeError(String);

impl Timestamp {
    /// From nanoseconds since the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From whole seconds since the epoch; saturates.
    #[must_use]
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000_000)
    }

    /// The time from `earlier` to `self` in milliseconds; negative if `self` is earlier.
    #[must_use]
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0) / 1_000_000
    }

    /// This time moved by `millis` milliseconds; saturates.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis.saturating_mul(1_000_000)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_nanosecond(i128::from(self.0))
            .expect("because 64 bits of nanoseconds lie within the years that jiff knows");
        fmt::Display::fmt(&time, f)
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseTimeError(text.chars().take(40).collect());
        let time: jiff::Timestamp = text.parse().map_err(|_| refused())?;
        i64::try_from(time.as_nanosecond())
            .map(Self)
            .map_err(|_| refused())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_to_the_nanosecond() {
        for nanos in [0, 1, -1, 1_795_208_945_613_000_001, i64::MAX, i64::MIN] {
            let time = Timestamp::from_nanos(nanos);
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        assert_eq!(
            Timestamp::from_seconds(0).to_string(),
            "1970-01-01T00:00:00Z"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
