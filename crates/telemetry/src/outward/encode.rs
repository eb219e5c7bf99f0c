//! Spans and records as requests of OTLP.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde::Serialize;

use super::attributes::Attributes;

/// The form of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Protobuf.
    Protobuf,
    /// JSON, with ids in hex.
    Json,
}

/// What is to be told, in order.
#[derive(Debug, Clone, Default)]
pub struct Outgoing {
    /// Spans, children before whatever they are in.
    pub spans: Vec<Span>,
    /// Records of the log.
    pub records: Vec<LogRecord>,
}

/// One request of one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The encoded request.
    pub body: Vec<u8>,
    /// How many spans or records are in it.
    pub count: usize,
}

impl Outgoing {
    /// The spans as requests of so many at most, in order.
    #[must_use]
    pub fn traces(&self, encoding: Encoding, most: usize) -> Vec<Payload> {
        let request = |spans: &[Span]| ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource()),
                scope_spans: vec![ScopeSpans {
                    scope: Some(scope()),
                    spans: spans.to_vec(),
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        };
        payloads(&self.spans, encoding, most, request)
    }

    /// The records as requests of so many at most, in order.
    #[must_use]
    pub fn logs(&self, encoding: Encoding, most: usize) -> Vec<Payload> {
        let request = |records: &[LogRecord]| ExportLogsServiceRequest {
            resource_logs: vec![ResourceLogs {
                resource: Some(resource()),
                scope_logs: vec![ScopeLogs {
                    scope: Some(scope()),
                    log_records: records.to_vec(),
                    ..ScopeLogs::default()
                }],
                ..ResourceLogs::default()
            }],
        };
        payloads(&self.records, encoding, most, request)
    }
}

fn payloads<T, R: Message + Serialize>(
    all: &[T],
    encoding: Encoding,
    most: usize,
    request: impl Fn(&[T]) -> R,
) -> Vec<Payload> {
    let encoded = |part: &[T]| Payload {
        body: match encoding {
            Encoding::Protobuf => request(part).encode_to_vec(),
            Encoding::Json => serde_json::to_vec(&request(part)).unwrap_or_default(),
        },
        count: part.len(),
    };
    all.chunks(most.max(1)).map(encoded).collect()
}

fn resource() -> Resource {
    Resource {
        attributes: Attributes::default()
            .text("service.name", "siglum")
            .text("service.version", env!("CARGO_PKG_VERSION"))
            .into_vec(),
        ..Resource::default()
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "siglum".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    }
}
