//! Telemetry from outside.

use serde::{Deserialize, Serialize};
use siglum_domain::AgentName;
use siglum_ledger::UnassignedRecord;

/// An OTLP request with spans, in JSON.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(rename_all = "camelCase")]
pub(crate) struct ExportSpans {
    /// Grouped by resource and instrumentation scope.
    resource_spans: Option<Vec<serde_json::Value>>,
}

/// An OTLP request with log records, in JSON.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(rename_all = "camelCase")]
pub(crate) struct ExportLogs {
    /// Grouped by resource and instrumentation scope.
    resource_logs: Option<Vec<serde_json::Value>>,
}

/// An OTLP request with data points, in JSON.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(rename_all = "camelCase")]
pub(crate) struct ExportMetrics {
    /// Grouped by resource and instrumentation scope.
    resource_metrics: Option<Vec<serde_json::Value>>,
}

/// The response to an OTLP request.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(rename_all = "camelCase")]
pub(crate) struct Exported {
    /// Number of rejected records, and the reason for the first; absent if all were accepted.
    #[schema(value_type = Option<Object>)]
    partial_success: Option<serde_json::Value>,
}

/// Why a request cannot be read.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
pub(crate) struct RpcStatus {
    /// gRPC status code.
    code: i32,
    /// Error message.
    message: String,
}

/// An OTLP message in protobuf.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(value_type = String, format = Binary)]
pub(crate) struct Protobuf(Vec<u8>);

/// Records that belong to no known session: from one batch, one trace and one agent, for one reason.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct UnassignedTelemetry {
    /// Its number in the list.
    number: u64,
    /// When it was received.
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
    /// `traces`, `logs` or `metrics`.
    signal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    /// The span of the first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
    /// The agent that sent it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Name of the first record.
    name: String,
    /// Number of records.
    records: u64,
    /// Why no session was found, as a stable code.
    reason: String,
}

impl From<&UnassignedRecord> for UnassignedTelemetry {
    fn from(record: &UnassignedRecord) -> Self {
        Self {
            number: record.sequence,
            at: record.at.to_string(),
            signal: record.signal.clone(),
            trace_id: record.trace.map(|trace| trace.to_string()),
            span_id: record.span.map(|span| span.to_string()),
            agent: record.agent.as_ref().map(AgentName::to_string),
            name: record.name.clone(),
            records: record.records,
            reason: record.reason.clone(),
        }
    }
}

/// A page of unassigned telemetry.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct UnassignedTelemetryList {
    /// Newest first.
    pub(crate) items: Vec<UnassignedTelemetry>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// Assigns a trace to a session.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AssignTrace {
    /// Trace id: 32 lowercase hexadecimal digits, not all of them 0.
    #[cfg_attr(test, schema(pattern = r"^(?=.*[1-9a-f])[0-9a-f]{32}$"))]
    pub(crate) trace_id: String,
}

/// A trace that was assigned to a session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AssignedTrace {
    pub(crate) trace_id: String,
    pub(crate) session: String,
}
