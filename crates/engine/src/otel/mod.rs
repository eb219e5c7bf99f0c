//! Telemetry that leaves: where it goes, and what of it.

pub mod destination;
