//! Heartbeats of a played agent.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gateway::client::Client;
use crate::harness::until;
use crate::messages::played::AGENT;

/// Adds a heartbeat, or changes it.
#[track_caller]
pub(crate) fn put(client: &Client, name: &str, more: &Value) -> Value {
    let mut definition =
        json!({ "agent": AGENT, "every": "1s", "prompt": "!seen\nTwo wait.", "target": "none" });
    for (field, value) in more.as_object().unwrap() {
        definition[field] = value.clone();
    }
    client
        .post(
            "/v1/heartbeats",
            &json!({ "name": name, "definition": definition }),
        )
        .is(200)
}

/// The ticks of a heartbeat that came to this end, newest first.
pub(super) fn ticks(client: &Client, name: &str, outcome: &str) -> Vec<Value> {
    let all = client
        .get(&format!("/v1/heartbeats/{name}/ticks?limit=500"))
        .is(200);
    let all = all["items"].as_array().unwrap().iter();
    all.filter(|t| t["outcome"] == outcome).cloned().collect()
}

pub(super) fn texts(of: &[Value], field: &str) -> BTreeSet<String> {
    of.iter()
        .map(|t| t[field].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Asks for a tick, and gives it when it came to this end.
#[track_caller]
pub(crate) fn ran(client: &Client, name: &str, outcome: &str) -> Value {
    let reply = client.post(&format!("/v1/heartbeats/{name}/run"), &json!({}));
    let id = reply.is(202)["id"].clone();
    let mut found = None;
    until(&format!("a tick of {name} is over"), || {
        let all = client.get(&format!("/v1/heartbeats/{name}/ticks")).is(200);
        let mut all = all["items"].as_array().unwrap().iter();
        let waits = |t: &Value| t["outcome"] == "running" || t["outcome"] == "owed";
        found = all.find(|t| t["id"] == id && !waits(t)).cloned();
        found.is_some()
    });
    let tick = found.unwrap();
    assert_eq!(tick["outcome"], outcome, "{tick}");
    tick
}
