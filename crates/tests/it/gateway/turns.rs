//! Turns: one session over several, many sessions at once, and two drivers of one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::{Client, id, secret, turn_body};
use super::server::{Gateway, base, each_store, siglum};
use crate::harness::until;

#[test]
fn two_turns_of_one_name_are_one_session_and_counted_together() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
        let own = gateway.client(&secret(&created));
        let session = id(&created);
        let (epoch, head) = own.lease(&session, "n");
        let first = own
            .turn(&session, "t1", &turn_body(epoch, head, "t1"))
            .unwrap()
            .is(200);
        let head = first["receipt"]["last"].as_u64().unwrap();
        let again = gateway.launcher().post("/v1/sessions", &base("S1")).is(200);
        assert_eq!(again["session"]["id"], created["session"]["id"]);
        let second = own
            .turn(&session, "t2", &turn_body(epoch, head, "t2"))
            .unwrap()
            .is(200);
        let (first, second) = (&first["receipt"], &second["receipt"]);
        assert_eq!(
            (&first["number"], &second["number"]),
            (&json!(1), &json!(2))
        );
        assert_eq!(
            second["previous"], first["digest"],
            "the second is chained to the first"
        );
        assert_eq!(
            second["first"].as_u64(),
            first["last"].as_u64().map(|n| n + 1)
        );
        let read_session = || own.get(&format!("/v1/sessions/{session}")).is(200);
        until("both are counted", || read_session()["turns"] == 2);
        let used = &read_session()["tokens"];
        assert_eq!((&used["input"], &used["output"]), (&json!(20), &json!(6)));
        // Asked for again, a turn is what it was; saying something else under its key is refused.
        let twice = own
            .turn(&session, "t1", &turn_body(epoch, 0, "t1"))
            .unwrap()
            .is(200);
        assert_eq!(
            (&twice["already"], &twice["receipt"]),
            (&json!(true), first)
        );
        let other = own
            .turn(&session, "t1", &turn_body(epoch, head, "t9"))
            .unwrap();
        assert_eq!(other.status, 409, "{}", other.text);
        let receipts = own.get(&format!("/v1/sessions/{session}/receipts")).is(200);
        assert_eq!(receipts["items"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn ten_at_once_never_see_each_other() {
    each_store(|store| {
        let gateway = Gateway::with(store, &["--creations", "1000000"], &[]);
        std::thread::scope(|scope| {
            for worker in 0..10 {
                let gateway = &gateway;
                scope.spawn(move || {
                    for round in 0..100 {
                        alone(gateway, &format!("w{worker}-{round}-x"));
                    }
                });
            }
        });
        assert_eq!(store.sql("SELECT count(*) FROM sessions"), "1000");
        assert_eq!(store.sql("SELECT count(*) FROM receipts"), "1000");
    });
}

/// A session whose answers and log speak of it alone.
fn alone(gateway: &Gateway, name: &str) {
    let created = gateway.launcher().create(&base(name));
    let (session, own) = (id(&created), gateway.client(&secret(&created)));
    assert_eq!(created["session"]["conversation_id"], name);
    let (epoch, head) = own.lease(&session, name);
    let receipt = own
        .turn(&session, name, &turn_body(epoch, head, name))
        .unwrap()
        .is(200);
    assert_eq!(receipt["receipt"]["session"], session.as_str());
    let log = own.get(&format!("/v1/sessions/{session}/events")).is(200);
    let entries = log["items"].as_array().unwrap();
    assert!(entries.len() >= 3, "{log}");
    for entry in entries {
        assert!(entry["key"].as_str().unwrap().contains(name), "{entry}");
    }
}

#[test]
fn two_drivers_of_one_session_are_never_both_its_writer() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
        let (session, own) = (id(&created), gateway.client(&secret(&created)));
        let (epoch, head) = own.lease(&session, "one");
        let lease = json!({ "holder": "tests", "nonce": "two", "term_ms": 60_000 });
        let path = format!("/v1/sessions/{session}/lease");
        let busy = own.post(&path, &lease);
        assert_eq!(busy.status, 409, "{}", busy.text);
        assert_eq!(busy.json()["fate"], "not-committed");
        // Two at once under one lease: one of them is first, and the other is told where the log ends now.
        let both: Vec<u16> = std::thread::scope(|scope| {
            let one = |key: &'static str| {
                let (own, session) = (own.clone(), session.clone());
                scope.spawn(move || {
                    own.turn(&session, key, &turn_body(epoch, head, key))
                        .unwrap()
                        .status
                })
            };
            let all = ["t1", "t2"].map(one);
            all.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(
            both.iter().collect::<BTreeSet<_>>(),
            [200, 409].iter().collect()
        );
        let (lost, first) = if both[0] == 409 {
            ("t1", "t2")
        } else {
            ("t2", "t1")
        };
        // Whoever held it before has nothing to say any more.
        own.post(&format!("{path}/release"), &json!({ "epoch": epoch }))
            .is(200);
        let (newer, head) = own.lease(&session, "two");
        assert!(newer > epoch);
        let late = own
            .turn(&session, "t3", &turn_body(epoch, head, "t3"))
            .unwrap();
        assert_eq!(late.status, 409, "{}", late.text);
        own.turn(&session, "t4", &turn_body(newer, head, "t4"))
            .unwrap()
            .is(200);
        let log = entries(&own, &session);
        assert!(log.contains(first) && log.contains("t4"), "{log}");
        assert!(
            !log.contains(&format!("{lost}.")) && !log.contains("t3."),
            "{log}"
        );
    });
}

