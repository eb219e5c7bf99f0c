//! Requests that are refused: the field is named, and nothing is changed.

use serde_json::{Value, json};

use super::client::{Reply, id, secret};
use super::server::{Gateway, Store, audited, base, each_store, linked, stored};
use crate::harness::until;

/// Requests for sessions of which each must be refused with this field, and nothing be written.
fn refused(store: &Store, field: &str, bodies: &[Value]) {
    let gateway = Gateway::start(store);
    gateway.launcher().create(&base("there"));
    let before = stored(store, &gateway);
    let mut details = std::collections::BTreeSet::new();
    for body in bodies {
        let reply = gateway.launcher().post("/v1/sessions", body);
        let problem = reply.refuses(field);
        details.insert(rule(&problem));
        assert_eq!(stored(store, &gateway), before, "{body}");
    }
    assert_eq!(details.len(), 1, "the same rule for all: {details:?}");
    // The refusals are the one thing that is written down.
    until("the refusals are audited", || {
        audited(&gateway, "session.refused").len() == bodies.len()
    });
    for entry in audited(&gateway, "session.refused") {
        assert_eq!(
            (&entry["outcome"], &entry["field"]),
            (&json!("refused"), &json!(field))
        );
        assert!(entry["reason"].is_string(), "{entry}");
    }
}

/// What must be, without what was.
fn rule(problem: &Value) -> String {
    let detail = problem["detail"].as_str().unwrap();
    detail.rsplit_once(": ").unwrap().1.to_owned()
}

fn each(field: &str, values: &[Value]) {
    let within = format!("links.{field}");
    let bodies: Vec<Value> = values
        .iter()
        .map(|value| linked("refused", &json!({ field: value })))
        .collect();
    each_store(|store| refused(store, &within, &bodies));
}

#[test]
fn issue_0_is_refused_and_nothing_is_made() {
    each("issue_number", &[json!(0)]);
}

#[test]
fn an_issue_is_a_number_and_nothing_else() {
    let one: Value = serde_json::from_str("1.0").unwrap();
    let values = [
        json!(-1),
        json!("42"),
        json!(12.5),
        one,
        json!([]),
        json!({}),
        json!(true),
        json!(9_007_199_254_740_992_u64),
        json!(1e300),
    ];
    each("issue_number", &values);
}

#[test]
fn a_pull_request_is_a_number_and_nothing_else() {
    each("pr_number", &[json!(0), json!(-7), json!("9"), json!(true)]);
}

#[test]
fn a_pipeline_that_does_not_fit_is_refused() {
    each("pipeline_id", &[json!("p".repeat(257)), json!("")]);
    each("pipeline_id", &[json!(7)]);
}

#[test]
fn a_role_that_does_not_fit_is_refused_and_an_empty_one_too() {
    each(
        "agent_role",
        &[json!("r".repeat(65)), json!(""), json!(" ")],
    );
    each("agent_role", &[json!(7)]);
}

#[test]
fn an_empty_phase_is_refused() {
    each("phase", &[json!(""), json!("a\nb"), json!(" plan")]);
}

#[test]
fn the_name_of_a_repository_is_no_path_and_has_no_password() {
    let name = |name: &str| {
        let mut body = base("refused");
        body["repositories"] = json!(["github.com/o/r", name]);
        body
    };
    let bodies = [
        "",
        "/etc/passwd",
        "https://user:secret@github.com/o/r",
        "o r",
        "o/r\u{e9}",
        &"r".repeat(513),
    ]
    .map(name);
    each_store(|store| refused(store, "repositories.1", &bodies));
}

/// What is sent beside links is held to its rule as well.
#[test]
fn other_fields_are_named_too() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let before = stored(store, &gateway);
        for (field, value) in [
            ("agent", json!("No Such")),
            ("agent", json!("")),
            ("agent", json!(7)),
            ("conversation_id", json!("a/b")),
            ("native_id", json!("")),
            ("mode", json!("watched")),
            ("cwd", json!("")),
            ("cwd", json!("a\u{0}b")),
            ("id", json!("ses_1")),
            ("id", json!("ses_00000000000040008000000000000000")),
            ("home", json!("led_1")),
            ("token_seconds", json!(59)),
            ("token_seconds", json!(-1)),
            ("token_seconds", json!("60")),
            ("repositories", json!(vec!["o/r"; 33])),
        ] {
            let mut body = base("refused");
            body[field] = value.clone();
            let reply = gateway.launcher().post("/v1/sessions", &body);
            reply.refuses(field);
        }
        let mut without = base("refused");
        without.as_object_mut().unwrap().remove("agent");
        let reply = gateway.launcher().post("/v1/sessions", &without);
        assert!(
            reply.problem(400, "invalid-body")["detail"]
                .as_str()
                .unwrap()
                .contains("agent")
        );
        for body in ["", "[]", "7", "null", "{", "{}{}", "\u{feff}{}"] {
            let reply = plain(&gateway, body);
            reply.problem(400, "invalid-body");
        }
        assert_eq!(stored(store, &gateway), before);
    });
}

/// A body as it is.
fn plain(gateway: &Gateway, body: &str) -> Reply {
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        gateway.token,
        body.len()
    );
    super::raw::ask(gateway, format!("{head}{body}").as_bytes())
}

#[test]
fn without_a_launchers_token_none_is_created_and_no_other_ended() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let one = gateway.launcher().create(&base("one"));
        let two = gateway.launcher().create(&base("two"));
        let before = stored(store, &gateway);
        let end = format!("/v1/sessions/{}/end", id(&two));
        let how = json!({ "outcome": "completed" });
        let stranger = gateway.stranger();
        stranger
            .post("/v1/sessions", &base("x"))
            .problem(401, "token-missing");
        stranger.post(&end, &how).problem(401, "token-missing");
        let session = gateway.client(&secret(&one));
        session
            .post("/v1/sessions", &base("x"))
            .problem(403, "forbidden");
        session.post(&end, &how).problem(403, "forbidden");
        session.get("/v1/sessions").problem(403, "forbidden");
        assert_eq!(stored(store, &gateway), before);
        until("the refusals are audited", || {
            audited(&gateway, "request.refused").len() == 3
        });
    });
}
