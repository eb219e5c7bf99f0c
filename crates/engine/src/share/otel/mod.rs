//! Telemetry that leaves: where it goes, and what of it.

pub mod destination;
mod gather;
mod sessions;

#[cfg(test)]
mod tests;

pub use sessions::{Sessions, lost};

use siglum_egress::otlp::{Protocol, Signal};
use siglum_telemetry::wire::{self, Encoding};

/// How requests of a protocol are encoded.
pub(crate) const fn encoding(protocol: Protocol) -> Encoding {
    match protocol {
        Protocol::HttpJson => Encoding::Json,
        Protocol::HttpProtobuf | Protocol::Grpc => Encoding::Protobuf,
    }
}

/// A kind of telemetry, by the word of those who send it.
pub(crate) const fn sent_as(signal: wire::Signal) -> Signal {
    match signal {
        wire::Signal::Traces => Signal::Traces,
        wire::Signal::Logs => Signal::Logs,
        wire::Signal::Metrics => Signal::Metrics,
    }
}
