//! What an agent goes on with, and what becomes of a run that does not go on.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::gateway::client::Client;
use crate::gateway::server::{Gateway, Store, each_store, on_a_file};
use crate::harness::until;
use crate::messages::played::{arguments, lines, send, text, to};

/// A gateway whose agent keeps its native sessions, and writes down what it is told.
pub(super) fn serve(store: &Store, more: &[(&str, &str)]) -> Gateway {
    serve_with(store, &[], more)
}

/// The same with these arguments.
pub(super) fn serve_with(store: &Store, own: &[&str], more: &[(&str, &str)]) -> Gateway {
    let root = store.world.root.display().to_string();
    let log = format!("{root}/acp.log");
    let mut variables = vec![
        ("PLAYED_ACP_STATE", root.as_str()),
        ("PLAYED_ACP_LOG", &log),
    ];
    variables.extend(more);
    let arguments = arguments(store);
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend(own);
    Gateway::with(store, &arguments, &variables)
}

pub(super) fn messages_to_agent(store: &Store, method: &str) -> Vec<Value> {
    let log = std::fs::read_to_string(store.world.root.join("acp.log")).unwrap_or_default();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["message"]["method"] == method)
        .collect()
}

pub(super) fn resumed(script: &str) -> Value {
    let mut body = to(&json!("S1"), script);
    body["resume"] = json!(true);
    body
}

/// Sends, and comes back when the agent has said this.
fn begun<T>(client: &Client, store: &Store, body: &Value, act: impl FnOnce() -> T) -> (Value, T) {
    std::thread::scope(|scope| {
        let before = messages_to_agent(store, "session/prompt").len();
        let sent = scope.spawn(|| client.post("/v1/messages", body).json());
        until("the agent is asked", || {
            messages_to_agent(store, "session/prompt").len() > before
        });
        let done = act();
        (sent.join().unwrap(), done)
    })
}

#[test]
fn a_native_session_goes_on_in_a_warm_process_and_in_a_new_one() {
    on_a_file(|store| {
        let mut gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let first = send(&launcher, &to(&json!("S1"), "!pid"));
        let native = first["run"]["native_id"].clone();
        let second = send(&launcher, &resumed("!pid\n!next\n!seen"));
        assert_eq!(second["run"]["native_id"], native);
        assert_eq!(text(&second), "1", "it was asked once before");
        let prompts = messages_to_agent(store, "session/prompt");
        assert_eq!(prompts[0]["pid"], prompts[1]["pid"], "one process");
        let parents: Vec<&str> = prompts
            .iter()
            .map(|m| {
                m["message"]["params"]["_meta"]["traceparent"]
                    .as_str()
                    .unwrap()
            })
            .collect();
        for (parent, run) in parents.iter().zip([&first, &second]) {
            let trace = run["run"]["trace_id"].as_str().unwrap();
            assert!(
                parent.contains(trace),
                "each turn has its own trace: {parent}"
            );
        }
        assert_ne!(parents[0], parents[1]);
        gateway.restart(store);
        let third = send(&gateway.launcher(), &resumed("!seen"));
        assert_eq!((&third["run"]["native_id"], text(&third)), (&native, "2"));
        assert_eq!(messages_to_agent(store, "session/resume").len(), 1);
        // Without a word about it the agent knows nothing of before, and is the same session here.
        let fresh = send(&gateway.launcher(), &to(&json!("S1"), "!seen"));
        assert_eq!(text(&fresh), "0");
        assert_ne!(fresh["run"]["native_id"], native);
        assert_eq!(fresh["run"]["session"], first["run"]["session"]);
    });
}

#[test]
fn an_agent_that_cannot_go_on_says_so_and_gets_no_prompt() {
    on_a_file(|store| {
        let mut gateway = serve(store, &[("PLAYED_ACP_NO_LOAD", "1")]);
        send(&gateway.launcher(), &to(&json!("S1"), "one"));
        gateway.restart(store);
        let launcher = gateway.launcher();
        let refused = launcher.post("/v1/messages", &resumed("two"));
        refused.problem(409, "cannot-resume");
        assert_eq!(messages_to_agent(store, "session/prompt").len(), 1);
        // Nothing of it is in the way of the next one.
        assert_eq!(text(&send(&launcher, &to(&json!("S1"), "three"))), "three");
    });
}

