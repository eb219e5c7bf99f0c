//! Turns are stored once and in order, whoever hands them over how often.

use serde_json::{Value, json};

use super::host::{Host, strings, texts, turn, with};
use crate::gateway::server::{Gateway, audited, each_store, stored};
use crate::harness::until;

fn numbered(n: u64) -> Value {
    let mut turn = turn(&format!("t{n}"));
    turn["positions"] = json!({ "first": 2 * n + 1, "last": 2 * n + 2 });
    turn
}

#[test]
fn a_commit_that_is_delivered_twice_is_stored_once() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        let first = host.commit(&keys, turn("a"));
        let again = host.commit(&keys, turn("a"));
        assert_eq!(again["outcome"], "duplicate");
        assert_eq!(again["receipt"], first["receipt"]);
        assert_eq!(host.seen(&keys), strings(&["a"]));
    });
}

#[test]
fn another_content_under_the_same_key_is_a_conflict_and_is_noted() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        host.commit_turns(&keys, &["a"]);
        let mut other = turn("b");
        other["turn_key"] = json!("a");
        let refused = host.post("commit", &with(&keys, other));
        let problem = refused.problem(409, "conflict");
        assert_eq!(problem["fate"], "not-committed");
        assert_eq!(host.seen(&keys), strings(&["a"]));
        let noted = audited(&gateway, "context.conflict");
        assert_eq!(noted.len(), 1);
    });
}

#[test]
fn what_comes_late_or_not_at_all_comes_to_its_place() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({ "next_position": 1 }));
        for n in [0, 1] {
            host.commit(&keys, numbered(n));
        }
        // Turn 2 comes late, turn 3 never came: the bridge was away.
        host.commit(&keys, numbered(2));
        let begin = json!({ "last_position": 8 });
        let stands = host.post("bootstrap", &with(&keys, begin)).is(200);
        assert_eq!(
            (&stands["gaps"][0]["first"], &stands["gaps"][0]["last"]),
            (&json!(7), &json!(8))
        );
        let ask = with(&keys, json!({ "budget": 1000 }));
        let problem = host.post("assemble", &ask).problem(409, "gap");
        assert!(
            problem["detail"].as_str().unwrap().contains("7 to 8"),
            "{problem}"
        );
        let behind = host.commit(&keys, numbered(4));
        assert_eq!(
            (&behind["outcome"], &behind["expected"]),
            (&json!("behind"), &json!(7))
        );
        let filled = host.post("backfill", &with(&keys, numbered(3))).is(200);
        assert_eq!(filled["outcome"], "committed");
        assert_eq!(host.commit(&keys, numbered(4))["outcome"], "committed");
        assert_eq!(host.seen(&keys), strings(&["t0", "t1", "t2", "t3", "t4"]));
        let gaps = host.get("gaps", &keys);
        assert!(gaps["items"][0]["filled_at"].is_string(), "{gaps}");
    });
}

#[test]
fn a_gap_that_is_accepted_is_explained_and_in_nobodys_way() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        host.commit(&keys, numbered(0));
        assert_eq!(host.commit(&keys, numbered(2))["outcome"], "behind");
        let mut ask = json!({ "budget": 1000, "accept_gaps": true });
        host.post("assemble", &with(&keys, ask.clone())).is(200);
        ask["accept_gaps"] = json!(false);
        host.post("assemble", &with(&keys, ask)).problem(409, "gap");
        let accepted = host.post("accept-gap", &with(&keys, json!({}))).is(200);
        assert_eq!(accepted["accepted"], 1);
        assert_eq!(host.commit(&keys, numbered(2))["outcome"], "committed");
        assert_eq!(host.seen(&keys), strings(&["t0", "t2"]));
        let gaps = host.get("explanation", &keys)["gaps"].clone();
        assert!(gaps[0]["accepted_by"].is_string(), "{gaps}");
    });
}

