//! Contexts as hosts that run agents meet them: `siglum serve`, asked over HTTP, on each store.
//!
//! Calls of the shapes that OpenClaw makes are replayed from `calls.json` by a played bridge ([`host`]).
//! `docs/scenarios.md` lists the scenarios. What of them is elsewhere: where alerts go and a day of ticks with
//! retention belong to heartbeats; what stays of it here is that a route's liveness does not depend on who wrote last.

mod access;
mod commands;
mod committed_turns;
mod faults;
mod host;
mod isolated;

/// Those of some fields that a call has: it refuses others.
pub(super) fn taken(call: &str, more: &serde_json::Value) -> serde_json::Value {
    let document = include_str!("../../../../docs/openapi.json");
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    let body = &document["paths"][format!("/v1/contexts/{call}")]["post"]["requestBody"];
    let schema = body["content"]["application/json"]["schema"]["$ref"].as_str();
    let name = schema.unwrap().rsplit('/').next().unwrap();
    let known = &document["components"]["schemas"][name]["properties"];
    let mut taken = more.clone();
    let fields = taken.as_object_mut().unwrap();
    fields.retain(|field, _| known[field.as_str()].is_object());
    taken
}
