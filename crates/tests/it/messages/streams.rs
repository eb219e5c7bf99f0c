//! Runs that are followed, answered, cancelled, and read afterwards.

use std::io::BufRead;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::played::{arguments, events, lines, send, serve, to};
use crate::gateway::client::Client;
use crate::gateway::server::{Gateway, each_store};
use crate::harness::until;

/// Sends messages while something else is done.
pub(crate) fn meanwhile<T>(client: &Client, body: &Value, act: impl FnOnce() -> T) -> (Value, T) {
    std::thread::scope(|scope| {
        let sent = scope.spawn(|| client.post("/v1/messages", body).is(200));
        let done = act();
        (sent.join().unwrap(), done)
    })
}

/// Waits for what the agent of a conversation asks.
pub(crate) fn open_interaction(client: &Client, conversation: &str) -> Value {
    let path = format!("/v1/sessions/{conversation}/interactions?state=open");
    let mut found = Value::Null;
    until("the agent asks", || {
        let reply = client.get(&path);
        let open = (reply.status == 200).then(|| reply.json());
        found = open.map_or(Value::Null, |o| o["items"][0].clone());
        found.is_object()
    });
    found
}

pub(crate) fn runs(client: &Client, conversation: &str) -> bool {
    let path = format!("/v1/sessions/{conversation}/messages");
    client.get(&path).is(200)["running"].is_string()
}

#[test]
fn what_an_agent_asks_is_answered_by_option_or_by_whether_it_may() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        for (answer, expected) in [
            (json!({ "approved": true }), "[allow]"),
            (json!({ "approved": false }), "[reject]"),
            (json!({ "option": "always" }), "[always]"),
        ] {
            let script = "!tool c1 rm delete {}\n!ask c1 Remove it?\n!done c1 ok";
            let (result, path) = meanwhile(&launcher, &to(&json!("S1"), script), || {
                let question = open_interaction(&launcher, "S1");
                assert_eq!(question["title"], "Remove it?", "{question}");
                assert_eq!(question["call"], "c1");
                let path = format!(
                    "/v1/sessions/S1/interactions/{}",
                    question["id"].as_str().unwrap()
                );
                launcher.post(&path, &json!({})).refuses("option");
                launcher
                    .post(&path, &json!({ "option": "never" }))
                    .refuses("option");
                let other = format!("/v1/sessions/S1/interactions/int_{:032x}", 1);
                launcher.post(&other, &answer).problem(404, "not-found");
                let settled = launcher.post(&path, &answer).is(200);
                assert_eq!(settled["settled"]["how"], "answered", "{settled}");
                path
            });
            assert!(
                result["end"]["text"].as_str().unwrap().contains(expected),
                "{expected}: {result}"
            );
            let again = launcher.post(&path, &answer);
            assert_eq!(again.status, 409, "{}", again.text);
        }
        let all = launcher.get("/v1/sessions/S1/interactions").is(200);
        assert_eq!(all["items"].as_array().unwrap().len(), 3);
        assert_eq!(all["next"], Value::Null);
        let first = launcher.get("/v1/sessions/S1/interactions?limit=2").is(200);
        let next = first["next"].as_str().expect("there is another page");
        let path = format!("/v1/sessions/S1/interactions?limit=2&cursor={next}");
        let last = launcher.get(&path).is(200);
        assert_eq!(
            last["items"].as_array().unwrap()[..],
            all["items"].as_array().unwrap()[2..]
        );
        assert_eq!(last["next"], Value::Null);
    });
}

