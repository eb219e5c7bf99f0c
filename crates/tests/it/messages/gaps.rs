//! Going on with a conversation of which a part is missing.

use serde_json::{Value, json};

use super::played::{send, serve, to};
use crate::gateway::server::{each_store, stored};
use crate::harness::until;

/// A turn that a host hands over, at its place in the host's own order.
fn handed(run: &Value, n: u64) -> Value {
    json!({
        "route_key": run["route_key"], "context_key": run["context_key"],
        "turn_key": format!("t{n}"), "positions": { "first": 2 * n + 1, "last": 2 * n + 2 },
        "messages": [{ "type": "user", "text": "ask" }, { "type": "assistant", "text": "say" }],
    })
}

#[test]
fn to_go_on_over_a_gap_is_refused_until_somebody_accepts_it() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let first = send(&launcher, &to(&json!("S1"), "one"))["run"].clone();
        for (n, outcome) in [(0, "committed"), (2, "behind")] {
            let reply = launcher.post("/v1/contexts/commit", &handed(&first, n));
            assert_eq!(reply.is(200)["outcome"], outcome);
        }
        let mark = store.world.root.join("mark");
        let mut body = to(&json!("S1"), &format!("!sh touch {}", mark.display()));
        body["resume"] = json!(true);
        until("what was committed is summed up", || {
            stored(store, &gateway) == stored(store, &gateway)
        });
        let before = stored(store, &gateway);
        let by_id = format!(
            "/v1/sessions/{}/messages",
            first["session"].as_str().unwrap()
        );
        for path in ["/v1/messages", "/v1/sessions/S1/messages", &by_id] {
            let refused = launcher.post(path, &body).problem(409, "gap");
            let detail = refused["detail"].as_str().unwrap();
            assert!(detail.contains("3 to 4"), "{path}: {refused}");
        }
        assert_eq!(stored(store, &gateway), before);
        assert!(!mark.exists(), "the agent was told nothing");
        let keys = json!({ "route_key": first["route_key"], "context_key": first["context_key"] });
        let accepted = launcher.post("/v1/contexts/accept-gap", &keys).is(200);
        assert_eq!(accepted["accepted"], 1);
        let next = send(&launcher, &body);
        assert_eq!(next["end"]["status"], "done", "{next}");
        assert_eq!(next["run"]["session"], first["session"]);
        assert!(mark.exists());
    });
}
