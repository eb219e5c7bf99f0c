//! In which forms a run is told.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::played::{events, lines, send, serve, text, to};
use crate::gateway::server::each_store;

const PLAY: &str = "!think hm\n!say one |two\n!tool c1 read read {\"path\":\"a\"}\n!done c1 what it says\n\
                    !tool c2 write edit {}\n!fail c2 no\n!next\n!say three\n!usage 10 3 m-1";

#[test]
fn a_result_has_the_text_what_was_used_and_how_it_ended() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let result = send(&launcher, &to(&json!("S1"), PLAY));
        assert_eq!(text(&result), "three", "the last message");
        assert_eq!(result["end"]["status"], "done");
        let tokens = &result["end"]["usage"]["tokens"];
        assert_eq!(
            (&tokens["input"], &tokens["output"]),
            (&json!(10), &json!(3))
        );
        assert_eq!(result["ignored"], json!([]));
        // What fails is told in the same form.
        let failed = send(&launcher, &to(&json!("S2"), "!say before\n!error it broke"));
        assert_eq!(failed["end"]["status"], "failed", "{failed}");
        assert!(failed["end"]["error"]["code"].is_string());
        assert_eq!(failed["run"]["conversation_id"], "S2");
        // What says nothing is no answer.
        for (script, code) in [
            ("!crash 3", "agent-died"),
            ("!error no", "agent-failed"),
            ("!stop refusal", "agent-refused"),
        ] {
            let began = Instant::now();
            let failed = launcher.post("/v1/messages", &to(&json!("S3"), script));
            failed.problem(502, code);
            let took = began.elapsed();
            // Once this took 72 s; a busy machine takes some, too.
            assert!(took < Duration::from_secs(30), "{script}: {took:?}");
            assert_eq!(failed.header("siglum-conversation-id"), Some("S3"));
        }
        let mut body = to(&json!("S4"), "!say begun \n!sleep 60");
        body["limits"] = json!({ "wall_ms": 1000 });
        let late = send(&launcher, &body);
        assert_eq!(late["end"]["status"], "limit", "{late}");
    });
}

#[test]
fn events_are_sent_in_order_with_their_numbers() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let stream = gateway.launcher().with("accept", "text/event-stream");
        let reply = stream.post("/v1/messages", &to(&json!("S1"), PLAY));
        assert_eq!(reply.status, 200, "{}", reply.text);
        let kind = reply.header("content-type").unwrap();
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        let sent = events(&reply);
        let numbers: Vec<_> = sent.iter().map(|(_, id, _)| id.unwrap()).collect();
        let last = u64::try_from(sent.len()).unwrap();
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
        let names: Vec<_> = sent.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!((names[0], names[names.len() - 1]), ("started", "finished"));
        for name in ["reasoning", "text", "tool_call", "tool_result", "usage"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        let outcomes: Vec<_> = sent
            .iter()
            .filter(|(name, ..)| name == "tool_result")
            .map(|(.., data)| data["outcome"].as_str().unwrap())
            .collect();
        assert_eq!(outcomes, ["ok", "failed"]);
        assert!(sent.iter().all(|(name, _, data)| data["type"] == *name));
    });
}

/// The chunks of a UI message stream.
fn chunks(text: &str) -> Vec<Value> {
    let mut data: Vec<&str> = text
        .split("\n\n")
        .filter_map(|block| block.strip_prefix("data: "))
        .collect();
    assert_eq!(data.pop(), Some("[DONE]"), "{text}");
    data.iter()
        .map(|d| serde_json::from_str(d).expect(d))
        .collect()
}

#[test]
fn a_ui_message_stream_has_its_header_and_its_end() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let body = to(&json!("S1"), PLAY);
        let reply = gateway
            .launcher()
            .post("/v1/messages?format=ui-messages", &body);
        assert_eq!(reply.header("x-vercel-ai-ui-message-stream"), Some("v1"));
        let chunks = chunks(&reply.text);
        let kinds: Vec<_> = chunks.iter().map(|c| c["type"].as_str().unwrap()).collect();
        assert_eq!(
            (kinds[0], kinds[kinds.len() - 1]),
            ("start", "finish"),
            "{kinds:?}"
        );
        for kind in [
            "start-step",
            "reasoning-start",
            "reasoning-end",
            "text-start",
            "text-delta",
            "text-end",
            "tool-input-available",
            "tool-output-available",
            "tool-output-error",
            "data-usage",
            "finish-step",
        ] {
            assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
        }
        // What is opened is closed, once.
        for kind in ["text", "reasoning"] {
            let count = |which: &str| {
                kinds
                    .iter()
                    .filter(|k| **k == format!("{kind}-{which}"))
                    .count()
            };
            assert_eq!(count("start"), count("end"), "{kinds:?}");
        }
        let turn = chunks[0]["messageId"].as_str().unwrap();
        // The same message is told later as what was said.
        let past = gateway
            .launcher()
            .get("/v1/sessions/S1/messages?format=ui-messages");
        let past = past.is(200);
        assert_eq!(past["items"][1]["id"], turn);
        assert_eq!(past["items"][0]["role"], "user");
        let parts = past["items"][1]["parts"].to_string();
        for part in ["what it says", "one two", "three", "output-error"] {
            assert!(parts.contains(part), "{part}: {parts}");
        }
    });
}

#[test]
fn ui_messages_are_taken_as_they_are_sent_by_a_page() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let mut body = lines("");
        body["id"] = json!("chat-1");
        body["trigger"] = json!("submit-message");
        body["messages"] = json!([
            { "id": "1", "role": "user", "parts": [{ "type": "text", "text": "earlier" }] },
            { "id": "2", "role": "assistant", "parts": [{ "type": "step-start" },
                { "type": "dynamic-tool", "toolName": "read", "toolCallId": "c", "state": "output-available",
                  "input": { "path": "x" }, "output": "its text" }, { "type": "text", "text": "answered" }] },
            { "id": "3", "role": "user", "parts": [{ "type": "text", "text": "!whole" }] },
        ]);
        let reply = gateway.launcher().post("/v1/sessions/S1/messages", &body);
        let result = reply.is(200);
        for part in [
            "earlier",
            "called the tool read",
            "its text",
            "answered",
            "!whole",
        ] {
            assert!(text(&result).contains(part), "{part}: {result}");
        }
    });
}
