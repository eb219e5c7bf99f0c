//! Heartbeats that go on in the context of their route, and what is left of old ticks.

use serde_json::{Value, json};

use super::played::{put, ran, ticks};
use crate::gateway::server::{Gateway, audited, each_store, tenant};
use crate::harness::until;
use crate::messages::played::{arguments, lines, send, serve};

const ROUTE: &str = "agent:main:main";

/// The texts that were assembled, and whether each is that of a heartbeat.
fn flagged(assembled: &Value) -> Vec<(String, bool)> {
    let messages = assembled["messages"].as_array().unwrap().iter();
    let text_and_flag = |m: &Value| {
        (
            m["text"].as_str().unwrap().to_owned(),
            m["heartbeat"] == true,
        )
    };
    messages.map(text_and_flag).collect()
}

#[test]
fn ticks_of_a_shared_heartbeat_are_flagged_and_can_be_left_out() {
    each_store(|store| {
        // What the agent remembers itself outlives its process.
        let state = store.world.root.display().to_string();
        let arguments = arguments(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let gateway = Gateway::with(store, &arguments, &[("PLAYED_ACP_STATE", &state)]);
        let client = gateway.launcher();
        let speak = |text: &str, resume: bool| {
            let mut body = lines(text);
            body["route_key"] = json!(ROUTE);
            body["resume"] = json!(resume);
            send(&client, &body)["run"].clone()
        };
        let first = speak("ours", false);
        let shared =
            json!({ "every": "1h", "prompt": "beat", "route_key": ROUTE, "isolated": false });
        put(&client, "main", &shared);
        let tick = ran(&client, "main", "ran");
        assert_eq!(tick["session"], first["session"]);
        assert_eq!(tick["context_key"], ROUTE);
        assert_eq!(speak("more", true)["session"], first["session"]);
        let mut ask = json!({ "route_key": ROUTE, "context_key": ROUTE, "budget": 1000 });
        let all = client.post("/v1/contexts/assemble", &ask).is(200);
        let of = |text: &str, beat: bool| [(); 2].map(|()| (text.to_owned(), beat));
        let [ours, beat, more] = [of("ours", false), of("beat", true), of("more", false)];
        assert_eq!(flagged(&all), [ours.clone(), beat, more.clone()].concat());
        ask["without_heartbeats"] = json!(true);
        let without = client.post("/v1/contexts/assemble", &ask).is(200);
        assert_eq!(flagged(&without), [ours, more].concat());
        let route = client.get(&format!("/v1/route?route_key={ROUTE}")).is(200);
        assert_eq!(route["contexts"].as_array().unwrap().len(), 1, "{route}");
    });
}

#[test]
fn what_lives_is_known_when_its_ticks_are_gone() {
    each_store(|store| {
        let mut gateway = serve(store, &[]);
        let client = gateway.launcher();
        let kept = json!({ "every": "24h", "keep": "1h", "route_key": "team:main" });
        put(&client, "h", &kept);
        let old: Vec<Value> = (0..3).map(|_| ran(&client, "h", "ran")).collect();
        let shown = client.get("/v1/heartbeats/h").is(200);
        let lived = shown["alive_at"].clone();
        assert!(lived.is_string(), "{shown}");
        let totals = shown["totals"].clone();
        gateway.stop();
        // Two hours go by, as far as ticks tell.
        let ours = if store.is_file() {
            String::new()
        } else {
            format!("WHERE tenant = '{}'", tenant(store))
        };
        store.sql(&format!(
            "UPDATE ticks SET due = due - 7200000000000 {ours}"
        ));
        gateway.restart(store);
        let client = gateway.launcher();
        until("old ticks are let go", || {
            ticks(&client, "h", "ran").len() == 1
        });
        let shown = client.get("/v1/heartbeats/h").is(200);
        assert_eq!(shown["alive_at"], lived);
        let newest = &old[2]["session"];
        assert_eq!(shown["last"]["session"], *newest, "{shown}");
        assert_eq!(shown["totals"], totals);
        assert_eq!(totals[0]["ticks"], 3, "{totals}");
        for (tick, status) in old.iter().zip([404, 404, 200]) {
            let path = format!("/v1/sessions/{}", tick["session"].as_str().unwrap());
            assert_eq!(client.get(&path).status, status, "{tick}");
        }
        let route = client.get("/v1/route?route_key=team:main").is(200);
        assert_eq!(route["route"]["last"]["session"], *newest, "{route}");
        assert!(!audited(&gateway, "heartbeat.swept").is_empty());
    });
}
