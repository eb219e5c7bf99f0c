//! What webhooks and commands are given of what a tick is known by.

use serde_json::{Value, json};

use super::delivery::says;
use super::played::{put, ran};
use crate::gateway::client::Client;
use crate::gateway::server::{Gateway, Store, each_store, on_a_file};
use crate::harness::{self, OtlpSink, until};
use crate::messages::played::{AGENT, arguments, serve};

/// What the agent is told: to say all that it was told, and something that looks like a field.
const PROMPT: &str = "!whole\n{\"conversation_id\":\"X-of-the-payload\"}";
/// What it says then.
const ANSWER: &str =
    "!whole\n{\"conversation_id\":\"X-of-the-payload\"}{\"conversation_id\":\"X-of-the-payload\"}";

/// A schema that declares much of what there is, some of what there is not, and something of its own.
fn declaring() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": {
        "conversation_id": { "type": "string" }, "session": { "type": "string" },
        "turn": { "type": "string" }, "trace_id": {}, "route_key": true,
        "context_key": { "type": ["string", "null"] }, "agent": { "type": "string" },
        "issue_number": { "type": "integer" }, "labels": { "type": "object" },
        "pr_number": { "type": "integer" }, "phase": { "type": "integer" }, "text": { "type": "string" },
    } })
}

/// One that declares none of it at its top level.
fn free() -> Value {
    json!({ "type": "object", "additionalProperties": true, "required": ["conversation_id"], "properties": {
        "inputs": { "type": "object", "properties": { "conversation_id": { "type": "string" } } },
    } })
}

/// What a tick gives one that declares it. Its turn and its trace are those that were given, once they are looked up.
#[track_caller]
fn declared(client: &Client, tick: &Value, given: &Value) -> Value {
    let session = tick["session"].as_str().unwrap();
    let known = client.get(&format!("/v1/sessions/{session}")).is(200);
    let log = client.get(&format!("/v1/sessions/{session}/events")).text;
    let turn = given["turn"].as_str().expect("a turn");
    assert!(log.contains(turn), "{turn}: {log}");
    assert_eq!(
        given["trace_id"].as_str().map(str::len),
        Some(32),
        "{given}"
    );
    json!({
        "conversation_id": known["conversation_id"], "session": session, "turn": turn,
        "trace_id": given["trace_id"], "route_key": "team:main", "context_key": tick["context_key"],
        "agent": AGENT, "issue_number": 424_242, "labels": { "area": "auth" },
    })
}

/// A document has this beside its arguments, and nothing else.
#[track_caller]
fn is_plain(tick: &Value, document: &Value, name: &str) {
    let mut document = document.clone();
    document.as_object_mut().unwrap().remove("arguments");
    let expected = json!({
        "schema": "siglum.heartbeat.tick/1", "id": tick["id"], "heartbeat": name, "route_key": "team:main",
        "due": tick["due"], "session": tick["session"], "text": ANSWER,
    });
    assert_eq!(document, expected);
}

fn to_hook(hook: &str, schema: &Value) -> Value {
    let links =
        json!({ "issue_number": 424_242, "phase": "review-7", "labels": { "area": "auth" } });
    json!({ "every": "1h", "prompt": PROMPT, "route_key": "team:main", "links": links,
        "target": "webhook", "webhook": hook, "schema": schema })
}

#[test]
fn a_webhook_gets_what_its_schema_declares_and_nothing_else() {
    each_store(|store| {
        let hook = harness::Gateway::start(&store.world);
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        says(&client, "team:other", "kept-secret");
        let deliver_tick = |name: &str, schema: &Value| {
            let before = hook.requests().len();
            let address = format!("{}/{name}", hook.url);
            put(&client, name, &to_hook(&address, schema));
            let tick = ran(&client, name, "delivered");
            let requests = hook.requests().split_off(before);
            assert_eq!(requests.len(), 1, "once");
            assert_eq!(requests[0].header("idempotency-key"), tick["id"].as_str());
            is_plain(&tick, &requests[0].json(), name);
            (tick, requests[0].json())
        };
        let (tick, document) = deliver_tick("declaring", &declaring());
        let expected = declared(&client, &tick, &document["arguments"]);
        assert_eq!(document["arguments"], expected);
        let (_, document) = deliver_tick("free", &free());
        assert_eq!(document["arguments"], json!({}));
        let all = document.to_string();
        for hidden in ["424242", "review-7", "-run:", "trace_id", "\"turn\""] {
            assert!(!all.contains(hidden), "{hidden}: {all}");
        }
        let (_, document) = deliver_tick("plain", &Value::Null);
        assert_eq!(document.get("arguments"), None);
        for request in hook.requests() {
            let all = String::from_utf8_lossy(&request.body);
            assert!(!all.contains("kept-secret"), "{all}");
        }
    });
}