#[test]
fn a_broken_off_turn_is_not_committed_and_the_next_one_names_it() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        host.commit_turns(&keys, &["a"]);
        let message = json!({
            "turn_key": "broken", "index": 0,
            "message": { "type": "user", "text": "ask broken" },
        });
        host.post("ingest", &with(&keys, message)).is(200);
        gateway.kill();
        gateway.restart(store);
        host.client = gateway.launcher();
        let mut again = turn("again");
        again["recovers"] = json!("broken");
        assert_eq!(host.commit(&keys, again)["outcome"], "committed");
        assert_eq!(host.seen(&keys), strings(&["a", "again"]));
        let recovered = host.get("explanation", &keys)["recovered"].clone();
        assert_eq!(
            recovered,
            json!([{ "turn_key": "again", "recovers": "broken" }])
        );
    });
}

#[test]
fn an_overflow_in_the_middle_of_a_turn_is_met_there() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        host.commit_turns(&keys, &["a", "b"]);
        let ingest = |place: usize| {
            let message = json!({
                "turn_key": "t", "index": place, "message": turn("t")["messages"][place],
            });
            host.post("ingest", &with(&keys, message)).is(200);
        };
        ingest(0);
        let compact = json!({ "turn_key": "c", "summary": "a and b", "trigger": "overflow" });
        let done = host.post("compact", &with(&keys, compact)).is(200);
        assert_eq!(done["outcome"], "committed", "{done}");
        let inside = json!({ "budget": 1000, "during": "tool-loop" });
        let seen = host.post("assemble", &with(&keys, inside)).is(200);
        assert_eq!(texts(&seen), ["a and b", "ask t"]);
        assert_eq!(seen["coverage"], "current-turn");
        ingest(1);
        assert_eq!(host.commit(&keys, turn("t"))["outcome"], "committed");
        assert_eq!(host.seen(&keys), ["a and b", "ask t", "say t"]);
    });
}

#[test]
fn three_turns_at_once_on_one_route_are_all_stored() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        for round in 0..10 {
            std::thread::scope(|scope| {
                for n in 0..3 {
                    let (host, keys) = (&host, &keys);
                    scope.spawn(move || host.commit_turns(keys, &[&format!("{round}-{n}")]));
                }
            });
        }
        let seen = host.seen(&keys);
        assert_eq!(seen.len(), 60);
        for pair in seen.chunks(2) {
            assert_eq!(pair[0].replace("ask", "say"), pair[1], "no turn is torn");
        }
    });
}

#[test]
fn keys_that_differ_in_case_alone_are_two_routes() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let [low, high] = ["agent:x:peer", "agent:x:Peer"].map(|key| host.resolve(key, json!({})));
        host.commit_turns(&low, &["low"]);
        assert_eq!(host.seen(&high), Vec::<String>::new());
        let routes = host.client.get("/v1/routes").is(200);
        assert_eq!(routes["items"].as_array().unwrap().len(), 2);
    });
}

/// Selectors that are missing something or malformed, each with the field that is wrong.
fn malformed() -> Vec<(Value, &'static str)> {
    vec![
        (json!({ "agent": "openclaw", "run": "x" }), "route_key"),
        (
            json!({ "route_key": "", "agent": "openclaw", "run": "x" }),
            "route_key",
        ),
        (
            json!({ "route_key": " r", "agent": "openclaw", "run": "x" }),
            "route_key",
        ),
        (
            json!({ "route_key": null, "agent": "openclaw", "run": "x" }),
            "route_key",
        ),
        (
            json!({ "route_key": "r", "agent": "openclaw", "run": "" }),
            "run",
        ),
        (
            json!({ "route_key": "r", "agent": "Open Claw", "run": "x" }),
            "agent",
        ),
        (
            json!({ "route_key": "r", "agent": "openclaw", "run": "x", "cause": "Tick" }),
            "cause",
        ),
        (
            json!({ "route_key": "r", "agent": "openclaw", "run": "x", "cause": "rewind" }),
            "anchor",
        ),
        (
            json!({ "route_key": "t", "agent": "openclaw", "run": "x", "cause": "fork" }),
            "from",
        ),
        (
            json!({ "route_key": "r", "agent": "openclaw", "run": "x", "cause": "rewind", "anchor": { "message": 99 } }),
            "anchor",
        ),
        (
            json!({ "route_key": "r", "agent": "openclaw", "run": "x", "links": { "issue_number": "1" } }),
            "issue_number",
        ),
    ]
}

