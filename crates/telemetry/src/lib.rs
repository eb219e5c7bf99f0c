//! Sessions ↔ OpenTelemetry: mapping only. Nothing in here reads, sends or stores.
#![warn(missing_docs)]

pub mod answer;
pub mod inward;
pub mod outward;
pub mod probe;
pub mod wire;