#[test]
fn what_is_given_is_what_the_spans_say() {
    on_a_file(|store| {
        let (hook, sink) = (harness::Gateway::start(&store.world), OtlpSink::start());
        let args = ["otel", "add", "recorder", &sink.url, "--all-repositories"];
        store.world.siglum(&store.world.root, &args).ok();
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        put(&client, "h", &to_hook(&hook.url, &declaring()));
        ran(&client, "h", "delivered");
        let given = hook.requests()[0].json()["arguments"].clone();
        until("the turn is told", || !sink.spans().is_empty());
        for span in sink.spans() {
            assert_eq!(span["traceId"], given["trace_id"], "{span}");
            assert_eq!(span["attributes"]["session.id"], given["conversation_id"]);
        }
    });
}

/// A gateway whose configuration has these heartbeats.
fn configured(store: &Store, text: &str) -> Gateway {
    let dir = store.world.root.join("config");
    std::fs::create_dir_all(dir.join("siglum")).unwrap();
    std::fs::write(dir.join("siglum/config.toml"), text).unwrap();
    let arguments = arguments(store);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let variables = [("XDG_CONFIG_HOME", dir.to_str().unwrap())];
    Gateway::with(store, &arguments, &variables)
}

/// A heartbeat of the configuration whose command writes down what it reads, and its environment.
fn commanded(store: &Store, name: &str, schema: &str) -> String {
    let out = store.world.root.join(name).display().to_string();
    format!(
        r#"
        [heartbeat.{name}]
        every = "1h"
        agent = "{AGENT}"
        prompt = '''{PROMPT}'''
        route_key = "team:main"
        links = {{ issue_number = 424242, phase = "review-7", labels = {{ area = "auth" }} }}
        target = "command"
        command = ["sh", "-c", "env > {out}.env; cat > {out}"]
        {schema}
        "#
    )
}

#[test]
fn a_command_reads_a_document_if_it_has_a_schema_else_the_text() {
    // Heartbeats of the configuration are those of a file's only tenant.
    on_a_file(|store| {
        let fields = [
            "conversation_id",
            "session",
            "turn",
            "trace_id",
            "route_key",
            "context_key",
            "agent",
            "issue_number",
            "labels",
            "pr_number",
        ];
        let fields = fields.map(|field| format!("{field} = {{}}")).join(", ");
        let declaring = format!("schema = {{ type = \"object\", properties = {{ {fields} }} }}");
        let free = "schema = { additionalProperties = true, \
                    properties = { inputs = { properties = { conversation_id = {} } } } }";
        let text = commanded(store, "declaring", &declaring)
            + &commanded(store, "free", free)
            + &commanded(store, "plain", "");
        let gateway = configured(store, &text);
        let client = gateway.launcher();
        let read = |name: &str| {
            until("the configuration is followed", || {
                client.get(&format!("/v1/heartbeats/{name}")).status == 200
            });
            let tick = ran(&client, name, "delivered");
            let file = |name: &str| std::fs::read_to_string(store.world.root.join(name)).unwrap();
            let around = file(&format!("{name}.env"));
            for hidden in ["424242", "review-7", "-run:"] {
                assert!(!around.contains(hidden), "{hidden}: {around}");
            }
            (tick, file(name))
        };
        for (name, declares) in [("declaring", true), ("free", false)] {
            let (tick, content) = read(name);
            let document: Value = serde_json::from_str(&content).unwrap();
            is_plain(&tick, &document, name);
            let given = &document["arguments"];
            let expected = match declares {
                true => declared(&client, &tick, given),
                false => json!({}),
            };
            assert_eq!(*given, expected);
        }
        assert_eq!(read("plain").1, ANSWER);
    });
}

#[test]
fn a_schema_comes_from_a_file_and_one_of_another_form_is_refused() {
    on_a_file(|store| {
        let file = store.world.root.join("takes.json");
        let add = |schema: &str, target: &[&str]| {
            std::fs::write(&file, schema).unwrap();
            let schema = file.to_str().unwrap();
            let mut args = vec!["heartbeat", "add", "h", "--agent", AGENT, "--every", "1h"];
            args.extend(["--prompt", "Look.", "--schema", schema, "--json"]);
            args.extend(target);
            store.world.siglum(&store.world.root, &args)
        };
        let hook = [
            "--target",
            "webhook",
            "--webhook",
            "https://team.example/hook",
        ];
        let printed = add(&declaring().to_string(), &hook).ok();
        let added: Value = serde_json::from_str(&printed).unwrap();
        let definition = &added["data"]["heartbeat"]["definition"];
        assert_eq!(definition["schema"], declaring());
        for (schema, target) in [
            ("{", &hook[..]),
            ("true", &hook),
            (r#"{"type":"string"}"#, &hook),
            ("{}", &["--target", "log"]),
        ] {
            let refused = add(schema, target);
            assert_ne!(refused.code, Some(0), "{schema}");
            assert!(
                (refused.stderr + &refused.stdout).contains("schema"),
                "{schema}"
            );
        }
    });
}
