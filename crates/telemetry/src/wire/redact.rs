//! Secrets out of every text of a batch.

use std::borrow::Cow;

use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::Span;
use siglum_domain::redact::Redactor;

use super::batch::{Batch, RecordIndex};
use super::change::{Change, RecordMut};

struct Redacting<'a>(&'a Redactor);

impl Batch {
    /// Removes secrets from every text that a sender chose: keys and values of attributes however deep they are nested,
    /// bytes, bodies of log records, names, descriptions and messages of states.
    pub fn redact(&mut self, redactor: &Redactor) {
        self.content.change(&mut Redacting(redactor));
    }
}

impl Change for Redacting<'_> {
    fn resource(&mut self, resource: &mut Resource) {
        self.attributes(&mut resource.attributes);
        for entity in &mut resource.entity_refs {
            self.text(&mut entity.schema_url);
            self.text(&mut entity.r#type);
            let keys = entity.id_keys.iter_mut();
            keys.chain(&mut entity.description_keys)
                .for_each(|key| self.text(key));
        }
    }

    fn scope(&mut self, scope: &mut InstrumentationScope) {
        self.text(&mut scope.name);
        self.text(&mut scope.version);
        self.attributes(&mut scope.attributes);
    }

    fn schema(&mut self, address: &mut String) {
        self.text(address);
    }

    fn metric(&mut self, metric: &mut Metric) {
        self.text(&mut metric.name);
        self.text(&mut metric.description);
        self.text(&mut metric.unit);
        self.attributes(&mut metric.metadata);
    }

    fn record(&mut self, _index: RecordIndex, record: RecordMut<'_>) -> bool {
        match record {
            RecordMut::Span(span) => self.span(span),
            RecordMut::Log(log) => {
                self.attributes(&mut log.attributes);
                log.body.iter_mut().for_each(|body| self.value("", body));
                self.text(&mut log.event_name);
                self.text(&mut log.severity_text);
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
            self.text(&mut link.trace_state);
            self.attributes(&mut link.attributes);
        }
        if let Some(status) = &mut span.status {
            self.text(&mut status.message);
        }
    }

    fn attributes(&self, attributes: &mut [KeyValue]) {
        for attribute in attributes {
            if let Some(value) = &mut attribute.value {
                self.value(&attribute.key, value);
            }
            self.text(&mut attribute.key);
        }
    }

    /// A value, and what its key says about it.
    fn value(&self, key: &str, value: &mut AnyValue) {
        match &mut value.value {
            Some(Value::StringValue(text)) => {
                if let Cow::Owned(clean) = self.0.redact_named(key, text) {
                    *text = clean;
                }
            }
            Some(Value::BytesValue(bytes)) => {
                let text = String::from_utf8_lossy(bytes);
                if let Cow::Owned(clean) = self.0.redact_named(key, &text) {
                    *bytes = clean.into_bytes();
                }
            }
            Some(Value::ArrayValue(list)) => {
                list.values.iter_mut().for_each(|v| self.value(key, v));
            }
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
