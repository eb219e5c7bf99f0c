//! Bytes of a request → its records.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

use super::batch::{Batch, Content, Encoding, Signal};
use super::{clean, json};

/// How much a request may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Records; those after them are left out.
    pub records: usize,
    /// Attributes of one record, with those of its events and links, or of one resource or scope.
    pub attributes: usize,
    /// Levels of lists and maps inside a value.
    pub depth: usize,
    /// Bytes of one text; what is longer is cut.
    pub text: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            records: 50_000,
            attributes: 512,
            depth: 32,
            text: 256 * 1024,
        }
    }
}

/// Why a request could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not the protobuf message of this signal.
    #[error("not an OTLP request in protobuf")]
    Protobuf(#[source] prost::DecodeError),
    /// Not JSON.
    #[error("not JSON")]
    Json(#[source] serde_json::Error),
    /// JSON, but of another shape.
    #[error("not an OTLP request: `{0}` is missing or not a list")]
    Shape(&'static str),
}

/// Reads a request.
///
/// # Errors
/// The whole of it cannot be read.
pub fn decode(
    signal: Signal,
    encoding: Encoding,
    bytes: &[u8],
    limits: &Limits,
) -> Result<Batch, DecodeError> {
    let mut batch = match encoding {
        Encoding::Protobuf => Batch::new(protobuf(signal, bytes).map_err(DecodeError::Protobuf)?),
        Encoding::Json => json::read(signal, bytes)?,
    };
    clean::clean(&mut batch, limits);
    Ok(batch)
}

fn protobuf(signal: Signal, bytes: &[u8]) -> Result<Content, prost::DecodeError> {
    Ok(match signal {
        Signal::Traces => Content::Traces(ExportTraceServiceRequest::decode(bytes)?),
        Signal::Logs => Content::Logs(ExportLogsServiceRequest::decode(bytes)?),
        Signal::Metrics => Content::Metrics(ExportMetricsServiceRequest::decode(bytes)?),
    })
}
