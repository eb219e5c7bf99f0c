//! Secrets out of every text of a batch.

use std::borrow::Cow;

use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use siglum_domain::redact::Redactor;

use super::batch::{Batch, RecordIndex};
use super::change::{Change, RecordMut};

struct Redacting<'a>(&'a Redactor);

impl Batch {
    /// Removes secrets from every text that a sender chose: values of attributes however deep they are nested, bodies
    /// of log records, names and messages of states.
    pub fn redact(&mut self, redactor: &Redactor) {
        self.content.change(&mut Redacting(redactor));
    }
}

impl Change for Redacting<'_> {
    fn resource(&mut self, resource: &mut Resource) {
        self.attributes(&mut resource.attributes);
    }

    fn scope(&mut self, scope: &mut InstrumentationScope) {
        self.attributes(&mut scope.attributes);
    }

    fn record(&mut self, _index: RecordIndex, record: RecordMut<'_>) -> bool {
        match record {
            RecordMut::Span(span) => self.span(span),
            RecordMut::Log(log) => {
                self.attributes(&mut log.attributes);
                log.body.iter_mut().for_each(|body| self.value(body));
                self.text(&mut log.event_name);
            }
            RecordMut::Point(point) => {
                self.attributes(point.attributes);
                let exemplars = point.exemplars.into_iter().flatten();
                exemplars.for_each(|e| self.attributes(&mut e.filtered_attributes));
            }
        }
        true
    }
}

impl Redacting<'_> {
    fn span(&self, span: &mut Span) {
        self.text(&mut span.name);
        self.text(&mut span.trace_state);
        self.attributes(&mut span.attributes);
        for event in &mut span.events {
            self.text(&mut event.name);
            self.attributes(&mut event.attributes);
        }
        for link in &mut span.links {
            self.attributes(&mut link.attributes);
        }
        if let Some(status) = &mut span.status {
            self.text(&mut status.message);
        }
    }

    fn attributes(&self, attributes: &mut [KeyValue]) {
        for attribute in attributes {
            if let Some(value) = &mut attribute.value {
                self.value(value);
            }
        }
    }

    fn value(&self, value: &mut AnyValue) {
        match &mut value.value {
            Some(Value::StringValue(text)) => self.text(text),
            Some(Value::ArrayValue(list)) => list.values.iter_mut().for_each(|v| self.value(v)),
            Some(Value::KvlistValue(map)) => self.attributes(&mut map.values),
            _ => {}
        }
    }

    fn text(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.0.redact_cow(text) {
            *text = clean;
        }
    }
}
