//! In which forms telemetry comes, and what is refused.

use std::time::Duration;

use serde_json::{Value, json};
use siglum_egress::otlp::{
    Compression, Header, OtlpClient, OtlpError, OtlpSettings, Protocol, Signal,
};
use siglum_egress::{Address, Plain, Timeouts};

use super::sending::*;
use crate::gateway::raw;
use crate::gateway::server::{Gateway, each_store, on_a_file};

/// Five spans without a session, and one of a session.
fn body() -> Value {
    let mut all: Vec<_> = (1..6)
        .map(|n| span(TRACE, n, &json!({ "n": "x" })))
        .collect();
    let other = "1af7651916cd43dd8448eb211c80319c";
    all.push(answer(other, 7, "s-1"));
    spans(&json!({ "service.name": "app" }), &all)
}

/// The same with ids in base64, as some send them.
fn in_base64(body: &Value) -> Value {
    let mut text = body.to_string();
    for trace in [TRACE, "1af7651916cd43dd8448eb211c80319c"] {
        text = text.replace(trace, &base64(trace));
    }
    for n in [1, 2, 3, 4, 5, 7] {
        let hex = format!("{n:016x}");
        text = text.replace(&hex, &base64(&hex));
    }
    serde_json::from_str(&text).unwrap()
}

fn base64(hex: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = (0..hex.len() / 2)
        .map(|n| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).unwrap())
        .collect();
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let mut all = [0; 4];
        all[1..=three.len()].copy_from_slice(three);
        let number = u32::from_be_bytes(all);
        for n in 0..4 {
            match n <= three.len() {
                true => text.push(char::from(DIGITS[(number >> (18 - 6 * n)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}

fn grpc(gateway: &Gateway, token: &str, compression: Compression) -> OtlpClient {
    OtlpClient::new(OtlpSettings {
        address: Address::parse(&gateway.address, Plain::Loopback).unwrap(),
        protocol: Protocol::Grpc,
        compression,
        headers: vec![Header::new("authorization", &format!("Bearer {token}")).unwrap()],
        timeouts: Timeouts {
            connect: Duration::from_secs(10),
            whole: Duration::from_secs(30),
        },
    })
}

#[test]
fn the_same_batch_in_every_form_is_the_same() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let token = &gateway.token;
        let (json, binary) = (body().to_string().into_bytes(), protobuf(&body()));
        let base64 = in_base64(&body()).to_string().into_bytes();
        let mut sent = 0;
        for (form, bytes) in [(JSON, &json), (JSON, &base64), (PROTOBUF, &binary)] {
            for packed in [false, true] {
                let mut headers = vec![("content-type", form)];
                let bytes = match packed {
                    true => zipped(bytes),
                    false => bytes.clone(),
                };
                if packed {
                    headers.push(("content-encoding", "gzip"));
                }
                let answer = post(&gateway, token, "/v1/traces", &headers, &bytes);
                assert_eq!(
                    (answer.status, answer.form.as_str()),
                    (200, form),
                    "{answer:?}"
                );
                let empty: &[u8] = if form == JSON { b"{}" } else { b"" };
                assert_eq!(answer.body, empty);
                sent += 1;
            }
        }
        for compression in [Compression::None, Compression::Gzip] {
            let answer = grpc(&gateway, token, compression).send(Signal::Traces, &binary);
            assert_eq!(answer.unwrap().body, b"");
            sent += 1;
        }
        joined(store);
        assert_eq!(sent, 8);
        assert_eq!(
            unassigned(&gateway, token),
            vec![("no_session".to_owned(), 5); 8]
        );
        let rows = store.sql("SELECT count(DISTINCT payload) FROM unassigned");
        assert_eq!(
            rows.trim(),
            "1",
            "what is stored is the same for every form"
        );
        assert_eq!(
            sessions(&gateway, token),
            [("app".to_owned(), "s-1".to_owned())]
        );
        assert_eq!(events(store, "message"), 1);
        let counted = gateway.stranger().get("/metrics").text;
        let line = "siglum_telemetry_records_total{signal=\"traces\"} 48";
        assert!(counted.contains(line), "{counted}");
        assert!(
            counted.contains("siglum_telemetry_unassigned 40"),
            "{counted}"
        );
    });
}

#[test]
fn one_bad_span_of_500_is_left_out_and_the_others_are_stored() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut all: Vec<_> = (1..501).map(|n| span(TRACE, n, &json!({}))).collect();
        all[250]["spanId"] = json!("0000000000000000");
        let body = spans(&json!({ "service.name": "app" }), &all).to_string();
        let answer = post(
            &gateway,
            &gateway.token,
            "/v1/traces",
            &[("content-type", JSON)],
            body.as_bytes(),
        );
        assert_eq!(answer.status, 200);
        let parsed = answer.json();
        assert_eq!(parsed["partialSuccess"]["rejectedSpans"], "1");
        let why = parsed["partialSuccess"]["errorMessage"].as_str().unwrap();
        assert!(why.contains("span"), "{why}");
        joined(store);
        let kept: u64 = unassigned(&gateway, &gateway.token)
            .iter()
            .map(|(_, n)| n)
            .sum();
        assert_eq!(kept, 499);
        let counted = gateway.stranger().get("/metrics").text;
        assert!(counted.contains("siglum_telemetry_rejected_total{signal=\"traces\"} 1"));
    });
}

