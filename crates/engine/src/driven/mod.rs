//! Sessions that a program begins and leads: launched, driven turn by turn, run for a host, or on a schedule.

pub mod active_run;
pub mod attestation;
pub mod context;
#[cfg(feature = "network")]
pub mod heartbeat;
pub mod launch;
pub mod remote;
pub mod run;
pub mod turn;
