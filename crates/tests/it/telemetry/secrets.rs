//! What is kept of telemetry has no secret in any of its texts, whether its session is known or not.

use std::io::Read as _;

use serde_json::{Value, json};

use super::sending::*;
use crate::gateway::server::{Gateway, Store, on_a_file};

const BYTES: &str = "Z2hwX3E3UnpXMm1MeDBUYjlLcFZkM1ljNU5mSHM4SmdBZTFVbzRaaQ==";

fn token() -> String {
    format!("{}{}", "ghp_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi")
}

/// A request with a secret wherever there is a place for text.
fn request(of: &str, records: &str, mut record: Value) -> Value {
    let token = token();
    let attributes = json!([
        { "key": token, "value": { "stringValue": token } },
        { "key": "b", "value": { "bytesValue": BYTES } },
        { "key": "db.password", "value": { "stringValue": "swordfish" } },
        { "key": "m", "value": { "kvlistValue": { "values": [{ "key": "password", "value": { "stringValue": "swordfish" } }] } } },
    ]);
    record["attributes"] = attributes.clone();
    let scope = json!({ "name": token, "version": token, "attributes": attributes });
    let (resource, scopes) = (format!("resource{of}"), format!("scope{of}"));
    json!({ resource: [{ "resource": { "attributes": attributes }, "schemaUrl": token,
        scopes: [{ "scope": scope, "schemaUrl": token, records: [record] }] }] })
}

/// All that is kept, unpacked.
fn kept(store: &Store) -> String {
    let mut kept = String::new();
    for table in ["telemetry_inbox", "unassigned"] {
        kept += &store.sql(&format!("SELECT * FROM {table}"));
        for line in store
            .sql(&format!("SELECT hex(payload) FROM {table}"))
            .lines()
        {
            let hex = line.trim().as_bytes().chunks(2);
            let packed: Vec<u8> = hex
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect();
            let mut plain = Vec::new();
            let mut decoder = zstd::stream::Decoder::new(packed.as_slice()).unwrap();
            decoder.read_to_end(&mut plain).unwrap();
            kept += &String::from_utf8_lossy(&plain);
        }
    }
    kept
}

#[test]
fn neither_the_inbox_nor_what_is_unassigned_keeps_a_secret() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let (token, text) = (gateway.token.clone(), token());
        let span = json!({ "traceId": TRACE, "spanId": "0000000000000001", "name": text, "traceState": text,
            "startTimeUnixNano": "1795351748506000000", "endTimeUnixNano": "1795351748507000000",
            "status": { "message": text }, "events": [{ "name": text }] });
        let log = json!({ "timeUnixNano": "1795351748506000000", "eventName": text, "severityText": text,
            "body": { "bytesValue": BYTES } });
        let metric = json!({ "name": text, "description": text, "unit": text,
            "gauge": { "dataPoints": [{ "asInt": "1", "timeUnixNano": "1795351748506000000" }] } });
        send_signal(&gateway, &token, "traces", &request("Spans", "spans", span));
        send_signal(
            &gateway,
            &token,
            "logs",
            &request("Logs", "logRecords", log),
        );
        send_signal(
            &gateway,
            &token,
            "metrics",
            &request("Metrics", "metrics", metric),
        );
        let clean = |kept: &str| {
            for part in ["q7RzW2mL", "swordfish"] {
                assert!(!kept.contains(part), "{part} is kept: {kept}");
            }
        };
        clean(&kept(store));
        joined(store);
        let kept = kept(store);
        assert!(kept.contains("[redacted:github-token]"), "{kept}");
        clean(&kept);
        let page = gateway.launcher().get("/v1/telemetry/unassigned").is(200);
        clean(&page.to_string());
    });
}
