//! One record, and how to ask it.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use prost::Message;
use siglum_domain::Timestamp;
use siglum_domain::trace::{SpanId, TraceId};

use super::lookup;
use crate::wire::{Item, View};

/// The longest name that a listing shows.
const NAME_LONGEST: usize = 120;

/// A record with its surroundings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    view: View<'a>,
    /// The name of a span or metric, or of the event that a log record is.
    pub(super) name: &'a str,
}

impl<'a> Record<'a> {
    pub(super) fn from_view(view: View<'a>) -> Self {
        let name = match view.item {
            Item::Span(span) => &span.name,
            Item::Point(metric, _) => &metric.name,
            Item::Log(log) => lookup::text(view.attributes, "event.name")
                .or_else(|| siglum_domain::grammar::present(&log.event_name))
                .or_else(|| log_body_texts(log).next())
                .unwrap_or_default(),
        };
        Self { view, name }
    }

    /// Its name, short enough for a listing.
    pub(super) fn short_name(&self) -> String {
        let end = self.name.floor_char_boundary(NAME_LONGEST);
        self.name[..end]
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    /// The texts that a log record is made of, if it is one.
    pub(super) fn body_texts(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let log = match self.view.item {
            Item::Log(log) => Some(log),
            Item::Span(_) | Item::Point(..) => None,
        };
        log.into_iter().flat_map(log_body_texts)
    }

    /// The name of the scope that made it.
    pub(super) const fn scope(&self) -> &'a str {
        self.view.scope
    }

    /// A text of the record that is not blank.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        lookup::text(self.view.attributes, key)
    }

    /// The first text of the record under any of these keys.
    pub(super) fn first(&self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.text(key))
    }

    /// A text of its resource.
    pub(super) fn of_resource(&self, key: &str) -> Option<&'a str> {
        lookup::text(self.view.resource, key)
    }

    pub(super) fn count(&self, key: &str) -> Option<u64> {
        lookup::count(self.view.attributes, key)
    }

    /// The first count of the record under any of these keys.
    pub(super) fn first_count(&self, keys: &[&str]) -> Option<u64> {
        keys.iter().find_map(|key| self.count(key))
    }

    /// A yes or no of the record.
    pub(super) fn truth(&self, key: &str) -> Option<bool> {
        lookup::truth(self.view.attributes, key)
    }

    /// A text or number of the record, as text.
    pub(super) fn word(&self, key: &str) -> Option<String> {
        lookup::word(self.view.attributes, key).map(std::borrow::Cow::into_owned)
    }

    /// Whether it has an attribute whose key begins so.
    pub(super) fn has_prefix(&self, prefixes: &[&str]) -> bool {
        let keys = self.view.attributes.iter().map(|a| a.key.as_str());
        keys.into_iter()
            .any(|key| prefixes.iter().any(|prefix| key.starts_with(prefix)))
    }

    pub(super) const fn is_span(&self) -> bool {
        matches!(self.view.item, Item::Span(_))
    }

    pub(super) const fn is_log(&self) -> bool {
        matches!(self.view.item, Item::Log(_))
    }

    /// Whether it is a span that ended in an error.
    pub(super) fn has_failed(&self) -> bool {
        match self.view.item {
            Item::Span(span) => span.status.as_ref().is_some_and(|status| status.code == 2),
            Item::Log(_) | Item::Point(..) => false,
        }
    }

    /// When it began, or happened.
    pub(super) fn start(&self) -> Timestamp {
        time(match self.view.item {
            Item::Span(span) => span.start_time_unix_nano,
            Item::Log(log) if log.time_unix_nano != 0 => log.time_unix_nano,
            Item::Log(log) => log.observed_time_unix_nano,
            Item::Point(_, time) => time,
        })
    }

    /// When it ended; never before it began.
    pub(super) fn end(&self) -> Timestamp {
        match self.view.item {
            Item::Span(span) => time(span.end_time_unix_nano).max(self.start()),
            Item::Log(_) | Item::Point(..) => self.start(),
        }
    }

    pub(super) fn trace(&self) -> Option<TraceId> {
        match self.view.item {
            Item::Span(span) => TraceId::from_bytes(&span.trace_id),
            Item::Log(log) => TraceId::from_bytes(&log.trace_id),
            Item::Point(..) => None,
        }
    }

    pub(super) fn span(&self) -> Option<SpanId> {
        match self.view.item {
            Item::Span(span) => SpanId::from_bytes(&span.span_id),
            Item::Log(log) => SpanId::from_bytes(&log.span_id),
            Item::Point(..) => None,
        }
    }

    pub(super) fn parent(&self) -> Option<SpanId> {
        match self.view.item {
            Item::Span(span) => SpanId::from_bytes(&span.parent_span_id),
            Item::Log(_) | Item::Point(..) => None,
        }
    }

    /// What this record is called wherever it comes again: equal for equal records and for no others.
    pub(super) fn key(&self) -> String {
        match (self.view.item, self.trace(), self.span()) {
            (Item::Span(_), Some(trace), Some(span)) => format!("span:{trace}:{span}"),
            (Item::Span(span), ..) => digest("span", &span.encode_to_vec()),
            (Item::Log(log), ..) => digest("log", &log.encode_to_vec()),
            (Item::Point(metric, time), ..) => {
                digest("point", format!("{}{time}", metric.name).as_bytes())
            }
        }
    }
}

/// The body of a log record: a text, or a list of texts.
fn log_body_texts(log: &LogRecord) -> impl Iterator<Item = &str> {
    let body = log.body.as_ref().and_then(|body| body.value.as_ref());
    let (text, list) = match body {
        Some(Value::StringValue(text)) => (Some(text.as_str()), None),
        Some(Value::ArrayValue(list)) => (None, Some(list)),
        _ => (None, None),
    };
    let in_list = list.into_iter().flat_map(|list| &list.values);
    let in_list = in_list.filter_map(|value| match value.value.as_ref() {
        Some(Value::StringValue(text)) => Some(text.as_str()),
        _ => None,
    });
    text.into_iter().chain(in_list)
}

fn digest(kind: &str, bytes: &[u8]) -> String {
    let hex = blake3::hash(bytes).to_hex();
    format!("{kind}:{}", &hex[..32])
}

fn time(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}
