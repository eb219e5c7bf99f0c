//! What a server says of telemetry that it took: all of it, or not all.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use serde_json::Value;

/// What a server says of a request that it took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// How many spans, records or points it threw away. They are lost: a server wants them neither now nor later.
    pub rejected: u64,
    /// Why, or what it has to say beside; empty where it says nothing.
    pub message: String,
}

/// Something answers, and not as a server of telemetry does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the response is not an OTLP response, but `{content_type}`")]
pub struct NotAnAnswer {
    pub content_type: String,
}

impl Answer {
    /// Reads an encoded `Export…ServiceResponse` of any signal: they differ in names only.
    ///
    /// # Errors
    /// It is none.
    pub fn read(content_type: &str, body: &[u8]) -> Result<Self, NotAnAnswer> {
        let content_type = content_type.to_ascii_lowercase();
        // Some servers say nothing, whatever they call it.
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        let read = match content_type.as_str() {
            form if form.contains("json") => Self::of_json(body),
            form if form.contains("protobuf") => Self::of_protobuf(body),
            _ => None,
        };
        read.ok_or_else(|| NotAnAnswer {
            content_type: content_type.chars().take(80).collect(),
        })
    }

    fn of_protobuf(body: &[u8]) -> Option<Self> {
        let response = ExportTraceServiceResponse::decode(body).ok()?;
        let partial = response.partial_success.unwrap_or_default();
        Some(Self {
            rejected: u64::try_from(partial.rejected_spans).unwrap_or_default(),
            message: partial.error_message,
        })
    }

    fn of_json(body: &[u8]) -> Option<Self> {
        let response: Value = serde_json::from_slice(body).ok()?;
        let partial = match response.as_object()?.get("partialSuccess") {
            None | Some(Value::Null) => return Some(Self::default()),
            Some(partial) => partial.as_object()?,
        };
        let names = ["rejectedSpans", "rejectedLogRecords", "rejectedDataPoints"];
        let rejected = names.iter().find_map(|name| number(partial.get(*name)?));
        let message = partial.get("errorMessage").and_then(Value::as_str);
        Some(Self {
            rejected: rejected.unwrap_or_default(),
            message: message.unwrap_or_default().to_owned(),
        })
    }
}

/// A number of 64 bits, which JSON has as text, and some servers as a number.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::logs::v1::{
        ExportLogsPartialSuccess, ExportLogsServiceResponse,
    };

    use super::*;

    #[track_caller]
    fn check(content_type: &str, body: &[u8], expected: Option<(u64, &str)>) {
        let found = Answer::read(content_type, body).ok();
        let expected = expected.map(|(rejected, message)| Answer {
            rejected,
            message: message.to_owned(),
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn partial_success_is_read_in_both_forms() {
        let response = ExportLogsServiceResponse {
            partial_success: Some(ExportLogsPartialSuccess {
                rejected_log_records: 3,
                error_message: "too old".to_owned(),
            }),
        };
        let (protobuf, json) = ("application/x-protobuf", "application/json; charset=utf-8");
        check(protobuf, &response.encode_to_vec(), Some((3, "too old")));
        check(protobuf, b"", Some((0, "")));
        check(protobuf, &[0xff, 0xff], None);
        for (body, expected) in [
            ("", Some((0, ""))),
            ("{}", Some((0, ""))),
            (r#"{"partialSuccess":null}"#, Some((0, ""))),
            (r#"{"partialSuccess":{}}"#, Some((0, ""))),
            (r#"{"partialSuccess":{"rejectedSpans":"2"}}"#, Some((2, ""))),
            (
                r#"{"partialSuccess":{"rejectedDataPoints":2,"errorMessage":"x"}}"#,
                Some((2, "x")),
            ),
            (
                r#"{"partialSuccess":{"rejectedLogRecords":"-1"}}"#,
                Some((0, "")),
            ),
            ("[]", None),
            ("<html>", None),
        ] {
            check(json, body.as_bytes(), expected);
        }
        check("text/html", b"<html>", None);
        check("text/plain", b" \n", Some((0, "")));
    }
}
