//! Ticks, as `siglum serve` runs them.

use std::time::Duration;

use serde_json::{Value, json};

use super::played::{put, ran, texts, ticks};
use crate::gateway::server::{counted, each_store, each_store_at_once, on_a_file};
use crate::harness::{until, until_within};
use crate::messages::played::{AGENT, serve};

/// How long a tick is held by one that died, and a little more.
const LOST: Duration = Duration::from_secs(100);

#[test]
fn ten_isolated_ticks_have_ten_contexts_and_one_route() {
    each_store_at_once(|store| {
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        // Two look after one store: each tick is one's.
        let beside = gateway.beside(store);
        let one = put(
            &client,
            "fast",
            &json!({ "route_key": "team:main:heartbeat:heartbeat" }),
        );
        assert_eq!(one["route_key"], "team:main:heartbeat");
        until_within(LOST, "ten ticks ran", || {
            ticks(&client, "fast", "ran").len() >= 10
        });
        client.post("/v1/heartbeats/fast/pause", &json!({})).is(200);
        let ran = ticks(&client, "fast", "ran");
        let (contexts, sessions) = (texts(&ran, "context_key"), texts(&ran, "session"));
        assert_eq!(
            (contexts.len(), sessions.len()),
            (ran.len(), ran.len()),
            "one each"
        );
        assert_eq!(texts(&ran, "due").len(), ran.len(), "each time once");
        for tick in &ran {
            let own = format!(
                "team:main:heartbeat-run:{}",
                tick["session"].as_str().unwrap()
            );
            assert_eq!(tick["context_key"], own);
        }
        for session in &sessions {
            // What the played agent said: how many prompts it had seen before, and an answer.
            let messages = client
                .get(&format!("/v1/sessions/{session}/messages"))
                .is(200);
            assert!(messages.to_string().contains("0Two wait."), "{messages}");
        }
        assert_eq!(ticks(&client, "fast", "failed"), Vec::<Value>::new());
        drop(beside);
    });
}

#[test]
fn ticks_are_counted_by_their_end_and_how_late_they_began() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        let count = |name: &str| counted(&gateway, &format!("siglum_heartbeat_ticks_{name}"));
        assert_eq!(count("late_seconds_count"), 0);
        put(&client, "wombat", &json!({ "every": "1h" }));
        ran(&client, "wombat", "ran");
        until("the tick is counted", || {
            count("ended_total{outcome=\"done\"}") == 1
        });
        assert_eq!((count("active"), count("late_seconds_count")), (0, 1));
        let metrics = gateway.stranger().get("/metrics").text;
        assert!(!metrics.contains("wombat"), "{metrics}");
    });
}

#[test]
fn a_tick_whose_gateway_is_killed_is_listed_and_not_run_again() {
    each_store_at_once(|store| {
        let mut gateway = serve(store, &[]);
        let marks = store.world.root.join("marks");
        let mark = format!(
            "!tool c1 Bash execute {{}}\n!sh echo begun >> {}\n!sleep 300",
            marks.display()
        );
        let client = gateway.launcher();
        put(&client, "slow", &json!({ "every": "1h", "prompt": mark }));
        let tick = client.post("/v1/heartbeats/slow/run", &json!({})).is(202);
        until("the agent is at work", || marks.exists());
        until("its call is stored", || {
            store.sql("SELECT count(*) FROM pending WHERE kind = 'tool_started'") == "1"
        });
        client
            .post("/v1/heartbeats/slow/run", &json!({}))
            .problem(409, "heartbeat-running");
        gateway.kill();
        let gateway = gateway.beside(store);
        let client = gateway.launcher();
        until_within(LOST, "the tick is told as lost", || {
            !ticks(&client, "slow", "interrupted").is_empty()
        });
        let lost = ticks(&client, "slow", "interrupted").remove(0);
        assert_eq!((&lost["id"], &lost["due"]), (&tick["id"], &tick["due"]));
        assert!(lost["session"].is_string(), "what it did can be read");
        let begun = std::fs::read_to_string(&marks).unwrap();
        assert_eq!(begun.lines().count(), 1, "it is not run again");
        let open = store.sql("SELECT count(*) FROM open_turns");
        assert_eq!(open, "0", "nobody goes on with it, so that nobody is asked");
        if store.is_file() {
            let world = &store.world;
            let recover = world.json(&world.root, &["session", "recover"]);
            assert_eq!(recover["turns"], json!([]), "{recover}");
        }
        let session = lost["session"].as_str().unwrap();
        let reply = client.get(&format!("/v1/sessions/{session}/messages"));
        assert!(reply.is(200).to_string().contains("echo begun"));
    });
}

