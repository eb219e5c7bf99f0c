//! Telemetry as agents send it: the spans, who sends them, and who else takes them.

pub(crate) mod client;
pub(crate) mod phoenix;
mod spans;
