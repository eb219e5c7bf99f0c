//! The rules that every record keeps to, however it came.

use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::{Exemplar, Metric};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use siglum_domain::trace::{SpanId, TraceId};

use super::batch::{Batch, Limits, RecordIndex};
use super::change::{Change, RecordMut};
use super::points::PointMut;

/// The rule that a record broke.
type Verdict = Result<(), &'static str>;

/// Leaves out the records that break a rule, cuts texts that are too long.
pub(super) fn clean(batch: &mut Batch, limits: &Limits) {
    let mut cleaning = Cleaning {
        limits,
        cut: 0,
        rejected: 0,
        problem: None,
    };
    batch.content.change(&mut cleaning);
    let Cleaning {
        cut,
        rejected,
        problem,
        ..
    } = cleaning;
    batch.cut += cut;
    batch.reject(rejected, || problem.unwrap_or_default().to_owned());
}

struct Cleaning<'a> {
    limits: &'a Limits,
    cut: u64,
    rejected: usize,
    problem: Option<&'static str>,
}

impl Change for Cleaning<'_> {
    fn resource(&mut self, resource: &mut Resource) {
        let dropped = self.shared(&mut resource.attributes);
        resource.dropped_attributes_count =
            resource.dropped_attributes_count.saturating_add(dropped);
    }

    fn scope(&mut self, scope: &mut InstrumentationScope) {
        self.text(&mut scope.name);
        self.text(&mut scope.version);
        let dropped = self.shared(&mut scope.attributes);
        scope.dropped_attributes_count = scope.dropped_attributes_count.saturating_add(dropped);
    }

    fn schema(&mut self, address: &mut String) {
        self.text(address);
    }

    fn metric(&mut self, metric: &mut Metric) {
        self.text(&mut metric.name);
        self.text(&mut metric.description);
        self.text(&mut metric.unit);
        self.shared(&mut metric.metadata);
    }

    fn record(&mut self, index: RecordIndex, record: RecordMut<'_>) -> bool {
        let verdict = match record {
            _ if index.0 >= self.limits.records => Err("more records than one request may bring"),
            RecordMut::Span(span) => self.span(span),
            RecordMut::Log(log) => self.log(log),
            RecordMut::Point(point) => self.point(point),
        };
        if let Err(rule) = verdict {
            self.rejected += 1;
            self.problem.get_or_insert(rule);
        }
        verdict.is_ok()
    }
}