#[test]
fn a_run_is_followed_from_the_start_and_behind_an_event() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let none = |path: &str| launcher.get(path).status;
        assert_eq!(none("/v1/sessions/S1/messages/stream"), 204);
        let script = "!say early \n!ask c1 Go on?\n!say late";
        let (_, (whole, behind)) = meanwhile(&launcher, &to(&json!("S1"), script), || {
            let question = open_interaction(&launcher, "S1");
            let path = "/v1/sessions/S1/messages/stream";
            let follow = |after: Option<&str>| {
                let client = match after {
                    Some(id) => launcher.with("last-event-id", id),
                    None => launcher.clone(),
                };
                client.lines(path).expect("it runs")
            };
            let (mut whole, mut behind) = (follow(None), follow(Some("2")));
            let answer = format!(
                "/v1/sessions/S1/interactions/{}",
                question["id"].as_str().unwrap()
            );
            launcher.post(&answer, &json!({ "approved": true })).is(200);
            let read = |stream: &mut dyn BufRead| {
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                text
            };
            (read(&mut whole), read(&mut behind))
        });
        assert!(
            whole.contains("event: started") && whole.contains("early"),
            "{whole}"
        );
        assert!(
            whole.contains("late") && whole.contains("event: finished"),
            "{whole}"
        );
        assert!(!behind.contains("event: started"), "{behind}");
        assert!(
            behind.starts_with("event:") && behind.contains("id: 3"),
            "{behind}"
        );
        assert!(behind.contains("event: finished"), "{behind}");
        assert_eq!(none("/v1/sessions/S1/messages/stream"), 204);
        assert_eq!(none("/v1/sessions/never-heard-of/messages/stream"), 204);
        let unknown = format!("/v1/sessions/ses_{:032x}/messages/stream", 1);
        assert_eq!(none(&unknown), 404);
    });
}

#[test]
fn a_run_is_cancelled_and_what_it_did_is_kept() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let (result, ()) = meanwhile(
            &launcher,
            &to(&json!("S1"), "!say begun \n!sleep 60\n!say never"),
            || {
                until("it runs", || runs(&launcher, "S1"));
                let stream = launcher.lines("/v1/sessions/S1/messages/stream").unwrap();
                let begun = stream
                    .lines()
                    .map_while(Result::ok)
                    .find(|line| line.contains("begun"));
                assert!(begun.is_some());
                let cancelled = launcher.poke("/v1/sessions/S1/messages/cancel").is(200);
                assert_eq!(cancelled["run"]["conversation_id"], "S1");
            },
        );
        assert_eq!(result["end"]["status"], "cancelled");
        let messages = launcher.get("/v1/sessions/S1/messages").is(200);
        assert_eq!(
            messages["items"][1]["content"].as_str().unwrap().trim(),
            "begun"
        );
        let again = launcher.poke("/v1/sessions/S1/messages/cancel");
        assert_eq!(again.status, 404, "{}", again.text);
        // The next one goes on as if nothing had been.
        assert_eq!(
            send(&launcher, &to(&json!("S1"), "more"))["end"]["status"],
            "done"
        );
    });
}

/// The processes of the played agent that were asked to begin.
pub(crate) fn begun(log: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let messages = text.lines().map(serde_json::from_str::<Value>);
    let messages = messages.map_while(Result::ok);
    let begins = messages.filter(|line| line["message"]["method"] == "initialize");
    begins.filter_map(|line| line["pid"].as_u64()).collect()
}

/// Whether a process is there, and not only waits for whoever started it.
fn lives(pid: u64) -> bool {
    let command = std::fs::read(format!("/proc/{pid}/cmdline"));
    command.is_ok_and(|command| !command.is_empty())
}

