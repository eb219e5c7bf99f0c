//! Secrets of every kind by each way that text comes in at a gateway: none is in a row, a file or an answer.

use serde_json::{Value, json};

use super::client::{Client, id, secret as token_of, turn_body};
use super::server::{Gateway, base, on_a_file};
use crate::harness::{Repo, until};
use crate::planted::Planted;

/// Names and keys of new sessions. Whatever is refused is not stored.
fn by_sessions(launcher: &Client, planted: &mut Planted) {
    for field in [
        "conversation_id",
        "cwd",
        "native_id",
        "repositories",
        "links",
    ] {
        let words = planted.words(&format!("API, {field}"));
        for (number, word) in words.iter().enumerate() {
            let mut body = base(&format!("with-{field}-{number}").replace('_', "-"));
            body[field] = match field {
                "cwd" => json!(format!("/repos/{word}")),
                "repositories" => json!([format!("github.com/o/{word}")]),
                "links" => json!({ "phase": word }),
                _ => json!(word),
            };
            planted.hear_text(&launcher.post("/v1/sessions", &body).text);
        }
    }
}

/// Turns of a driven session: texts, then the names in them.
fn by_turns(gateway: &Gateway, planted: &mut Planted) {
    let created = gateway.launcher().create(&base("turns"));
    let (session, own) = (id(&created), gateway.client(&token_of(&created)));
    let (epoch, mut head) = own.lease(&session, "n");
    let mut commit = |planted: &mut Planted, key: &str, change: &dyn Fn(&mut Vec<Value>)| {
        let mut turn = turn_body(epoch, head, key);
        let events = turn["events"].as_array_mut().unwrap();
        let call = json!({ "type": "tool_call", "key": format!("{key}.c"), "name": "Bash", "input": "ls" });
        events.insert(2, call);
        change(events);
        let answer = own.turn(&session, key, &turn).unwrap();
        if answer.status == 200 {
            head = answer.json()["receipt"]["last"].as_u64().unwrap();
        }
        planted.hear_text(&answer.text);
    };
    let texts = [(0, "text"), (1, "text"), (2, "input")];
    for (event, field) in texts {
        let text = planted.text(&format!("API, {field} of event {event}"));
        let key = format!("text-{event}");
        commit(planted, &key, &|events| events[event][field] = json!(text));
    }
    for (event, field) in [(1, "model"), (2, "name")] {
        let words = planted.words(&format!("API, {field} of event {event}"));
        for (number, word) in words.iter().enumerate() {
            let key = format!("{field}-{number}");
            commit(planted, &key, &|events| events[event][field] = json!(word));
        }
    }
    let path = format!("/v1/sessions/{session}/checkpoints");
    for word in planted.words("API, checkpoint") {
        let repository = format!("github.com/o/{word}");
        let claim = json!({ "commit": { "repository": repository, "commit": "a".repeat(40) } });
        planted.hear_text(&own.post(&path, &claim).text);
    }
}

/// What hosts keep in contexts, and what happens in pipelines.
fn by_contexts_and_pipelines(launcher: &Client, planted: &mut Planted) {
    let run = json!({ "route_key": "route", "agent": "openclaw", "run": "run-1" });
    let keys = launcher.post("/v1/contexts/resolve", &run).is(200);
    for kind in ["user", "assistant"] {
        let text = planted.text(&format!("context, {kind}"));
        let turn = json!({ "route_key": keys["route_key"], "context_key": keys["context_key"], "turn_key": kind,
            "messages": [{ "type": kind, "text": text }] });
        planted.hear_text(&launcher.post("/v1/contexts/commit", &turn).text);
    }
    for field in ["route_key", "run"] {
        for word in planted.words(&format!("context, {field}")) {
            let mut run = run.clone();
            run[field] = json!(word);
            planted.hear_text(&launcher.post("/v1/contexts/resolve", &run).text);
        }
    }
    let send = |planted: &mut Planted, field: &str, value: &str| {
        let mut event = json!({ "kind": "phase_started", "phase": "plan", "key": field });
        event[field] = json!(value);
        let answer = launcher.post("/v1/pipelines/p/events", &json!({ "events": [event] }));
        planted.hear_text(&answer.text);
    };
    for field in ["phase", "key", "text"] {
        for word in planted.words(&format!("pipeline, {field}")) {
            send(planted, field, &word);
        }
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
    for (tool, field) in [("search", "words"), ("why", "commit"), ("show", "session")] {
        for word in planted.words(&format!("MCP, {tool}")) {
            calls.push((tool, json!({ field: word })));
        }
    }
    for word in planted.words("MCP, link") {
        let links = json!([format!("label=key={word}")]);
        calls.push(("link", json!({ "session": "one", "links": links })));
    }
    for answer in crate::mcp::ask(repo, &calls, |command| repo.sh(command).stdout) {
        planted.hear_text(&answer.to_string());
    }
}

#[test]
fn every_kind_of_secret_that_a_gateway_is_sent_is_kept_nowhere() {
    on_a_file(|store| {
        let repo = store.world.repo();
        let mut planted = Planted::new();
        by_mcp(&repo, &mut planted);
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        by_sessions(&launcher, &mut planted);
        by_turns(&gateway, &mut planted);
        by_contexts_and_pipelines(&launcher, &mut planted);
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
        planted.look_at_all(&repo, &log.unwrap_or_default());
        println!("{}", planted.report());
        planted.check(&["OTLP, traces", "OTLP, logs", "OTLP, metrics"]);
    });
}
