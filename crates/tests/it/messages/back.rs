//! Somebody goes back in a conversation.

use serde_json::json;

use super::played::{AGENT, send, serve, to};
use crate::gateway::server::{each_store, on_a_file};
use crate::harness::{OtlpSink, until};

#[test]
fn whoever_goes_back_stays_in_the_conversation() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let first = send(&launcher, &keyed("one", "m1"));
        let second = send(&launcher, &keyed("two", "m2"));
        let (route, context) = (&first["run"]["route_key"], &first["run"]["context_key"]);
        assert_eq!(route, context, "an ordinary run has both keys equal");
        let back = json!({
            "route_key": route, "agent": AGENT, "run": "back", "conversation_id": "S1",
            "cause": "rewind", "anchor": { "turn_key": "m1" },
        });
        let back = launcher.post("/v1/contexts/resolve", &back).is(200);
        let third = send(&launcher, &keyed("three", "m3"));
        assert_eq!(third["run"]["conversation_id"], "S1");
        assert_eq!(third["run"]["route_key"], *route);
        assert_eq!(third["run"]["context_key"], back["context_key"]);
        assert_eq!(third["run"]["session"], back["session"]);
        assert_ne!(third["run"]["session"], second["run"]["session"]);
        // What was left stays readable, and its name leads to where the conversation goes on.
        let get_text = |path: &str| launcher.get(path).is(200).to_string();
        let left = format!(
            "/v1/sessions/{}/messages",
            second["run"]["session"].as_str().unwrap()
        );
        assert!(get_text(&left).contains("two"));
        let now = get_text("/v1/sessions/S1/messages");
        assert!(now.contains("three") && !now.contains("two"), "{now}");
    });
}

#[test]
fn the_trace_of_a_rewind_points_to_the_turn_it_goes_on_from() {
    on_a_file(|store| {
        let sink = OtlpSink::start();
        let args = ["otel", "add", "recorder", &sink.url, "--all-repositories"];
        store.world.siglum(&store.world.root, &args).ok();
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let first = send(&launcher, &keyed("one", "m1"));
        send(&launcher, &keyed("two", "m2"));
        let back = json!({
            "route_key": first["run"]["route_key"], "agent": AGENT, "run": "back", "conversation_id": "S1",
            "cause": "rewind", "anchor": { "turn_key": "m1" },
        });
        launcher.post("/v1/contexts/resolve", &back).is(200);
        let third = send(&launcher, &keyed("three", "m3"));
        until("all three turns are told", || {
            let spans = sink.spans();
            let roots: Vec<_> = spans
                .iter()
                .filter(|s| s["parentSpanId"].as_str().unwrap_or_default().is_empty())
                .collect();
            let known = |s: &&&serde_json::Value| s["traceId"] == third["run"]["trace_id"];
            let Some(root) = roots.iter().find(known) else {
                return false;
            };
            assert!(spans.iter().all(|s| s["attributes"]["session.id"] == "S1"));
            let link = &root["links"][0];
            assert_eq!(link["attributes"]["siglum.link.type"], "rewind");
            assert_eq!(link["traceId"], first["run"]["trace_id"]);
            roots.len() == 3
        });
    });
}

/// A message in the conversation S1 whose turn is called so.
fn keyed(text: &str, key: &str) -> serde_json::Value {
    let mut body = to(&json!("S1"), text);
    body["turn_key"] = json!(key);
    body
}
