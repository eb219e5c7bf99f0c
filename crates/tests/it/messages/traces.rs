//! Runs, as a destination of telemetry sees them.

use serde_json::{Value, json};

use super::played::{AGENT, lines, send, serve, to};
use crate::gateway::server::{Gateway, Store, on_a_file};
use crate::harness::{OtlpSink, until};

/// A gateway that tells its turns to a played destination.
fn exporting_to(store: &Store, sink: &OtlpSink) -> Gateway {
    let args = ["otel", "add", "recorder", &sink.url, "--all-repositories"];
    store.world.siglum(&store.world.root, &args).ok();
    serve(store, &[])
}

/// The span of a turn that has this trace and conversation.
fn root(spans: &[Value], trace: &Value, conversation: &str) -> Option<Value> {
    let is = |s: &&Value| {
        s["traceId"] == *trace
            && s["attributes"]["session.id"] == conversation
            && s["attributes"]["gen_ai.operation.name"] == "invoke_agent"
    };
    spans.iter().find(is).cloned()
}

#[test]
fn two_runs_of_one_trace_keep_their_own_names() {
    on_a_file(|store| {
        let sink = OtlpSink::start();
        let gateway = exporting_to(store, &sink);
        let (given, parent) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let traced = gateway
            .launcher()
            .with("traceparent", &format!("00-{given}-{parent}-01"));
        let file = |name: &str| store.world.root.join(name).display().to_string();
        let secret = |n: usize| format!("ghp_{n}{}", "9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5uRaX");
        let names = ["S1", "S2"];
        std::thread::scope(|scope| {
            for n in 0..2 {
                let (own, other) = (file(names[n]), file(names[1 - n]));
                let script = format!(
                    "!sh touch {own}; while ! [ -e {other} ]; do sleep 0.1; done\n\
                     !tool call_1 Bash execute {{\"command\":\"echo {secret}\"}}\n\
                     !done call_1 {secret}\n!say word-{n} {secret}",
                    secret = secret(n)
                );
                let traced = &traced;
                scope.spawn(move || {
                    let result = send(traced, &to(&json!(names[n]), &script));
                    assert_eq!(result["run"]["conversation_id"], names[n]);
                    assert_eq!(result["run"]["trace_id"], given);
                    assert_eq!(result["end"]["status"], "done", "{result}");
                });
            }
        });
        let both = |spans: &[Value]| {
            let turns = names.map(|name| root(spans, &json!(given), name));
            turns.into_iter().collect::<Option<Vec<_>>>()
        };
        until("both are told", || both(&sink.spans()).is_some());
        let spans = sink.spans();
        for turn in both(&spans).unwrap() {
            assert_eq!(turn["parentSpanId"], parent, "{turn}");
        }
        let of = |id: &Value| spans.iter().find(|s| s["spanId"] == *id);
        for span in &spans {
            assert_eq!(span["traceId"], given, "{span}");
            let name = span["attributes"]["session.id"].as_str().unwrap();
            assert!(names.contains(&name), "{span}");
            assert_eq!(span["attributes"]["gen_ai.conversation.id"], name);
            match of(&span["parentSpanId"]) {
                Some(above) => assert_eq!(above["attributes"]["session.id"], name, "{span}"),
                None => assert_eq!(span["parentSpanId"], parent, "{span}"),
            }
            let other = usize::from(name == "S1");
            let text = span.to_string();
            assert!(!text.contains(&format!("word-{other}")), "{text}");
        }
        assert!(spans.len() >= 4, "turns and their calls");
        for request in sink.requests() {
            let body = String::from_utf8_lossy(&request.sent).into_owned();
            assert!(!body.contains("9fK2mQ7xLr4"), "{body}");
        }
    });
}

#[test]
fn a_fork_is_its_own_conversation_and_points_to_its_source() {
    on_a_file(|store| {
        let sink = OtlpSink::start();
        let gateway = exporting_to(store, &sink);
        let launcher = gateway.launcher();
        let turns = ["m1", "m2"].map(|key| {
            let mut body = to(&json!("S1"), &format!("say {key}"));
            body["turn_key"] = json!(key);
            send(&launcher, &body)["run"].clone()
        });
        let from =
            json!({ "route_key": turns[0]["route_key"], "context_key": turns[0]["context_key"] });
        let fork = json!({
            "route_key": "agent:forked", "agent": AGENT, "run": "fork", "conversation_id": "S2",
            "cause": "fork", "from": from, "anchor": { "turn_key": "m1" },
        });
        let fork = launcher.post("/v1/contexts/resolve", &fork).is(200);
        let mut body = lines("three");
        body["route_key"] = json!("agent:forked");
        let third = send(&launcher, &body)["run"].clone();
        assert_eq!(third["session"], fork["session"]);
        assert_eq!(third["conversation_id"], "S2");
        assert_ne!(third["session"], turns[0]["session"]);
        until("the fork is told", || {
            root(&sink.spans(), &third["trace_id"], "S2").is_some()
        });
        let spans = sink.spans();
        let forked = root(&spans, &third["trace_id"], "S2").unwrap();
        assert_eq!(forked["attributes"]["session.previous_id"], "S1");
        let link = &forked["links"][0];
        assert_eq!(link["attributes"]["siglum.link.type"], "fork");
        assert_eq!(link["traceId"], turns[0]["trace_id"], "not the last turn");
        let source = root(&spans, &turns[0]["trace_id"], "S1").unwrap();
        assert_eq!(link["spanId"], source["spanId"]);
        // The source stays as it was.
        let path = format!(
            "/v1/sessions/{}/messages",
            turns[0]["session"].as_str().unwrap()
        );
        let messages = launcher.get(&path).is(200).to_string();
        assert!(
            messages.contains("say m2") && !messages.contains("three"),
            "{messages}"
        );
    });
}

#[test]
fn the_name_that_a_platform_gives_is_none_that_the_agent_gave() {
    on_a_file(|store| {
        let sink = OtlpSink::start();
        let gateway = exporting_to(store, &sink);
        let launcher = gateway.launcher();
        let run = send(&launcher, &to(&json!("S1"), "!say one"))["run"].clone();
        until("the run is told", || {
            root(&sink.spans(), &run["trace_id"], "S1").is_some()
        });
        for span in sink.spans() {
            let attributes = &span["attributes"];
            assert_eq!(attributes["session.id"], "S1", "{span}");
            assert_eq!(
                attributes["siglum.native_session.id"], run["native_id"],
                "{span}"
            );
            let before = attributes.get("session.previous_id");
            assert_eq!(before, None, "nothing was before it: {span}");
        }
        let show = ["session", "show", "S1"];
        let shown = store.world.json(&store.world.root, &show);
        assert_eq!(shown["native_ids"], json!([run["native_id"]]), "{shown:#}");
    });
}
