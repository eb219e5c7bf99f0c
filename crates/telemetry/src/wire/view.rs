//! One record with its surroundings, to be read.

use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;

use super::batch::{Batch, Content, RecordIndex};
use super::points;

/// What a record is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'a> {
    Span(&'a Span),
    Log(&'a LogRecord),
    /// A data point of this metric, measured at this time.
    Point(&'a Metric, u64),
}

/// A record and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) index: RecordIndex,
    /// The attributes of its resource.
    pub(crate) resource: &'a [KeyValue],
    /// The name of its scope.
    pub(crate) scope: &'a str,
    /// Its own attributes.
    pub(crate) attributes: &'a [KeyValue],
    pub(crate) item: Item<'a>,
}

fn attributes(resource: Option<&Resource>) -> &[KeyValue] {
    resource.map_or(&[], |resource| &resource.attributes)
}

fn name(scope: Option<&InstrumentationScope>) -> &str {
    scope.map_or("", |scope| &scope.name)
}

impl Batch {
    /// Shows every record, in order.
    pub(crate) fn each<'a>(&'a self, mut see: impl FnMut(View<'a>)) {
        let mut next = 0;
        let mut view = |resource, scope, attributes, item| {
            see(View {
                index: RecordIndex(next),
                resource,
                scope,
                attributes,
                item,
            });
            next += 1;
        };
        match &self.content {
            Content::Traces(request) => {
                for group in &request.resource_spans {
                    let resource = attributes(group.resource.as_ref());
                    for scope in &group.scope_spans {
                        for span in &scope.spans {
                            let item = Item::Span(span);
                            view(resource, name(scope.scope.as_ref()), &span.attributes, item);
                        }
                    }
                }
            }
            Content::Logs(request) => {
                for group in &request.resource_logs {
                    let resource = attributes(group.resource.as_ref());
                    for scope in &group.scope_logs {
                        for log in &scope.log_records {
                            let item = Item::Log(log);
                            view(resource, name(scope.scope.as_ref()), &log.attributes, item);
                        }
                    }
                }
            }
            Content::Metrics(request) => {
                for group in &request.resource_metrics {
                    let resource = attributes(group.resource.as_ref());
                    for scope in &group.scope_metrics {
                        for metric in &scope.metrics {
                            for point in points::each(metric) {
                                let item = Item::Point(metric, point.time);
                                let scope = name(scope.scope.as_ref());
                                view(resource, scope, point.attributes, item);
                            }
                        }
                    }
                }
            }
        }
    }
}