impl Cleaning<'_> {
    fn span(&mut self, span: &mut Span) -> Verdict {
        if TraceId::from_bytes(&span.trace_id).is_none() {
            return Err("a span's trace id is not 16 bytes that are not all zero");
        }
        if SpanId::from_bytes(&span.span_id).is_none() {
            return Err("a span's id is not 8 bytes that are not all zero");
        }
        if span.parent_span_id.iter().all(|byte| *byte == 0) {
            span.parent_span_id.clear();
        } else if SpanId::from_bytes(&span.parent_span_id).is_none() {
            return Err("a span's parent id is not 8 bytes");
        }
        time(span.start_time_unix_nano)?;
        time(span.end_time_unix_nano)?;
        let events = span.events.iter().map(|event| event.attributes.len());
        let links = span.links.iter().map(|link| link.attributes.len());
        let more: usize = events.chain(links).sum::<usize>() + span.events.len() + span.links.len();
        self.count(span.attributes.len().saturating_add(more))?;
        self.text(&mut span.name);
        self.text(&mut span.trace_state);
        self.attributes(&mut span.attributes)?;
        for event in &mut span.events {
            self.text(&mut event.name);
            self.attributes(&mut event.attributes)?;
        }
        span.links.retain(|link| {
            let trace = TraceId::from_bytes(&link.trace_id);
            trace.is_some() && SpanId::from_bytes(&link.span_id).is_some()
        });
        for link in &mut span.links {
            self.text(&mut link.trace_state);
            self.attributes(&mut link.attributes)?;
        }
        if let Some(status) = &mut span.status {
            self.text(&mut status.message);
        }
        Ok(())
    }

    fn log(&mut self, log: &mut LogRecord) -> Verdict {
        time(log.time_unix_nano)?;
        time(log.observed_time_unix_nano)?;
        self.count(log.attributes.len())?;
        context(&mut log.trace_id, &mut log.span_id);
        self.text(&mut log.event_name);
        self.text(&mut log.severity_text);
        self.attributes(&mut log.attributes)?;
        match &mut log.body {
            Some(body) => self.value(body, 0),
            None => Ok(()),
        }
    }

    fn point(&mut self, point: PointMut<'_>) -> Verdict {
        time(point.time)?;
        self.count(point.attributes.len())?;
        self.attributes(point.attributes)?;
        let exemplars = point.exemplars.into_iter().flatten();
        exemplars.into_iter().try_for_each(|e| self.exemplar(e))
    }

    fn exemplar(&mut self, exemplar: &mut Exemplar) -> Verdict {
        context(&mut exemplar.trace_id, &mut exemplar.span_id);
        self.count(exemplar.filtered_attributes.len())?;
        self.attributes(&mut exemplar.filtered_attributes)
    }

    /// Attributes that many records share: none of the records is at fault, so only what breaks a rule goes.
    fn shared(&mut self, attributes: &mut Vec<KeyValue>) -> u32 {
        let before = attributes.len();
        attributes.truncate(self.limits.attributes);
        attributes.retain_mut(|attribute| self.attribute(attribute).is_ok());
        u32::try_from(before - attributes.len()).unwrap_or(u32::MAX)
    }

    fn attributes(&mut self, attributes: &mut [KeyValue]) -> Verdict {
        let mut attributes = attributes.iter_mut();
        attributes.try_for_each(|attribute| self.attribute(attribute))
    }

    fn attribute(&mut self, attribute: &mut KeyValue) -> Verdict {
        self.text(&mut attribute.key);
        match &mut attribute.value {
            Some(value) => self.value(value, 0),
            None => Ok(()),
        }
    }

    fn value(&mut self, value: &mut AnyValue, depth: usize) -> Verdict {
        if depth > self.limits.depth {
            return Err("a value is nested too deeply");
        }
        match &mut value.value {
            Some(Value::StringValue(text)) => self.text(text),
            Some(Value::BytesValue(bytes)) if bytes.len() > self.limits.text => {
                bytes.truncate(self.limits.text);
                self.cut += 1;
            }
            Some(Value::ArrayValue(list)) => {
                for value in &mut list.values {
                    self.value(value, depth + 1)?;
                }
            }
            Some(Value::KvlistValue(map)) => {
                for entry in &mut map.values {
                    self.text(&mut entry.key);
                    if let Some(value) = &mut entry.value {
                        self.value(value, depth + 1)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &mut String) {
        if text.len() > self.limits.text {
            text.truncate(text.floor_char_boundary(self.limits.text));
            self.cut += 1;
        }
    }

    const fn count(&self, attributes: usize) -> Verdict {
        if attributes > self.limits.attributes {
            return Err("a record has too many attributes");
        }
        Ok(())
    }
}

/// A time that the ledger can write down; a span that ends before it begins is the sender's affair.
fn time(nanos: u64) -> Verdict {
    match i64::try_from(nanos) {
        Ok(_) => Ok(()),
        Err(_) => Err("a time lies beyond the year 2262"),
    }
}

/// A log record or an example may stand outside of any trace; ids that name nothing are none.
fn context(trace: &mut Vec<u8>, span: &mut Vec<u8>) {
    if TraceId::from_bytes(trace).is_none() {
        trace.clear();
        span.clear();
    } else if SpanId::from_bytes(span).is_none() {
        span.clear();
    }
}
