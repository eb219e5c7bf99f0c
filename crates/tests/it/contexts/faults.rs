//! The gateway dies where it hurts most.

use serde_json::json;

use super::host::{Host, strings, turn, with};
use crate::gateway::server::{Gateway, each_store};

#[test]
fn a_commit_that_met_a_kill_is_stored_once() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let keys = host.resolve("r", json!({}));
        let mut names = Vec::new();
        for round in 0..8 {
            let name = format!("t{round}");
            let body = with(&keys, turn(&name));
            let client = gateway.launcher();
            std::thread::scope(|scope| {
                let asking = scope.spawn(|| client.ask("POST", "/v1/contexts/commit", Some(&body)));
                // Each round it dies a little later, before, while or after it writes.
                let after = std::time::Duration::from_micros(400 * round);
                std::thread::sleep(after);
                gateway.kill();
                let _ = asking.join().unwrap();
            });
            gateway.restart(store);
            host.client = gateway.launcher();
            // The host asks again before it asks what to read.
            let done = host.commit(&keys, turn(&name));
            assert_ne!(done["outcome"], "behind");
            names.push(name);
            let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
            assert_eq!(host.seen(&keys), strings(&wanted), "round {round}");
        }
    });
}

#[test]
fn a_run_that_was_resolved_before_a_kill_is_given_the_same() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let host = Host::new(&gateway);
        let ask =
            json!({ "route_key": "h", "agent": "openclaw", "run": "tick-1", "cause": "tick" });
        let first = host.post("resolve", &ask).is(200);
        gateway.kill();
        gateway.restart(store);
        let again = gateway
            .launcher()
            .post("/v1/contexts/resolve", &ask)
            .is(200);
        assert_eq!(again["context_key"], first["context_key"]);
        assert_eq!(again["resolution"], "repeated");
        let shown = gateway.launcher().get("/v1/route?route_key=h").is(200);
        assert_eq!(shown["route"]["runs"], 1);
    });
}
