//! Who may do what, and many conversations at once.

use serde_json::{Value, json};

use super::host::{Host, strings, turn, with};
use crate::gateway::client::{Client, id};
use crate::gateway::server::{Gateway, base, each_store, tenant, token};

#[test]
fn a_sessions_token_acts_for_its_own_context_alone() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut host = Host::new(&gateway);
        let [own, other] = ["own", "other"].map(|route| host.resolve(route, json!({})));
        host.commit_turns(&other, &["secret"]);
        let (secret, _) = token(store, tenant(store), own["session"].as_str(), None);
        let session: Client = gateway.client(&secret);
        let post = |call: &str, body: &Value| session.post(&format!("/v1/contexts/{call}"), body);
        post("commit", &with(&own, turn("a"))).is(200);
        let more = json!({
            "budget": 1, "turn_key": "x", "summary": "s", "outcome": "done", "index": 0,
            "messages": [{ "type": "user", "text": "x" }], "message": { "type": "user", "text": "x" },
            "positions": { "first": 1, "last": 2 },
        });
        let nowhere = json!({ "route_key": "own", "context_key": "nowhere" });
        for call in [
            "bootstrap",
            "assemble",
            "ingest",
            "commit",
            "backfill",
            "after-turn",
            "compact",
            "maintain",
            "accept-gap",
        ] {
            for keys in [&other, &nowhere] {
                post(call, &with(keys, super::taken(call, &more))).problem(403, "forbidden");
            }
        }
        let ask = json!({ "route_key": "own", "agent": "openclaw", "run": "r" });
        post("resolve", &ask).problem(403, "forbidden");
        session.get("/v1/routes").problem(403, "forbidden");
        session
            .get("/v1/route?route_key=own")
            .problem(403, "forbidden");
        let path = |of: &Value| format!("/v1/sessions/{}/context", of["session"].as_str().unwrap());
        let kept = session.get(&path(&own)).is(200);
        assert_eq!(kept["context_key"], own["context_key"]);
        for what in ["", "/gaps", "/lineage", "/explanation"] {
            session.get(&(path(&own) + what)).is(200);
            session
                .get(&(path(&other) + what))
                .problem(403, "forbidden");
        }
        // A session that is none of a context has none.
        let created = host.client.create(&base("S1"));
        let nothing = host.client.get(&path(&json!({ "session": id(&created) })));
        nothing.problem(404, "not-found");
        assert_eq!(host.seen(&other), strings(&["secret"]));
    });
}

#[test]
fn ten_conversations_at_once_never_see_each_other() {
    each_store(|store| {
        let gateway = Gateway::with(store, &["--creations", "1000000"], &[]);
        std::thread::scope(|scope| {
            for worker in 0..10 {
                let gateway = &gateway;
                scope.spawn(move || converse(gateway, worker));
            }
        });
        assert_eq!(store.sql("SELECT count(*) FROM routes"), "10");
    });
}

/// Ten ticks and a conversation, each with a word of its own in all that is said.
fn converse(gateway: &Gateway, worker: u32) {
    let client = gateway.launcher();
    let post =
        |call: &str, body: &Value| client.post(&format!("/v1/contexts/{call}"), body).is(200);
    let ask = |run: &str, more: Value| {
        let mut ask = json!({ "route_key": format!("w{worker}"), "agent": "openclaw", "run": run,
            "client": format!("worker {worker}") });
        ask.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        post("resolve", &ask)
    };
    let own = format!("w{worker}x");
    let check = |keys: &Value, turns: usize| {
        let assembled = post("assemble", &with(keys, json!({ "budget": 1_000_000 })));
        let messages = assembled["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2 * turns);
        for message in messages {
            assert!(
                message["text"].as_str().unwrap().contains(&own),
                "{message}"
            );
        }
    };
    for round in 0..10 {
        let shared = ask(&format!("shared-{round}"), json!({}));
        check(&shared, round);
        post("commit", &with(&shared, turn(&format!("{own}-{round}"))));
        let tick = ask(&format!("tick-{round}"), json!({ "cause": "tick" }));
        check(&tick, 0);
        post("commit", &with(&tick, turn(&format!("{own}-tick-{round}"))));
        check(&tick, 1);
    }
}
