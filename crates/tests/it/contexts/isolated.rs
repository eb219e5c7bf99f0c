//! Runs that see nothing of each other, and those that see what they should.

use serde_json::{Value, json};

use super::host::{Host, recorded, strings, texts, turn, with};
use crate::gateway::server::{Gateway, each_store};

const HEARTBEAT: &str = "agent:main:main:heartbeat";
const MAIN: &str = "agent:main:main";
const ONE: &str = "9b1d0001-0000-4000-8000-000000000001";
const TWO: &str = "9b1d0001-0000-4000-8000-000000000002";

fn tick(n: u32) -> String {
    format!("5f0c1a7e-0000-4000-8000-00000000000{n}")
}

fn route(host: &Host, key: &str) -> Value {
    let path = format!("/v1/route?route_key={key}");
    host.client.get(&path).is(200)
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn three_isolated_ticks_see_nothing_of_each_other() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        host.play(&recorded("three isolated ticks"));
        assert_eq!(host.assembled, [none(), none(), none()]);
        let shown = route(&host, HEARTBEAT);
        assert_eq!(shown["route"]["runs"], 3);
        let contexts = shown["contexts"].as_array().unwrap();
        assert_eq!(contexts.len(), 3);
        for context in contexts {
            let session = context["session"].as_str().unwrap();
            assert_eq!(context["cause"], "tick");
            assert_eq!(context["context_key"], format!("{HEARTBEAT}-run:{session}"));
        }
    });
}

#[test]
fn a_wake_with_the_same_route_makes_no_other_one() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        for _ in 0..2 {
            host.play(&recorded("three isolated ticks")[..2]);
        }
        let routes = host.client.get("/v1/routes").is(200);
        assert_eq!(routes["items"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn an_overflow_compacts_the_context_of_its_tick_alone() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let calls = recorded("a tick that overflows");
        let begins = calls.iter().position(|c| c["call"] == "compact").unwrap();
        host.play(&calls[..begins]);
        let first = host.keys(HEARTBEAT, &tick(1));
        let before = (host.assemble(&first), host.get("explanation", &first));
        host.play(&calls[begins..]);
        assert_eq!(
            (host.assemble(&first), host.get("explanation", &first)),
            before
        );
        let second = host.keys(HEARTBEAT, &tick(2));
        let seen = host.assemble(&second);
        assert_eq!(seen["messages"][0]["origin"], "summary");
        assert_eq!(
            texts(&seen),
            [
                "Tick 2 read everything.",
                "[tick 2] Check on things.",
                "HEARTBEAT_OK"
            ]
        );
        assert_eq!(host.assembled, [none(), none(), none()]);
    });
}

#[test]
fn a_shared_heartbeat_is_flagged_and_can_be_left_out() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve(MAIN, json!({}));
        assert_eq!(keys["context_key"], keys["route_key"]);
        host.commit_turns(&keys, &["a"]);
        let mut beat = turn("beat");
        beat["heartbeat"] = json!(true);
        host.commit(&keys, beat);
        let all = host.assemble(&keys);
        assert_eq!(texts(&all), strings(&["a", "beat"]));
        assert_eq!(all["messages"][2]["heartbeat"], true);
        let ask = json!({ "budget": 1000, "without_heartbeats": true });
        let without = host.post("assemble", &with(&keys, ask)).is(200);
        assert_eq!(texts(&without), strings(&["a"]));
    });
}

#[test]
fn two_isolated_cron_runs_are_two_contexts_of_one_route() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        host.play(&recorded("two isolated cron runs"));
        assert_eq!(host.assembled, [none(), none()]);
        let routes = host.client.get("/v1/routes").is(200);
        let routes = routes["items"].as_array().unwrap();
        assert_eq!(routes.len(), 1, "one job");
        assert_eq!(routes[0]["runs"], 2);
        let contexts = route(&host, "agent:main:cron:nightly")["contexts"].clone();
        assert_eq!(contexts.as_array().unwrap().len(), 2);
        assert_eq!(contexts[0]["cause"], "cron-run");
    });
}

#[test]
fn a_named_cron_session_goes_on() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        host.play(&recorded("a named cron session"));
        assert_eq!(host.assembled[1], ["Any release?", "None."]);
    });
}

#[test]
fn after_a_reset_the_past_is_not_seen_and_can_be_recalled() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        host.play(&recorded("a reset"));
        assert_eq!(host.assembled, [none(), none()]);
        let keys = host.keys(MAIN, ONE);
        let lineage = host.get("lineage", &keys);
        let moved = &lineage["moves"][0];
        assert_eq!(
            (&moved["from"], &moved["cause"]),
            (&json!(MAIN), &json!("reset"))
        );
        let before = json!({ "route_key": MAIN, "context_key": moved["from"] });
        assert_eq!(host.seen(&before), ["My name is Ada.", "Hello Ada."]);
    });
}