#[test]
fn a_missing_or_malformed_selector_is_refused_and_writes_nothing() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        host.commit_turns(&keys, &["a"]);
        let other = host.resolve("s", json!({}));
        let rows = || {
            let tables = [
                "routes",
                "contexts",
                "context_turns",
                "context_gaps",
                "context_runs",
            ];
            let counts = tables.map(|table| store.sql(&format!("SELECT count(*) FROM {table}")));
            (counts, stored(store, &gateway))
        };
        until("what was committed is summed up", || rows() == rows());
        let before = rows();
        for (bad, field) in malformed() {
            let refused = host.post("resolve", &bad);
            assert_eq!(refused.status, 400, "{bad}: {}", refused.text);
            assert!(refused.text.contains(field), "{bad}: {}", refused.text);
        }
        let context = keys["context_key"].clone();
        let mixed = json!({ "route_key": other["route_key"], "context_key": context });
        for call in [
            "bootstrap",
            "assemble",
            "commit",
            "compact",
            "maintain",
            "after-turn",
            "accept-gap",
        ] {
            let more = json!({
                "budget": 1, "turn_key": "x", "summary": "s", "outcome": "done",
                "messages": [{ "type": "user", "text": "x" }],
            });
            let more = super::taken(call, &more);
            let refused = host.post(call, &with(&mixed, more.clone()));
            refused.problem(409, "keys-mismatch");
            let nowhere = json!({ "route_key": "r", "context_key": "nowhere" });
            host.post(call, &with(&nowhere, more.clone()))
                .problem(404, "not-found");
            let missing = json!({ "route_key": "r" });
            let refused = host.post(call, &missing);
            assert_eq!(refused.status, 400, "{call}: {}", refused.text);
        }
        let never = json!({ "turn_key": "never-said", "outcome": "done" });
        let refused = host.post("after-turn", &with(&keys, never));
        refused.problem(409, "no-turn");
        assert_eq!(rows(), before);
    });
}

#[test]
fn a_restart_changes_nothing() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        host.commit_turns(&keys, &["a"]);
        gateway.restart(store);
        host.client = gateway.launcher();
        let again = host.resolve("r", json!({}));
        assert_eq!(again["context_key"], keys["context_key"]);
        assert_eq!(again["session"], keys["session"]);
        assert_eq!(host.seen(&again), strings(&["a"]));
    });
}

#[test]
fn how_a_route_fares_does_not_depend_on_who_wrote_last() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let tick = host.resolve("alerts", json!({ "cause": "tick" }));
        host.commit_turns(&tick, &["alert"]);
        let other = host.resolve("agent:main:main", json!({}));
        host.commit_turns(&other, &["somebody"]);
        let ran = json!({ "turn_key": "alert", "outcome": "delivered", "heartbeat": true });
        host.post("after-turn", &with(&tick, ran)).is(200);
        let shown = host.client.get("/v1/route?route_key=alerts").is(200);
        let last = &shown["route"]["last"];
        assert_eq!(
            (&last["outcome"], &last["session"]),
            (&json!("delivered"), &tick["session"])
        );
    });
}

#[test]
fn a_run_is_found_by_its_links_and_names_its_context() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let links = json!({ "issue_number": 42, "pr_number": 7 });
        let keys = host.resolve("r", json!({ "cause": "tick", "links": links }));
        host.resolve(
            "r",
            json!({ "cause": "tick", "links": { "issue_number": 43 } }),
        );
        for by in ["issue_number=42", "pr_number=7"] {
            let found = host.client.get(&format!("/v1/sessions?{by}"));
            let found = found.is(200)["items"].clone();
            assert_eq!(found.as_array().unwrap().len(), 1, "{by}: {found}");
            assert_eq!(found[0]["id"], keys["session"]);
        }
        let lineage = host.get("lineage", &keys);
        assert_eq!(lineage["ancestors"][0]["session"], keys["session"]);
    });
}
