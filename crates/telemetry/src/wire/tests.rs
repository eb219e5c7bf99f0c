use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use serde_json::{Value, json};
use siglum_domain::redact::Redactor;
use siglum_domain::{ConversationId, SessionId};

use super::{Batch, DecodeError, Encoding, Limits, RecordIndex, Signal, Stamp, decode};

fn read(signal: Signal, body: &Value) -> Batch {
    let body = body.to_string();
    decode(signal, Encoding::Json, body.as_bytes(), &Limits::default()).unwrap()
}

fn traces(spans: &[Value]) -> Value {
    json!({ "resourceSpans": [{
        "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "x" } }] },
        "scopeSpans": [{ "scope": { "name": "lib" }, "spans": spans }],
    }] })
}

fn span(number: u16) -> Value {
    json!({ "traceId": format!("{:032X}", number + 1), "spanId": format!("{:016x}", number + 1), "name": "n",
        "startTimeUnixNano": "1795351748506000000", "endTimeUnixNano": 1_795_351_748_507_000_000_u64 })
}

fn with(mut span: Value, key: &str, value: Value) -> Value {
    span[key] = value;
    span
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn rejected(span: Value, limits: &Limits) -> (u64, usize) {
    let body = traces(&[span]).to_string();
    let batch = decode(Signal::Traces, Encoding::Json, body.as_bytes(), limits).unwrap();
    assert_eq!(batch.problem.is_some(), batch.rejected > 0);
    (batch.rejected, batch.records())
}

/// Scenario 35: the form makes no difference.
#[test]
fn hex_base64_and_protobuf_are_the_same_batch() {
    let events = json!([{ "timeUnixNano": 5, "name": "e", "attributes": [text("k", "v")] }]);
    let rich = |trace: &str, id: &str, parent: &str, kind: Value| {
        json!({ "traceId": trace, "spanId": id, "parentSpanId": parent, "name": "n", "kind": kind,
            "startTimeUnixNano": "7", "endTimeUnixNano": 3, "flags": 257, "events": events,
            "links": [{ "traceId": trace, "spanId": id }], "status": { "code": 2, "message": "m" },
            "attributes": [text("s", "ü"), { "key": "i", "value": { "intValue": "-5" } },
                { "key": "d", "value": { "doubleValue": 1 } }, { "key": "b", "value": { "boolValue": true } },
                { "key": "x", "value": { "bytesValue": "AAEC/w==" } }, { "key": "n", "value": null },
                { "key": "a", "value": { "arrayValue": { "values": [{ "stringValue": "v" }, null] } } },
                { "key": "m", "value": { "kvlistValue": { "values": [text("k", "v")] } } }],
            "unknown": { "deep": [1] }, "traceState": null })
    };
    let hex = rich(
        "5B8EFFF798038103D269B633813FC60C",
        "EEE19B7EC3C1B174",
        "eee19b7ec3c1b173",
        json!(3),
    );
    let base64 = rich(
        "W47/95gDgQPSabYzgT/GDA==",
        "7uGbfsPBsXQ=",
        "7uGbfsPBsXM",
        json!("SPAN_KIND_CLIENT"),
    );
    let (hex, base64) = (
        read(Signal::Traces, &traces(&[hex])),
        read(Signal::Traces, &traces(&[base64])),
    );
    assert_eq!(hex, base64);
    let limits = Limits::default();
    let protobuf = decode(
        Signal::Traces,
        Encoding::Protobuf,
        &hex.to_protobuf(),
        &limits,
    )
    .unwrap();
    assert_eq!(hex, protobuf);
    assert_eq!((hex.records(), hex.rejected), (1, 0));
}

#[test]
fn one_bad_span_in_five_hundred_is_left_out_alone() {
    let mut spans: Vec<Value> = (0..500).map(span).collect();
    spans[250]["traceId"] = json!("zz");
    let batch = read(Signal::Traces, &traces(&spans));
    assert_eq!((batch.records(), batch.rejected), (499, 1));
    let answer = ExportTraceServiceResponse::decode(&*batch.answer(Encoding::Protobuf)).unwrap();
    assert_eq!(answer.partial_success.unwrap().rejected_spans, 1);
    let answer: Value = serde_json::from_slice(&batch.answer(Encoding::Json)).unwrap();
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "1");
    let good = read(Signal::Traces, &traces(&[span(1)]));
    assert_eq!(good.answer(Encoding::Json), b"{}");
    assert!(good.answer(Encoding::Protobuf).is_empty());
}

