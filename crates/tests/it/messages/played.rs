//! A gateway that runs a played agent.

use serde_json::{Value, json};

use crate::gateway::client::{Client, Reply};
use crate::gateway::server::{Gateway, Store};

/// The agent that is played.
pub(crate) const AGENT: &str = "claude-code";

/// The arguments that let a gateway run it.
pub(crate) fn arguments(store: &Store) -> Vec<String> {
    let program = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("it/runs/acp_agent.py");
    let dir = store.world.root.join("work");
    std::fs::create_dir_all(&dir).unwrap();
    vec![
        "--run".to_owned(),
        format!("{AGENT}={}", program.display()),
        "--workdir".to_owned(),
        dir.display().to_string(),
    ]
}

/// A gateway with it, and with these arguments besides.
#[track_caller]
pub(crate) fn serve(store: &Store, more: &[&str]) -> Gateway {
    let arguments = arguments(store);
    let mut all: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Webhooks of the tests are on this machine.
    all.extend(["--webhook", "127.0.0.1"]);
    all.extend(more);
    Gateway::with(store, &all, &[])
}

/// Messages that let it do what the lines say.
pub(crate) fn lines(lines: &str) -> Value {
    json!({ "agent": AGENT, "messages": [{ "role": "user", "content": lines }] })
}

/// The same in a conversation.
pub(crate) fn to(conversation: &Value, script: &str) -> Value {
    let mut body = lines(script);
    body["conversation_id"] = conversation.clone();
    body
}

/// Sends messages, and gives the result.
#[track_caller]
pub(crate) fn send(client: &Client, body: &Value) -> Value {
    client.post("/v1/messages", body).is(200)
}

/// The text of a result.
#[track_caller]
pub(crate) fn text(result: &Value) -> &str {
    result["end"]["text"].as_str().expect("a text")
}

/// The events of a stream in our own form: names, ids and data.
pub(crate) fn events(reply: &Reply) -> Vec<(String, Option<u64>, Value)> {
    events_of(&reply.text)
}

/// The same of a text.
pub(crate) fn events_of(text: &str) -> Vec<(String, Option<u64>, Value)> {
    let blocks = text.split("\n\n");
    let event = |block: &str| {
        let of = |name: &str| {
            let found = block.lines().find_map(|line| line.strip_prefix(name));
            found.map(str::trim)
        };
        let data = serde_json::from_str(of("data:")?).ok()?;
        Some((
            of("event:").unwrap_or_default().to_owned(),
            of("id:").and_then(|id| id.parse().ok()),
            data,
        ))
    };
    blocks.filter_map(event).collect()
}
