//! Spans and records as requests of OTLP.

use std::collections::HashSet;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde::Serialize;
use siglum_domain::trace::SpanId;

use super::attributes::Attributes;
use crate::wire::{Encoding, Signal};

/// What is to be told, in order.
#[derive(Debug, Clone, Default)]
pub struct Outgoing {
    /// Spans, children before whatever they are in.
    pub spans: Vec<Span>,
    pub records: Vec<LogRecord>,
}

impl Outgoing {
    /// How many spans and records there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.spans.len() + self.records.len()
    }

    /// The names of the spans.
    pub fn names(&self) -> impl Iterator<Item = SpanId> {
        self.spans
            .iter()
            .filter_map(|s| SpanId::from_bytes(&s.span_id))
    }

    /// Without the spans of these names.
    pub fn leave_out(&mut self, exported: &HashSet<SpanId>) {
        let is_exported =
            |s: &Span| SpanId::from_bytes(&s.span_id).is_some_and(|id| exported.contains(&id));
        self.spans.retain(|s| !is_exported(s));
    }

    /// The spans, or the records, in order, in pieces of so many at most.
    #[must_use]
    pub fn pieces(&self, signal: Signal, most: usize) -> Vec<Self> {
        let most = most.max(1);
        match signal {
            Signal::Traces => {
                let piece = |spans: &[Span]| Self {
                    spans: spans.to_vec(),
                    records: Vec::new(),
                };
                self.spans.chunks(most).map(piece).collect()
            }
            Signal::Logs => {
                let piece = |records: &[LogRecord]| Self {
                    spans: Vec::new(),
                    records: records.to_vec(),
                };
                self.records.chunks(most).map(piece).collect()
            }
            Signal::Metrics => Vec::new(),
        }
    }

    /// The spans, or the records, as one request; an empty one where the signal has neither.
    #[must_use]
    pub fn encode(&self, signal: Signal, encoding: Encoding) -> Vec<u8> {
        match signal {
            Signal::Traces => encoded(&self.traces(), encoding),
            Signal::Logs => encoded(&self.logs(), encoding),
            Signal::Metrics => Vec::new(),
        }
    }

    fn traces(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource()),
                scope_spans: vec![ScopeSpans {
                    scope: Some(scope()),
                    spans: self.spans.clone(),
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        }
    }

    fn logs(&self) -> ExportLogsServiceRequest {
        ExportLogsServiceRequest {
            resource_logs: vec![ResourceLogs {
                resource: Some(resource()),
                scope_logs: vec![ScopeLogs {
                    scope: Some(scope()),
                    log_records: self.records.clone(),
                    ..ScopeLogs::default()
                }],
                ..ResourceLogs::default()
            }],
        }
    }
}

fn encoded<R: Message + Serialize>(request: &R, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Protobuf => request.encode_to_vec(),
        Encoding::Json => serde_json::to_vec(request).unwrap_or_default(),
    }
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
