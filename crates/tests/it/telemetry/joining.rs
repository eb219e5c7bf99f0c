//! Whose what came is.

use serde_json::{Value, json};

use super::sending::*;
use crate::gateway::client::{id, secret};
use crate::gateway::server::{Gateway, Store, base, each_store, on_a_server, token};

fn one(agent: &str, name: &str) -> Vec<(String, String)> {
    vec![(agent.to_owned(), name.to_owned())]
}

/// How many records of a session a trace was noted for.
fn traced(store: &Store, trace: &str) -> u64 {
    let which = match store.is_file() {
        true => format!("x'{trace}'"),
        false => format!("'\\x{trace}'"),
    };
    let sql = format!("SELECT count(*) FROM traced_sessions WHERE trace = {which}");
    store.sql(&sql).trim().parse().unwrap()
}

#[test]
fn logs_and_spans_of_one_session_are_counted_once() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let resource = json!({ "service.name": "claude-code" });
        let scope = "com.anthropic.claude_code.events";
        let result = json!({
            "event.name": "tool_result", "session.id": "H1", "tool_use_id": "toolu_0123456789abcdef",
            "tool_name": "Bash", "success": "true", "duration_ms": "5", "prompt.id": "p-1",
        });
        let request = json!({
            "event.name": "api_request", "session.id": "H1", "prompt.id": "p-1", "model": "m-1",
            "request_id": "req_1", "input_tokens": "10", "output_tokens": "3",
            "cache_read_tokens": "100", "cache_creation_tokens": "7",
        });
        let tool = json!({
            "session.id": "H1", "span.type": "tool", "tool_name": "Bash",
            "tool_use_id": "toolu_0123456789abcdef", "gen_ai.tool.call.id": "toolu_0123456789abcdef",
        });
        for _ in 0..2 {
            send_signal(
                &gateway,
                &gateway.token,
                "logs",
                &logs(&resource, scope, &[result.clone(), request.clone()]),
            );
            send(
                &gateway,
                &gateway.token,
                &spans(&resource, &[span(TRACE, 1, &tool)]),
            );
        }
        joined(store);
        assert_eq!(sessions(&gateway, &gateway.token), one("claude-code", "H1"));
        assert_eq!(events(store, "tool_ended"), 1);
        assert_eq!(events(store, "message"), 1);
        crate::harness::until("the session is summed up", || {
            let page = gateway.launcher().get("/v1/sessions").is(200);
            let used = &page["items"][0]["tokens"];
            *used == json!({ "input": 10, "output": 3, "cache_read": 100, "cache_write": 7 })
        });
        assert!(unassigned(&gateway, &gateway.token).is_empty());
    });
}

#[test]
fn each_agent_names_its_session_its_own_way() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let on_resource = json!({ "service.name": "gemini-cli", "session.id": "G1" });
        let gemini = spans(
            &on_resource,
            &[span(
                TRACE,
                1,
                &json!({ "gen_ai.operation.name": "llm_call" }),
            )],
        );
        send(&gateway, &gateway.token, &gemini);
        let in_metadata = json!({
            "ai.operationId": "ai.streamText.doStream", "ai.telemetry.metadata.sessionId": "ses_opencode1",
        });
        let other = "2af7651916cd43dd8448eb211c80319c";
        let opencode = spans(
            &json!({ "service.name": "opencode" }),
            &[span(other, 2, &in_metadata)],
        );
        send(&gateway, &gateway.token, &opencode);
        let prompt = json!({
            "event.name": "codex.user_prompt",
            "conversation.id": "019a0000-0000-7000-8000-000000000001", "prompt": "[REDACTED]",
        });
        let codex = logs(
            &json!({ "service.name": "codex_exec" }),
            "codex_otel.log_only",
            &[prompt],
        );
        send_signal(&gateway, &gateway.token, "logs", &codex);
        joined(store);
        let known = sessions(&gateway, &gateway.token);
        let expected: Vec<_> = [
            ("codex", "019a0000-0000-7000-8000-000000000001"),
            ("gemini", "G1"),
            ("opencode", "ses_opencode1"),
        ]
        .into_iter()
        .flat_map(|(agent, name)| one(agent, name))
        .collect();
        assert_eq!(known, expected);
        assert!(unassigned(&gateway, &gateway.token).is_empty());
    });
}