fn entries(client: &Client, session: &str) -> String {
    let log = client
        .get(&format!("/v1/sessions/{session}/events"))
        .is(200);
    let keys = log["items"].as_array().unwrap().iter();
    let keys: Vec<&Value> = keys.map(|e| &e["key"]).collect();
    format!("{keys:?}")
}

#[test]
fn two_events_of_one_key_in_one_turn_are_refused_and_the_whole_turn_with_them() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
        let (session, own) = (id(&created), gateway.client(&secret(&created)));
        let (epoch, head) = own.lease(&session, "n");
        let mut twice = turn_body(epoch, head, "t1");
        let first = twice["events"][0].clone();
        twice["events"].as_array_mut().unwrap().push(first);
        let reply = own.turn(&session, "t1", &twice).unwrap();
        let problem = reply.problem(409, "twice");
        assert_eq!(problem["fate"], "not-committed");
        assert_eq!(store.sql("SELECT count(*) FROM observations"), "0");
        let path = format!("/v1/sessions/{session}/turns/t1");
        own.get(&path).problem(404, "not-found");
        // A session that is not there has no lease either, for whoever may ask.
        let nobody = "/v1/sessions/ses_019ad00000007000800000000000000a/lease";
        let launcher = gateway.launcher();
        for (deed, held) in [
            ("release", json!({ "epoch": 1 })),
            ("renew", json!({ "epoch": 1, "term_ms": 60_000 })),
        ] {
            let reply = launcher.post(&format!("{nobody}/{deed}"), &held);
            reply.problem(404, "not-found");
        }
    });
}

/// A session whose driver is gone in the middle of a call, of which nobody knows whether it was done.
fn left(gateway: &Gateway, name: &str) -> (String, Client) {
    let created = gateway.launcher().create(&base(name));
    let (session, own) = (id(&created), gateway.client(&secret(&created)));
    let lease = json!({ "holder": "tests", "nonce": "gone", "term_ms": 1_000 });
    let leased = own.post(&format!("/v1/sessions/{session}/lease"), &lease);
    let leased = leased.is(200);
    let events = json!({ "epoch": leased["epoch"], "expected_head": leased["head"], "events": [
        { "type": "prompt", "key": "t1.p", "text": "Ship it." },
        { "type": "tool_call", "call": "c1", "tool": "deploy", "input": "to production" },
    ] });
    let path = format!("/v1/sessions/{session}/turns/t1/open");
    own.post(&path, &events).is(200);
    (session, own)
}

/// The decisions that are in the audit, newest first.
fn decisions(gateway: &Gateway) -> Vec<Value> {
    let path = "/v1/audit?action=turn.decided";
    let audited = gateway.launcher().get(path).is(200);
    audited["items"].as_array().unwrap().clone()
}