#[test]
fn a_span_that_breaks_a_rule_is_left_out() {
    let limits = Limits {
        attributes: 3,
        depth: 2,
        ..Limits::default()
    };
    let kept = (0, 1);
    assert_eq!(rejected(span(1), &limits), kept);
    assert_eq!(
        rejected(with(span(1), "endTimeUnixNano", json!(1)), &limits),
        kept
    );
    assert_eq!(
        rejected(
            with(span(1), "parentSpanId", json!("0000000000000000")),
            &limits
        ),
        kept
    );
    let many: Value = (0..4).map(|n| text(&n.to_string(), "v")).collect();
    let mut deep = json!({ "stringValue": "v" });
    for _ in 0..4 {
        deep = json!({ "arrayValue": { "values": [deep] } });
    }
    for (key, bad) in [
        ("traceId", json!("0".repeat(32))),
        ("traceId", json!("ab")),
        ("traceId", json!(7)),
        ("spanId", json!("")),
        ("spanId", Value::Null),
        ("parentSpanId", json!("abc")),
        ("startTimeUnixNano", json!("18446744073709551615")),
        ("startTimeUnixNano", json!(-1)),
        ("kind", json!("NO_KIND")),
        ("name", json!([])),
        ("attributes", many),
        ("attributes", json!([{ "key": "k", "value": deep }])),
        (
            "attributes",
            json!([{ "key": "k", "value": { "intValue": "many" } }]),
        ),
    ] {
        assert_eq!(rejected(with(span(1), key, bad), &limits), (1, 0), "{key}");
    }
    assert_eq!(rejected(json!("no span"), &limits), (1, 0));
}

#[test]
fn a_group_that_cannot_be_read_counts_all_its_records() {
    let mut body = traces(&[span(1), span(2), span(3)]);
    body["resourceSpans"][0]["resource"] = json!("no resource");
    let batch = read(Signal::Traces, &body);
    assert_eq!((batch.records(), batch.rejected), (0, 3));
    assert_eq!(batch.problem.as_deref(), Some("`resource` cannot be read"));
}

#[test]
fn too_many_records_are_counted_and_long_texts_are_cut_at_a_character() {
    let limits = Limits {
        records: 2,
        text: 4,
        ..Limits::default()
    };
    let mut spans: Vec<Value> = (0..5).map(span).collect();
    spans[0]["attributes"] = json!([text("k", "aaaüü")]);
    let body = traces(&spans).to_string();
    let batch = decode(Signal::Traces, Encoding::Json, body.as_bytes(), &limits).unwrap();
    assert_eq!((batch.records(), batch.rejected), (2, 3));
    assert!(batch.cut > 0);
    let text = format!("{batch:?}");
    assert!(text.contains("\"aaa\"") && !text.contains("aaaü"));
}

