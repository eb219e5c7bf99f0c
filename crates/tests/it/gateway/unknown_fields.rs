//! No field and no parameter vanishes: every route of the document refuses those that nobody knows, also the routes
//! that take no body at all.

use serde_json::{Value, json};
use siglum_domain::Timestamp;
use siglum_domain::access::Scope;
use siglum_engine::share::replica::Batch;

use super::client::{Reply, id, secret};
use super::server::{Gateway, base, each_store, stored, tenant, token_for};

/// What exporters of other programs call; their protocol lets them send more than the receiver knows.
const OTLP: [&str; 3] = ["/v1/traces", "/v1/logs", "/v1/metrics"];
/// What probes call, with whatever they add against caches.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];
/// A form with a version that other programs of ours make: an older gateway takes what a newer one adds, and tells what of
/// it was left out.
const VERSIONED: &str = "/v1/replicas";

struct Operation {
    method: String,
    path: String,
}

fn operations(gateway: &Gateway) -> Vec<Operation> {
    let document = gateway.stranger().get("/v1/openapi.json").is(200);
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            all.push(Operation {
                method: method.to_uppercase(),
                path: path.clone(),
            });
        }
    }
    all
}

/// The path, where each name in braces is one that could be there.
fn filled(path: &str, session: &str) -> String {
    let filled = path
        .replace("{session}", session)
        .replace("{checkpoint}", "chk_019ad0000000700080000000000000ff")
        .replace("{interaction}", "int_019ad0000000700080000000000000ff")
        .replace("{commit}", &"a".repeat(40))
        .replace("{pipeline}", "p-1")
        .replace("{heartbeat}", "h-1")
        .replace("{turn_key}", "t1");
    assert!(!filled.contains('{'), "say here what stands in {path}");
    filled
}

/// Somebody who may call the route is refused because of this field, and nobody gets through.
#[track_caller]
fn refused(what: &str, replies: &[Reply], field: &str) {
    let named = |reply: &&Reply| {
        let problem: Value = serde_json::from_str(&reply.text).unwrap_or_default();
        reply.status == 400 && problem["code"] == "invalid-field" && problem["field"] == field
    };
    let answers: Vec<_> = replies.iter().map(|r| (r.status, &r.text)).collect();
    assert!(replies.iter().any(|r| named(&r)), "{what}: {answers:?}");
    let may_not = |reply: &Reply| [401, 403].contains(&reply.status);
    assert!(
        replies.iter().all(|r| named(&r) || may_not(r)),
        "{what}: {answers:?}"
    );
}

#[test]
fn every_route_refuses_a_field_and_a_parameter_that_nobody_knows() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("one"));
        let (attester, _) = token_for(store, tenant(store), Scope::Attester, None);
        let callers = [
            gateway.launcher(),
            gateway.client(&attester),
            gateway.client(&secret(&created)),
        ];
        let before = stored(store, &gateway);
        let operations = operations(&gateway);
        assert!(operations.len() > 60, "{}", operations.len());
        for operation in &operations {
            let path = filled(&operation.path, &id(&created));
            let ask = |path: &str, body: &Value| -> Vec<Reply> {
                let of = callers.iter();
                of.map(|c| c.ask(&operation.method, path, Some(body)).unwrap())
                    .collect()
            };
            let what = format!("{} {}", operation.method, operation.path);
            let otlp = OTLP.contains(&operation.path.as_str());
            if !otlp && operation.path != VERSIONED {
                let mut body = json!({ "zzz_unknown": 1 });
                // Which fields there are depends on this one.
                if path.ends_with("/end") {
                    body["outcome"] = json!("completed");
                }
                let replies = ask(&path, &body);
                refused(&what, &replies, "zzz_unknown");
            }
            if !otlp && !PROBES.contains(&operation.path.as_str()) {
                let query = format!("{path}?zzz=1");
                refused(&query, &ask(&query, &json!({})), "zzz");
            }
        }
        assert_eq!(stored(store, &gateway), before);
    });
}

#[test]
fn a_batch_of_replicas_is_taken_and_its_unknown_fields_are_named() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let home = "led_019ad000000070008000000000000001".parse().unwrap();
        let batch = Batch::new(home, Timestamp::from_seconds(1_790_000_000));
        let mut batch = serde_json::to_value(batch).unwrap();
        batch["zzz_unknown"] = json!(1);
        let answer = gateway.launcher().post("/v1/replicas", &batch).is(200);
        assert_eq!(answer["ignored"], json!(["zzz_unknown"]));
    });
}

#[test]
fn a_route_without_a_body_takes_none_or_an_empty_object() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let created = launcher.create(&base("one"));
        let path = format!("/v1/sessions/{}", id(&created));
        let own = gateway.client(&secret(&created));
        // What egg sent at the wrong level vanished here.
        let links = json!({ "issue_number": 42 });
        launcher
            .post(&format!("{path}/token"), &links)
            .refuses("issue_number");
        own.post(&format!("{path}/keep-alive"), &links)
            .refuses("issue_number");
        own.post(&format!("{path}/keep-alive"), &json!({})).is(200);
        own.poke(&format!("{path}/keep-alive")).is(200);
        for wrong in [json!([1]), json!(null), json!("x"), json!([])] {
            let reply = own.post(&format!("{path}/keep-alive"), &wrong);
            assert_eq!(reply.status, 400, "{wrong}: {}", reply.text);
        }
        let long = json!({ "x": "y".repeat(1 << 20) });
        let reply = own.post(&format!("{path}/keep-alive"), &long);
        assert_eq!(reply.status, 413, "{}", reply.text);
        launcher.post(&format!("{path}/token"), &json!({})).is(201);
    });
}