#[test]
fn a_span_without_an_id_is_bound_when_its_trace_is_known() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let token = &gateway.token;
        let resource = json!({ "service.name": "db" });
        send(
            &gateway,
            token,
            &spans(&resource, &[span(TRACE, 1, &json!({}))]),
        );
        joined(store);
        assert!(sessions(&gateway, token).is_empty());
        let page = gateway.launcher().get("/v1/telemetry/unassigned").is(200);
        let row = &page["items"][0];
        let stored = (
            &row["trace_id"],
            &row["span_id"],
            &row["name"],
            &row["signal"],
        );
        let expected = (
            &json!(TRACE),
            &json!("0000000000000001"),
            &json!("span 1"),
            &json!("traces"),
        );
        assert_eq!(stored, expected);
        send(
            &gateway,
            token,
            &spans(
                &json!({ "service.name": "app" }),
                &[answer(TRACE, 2, "s-1")],
            ),
        );
        crate::harness::until("it is bound", || unassigned(&gateway, token).is_empty());
        assert_eq!(sessions(&gateway, token), one("app", "s-1"));
        assert_eq!(traced(store, TRACE), 1);
        // Or somebody says so.
        let other = "2af7651916cd43dd8448eb211c80319c";
        send(
            &gateway,
            token,
            &spans(&resource, &[span(other, 3, &json!({}))]),
        );
        joined(store);
        let listed = gateway.launcher().get("/v1/sessions").is(200);
        let session = listed["items"][0]["id"].as_str().unwrap();
        let body = json!({ "trace_id": other });
        let path = format!("/v1/sessions/{session}/traces");
        gateway.launcher().post(&path, &body).is(200);
        crate::harness::until("it is assigned", || unassigned(&gateway, token).is_empty());
        let nobody = "/v1/sessions/ses_019ad0000000700080000000000000ff/traces";
        gateway
            .launcher()
            .post(nobody, &body)
            .problem(404, "not-found");
    });
}

#[test]
fn two_ids_on_one_span_are_both_names_and_are_counted() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let both = json!({
            "session.id": "X", "gen_ai.conversation.id": "Y", "gen_ai.operation.name": "chat",
        });
        let resource = json!({ "service.name": "app" });
        send(
            &gateway,
            &gateway.token,
            &spans(&resource, &[span(TRACE, 1, &both)]),
        );
        joined(store);
        assert_eq!(sessions(&gateway, &gateway.token), one("app", "X"));
        let counted = gateway.stranger().get("/metrics").text;
        assert!(
            counted.contains("siglum_telemetry_conflicts 1"),
            "{counted}"
        );
        let other = "2af7651916cd43dd8448eb211c80319c";
        send(
            &gateway,
            &gateway.token,
            &spans(&resource, &[answer(other, 2, "Y")]),
        );
        joined(store);
        assert_eq!(sessions(&gateway, &gateway.token), one("app", "X"));
        assert_eq!(store.sql("SELECT count(*) FROM aliases").trim(), "2");
    });
}

#[test]
fn the_platforms_id_stays_and_the_agents_own_is_a_name() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
        let resource = json!({ "service.name": "claude-code", "siglum.session.id": id(&created) });
        let own = json!({ "session.id": "H1" });
        send(
            &gateway,
            &gateway.token,
            &spans(&resource, &[span(TRACE, 1, &own)]),
        );
        joined(store);
        assert_eq!(sessions(&gateway, &gateway.token), one("claude-code", "S1"));
        // What comes later under the agent's own id alone is of the same session.
        let other = "2af7651916cd43dd8448eb211c80319c";
        let late = spans(
            &json!({ "service.name": "claude-code" }),
            &[span(other, 2, &own)],
        );
        send(&gateway, &gateway.token, &late);
        joined(store);
        assert_eq!(sessions(&gateway, &gateway.token), one("claude-code", "S1"));
        assert_eq!((traced(store, TRACE), traced(store, other)), (1, 1));
        assert!(unassigned(&gateway, &gateway.token).is_empty());
    });
}