#[test]
fn what_is_no_request_is_refused_as_a_whole() {
    let limits = Limits::default();
    let refused =
        |signal, encoding, bytes: &[u8]| decode(signal, encoding, bytes, &limits).unwrap_err();
    let json = |bytes| refused(Signal::Logs, Encoding::Json, bytes);
    assert!(matches!(json(b"{"), DecodeError::Json(_)));
    assert!(matches!(json(b"[]"), DecodeError::Shape(_)));
    assert!(matches!(
        json(br#"{"resourceLogs":{}}"#),
        DecodeError::Shape("resourceLogs")
    ));
    let nested = "[".repeat(100_000);
    assert!(matches!(json(nested.as_bytes()), DecodeError::Json(_)));
    let protobuf = refused(
        Signal::Traces,
        Encoding::Protobuf,
        b"\x0a\xff\xff\xff\xff\x0f",
    );
    assert!(matches!(protobuf, DecodeError::Protobuf(_)));
    for empty in [
        &b"{}"[..],
        br#"{"resourceLogs":null}"#,
        br#"{"resourceLogs":[]}"#,
    ] {
        let batch = decode(Signal::Logs, Encoding::Json, empty, &limits).unwrap();
        assert_eq!((batch.records(), batch.rejected), (0, 0));
    }
}

#[test]
fn half_a_character_does_not_cost_the_request() {
    let body = r#"{"resource_logs":[{"scope_logs":[{"log_records":[{"time_unix_nano":1,"body":{"string_value":"a\ud83d"}},{"body":{"stringValue":"\ud83d\ude00 \\ud83d"}}]}]}]}"#;
    let batch = decode(
        Signal::Logs,
        Encoding::Json,
        body.as_bytes(),
        &Limits::default(),
    )
    .unwrap();
    assert_eq!((batch.records(), batch.rejected), (2, 0));
    let shown = format!("{batch:?}");
    assert!(shown.contains("a\u{fffd}") && shown.contains('😀') && shown.contains(r"\\ud83d"));
}

#[test]
fn a_log_record_with_a_bad_trace_id_stands_outside_of_traces() {
    let log = json!({ "resourceLogs": [{ "scopeLogs": [{ "logRecords": [
        { "traceId": "nonsense", "spanId": "eee19b7ec3c1b174", "severityNumber": "SEVERITY_NUMBER_WARN" },
    ] }] }] });
    let batch = read(Signal::Logs, &log);
    assert_eq!((batch.records(), batch.rejected), (1, 0));
    batch.each(|view| {
        let super::Item::Log(log) = view.item else {
            panic!("no log")
        };
        assert!(log.trace_id.is_empty() && log.span_id.is_empty());
        assert_eq!(log.severity_number, 13);
    });
}

fn points() -> Value {
    let point = |value: Value| {
        let mut point = json!({ "timeUnixNano": "9", "attributes": [text("session.id", "H1")] });
        point
            .as_object_mut()
            .unwrap()
            .extend(value.as_object().unwrap().clone());
        point
    };
    json!({ "resourceMetrics": [{ "scopeMetrics": [{ "metrics": [
        { "name": "a", "sum": { "isMonotonic": true, "aggregationTemporality": "AGGREGATION_TEMPORALITY_DELTA",
            "dataPoints": [point(json!({ "asInt": "3" })), point(json!({ "asDouble": 1.5 })), { "asInt": [] }] } },
        { "name": "b", "gauge": { "dataPoints": [point(json!({ "asDouble": "NaN" }))] } },
        { "name": "c", "histogram": { "dataPoints": [point(json!({ "count": "2", "sum": 3, "bucketCounts": ["1", 1],
            "explicitBounds": [1.0], "exemplars": [{ "timeUnixNano": 1, "asInt": 2, "traceId": "" }] }))] } },
        { "name": "d", "exponentialHistogram": { "dataPoints": [point(json!({ "count": 1, "scale": -1,
            "positive": { "offset": 1, "bucketCounts": ["1"] } }))] } },
        { "name": "e", "summary": { "dataPoints": [point(json!({ "count": 1, "sum": 2.0,
            "quantileValues": [{ "quantile": 0.5, "value": 2 }] }))] } },
    ] }] }] })
}

#[test]
fn data_points_of_every_kind_are_read_and_counted() {
    let batch = read(Signal::Metrics, &points());
    assert_eq!((batch.records(), batch.rejected), (6, 1));
    let limits = Limits::default();
    let again = decode(
        Signal::Metrics,
        Encoding::Protobuf,
        &batch.to_protobuf(),
        &limits,
    )
    .unwrap();
    assert_eq!(again.to_protobuf(), batch.to_protobuf());
    let answer: Value = serde_json::from_slice(&batch.answer(Encoding::Json)).unwrap();
    assert_eq!(answer["partialSuccess"]["rejectedDataPoints"], "1");
}

fn stamp() -> Stamp {
    Stamp {
        conversation: ConversationId::new("S1").unwrap(),
        session: format!("ses_{:032x}", 9).parse::<SessionId>().unwrap(),
    }
}

fn attributes_of(batch: &Batch, index: usize) -> Vec<(String, String)> {
    let mut found = Vec::new();
    batch.each(|view| {
        if view.index == RecordIndex(index) {
            found.extend(view.attributes.iter().map(|attribute| {
                let value = attribute
                    .value
                    .as_ref()
                    .and_then(|value| value.value.as_ref());
                (attribute.key.clone(), format!("{value:?}"))
            }));
        }
    });
    found
}

#[test]
fn a_stamp_names_the_session_and_keeps_the_senders_ids() {
    let own = json!([
        text("other", "o"),
        text("session.id", "H1"),
        text("gen_ai.conversation.id", "H2")
    ]);
    let mut batch = read(
        Signal::Traces,
        &traces(&[with(span(0), "attributes", own), span(1)]),
    );
    let before = batch.clone();
    batch.stamp(|index| (index == RecordIndex(0)).then(stamp));
    let stamped = attributes_of(&batch, 0);
    let value = |key: &str| {
        let of_key: Vec<_> = stamped.iter().filter(|(own, _)| own == key).collect();
        assert_eq!(of_key.len(), 1, "{key}");
        of_key[0].1.clone()
    };
    for key in [
        "session.id",
        "gen_ai.conversation.id",
        "langsmith.metadata.thread_id",
        "lmnr.association.properties.session_id",
    ] {
        assert!(value(key).contains("\"S1\""), "{key}");
    }
    assert!(value("siglum.session.id").contains("ses_"));
    assert!(value("siglum.native_session.id").contains("\"H1\""));
    assert!(value("siglum.native_conversation.id").contains("\"H2\""));
    assert!(value("other").contains("\"o\""));
    assert_eq!(attributes_of(&batch, 1), attributes_of(&before, 1));
    let once = batch.clone();
    batch.stamp(|index| (index == RecordIndex(0)).then(stamp));
    assert_eq!(batch, once);
    let mut metrics = read(Signal::Metrics, &points());
    metrics.stamp(|_| Some(stamp()));
    assert!((0..6).all(|n| attributes_of(&metrics, n).len() == 6));
}

#[test]
fn a_selection_has_the_records_that_were_wanted_and_their_surroundings() {
    let spans: Vec<Value> = (0..5).map(span).collect();
    let batch = read(Signal::Traces, &traces(&spans));
    let odd = batch.select(|index| index.0 % 2 == 1);
    assert_eq!((odd.records(), batch.select(|_| false).records()), (2, 0));
    assert_eq!(batch.select(|_| true), batch);
    odd.each(|view| assert_eq!((view.resource.len(), view.scope), (1, "lib")));
    let metrics = read(Signal::Metrics, &points());
    assert_eq!(metrics.select(|index| index.0 > 3).records(), 2);
}

#[test]
fn no_secret_survives_wherever_it_stands() {
    let secret = concat!("ghp_", "abcdefghijklmnopqrstuvwxyzABCDEF0123");
    let leaky = |key: &str| text(key, &format!("token {secret} end"));
    let nested = json!({ "key": "m", "value": { "kvlistValue": { "values": [
        { "key": "a", "value": { "arrayValue": { "values": [{ "stringValue": secret }] } } },
    ] } } });
    let body = json!({ "resourceSpans": [{
        "resource": { "attributes": [leaky("r")] },
        "scopeSpans": [{ "scope": { "name": "s", "attributes": [leaky("s")] }, "spans": [{
            "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": secret,
            "attributes": [leaky("a"), nested],
            "events": [{ "name": secret, "attributes": [leaky("e")] }],
            "links": [{ "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174",
                "attributes": [leaky("l")] }],
            "status": { "message": secret },
        }] }],
    }] });
    let mut batch = read(Signal::Traces, &body);
    batch.redact(Redactor::shared());
    assert!(!format!("{batch:?}").contains("abcdefghijklmnop"));
    let log = json!({ "resourceLogs": [{ "scopeLogs": [{ "logRecords": [
        { "body": { "stringValue": secret }, "attributes": [leaky("a")], "eventName": "e" },
    ] }] }] });
    let mut batch = read(Signal::Logs, &log);
    batch.redact(Redactor::shared());
    assert!(!format!("{batch:?}").contains("abcdefghijklmnop"));
}

/// Every place for a text or for bytes in each signal, filled with a secret.
#[test]
fn no_text_of_a_batch_keeps_a_secret() {
    let secret = concat!("gh", "p_q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let bytes = "Z2hwX3E3UnpXMm1MeDBUYjlLcFZkM1ljNU5mSHM4SmdBZTFVbzRaaQ==";
    let attributes = json!([
        text(secret, secret),
        { "key": "b", "value": { "bytesValue": bytes } },
        text("db.password", "swordfish"),
        { "key": "http.request.header.x-api-key", "value": { "arrayValue": { "values": [{ "stringValue": "swordfish12" }] } } },
        { "key": "m", "value": { "kvlistValue": { "values": [text(secret, "v"), text("password", "swordfish")] } } },
    ]);
    let scope = json!({ "name": secret, "version": secret, "attributes": attributes });
    let resource = json!({ "attributes": attributes });
    let span = with(span(1), "attributes", attributes.clone());
    let link = json!({ "traceId": span["traceId"], "spanId": span["spanId"], "traceState": secret, "attributes": attributes });
    let span = with(span, "links", json!([link]));
    let span = with(
        span,
        "events",
        json!([{ "name": secret, "attributes": attributes }]),
    );
    let span = with(span, "status", json!({ "message": secret }));
    let span = with(
        with(span, "name", json!(secret)),
        "traceState",
        json!(secret),
    );
    let log = json!({ "body": { "bytesValue": bytes }, "eventName": secret, "severityText": secret, "attributes": attributes });
    let exemplar = json!({ "filteredAttributes": attributes, "asInt": "1", "timeUnixNano": "5" });
    let point = json!({ "attributes": attributes, "asInt": "1", "timeUnixNano": "5", "exemplars": [exemplar] });
    let metric = json!({ "name": secret, "description": secret, "unit": secret, "metadata": attributes,
        "gauge": { "dataPoints": [point] } });
    let group = |of: &str, records: &str, record: &Value| {
        json!({ format!("resource{of}"): [{ "resource": resource, "schemaUrl": secret,
            format!("scope{of}"): [{ "scope": scope, "schemaUrl": secret, records: [record] }] }] })
    };
    for (signal, body) in [
        (Signal::Traces, group("Spans", "spans", &span)),
        (Signal::Logs, group("Logs", "logRecords", &log)),
        (Signal::Metrics, group("Metrics", "metrics", &metric)),
    ] {
        let mut batch = read(signal, &body);
        assert_eq!(batch.records(), 1, "{:?}", batch.problem);
        batch.redact(Redactor::shared());
        let stored = String::from_utf8_lossy(&batch.to_protobuf()).into_owned();
        for part in ["q7RzW2mL", "swordfish"] {
            assert!(!stored.contains(part), "{signal:?}: {stored}");
        }
        let again = {
            let mut again = batch.clone();
            again.redact(Redactor::shared());
            again
        };
        assert_eq!(again, batch);
    }
}
