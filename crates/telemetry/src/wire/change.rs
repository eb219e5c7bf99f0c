//! One walk through a batch that may change records and leave some out.

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;

use super::batch::{Content, RecordIndex};
use super::points::{self, PointMut};

/// A record that may be changed.
pub(super) enum RecordMut<'a> {
    Span(&'a mut Span),
    Log(&'a mut LogRecord),
    Point(PointMut<'a>),
}

/// What looks at the parts of a batch.
pub(super) trait Change {
    /// Sees what a group of records came from.
    fn resource(&mut self, _resource: &mut Resource) {}
    /// Sees what made a group of records.
    fn scope(&mut self, _scope: &mut InstrumentationScope) {}
    /// Sees where the meaning of a group's attributes is written down.
    fn schema(&mut self, _address: &mut String) {}
    /// Sees what all data points of a metric share.
    fn metric(&mut self, _metric: &mut Metric) {}
    /// Sees a record and tells whether it stays.
    fn record(&mut self, index: RecordIndex, record: RecordMut<'_>) -> bool;
}

impl Content {
    /// Shows everything to `change`, in order, and drops groups that have become empty.
    pub(super) fn change(&mut self, change: &mut impl Change) {
        let mut next = 0;
        let mut index = || {
            next += 1;
            RecordIndex(next - 1)
        };
        match self {
            Self::Traces(request) => request.resource_spans.retain_mut(|group| {
                group.resource.iter_mut().for_each(|r| change.resource(r));
                change.schema(&mut group.schema_url);
                group.scope_spans.retain_mut(|scope| {
                    scope.scope.iter_mut().for_each(|s| change.scope(s));
                    change.schema(&mut scope.schema_url);
                    let spans = &mut scope.spans;
                    spans.retain_mut(|span| change.record(index(), RecordMut::Span(span)));
                    !spans.is_empty()
                });
                !group.scope_spans.is_empty()
            }),
            Self::Logs(request) => request.resource_logs.retain_mut(|group| {
                group.resource.iter_mut().for_each(|r| change.resource(r));
                change.schema(&mut group.schema_url);
                group.scope_logs.retain_mut(|scope| {
                    scope.scope.iter_mut().for_each(|s| change.scope(s));
                    change.schema(&mut scope.schema_url);
                    let logs = &mut scope.log_records;
                    logs.retain_mut(|log| change.record(index(), RecordMut::Log(log)));
                    !logs.is_empty()
                });
                !group.scope_logs.is_empty()
            }),
            Self::Metrics(request) => request.resource_metrics.retain_mut(|group| {
                group.resource.iter_mut().for_each(|r| change.resource(r));
                change.schema(&mut group.schema_url);
                group.scope_metrics.retain_mut(|scope| {
                    scope.scope.iter_mut().for_each(|s| change.scope(s));
                    change.schema(&mut scope.schema_url);
                    scope.metrics.retain_mut(|metric| {
                        change.metric(metric);
                        points::retain(metric, |p| change.record(index(), RecordMut::Point(p)));
                        points::count(metric) > 0
                    });
                    !scope.metrics.is_empty()
                });
                !group.scope_metrics.is_empty()
            }),
        }
    }
}
