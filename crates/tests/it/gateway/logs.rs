//! What the gateway logs, the ids of requests, and for whom a proxy asks.

use serde_json::{Value, json};

use super::client::{Reply, id, secret};
use super::raw;
use super::server::{Gateway, Store, base, on_a_file};
use crate::harness::until;

const JSON: [&str; 2] = ["--log-format", "json"];

fn log_text(store: &Store) -> String {
    std::fs::read_to_string(store.world.root.join("gateway.err")).unwrap()
}

/// The lines of a log in JSON: each is one object.
fn log_lines(store: &Store) -> Vec<Value> {
    let text = log_text(store);
    // The last one may not be whole yet.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

/// The line about the request with this id, which is written once the response has left.
fn request_line(store: &Store, id: &str) -> Value {
    let mut line = None;
    until("the request is logged", || {
        line = log_lines(store)
            .into_iter()
            .find(|line| line["request_id"] == id && line["http.status"].is_u64());
        line.is_some()
    });
    line.unwrap()
}

#[test]
fn each_request_is_one_line_without_what_its_client_wrote() {
    on_a_file(|store| {
        let mut gateway = Gateway::with(store, &JSON, &[]);
        let launcher = gateway.launcher().with("x-other", "hidden-header");
        let created = launcher
            .with("x-request-id", "r-1")
            .create(&base("hidden-name"));
        let line = request_line(store, "r-1");
        for (field, value) in [
            ("level", "INFO"),
            ("message", "POST /v1/sessions 201"),
            ("http.method", "POST"),
            ("http.route", "/v1/sessions"),
            ("tenant", "default"),
            ("client", "127.0.0.1"),
        ] {
            assert_eq!(line[field], value, "{line}");
        }
        assert_eq!(line["http.status"], 201);
        assert!(line["bytes"].as_u64().unwrap() > 100, "{line}");
        assert!(line["duration_ms"].is_u64(), "{line}");
        assert!(line["code"].is_null(), "{line}");
        let token = line["token_id"].as_str().unwrap();
        assert!(token.starts_with("tok_"), "{line}");

        let session = id(&created);
        let own = gateway
            .client(&secret(&created))
            .with("x-request-id", "r-2");
        let path = format!("/v1/sessions/{session}/events?limit=hidden-query");
        own.get(&path).is(400);
        let line = request_line(store, "r-2");
        assert_eq!(line["http.route"], "/v1/sessions/{session}/events");
        assert_eq!(line["code"], "invalid-field");

        let unknown = format!("siglum_default_{}", "0".repeat(64));
        let stranger = gateway.client(&unknown).with("x-request-id", "r-3");
        stranger.get("/v1/sessions").problem(401, "token-unknown");
        let line = request_line(store, "r-3");
        assert_eq!(line["code"], "token-unknown");
        assert!(line["tenant"].is_null() && line["token_id"].is_null());

        let stranger = gateway.stranger().with("x-request-id", "r-4");
        stranger.get("/hidden-path").problem(404, "not-found");
        assert_eq!(request_line(store, "r-4")["http.route"], "none");

        assert_eq!(gateway.stop(), Some(0));
        let lines = log_lines(store);
        let start = lines.iter().find(|line| line["version"].is_string());
        let start = start.unwrap();
        assert_eq!(start["address"], gateway.place());
        assert!(start["store"].as_str().unwrap().ends_with("ledger.db"));
        assert_eq!(lines.last().unwrap()["message"], "stopped");
        let text = log_text(store);
        for hidden in [
            "hidden",
            &gateway.token,
            &secret(&created),
            &unknown,
            &session,
        ] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    });
}

#[test]
fn what_is_logged_is_chosen_by_level_and_format() {
    on_a_file(|store| {
        let quiet = Gateway::with(store, &["--log-level", "warn"], &[]);
        quiet.stranger().get("/healthz").is(200);
        drop(quiet);
        assert!(!log_text(store).contains("/healthz"));
        let gateway = Gateway::start(store);
        let stranger = gateway.stranger().with("x-request-id", "r-1");
        stranger.get("/healthz").is(200);
        until("the request is logged", || {
            let text = log_text(store);
            let mut lines = text.lines();
            lines.any(|l| l.contains("r-1") && l.contains("GET /healthz 200"))
        });
    });
}

#[test]
fn a_response_has_the_id_of_its_request_also_where_it_is_refused() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let chosen = "eu-1/0a1b2c3d-4e5f:7";
        let stranger = gateway.stranger().with("x-request-id", chosen);
        let launcher = gateway.launcher().with("x-request-id", chosen);
        let large = json!({ "agent": "a".repeat(9 << 20) });
        let reply = stranger.get("/healthz");
        assert_eq!(reply.header("x-request-id"), Some(chosen));
        let ask = |method: &str, path: &str| stranger.ask(method, path, None).unwrap();
        for (reply, status) in [
            (launcher.post("/v1/sessions", &json!({})), 400),
            (ask("GET", "/v1/sessions"), 401),
            (ask("GET", "/nowhere"), 404),
            (ask("DELETE", "/healthz"), 405),
            (launcher.post("/v1/sessions", &large), 413),
        ] {
            let problem = reply.is(status);
            assert_eq!(problem["request_id"], chosen, "{problem}");
            assert_eq!(reply.header("x-request-id"), Some(chosen), "{status}");
        }
        let no_host = format!("GET /healthz HTTP/1.1\r\nx-request-id: {chosen}\r\n\r\n");
        let reply = raw::ask(&gateway, no_host.as_bytes());
        assert_eq!(reply.problem(400, "invalid-head")["request_id"], chosen);
    });
}

