//! Sessions that work in several repositories.

use serde_json::{Value, json};

use super::client::{Client, id};
use super::server::{Gateway, base, each_store};

fn create_body(conversation: &str, repositories: &[&str]) -> Value {
    let mut body = base(conversation);
    body["repositories"] = json!(repositories);
    body
}

/// The sessions that are listed for a repository.
fn listed(launcher: &Client, repository: &str) -> Vec<String> {
    let path = format!("/v1/sessions?repository={repository}");
    let list = launcher.get(&path).is(200);
    let name = |s: &Value| s["conversation_id"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn a_session_is_found_by_each_of_its_repositories() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        launcher.create(&create_body("both", &["forge/o/first", "forge/o/second"]));
        launcher.create(&create_body("one", &["forge/o/first"]));
        assert_eq!(listed(&launcher, "forge/o/first"), ["one", "both"]);
        assert_eq!(listed(&launcher, "forge/o/second"), ["both"]);
        assert_eq!(listed(&launcher, "forge/o/third"), [""; 0]);
    });
}

#[test]
fn a_second_create_adds_the_repositories_that_it_names() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let created = launcher.create(&create_body("c", &["forge/o/first"]));
        let again = create_body("c", &["forge/o/second", "forge/o/first"]);
        let both = json!(["forge/o/first", "forge/o/second"]);
        for _ in 0..2 {
            let known = launcher.post("/v1/sessions", &again).is(200);
            assert_eq!(id(&known), id(&created));
            assert_eq!(known["session"]["repositories"], both);
        }
        assert_eq!(listed(&launcher, "forge/o/second"), ["c"]);
        let stated = "SELECT count(*) FROM statements WHERE kind = 'works_in'";
        assert_eq!(store.sql(stated), "2");
        // A session that had none has a first one of its own.
        launcher.create(&create_body("d", &[]));
        launcher
            .post("/v1/sessions", &create_body("d", &["forge/o/second"]))
            .is(200);
        assert_eq!(listed(&launcher, "forge/o/second"), ["d", "c"]);
    });
}

#[test]
fn together_they_are_not_more_than_a_session_may_have() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let names: Vec<String> = (0..33).map(|n| format!("forge/o/{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        launcher.create(&create_body("c", &names[..32]));
        launcher
            .post("/v1/sessions", &create_body("c", &names[32..]))
            .refuses("repositories");
        assert_eq!(listed(&launcher, names[32]), [""; 0]);
    });
}