#[test]
fn what_breaks_a_rule_is_refused_and_nothing_is_written() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        for (more, field) in [
            (json!({ "every": "0s" }), "definition.every"),
            (json!({ "zone": "Europe/Atlantis" }), "definition.zone"),
            (json!({ "target": "command" }), "definition.target"),
            (
                json!({ "target": "webhook", "webhook": "http://team.example/x" }),
                "definition.webhook",
            ),
            // An address of this machine or its network is the operator's to name.
            (
                json!({ "target": "webhook", "webhook": "http://127.0.0.2:9/x" }),
                "definition.webhook",
            ),
            (
                json!({ "target": "webhook", "webhook": "https://localhost/x" }),
                "definition.webhook",
            ),
            (
                json!({ "target": "webhook", "webhook": "https://169.254.169.254/x" }),
                "definition.webhook",
            ),
            (
                json!({ "target": "webhook", "webhook": "https://[fd00::1]/x" }),
                "definition.webhook",
            ),
            (
                json!({ "target": "webhook", "webhook": "https://2130706433/x" }),
                "definition.webhook",
            ),
            (
                json!({ "target": "webhook", "webhook": "https://127.1/x" }),
                "definition.webhook",
            ),
            (json!({ "route_key": "a b" }), "definition.route_key"),
            (json!({ "schema": {} }), "definition.schema"),
            (
                json!({ "target": "webhook", "webhook": "https://team.example/x", "schema": true }),
                "definition.schema",
            ),
        ] {
            let mut definition = json!({ "agent": AGENT, "every": "1s", "prompt": "x" });
            for (name, value) in more.as_object().unwrap() {
                definition[name] = value.clone();
            }
            let refused = client.post(
                "/v1/heartbeats",
                &json!({ "name": "h", "definition": definition }),
            );
            refused.refuses(field);
        }
        let none = client.get("/v1/heartbeats").is(200);
        assert_eq!(none["items"], json!([]));
        client.get("/v1/heartbeats/h").problem(404, "not-found");
        // A file is read where agents may work, and nowhere else.
        put(
            &client,
            "spy",
            &json!({ "every": "1h", "prompt": null, "prompt_file": "passwd", "cwd": "/etc" }),
        );
        client.post("/v1/heartbeats/spy/run", &json!({})).is(202);
        until("it is refused", || {
            !ticks(&client, "spy", "failed").is_empty()
        });
        let failed = ticks(&client, "spy", "failed").remove(0);
        assert!(
            failed["reason"].as_str().unwrap().starts_with("cwd:"),
            "{failed}"
        );
        assert_eq!(failed["session"], Value::Null, "nothing was begun");
    });
}

#[test]
fn a_host_and_a_heartbeat_come_to_one_route_whichever_comes_first() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        for first in ["host", "beat"] {
            let route = format!("agent:{first}:heartbeat:heartbeat");
            let host = || {
                let ask =
                    json!({ "route_key": route, "agent": AGENT, "run": first, "cause": "tick" });
                let keys = client.post("/v1/contexts/resolve", &ask).is(200);
                assert_eq!(keys["route_key"], format!("agent:{first}:heartbeat"));
            };
            if first == "host" {
                host();
            }
            put(
                &client,
                first,
                &json!({ "every": "1h", "prompt": "x", "route_key": route }),
            );
            ran(&client, first, "ran");
            if first == "beat" {
                host();
            }
        }
        let routes = client.get("/v1/routes").is(200);
        let routes = routes["items"].as_array().unwrap();
        let mut keys: Vec<_> = routes.iter().map(|r| r["route_key"].clone()).collect();
        keys.sort_by_key(ToString::to_string);
        assert_eq!(keys, ["agent:beat:heartbeat", "agent:host:heartbeat"]);
    });
}
