//! Telemetry that agents send to the gateway, over real HTTP and gRPC, on each store.
//!
//! Names that begin with `s` and two digits are scenarios of the design's reference on traces.

mod forms;
mod forwarding;
mod joining;
mod kills;
mod secrets;
pub(crate) mod sending;