#[test]
fn a_sessions_token_writes_to_no_other_session() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mine = gateway.launcher().create(&base("S1"));
        let theirs = gateway.launcher().create(&base("S2"));
        let own = secret(&mine);
        let injected = json!({ "service.name": "claude-code", "siglum.session.id": id(&theirs) });
        send(
            &gateway,
            &own,
            &spans(&injected, &[span(TRACE, 1, &json!({}))]),
        );
        let named = json!({ "session.id": "S2" });
        let by_name = spans(
            &json!({ "service.name": "claude-code" }),
            &[span(TRACE, 2, &named)],
        );
        send(&gateway, &own, &by_name);
        joined(store);
        let reason = ("other_session".to_owned(), 1);
        assert_eq!(
            unassigned(&gateway, &gateway.token),
            [reason.clone(), reason]
        );
        assert_eq!(traced(store, TRACE), 0);
        gateway
            .client(&own)
            .get("/v1/telemetry/unassigned")
            .problem(403, "forbidden");
    });
}

#[test]
fn the_same_name_in_two_tenants_is_two_sessions() {
    on_a_server(|store| {
        let gateway = Gateway::start(store);
        let (other, _) = token(store, "others", None, None);
        let body = spans(&json!({ "service.name": "app" }), &[answer(TRACE, 1, "S1")]);
        let bare = spans(
            &json!({ "service.name": "db" }),
            &[span(TRACE, 2, &json!({}))],
        );
        send(&gateway, &gateway.token, &body);
        send(&gateway, &other, &bare);
        joined(store);
        assert_eq!(
            unassigned(&gateway, &other).len(),
            1,
            "a trace of another tenant binds nothing"
        );
        assert!(unassigned(&gateway, &gateway.token).is_empty());
        assert!(sessions(&gateway, &other).is_empty());
        send(&gateway, &other, &body);
        joined(store);
        for whose in [&gateway.token, &other] {
            assert_eq!(sessions(&gateway, whose), one("app", "S1"));
        }
        let ids = |token: &str| {
            let page = gateway.client(token).get("/v1/sessions").is(200);
            page["items"][0]["id"].clone()
        };
        assert_ne!(ids(&gateway.token), ids(&other));
    });
}

/// Numbers that look drawn and are the same each time.
fn drawn(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn ten_conversations_in_any_order_stay_apart() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let trace = |n: u64| format!("{:032x}", 0xabc0 + n % 10);
        let mut left: Vec<u64> = (1..=400).collect();
        let mut state = 7;
        while !left.is_empty() {
            let mut batch: Vec<Value> = Vec::new();
            for _ in 0..=drawn(&mut state) % 20 {
                if left.is_empty() {
                    break;
                }
                let at = usize::try_from(drawn(&mut state)).unwrap() % left.len();
                let n = left.swap_remove(at);
                batch.push(match n % 3 {
                    0 => span(&trace(n), n, &json!({})),
                    _ => answer(&trace(n), n, &format!("conversation-{}", n % 10)),
                });
            }
            send(
                &gateway,
                &gateway.token,
                &spans(&json!({ "service.name": "app" }), &batch),
            );
        }
        joined(store);
        assert!(unassigned(&gateway, &gateway.token).is_empty());
        assert_eq!(sessions(&gateway, &gateway.token).len(), 10);
        // Which event stands in which log: the number of the answer names the conversation.
        let rows = store.sql(
            "SELECT DISTINCT s.conversation_id || ' ' || o.event FROM observations o JOIN sessions s ON s.id = o.session WHERE o.kind = 'message'",
        );
        let mut seen = 0;
        for row in rows.lines().filter(|row| row.contains("res-")) {
            let (name, event) = row.split_once(' ').unwrap();
            let of: u64 = name.rsplit_once('-').unwrap().1.parse().unwrap();
            let n: u64 = event.rsplit_once("res-").unwrap().1.trim().parse().unwrap();
            assert_eq!(n % 10, of, "{row}");
            seen += 1;
        }
        assert_eq!(seen, (1..=400).filter(|n| n % 3 != 0).count());
    });
}
