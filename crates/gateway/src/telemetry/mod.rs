//! Telemetry from outside, by whatever way it comes: what is sent is unpacked, read, redacted and stored, and then
//! answered. Whose it is, is asked afterwards.

#[cfg(feature = "grpc")]
pub(crate) mod grpc;
mod packing;
mod taking;

pub(crate) use packing::Packing;
pub(crate) use taking::{Refusal, Request, take};