#[test]
fn what_has_another_form_is_refused() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let good = body().to_string();
        for headers in [
            &[("content-type", "text/plain")][..],
            &[("content-type", "application/octet-stream")],
            &[],
            &[("content-type", JSON), ("content-encoding", "br")],
            &[("content-type", JSON), ("content-encoding", "gzip, gzip")],
        ] {
            let answer = post(
                &gateway,
                &gateway.token,
                "/v1/traces",
                headers,
                good.as_bytes(),
            );
            assert_eq!(answer.status, 415, "{headers:?}");
        }
        for (headers, bytes) in [
            (&[("content-type", JSON)][..], &b"{"[..]),
            (&[("content-type", JSON)], b"[]"),
            (
                &[("content-type", JSON), ("content-encoding", "gzip")],
                b"{}",
            ),
        ] {
            let answer = post(&gateway, &gateway.token, "/v1/traces", headers, bytes);
            assert_eq!(
                (answer.status, answer.form.as_str()),
                (400, JSON),
                "{headers:?}"
            );
            assert_eq!(answer.json()["code"], 3);
        }
        let headers = [("content-type", PROTOBUF)];
        let answer = post(
            &gateway,
            &gateway.token,
            "/v1/traces",
            &headers,
            b"\xff\xff\xff",
        );
        assert_eq!((answer.status, answer.form.as_str()), (400, PROTOBUF));
        assert!(answer.body.starts_with(&[8, 3]), "{answer:?}");
        let refused =
            grpc(&gateway, &gateway.token, Compression::None).send(Signal::Traces, b"\xff\xff\xff");
        assert!(
            matches!(refused, Err(OtlpError::Refused { .. })),
            "{refused:?}"
        );
        let wrong = format!("siglum_default_{}", "0".repeat(64));
        let refused =
            grpc(&gateway, &wrong, Compression::None).send(Signal::Traces, &protobuf(&body()));
        assert!(refused.is_err(), "{refused:?}");
        assert!(unassigned(&gateway, &gateway.token).is_empty());
    });
}

#[test]
fn what_is_too_large_is_refused_and_so_is_a_bomb() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let before = gateway.memory();
        let packed = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
        let bomb = zipped(&vec![0; 400 << 20]);
        let answer = post(&gateway, &gateway.token, "/v1/traces", &packed, &bomb);
        assert_eq!(answer.status, 413, "{answer:?}");
        // It is answered, and closed, before all of it is sent.
        let large = format!(
            "POST /v1/logs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: {JSON}\r\ncontent-length: {}\r\n\r\n",
            gateway.token,
            (16 << 20) + 1
        );
        raw::ask(&gateway, large.as_bytes()).problem(413, "body-too-large");
        let grown = gateway.memory().saturating_sub(before);
        assert!(grown < 200 << 10, "{grown} kB for a bomb of 400 MB");
        send(&gateway, &gateway.token, &body());
    });
}