fn settings(store: &crate::gateway::server::Store, text: &str) {
    let dir = store.world.root.join("config/siglum");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), text).unwrap();
}

/// Serves with settings of the user.
fn with_settings(store: &crate::gateway::server::Store, text: &str) -> Gateway {
    settings(store, text);
    let dir = store.world.root.join("config");
    Gateway::with(store, &[], &[("XDG_CONFIG_HOME", dir.to_str().unwrap())])
}

#[test]
fn a_reset_that_keeps_a_tail_keeps_exactly_that() {
    each_store(|store| {
        let text = "[[contexts]]\nroutes = \"chat:*\"\nreset = \"tail:6\"\n";
        let gateway = with_settings(store, text);
        let mut host = Host::new(&gateway);
        let before = host.resolve("chat:1", json!({}));
        host.commit_turns(&before, &["a", "b", "c", "d", "e"]);
        let keys = host.resolve("chat:1", json!({ "cause": "reset" }));
        assert_eq!(keys["inherit"], "tail:6");
        let seen = host.assemble(&keys);
        assert_eq!(texts(&seen), strings(&["c", "d", "e"]));
        for message in seen["messages"].as_array().unwrap() {
            assert_eq!(
                (&message["origin"], &message["from"]),
                (&json!("inherited"), &json!("chat:1"))
            );
        }
    });
}

#[test]
fn an_idle_rollover_has_the_tail_and_names_the_one_before() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        host.play(&recorded("an idle rollover"));
        assert_eq!(
            host.assembled,
            [
                none(),
                vec!["My name is Ada.".to_owned(), "Hello Ada.".to_owned()]
            ]
        );
        let keys = host.keys(MAIN, TWO);
        assert_eq!(
            (&keys["cause"], &keys["parent"]),
            (&json!("idle"), &json!(MAIN))
        );
    });
}

#[test]
fn a_rewind_goes_on_from_its_anchor() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        host.play(&recorded("a rewind to message 2"));
        let keys = host.keys(MAIN, TWO);
        assert_eq!(host.seen(&keys), ["One.", "First.", "Three.", "Third."]);
        let before = json!({ "route_key": MAIN, "context_key": MAIN });
        assert_eq!(host.seen(&before), ["One.", "First.", "Two.", "Second."]);
    });
}

#[test]
fn a_fork_shares_its_prefix_by_reference() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        host.play(&recorded("a fork from message 2"));
        let child = host.keys("agent:main:dashboard:77", TWO);
        assert_eq!(host.seen(&child), ["One.", "First.", "Three.", "Third."]);
        let parent = host.keys(MAIN, ONE);
        assert_eq!(host.seen(&parent), ["One.", "First.", "Two.", "Second."]);
        let lineage = host.get("lineage", &parent);
        assert_eq!(lineage["children"][0]["context_key"], child["context_key"]);
        let path = format!("/v1/sessions/{}/events", child["session"].as_str().unwrap());
        let own = host.client.get(&path).is(200).to_string();
        assert!(
            own.contains("Three.") && !own.contains("One."),
            "stored once: {own}"
        );
    });
}

#[test]
fn a_sub_agent_has_what_was_declared_or_leaves_nothing() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let parent = host.resolve(MAIN, json!({}));
        host.commit_turns(&parent, &["a"]);
        let rows = || {
            let tables = ["routes", "contexts", "context_runs", "sessions", "aliases"];
            tables.map(|table| store.sql(&format!("SELECT count(*) FROM {table}")))
        };
        let spawn = |host: &Host, n: u32, inherit: &str| {
            let child = json!({
                "route_key": format!("agent:main:subagent:{n}"), "agent": "openclaw",
                "run": format!("spawn-{n}"),
            });
            let body = with(&parent, json!({ "child": child, "inherit": inherit }));
            host.post("prepare-subagent", &body).is(200)
        };
        for (n, inherit, seen) in [(1, "none", none()), (2, "all", strings(&["a"]))] {
            let child = spawn(&host, n, inherit);
            assert_eq!(
                (&child["cause"], &child["parent"]),
                (&json!("subagent"), &json!(MAIN))
            );
            assert_eq!(host.seen(&child), seen);
            host.commit_turns(&child, &["own"]);
            let body = with(&child, json!({ "outcome": "done" }));
            host.post("subagent-ended", &body).is(200);
        }
        let before = rows();
        let child = spawn(&host, 3, "all");
        assert_ne!(rows(), before);
        let body = with(&child, json!({ "outcome": "never-started" }));
        host.post("subagent-ended", &body).is(200);
        assert_eq!(rows(), before);
    });
}
