//! The records of one request.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

/// What a request brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Log records and events.
    Logs,
    /// Data points of metrics.
    Metrics,
}

impl Signal {
    /// The stored name, which is also the last part of the address that takes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Logs => "logs",
            Self::Metrics => "metrics",
        }
    }
}

/// How a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Binary.
    Protobuf,
    /// JSON, ids in hex or base64.
    Json,
}

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

/// Which record of a batch: spans, log records or data points, counted through from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordIndex(pub usize);

/// The records of one signal, grouped by resource and scope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Traces(ExportTraceServiceRequest),
    Logs(ExportLogsServiceRequest),
    Metrics(ExportMetricsServiceRequest),
}

/// What was read of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub(crate) content: Content,
    /// Records that were left out.
    pub rejected: u64,
    /// Texts that were cut because they were too long.
    pub cut: u64,
    /// Why the first record was left out; none of its content.
    pub problem: Option<String>,
}

impl Batch {
    pub(crate) const fn new(content: Content) -> Self {
        Self {
            content,
            rejected: 0,
            cut: 0,
            problem: None,
        }
    }

    /// What it brings.
    #[must_use]
    pub const fn signal(&self) -> Signal {
        match self.content {
            Content::Traces(_) => Signal::Traces,
            Content::Logs(_) => Signal::Logs,
            Content::Metrics(_) => Signal::Metrics,
        }
    }

    /// How many records it has.
    #[must_use]
    pub fn records(&self) -> usize {
        match &self.content {
            Content::Traces(request) => {
                let scopes = request.resource_spans.iter().flat_map(|r| &r.scope_spans);
                scopes.map(|scope| scope.spans.len()).sum()
            }
            Content::Logs(request) => {
                let scopes = request.resource_logs.iter().flat_map(|r| &r.scope_logs);
                scopes.map(|scope| scope.log_records.len()).sum()
            }
            Content::Metrics(request) => {
                let scopes = request
                    .resource_metrics
                    .iter()
                    .flat_map(|r| &r.scope_metrics);
                let metrics = scopes.flat_map(|scope| &scope.metrics);
                metrics.map(super::points::count).sum()
            }
        }
    }

    /// The request as protobuf.
    #[must_use]
    pub fn to_protobuf(&self) -> Vec<u8> {
        match &self.content {
            Content::Traces(request) => request.encode_to_vec(),
            Content::Logs(request) => request.encode_to_vec(),
            Content::Metrics(request) => request.encode_to_vec(),
        }
    }

    /// The request in either form.
    #[must_use]
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        let json = match (encoding, &self.content) {
            (Encoding::Protobuf, _) => return self.to_protobuf(),
            (Encoding::Json, Content::Traces(request)) => serde_json::to_vec(request),
            (Encoding::Json, Content::Logs(request)) => serde_json::to_vec(request),
            (Encoding::Json, Content::Metrics(request)) => serde_json::to_vec(request),
        };
        json.unwrap_or_default()
    }

    pub(crate) fn reject(&mut self, records: usize, why: impl FnOnce() -> String) {
        if records == 0 {
            return;
        }
        let records = u64::try_from(records).unwrap_or(u64::MAX);
        self.rejected = self.rejected.saturating_add(records);
        self.problem.get_or_insert_with(why);
    }
}