#[test]
fn what_was_never_committed_does_not_live_on_in_the_agent() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let first = send(&launcher, &to(&json!("S1"), "one fine day"))["run"].clone();
        store.break_commits(first["session"].as_str().unwrap());
        let refused = launcher.post("/v1/messages", &resumed("two is lost"));
        refused.problem(503, "not-committed");
        store.mend_commits();
        let third = send(&launcher, &resumed("three is new"));
        assert_eq!(third["run"]["diverged"], true, "{third}");
        assert_eq!(third["run"]["session"], first["session"]);
        assert_ne!(third["run"]["native_id"], first["native_id"]);
        assert_eq!(
            messages_to_agent(store, "session/resume"),
            Vec::<Value>::new()
        );
        let prompt = messages_to_agent(store, "session/prompt").pop().unwrap();
        let prompt = prompt["message"]["params"]["prompt"].to_string();
        for part in ["User:", "one fine day", "Assistant:", "three is new"] {
            assert!(prompt.contains(part), "{part}: {prompt}");
        }
        // What it is told again is nothing that was said again.
        let messages = launcher.get("/v1/sessions/S1/messages").is(200).to_string();
        assert_eq!(messages.matches("three is new").count(), 2, "{messages}");
        // From now on the agent's own session is what is committed.
        let fourth = send(&launcher, &resumed("!seen"));
        assert_eq!(fourth["run"].get("diverged"), None, "{fourth}");
        assert_eq!(fourth["run"]["native_id"], third["run"]["native_id"]);
        assert_eq!(text(&fourth), "1");
    });
}

#[test]
fn what_a_killed_gateway_left_does_not_live_on_in_the_agent() {
    on_a_file(|store| {
        let mut gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let mark = store.world.root.join("mark");
        let wait = format!("!sh while ! [ -e {} ]; do sleep 0.05; done", mark.display());
        let script = "said before the end\n!tool c1 Bash execute {}\n!done c1 y\n";
        let body = to(&json!("S1"), &format!("{script}{wait}"));
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| launcher.ask("POST", "/v1/messages", Some(&body)));
            until("what it said is stored", || {
                store.sql("SELECT count(*) FROM pending WHERE kind = 'tool_ended'") == "1"
            });
            gateway.signal(Signal::KILL);
            gateway.over();
            assert!(sent.join().unwrap().is_none());
        });
        std::fs::write(mark, "").unwrap();
        gateway.restart(store);
        let next = send(&gateway.launcher(), &resumed("and then"));
        assert_eq!(next["run"]["diverged"], true, "{next}");
        let prompt = messages_to_agent(store, "session/prompt").pop().unwrap();
        assert!(
            prompt.to_string().contains("said before the end"),
            "{prompt}"
        );
    });
}

#[test]
fn a_gateway_that_is_killed_leaves_nothing_that_is_in_the_way() {
    on_a_file(|store| {
        let mut gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let script = "!say one\n!tool c1 Bash execute {\"command\":\"x\"}\n!done c1 y\n!ask c1 May I\n!say two";
        let body = to(&json!("S1"), script);
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| launcher.ask("POST", "/v1/messages", Some(&body)));
            until("the agent asks", || {
                store.sql("SELECT count(*) FROM interactions") == "1"
            });
            until("what it did is stored", || {
                store.sql("SELECT count(*) FROM pending WHERE kind = 'tool_ended'") == "1"
            });
            gateway.signal(Signal::KILL);
            gateway.over();
            assert!(sent.join().unwrap().is_none());
        });
        gateway.restart(store);
        let launcher = gateway.launcher();
        let next = send(&launcher, &to(&json!("S1"), "next"));
        assert_eq!(
            next["end"]["status"], "done",
            "at once: its lease is that of a dead process"
        );
        let how = "SELECT how FROM interactions";
        assert_eq!(store.sql(how), "lost");
        let runs = "SELECT group_concat(status) FROM (SELECT status FROM runs ORDER BY started_at)";
        assert_eq!(store.sql(runs), "failed,done");
        let interactions = launcher.get("/v1/sessions/S1/interactions").is(200);
        let id = interactions["items"][0]["id"].as_str().unwrap();
        let path = format!("/v1/sessions/S1/interactions/{id}");
        let late = launcher.post(&path, &json!({ "option": "allow" }));
        late.problem(409, "interaction-lost");
    });
}

#[test]
fn a_gateway_that_stops_ends_its_runs_and_they_are_committed() {
    on_a_file(|store| {
        let mut gateway = serve_with(store, &["--drain-seconds", "0"], &[]);
        let launcher = gateway.launcher();
        let body = to(&json!("S1"), "!say begun\n!sleep 60");
        let (ended, code) = begun(&launcher, store, &body, || gateway.stop());
        assert_eq!(code, Some(0));
        assert_eq!(ended["end"]["status"], "cancelled", "{ended}");
        assert_eq!(ended["end"]["error"]["code"], "gateway-stopped");
        assert_eq!(store.sql("SELECT count(*) FROM open_turns"), "0");
    });
}

/// Tells a gateway to stop, and waits until it heard that.
fn drain(gateway: &Gateway) {
    gateway.signal(Signal::TERM);
    until("the gateway is not ready", || {
        let reply = gateway.stranger().get("/readyz");
        reply.status == 503 && reply.json()["code"] == "stopping"
    });
}

