//! Export requests of traces, logs and metrics, as they come over the wire.
//!
//! A request is read as a whole or refused as a whole; a record that breaks a rule is left out alone and counted. What
//! is read is the same whether it came as protobuf or as JSON with ids in hex or base64. All input is hostile: sizes are
//! bounded ([`Limits`]) and no content is repeated in a reason.
//!
//! What this deliberately does not do: undo compression, tell what a record means ([`crate::inward`]), keep anything.

mod answer;
mod batch;
mod change;
mod clean;
mod decode;
mod json;
mod points;
mod redact;
mod select;
mod stamp;
mod status;
mod view;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use batch::{Batch, DecodeError, Encoding, Limits, RecordIndex, Signal};
pub use decode::decode;
pub use stamp::Stamp;
pub(crate) use stamp::{CONVERSATION_KEYS, NATIVE_KEY, SESSION_KEY};
pub use status::status;

pub(crate) use view::{Item, View};
