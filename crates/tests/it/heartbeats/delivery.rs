//! Where answers go.

use serde_json::{Value, json};

use super::played::{put, ran, ticks};
use crate::gateway::client::Client;
use crate::gateway::server::{Gateway, audited, each_store, on_a_file};
use crate::harness::{self, until};
use crate::messages::played::{AGENT, arguments, lines, send, serve};

/// What is said in a conversation.
#[track_caller]
fn conversation_messages(client: &Client, session: &Value) -> String {
    let path = format!("/v1/sessions/{}/messages", session.as_str().unwrap());
    client.get(&path).is(200).to_string()
}

/// Somebody says this on a route; gives the run.
#[track_caller]
pub(super) fn says(client: &Client, route: &str, script: &str) -> Value {
    let mut body = lines(script);
    body["route_key"] = json!(route);
    send(client, &body)["run"].clone()
}

fn to_route(route: &str, prompt: &str) -> Value {
    json!({ "every": "1h", "prompt": prompt, "target": "route", "target_route_key": route })
}

#[test]
fn what_is_for_a_conversation_is_delivered_once_and_it_goes_on() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        let before = says(&client, "team:lead", "good morning");
        put(&client, "h", &to_route("team:lead", "The queue is long."));
        let tick = ran(&client, "h", "delivered");
        assert_ne!(tick["session"], before["session"], "it ran elsewhere");
        // A gateway that dies before it noted that leaves it to be delivered again.
        let owed = "outcome = 'owed', owed = 'The queue is long.', retry_at = 0";
        store.sql(&format!("UPDATE ticks SET {owed}"));
        until("it is delivered again", || {
            !ticks(&client, "h", "delivered").is_empty()
        });
        let after = says(&client, "team:lead", "thank you");
        assert_eq!(after["session"], before["session"]);
        let ask = json!({ "route_key": "team:lead", "context_key": after["context_key"], "budget": 1000 });
        let seen = client.post("/v1/contexts/assemble", &ask).is(200);
        let seen = seen["messages"].as_array().unwrap().iter();
        let seen: Vec<_> = seen.map(|m| m["text"].as_str().unwrap()).collect();
        let expected = [
            "good morning",
            "good morning",
            "Heartbeat h: The queue is long.",
            "thank you",
            "thank you",
        ];
        assert_eq!(seen, expected);
        // A route that nobody spoke on before begins with it.
        put(&client, "h", &to_route("team:new", "All is well."));
        ran(&client, "h", "delivered");
        let ask = json!({ "route_key": "team:new", "context_key": "team:new", "budget": 1000 });
        let seen = client.post("/v1/contexts/assemble", &ask).is(200);
        assert_eq!(seen["messages"][0]["text"], "Heartbeat h: All is well.");
    });
}

#[test]
fn what_is_for_a_conversation_waits_while_somebody_speaks_there() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        let before = says(&client, "team:lead", "good morning");
        put(&client, "h", &to_route("team:lead", "The queue is long."));
        let [mark, go] = ["mark", "go"].map(|name| store.world.root.join(name));
        let busy = format!(
            "!sh touch {}; while ! [ -e {} ]; do sleep 0.1; done",
            mark.display(),
            go.display()
        );
        std::thread::scope(|scope| {
            let speaks = scope.spawn(|| says(&client, "team:lead", &busy));
            until("somebody speaks", || mark.exists());
            client.post("/v1/heartbeats/h/run", &json!({})).is(202);
            until("it waits", || {
                let owed = ticks(&client, "h", "owed");
                owed.first().is_some_and(|tick| tick["reason"].is_string())
            });
            std::fs::write(&go, "").unwrap();
            speaks.join().unwrap();
        });
        until("it is delivered", || {
            !ticks(&client, "h", "delivered").is_empty()
        });
        let now = conversation_messages(&client, &before["session"]);
        let times = now.matches("Heartbeat h: The queue is long.").count();
        assert_eq!(times, 1, "{now}");
    });
}

