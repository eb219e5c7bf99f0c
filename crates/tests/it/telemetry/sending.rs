//! What is sent, and how.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use siglum_telemetry::wire::{Encoding, Limits, Signal, decode};

use crate::gateway::server::{Gateway, Store};
use crate::harness::until;

pub(super) const JSON: &str = "application/json";
pub(super) const PROTOBUF: &str = "application/x-protobuf";
/// A trace that nobody has by chance.
pub(crate) const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) form: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Its body, in JSON.
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Sends bytes with these headers.
pub(super) fn post(
    gateway: &Gateway,
    token: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(60)))
        .build();
    let agent: ureq::Agent = config.into();
    let mut request = ureq::http::Request::builder()
        .method("POST")
        .uri(format!("{}{path}", gateway.address))
        .header("authorization", format!("Bearer {token}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = agent.run(request.body(body).unwrap()).unwrap();
    let header = |name: &str| {
        let value = answer.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    };
    Answer {
        status: answer.status().as_u16(),
        form: header("content-type").unwrap_or_default(),
        body: answer.body_mut().read_to_vec().unwrap(),
    }
}

/// Sends spans in JSON; all of them are taken.
#[track_caller]
pub(crate) fn send(gateway: &Gateway, token: &str, body: &Value) {
    send_signal(gateway, token, "traces", body);
}

#[track_caller]
pub(super) fn send_signal(gateway: &Gateway, token: &str, signal: &str, body: &Value) {
    let path = format!("/v1/{signal}");
    let answer = post(
        gateway,
        token,
        &path,
        &[("content-type", JSON)],
        body.to_string().as_bytes(),
    );
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!((answer.status, text.as_str()), (200, "{}"));
}

pub(super) fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The same request in binary form.
pub(super) fn protobuf(body: &Value) -> Vec<u8> {
    let text = body.to_string();
    let read = decode(
        Signal::Traces,
        Encoding::Json,
        text.as_bytes(),
        &Limits::default(),
    );
    read.unwrap().to_protobuf()
}

fn listed(attributes: &Value) -> Vec<Value> {
    let one =
        |(key, value): (&String, &Value)| json!({ "key": key, "value": { "stringValue": value } });
    attributes.as_object().unwrap().iter().map(one).collect()
}

/// A request with spans of one service.
pub(crate) fn spans(resource: &Value, spans: &[Value]) -> Value {
    json!({ "resourceSpans": [{
        "resource": { "attributes": listed(resource) },
        "scopeSpans": [{ "scope": { "name": "tests" }, "spans": spans }],
    }] })
}

pub(crate) fn span(trace: &str, n: u64, attributes: &Value) -> Value {
    json!({
        "traceId": trace, "spanId": format!("{n:016x}"), "name": format!("span {n}"), "kind": 1,
        "startTimeUnixNano": "1795000000000000000", "endTimeUnixNano": "1795000001000000000",
        "attributes": listed(attributes),
    })
}

/// A model's answer in a session.
pub(super) fn answer(trace: &str, n: u64, session: &str) -> Value {
    let attributes = json!({
        "session.id": session, "gen_ai.operation.name": "chat", "gen_ai.provider.name": "p",
        "gen_ai.response.id": format!("res-{n}"), "gen_ai.usage.input_tokens": "10",
        "gen_ai.usage.output_tokens": "3",
    });
    span(trace, n, &attributes)
}

/// A request with log records of one service.
pub(super) fn logs(resource: &Value, scope: &str, records: &[Value]) -> Value {
    let records: Vec<_> = records
        .iter()
        .map(|attributes| {
            json!({
                "timeUnixNano": "1795000000000000000",
                "body": { "stringValue": attributes["event.name"] },
                "attributes": listed(attributes),
            })
        })
        .collect();
    json!({ "resourceLogs": [{
        "resource": { "attributes": listed(resource) },
        "scopeLogs": [{ "scope": { "name": scope }, "logRecords": records }],
    }] })
}

/// Waits until all that was taken is joined, or kept without a session.
#[track_caller]
pub(super) fn joined(store: &Store) {
    until("all is joined", || {
        store.sql("SELECT count(*) FROM telemetry_inbox").trim() == "0"
    });
}

/// What no session was found for, newest first: reasons and how many records.
pub(super) fn unassigned(gateway: &Gateway, token: &str) -> Vec<(String, u64)> {
    let page = gateway
        .client(token)
        .get("/v1/telemetry/unassigned")
        .is(200);
    let one = |row: &Value| {
        let reason = row["reason"].as_str().unwrap().to_owned();
        (reason, row["records"].as_u64().unwrap())
    };
    page["items"].as_array().unwrap().iter().map(one).collect()
}

/// The sessions of a tenant: agent and name of each.
pub(super) fn sessions(gateway: &Gateway, token: &str) -> Vec<(String, String)> {
    let page = gateway.client(token).get("/v1/sessions?limit=500").is(200);
    let one = |s: &Value| {
        let text = |key: &str| s[key].as_str().unwrap().to_owned();
        (text("agent"), text("conversation_id"))
    };
    let mut all: Vec<_> = page["items"].as_array().unwrap().iter().map(one).collect();
    all.sort();
    all
}

/// How many events of this kind are in all logs.
pub(super) fn events(store: &Store, kind: &str) -> u64 {
    let sql = format!(
        "SELECT count(*) FROM (SELECT DISTINCT session, event FROM observations WHERE kind = '{kind}') AS e"
    );
    store.sql(&sql).trim().parse().unwrap()
}
