//! Bytes of a request → its records.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

use super::batch::{Batch, Content, DecodeError, Encoding, Limits, Signal};
use super::{clean, json};

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
