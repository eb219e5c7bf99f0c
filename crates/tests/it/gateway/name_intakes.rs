//! Secrets of every kind in what agents of runs are told and tell, and in place of each name that a request may have.
//!
//! [`WAYS_IN`] says of each request that may bring a text which test plants secrets in it; a new one has to be added.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::client::{Client, id};
use super::intakes::{caller, each};
use super::server::{Gateway, Store, base, each_store};
use crate::harness;
use crate::heartbeats::played::{put, ran};
use crate::messages::played::{lines, serve, to};
use crate::planted::Planted;

/// The lines that make a played agent say a text, by its number.
type Script = fn(usize, &str) -> String;

/// Runs of a played agent, which does what the lines of its prompt say.
fn by_runs(client: &Client, planted: &mut Planted) {
    let run = |planted: &mut Planted, script: &[String]| {
        let mut body = to(&json!("runs"), &script.join("\n"));
        body["permissions"] = json!("allow");
        let reply = client.post("/v1/messages?format=events", &body);
        planted.hear_text(&reply.text);
    };
    let read = |id: &str, name: &str| format!("!tool {id} {name} read {{}}\n!done {id} so");
    let texts: [(&str, Script); 7] = [
        ("prompt and standard error", |_, line| {
            format!("!stderr {line}")
        }),
        ("message", |_, line| format!("!next\n!say {line}")),
        ("message in chunks", |_, line| {
            format!("!next\n!parts {line}")
        }),
        ("thought", |_, line| format!("!think {line}")),
        ("input of a call", |n, line| {
            format!(
                "!tool i{n} run execute {}\n!done i{n} so",
                json!({ "command": line })
            )
        }),
        ("output of a call", |n, line| {
            format!("!tool o{n} run execute {{}}\n!fail o{n} {line}")
        }),
        ("permission", |n, line| {
            format!("!tool p{n} run execute {{}}\n!ask p{n} {line}\n!done p{n} so")
        }),
    ];
    for (kind, script) in texts {
        let all = planted.parts(&format!("runs, {kind}"), 1, "");
        let all = all.iter().enumerate().map(|(n, line)| script(n, line));
        run(planted, &all.collect::<Vec<_>>());
    }
    let words = planted.words("runs, ids of calls");
    let all: Vec<String> = words.iter().map(|word| read(word, "read")).collect();
    run(planted, &all);
    let words = planted.words("runs, names of tools");
    let named = words.iter().enumerate();
    let all: Vec<String> = named
        .map(|(n, word)| read(&format!("n{n}"), word))
        .collect();
    run(planted, &all);
    let words = planted.words("runs, ids of messages");
    let all: Vec<String> = words
        .iter()
        .map(|word| format!("!next {word}\n!say so"))
        .collect();
    run(planted, &all);
    for part in planted.parts("runs, error", 40, ", ") {
        run(planted, &[format!("!usage 1 2 m\n!error {part}")]);
    }
    let mut body = lines("!say so");
    body["inputs"] = json!({ "text": planted.text("runs, inputs") });
    planted.hear_text(&client.post("/v1/messages", &body).text);
}

/// A heartbeat whose agent is told what a file says, and of which a webhook is sent what the agent says.
fn by_webhooks(store: &Store, client: &Client, planted: &mut Planted) {
    let hook = harness::Gateway::start(&store.world);
    let dir = store.world.root.join("work");
    let beat = json!({ "every": "1h", "prompt": null, "prompt_file": "prompt", "cwd": dir,
        "target": "webhook", "webhook": hook.url });
    put(client, "hook", &beat);
    for part in planted.parts("answers to webhooks", 80, ", ") {
        fs::write(dir.join("prompt"), format!("!say {part}")).unwrap();
        ran(client, "hook", "delivered");
    }
    let sent = hook.requests().into_iter();
    let sent = sent.flat_map(|sent| [format!("{:?}", sent.headers).into_bytes(), sent.body]);
    let sent: Vec<u8> = sent.flatten().collect();
    assert!(String::from_utf8_lossy(&sent).contains("[redacted:"));
    planted.search(&[("what a webhook is sent", sent)]);
}