/// The answer to a request with this in its head.
fn ask_with(gateway: &Gateway, lines: &[u8]) -> Reply {
    let end = b"connection: close\r\n\r\n";
    let start = b"GET /nowhere HTTP/1.1\r\nhost: x\r\n";
    raw::ask(gateway, &[&start[..], lines, end].concat())
}

#[test]
fn an_id_that_is_not_short_and_plain_is_replaced() {
    on_a_file(|store| {
        let gateway = Gateway::with(store, &JSON, &[]);
        let one = |value: &[u8]| [&b"x-request-id: "[..], value, b"\r\n"].concat();
        let longest = "a".repeat(128);
        let kept = ask_with(&gateway, &one(longest.as_bytes()));
        assert_eq!(kept.header("x-request-id"), Some(longest.as_str()));
        for lines in [
            Vec::new(),
            one(b""),
            one(b"a\tb"),
            one(b"a b"),
            one(b"a\",\"level\":\"evil"),
            one(b"a\xffb"),
            one("a".repeat(129).as_bytes()),
            one(gateway.token.as_bytes()),
            [one(b"a"), one(b"b")].concat(),
        ] {
            let reply = ask_with(&gateway, &lines);
            let problem = reply.problem(404, "not-found");
            let id = reply.header("x-request-id").unwrap();
            assert_eq!(problem["request_id"], id);
            let is_fresh = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(is_fresh, "{id}");
            request_line(store, id);
        }
        // Whether that is a request at all is for the HTTP library to say.
        let mut odd = raw::connect(&gateway);
        odd.say(b"GET /nowhere HTTP/1.1\r\nhost: x\r\nx-request-id: a\x1b[31mb\r\n\r\n");
        odd.answer();
        gateway.stranger().get("/healthz").is(200);
        let text = log_text(store);
        assert!(!text.contains(&gateway.token));
        assert!(!text.contains('\u{1b}') && !text.contains("evil"), "{text}");
    });
}

#[test]
fn a_proxy_is_believed_if_it_was_named() {
    on_a_file(|store| {
        for (proxy, id, client) in [
            (None, "r-1", "127.0.0.1"),
            (Some("10.0.0.0/8"), "r-2", "127.0.0.1"),
            (Some("127.0.0.0/8"), "r-3", "192.0.2.7"),
        ] {
            let mut arguments = JSON.to_vec();
            arguments.extend(
                proxy
                    .into_iter()
                    .flat_map(|proxy| ["--trusted-proxy", proxy]),
            );
            let gateway = Gateway::with(store, &arguments, &[]);
            let stranger = gateway.stranger().with("x-request-id", id);
            let stranger = stranger.with("x-forwarded-for", "198.51.100.1, 192.0.2.7");
            stranger.get("/healthz").is(200);
            assert_eq!(request_line(store, id)["client"], client);
        }
    });
}

#[test]
fn clients_of_a_named_proxy_are_limited_each_by_itself() {
    on_a_file(|store| {
        let gateway = Gateway::with(store, &["--trusted-proxy", "127.0.0.1"], &[]);
        let unknown = gateway.client(&format!("siglum_default_{}", "0".repeat(64)));
        let from = |address: &str| {
            let client = unknown.with("x-forwarded-for", address);
            client.get("/v1/sessions").status
        };
        until("the first one has its share", || from("192.0.2.1") == 429);
        assert_eq!(from("192.0.2.2"), 401);
    });
}

#[test]
fn methods_that_a_client_invents_are_counted_as_one() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        for method in ["BREW", "WHEN"] {
            let head = format!("{method} /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
            raw::ask(&gateway, head.as_bytes()).problem(405, "method-not-allowed");
        }
        let metrics = gateway.stranger().get("/metrics").text;
        let line =
            "siglum_http_requests_total{method=\"other\",route=\"/healthz\",status=\"405\"} 2";
        assert!(metrics.lines().any(|l| l == line), "{metrics}");
        assert!(!metrics.contains("BREW"));
    });
}
