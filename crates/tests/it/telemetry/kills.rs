//! The gateway dies after it said that it had taken something.

use serde_json::json;

use super::sending::*;
use crate::gateway::server::{Gateway, each_store};

/// How much was told; that a session was silent for long is noted whenever somebody looks.
const OBSERVATIONS: &str = "SELECT count(*) FROM observations WHERE kind <> 'session_ended'";

#[test]
fn what_was_acknowledged_is_there_after_a_kill_and_once_after_it_is_sent_again() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let body = |n: u64| {
            let all: Vec<_> = (1..=20)
                .map(|of| {
                    answer(
                        &format!("{:032x}", 0xabc0 + n),
                        n * 100 + of,
                        &format!("s-{n}"),
                    )
                })
                .collect();
            spans(&json!({ "service.name": "app" }), &all)
        };
        for n in 1..=5 {
            send(&gateway, &gateway.token, &body(n));
            gateway.kill();
            gateway.restart(store);
        }
        // Somebody has to come before a server's gateway knows whose telemetry waits.
        assert!(unassigned(&gateway, &gateway.token).is_empty());
        joined(store);
        assert_eq!(sessions(&gateway, &gateway.token).len(), 5);
        assert_eq!(events(store, "message"), 100);
        let before = store.sql(OBSERVATIONS);
        for n in 1..=5 {
            send(&gateway, &gateway.token, &body(n));
        }
        joined(store);
        assert_eq!(store.sql(OBSERVATIONS), before);
        assert_eq!(sessions(&gateway, &gateway.token).len(), 5);
    });
}
