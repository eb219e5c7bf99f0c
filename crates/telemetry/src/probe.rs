//! One small trace that asks a server whether it takes traces at all.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message as _;
use siglum_domain::Timestamp;
use siglum_domain::trace::{SpanId, TraceId};

/// The session that every probe belongs to: where it turns up, whoever looks knows what it is.
pub const SESSION: &str = "siglum-test";

/// Where servers look for the id of a session, each in a place of its own.
const SESSION_KEYS: &[&str] = &[
    "session.id",
    "gen_ai.conversation.id",
    "langsmith.metadata.thread_id",
    "lmnr.association.properties.session_id",
];

/// A trace of one span, of no agent and no turn.
#[derive(Debug, Clone, Copy)]
pub struct Probe<'a> {
    pub trace: TraceId,
    pub span: SpanId,
    /// When it began and ended.
    pub at: Timestamp,
    /// The version of the program that sends it.
    pub version: &'a str,
}

impl Probe<'_> {
    /// The encoded request, as protobuf.
    #[must_use]
    pub fn protobuf(&self) -> Vec<u8> {
        self.request().encode_to_vec()
    }

    /// The encoded request, as JSON.
    #[must_use]
    pub fn json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.request()).expect("because spans have a JSON form")
    }

    fn request(&self) -> ExportTraceServiceRequest {
        let at = u64::try_from(self.at.nanos()).unwrap_or_default();
        let mut attributes: Vec<_> = SESSION_KEYS.iter().map(|key| text(key, SESSION)).collect();
        attributes.push(text("openinference.span.kind", "CHAIN"));
        attributes.push(text("siglum.test", "true"));
        let span = Span {
            trace_id: self.trace.bytes().to_vec(),
            span_id: self.span.bytes().to_vec(),
            name: "siglum otel test".to_owned(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: at,
            end_time_unix_nano: at,
            attributes,
            flags: 1,
            status: Some(Status {
                code: StatusCode::Ok.into(),
                ..Status::default()
            }),
            ..Span::default()
        };
        let scope = InstrumentationScope {
            name: "siglum".to_owned(),
            version: self.version.to_owned(),
            ..InstrumentationScope::default()
        };
        let resource = Resource {
            attributes: vec![
                text("service.name", "siglum"),
                text("service.version", self.version),
            ],
            ..Resource::default()
        };
        ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource),
                scope_spans: vec![ScopeSpans {
                    scope: Some(scope),
                    spans: vec![span],
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        }
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let probe = Probe {
            trace: TraceId::from_bytes(&[1; 16]).unwrap(),
            span: SpanId::from_bytes(&[2; 8]).unwrap(),
            at: Timestamp::from_nanos(1_700_000_000_000_000_001),
            version: "9.9",
        };
        let read = ExportTraceServiceRequest::decode(probe.protobuf().as_slice()).unwrap();
        assert_eq!(read, probe.request());
        let json: serde_json::Value = serde_json::from_slice(&probe.json()).unwrap();
        let span = &json["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!(span["traceId"], "01".repeat(16));
        assert_eq!(span["startTimeUnixNano"], "1700000000000000001");
        let session = json!({"key": "session.id", "value": {"stringValue": "siglum-test"}});
        assert_eq!(span["attributes"][0]["key"], session["key"]);
        assert_eq!(span["attributes"][0]["value"], session["value"]);
        let again: ExportTraceServiceRequest = serde_json::from_value(json).unwrap();
        assert_eq!(again, probe.request());
    }
}
