//! What operators ask of a store, and do to it, with commands: the same on a file and on a server.

use serde_json::{Value, json};

use super::client::{id, secret, turn_body};
use super::server::{Gateway, Store, base, each_store, on_a_file, on_a_server, siglum};
use crate::harness::until;

/// A session with one turn, committed.
fn driven(gateway: &Gateway) -> String {
    let created = gateway.launcher().create(&base("S1"));
    let (session, own) = (id(&created), gateway.client(&secret(&created)));
    let (epoch, head) = own.lease(&session, "n");
    let done = own.turn(&session, "t", &turn_body(epoch, head, "t"));
    done.unwrap().is(200);
    session
}

fn is_sound(store: &Store) {
    let verified = siglum(store, &["verify"]);
    assert_eq!(verified["sound"], true, "{verified}");
    assert_eq!(verified["counts"]["sessions"], 1, "{verified}");
}

#[test]
fn a_session_is_listed_shown_found_and_counted_on_either_store() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let session = driven(&gateway);
        let added = siglum(store, &["link", "add", &session, "issue=42"]);
        assert_eq!(added["changed"], 1, "{added}");
        let linked = siglum(store, &["link", "list", &session]);
        assert_eq!(linked["links"], added["links"]);
        let list = ["session", "list", "--all", "--link", "issue=42"];
        until("the turn is counted", || {
            siglum(store, &list)["items"][0]["turns"] == 1
        });
        let listed = siglum(store, &list);
        assert_eq!(listed["items"][0]["id"], session.as_str());
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
        let shown = siglum(store, &["session", "show", &session]);
        assert_eq!(shown["turns"][0]["prompt"], "do t", "{shown}");
        assert_eq!(siglum(store, &["show", &session]), shown);
        for words in [&["do", "t"][..], &["issue=42"]] {
            let args = [&["search", "--all"][..], words].concat();
            let found = siglum(store, &args);
            let first = &found["items"][0]["session"]["id"];
            assert_eq!(*first, session.as_str(), "{found}");
        }
        let cost = siglum(store, &["cost", "--all", "--since", "all"]);
        let used = &cost["total"]["tokens"];
        assert_eq!((&used["input"], &used["output"]), (&json!(10), &json!(3)));
        siglum(store, &["rebuild", "summaries"]);
        assert_eq!(siglum(store, &list)["items"], listed["items"]);
    });
}

#[test]
fn a_session_is_ended_and_erased_on_either_store() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let session = driven(&gateway);
        let ended = siglum(store, &["session", "end", &session]);
        assert_eq!(ended["before"], false, "{ended}");
        let list = ["checkpoint", "list", "--session", &session];
        let checkpoints = siglum(store, &list);
        let checkpoint = &checkpoints["items"][0];
        let pinned = &checkpoint["pins"][0]["session"];
        assert_eq!(*pinned, session.as_str(), "{checkpoints}");
        let name = checkpoint["id"].as_str().unwrap();
        for args in [&["checkpoint", "show", name][..], &["show", name]] {
            let shown = siglum(store, args);
            assert_eq!(shown["id"], name, "{shown}");
        }
        is_sound(store);
        let pattern = ["forget", "--pattern", "do t", "--dry-run"];
        let found = siglum(store, &pattern);
        assert_eq!(found["done"], false, "{found}");
        assert!(
            found["count"].as_u64() > found["staying"].as_u64(),
            "{found}"
        );
        let gone = siglum(store, &["forget", &session, "--yes"]);
        assert_eq!(gone["done"], true, "{gone}");
        let shown = siglum(store, &["session", "show", &session]);
        assert_eq!(shown["session"]["forgotten"]["what"], "whole", "{shown}");
        let found = siglum(store, &pattern);
        assert_eq!(found["count"], found["staying"], "{found}");
        is_sound(store);
    });
}

#[test]
fn the_doctor_looks_at_a_server_and_leaves_machines_out() {
    on_a_server(|store| {
        let gateway = Gateway::start(store);
        driven(&gateway);
        let looked = siglum(store, &["doctor"]);
        let areas = |verdict: &str| -> Vec<&str> {
            let checks = looked["checks"].as_array().unwrap().iter();
            let of = checks.filter(|check| check["verdict"] == verdict);
            of.filter_map(|check: &Value| check["area"].as_str())
                .collect()
        };
        assert_eq!(looked["problems"], 0, "{looked}");
        assert!(areas("ok").contains(&"store"), "{looked}");
        assert_eq!(areas("note"), ["machine"], "{looked}");
    });
}

#[test]
fn the_doctor_misses_no_hooks_in_the_home_of_a_gateway() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        driven(&gateway);
        let looked = siglum(store, &["doctor"]);
        assert_eq!(looked["problems"], 0, "{looked}");
    });
}
