//! Sessions ↔ OpenTelemetry: mapping only. Nothing in here reads, sends or stores.

pub mod answer;
pub mod inward;
pub mod outward;
pub mod probe;
pub mod wire;
