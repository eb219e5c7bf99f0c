//! Telemetry that agents send to the gateway, over real HTTP and gRPC, on each store.
//!
//! `docs/scenarios.md` lists the scenarios of names and traces.

mod forms;
mod forwarding;
mod joining;
mod kills;
mod secrets;
pub(crate) mod sending;
