//! Secrets of every kind by each way that text comes in at a gateway: none is in a row, a file or an answer.

use serde_json::json;

use super::client::{Client, id, turn_body};
use super::server::{Gateway, Store, base, each_store, tenant, token};
use crate::harness::{Repo, until};
use crate::planted::Planted;

/// How many requests one token sends: fewer than it may in a second.
const REQUESTS: usize = 40;

/// A launcher with a token of its own, or whoever has one of a session.
pub(super) fn caller(store: &Store, gateway: &Gateway, session: Option<&str>) -> Client {
    let (token, _) = token(store, tenant(store), session, None);
    gateway.client(&token)
}

/// Sends something for each secret of a way; whatever is refused is not stored.
pub(super) fn each(
    (store, gateway, session): (&Store, &Gateway, Option<&str>),
    planted: &mut Planted,
    way: &str,
    mut send: impl FnMut(&Client, usize, &str) -> String,
) {
    for (number, words) in planted.words(way).chunks(REQUESTS).enumerate() {
        let client = caller(store, gateway, session);
        for (place, word) in words.iter().enumerate() {
            let answer = send(&client, number * REQUESTS + place, word);
            planted.hear_text(&answer);
        }
    }
}

/// Names and keys of new sessions.
fn by_sessions(store: &Store, gateway: &Gateway, planted: &mut Planted) {
    for field in [
        "conversation_id",
        "cwd",
        "native_id",
        "repositories",
        "links",
    ] {
        let way = format!("API, {field}");
        each(
            (store, gateway, None),
            planted,
            &way,
            |client, number, word| {
                let mut body = base(&format!("with-{field}-{number}").replace('_', "-"));
                body[field] = match field {
                    "cwd" => json!(format!("/repos/{word}")),
                    "repositories" => json!([format!("github.com/o/{word}")]),
                    "links" => json!({ "phase": word }),
                    _ => json!(word),
                };
                client.post("/v1/sessions", &body).text
            },
        );
    }
}

/// Turns of a driven session: texts, then the names in them.
fn by_turns(store: &Store, gateway: &Gateway, planted: &mut Planted) {
    let session = id(&gateway.launcher().create(&base("turns")));
    let (epoch, mut head) = caller(store, gateway, Some(&session)).lease(&session, "n");
    let mut commit = |own: &Client, key: &str, (event, field): (usize, &str), value: &str| {
        let mut turn = turn_body(epoch, head, key);
        let events = turn["events"].as_array_mut().unwrap();
        let call = json!({ "type": "tool_call", "key": format!("{key}.c"), "name": "Bash", "input": "ls" });
        events.insert(2, call);
        events[event][field] = json!(value);
        let answer = own.turn(&session, key, &turn).unwrap();
        if answer.status == 200 {
            head = answer.json()["receipt"]["last"].as_u64().unwrap();
        }
        answer.text
    };
    let own = caller(store, gateway, Some(&session));
    for (event, field) in [(0, "text"), (1, "text"), (2, "input")] {
        let text = planted.text(&format!("API, {field} of event {event}"));
        let key = format!("text-{event}");
        planted.hear_text(&commit(&own, &key, (event, field), &text));
    }
    let of = (store, gateway, Some(session.as_str()));
    for at in [(1, "model"), (2, "name"), (1, "key")] {
        let way = format!("API, {} of event {}", at.1, at.0);
        each(of, planted, &way, |own, number, word| {
            commit(own, &format!("{}-{number}", at.1), at, word)
        });
    }
    let path = format!("/v1/sessions/{session}/checkpoints");
    each(of, planted, "API, checkpoint", |own, _, word| {
        let repository = format!("github.com/o/{word}");
        let claim = json!({ "commit": { "repository": repository, "commit": "a".repeat(40) } });
        own.post(&path, &claim).text
    });
}

/// What hosts keep in contexts, and what happens in pipelines.
fn by_contexts_and_pipelines(store: &Store, gateway: &Gateway, planted: &mut Planted) {
    let launcher = caller(store, gateway, None);
    let run = json!({ "route_key": "route", "agent": "openclaw", "run": "run-1" });
    let keys = launcher.post("/v1/contexts/resolve", &run).is(200);
    for kind in ["user", "assistant"] {
        let text = planted.text(&format!("context, {kind}"));
        let turn = json!({ "route_key": keys["route_key"], "context_key": keys["context_key"], "turn_key": kind,
            "messages": [{ "type": kind, "text": text }] });
        planted.hear_text(&launcher.post("/v1/contexts/commit", &turn).text);
    }
    for field in ["route_key", "run", "client"] {
        let way = format!("context, {field}");
        each((store, gateway, None), planted, &way, |client, _, word| {
            let mut run = run.clone();
            run[field] = json!(word);
            client.post("/v1/contexts/resolve", &run).text
        });
    }
    for field in ["phase", "key"] {
        let way = format!("pipeline, {field}");
        each((store, gateway, None), planted, &way, |client, _, word| {
            let mut event = json!({ "kind": "phase_started", "phase": "plan", "key": field });
            event[field] = json!(word);
            let body = json!({ "events": [event] });
            client.post("/v1/pipelines/p/events", &body).text
        });
    }
}