#[test]
fn an_alert_goes_where_the_definition_says_whoever_wrote_last() {
    each_store(|store| {
        let hooks = [(); 2].map(|()| harness::Gateway::start(&store.world));
        let gateway = serve(store, &[]);
        let client = gateway.launcher();
        let alert = |hook: &harness::Gateway| {
            json!({ "every": "1h", "prompt": "!say alert", "route_key": "agent:main:main",
                "target": "webhook", "webhook": hook.url })
        };
        put(&client, "watch", &alert(&hooks[0]));
        let ours = says(&client, "agent:main:main", "ours");
        ran(&client, "watch", "delivered");
        // Others write last: on the route of the heartbeat, and on another one.
        let theirs = ["agent:main:main", "agent:main:peer"].map(|r| says(&client, r, "theirs"));
        let tick = ran(&client, "watch", "delivered");
        let place = tick["target"].as_str().unwrap();
        assert!(place.contains(&hooks[0].url), "{place}");
        assert_eq!(hooks[0].requests().len(), 2);
        for request in hooks[0].requests() {
            let document = request.json();
            assert_eq!(document["text"], "alert");
            assert_eq!(document["route_key"], "agent:main:main");
        }
        for run in theirs.iter().chain([&ours]) {
            let messages = conversation_messages(&client, &run["session"]);
            assert!(!messages.contains("alert"), "{messages}");
        }
        // Where it goes changes with the definition alone, and that is recorded.
        assert_eq!(audited(&gateway, "heartbeat.changed").len(), 1);
        put(&client, "watch", &alert(&hooks[1]));
        ran(&client, "watch", "delivered");
        let counts = [&hooks[0], &hooks[1]].map(|hook| hook.requests().len());
        assert_eq!(counts, [2, 1]);
        let changes = audited(&gateway, "heartbeat.changed");
        assert_eq!(changes.len(), 2);
        let change = changes[0].to_string();
        assert!(
            hooks.iter().all(|hook| change.contains(&hook.url)),
            "{change}"
        );
    });
}

/// Neither when it is asked for, nor when something is to be delivered to what was named before.
#[test]
fn a_webhook_on_this_machine_or_its_network_is_refused_where_nothing_is_named() {
    on_a_file(|store| {
        let hook = harness::Gateway::start(&store.world);
        let by_name = hook.url.replace("127.0.0.1", "localhost");
        let to = |webhook: &str| {
            json!({ "agent": AGENT, "every": "1h", "prompt": "!say alert",
                "target": "webhook", "webhook": webhook })
        };
        let naming = serve(store, &["--webhook", "localhost"]);
        put(&naming.launcher(), "name", &to(&by_name));
        put(&naming.launcher(), "address", &to(&hook.url));
        ran(&naming.launcher(), "address", "delivered");
        assert_eq!(hook.requests().len(), 1);
        drop(naming);
        let arguments = arguments(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let gateway = Gateway::with(store, &arguments, &[]);
        let client = gateway.launcher();
        for place in [
            by_name.as_str(),
            hook.url.as_str(),
            "https://localhost/x",
            "https://127.0.0.1/x",
            "https://[::1]/x",
            "https://10.0.0.1/x",
            "https://172.16.0.1/x",
            "https://192.168.0.1/x",
        ] {
            let new = json!({ "name": "new", "definition": to(place) });
            let refused = client.post("/v1/heartbeats", &new);
            refused.refuses("definition.webhook");
        }
        client.get("/v1/heartbeats/new").problem(404, "not-found");
        for name in ["name", "address"] {
            let tick = ran(&client, name, "undelivered");
            let reason = tick["reason"].as_str().unwrap();
            assert!(reason.contains("not a public address"), "{name}: {tick}");
        }
        assert_eq!(hook.requests().len(), 1);
    });
}
