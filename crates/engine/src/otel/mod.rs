//! Telemetry that leaves: where it goes, and what of it.

pub mod destination;
mod gather;
mod sessions;

#[cfg(test)]
mod tests;

pub use sessions::{Sessions, lost};
