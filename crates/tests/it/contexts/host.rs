//! A host that keeps what its agents say in contexts, as a bridge of OpenClaw would.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gateway::client::{Client, Reply};
use crate::gateway::server::Gateway;

/// A played bridge.
pub(super) struct Host {
    pub(super) client: Client,
    /// The keys of each session key and session id that it was told of.
    known: BTreeMap<(String, String), Value>,
    runs: u32,
    /// What each assembly gave, in order.
    pub(super) assembled: Vec<Vec<String>>,
}

/// Recorded calls, by what happens in them.
pub(super) fn recorded(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("calls.json")).unwrap();
    all[name].as_array().expect(name).clone()
}

fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of[field].as_str().expect(field)
}

/// The messages of a host in the form that they are handed over in.
fn messages(of: &Value) -> Value {
    let one = |message: &Value| {
        let text = &message["content"][0]["text"];
        json!({ "type": message["role"], "text": text })
    };
    of.as_array().unwrap().iter().map(one).collect()
}

/// The texts of messages that were assembled.
pub(super) fn texts(assembled: &Value) -> Vec<String> {
    let all = assembled["messages"].as_array().unwrap();
    all.iter().map(|m| text(m, "text").to_owned()).collect()
}

/// The body of a call with both keys.
pub(super) fn with(keys: &Value, more: Value) -> Value {
    let mut body = json!({ "route_key": keys["route_key"], "context_key": keys["context_key"] });
    let fields = body.as_object_mut().unwrap();
    let Value::Object(more) = more else { panic!() };
    fields.extend(more);
    body
}

/// A turn of a question and its answer.
pub(super) fn turn(name: &str) -> Value {
    let messages = json!([
        { "type": "user", "text": format!("ask {name}") },
        { "type": "assistant", "text": format!("say {name}") },
    ]);
    json!({ "turn_key": name, "messages": messages })
}

/// The texts of such turns.
pub(super) fn strings(names: &[&str]) -> Vec<String> {
    let both = |name: &&str| [format!("ask {name}"), format!("say {name}")];
    names.iter().flat_map(both).collect()
}

impl Host {
    pub(super) fn new(gateway: &Gateway) -> Self {
        Self {
            client: gateway.launcher(),
            known: BTreeMap::new(),
            runs: 0,
            assembled: Vec::new(),
        }
    }

    #[track_caller]
    pub(super) fn post(&self, call: &str, body: &Value) -> Reply {
        self.client.post(&format!("/v1/contexts/{call}"), body)
    }

    #[track_caller]
    pub(super) fn get(&self, what: &str, context: &Value) -> Value {
        let session = text(context, "session");
        let path = format!("/v1/sessions/{session}/context/{what}");
        self.client.get(&path).is(200)
    }

    /// Resolves a run of a route; gives both keys and what else is told.
    #[track_caller]
    pub(super) fn resolve(&mut self, route: &str, more: Value) -> Value {
        self.runs += 1;
        let mut body = json!({
            "route_key": route, "agent": "openclaw", "run": format!("run-{}", self.runs),
        });
        let Value::Object(more) = more else { panic!() };
        body.as_object_mut().unwrap().extend(more);
        self.post("resolve", &body).is(200)
    }

    #[track_caller]
    pub(super) fn commit(&self, keys: &Value, turn: Value) -> Value {
        self.post("commit", &with(keys, turn)).is(200)
    }

    /// Commits turns of these names.
    #[track_caller]
    pub(super) fn commit_turns(&self, keys: &Value, names: &[&str]) {
        for name in names {
            let done = self.commit(keys, turn(name));
            assert_eq!(done["outcome"], "committed", "{done}");
        }
    }

    #[track_caller]
    pub(super) fn assemble(&self, keys: &Value) -> Value {
        let body = with(keys, json!({ "budget": 100_000 }));
        self.post("assemble", &body).is(200)
    }

    #[track_caller]
    pub(super) fn seen(&self, keys: &Value) -> Vec<String> {
        texts(&self.assemble(keys))
    }

    /// Plays recorded calls.
    #[track_caller]
    pub(super) fn play(&mut self, calls: &[Value]) {
        for call in calls {
            self.call(call);
        }
    }

    /// The keys that a session key had with a session id last.
    #[track_caller]
    pub(super) fn keys(&self, key: &str, id: &str) -> Value {
        let keys = self.known.get(&(key.to_owned(), id.to_owned()));
        keys.expect("a session that was told of").clone()
    }

    #[track_caller]
    fn call(&mut self, call: &Value) {
        let (key, id) = (text(call, "sessionKey"), text(call, "sessionId"));
        if call["call"] == "session" {
            return self.session(call, key, id);
        }
        let keys = self.keys(key, id);
        match text(call, "call") {
            "assemble" => {
                let ask = json!({ "budget": call["tokenBudget"], "prompt": call["prompt"] });
                let assembled = self.post("assemble", &with(&keys, ask)).is(200);
                assert_eq!(assembled["coverage"], "before-current-turn");
                self.assembled.push(texts(&assembled));
            }
            "commitTurn" => {
                let seq = |anchor: &str| call[anchor]["rawSeq"].as_u64().unwrap();
                let positions = json!({ "first": seq("admission") + 1, "last": seq("terminal") });
                let turn = json!({
                    "turn_key": call["advancementKey"], "positions": positions,
                    "messages": messages(&call["messages"]), "heartbeat": call["isHeartbeat"],
                });
                let done = self.commit(&keys, turn);
                assert_eq!(done["outcome"], "committed", "{done}");
            }
            "compact" => {
                let compact = json!({
                    "turn_key": format!("compact-{id}"),
                    "summary": call["summary"], "trigger": call["target"],
                });
                self.post("compact", &with(&keys, compact)).is(200);
            }
            other => panic!("{other}"),
        }
    }

    /// The host runs a session: the bridge tells from the trigger what the run is to see.
    #[track_caller]
    fn session(&mut self, call: &Value, key: &str, id: &str) {
        let mut more = json!({ "aliases": { "openclaw.sessionId": id } });
        let fields = more.as_object_mut().unwrap();
        let cause = match text(call, "trigger") {
            "heartbeat" => Some("tick"),
            "cron" => Some("cron-run"),
            cause @ ("reset" | "idle" | "rewind" | "fork") => Some(cause),
            _ => None,
        };
        fields.extend(cause.map(|cause| ("cause".to_owned(), json!(cause))));
        let anchor = call.get("anchorMessage");
        fields.extend(anchor.map(|n| ("anchor".to_owned(), json!({ "message": n }))));
        if let Some(parent) = call["parentSessionKey"].as_str() {
            let mut of_parent = self.known.iter().filter(|((key, _), _)| key == parent);
            let (_, keys) = of_parent.next_back().expect("a parent");
            fields.insert("from".to_owned(), with(keys, json!({})));
        }
        let route = call["job"].as_str().unwrap_or(key);
        let resolved = self.resolve(route, more);
        self.known.insert((key.to_owned(), id.to_owned()), resolved);
    }
}
