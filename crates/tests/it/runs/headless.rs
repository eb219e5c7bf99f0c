//! An agent that nothing speaks the protocol for: it is run by its own headless mode (`headless_agent.py`).

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::processes::lives;
use crate::gateway::server::{Gateway, Store, on_a_file};
use crate::harness::until;
use crate::messages::played::{events, lines, send, text, to};

/// A gateway that finds the agent, and nothing that speaks the protocol for it, on its path.
fn serve(store: &Store, more: &[(&str, &str)]) -> Gateway {
    let root = &store.world.root;
    let (programs, work) = (root.join("programs"), root.join("work"));
    std::fs::create_dir(&programs).unwrap();
    std::fs::create_dir(&work).unwrap();
    let played = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    symlink(
        played.join("it/runs/headless_agent.py"),
        programs.join("claude"),
    )
    .unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", programs.display());
    let state = root.display().to_string();
    let mut variables = vec![("PATH", path.as_str()), ("PLAYED_STATE", &state)];
    variables.extend(more);
    let work = work.display().to_string();
    let arguments = ["--run", "claude-code", "--workdir", &work];
    Gateway::with(store, &arguments, &variables)
}

fn allowed(mut body: Value) -> Value {
    body["permissions"] = json!("allow");
    body
}

#[test]
fn what_a_headless_agent_does_is_reported_and_stored() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let script =
            "Hello there\n!tool call_1 Bash {\"command\":\"ls\"}\n!done call_1 a.txt\nDone.";
        let stream = launcher.with("accept", "text/event-stream");
        let streamed = stream.post("/v1/messages", &allowed(lines(script)));
        assert_eq!(streamed.status, 200, "{}", streamed.text);
        let received = events(&streamed);
        let names: Vec<&str> = received.iter().map(|e| e.0.as_str()).collect();
        let [started, call, result, end] =
            ["started", "tool_call", "tool_result", "finished"].map(|name| {
                let found = received.iter().find(|e| e.0 == name);
                &found.unwrap_or_else(|| panic!("{name}: {names:?}")).2
            });
        let native = &started["run"]["native_id"];
        assert!(native.is_string(), "{started}");
        assert_eq!(
            started["run"]["conversation_id"], *native,
            "nobody else named it"
        );
        assert_eq!(
            (&call["id"], &result["id"]),
            (&json!("call_1"), &json!("call_1"))
        );
        assert_eq!(result["output"], "a.txt", "{result}");
        let deltas = received.iter().filter(|e| e.0 == "text");
        let words: String = deltas.filter_map(|e| e.2["delta"].as_str()).collect();
        assert_eq!(words, "Hello thereDone.");
        let end = &end["end"];
        assert_eq!(
            (&end["status"], &end["text"]),
            (&json!("done"), &json!("Done."))
        );
        assert_eq!(end["usage"]["tokens"]["input"], 300, "{end}");
        assert_eq!(end["usage"]["model"], "played-1", "{end}");
        for kind in ["prompt", "tool_started", "tool_ended", "stopped"] {
            let count = format!("SELECT count(*) FROM observations WHERE kind = '{kind}'");
            assert_eq!(store.sql(&count), "1", "{kind}");
        }
        assert_eq!(store.sql("SELECT count(*) FROM open_turns"), "0");
    });
}

#[test]
fn it_goes_on_with_its_own_session_and_says_where_it_cannot() {
    on_a_file(|store| {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let gateway = serve(store, &[("TRACEPARENT", parent)]);
        let launcher = gateway.launcher();
        let first = send(&launcher, &allowed(to(&json!("S1"), "!env TRACEPARENT")));
        assert_eq!(
            text(&first),
            "TRACEPARENT=",
            "the gateway's own trace is nobody else's"
        );
        let native = first["run"]["native_id"].as_str().unwrap();
        let mut again = to(&json!("S1"), "!arguments");
        again["resume"] = json!(true);
        again["permissions"] = json!("refuse");
        again["parameters"] = json!({ "model": "played-2" });
        let second = send(&launcher, &again);
        assert_eq!(second["run"]["native_id"], native);
        let fixed = "-p --output-format stream-json --verbose --include-partial-messages";
        let more = format!("--permission-mode default --resume={native} --model=played-2");
        assert_eq!(text(&second), format!("{fixed} {more}"));
        std::fs::remove_file(store.world.root.join(native)).unwrap();
        let refused = launcher.post("/v1/messages", &again);
        refused.problem(409, "cannot-resume");
        assert!(
            refused.text.contains("No conversation found"),
            "{}",
            refused.text
        );
        assert_eq!(store.sql("SELECT count(*) FROM runs"), "2");
        // It can ask nobody: where somebody would be asked, nothing is started.
        let asks = launcher.post("/v1/messages", &to(&json!("S2"), "hello"));
        asks.problem(400, "invalid-field");
        assert!(asks.text.contains("permissions"), "{}", asks.text);
        assert_eq!(store.sql("SELECT count(*) FROM sessions"), "1");
    });
}

#[test]
fn a_headless_run_ends_as_any_other() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let token = "token=ghp_9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5uRaXk";
        let script = format!("!stderr it broke {token}\n!crash 3");
        let died = launcher.post("/v1/messages", &allowed(lines(&script)));
        let died = died.problem(502, "agent-died");
        let detail = died["detail"].as_str();
        assert!(
            detail.is_some_and(|t| t.contains("it broke") && !t.contains("9fK2mQ")),
            "{died}"
        );
        let failed = allowed(lines("!error API Error: 529"));
        let failed = launcher.post("/v1/messages", &failed);
        failed.problem(502, "agent-failed");
        // The end of a run is the end of all that it started, also of what left its group.
        let mut late = allowed(to(&json!("S1"), "!child 600\n!sleep 600"));
        late["limits"] = json!({ "wall_ms": 1500 });
        let late = send(&launcher, &late);
        assert_eq!(late["end"]["error"]["code"], "limit-wall", "{late}");
        let child = text(&late).to_owned();
        assert!(child.parse::<u32>().is_ok(), "{late}");
        until("its child is gone", || !lives(&child));
        let mut many = allowed(to(&json!("S2"), "one\ntwo\nthree\n!sleep 600"));
        many["limits"] = json!({ "tokens": 250 });
        let many = send(&launcher, &many);
        assert_eq!(many["end"]["error"]["code"], "limit-tokens", "{many}");
    });
}

#[test]
fn a_headless_run_is_cancelled_and_what_it_did_is_kept() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let script = "One.\n!tool c1 Bash {\"command\":\"x\"}\n!done c1 y\n!child 600\n!sleep 600";
        let body = allowed(to(&json!("S1"), script));
        let cancelled = std::thread::scope(|scope| {
            let sent = scope.spawn(|| send(&launcher, &body));
            until("what it did is stored", || {
                store.sql("SELECT count(*) FROM pending WHERE kind = 'tool_ended'") == "1"
            });
            let cancel = "/v1/sessions/S1/messages/cancel";
            launcher.post(cancel, &json!({})).is(200);
            sent.join().unwrap()
        });
        assert_eq!(cancelled["end"]["status"], "cancelled", "{cancelled}");
        assert_eq!(
            store.sql("SELECT group_concat(status) FROM runs"),
            "cancelled"
        );
        assert_eq!(store.sql("SELECT count(*) FROM open_turns"), "0");
        let next = send(&launcher, &allowed(to(&json!("S1"), "next")));
        assert_eq!(next["end"]["status"], "done");
    });
}
