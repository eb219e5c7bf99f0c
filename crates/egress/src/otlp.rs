//! Telemetry on its way out: encoded requests to a server that speaks OTLP.
//!
//! What is sent is encoded by the caller, and so is what comes back: nothing in here knows spans. Nothing is tried
//! twice, either: who sends says when to come again, by what the error is.

mod after;
mod header;
mod http;
mod refusal;

#[cfg(feature = "grpc")]
mod grpc;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

pub use self::header::{Header, HeaderError};
pub use self::refusal::{Code, Refusal};
use crate::address::Address;
use crate::agent::Timeouts;

/// How requests are encoded and carried, in the words of `OTEL_EXPORTER_OTLP_PROTOCOL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Protobuf in a request of HTTP.
    HttpProtobuf,
    /// JSON in a request of HTTP.
    HttpJson,
    /// Protobuf in a call of gRPC.
    Grpc,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::HttpProtobuf, Self::HttpJson, Self::Grpc];

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::HttpProtobuf => "http/protobuf",
            Self::HttpJson => "http/json",
            Self::Grpc => "grpc",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A word that names no protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a protocol must be http/protobuf, http/json or grpc")]
pub struct ProtocolError;

impl FromStr for Protocol {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        let found = Self::ALL.into_iter().find(|p| p.word() == text);
        found.ok_or(ProtocolError)
    }
}

/// What kind of telemetry a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Spans.
    Traces,
    Logs,
    Metrics,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Traces, Self::Logs, Self::Metrics];

    /// Its word: `traces`, `logs` or `metrics`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
        }
    }

    /// Its path below an endpoint.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Logs => "/v1/logs",
            Self::Metrics => "/v1/metrics",
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whether requests are packed, in the words of `OTEL_EXPORTER_OTLP_COMPRESSION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    /// Not at all.
    None,
}

/// Where and how to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpSettings {
    /// The endpoint. Over HTTP it is a base below which each signal has its path; one that ends in such a path is
    /// for that signal alone and taken as it is. Over gRPC its path means nothing.
    pub address: Address,
    /// How requests are carried.
    pub protocol: Protocol,
    /// Whether they are packed.
    pub compression: Compression,
    /// What else stands in each request.
    pub headers: Vec<Header>,
    /// How long anything may take.
    pub timeouts: Timeouts,
}

/// An answer of a server that took a request. It may say that it did not take all: only the caller can read that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtlpAnswer {
    /// How the body is encoded; as the request was, where the server does not say.
    pub content_type: String,
    /// The encoded answer; empty where there is none.
    pub body: Vec<u8>,
}

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OtlpError {
    /// Nobody answers, or not in time: it may have arrived, or not. The same request may be sent again.
    #[error("cannot connect to {address}: {why}")]
    Unreachable { address: String, why: String },
    /// The server cannot now. The same request may be sent again.
    #[error("{address} is temporarily unavailable: {refusal}")]
    Busy {
        address: String,
        refusal: Box<Refusal>,
        /// It wants to be left alone for so long.
        after: Option<Duration>,
    },
    /// The request is too large: parts of it may be taken.
    #[error("{address} refuses requests of this size: {refusal}")]
    TooLarge {
        address: String,
        refusal: Box<Refusal>,
    },
    /// The server does not want it, and will not want it later.
    #[error("{address} refused the request: {refusal}")]
    Refused {
        address: String,
        refusal: Box<Refusal>,
    },
}

/// A client of one server that speaks OTLP. Connections are kept between calls.
#[derive(Debug)]
pub struct OtlpClient {
    settings: OtlpSettings,
    way: Way,
}

/// How requests are carried.
#[derive(Debug)]
enum Way {
    Http(ureq::Agent),
    #[cfg(feature = "grpc")]
    Grpc(grpc::Calls),
    #[cfg(not(feature = "grpc"))]
    None,
}

impl OtlpClient {
    /// A client; nothing is connected before the first request.
    #[must_use]
    pub fn new(settings: OtlpSettings) -> Self {
        let way = match settings.protocol {
            Protocol::HttpProtobuf | Protocol::HttpJson => {
                Way::Http(crate::agent::agent(&settings.address, settings.timeouts))
            }
            #[cfg(feature = "grpc")]
            Protocol::Grpc => Way::Grpc(grpc::Calls::default()),
            #[cfg(not(feature = "grpc"))]
            Protocol::Grpc => Way::None,
        };
        Self { settings, way }
    }

    /// Where and how it sends.
    #[must_use]
    pub const fn settings(&self) -> &OtlpSettings {
        &self.settings
    }

    /// Whether a signal goes there at all: an endpoint that ends in the path of one signal is for that one alone.
    #[must_use]
    pub fn takes(&self, signal: Signal) -> bool {
        match self.settings.protocol {
            Protocol::Grpc => true,
            _ => only_signal(&self.settings.address).is_none_or(|only| only == signal),
        }
    }

    /// Sends an encoded `Export…ServiceRequest`, protobuf or JSON as the protocol wants it, one time.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn send(&self, signal: Signal, body: &[u8]) -> Result<OtlpAnswer, OtlpError> {
        if !self.takes(signal) {
            let reason = format!("this endpoint is not for {signal}");
            return Err(self.refused(Refusal::own(reason)));
        }
        match &self.way {
            Way::Http(agent) => self.post(agent, signal, body),
            #[cfg(feature = "grpc")]
            Way::Grpc(calls) => self.call(calls, signal, body),
            #[cfg(not(feature = "grpc"))]
            Way::None => Err(self.refused(Refusal::own("this program was built without gRPC"))),
        }
    }

    fn unreachable(&self, why: impl fmt::Display) -> OtlpError {
        OtlpError::Unreachable {
            address: self.address(),
            why: self.hide(&crate::problem::shown(&crate::problem::cause(why))),
        }
    }

    fn busy(&self, refusal: Refusal, after: Option<Duration>) -> OtlpError {
        OtlpError::Busy {
            address: self.address(),
            refusal: self.hide_secrets(refusal),
            after,
        }
    }

    fn too_large(&self, refusal: Refusal) -> OtlpError {
        OtlpError::TooLarge {
            address: self.address(),
            refusal: self.hide_secrets(refusal),
        }
    }

    fn refused(&self, refusal: Refusal) -> OtlpError {
        OtlpError::Refused {
            address: self.address(),
            refusal: self.hide_secrets(refusal),
        }
    }

    fn address(&self) -> String {
        self.settings.address.to_string()
    }

    /// What a server says, without what it only repeats of our secrets.
    fn hide_secrets(&self, mut refusal: Refusal) -> Box<Refusal> {
        refusal.message = self.hide(&refusal.message);
        Box::new(refusal)
    }

    fn hide(&self, text: &str) -> String {
        let headers = &self.settings.headers;
        headers
            .iter()
            .fold(text.to_owned(), |text, header| header.hide_in(&text))
    }
}

/// The one signal that an endpoint is for, if it ends in the path of one.
#[must_use]
pub fn only_signal(address: &Address) -> Option<Signal> {
    let path = address.path();
    Signal::ALL.into_iter().find(|s| path.ends_with(s.path()))
}

#[cfg(test)]
mod tests;