/// A request with `WORD` in its path or its body.
type Template = (&'static str, String, Value);

fn post(path: &str, body: Value) -> Template {
    ("POST", path.to_owned(), body)
}

/// The same body with `WORD` in one field.
fn in_fields(path: &str, body: &Value, fields: &[&str]) -> Vec<Template> {
    let with = |field: &&str| {
        let mut body = body.clone();
        body[*field] = json!("WORD");
        post(path, body)
    };
    fields.iter().map(with).collect()
}

/// The signs of a word as they stand in an address.
fn encoded(word: &str) -> String {
    let sign = |byte: u8| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    word.bytes().map(sign).collect()
}

/// Sends each kind by one of these requests, in turn.
fn by_templates(of: (&Store, &Gateway), planted: &mut Planted, way: &str, templates: &[Template]) {
    let (store, gateway) = of;
    each(
        (store, gateway, None),
        planted,
        way,
        |client, number, word| {
            let (method, path, body) = &templates[number % templates.len()];
            let path = path.replace("WORD", &encoded(word));
            let quoted = json!(word).to_string();
            let body = body
                .to_string()
                .replace("WORD", &quoted[1..quoted.len() - 1]);
            let body: Value = serde_json::from_str(&body).unwrap();
            let body = (!body.is_null()).then_some(&body);
            client
                .ask(method, &path, body)
                .map_or_else(String::new, |reply| reply.text)
        },
    );
}

fn of_messages() -> Vec<Template> {
    let body = to(&json!("names"), "!say so");
    let fields = [
        "conversation_id",
        "turn_key",
        "route_key",
        "cwd",
        "agent",
        "phase",
        "pipeline_id",
    ];
    let mut all = in_fields("/v1/messages", &body, &fields);
    for (field, value) in [
        ("parameters", json!({ "model": "WORD" })),
        ("labels", json!({ "key": "WORD" })),
        ("labels", json!({ "WORD": "value" })),
    ] {
        let mut body = body.clone();
        body[field] = value;
        all.push(post("/v1/messages", body));
    }
    all.push(post("/v1/sessions/WORD/messages", lines("!say so")));
    all
}

fn of_pipelines() -> Vec<Template> {
    let event = |path: &str, fields: Value| post(path, json!({ "events": [fields] }));
    let own = |fields: Value| event("/v1/pipelines/p/events", fields);
    vec![
        event(
            "/v1/pipelines/WORD/events",
            json!({ "kind": "phase_started", "phase": "plan" }),
        ),
        own(json!({ "kind": "planned", "phases": ["plan", "WORD"] })),
        own(json!({ "kind": "contract", "name": "WORD", "text": "so" })),
        own(json!({ "kind": "contract", "name": "a", "version": "WORD", "text": "so" })),
        own(json!({ "kind": "contract", "name": "a", "text": "WORD" })),
        own(json!({ "kind": "review", "verdict": "approved", "role": "WORD" })),
        own(json!({ "kind": "review", "verdict": "approved", "contract": "WORD" })),
        own(json!({ "kind": "review", "verdict": "approved", "text": "WORD" })),
        own(json!({ "kind": "check", "name": "WORD", "result": "passed" })),
        own(
            json!({ "kind": "check", "name": "a", "result": "passed", "url": "https://a.example/WORD" }),
        ),
        own(json!({ "kind": "check", "name": "a", "result": "passed", "text": "WORD" })),
        own(json!({ "kind": "WORD" })),
    ]
}

fn of_heartbeats() -> Vec<Template> {
    let definition =
        json!({ "agent": "claude-code", "every": "1d", "prompt": "Go.", "target": "none" });
    let put = |definition: Value| {
        post(
            "/v1/heartbeats",
            json!({ "name": "beat", "definition": definition }),
        )
    };
    let fields = [
        "every",
        "cron",
        "zone",
        "active",
        "route_key",
        "agent",
        "prompt",
        "prompt_file",
        "cwd",
        "model",
        "permissions",
        "target",
        "webhook",
        "target_route_key",
        "acknowledge",
        "wall",
        "dollars",
        "keep",
    ];
    let with = |field: &str| {
        let mut definition = definition.clone();
        definition[field] = json!("WORD");
        put(definition)
    };
    let mut all: Vec<Template> = fields.map(with).into();
    let mut linked = definition.clone();
    linked["links"] = json!({ "phase": "WORD" });
    all.push(put(linked));
    all.push(post(
        "/v1/heartbeats",
        json!({ "name": "WORD", "definition": definition }),
    ));
    all
}

fn of_contexts(client: &Client) -> Vec<Template> {
    let run = json!({ "route_key": "route", "agent": "openclaw", "run": "run-1" });
    let keys = client.post("/v1/contexts/resolve", &run).is(200);
    let fields = ["conversation_id", "native_id", "cwd", "agent", "cause"];
    let mut all = in_fields("/v1/contexts/resolve", &run, &fields);
    let mut named = run.clone();
    named["aliases"] = json!({ "name": "WORD" });
    all.push(post("/v1/contexts/resolve", named));
    let keys = json!({ "route_key": keys["route_key"], "context_key": keys["context_key"] });
    let with = |more: Value| {
        let mut body = keys.clone();
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let said = json!({ "type": "user", "text": "WORD" });
    for (path, more) in [
        ("bootstrap", json!({ "context_key": "WORD" })),
        ("bootstrap", json!({ "route_key": "WORD" })),
        ("assemble", json!({ "budget": 1000, "prompt": "WORD" })),
        (
            "ingest",
            json!({ "turn_key": "WORD", "index": 0, "message": { "type": "user", "text": "so" } }),
        ),
        (
            "ingest",
            json!({ "turn_key": "t", "index": 0, "message": said }),
        ),
        (
            "commit",
            json!({ "turn_key": "WORD", "messages": [{ "type": "user", "text": "so" }] }),
        ),
        ("backfill", json!({ "turn_key": "b", "messages": [said] })),
        ("compact", json!({ "turn_key": "WORD", "summary": "WORD" })),
        ("after-turn", json!({ "turn_key": "WORD" })),
        ("maintain", json!({ "WORD": 1 })),
        ("accept-gap", json!({ "reason": "WORD" })),
        (
            "prepare-subagent",
            json!({ "run": "WORD", "route_key": "WORD" }),
        ),
        ("subagent-ended", json!({ "outcome": "WORD" })),
    ] {
        all.push(post(&format!("/v1/contexts/{path}"), with(more)));
    }
    all
}

fn of_a_session(session: &str) -> Vec<Template> {
    let own = |path: &str, body: Value| post(&format!("/v1/sessions/{session}/{path}"), body);
    let turn = json!({ "epoch": 1, "expected_head": 0, "events": [{ "type": "prompt", "key": "a.p", "text": "so" }] });
    let mut all = vec![
        own("links", json!({ "role": "WORD" })),
        own("links", json!({ "links": { "phase": "WORD" } })),
        own("links/detach", json!({ "links": { "phase": "WORD" } })),
        own(
            "lease",
            json!({ "holder": "WORD", "nonce": "n", "term_ms": 60_000 }),
        ),
        own(
            "lease",
            json!({ "holder": "h", "nonce": "WORD", "term_ms": 60_000 }),
        ),
        own("lease/renew", json!({ "epoch": 1, "nonce": "WORD" })),
        own("lease/release", json!({ "epoch": 1, "nonce": "WORD" })),
        own("end", json!({ "outcome": "WORD" })),
        own("traces", json!({ "trace": "WORD" })),
        own(
            "commits",
            json!({ "repository": "github.com/o/WORD", "commit": "a".repeat(40) }),
        ),
        own("interactions/WORD", json!({ "option": "WORD" })),
        (
            "PUT",
            format!("/v1/sessions/{session}/turns/WORD"),
            turn.clone(),
        ),
        (
            "DELETE",
            format!("/v1/sessions/{session}/commits/WORD"),
            Value::Null,
        ),
    ];
    for (verb, body) in [
        (
            "open",
            json!({ "epoch": 1, "expected_head": 0, "prompt": "WORD" }),
        ),
        ("append", turn),
        ("abort", json!({ "epoch": 1 })),
        ("decide", json!({ "decision": "WORD" })),
    ] {
        all.push(own(&format!("turns/WORD/{verb}"), body));
    }
    all
}

/// What there is no such thing of: paths, queries and fields.
fn of_nothing() -> Vec<Template> {
    let mut all: Vec<Template> = [
        "/v1/WORD",
        "/v1/sessions/WORD",
        "/v1/sessions/WORD/events",
        "/v1/sessions/WORD/stream",
        "/v1/commits/WORD",
        "/v1/checkpoints/WORD",
        "/v1/pipelines/WORD",
        "/v1/pipelines/WORD/bundle",
        "/v1/pipelines/WORD/drawing",
        "/v1/heartbeats/WORD",
        "/v1/heartbeats/WORD/ticks",
        "/v1/sessions?WORD=1",
        "/v1/sessions?repository=WORD",
        "/v1/sessions?conversation_id=WORD",
        "/v1/search?q=WORD",
        "/v1/route?route_key=WORD",
        "/v1/cost?by=WORD",
        "/v1/cost?model=WORD",
        "/v1/audit?actor=WORD",
        "/v1/pipelines?cursor=WORD",
    ]
    .map(|path| ("GET", path.to_owned(), Value::Null))
    .into();
    all.extend(
        ["run", "pause", "resume"]
            .map(|verb| post(&format!("/v1/heartbeats/WORD/{verb}"), json!({}))),
    );
    all.push(("DELETE", "/v1/heartbeats/WORD".to_owned(), Value::Null));
    all.push(post(
        "/v1/commits/explain",
        json!({ "commits": ["WORD"], "repository": "WORD" }),
    ));
    let mut named = base("unknown-field");
    named["WORD"] = json!(1);
    all.push(post("/v1/sessions", named.clone()));
    all.push(post("/v1/messages", named));
    all
}

#[test]
fn every_kind_of_secret_in_runs_and_in_names_of_requests_is_kept_nowhere() {
    each_store(|store| {
        let repo = store.world.repo();
        let mut planted = Planted::new();
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        by_runs(&launcher, &mut planted);
        by_webhooks(store, &launcher, &mut planted);
        let past = launcher.get("/v1/sessions/runs/messages?limit=500").text;
        assert!(past.contains("[redacted:"), "{past}");
        let session = id(&launcher.create(&base("named")));
        for (way, templates) in [
            ("messages", of_messages()),
            ("pipelines", of_pipelines()),
            ("heartbeats", of_heartbeats()),
            ("contexts", of_contexts(&launcher)),
            ("a session", of_a_session(&session)),
            ("nothing", of_nothing()),
        ] {
            let way = format!("names in requests of {way}");
            by_templates((store, &gateway), &mut planted, &way, &templates);
        }
        for header in ["siglum-conversation-id", "idempotency-key"] {
            each(
                (store, &gateway, None),
                &mut planted,
                header,
                |client, number, word| {
                    let body = base(&format!("by-header-{number}"));
                    let is_value = word.bytes().all(|byte| byte.is_ascii_graphic());
                    let client = client.with(header, if is_value { word } else { "none" });
                    client.post("/v1/sessions", &body).text
                },
            );
        }
        let launcher = caller(store, &gateway, None);
        for path in [
            "/v1/sessions/runs/messages?limit=500",
            "/v1/sessions/runs/messages?format=ui-messages&limit=500",
            "/v1/sessions?limit=500",
            "/v1/heartbeats",
            "/v1/pipelines",
            "/v1/routes",
            "/v1/audit?limit=1000",
            "/v1/search?q=so",
            "/metrics",
        ] {
            planted.hear_text(&launcher.get(path).text);
        }
        let log = fs::read_to_string(store.world.root.join("gateway.err"));
        planted.look_at_rows(store.rows(), &repo, &log.unwrap_or_default());
        println!("{}", planted.report());
        planted.check(&[]);
    });
}

/// Which test plants secrets in what requests bring. Reading requests are in here with their paths and queries.
const WAYS_IN: &[(&str, &str)] = &[
    ("/v1/commits/explain", "`of_nothing`"),
    (
        "/v1/contexts/",
        "`of_contexts`, `intakes::by_contexts_and_pipelines`",
    ),
    (
        "/v1/heartbeats",
        "`of_heartbeats`, `by_webhooks`, `of_nothing`, `secrets::by_commands`",
    ),
    ("/v1/logs", "`intakes::by_telemetry`"),
    ("/v1/messages", "`by_runs`, `of_messages`"),
    ("/v1/metrics", "`intakes::by_telemetry`"),
    (
        "/v1/pipelines/",
        "`of_pipelines`, `intakes::by_contexts_and_pipelines`",
    ),
    (
        "/v1/replicas",
        "`replica::planted` of the engine, `secrets::look_at_what_leaves`",
    ),
    (
        "/v1/sessions",
        "`intakes::by_sessions`, `intakes::by_turns`, `of_a_session`",
    ),
    ("/v1/traces", "`intakes::by_telemetry`"),
];

#[test]
fn a_new_request_that_brings_a_text_needs_secrets_planted_in_it() {
    let document = include_str!("../../../../docs/openapi.json");
    let document: Value = serde_json::from_str(document).unwrap();
    let mut known = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let operations = operations.as_object().unwrap();
        if operations
            .keys()
            .all(|method| method == "get" || method == "parameters")
        {
            continue;
        }
        let way = WAYS_IN.iter().find(|(begin, _)| path.starts_with(begin));
        let (begin, _) = way.unwrap_or_else(|| panic!("plant secrets in {path}"));
        known.insert(*begin);
        let of_session = path.strip_prefix("/v1/sessions/{session}/");
        let templates = of_a_session("{session}");
        let is_like = |planted: &str| {
            let mut parts = planted.split('/').zip(path.split('/'));
            let fits = |(planted, part): (&str, &str)| {
                planted == part || (planted == "WORD" && part.starts_with('{'))
            };
            planted.split('/').count() == path.split('/').count() && parts.all(fits)
        };
        let elsewhere = [
            "messages",
            "checkpoints",
            "token",
            "keep-alive",
            "messages/cancel",
        ];
        let is_planted = of_session.is_none_or(|rest| elsewhere.contains(&rest))
            || templates.iter().any(|(_, planted, _)| is_like(planted));
        assert!(is_planted, "plant secrets in {path}");
    }
    assert_eq!(known.len(), WAYS_IN.len(), "{known:?}");
}
