//! What is older than the settings keep it goes: on a file by the worker, on a server by the gateway.

use serde_json::{Value, json};

use super::client::{id, secret, turn_body};
use super::server::{Gateway, LONG, Store, audited, base, each_store_at_once};
use crate::harness::{until, until_within};

/// Creates a session with a turn; its id and its token.
fn worked(gateway: &Gateway, name: &str) -> (String, String) {
    let created = gateway.launcher().create(&base(name));
    let (session, own) = (id(&created), secret(&created));
    let client = gateway.client(&own);
    let (epoch, head) = client.lease(&session, name);
    let turn = client.turn(&session, "t", &turn_body(epoch, head, "t"));
    turn.unwrap().is(200);
    (session, own)
}

/// The texts that are kept of a session.
fn texts(gateway: &Gateway, session: &str) -> String {
    let path = format!("/v1/sessions/{session}/events");
    gateway.launcher().get(&path).is(200).to_string()
}

/// Says that a session is over, so that nobody has its lease.
fn end(gateway: &Gateway, session: &str, token: &str) {
    let path = format!("/v1/sessions/{session}/end");
    let ended = json!({ "outcome": "completed" });
    gateway.client(token).post(&path, &ended).is(200);
}

/// Stops the gateway, and lets a hundred days go by for all sessions.
fn sleep(store: &Store, mut gateway: Gateway) {
    gateway.stop();
    until("the worker has left", || store.world.processes().is_empty());
    store.sql("UPDATE sessions SET last_at = last_at - 8640000000000000");
}

fn output(gateway: &Gateway) -> Value {
    let costs = gateway.launcher().get("/v1/cost?by=model").is(200);
    costs["total"]["tokens"]["output"].clone()
}

#[test]
fn old_sessions_are_forgotten_unless_something_holds_them() {
    each_store_at_once(|store| {
        let gateway = Gateway::start(store);
        let (old, token) = worked(&gateway, "old");
        end(&gateway, &old, &token);
        // Its driver has the lease.
        let (held, _) = worked(&gateway, "held");
        until("usage is counted", || output(&gateway) == 6);
        sleep(store, gateway);
        let variables = [("SIGLUM_KEEP_SESSIONS", "90d"), ("SIGLUM_KEEP_AUDIT", "2y")];
        let gateway = Gateway::with(store, &[], &variables);
        let (young, _) = worked(&gateway, "young");
        until_within(LONG, "the old session is forgotten", || {
            !texts(&gateway, &old).contains("do t")
        });
        for kept in [&held, &young] {
            assert!(texts(&gateway, kept).contains("do t"), "{kept}");
        }
        until("usage is counted", || output(&gateway) == 9);
        until_within(LONG, "the audit tells how much went", || {
            !audited(&gateway, "retention.applied").is_empty()
        });
        let applied = audited(&gateway, "retention.applied");
        assert_eq!(applied[0]["body"]["sessions"], 1, "{applied:?}");
        let forgotten = audited(&gateway, "session.forgotten");
        assert_eq!(forgotten.len(), 1, "{forgotten:?}");
        assert_eq!(forgotten[0]["session"], old.as_str());
        assert_eq!(forgotten[0]["actor"], "siglum");
        assert!(audited(&gateway, "audit.trimmed").is_empty());
        let verified = gateway.launcher().get("/v1/audit/verify").is(200);
        assert_eq!(verified["sound"], true, "{verified}");
    });
}

#[test]
fn nothing_goes_by_age_unless_a_setting_says_so() {
    each_store_at_once(|store| {
        let gateway = Gateway::start(store);
        let (old, token) = worked(&gateway, "old");
        end(&gateway, &old, &token);
        sleep(store, gateway);
        // Too short for an age: it is a slip of the pen.
        let gateway = Gateway::with(store, &[], &[("SIGLUM_KEEP_SESSIONS", "90s")]);
        worked(&gateway, "young");
        until("usage is counted", || output(&gateway) == 6);
        assert!(texts(&gateway, &old).contains("do t"));
        assert!(audited(&gateway, "session.forgotten").is_empty());
    });
}