#[test]
fn a_run_comes_to_its_own_end_while_the_gateway_drains() {
    on_a_file(|store| {
        let mut gateway = serve_with(store, &["--drain-seconds", "3600"], &[]);
        let launcher = gateway.launcher();
        let body = to(&json!("S1"), "!ask c1 Go on?\n!say to its end");
        let (ended, ()) = begun(&launcher, store, &body, || {
            until("the agent asks", || {
                store.sql("SELECT count(*) FROM interactions") == "1"
            });
            drain(&gateway);
            let late = launcher.post("/v1/messages", &to(&json!("S2"), "late"));
            late.problem(503, "stopping");
            assert_eq!(late.header("retry-after"), Some("1"));
            let open = launcher.get("/v1/sessions/S1/interactions?state=open");
            let open = open.is(200);
            let id = open["items"][0]["id"].as_str().unwrap();
            let path = format!("/v1/sessions/S1/interactions/{id}");
            launcher.post(&path, &json!({ "approved": true })).is(200);
        });
        assert_eq!(ended["end"]["status"], "done", "{ended}");
        assert!(text(&ended).contains("to its end"), "{ended}");
        assert_eq!(gateway.over(), Some(0));
        assert_eq!(store.sql("SELECT count(*) FROM open_turns"), "0");
    });
}

#[test]
fn a_second_signal_ends_the_gateway_at_once() {
    on_a_file(|store| {
        let mut gateway = serve_with(store, &["--drain-seconds", "3600"], &[]);
        let launcher = gateway.launcher();
        let body = to(&json!("S1"), "!deaf 3600");
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| launcher.ask("POST", "/v1/messages", Some(&body)));
            until("the agent is asked", || {
                !messages_to_agent(store, "session/prompt").is_empty()
            });
            drain(&gateway);
            gateway.signal(Signal::TERM);
            assert_eq!(gateway.over(), Some(1));
            assert!(sent.join().unwrap().is_none());
        });
        gateway.restart(store);
        let next = send(&gateway.launcher(), &to(&json!("S1"), "next"));
        assert_eq!(next["end"]["status"], "done", "nothing is in the way");
    });
}

#[test]
fn runs_are_counted_as_they_begin_and_end() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        send(&launcher, &lines("one"));
        let mut limited = lines("!say a\n!sleep 60");
        limited["limits"] = json!({ "wall_ms": 1000 });
        launcher.post("/v1/messages", &limited).is(200);
        let metrics = gateway.stranger().get("/metrics").text;
        for line in [
            "siglum_runs_started_total 2",
            "siglum_runs_active 0",
            "siglum_runs_ended_total{status=\"done\",code=\"none\"} 1",
            "siglum_runs_ended_total{status=\"limit\",code=\"limit-wall\"} 1",
        ] {
            assert!(metrics.lines().any(|l| l == line), "{line}\n{metrics}");
        }
        let written = "siglum_store_jobs_total{kind=\"write\",outcome=\"done\"} ";
        assert!(metrics.contains(written), "{metrics}");
        assert!(metrics.contains("siglum_store_job_seconds_count{kind=\"write\"} "));
    });
}

#[test]
fn names_that_the_agent_uses_again_and_secrets_in_parts_do_no_harm() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let secret = format!("ghp_{}", "9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5uRaXk");
        let (head, tail) = secret.split_at(9);
        let script = format!(
            "!tool call_1 Bash execute {{\"command\":\"echo {secret}\"}}\n!done call_1 {secret}\n!say it is {head}|{tail}| so"
        );
        for _ in 0..2 {
            let stream = launcher.with("accept", "text/event-stream");
            let reply = stream.post("/v1/messages", &to(&json!("S1"), &script));
            assert!(reply.text.contains("\"done\""), "{}", reply.text);
            assert!(!reply.text.contains("9fK2mQ"), "{}", reply.text);
        }
        let home = store.world.siglum_home();
        let found = store.world.sh(&home, "grep -rl 9fK2mQ . | wc -l");
        assert_eq!(found.ok().trim(), "0", "it is nowhere on disk");
    });
}

#[test]
fn a_run_ends_at_its_limits() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let limited = |script: &str, limits: Value| {
            let mut body = lines(script);
            body["limits"] = limits;
            let answer = send(&launcher, &body);
            let code = answer["end"]["error"]["code"].as_str().unwrap_or_default();
            assert_eq!(answer["end"]["status"], "limit", "{answer}");
            code.to_owned()
        };
        assert_eq!(
            limited("!say a\n!sleep 60", json!({ "wall_ms": 1000 })),
            "limit-wall"
        );
        assert_eq!(
            limited("!cost 5000\n!sleep 60", json!({ "tokens": 1000 })),
            "limit-tokens"
        );
    });
}