#[test]
fn a_run_is_cancelled_while_its_agent_starts() {
    each_store(|store| {
        let root = store.world.root.clone();
        let (log, hangs) = (root.join("acp.log"), root.join("hangs"));
        std::fs::write(&hangs, "").unwrap();
        let variables = [
            ("PLAYED_ACP_START", "hang"),
            ("PLAYED_ACP_WHILE", hangs.to_str().unwrap()),
            ("PLAYED_ACP_LOG", log.to_str().unwrap()),
        ];
        let arguments = arguments(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let gateway = Gateway::with(store, &arguments, &variables);
        let launcher = gateway.launcher();
        let cancel = "/v1/sessions/S1/messages/cancel";
        std::thread::scope(|scope| {
            let first = to(&json!("S1"), "first");
            let client = &launcher;
            let sent = scope.spawn(move || client.post("/v1/messages", &first));
            until("its agent starts", || begun(&log).len() == 1);
            let since = Instant::now();
            let cancelled = launcher.poke(cancel).is(200);
            assert!(since.elapsed() < Duration::from_secs(1), "{cancelled}");
            let session = cancelled["session"].as_str().unwrap();
            assert!(session.starts_with("ses_"), "{cancelled}");
            assert_eq!(cancelled.get("run"), None, "its turn is not open");
            sent.join().unwrap().problem(409, "cancelled");
        });
        launcher.poke(cancel).problem(404, "not-found");
        assert_eq!(store.sql("SELECT count(*) FROM open_turns"), "0");
        // Whoever comes with `if_busy` cancels it, too, and is the next one.
        let third = std::thread::scope(|scope| {
            let second = to(&json!("S1"), "second");
            let client = &launcher;
            let sent = scope.spawn(move || client.post("/v1/messages", &second));
            until("the next agent starts", || begun(&log).len() == 2);
            std::fs::remove_file(&hangs).unwrap();
            let mut third = to(&json!("S1"), "third");
            third["if_busy"] = json!("cancel");
            let third = send(&launcher, &third);
            sent.join().unwrap().problem(409, "cancelled");
            third
        });
        assert_eq!(third["end"]["text"], "third", "{third}");
        for pid in &begun(&log)[..2] {
            until("an agent that was let go is gone", || !lives(*pid));
        }
        let session = third["run"]["session"].as_str().unwrap();
        // Nobody has it any more.
        launcher.lease(session, "next");
    });
}

#[test]
fn while_a_run_goes_on_another_is_refused_cancels_it_or_waits() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let (first, second) = meanwhile(
            &launcher,
            &to(&json!("S1"), "!say begun \n!sleep 60"),
            || {
                until("it runs", || runs(&launcher, "S1"));
                let refused = launcher.post("/v1/messages", &to(&json!("S1"), "second"));
                assert_eq!(refused.status, 409, "{}", refused.text);
                let mut body = to(&json!("S1"), "third");
                body["if_busy"] = json!("cancel");
                send(&launcher, &body)
            },
        );
        assert_eq!(first["end"]["status"], "cancelled");
        assert_eq!(second["end"]["status"], "done");
        assert_ne!(first["run"]["turn"], second["run"]["turn"]);
        let (first, second) = meanwhile(
            &launcher,
            &to(&json!("S1"), "!say begun \n!sleep 2"),
            || {
                until("it runs", || runs(&launcher, "S1"));
                let mut body = to(&json!("S1"), "after");
                body["if_busy"] = json!("queue");
                send(&launcher, &body)
            },
        );
        assert_eq!(
            (&first["end"]["status"], &second["end"]["status"]),
            (&json!("done"), &json!("done"))
        );
    });
}

#[test]
fn messages_are_read_in_pages_of_whole_turns() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        for n in 0..5 {
            send(&launcher, &to(&json!("S1"), &format!("said {n}")));
        }
        let all = launcher.get("/v1/sessions/S1/messages").is(200);
        let texts = |page: &Value| -> Vec<String> {
            let messages = page["items"].as_array().unwrap().iter();
            messages
                .map(|m| m["content"].as_str().unwrap().to_owned())
                .collect()
        };
        let whole = texts(&all);
        assert_eq!(whole.len(), 10, "{all}");
        assert_eq!(all.get("next"), None);
        let (mut read, mut before) = (Vec::new(), String::new());
        loop {
            let page = launcher
                .get(&format!("/v1/sessions/S1/messages?limit=12{before}"))
                .is(200);
            read.splice(0..0, texts(&page));
            let Some(next) = page["next"].as_str() else {
                break;
            };
            before = format!("&cursor={next}");
        }
        assert_eq!(read, whole);
        for bad in ["cursor=0", "cursor=x", "limit=0", "format=events", "x=1"] {
            assert_eq!(
                launcher
                    .get(&format!("/v1/sessions/S1/messages?{bad}"))
                    .status,
                400,
                "{bad}"
            );
        }
    });
}

#[test]
fn a_stream_of_a_whole_run_is_what_its_result_says() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let reply = gateway
            .launcher()
            .post("/v1/messages?format=events", &lines("!say a|b|c\n!say d"));
        let sent = events(&reply);
        let deltas: String = sent
            .iter()
            .filter(|(name, ..)| name == "text")
            .map(|(.., data)| data["delta"].as_str().unwrap())
            .collect();
        let end = &sent.last().unwrap().2["end"];
        assert_eq!((deltas.as_str(), &end["text"]), ("abcd", &json!("abcd")));
    });
}
