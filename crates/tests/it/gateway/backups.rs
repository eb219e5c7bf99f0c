//! Backups of what a gateway serves, on each store: it answers as it did then, and laptops send again what it took since.
//! And a store that a newer program migrated.

use serde_json::Value;

use super::server::{Gateway, Store, each_store, on_a_server, refused, siglum};
use crate::harness::{Agent, Repo, World, until};
use crate::team::balancer::Balancer;

/// A session that makes a commit, all of it sealed.
fn work(repo: &Repo<'_>, name: &str) {
    let mut agent = Agent::start(repo, name);
    agent.prompt(&format!("Write {name}."));
    agent.write(&format!("{name}.txt"), "one\n");
    agent.sh("git add . && git commit -q -m work");
    agent.stop();
    agent.end("exit");
    agent.quit();
    until("the worker has left", || repo.world.processes().is_empty());
    repo.siglum(&["worker", "--once"]).ok();
}

/// What a gateway answers about commits and sessions.
fn answers(gateway: &Gateway) -> Vec<Value> {
    let launcher = gateway.launcher();
    let mut answers = vec![launcher.get("/v1/commits").is(200)];
    let listed = launcher.get("/v1/sessions?limit=500").is(200);
    for session in listed["items"].as_array().unwrap() {
        let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
        answers.push(launcher.get(&format!("{path}/events")).is(200));
        answers.push(launcher.get(&format!("{path}/links")).is(200));
    }
    answers
}

fn has_text(answers: &[Value], text: &str) -> bool {
    answers
        .iter()
        .any(|answer| answer.to_string().contains(text))
}

fn stop(store: &Store, gateway: &mut Gateway) {
    gateway.stop();
    until("the worker has left", || store.world.processes().is_empty());
}

#[track_caller]
fn is_sound(store: &Store) {
    let verified = siglum(store, &["verify"]);
    assert_eq!(verified["sound"], true, "{verified}");
}

#[test]
fn laptops_send_again_what_a_restored_gateway_lacks() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let way = Balancer::start();
        way.add(0, gateway.place());
        let laptop = World::new();
        let repo = laptop.repo();
        work(&repo, "one");
        work(&repo, "two");
        let token = laptop.root.join("token");
        std::fs::write(&token, &gateway.token).unwrap();
        let token = token.to_str().unwrap();
        repo.siglum(&["sync", "--to", &way.url(), "--token-file", token])
            .ok();
        stop(store, &mut gateway);
        let backup = store.backup();
        gateway.start_again(store);
        way.add(0, gateway.place());
        let then = answers(&gateway);
        assert!(has_text(&then, "Write two."), "{then:?}");
        work(&repo, "three");
        repo.siglum(&["link", "add", "one", "issue_number=42"]).ok();
        repo.siglum(&["forget", "two", "--yes"]).ok();
        repo.siglum(&["sync"]).ok();
        let whole = answers(&gateway);
        assert!(has_text(&whole, "Write three."), "{whole:?}");
        assert!(!has_text(&whole, "Write two."), "{whole:?}");
        stop(store, &mut gateway);
        store.restore(&backup);
        gateway.start_again(store);
        way.add(0, gateway.place());
        is_sound(store);
        assert_eq!(answers(&gateway), then);
        repo.siglum(&["sync"]).ok();
        assert_eq!(answers(&gateway), whole);
        is_sound(store);
    });
}

#[test]
fn an_older_gateway_serves_no_store_that_a_newer_one_migrated() {
    on_a_server(|store| {
        let mut gateway = Gateway::start(store);
        stop(store, &mut gateway);
        let schema = store.sql("SELECT value FROM meta WHERE key = 'schema'");
        let keys = "key IN ('schema', 'min_reader', 'min_writer')";
        store.sql(&format!("UPDATE meta SET value = 9999 WHERE {keys}"));
        let (code, text) = refused(store, &[]);
        assert_ne!(code, Some(0));
        let rule = "requires a program that supports schema 9999";
        assert!(text.contains(rule), "{text}");
        store.sql(&format!("UPDATE meta SET value = {schema} WHERE {keys}"));
        gateway.start_again(store);
        gateway.stranger().get("/readyz").is(200);
    });
}
