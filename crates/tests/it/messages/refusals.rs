//! What is refused, before anything is started.

use serde_json::{Value, json};

use super::played::{lines, send, serve, to};
use crate::gateway::client::Client;
use crate::gateway::server::{Gateway, each_store, on_a_file, stored};
use crate::harness::until;

fn with(field: &str, value: Value) -> Value {
    let mut body = to(&json!("S1"), "hello");
    body[field] = value;
    body
}

#[test]
fn what_breaks_a_rule_is_refused_with_its_field() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let before = stored(store, &gateway);
        for (field, value, expected) in [
            ("agent", Value::Null, "agent"),
            ("agent", json!("codex"), "agent"),
            ("agent", json!("No Agent"), "agent"),
            ("messages", json!([]), "messages"),
            ("messages", json!([{ "role": "user" }]), "messages.0"),
            (
                "messages",
                json!([{ "role": "tool", "content": "x" }]),
                "messages[0].role",
            ),
            (
                "messages",
                json!([{ "role": "assistant", "content": "x" }]),
                "messages",
            ),
            (
                "links",
                json!({ "issue_number": true }),
                "links.issue_number",
            ),
            ("limits", json!({ "wall_ms": 0 }), "limits.wall_ms"),
            ("limits", json!({ "tokens": 1.5 }), "limits.tokens"),
            ("isolated", json!(true), "isolated"),
            ("route_key", json!("a b"), "route_key"),
            ("if_busy", json!("wait"), "if_busy"),
            ("permissions", json!("all"), "permissions"),
            ("parameters", json!({ "model": "a b" }), "parameters.model"),
            ("inputs", json!([1]), "inputs"),
            ("turn_key", json!("a b"), "turn_key"),
            ("cwd", json!("/"), "cwd"),
            ("cwd", json!("../.."), "cwd"),
        ] {
            let refused = launcher.post("/v1/messages", &with(field, value.clone()));
            assert_eq!(refused.status, 400, "{field} {value}: {}", refused.text);
            assert_eq!(refused.json()["field"], expected, "{field} {value}");
        }
        launcher
            .post("/v1/messages?format=xml", &lines("hello"))
            .refuses("format");
        launcher
            .post("/v1/messages?other=1", &lines("hello"))
            .refuses("other");
        launcher
            .with("idempotency-key", "a b")
            .post("/v1/messages", &lines("hello"))
            .refuses("idempotency-key");
        let unknown = format!("/v1/sessions/ses_{:032x}/messages", 1);
        launcher
            .post(&unknown, &lines("hello"))
            .problem(404, "not-found");
        assert_eq!(stored(store, &gateway), before);
    });
}

#[test]
fn a_gateway_runs_nothing_that_nobody_switched_on() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let refused = gateway.launcher().post("/v1/messages", &lines("hello"));
        refused.refuses("agent");
        // Nothing of a page is served, either: no origin was named.
        let page = gateway.launcher().with("origin", "http://localhost:5173");
        let preflight = page
            .with("access-control-request-method", "POST")
            .ask("OPTIONS", "/v1/messages", None)
            .unwrap();
        assert_eq!(preflight.header("access-control-allow-origin"), None);
        assert_eq!(preflight.status, 405);
    });
}

#[test]
fn pages_of_the_origins_that_were_named_may_ask_and_no_others() {
    on_a_file(|store| {
        let origins = ["--allow-origin", "http://localhost:5173"];
        let gateway = serve(store, &origins);
        for (origin, allowed) in [
            ("http://localhost:5173", true),
            ("http://localhost:5174", false),
            ("https://localhost:5173", false),
            ("null", false),
        ] {
            let expected = allowed.then_some(origin);
            let page = gateway.stranger().with("origin", origin);
            let preflight = page
                .with("access-control-request-method", "POST")
                .with(
                    "access-control-request-headers",
                    "authorization,content-type",
                )
                .ask("OPTIONS", "/v1/messages", None)
                .unwrap();
            assert_eq!(
                preflight.header("access-control-allow-origin"),
                expected,
                "{origin}"
            );
            assert_eq!(preflight.header("access-control-allow-credentials"), None);
            // A refusal is told to the page, too.
            let refused = page.post("/v1/messages", &lines("hello"));
            assert_eq!(refused.status, 401);
            assert_eq!(
                refused.header("access-control-allow-origin"),
                expected,
                "{origin}"
            );
            let page = gateway.launcher().with("origin", origin);
            let reply = page.post("/v1/messages", &to(&json!("S1"), "hello"));
            assert_eq!(
                reply.header("access-control-allow-origin"),
                expected,
                "{origin}"
            );
        }
    });
}

#[test]
fn the_same_key_is_done_once() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let mut body = to(&json!("S1"), "hello");
        body["turn_key"] = json!("once");
        let first = send(&launcher, &body);
        let again = send(&launcher, &body);
        assert_eq!(again["run"]["turn"], first["run"]["turn"]);
        assert_eq!(again["end"]["text"], first["end"]["text"]);
        let messages = launcher.get("/v1/sessions/S1/messages").is(200);
        assert_eq!(messages["items"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn a_key_is_that_of_one_message_and_of_no_other() {
    each_store(|store| {
        let mut gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let keyed = |script: &str| {
            let mut body = to(&json!("S1"), script);
            body["turn_key"] = json!("once");
            body
        };
        let body = keyed("!say begun \n!sleep 60");
        let mut linked = body.clone();
        linked["links"] = json!({ "issue_number": 7 });
        let refuses = |launcher: &Client| {
            for other in [&keyed("another"), &linked] {
                let refused = launcher.post("/v1/messages", other);
                refused.problem(409, "key-reused");
            }
        };
        // Whether somebody waits is nothing that is asked for.
        let mut again = body.clone();
        again["if_busy"] = json!("queue");
        let (first, joined) = std::thread::scope(|scope| {
            let first = scope.spawn(|| send(&launcher, &body));
            until("it runs", || {
                let messages = launcher.get("/v1/sessions/S1/messages");
                messages.is(200)["running"].is_string()
            });
            refuses(&launcher);
            let joined = scope.spawn(|| send(&launcher, &again));
            launcher.poke("/v1/sessions/S1/messages/cancel").is(200);
            (first.join().unwrap(), joined.join().unwrap())
        });
        assert_eq!(first["end"]["status"], "cancelled", "{first}");
        assert_eq!(joined["run"]["turn"], first["run"]["turn"]);
        refuses(&launcher);
        gateway.restart(store);
        let launcher = gateway.launcher();
        refuses(&launcher);
        let later = send(&launcher, &body);
        assert_eq!(later["run"]["turn"], first["run"]["turn"]);
        assert_eq!(later["end"]["status"], "cancelled", "{later}");
        assert_eq!(store.sql("SELECT count(*) FROM links"), "0");
    });
}