#[test]
fn a_command_settles_what_a_gateway_left_on_either_store() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let (session, own) = left(&gateway, "S1");
        until("nobody drives it", || {
            let open = siglum(store, &["session", "recover"]);
            open["turns"][0]["held"] == true
        });
        let open = siglum(store, &["session", "recover"]);
        assert_eq!(open["turns"][0]["session"], session.as_str(), "{open}");
        assert_eq!(open["turns"][0]["calls"][0]["tool"], "deploy", "{open}");
        let settled = siglum(store, &["session", "recover", &session, "--mark-failed"]);
        assert_eq!(settled["settled"]["outcome"], "kept", "{settled}");
        let audited = decisions(&gateway);
        assert_eq!(audited.len(), 1, "{audited:?}");
        let entry = &audited[0];
        assert_eq!(entry["session"], session.as_str(), "{entry}");
        assert!(!entry["actor"].as_str().unwrap().is_empty(), "{entry}");
        let body = &entry["body"];
        assert_eq!(
            (&body["decision"], &body["source"], &body["turn_key"]),
            (&json!("failed"), &json!("cli"), &json!("t1"))
        );
        own.lease(&session, "next");
    });
}

/// What waits for a decision.
fn held_turns(gateway: &Gateway) -> Vec<Value> {
    let listed = gateway.launcher().get("/v1/turns/held").is(200);
    listed["items"].as_array().unwrap().clone()
}

/// Sessions that wait for a decision.
fn holding<const N: usize>(gateway: &Gateway, names: [&str; N]) -> [(String, Client); N] {
    let sides = names.map(|name| left(gateway, name));
    until("nobody drives them", || held_turns(gateway).len() == N);
    sides
}

#[test]
fn a_held_turn_is_in_a_list_in_its_session_and_in_the_refusal() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let sides = holding(&gateway, ["S1", "S2", "S3"]);
        let items = held_turns(&gateway);
        for (held, (session, _)) in items.iter().zip(&sides) {
            assert_eq!(held["session"], session.as_str(), "{held}");
            assert_eq!(held["turn_key"], "t1", "{held}");
            let call = &held["calls"][0];
            assert_eq!(
                (&call["call"], &call["tool"]),
                (&json!("c1"), &json!("deploy"))
            );
            assert_eq!(call["input"], "to production", "{held}");
        }
        // In pages, each turn once.
        let first = launcher.get("/v1/turns/held?limit=2").is(200);
        assert_eq!(first["items"].as_array().unwrap().len(), 2, "{first}");
        let next = first["next"].as_str().unwrap();
        let rest = launcher.get(&format!("/v1/turns/held?limit=2&cursor={next}"));
        let rest = rest.is(200);
        assert_eq!(rest["items"], json!([items[2]]), "{rest}");
        assert!(rest.get("next").is_none(), "{rest}");
        let (session, own) = &sides[0];
        own.get("/v1/turns/held").problem(403, "forbidden");
        // Its session says so, too, and whoever wants to go on is told which turn it is and what to do.
        for client in [own, &launcher] {
            let shown = client.get(&format!("/v1/sessions/{session}")).is(200);
            let held = &shown["held"];
            assert_eq!(
                (&held["turn_key"], &held["since"]),
                (&json!("t1"), &items[0]["since"])
            );
            assert_eq!(held["calls"][0]["tool"], "deploy", "{shown}");
            assert!(held["calls"][0].get("input").is_none(), "{shown}");
        }
        let all = launcher.get("/v1/sessions").is(200);
        let mut listed = all["items"].as_array().unwrap().iter();
        assert!(
            listed.all(|shown| shown["held"]["turn_key"] == "t1"),
            "{all}"
        );
        let lease = json!({ "holder": "tests", "nonce": "next", "term_ms": 60_000 });
        let refused = own.post(&format!("/v1/sessions/{session}/lease"), &lease);
        let refused = refused.problem(409, "held");
        let way = format!("`POST /v1/sessions/{session}/turns/t1/decide`");
        assert!(
            refused["detail"].as_str().unwrap().contains(&way),
            "{refused}"
        );
    });
}