/// Traces, logs and metrics, with something in each text and each name of them.
fn by_telemetry(launcher: &Client, planted: &mut Planted) {
    const KEPT: &[&str] = &[
        "traceId",
        "spanId",
        "timeUnixNano",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "asInt",
    ];
    let text = |text: &str| json!({ "stringValue": text });
    let attribute = json!([{ "key": "user.prompt", "value": text("Do it now.") }]);
    let (begin, end) = ("1795351748506000000", "1795351748507000000");
    let items = [
        (
            "traces",
            "Spans",
            "spans",
            json!({ "traceId": "5b8efff798038103d269b633813fc60c",
            "spanId": "eee19b7ec3c1b174", "name": "a span.", "startTimeUnixNano": begin, "endTimeUnixNano": end,
            "attributes": attribute, "status": { "message": "It failed." },
            "events": [{ "name": "an event", "timeUnixNano": begin, "attributes": attribute }] }),
        ),
        (
            "logs",
            "Logs",
            "logRecords",
            json!({ "timeUnixNano": begin, "severityText": "INFO", "eventName": "said",
            "body": text("It is so."), "attributes": attribute }),
        ),
        (
            "metrics",
            "Metrics",
            "metrics",
            json!({ "name": "tokens", "description": "All of them.", "unit": "one",
            "gauge": { "dataPoints": [{ "asInt": "1", "timeUnixNano": begin, "attributes": attribute }] } }),
        ),
    ];
    for (signal, kind, list, item) in items {
        let way = format!("OTLP, {signal}");
        let resource = json!({ "attributes": [
            { "key": "service.name", "value": text("service") },
            { "key": "session.id", "value": text("session") },
        ] });
        let mut of_scope = json!({ "scope": { "name": "scope", "version": "1" } });
        of_scope[list] = json!([item]);
        let mut of_resource = json!({ "resource": resource });
        of_resource[format!("scope{kind}")] = json!([of_scope]);
        let mut request = json!({});
        request[format!("resource{kind}")] = json!([of_resource]);
        while !planted.is_round(&way) {
            let request = planted.fill(&way, KEPT, &request);
            launcher.post(&format!("/v1/{signal}"), &request).is(200);
        }
    }
}

/// What tools of `siglum mcp` are asked.
fn by_mcp(repo: &Repo<'_>, planted: &mut Planted) {
    let mut calls = Vec::new();
    for (tool, field) in [
        ("search", "words"),
        ("why", "commit"),
        ("show", "session"),
        ("cost", "by"),
    ] {
        for part in planted.parts(&format!("MCP, {tool}"), 20, " ") {
            calls.push((tool, json!({ field: part })));
        }
    }
    for words in planted.words("MCP, link").chunks(20) {
        let links = words.iter().map(|word| format!("label=key={word}"));
        let links: Vec<String> = links.collect();
        calls.push(("link", json!({ "session": "one", "links": links })));
    }
    for answer in crate::mcp::ask(repo, &calls, |command| repo.sh(command).stdout) {
        planted.hear_text(&answer.to_string());
    }
}

#[test]
fn every_kind_of_secret_that_a_gateway_is_sent_is_kept_nowhere() {
    each_store(|store| {
        let repo = store.world.repo();
        let mut planted = Planted::new();
        by_mcp(&repo, &mut planted);
        let gateway = Gateway::start(store);
        by_sessions(store, &gateway, &mut planted);
        by_turns(store, &gateway, &mut planted);
        by_contexts_and_pipelines(store, &gateway, &mut planted);
        let launcher = caller(store, &gateway, None);
        by_telemetry(&launcher, &mut planted);
        until("telemetry is joined", || {
            store.sql("SELECT count(*) FROM telemetry_inbox") == "0"
        });
        for path in [
            "/v1/sessions?limit=500",
            "/v1/audit?limit=1000",
            "/v1/checkpoints",
            "/v1/pipelines/p",
            "/v1/telemetry/unassigned",
        ] {
            planted.hear_text(&launcher.get(path).text);
        }
        let log = std::fs::read_to_string(store.world.root.join("gateway.err"));
        planted.look_at_rows(store.rows(), &repo, &log.unwrap_or_default());
        println!("{}", planted.report());
        planted.check(&["OTLP, traces", "OTLP, logs", "OTLP, metrics"]);
    });
}
