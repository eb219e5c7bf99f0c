//! Part of a batch: the records that a caller keeps, each in its group.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};

use super::batch::{Batch, Content, RecordIndex};
use super::points;

impl Batch {
    /// Copies the records that are kept, each with its resource and scope. What was left out of the request is not
    /// counted again.
    #[must_use]
    pub fn select(&self, keep: impl Fn(RecordIndex) -> bool) -> Self {
        let mut next = 0;
        let mut wanted = || {
            next += 1;
            keep(RecordIndex(next - 1))
        };
        Self::new(match &self.content {
            Content::Traces(request) => Content::Traces(spans(request, &mut wanted)),
            Content::Logs(request) => Content::Logs(logs(request, &mut wanted)),
            Content::Metrics(request) => Content::Metrics(metrics(request, &mut wanted)),
        })
    }
}

fn spans(
    request: &ExportTraceServiceRequest,
    wanted: &mut impl FnMut() -> bool,
) -> ExportTraceServiceRequest {
    let mut of_scope = |scope: &ScopeSpans| {
        let spans: Vec<Span> = scope.spans.iter().filter(|_| wanted()).cloned().collect();
        (!spans.is_empty()).then(|| ScopeSpans {
            scope: scope.scope.clone(),
            spans,
            schema_url: scope.schema_url.clone(),
        })
    };
    let groups = request.resource_spans.iter().filter_map(|group| {
        let scope_spans: Vec<_> = group.scope_spans.iter().filter_map(&mut of_scope).collect();
        (!scope_spans.is_empty()).then(|| ResourceSpans {
            resource: group.resource.clone(),
            scope_spans,
            schema_url: group.schema_url.clone(),
        })
    });
    ExportTraceServiceRequest {
        resource_spans: groups.collect(),
    }
}

fn logs(
    request: &ExportLogsServiceRequest,
    wanted: &mut impl FnMut() -> bool,
) -> ExportLogsServiceRequest {
    let mut of_scope = |scope: &ScopeLogs| {
        let log_records: Vec<LogRecord> = scope
            .log_records
            .iter()
            .filter(|_| wanted())
            .cloned()
            .collect();
        (!log_records.is_empty()).then(|| ScopeLogs {
            scope: scope.scope.clone(),
            log_records,
            schema_url: scope.schema_url.clone(),
        })
    };
    let groups = request.resource_logs.iter().filter_map(|group| {
        let scope_logs: Vec<_> = group.scope_logs.iter().filter_map(&mut of_scope).collect();
        (!scope_logs.is_empty()).then(|| ResourceLogs {
            resource: group.resource.clone(),
            scope_logs,
            schema_url: group.schema_url.clone(),
        })
    });
    ExportLogsServiceRequest {
        resource_logs: groups.collect(),
    }
}

fn metrics(
    request: &ExportMetricsServiceRequest,
    wanted: &mut impl FnMut() -> bool,
) -> ExportMetricsServiceRequest {
    let mut of_metric = |metric: &Metric| {
        let mut metric = metric.clone();
        points::retain(&mut metric, |_| wanted());
        (points::count(&metric) > 0).then_some(metric)
    };
    let mut of_scope = |scope: &ScopeMetrics| {
        let metrics: Vec<_> = scope.metrics.iter().filter_map(&mut of_metric).collect();
        (!metrics.is_empty()).then(|| ScopeMetrics {
            scope: scope.scope.clone(),
            metrics,
            schema_url: scope.schema_url.clone(),
        })
    };
    let groups = request.resource_metrics.iter().filter_map(|group| {
        let scope_metrics: Vec<_> = group
            .scope_metrics
            .iter()
            .filter_map(&mut of_scope)
            .collect();
        (!scope_metrics.is_empty()).then(|| ResourceMetrics {
            resource: group.resource.clone(),
            scope_metrics,
            schema_url: group.schema_url.clone(),
        })
    });
    ExportMetricsServiceRequest {
        resource_metrics: groups.collect(),
    }
}