#[test]
fn a_held_turn_is_decided_over_http_by_whoever_may_and_by_its_key() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let sides = holding(&gateway, ["S1", "S2", "S3"]);
        let items = held_turns(&gateway);
        let [(done, own), (failed, _), (dropped, other)] = &sides;
        let path = |session: &str, key: &str| format!("/v1/sessions/{session}/turns/{key}/decide");
        let decision = |word: &str| json!({ "decision": word });
        other
            .post(&path(done, "t1"), &decision("discard"))
            .problem(403, "forbidden");
        own.post(&path(done, "t9"), &decision("discard"))
            .problem(409, "not-open");
        own.post(&path(done, "t1"), &decision("perhaps"))
            .refuses("decision");
        assert_eq!(held_turns(&gateway), items, "nothing was decided");
        for (client, session, word) in [
            (own, done, "done"),
            (&launcher, failed, "failed"),
            (other, dropped, "discard"),
        ] {
            let decided = client.post(&path(session, "t1"), &decision(word)).is(200);
            assert_eq!(decided["already"], false, "{decided}");
            assert_eq!(
                decided["receipt"].is_object(),
                word != "discard",
                "{decided}"
            );
            client.lease(session, "next");
        }
        assert!(held_turns(&gateway).is_empty());
        let shown = own.get(&format!("/v1/sessions/{done}")).is(200);
        assert!(shown.get("held").is_none(), "{shown}");
        // Whoever lost the answer asks again; what was kept is not dropped any more.
        let again = own.post(&path(done, "t1"), &decision("done")).is(200);
        assert_eq!(again["already"], true, "{again}");
        own.post(&path(done, "t1"), &decision("discard"))
            .problem(409, "not-open");
        let audited = decisions(&gateway);
        let words: Vec<&Value> = audited.iter().map(|e| &e["body"]["decision"]).collect();
        assert_eq!(words, ["discard", "failed", "done"], "{audited:?}");
        for entry in &audited {
            assert!(entry["actor"].as_str().unwrap().starts_with("token tok_"));
            assert_eq!(entry["body"]["source"], "api", "{entry}");
        }
    });
}

#[test]
fn the_turn_of_a_driver_that_lives_is_not_decided() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
        let (session, own) = (id(&created), gateway.client(&secret(&created)));
        let (epoch, head) = own.lease(&session, "lives");
        let events = json!({ "epoch": epoch, "expected_head": head, "events": [
            { "type": "prompt", "key": "t1.p", "text": "Ship it." },
            { "type": "tool_call", "call": "c1", "tool": "deploy", "input": "to production" },
        ] });
        let turn = format!("/v1/sessions/{session}/turns/t1");
        own.post(&format!("{turn}/open"), &events).is(200);
        assert!(held_turns(&gateway).is_empty());
        let decision = json!({ "decision": "discard" });
        own.post(&format!("{turn}/decide"), &decision)
            .problem(409, "leased");
    });
}

#[test]
fn what_the_operator_decided_beforehand_is_done_with_each_held_turn() {
    each_store(|store| {
        for (how, kept) in [("keep", true), ("discard", false)] {
            let mut gateway = Gateway::with(store, &["--held", how], &[]);
            let sides = [format!("{how}-1"), format!("{how}-2")].map(|name| left(&gateway, &name));
            let launcher = gateway.launcher();
            for (session, own) in &sides {
                until("it is settled", || {
                    let path = format!("/v1/audit?action=turn.decided&session={session}");
                    let audited = launcher.get(&path).is(200);
                    audited["items"].as_array().unwrap().len() == 1
                });
                let entry = &decisions(&gateway)[0];
                assert_eq!(entry["actor"], "siglum", "{entry}");
                assert_eq!(entry["body"]["source"], "policy", "{entry}");
                let receipt = own.get(&format!("/v1/sessions/{session}/turns/t1"));
                assert_eq!(receipt.status, if kept { 200 } else { 404 }, "{how}");
                own.lease(session, "next");
            }
            gateway.stop();
        }
    });
}
