//! Telemetry as agents send it: the spans, who sends them, who else takes them, and what is stored of them.

pub(crate) mod client;
pub(crate) mod phoenix;
pub(crate) mod spans;
mod stored;

pub(crate) use stored::rows;
