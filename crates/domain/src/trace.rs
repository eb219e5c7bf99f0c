//! Names of traces and spans, and the header that hands them on (W3C Trace Context, level 2).
//!
//! A turn is one trace, and its id is the turn's own: who has one can find the other. The ids of spans are made of
//! what the ledger calls an event, so that the same event is the same span however often it is sent.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::Hasher;
use crate::id::{SessionId, TurnId};

/// Why a text names no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a W3C trace context")]
pub struct NotATrace;

/// The id of a trace: 16 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId([u8; 16]);

/// The id of a span: 8 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// Takes the bytes of an id; none for those that name nothing.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 16] = bytes.try_into().ok()?;
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// The trace that a turn is.
    #[must_use]
    pub fn of_turn(turn: TurnId) -> Self {
        Self(*turn.uuid().as_bytes())
    }

    /// The trace of a sub-agent that goes on when its turn has come to its stop.
    #[must_use]
    pub fn of_subagent(session: SessionId, id: &str) -> Self {
        let mut bytes = [0; 16];
        digest(session, None, &format!("trace of {id}"), &mut bytes);
        Self(bytes)
    }

    /// The turn that this trace is, if it is one.
    #[must_use]
    pub const fn turn(&self) -> TurnId {
        TurnId::from_uuid(uuid::Uuid::from_bytes(self.0))
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl SpanId {
    /// Takes the bytes of an id; none for those that name nothing.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; 8] = bytes.try_into().ok()?;
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    /// The span of an event of a turn: equal for equal names and for no others.
    #[must_use]
    pub fn of_event(session: SessionId, turn: TurnId, event: &str) -> Self {
        let mut bytes = [0; 8];
        digest(session, Some(turn), event, &mut bytes);
        Self(bytes)
    }

    /// The span of a sub-agent, in whichever trace it is.
    #[must_use]
    pub fn of_subagent(session: SessionId, id: &str) -> Self {
        let mut bytes = [0; 8];
        digest(session, None, id, &mut bytes);
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 8] {
        &self.0
    }
}

/// What names an event, as so many bytes, which are never all zero.
fn digest(session: SessionId, turn: Option<TurnId>, event: &str, into: &mut [u8]) {
    let mut hasher = Hasher::new();
    hasher.update(session.uuid().as_bytes());
    hasher.update(&turn.map_or([0; 16], |turn| *turn.uuid().as_bytes()));
    hasher.update(event.as_bytes());
    into.iter_mut()
        .zip(hasher.bytes())
        .for_each(|(byte, digest)| *byte = digest);
    if into.iter().all(|byte| *byte == 0)
        && let Some(last) = into.last_mut()
    {
        *last = 1;
    }
}

fn read_hex(text: &str, into: &mut [u8]) -> bool {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    let digits = text.as_bytes();
    if digits.len() != into.len() * 2 {
        return false;
    }
    for (byte, pair) in into.iter_mut().zip(digits.chunks_exact(2)) {
        let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else {
            return false;
        };
        *byte = high << 4 | low;
    }
    true
}

macro_rules! hex_id {
    ($name:ident, $size:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl FromStr for $name {
            type Err = NotATrace;

            fn from_str(text: &str) -> Result<Self, NotATrace> {
                let mut bytes = [0; $size];
                match read_hex(text, &mut bytes) {
                    true => Self::from_bytes(&bytes).ok_or(NotATrace),
                    false => Err(NotATrace),
                }
            }
        }
    };
}

hex_id!(TraceId, 16);
hex_id!(SpanId, 8);

/// The header `traceparent`: in which trace somebody asks, and from which span.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceParent {
    pub trace: TraceId,
    /// The span that asks.
    pub span: SpanId,
    /// Whether who asks records the trace.
    pub sampled: bool,
}

impl FromStr for TraceParent {
    type Err = NotATrace;

    /// Versions to come may have more parts behind the four of version 00; `ff` is none.
    fn from_str(text: &str) -> Result<Self, NotATrace> {
        let mut parts = text.split('-');
        let mut next = || parts.next().ok_or(NotATrace);
        let (mut version, mut flags) = ([0], [0]);
        let (first, trace, span, last) = (next()?, next()?, next()?, next()?);
        if !read_hex(first, &mut version) || !read_hex(last, &mut flags) {
            return Err(NotATrace);
        }
        if version == [0xff] || version == [0] && parts.next().is_some() {
            return Err(NotATrace);
        }
        Ok(Self {
            trace: trace.parse()?,
            span: span.parse()?,
            sampled: flags[0] & 1 == 1,
        })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace, self.span)
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl TryFrom<String> for TraceParent {
    type Error = NotATrace;

    fn try_from(text: String) -> Result<Self, NotATrace> {
        text.parse()
    }
}

impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        parent.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_valid_header_is_read_and_written() {
        let parent: TraceParent = GOOD.parse().unwrap();
        assert!(parent.sampled);
        assert_eq!(parent.to_string(), GOOD);
        let unsampled = GOOD.replace("-01", "-00");
        assert!(!unsampled.parse::<TraceParent>().unwrap().sampled);
        let newer = GOOD.replacen("00-", "01-", 1) + "-more";
        assert_eq!(newer.parse::<TraceParent>().unwrap().trace, parent.trace);
    }

    #[test]
    fn anything_else_names_no_trace() {
        for text in [
            "",
            "garbage",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(text.parse::<TraceParent>(), Err(NotATrace), "{text}");
        }
    }

    #[test]
    fn a_span_is_named_by_session_turn_and_event() {
        let ids = |n: u8| uuid::Uuid::from_bytes([n; 16]);
        let (session, turn) = (SessionId::from_uuid(ids(1)), TurnId::from_uuid(ids(2)));
        let span = SpanId::of_event(session, turn, "tool:a");
        assert_eq!(span, SpanId::of_event(session, turn, "tool:a"));
        assert_ne!(span, SpanId::of_event(session, turn, "tool:b"));
        let other = TurnId::from_uuid(ids(3));
        assert_ne!(span, SpanId::of_event(session, other, "tool:a"));
        assert_ne!(span, SpanId::of_subagent(session, "tool:a"));
        let lived_on = TraceId::of_subagent(session, "a");
        assert_ne!(lived_on, TraceId::of_subagent(session, "b"));
        assert_eq!(TraceId::of_turn(turn).to_string(), "02".repeat(16));
    }
}
