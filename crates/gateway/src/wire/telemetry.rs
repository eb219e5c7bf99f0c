//! Telemetry from outside.

use serde::{Deserialize, Serialize};
use siglum_domain::AgentName;
use siglum_ledger::UnassignedRecord;
use utoipa::ToSchema;

/// A request of OTLP with spans, in JSON, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(rename_all = "camelCase")]
pub(crate) struct ExportSpans {
    /// By resource and scope.
    resource_spans: Option<Vec<serde_json::Value>>,
}

/// A request of OTLP with log records, in JSON, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(rename_all = "camelCase")]
pub(crate) struct ExportLogs {
    /// By resource and scope.
    resource_logs: Option<Vec<serde_json::Value>>,
}

/// A request of OTLP with data points, in JSON, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(rename_all = "camelCase")]
pub(crate) struct ExportMetrics {
    /// By resource and scope.
    resource_metrics: Option<Vec<serde_json::Value>>,
}

/// The answer to it, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(rename_all = "camelCase")]
pub(crate) struct Exported {
    /// How many records were left out, and why the first of them was; absent where all were taken.
    #[schema(value_type = Option<Object>)]
    partial_success: Option<serde_json::Value>,
}

/// Why a request cannot be read, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
pub(crate) struct RpcStatus {
    /// The code of gRPC.
    code: i32,
    /// What is wrong.
    message: String,
}

/// A message of OTLP in binary form, for the document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document alone reads it")]
#[schema(value_type = String, format = Binary)]
pub(crate) struct Protobuf(Vec<u8>);

/// Records that no session was found for: of one batch, one trace and one agent, for one reason.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct UnassignedTelemetry {
    /// Its place in the order.
    number: u64,
    /// When it was taken.
    #[schema(format = DateTime)]
    at: String,
    /// `traces`, `logs` or `metrics`.
    signal: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    /// The span of the first record.
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
    /// The agent that sent it, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// What the first record is called.
    name: String,
    /// How many records there are.
    records: u64,
    /// Why no session was found: a word for programs.
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

/// A page of what has no session.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct UnassignedPage {
    /// Newest first.
    pub(crate) unassigned: Vec<UnassignedTelemetry>,
    /// Give it as `before` to get the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u64>,
}

/// A trace that belongs to a session.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssignTrace {
    /// The trace.
    #[schema(pattern = r"^(?=.*[1-9a-f])[0-9a-f]{32}$")]
    pub(crate) trace_id: String,
}

/// A trace that has a session now.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AssignedTrace {
    pub(crate) trace_id: String,
    pub(crate) session: String,
}
